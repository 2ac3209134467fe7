import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { openApis } from '../../src/apis/register.ts';
import { readConfig } from '../../src/app/config.ts';
import { openAttributes } from '../../src/attributes/register.ts';
import { openWitness } from '../../src/audit/witness.ts';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import type { PasswordHasher } from '../../src/authentication/credentials/password-hash.ts';
import { openFailureRecorder } from '../../src/clients/failures.ts';
import { clientDirectory } from '../../src/clients/find-clients.ts';
import { registerClient } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import { openScopes } from '../../src/clients/scopes.ts';
import { noteSecretUse } from '../../src/clients/statements.ts';
import { createCredential } from '../../src/entitlements/service-credentials/manage-credential.ts';
import type { ServiceCredential } from '../../src/entitlements/service-credentials/service-credential.ts';
import { authorizationRequests } from '../../src/oauth/authorize/authorize.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import { grants } from '../../src/oauth/grants/grants.ts';
import { openIssuances } from '../../src/oauth/grants/issuances.ts';
import { openKeyRing } from '../../src/oauth/signing-keys/key-ring.ts';
import { ensureSigningKeys } from '../../src/oauth/signing-keys/signing-keys.ts';
import { openClaims } from '../../src/platform/claims.ts';
import { now, openTimekeeper } from '../../src/platform/clock.ts';
import type { Db } from '../../src/platform/db/db.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openClientSecretLimits } from '../../src/platform/limits/failure-limits.ts';
import { openQueueOnly } from '../../src/platform/mail/sender.ts';
import { openPlacement } from '../../src/platform/placement.ts';
import { recordRun } from '../../src/platform/processes.store.ts';
import { openProcesses } from '../../src/platform/processes.ts';
import { openSecretUses } from '../../src/platform/secret-uses.ts';
import { prepareVaultFor, type Vault } from '../../src/platform/vault.ts';
import { openSignInCounter } from '../../src/statistics/sign-in-counter.ts';
import { plain } from '../support/plain-sql.ts';
import { randomOf } from '../support/seeded-random.ts';
import { clockStart, masterKey } from '../support/store-template.ts';
import type { Caller } from './virtual-store.ts';
import { VirtualStore } from './virtual-store.ts';
import { VirtualTime } from './virtual-time.ts';

/** What is there before the first action, in each simulation the same. */
export type Start = {
  store: VirtualStore;
  vault: Vault;
  users: readonly string[];
  clients: readonly { client_id: string; client_secret: string; retry_window: number }[];
  credential: ServiceCredential;
};

/** Without a hash: what it costs is not the matter here. */
const passwords: PasswordHasher = {
  hash: async (password) => `hash of ${password}`,
  verify: async (password, stored) => stored === `hash of ${password}`,
} as PasswordHasher;

const log = pino({ level: 'silent' });
const config = readConfig({
  SIGNET_DATA_DIR: join(tmpdir(), 'signet-simulation-has-no-files'),
  SIGNET_RATE_LIMITS: 'off',
  SIGNET_MASTER_KEY: masterKey.toString('base64'),
});

/** Users, clients with and without a retry window, a service credential, and one signing key. */
export async function prepareStart(): Promise<Start> {
  const time = new VirtualTime(clockStart, randomOf(1)); // the same ids in each process
  try {
    return await makeStart();
  } finally {
    time.end();
  }
}

async function makeStart(): Promise<Start> {
  const store = new VirtualStore();
  const db = store.direct;
  const clock = () => clockStart;
  await migrate(db, 0);
  const vault = await prepareVaultFor(db, masterKey);
  await ensureSigningKeys({ db, clock, vault });
  await plain(db).run(`delete from signing_keys where algorithm = 'RS256'`); // signed in the thread pool, not in virtual time
  const deps = { ...(await openNode(store, vault, clock, 'setup')).depsFor({ name: 'setup', mayFail: 'never' }), db };
  const users: string[] = [];
  for (const name of ['Ada', 'Grace']) {
    const account = { email: `${name.toLowerCase()}@example.com`, name, password: `words in a row of ${name}` };
    users.push(await createUser(deps, { ...account, role: 'user', emailVerified: true }, 'cli'));
  }
  const clients: Start['clients'][number][] = [];
  for (const retry_window of [0, 0, 30]) {
    const registration = {
      name: `Product ${clients.length}`,
      client_type: 'confidential',
      redirect_uris: ['https://rp.test/cb'],
      allowed_scopes: ['openid', 'offline_access'],
    };
    const caller = { actor: 'cli' } as const;
    const { client, client_secret } = await registerClient(
      deps,
      { owner_user_id: null, caller },
      readRegistration(registration),
    );
    const { client_id } = client;
    await approveClient(deps, { client_id, caller }, { revision: 1, refresh_retry_window: retry_window });
    assert.ok(client_secret);
    clients.push({ client_id, client_secret, retry_window });
  }
  const services = { find: async () => undefined, forget: () => undefined };
  const { credential } = await createCredential(
    { ...deps, services },
    { actor: 'cli' },
    { name: 'Billing', permissions: ['entitlements:write'], products: ['editor'] },
  );
  return { store, vault, users, clients, credential };
}

/** A process that serves: what it keeps in memory is its own. */
export type Node = {
  run_id: string;
  /** What a use-case gets whose calls of the store are those of this caller. */
  depsFor(caller: Caller): Deps;
  start(): Promise<void>;
};

export async function openNode(store: VirtualStore, vault: Vault, clock: () => number, run_id: string): Promise<Node> {
  store.start(run_id);
  const own: Caller = { name: run_id, mayFail: 'in an outage' };
  const db = run_id === 'setup' ? store.direct : store.db(run_id, own);
  // Keys are read without the scheduler: a node that starts is not what is simulated.
  const keys = await openKeyRing({ db: store.direct, clock, vault, issuer: config.baseUrl });
  const clients = clientDirectory({ db, clock });
  const apis = openApis({ db, clock });
  const attributes = openAttributes({ db, clock });
  const timekeeper = openTimekeeper({ clock, log });
  await store.direct.run(recordRun(run_id, now({ clock }), vault.id)); // a server listens only once it is known
  const witness = openWitness('', log);
  witness.remember({ seq: 0, seal: '', accepted: 0 }); // so that it reads no file
  const mail = openQueueOnly({ config, clock, vault });
  const placement = await openPlacement(store.direct, vault);
  const processes = openProcesses({ node: run_id, config, db, clock, timekeeper, log, mail, vault });
  const issuances = openIssuances({ db, clock, monotonic: clock, log, processes });
  const shared = {
    node: run_id,
    placement,
    claims: openClaims({ db: store.direct, clock }, {}),
    config,
    clock,
    timekeeper,
    log,
    vault,
    keys,
    passwords,
    mail,
    witness,
    clients,
    issuances,
    processes,
    grants,
    clientSecretLimits: openClientSecretLimits({ db, clock, config }),
    apis,
    attributes,
    scopes: openScopes(apis, attributes),
    metadataDocuments: { keepFresh: () => {} }, // its clients are registered
    clientFailures: openFailureRecorder({ db, clock, log }),
    clientSecretUses: openSecretUses({ db, clock, log }, noteSecretUse),
    signInCounter: openSignInCounter({ db, clock, log }),
    authorizationRequests: authorizationRequests({ db, clock, clients, config, attributes }),
  };
  // Mail, webhooks and pages have no part in it.
  const depsOf = (of: Db) => ({ ...shared, db: of }) as unknown as Deps;
  return {
    run_id,
    depsFor: (caller) => depsOf(store.db(run_id, caller)),
    async start() {
      setInterval(() => processes.beat().catch(() => undefined), 60_000);
      await processes.serve();
    },
  };
}
