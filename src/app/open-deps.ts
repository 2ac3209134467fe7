import pino, { type Logger } from 'pino';
import { administratorClaims } from '../accounts/administrators.ts';
import { emailClaims, handleClaims, userNameClaims } from '../accounts/statements.ts';
import { openApis } from '../apis/register.ts';
import { openAttributes } from '../attributes/register.ts';
import { openAuditLog } from '../audit/audit-log.ts';
import { openWitnesses } from '../audit/witness.ts';
import { openPasswordHasher, type PasswordHasher } from '../authentication/credentials/password-hash.ts';
import { openProviders } from '../authentication/credentials/provider-register.ts';
import { identityClaims, passkeyClaims } from '../authentication/statements.ts';
import { brandSource } from '../brand/source.ts';
import { openFailureRecorder } from '../clients/failures.ts';
import { clientDirectory } from '../clients/find-clients.ts';
import { openMetadataDocuments } from '../clients/from-outside/metadata-documents.ts';
import { openRiskContext } from '../clients/risk-signals.ts';
import { openScopes } from '../clients/scopes.ts';
import { noteSecretUse } from '../clients/statements.ts';
import { noteServiceSecretUse, readCredential } from '../entitlements/statements.ts';
import { authorizationRequests } from '../oauth/authorize/authorize.ts';
import { openKeySets } from '../oauth/client-keys/key-sets.ts';
import type { Deps } from '../oauth/deps.ts';
import { grants } from '../oauth/grants/grants.ts';
import { openIssuances } from '../oauth/grants/issuances.ts';
import { openKeyRing } from '../oauth/signing-keys/key-ring.ts';
import { ensureSigningKeys, pairsInAdvance } from '../oauth/signing-keys/signing-keys.ts';
import { openStatusLists } from '../oauth/status-lists/status-lists.ts';
import { openClaims } from '../platform/claims.ts';
import { type Clock, openTimekeeper } from '../platform/clock.ts';
import { openClosing } from '../platform/closing.ts';
import { findUnfinishedRestore } from '../platform/copy-mark.ts';
import { refuseUnknownCells } from '../platform/db/cell-places.ts';
import type { Db } from '../platform/db/db.ts';
import { isSetUp, type MigratableDb, migrate, refuseUnlessMigrated } from '../platform/db/migrate.ts';
import { refuseMoved } from '../platform/db/move/marks.ts';
import { logStatements, measureStatements, onFullDisk, openDb, traceStatements } from '../platform/db/open.ts';
import { ConfigError } from '../platform/errors.ts';
import { openOutbound } from '../platform/http/outbound/outbound.ts';
import { newId } from '../platform/ids.ts';
import { openClientSecretLimits } from '../platform/limits/failure-limits.ts';
import { openLogWriter } from '../platform/log-writer.ts';
import { openOutbox, openQueueOnly } from '../platform/mail/sender.ts';
import { loadMasterKey, readMasterKey } from '../platform/master-key.ts';
import { type Branding, openBranding } from '../platform/pages/branding.ts';
import { openPlacement } from '../platform/placement.ts';
import { findHeartbeat, openProcesses } from '../platform/processes.ts';
import { openSecretUses } from '../platform/secret-uses.ts';
import { openConfig } from '../platform/settings/open-config.ts';
import { noTracing, type Tracer } from '../platform/tracing.ts';
import { ttlCache } from '../platform/ttl-cache.ts';
import { openVaultFor, prepareVaultFor, type Vault } from '../platform/vault.ts';
import { signalsOf } from '../signals/plan-signals.ts';
import { openSignInCounter } from '../statistics/sign-in-counter.ts';
import { deliveriesOf } from '../webhooks/manage-webhook.ts';
import { type Config, readConfig } from './config.ts';
import { openSenders } from './deliveries.ts';

/**
 * A server migrates the tables, makes missing keys and sends mail. A command uses the store as it is, or refuses it, and
 * only queues mail: its shell may have neither the server's version nor its settings. A restore migrates and makes keys in a
 * copy, which the others refuse until it is complete.
 */
type Role = 'server' | 'command' | 'restore';

type Outside = {
  clock: Clock;
  monotonic?: Clock;
  log: Logger;
  tracer?: Tracer;
  passwords?: PasswordHasher;
  role?: Role;
  /** That the log goes to, if it does. */
  terminal?: NodeJS.WritableStream;
};

/** @throws {ConfigError} {@link StoreUnavailable} {@link MigrationRefused}, each with a sentence for the operator. */
export async function openDeps(given: Config, outside: Outside): Promise<Deps> {
  const { clock, monotonic = clock, log, tracer = noTracing, role = 'server', terminal } = outside;
  const secrets = given.importedSecrets;
  const { passwords = openPasswordHasher(given.limits, { monotonic, phases: tracer.phases, secrets }) } = outside;
  const masterKey = role === 'server' ? loadMasterKey(given.masterKey) : readMasterKey(given.masterKey);
  const otherKeys = given.otherMasterKey ? [readMasterKey(given.otherMasterKey)] : [];
  const closing = openClosing();
  closing.on('afterWork', tracer);
  const db = closing.on(
    'afterWork',
    await openDb(given, {
      log,
      monotonic: outside.monotonic,
      phases: tracer.phases,
      mayOnlyRead: role === 'server',
    }),
  );
  if (given.hasMetrics) measureStatements(db, monotonic);
  if (given.logSql) logStatements(db, { log, monotonic });
  if (tracer.isOn) traceStatements(db, tracer);
  try {
    await refuseMoved(db); // before anything is written
    if (role === 'restore') await refuseUnlessSetUp(db);
    const vault = await (role === 'command'
      ? openPrepared(db, masterKey, otherKeys)
      : prepare(db, clock, masterKey, otherKeys));
    await refuseUnknownCells(db);
    if (role !== 'restore') await refuseUnfinishedRestore(db);
    const started = role === 'server' ? given : await withServerSettings(given, db);
    const branding = await openBranding({ config: started, clock }, brandSource(db));
    await branding.refresh();
    const { config: changing, settings } = await openConfig(started, { db, log, read: readConfig });
    const config = withBrand(changing, branding);
    const placement = await openPlacement(db, vault);
    const keys = await openKeyRing({ db, clock, vault, issuer: config.baseUrl });
    const services = ttlCache('services', clock, (credential_id) => readCredential(db, credential_id));
    const mail = closing.on(
      'work',
      (role === 'server' ? openOutbox : openQueueOnly)({ config, db, clock, log, tracer, vault, terminal }),
    );
    const node = newId('node');
    const timekeeper = openTimekeeper({ clock, monotonic: outside.monotonic, log });
    const processes = openProcesses({ node, config, db, clock, timekeeper, log, mail, vault });
    const outbound = openOutbound({ clock, config });
    const witness = openWitnesses(config.auditHeadFile, log);
    const clients = clientDirectory({ db, clock });
    const apis = openApis({ db, clock });
    const providers = openProviders({ db, clock, config, vault });
    const attributes = openAttributes({ db, clock });
    const scopes = openScopes(apis, attributes);
    const deliverySenders = openSenders({ config, db, clients, clock, log, outbound, tracer, vault, keys });
    for (const sender of Object.values(deliverySenders)) closing.on('work', sender);
    return {
      closing,
      node,
      witness,
      auditLog: openAuditLog({ db, clock, log, vault, witness }, (event) => [
        ...deliveriesOf({ clock })(event),
        ...signalsOf({ clock })(event),
      ]),
      config,
      settings,
      db,
      clock,
      timekeeper,
      processes,
      log,
      tracer,
      outbound,
      keySets: openKeySets({ outbound, clock }),
      vault,
      placement,
      claims: openClaims(
        { db, clock },
        {
          administrators: administratorClaims,
          email: emailClaims(db),
          handle: handleClaims(db),
          identity: identityClaims(db),
          passkey: passkeyClaims(db),
          user_name: userNameClaims(db),
        },
      ),
      keys,
      passwords,
      mail,
      clientSecretLimits: openClientSecretLimits({ db, clock, config }),
      clientFailures: closing.on('work', openFailureRecorder({ db, clock, log })),
      clientSecretUses: closing.on('work', openSecretUses({ db, clock, log }, noteSecretUse)),
      apis,
      providers,
      attributes,
      scopes,
      metadataDocuments: closing.on(
        'work',
        openMetadataDocuments({ outbound, db, clock, config, log, apis, attributes, clients, scopes }),
      ),
      riskContext: openRiskContext({ db, config, clock }),
      deliverySenders,
      services,
      serviceSecretUses: closing.on('work', openSecretUses({ db, clock, log }, noteServiceSecretUse)),
      statusLists: closing.on('work', openStatusLists({ db, clock, vault, keys, config })),
      signInCounter: closing.on('work', openSignInCounter({ db, clock, log })),
      issuances: closing.on('beforeWork', openIssuances({ db, clock, monotonic, log, processes })),
      branding,
      clients,
      grants,
      authorizationRequests: authorizationRequests({ db, clock, config, clients, attributes }),
    };
  } catch (error) {
    await db.close();
    throw given.databaseUrl ? error : onFullDisk(error, given.dataDir);
  }
}

/** Closes what {@link openDeps} opened. @param jobs resolves when the jobs in progress have ended. */
export const closeDeps = ({ closing }: Pick<Deps, 'closing'>, jobs?: Promise<void>): Promise<void> =>
  closing.close(jobs);

/** @throws {ConfigError} */
async function refuseUnlessSetUp(db: MigratableDb): Promise<void> {
  if (!(await isSetUp(db)))
    throw new ConfigError('This database is not the copy of a Signet store. Nothing was changed.');
}

/** @throws {ConfigError} In a copy what has ended since would be valid again. */
export async function refuseUnfinishedRestore(db: Db): Promise<void> {
  if (!(await findUnfinishedRestore(db))) return;
  throw new ConfigError(
    'This store is a backup that was put in place and not restored, so what has ended since would be valid again: revoked tokens, sessions, used links. Run: signet restore --after-copy',
  );
}

async function prepare(db: MigratableDb, clock: Clock, ...keys: [Buffer, Buffer[]]): Promise<Vault> {
  const newPair = (await isSetUp(db)) ? undefined : pairsInAdvance();
  await migrate(db, Math.floor(clock() / 1000));
  const vault = await prepareVaultFor(db, ...keys);
  await ensureSigningKeys({ db, clock, vault }, newPair);
  return vault;
}

async function openPrepared(db: MigratableDb, ...keys: [Buffer, Buffer[]]): Promise<Vault> {
  await refuseUnlessMigrated(db);
  return openVaultFor(db, ...keys);
}

/** Links that a command prints or mails begin with the server's base URL, whatever the shell's environment has. */
async function withServerSettings(config: Config, db: MigratableDb): Promise<Config> {
  const server = await findHeartbeat(db);
  return server ? { ...config, baseUrl: server.base_url, secure: server.base_url.startsWith('https:') } : config;
}

/** What is asked for by its setting is what administrators have said by now. */
const withBrand = (config: Config, branding: Branding): Config =>
  Object.defineProperties(config, {
    brand: { enumerable: true, get: () => branding.look.brand },
    support: { enumerable: true, get: () => branding.look.support },
  });

/** Removed from log lines. */
const secretPaths = [
  'password',
  'client_secret',
  'client_assertion',
  'token',
  'refresh_token',
  'access_token',
  'cookie',
  'authorization',
];

/** JSON lines on standard error, so that standard output stays free for what a command prints. */
export function openLog(level: Config['logLevel']): Logger {
  const writer = openLogWriter(process.stderr.fd, (dropped) =>
    log.warn({ dropped }, 'lines of this log were dropped, since nobody took them'),
  );
  const log: Logger = pino(
    {
      level,
      base: undefined,
      redact: { paths: secretPaths.flatMap((name) => [name, `*.${name}`]), remove: true },
      serializers: { req: ({ method, id }) => ({ method, id }), res: () => undefined },
    },
    writer,
  );
  return log;
}
