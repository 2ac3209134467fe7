import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import pino, { type Logger } from 'pino';
import { buildApp } from '../../src/app/app.ts';
import { type Config, readConfig } from '../../src/app/config.ts';
import { runJobs } from '../../src/app/jobs.ts';
import { closeDeps, openDeps } from '../../src/app/open-deps.ts';
import type { AuditRow } from '../../src/audit/store.ts';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import type { PasswordHasher } from '../../src/authentication/credentials/password-hash.ts';
import type { ConsentPolicy } from '../../src/clients/choices.ts';
import type { RegistrationBody } from '../../src/clients/registration.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import type { OneDb } from '../../src/platform/db/db.ts';
import { compareText } from '../../src/platform/db/parts.ts';
import type { Static } from '../../src/platform/schema.ts';
import type { Tracer } from '../../src/platform/tracing.ts';
import { afterTest } from './after-test.ts';
import { type Answer, type Browser, newBrowser } from './browser.ts';
import { type Engine, type FreshStore, freshStore, onBothEngines, usualEngine } from './databases.ts';
import { watchRefusals } from './documented-refusals.ts';
import { freePort } from './free-port.ts';
import { type Mailbox, openMailbox } from './mailbox.ts';
import { plain } from './plain-sql.ts';
import { cellCount, cellsAt } from './postgres-server.ts';
import { type Fields, postForm, RegisteredClient, userinfo } from './relying-party.ts';
import { rememberingHasher } from './remembering-hasher.ts';
import { watchRevocations } from './revocation-events.ts';
import { watchSecrets } from './secrets-told.ts';
import { newService, type Service, type ServiceOptions } from './services.ts';
import { clockStart, masterKey } from './store-template.ts';
import { TestUser } from './test-user.ts';

/** A clock that stands still until the test moves it. */
export type MovableClock = { (): number; advance(seconds: number): void };

export type Signet = {
  /** With the part of the shared tables, which a store in one part is as a whole. */
  deps: Omit<Deps, 'db'> & { db: OneDb };
  app: FastifyInstance;
  clock: MovableClock;
  /** Origin, also the issuer. */
  url: string;
  /** Every line that was logged, at trace level. */
  logLines: string[];
  /** Of a server that was started with `mail: true`. */
  readonly mailbox: Mailbox;
  runJobs(): Promise<void>;
  /** The audit log, newest first: the events whose columns have these values. */
  auditLog(columns?: Partial<Pick<AuditRow, 'target' | 'action' | 'reason'>>): Promise<AuditRow[]>;
  /** A browser without cookies. */
  newBrowser(): Browser;
  /** A new account with a verified address, in a browser without a session. */
  newUser(options?: NewUserOptions): Promise<TestUser>;
  /** The same, signed in with the password by the form. */
  signedInUser(options?: NewUserOptions): Promise<TestUser>;
  /** A client that its owner has registered through the API, approved unless the options say otherwise. */
  registerClient(options?: ClientOptions): Promise<RegisteredClient>;
  /** A service credential. */
  newService(options?: ServiceOptions): Promise<Service>;
  userinfo(access_token: string, init?: RequestInit): Promise<Answer>;
  /** Posts a form without cookies or credentials. */
  postForm(path: string, fields: Fields, headers?: Record<string, string>): Promise<Answer>;
};

export type Options = {
  engine?: Engine;
  /** SIGNET_* beyond what the test sets. */
  env?: Record<string, string>;
  /** Sends mail to a mailbox: its own, or that of the server beside. */
  mail?: boolean;
  /** Another node on the store, key and clock of this one. */
  beside?: Signet;
  /** Seconds by which the clock of this node is ahead of that one's. */
  ahead?: number;
  /** A store that was made at another time, in Unix seconds, by another version. */
  on?: FreshStore & { at: number };
  /** In how many cells the store is, on PostgreSQL; a run in cells has all stores in as many. */
  cells?: number;
  /** Where hashing itself matters, or what happens meanwhile: the real one. */
  passwords?: PasswordHasher;
  /** Where its spans go; nowhere by default. */
  tracer?: Tracer;
  /** A clock that is not set with the test's: then a test that moves that one sets the clock of the machine. */
  monotonic?: () => number;
};

const remembered = rememberingHasher();

export function movableClock(at = clockStart): MovableClock {
  return Object.assign(() => at, {
    advance(seconds: number) {
      at += seconds * 1000;
    },
  });
}

const clockAhead = (clock: MovableClock, seconds: number): MovableClock =>
  Object.assign(() => clock() + seconds * 1000, { advance: clock.advance });

/** The whole service on a real port and a database of its own. It is stopped after the test. */
export async function startSignet(t: TestContext, options: Options = {}): Promise<Signet> {
  const clock = options.beside
    ? clockAhead(options.beside.clock, options.ahead ?? 0)
    : movableClock(options.on && options.on.at * 1000);
  const logLines: string[] = [];
  const mailbox = options.mail ? (options.beside?.mailbox ?? (await openMailbox(t))) : undefined;
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) });
  const { passwords = remembered, monotonic, tracer } = options;
  const mail = mailbox && { SIGNET_SMTP_URL: mailbox.url };
  const config = await configFor(t, { ...options, env: { ...mail, ...options.env } });
  const deps = (await openDeps(config, { clock, monotonic, log, tracer, passwords })) as Signet['deps'];
  const assertRevocationsAnnounced = watchRevocations(deps.db);
  const app = await buildApp(deps);
  const assertRefusalsDocumented = watchRefusals(app);
  const assertNoSecretTold = watchSecrets(app, logLines, mailbox);
  await app.listen({ host: '127.0.0.1', port: deps.config.port });
  afterTest(t, async () => {
    await app.close();
    await closeDeps(deps);
    assertRefusalsDocumented();
    assertRevocationsAnnounced();
    assertNoSecretTold();
  });
  const signet: Signet = {
    deps,
    app,
    clock,
    url: options.beside ? `http://localhost:${deps.config.port}` : deps.config.baseUrl,
    logLines,
    get mailbox() {
      return mailbox ?? assert.fail('start this server with `mail: true`');
    },
    runJobs: async () => void (await runJobs(deps)),
    async auditLog(columns = {}) {
      const rows = await plain(deps.db).all<AuditRow>('select * from audit_log');
      return rows
        .sort((one, other) => other.at - one.at || compareText(other.event_id, one.event_id))
        .filter((row) => Object.entries(columns).every(([name, value]) => row[name as keyof AuditRow] === value));
    },
    newBrowser: () => newBrowser(signet.url),
    newUser: (options) => newUser(signet, options),
    signedInUser: (options) => signedInUser(signet, options),
    registerClient: (options) => registerClient(signet, options),
    newService: (options) => newService(signet, options),
    userinfo: (access_token, init) => userinfo(signet, access_token, init),
    postForm: (path, fields, headers) => postForm(signet.url + path, fields, headers),
  };
  return signet;
}

/** `mailbox` is there with the option `mail`. */
type SignetTest = (given: { signet: Signet; mailbox: Mailbox; t: TestContext }) => Promise<void>;
type SignetTestOptions = Omit<Options, 'engine' | 'beside'>;

type SignetTestRest = [SignetTest] | [SignetTestOptions, SignetTest];

/** Registers one test per engine, each with a server of its own. */
export function testSignet(name: string, ...rest: SignetTestRest): void {
  onBothEngines(name, withServer(rest));
}

/** The same on SQLite alone: for what no statement has a part in, as headers, pages and parsing. */
export function testWithoutStore(name: string, ...rest: SignetTestRest): void {
  const run = withServer(rest);
  test(name, { skip: cellCount > 0 && 'it is the same in cells' }, (t) => run(t, 'sqlite'));
}

const withServer = (rest: SignetTestRest) => async (t: TestContext, engine: Engine) => {
  const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest;
  const signet = await startSignet(t, { engine, ...options });
  await fn({
    signet,
    t,
    get mailbox() {
      return signet.mailbox;
    },
  });
};

async function configFor(
  t: TestContext,
  { engine = usualEngine, env = {}, beside, on, cells: wanted = 0 }: Options,
): Promise<Config> {
  const port = await freePort();
  const cells = cellCount || wanted;
  const store = beside
    ? beside.deps.config
    : (on ?? (await freshStore(t, engine, wanted > 0 && cellCount === 0 ? { empty: true } : {})));
  const config = readConfig({
    SIGNET_PORT: String(port),
    SIGNET_BASE_URL: beside?.url ?? `http://localhost:${port}`,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_DATA_DIR: store.dataDir,
    SIGNET_DATABASE_URL: 'url' in store ? store.url : 'databaseUrl' in store ? store.databaseUrl : undefined,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on', // the tests' own server flushes nothing
    ...env,
  });
  if (beside) return { ...config, cells: beside.deps.config.cells };
  const { databaseUrl } = config;
  return cells > 0 && databaseUrl ? { ...config, cells: config.cells ?? cellsAt(databaseUrl, cells) } : config;
}

let people = 0;

export type NewUserOptions = {
  role?: 'user' | 'admin';
  password?: string;
  name?: string;
  email?: string;
  emailVerified?: boolean;
};

async function newUser(signet: Signet, options: NewUserOptions = {}): Promise<TestUser> {
  people += 1;
  const account = {
    email: `person${people}@example.com`,
    name: `Person ${people}`,
    password: 'ordinary words in a row',
    role: 'user' as const,
    emailVerified: true,
    ...options,
  };
  return new TestUser(signet, { ...account, user_id: await createUser(signet.deps, account, 'cli') });
}

async function signedInUser(signet: Signet, options?: NewUserOptions): Promise<TestUser> {
  const user = await newUser(signet, options);
  const answer = await user.signIn();
  if (answer.status !== 303) throw new Error(`sign-in answered ${answer.status}: ${answer.text}`);
  return user;
}

export type ClientOptions = Partial<Omit<Static<typeof RegistrationBody>, 'allowed_scopes'>> & {
  allowed_scopes?: string[];
  owner?: TestUser;
  consent?: ConsentPolicy;
  refresh_retry_window?: number;
  profile?: 'fapi2';
  approved?: boolean;
};

async function registerClient(
  signet: Signet,
  { owner, approved = true, consent, refresh_retry_window, profile, ...changes }: ClientOptions = {},
): Promise<RegisteredClient> {
  const registration = {
    name: 'Test product',
    client_type: 'confidential',
    redirect_uris: ['https://rp.test/cb'],
    allowed_scopes: ['openid', 'profile', 'email', 'offline_access'],
    ...changes,
  };
  const { browser } = owner ?? (await signedInUser(signet));
  const answer = await browser.postJson('/v1/oauth/clients', registration);
  if (answer.status !== 200) throw new Error(`registration answered ${answer.status}: ${answer.text}`);
  const { client_id, client_secret } = answer.json as { client_id: string; client_secret: string | null };
  if (approved) {
    const target = { client_id, caller: { actor: 'cli' } } as const;
    const deps = { ...signet.deps, mail: { ...signet.deps.mail, works: false } }; // no mail about what a test takes for granted
    await approveClient(deps, target, { revision: 1, consent, refresh_retry_window, profile });
  }
  return new RegisteredClient(signet, { client_id, client_secret, redirect_uri: registration.redirect_uris[0]! });
}
