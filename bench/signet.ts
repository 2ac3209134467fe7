import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { collect, stop } from './child.ts';
import {
  basicAuthorization,
  type Contender,
  codeChallenge,
  type Issued,
  nonce,
  redirectUri,
  scope,
} from './contender.ts';
import { type Layout, startDatabase } from './database.ts';
import { type Address, getRequest, type Headers, run } from './load.ts';
import { type Person, peopleOf, signIn } from './people.ts';
import { childrenOf, residentMemory } from './processor-time.ts';
import { codeExchange } from './scenarios.ts';
import { slowFsync } from './slow-fsync.ts';

/** What a server still loads once it listens. */
const settlingMs = 1000;

type Options = {
  exchanges: number;
  fsyncMs?: number;
  workers?: number;
  /** Of a PostgreSQL; without it, SQLite. */
  layout?: Layout | undefined;
  /** Whose codes, tokens and sign-ins are used in turn. */
  people?: number;
  say?: (text: string) => void;
};

const root = join(import.meta.dirname, '..');

/**
 * The real server, as its operator starts it: own process, a new store, every setting at its default but
 * the rate limits. All that the bench has it gets by the front door: command line, sign-in, registration, authorize.
 * @param profileDir where the server writes a `.cpuprofile` when it stops.
 * @param exchanges how many codes there will be, roughly: one client after the other takes some, since of one user each may
 * have 100 active grants. With several people, at least one client is of each.
 * @param workers how many processes answer requests; without it, one that does everything.
 * @param fsyncMs what each flush of its disk takes in addition, where {@link slowFsync} can do that.
 */
export async function startSignet(
  port: number,
  profileDir: string | undefined,
  { exchanges, fsyncMs, workers, layout, people = 1, say }: Options,
): Promise<Contender> {
  const dataDir = await newDataDir();
  const slow = fsyncMs ? slowFsync(fsyncMs, dataDir) : {};
  if (typeof slow === 'string') say?.(slow);
  const database = layout && (await startDatabase(layout));
  const environment = {
    ...settings(dataDir, port),
    ...(workers && { SIGNET_WORKERS: String(workers) }),
    ...database?.environment,
  };
  const password = randomBytes(18).toString('base64url');
  const address = { host: '127.0.0.1', port };
  const commandLine = (args: string[], input = '') => runSignet(args, environment, input);

  const start = async () => {
    const startedAt = performance.now();
    server = spawnSignet(['serve'], {
      ...environment,
      ...(profileDir && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileDir}` }),
      ...(typeof slow === 'object' && slow),
    });
    await listening(address, server, 5);
    return Math.round(performance.now() - startedAt);
  };
  let server: ChildProcess | undefined;
  const stopAll = async () => {
    if (server) await stop(server);
    await database?.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const first_start_ms = await start();
    await database?.spread(commandLine);
    await stop(server!);
    const later_start_ms = await start();
    await sleep(settlingMs);
    const idle_mb = residentMemory(server!.pid!);
    const reviewer = { email: 'grace@example.com', name: 'Grace Hopper' };
    await commandLine(
      ['users', 'create', '--email', reviewer.email, '--name', reviewer.name, '--admin', '--password-stdin'],
      password,
    );
    const reviewing = await signIn(address, password, reviewer.email);
    const signedIn: (Person & { authorize: Buffer })[] = [];
    for (const person of await peopleOf(people, { address, password, dataDir, commandLine })) {
      signedIn.push({ ...person, ...(await codeSource(address, person.cookie, reviewing)) });
    }
    let [owner, turn] = [0, 0];
    const newSource = () => codeSource(address, signedIn[owner++ % people]!.cookie, reviewing);
    const logSize = () =>
      database ? postgresLog(database.url) : stat(`${dataDir}/signet.db-wal`).then(({ size }) => size);
    const wal_bytes = await logBytesOfCode(address, await newSource(), logSize);
    const spent: Awaited<ReturnType<typeof newSource>>[] = [];
    for (let left = Math.max(Math.ceil(exchanges / grantsOfClient), people); left > 0; left -= sourcesAtOnce) {
      spent.push(...(await Promise.all(Array.from({ length: Math.min(left, sourcesAtOnce) }, newSource))));
    }
    const ofDatabase = () => database?.pids() ?? [];
    return {
      name: 'signet',
      address,
      pid: server!.pid!,
      footprint: { first_start_ms, later_start_ms, idle_mb, wal_bytes },
      authorize: signedIn.map(({ authorize }) => authorize), // each of a client without other grants
      signIn: signedIn.map(({ signIn }) => signIn),
      helpers: () => [...childrenOf(server!.pid!), ...ofDatabase()],
      database: ofDatabase,
      codes: async (count, _use, areKept) => {
        const most = Math.min(grantsOfClient, Math.ceil(count / people));
        const codes: Issued[][] = [];
        for (let left = count; left > 0; left -= most) {
          const source = areKept ? await newSource() : spent[turn++ % spent.length]!;
          codes.push(await source.take(Math.min(most, left)));
        }
        return people > 1 ? inTurns(codes) : codes.flat();
      },
      stop: stopAll,
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Codes of each in turn, so that those of all people are in flight at a time. */
const inTurns = (codes: readonly Issued[][]): Issued[] =>
  Array.from({ length: codes[0]?.length ?? 0 }, (_, at) => codes.flatMap((of) => of[at] ?? [])).flat();

export const newDataDir = () => mkdtemp(join(tmpdir(), 'signet-bench-'));

/** The operator's own settings must not reach the server under measurement. */
export const settings = (dataDir: string, port: number): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNET_'))),
  PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
  NODE_ENV: 'production',
  SIGNET_DATA_DIR: dataDir,
  SIGNET_HOST: '127.0.0.1',
  SIGNET_PORT: String(port),
  SIGNET_BASE_URL: `http://localhost:${port}`,
  SIGNET_RATE_LIMITS: 'off',
  SIGNET_LIMIT_PENDING_CLIENTS: '10000',
  SIGNET_LOG_LEVEL: 'warn',
});

/** Below the maximum of one user and client, of grants and of codes. */
export const grantsOfClient = 90;

/** More would wait for each other's changes of one user, and a store refuses what has waited for seconds. */
const sourcesAtOnce = 16;

/** Authorizations, and then exchanges, in flight while the log is measured: the more there are, the more share the pages of a commit. */
const writers = 16;

/** Half of the codes come before: PostgreSQL logs a page as a whole when it is first written. */
async function logBytesOfCode(
  address: Address,
  { take }: Awaited<ReturnType<typeof codeSource>>,
  logSize: () => Promise<number>,
): Promise<number> {
  const count = grantsOfClient / 2;
  let before = 0;
  for (const _ of ['not measured', 'measured']) {
    before = await logSize();
    const load = await codeExchange({ address, codes: (count) => take(count, writers) })(count);
    await run(address, { ...load, connections: writers });
  }
  return Math.round(((await logSize()) - before) / count);
}

/** Bytes that a PostgreSQL has written to its log so far. */
async function postgresLog(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ bytes: string }>("select pg_current_wal_insert_lsn() - '0/0' as bytes");
  await client.end();
  return Number(rows[0]!.bytes);
}

/** A client with its approval, for codes of the user of a session. */
async function codeSource(address: Address, cookie: string, reviewing: string) {
  const { client_id, client_secret } = await registerClient(address, cookie);
  await send(address, `/v1/admin/clients/${client_id}/approve`, { cookie: reviewing }, { revision: 1 });
  const basic = basicAuthorization(client_id, client_secret);
  const authorize = authorizeRequest(address, cookie, client_id);
  await approved(address, authorize);
  const take = async (count: number, connections?: number): Promise<Issued[]> =>
    (await pumpCodes(address, authorize, count, connections)).map((text) => ({ text, basic }));
  return { authorize, take };
}

/** Posts `body`, or without one gets. @returns the JSON of the answer. @throws unless it says success. */
export async function send(address: Address, path: string, headers: Headers, body?: unknown): Promise<unknown> {
  const answer = await fetch(`http://localhost:${address.port}${path}`, {
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** Sign-ins of a user who has a session, as many as wanted; the codes live for 60 seconds. */
export async function pumpCodes(
  address: Address,
  authorize: Buffer,
  count: number,
  connections?: number,
): Promise<string[]> {
  const codes: string[] = [];
  await run(address, {
    count,
    next: () => authorize,
    status: 302,
    contains: 'code=',
    ...(connections && { connections }),
    onAnswer: ({ head }) => codes.push(/\r\nlocation: [^\r]*[?&]code=([^&\r]+)/i.exec(head)?.[1] ?? ''),
  });
  return codes;
}

export function authorizeRequest(address: Address, cookie: string, clientId: string): Buffer {
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state: 'af0ifjsldkj',
    nonce,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  });
  return getRequest(address, `/oauth/authorize?${parameters}`, { Cookie: cookie });
}

/** A server may know a client's old state for a second. */
export async function approved(address: Address, authorize: Buffer) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await pumpCodes(address, authorize, 1);
      return;
    } catch (error) {
      if (attempt === 30) throw error;
      await sleep(100);
    }
  }
}

export async function registerClient(address: Address, cookie: string) {
  const client = await send(
    address,
    '/v1/oauth/clients',
    { cookie },
    {
      name: 'Bench',
      client_type: 'confidential',
      redirect_uris: [redirectUri],
      allowed_scopes: scope.split(' '),
    },
  );
  return client as { client_id: string; client_secret: string };
}

/** @param pollMs between two requests. */
export async function listening(address: Address, server: ChildProcess, pollMs = 100) {
  const stderr = collect(server);
  for (let attempt = 1; ; attempt += 1) {
    if (server.exitCode !== null || server.signalCode !== null) throw new Error(`signet serve ended: ${stderr()}`);
    const answer = await fetch(`http://localhost:${address.port}/.well-known/openid-configuration`).catch(
      () => undefined,
    );
    if (answer?.ok) return;
    if (attempt * pollMs >= 30_000)
      throw new Error(`signet serve does not answer: ${answer?.status ?? 'refused'} ${stderr()}`);
    await sleep(pollMs);
  }
}

export const spawnSignet = (args: string[], env: NodeJS.ProcessEnv) =>
  spawn(join(root, 'bin/signet'), args, { env, cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });

/** Runs a command. @returns what it printed. */
export async function runSignet(args: string[], env: NodeJS.ProcessEnv, input = ''): Promise<string> {
  const command = spawn(join(root, 'bin/signet'), args, { env, cwd: root });
  const stderr = collect(command);
  command.stdin.end(input);
  const [[code], stdout] = await Promise.all([once(command, 'close'), text(command.stdout)]);
  if (code !== 0) throw new Error(`signet ${args.slice(0, 2).join(' ')} exited with ${code}: ${stderr()}`);
  return stdout;
}
