import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { countSameMailbox } from '../../accounts/statements.ts';
import { findLoss } from '../../audit/chain.ts';
import { readLogWithoutSealing } from '../../audit/read-log.ts';
import { openWitnesses } from '../../audit/witness.ts';
import { canSign } from '../../oauth/signing-keys/signing-keys.ts';
import type { Db } from '../../platform/db/db.ts';
import { refuseUnlessMigrated } from '../../platform/db/migrate.ts';
import { refuseMoved } from '../../platform/db/move/marks.ts';
import {
  databaseFile,
  diskFree,
  findDamage,
  isDiskFull,
  isDiskReadOnly,
  longestWaits,
  openDbToRead,
  storeBytes,
} from '../../platform/db/open.ts';
import { askAll } from '../../platform/db/parts.ts';
import { maxCounted } from '../../platform/db/slices.ts';
import { readMasterKey } from '../../platform/master-key.ts';
import { dangerousSkewSeconds, findHeartbeat, toleratedSkewSeconds } from '../../platform/processes.ts';
import { openVaultFor } from '../../platform/vault.ts';
import { unreadySentences } from '../health.ts';
import { refuseUnfinishedRestore } from '../open-deps.ts';
import { type Check, type CheckDeps, ok, problem, problemOf, skipped, warning, within } from './check.ts';
import { checkSignals } from './signal-checks.ts';

type Opened = { db: Db; check: Check } | { db?: undefined; check: Check };

const setUp = 'Start the server (signet serve), or run: signet migrate';

/** Whether the store answers, and fits this version. What it depends on besides is in {@link checksInStore}. */
export async function openStore(deps: CheckDeps): Promise<Opened> {
  const { config, timeoutMs } = deps;
  const { dataDir, databaseUrl } = config;
  const unusable = databaseUrl ? undefined : fileProblem(dataDir);
  if (unusable) return { check: unusable };
  const late = `The database did not answer within ${timeoutMs / 1000} s.`;
  const remedy = databaseUrl
    ? 'Check that PostgreSQL runs, and SIGNET_DATABASE_URL.'
    : 'Check the disk, and run this command as the user of the server.';
  let hasGivenUp = false;
  const opening = openDbToRead(config).then(async (db) => {
    if (hasGivenUp) await db.close();
    return db;
  });
  try {
    const db = await within<Db | undefined>(timeoutMs, opening, undefined);
    if (!db) {
      hasGivenUp = true;
      return { check: problem('store', late, remedy) };
    }
    const check = await within(timeoutMs, checkTables(db, config, remedy), problem('store', late, remedy));
    if (check.state !== 'problem') return { db, check };
    await within(timeoutMs, db.close(), undefined);
    return { check };
  } catch (error) {
    return { check: problemOf('store', error, remedy) };
  }
}

/** To a user who may not look into the folder, everything in it seems to be missing. */
function fileProblem(dataDir: string): Check | undefined {
  try {
    statSync(join(dataDir, databaseFile));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      const remedy = 'Run this command as the user of the server, and check SIGNET_DATA_DIR.';
      return problem('store', `The database in ${dataDir} cannot be read (${code}).`, remedy);
    }
    const remedy = `${setUp}. If the server keeps its data elsewhere, set SIGNET_DATA_DIR to that folder.`;
    return problem('store', `There is no database in ${dataDir}.`, remedy);
  }
}

async function checkTables(
  db: Db,
  { databaseUrl, databaseMayLoseCommits }: CheckDeps['config'],
  remedy: string,
): Promise<Check> {
  try {
    await refuseMoved(db);
    await refuseUnlessMigrated(db);
    await refuseUnfinishedRestore(db);
  } catch (error) {
    return problemOf('store', error, remedy);
  }
  if (!databaseUrl) return ok('store', 'SQLite answers, and its tables are up to date.');
  if (!databaseMayLoseCommits) {
    return ok('store', 'PostgreSQL answers, loses no confirmed change in a crash, and its tables are up to date.');
  }
  return warning(
    'store',
    'PostgreSQL answers, but with SIGNET_DATABASE_MAY_LOSE_COMMITS=on a crash may lose confirmed changes.',
    'Turn on synchronous_commit, fsync and full_page_writes, and remove the setting.',
  );
}

/** @param outsideAt what the base URL says the time is, in Unix seconds. */
export async function checksInStore(deps: CheckDeps, db: Db | undefined, outsideAt?: number): Promise<Check[]> {
  if (!db) {
    const names = ['master key', 'audit log', 'signing keys', 'mailboxes', 'signal streams', 'server settings'];
    return [
      ...names.map((name) => skipped(name, 'The store cannot be read.')),
      clockCheck(deps, { outsideAt }),
      await checkDisk(deps, undefined),
    ];
  }
  const [heartbeat, [newest]] = await Promise.all([findHeartbeat(db), readLogWithoutSealing({ db }, {}, 1)]);
  return [
    await checkMasterKey(deps, db),
    await checkAuditLog(deps, db),
    (await canSign(db))
      ? ok('signing keys', 'There is an active signing key of each algorithm.')
      : problem('signing keys', unreadySentences.signing_keys, `${setUp}, which make missing keys.`),
    await checkMailboxes(db),
    await checkSignals(deps, db),
    compareSettings(deps, heartbeat?.base_url),
    clockCheck(deps, { outsideAt, newestAt: Math.max(heartbeat?.at ?? 0, newest?.at ?? 0) }),
    await checkDisk(deps, db),
    ...(deps.config.databaseUrl ? [await checkChanges(db)] : []),
  ];
}

const longWaitSeconds = 2;

/** Reads go on meanwhile, so nothing else shows it. */
async function checkChanges(db: Db): Promise<Check> {
  const { standby, lock } = await longestWaits(db);
  if (standby >= longWaitSeconds) {
    return problem(
      'changes',
      `A change has waited for ${standby} s for a synchronous standby of PostgreSQL.`,
      'Bring the standby back, or take it out of synchronous_standby_names; see docs/postgresql.md.',
    );
  }
  if (lock >= longWaitSeconds) {
    return problem(
      'changes',
      `A change has waited for ${lock} s for a lock in PostgreSQL.`,
      'Find out who holds it (pg_blocking_pids), and end that session.',
    );
  }
  return ok('changes', 'No change waits for a standby or a lock.');
}

/** Without a limit of time, which grows with the database. */
export async function checkPages({ config }: CheckDeps, db: Db): Promise<Check> {
  const name = 'database file';
  if (config.databaseUrl) return skipped(name, 'PostgreSQL checks its own files, with pg_amcheck.');
  const damage = await findDamage(db).catch((error: Error) => error.message);
  if (damage === undefined) return ok(name, 'Every page and every index of the database is sound.');
  const remedy = `Stop the server, keep a copy of ${databaseFile}, and restore the newest backup; see docs/backup.md.`;
  return problem(name, `The database is damaged: ${damage}.`, remedy);
}

/** Whether the log goes on, as the server decides it. The seals are computed by `signet audit verify` alone. */
async function checkAuditLog({ config }: CheckDeps, db: Db): Promise<Check> {
  const name = 'audit log';
  const vault = await openVault(config, db).catch(() => undefined);
  if (!vault) return skipped(name, 'It cannot be checked without the master key.');
  const witness = openWitnesses(config.auditHeadFile, pino({ enabled: false }));
  const [loss] = (await askAll(db, (part) => findLoss({ db: part, vault, witness: witness.of(part.schema) }))).filter(
    (found) => found !== undefined,
  );
  if (!loss) return ok(name, 'Its end is there. To check all of it, run: signet audit verify');
  const found =
    loss.why === 'file'
      ? `${config.auditHeadFile} cannot be read, so it is not known whether the end of the audit log is there.`
      : 'The end of the audit log is lost.';
  return problem(
    name,
    `${found} No events are sealed and no webhooks are sent.`,
    'Run: signet audit verify. Then see docs/incidents/SignetAuditLogStopped.md.',
  );
}

/** Of two such accounts, the second is found by no other spelling of its address. */
export async function checkMailboxes(db: Db): Promise<Check> {
  const name = 'mailboxes';
  const count = await countSameMailbox(db);
  if (count === 0) return ok(name, 'No two accounts have one mailbox.');
  const have = count === 1 ? '1 account has' : `${count}${count < maxCounted ? '' : ' or more'} accounts have`;
  return warning(
    name,
    `${have} the mailbox of another account, in another spelling of its address.`,
    'Run: signet users list --filter same_mailbox. Then delete the account that its owner does not use, or change its address.',
  );
}

async function openVault({ masterKey, otherMasterKey }: CheckDeps['config'], db: Db) {
  return openVaultFor(db, readMasterKey(masterKey), otherMasterKey ? [readMasterKey(otherMasterKey)] : []);
}

async function checkMasterKey({ config }: CheckDeps, db: Db): Promise<Check> {
  try {
    await openVault(config, db);
  } catch (error) {
    return problemOf('master key', error, 'Restore the key that the database was first used with.');
  }
  if (!config.otherMasterKey) return ok('master key', 'The master key opens what the store has sealed.');
  return warning(
    'master key',
    'The master key is being replaced: a second one is set, which opens, too.',
    'Run: signet rekey. Then remove SIGNET_OTHER_MASTER_KEY_FILE.',
  );
}

function compareSettings({ config }: CheckDeps, serverUrl: string | undefined): Check {
  const name = 'server settings';
  if (serverUrl === undefined) return skipped(name, 'No server has used this store yet.');
  if (serverUrl === config.baseUrl) return ok(name, `The server has the same base URL, ${serverUrl}.`);
  return warning(
    name,
    `The last server on this store had the base URL ${serverUrl}, and this command has ${config.baseUrl}.`,
    'Run this command with the settings of the server, or what it finds is not about that server.',
  );
}

/** Which clock is wrong cannot be known; only that they differ. */
function clockCheck({ clock }: CheckDeps, times: { outsideAt?: number; newestAt?: number }): Check {
  const here = Math.floor(clock() / 1000);
  const ahead = times.newestAt === undefined ? 0 : Math.max(0, times.newestAt - here);
  const apart = times.outsideAt === undefined ? 0 : Math.abs(times.outsideAt - here);
  const remedy = 'Synchronize the clocks of all machines with NTP.';
  const most = Math.max(ahead, apart);
  if (most > toleratedSkewSeconds) {
    const found =
      ahead >= apart
        ? `The newest entry of the store is ${ahead} s in the future by the clock of this machine.`
        : `The clock of this machine and the one behind the base URL differ by ${apart} s.`;
    return (most > dangerousSkewSeconds ? problem : warning)('clock', found, remedy);
  }
  const compared = [
    times.newestAt !== undefined && 'the store',
    times.outsideAt !== undefined && 'the base URL',
  ].filter((one) => one !== false);
  if (compared.length === 0) return skipped('clock', 'There is nothing to compare the clock with.');
  return ok('clock', `The clock agrees with ${compared.join(' and ')}.`);
}

const lowBytes = 256 * 1024 * 1024;
const mega = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`;

async function checkDisk({ config }: CheckDeps, db: Db | undefined): Promise<Check> {
  if (config.databaseUrl) return skipped('disk', 'The disk of PostgreSQL cannot be seen from here.');
  const free = await diskFree(config.dataDir);
  if (free === undefined) return skipped('disk', 'The disk cannot be asked for its free space.');
  const remedy = 'Free some space on it.';
  if (await isDiskFull(config, async () => free)) {
    return problem('disk', `The disk that holds ${config.dataDir} is full.`, remedy);
  }
  if (isDiskReadOnly(config)) {
    return problem('disk', `The disk that holds ${config.dataDir} is read-only.`, 'Make it writable.');
  }
  const { database = 0, log = 0 } = db ? await storeBytes(db, config) : {};
  if (free < lowBytes || free < database + log) {
    const than = free < lowBytes ? '' : `, less than the database takes, ${mega(database + log)}`;
    return warning('disk', `The disk that holds ${config.dataDir} has ${mega(free)} left${than}.`, remedy);
  }
  return ok('disk', `The disk that holds ${config.dataDir} has ${mega(free)} left.`);
}
