import { purgeLinks, purgeSpentTokens } from '../accounts/links.ts';
import { AuditLogTampered } from '../audit/chain.ts';
import { purgeUnauthenticated } from '../audit/unauthenticated.ts';
import { deviceSeconds } from '../authentication/sessions/browser.ts';
import { purgeDevices, purgePendingSignIns, purgeSessions } from '../authentication/sessions/sessions.ts';
import { purgeRememberedSuspensions, suspensionRememberedSeconds } from '../clients/delete-client.ts';
import { failureKeptSeconds, purgeFailures } from '../clients/failures.ts';
import {
  finishClientDeletions,
  purgeExpiredGrants,
  purgePendingRequests,
  purgeRevokedAccessTokens,
  purgeUnredeemedGrants,
} from '../oauth/cleanup.ts';
import { applyBulkRevocations } from '../oauth/grants/grants.ts';
import { rotateDueKeys } from '../oauth/signing-keys/signing-keys.ts';
import { accessTokenSeconds } from '../oauth/token/tokens.ts';
import { now } from '../platform/clock.ts';
import { type Db, StoreUnavailable, storeReason } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import { purgeFailureCounters } from '../platform/limits/failure-limits.ts';
import { finishAccountDeletions } from '../self-service/delete-account/delete-account.ts';
import { finishWebhookDeletions } from '../webhooks/manage-webhook.ts';
import { purgeDead, purgeDelivered, purgeUndeliverable } from '../webhooks/webhook-sender.ts';
import type { Deps } from './deps.ts';

/** Ended sessions and grants are kept this long, for questions about what happened. */
const keptSeconds = 7 * 86_400;

/** A dead delivery can be replayed for this long. */
const unsentSeconds = 30 * 86_400;

/** Deletes at most `rows` rows that expired before a moment. */
type Purge = (db: Db, before: number, rows: number) => Promise<{ changes: number }>;

/** Deletes nothing while the clock is unsettled: rows that only seem to have expired would be lost. Asked for each slice. */
const purge = async (deps: Deps, signal: AbortSignal | undefined, purges: readonly [Purge, number][]) => {
  const slice = async (one: Purge, before: number, rows: number) =>
    deps.timekeeper.isSettled() ? (await one(deps.db, before, rows)).changes : 0;
  for (const [one, before] of purges) await inSlices((rows) => slice(one, before, rows), signal);
};

/** Each job is safe on every node at any time; one that fails does not stop the others. */
const jobs = {
  'record a heartbeat': (deps) => deps.heartbeat.record(),
  'rotate keys': async (deps) => deps.timekeeper.isSettled() && rotateDueKeys(deps),
  'refresh keys': (deps) => deps.keys.refresh(), // after the rotation, so that its key set is out at once
  'send mails': (deps) => deps.mail.deliver(),
  'seal the audit log': (deps) => deps.auditLog.seal(),
  'publish the audit checkpoint': (deps) => deps.auditLog.publishCheckpoint(),
  'deliver webhooks': (deps) => deps.webhookSender.deliver(),
} satisfies Record<string, (deps: Deps) => Promise<unknown>>;

/**
 * Jobs that may take minutes after a busy day: bounded slices with pauses between them, so that requests do not wait, and
 * apart from the other jobs, so that these do not wait either.
 */
const longJobs = {
  'apply bulk revocations': applyBulkRevocations,
  'delete clients': finishClientDeletions,
  'delete accounts': finishAccountDeletions,
  'delete webhooks': finishWebhookDeletions,
  'purge grants': (deps, signal) =>
    purge(deps, signal, [
      [purgeUnredeemedGrants, now(deps) - 600],
      [purgeExpiredGrants, now(deps) - accessTokenSeconds - keptSeconds],
    ]),
  'purge sessions': (deps, signal) => purge(deps, signal, [[purgeSessions, now(deps) - keptSeconds]]),
  'purge requests': (deps, signal) => purge(deps, signal, [[purgePendingRequests, now(deps)]]),
  'purge revoked tokens': (deps, signal) => purge(deps, signal, [[purgeRevokedAccessTokens, now(deps)]]),
  'purge links': (deps, signal) =>
    purge(deps, signal, [
      [purgeLinks, now(deps)],
      [purgeSpentTokens, now(deps)],
    ]),
  'purge pending sign-ins': (deps, signal) => purge(deps, signal, [[purgePendingSignIns, now(deps)]]),
  'purge devices': (deps, signal) => purge(deps, signal, [[purgeDevices, now(deps) - deviceSeconds]]),
  'purge deliveries': (deps, signal) =>
    purge(deps, signal, [
      [purgeDelivered, now(deps) - keptSeconds],
      [purgeDead, now(deps) - unsentSeconds],
      [purgeUndeliverable, now(deps) - unsentSeconds],
    ]),
  'purge client failures': (deps, signal) => purge(deps, signal, [[purgeFailures, now(deps) - failureKeptSeconds]]),
  'purge recorded suspensions': (deps, signal) =>
    purge(deps, signal, [[purgeRememberedSuspensions, now(deps) - suspensionRememberedSeconds]]),
  'purge unauthenticated events': (deps, signal) =>
    purge(deps, signal, [[purgeUnauthenticated, now(deps) - deps.config.limits.unauthenticatedEventDays * 86_400]]),
  'purge counters': (deps, signal) => purge(deps, signal, [[purgeFailureCounters, now(deps)]]),
} satisfies Record<string, (deps: Deps, signal?: AbortSignal) => Promise<unknown>>;

const everyJob: Readonly<Record<string, (deps: Deps, signal?: AbortSignal) => Promise<unknown>>> = {
  ...jobs,
  ...longJobs,
};
type JobName = keyof typeof jobs | keyof typeof longJobs;
const namesOf = <Name extends string>(some: Record<Name, unknown>) => Object.keys(some) as Name[];
/** Run every second, in this order. */
export const quickJobs: readonly JobName[] = ['seal the audit log', 'deliver webhooks'];
const slowJobs = namesOf(jobs).filter((name) => !quickJobs.includes(name));

/**
 * One after the other.
 * @param signal ends a long job between two slices, and the jobs after it.
 * @returns whether all of them succeeded.
 */
export async function runJobs(
  deps: Deps,
  names: readonly JobName[] = [...namesOf(jobs), ...namesOf(longJobs)],
  signal?: AbortSignal,
  logFailure = failureLog(deps),
): Promise<boolean> {
  let isWell = true;
  for (const name of names) {
    if (signal?.aborted) return isWell;
    await everyJob[name]!(deps, signal).catch((error: unknown) => {
      isWell = false;
      if (error instanceof AuditLogTampered) return; // logged where it was thrown
      logFailure(name, error);
    });
  }
  return isWell;
}

type LogFailure = (job: JobName, error: unknown) => void;

/** In an outage every job fails alike, some of them each second: a short line a minute is enough. */
export function failureLog({ log, timekeeper }: Deps): LogFailure {
  const loggedAt = new Map<JobName, number>();
  return (job, error) => {
    if (!(error instanceof StoreUnavailable)) {
      log.error({ err: error, job }, 'job failed');
      return;
    }
    const at = timekeeper.monotonic();
    const last = loggedAt.get(job);
    if (last !== undefined && at - last < periodMs) return;
    loggedAt.set(job, at);
    log.error({ job, reason: storeReason(error) }, 'job failed; it will be retried');
  };
}

export type StopJobs = () => Promise<void>;

const periodMs = 60_000;
const quickPeriodMs = 1000;

/** @returns a function that stops them, and resolves when those that were running have ended. */
export function startJobs(deps: Deps): StopJobs {
  const stopping = new AbortController();
  const logFailure = failureLog(deps);
  const run = (names: readonly JobName[], signal?: AbortSignal) => runJobs(deps, names, signal, logFailure);
  const stops = [
    async () => stopping.abort(),
    every(periodMs, () => run(slowJobs)),
    every(periodMs, () => run(namesOf(longJobs), stopping.signal)),
    every(quickPeriodMs, () => run(['seal the audit log'])),
    keepKeysFresh(deps, logFailure),
    // Not waited for: it starts a lane for each target and skips those that still run; the sender waits when it is closed.
    every(quickPeriodMs, async () => {
      void run(['deliver webhooks']);
      return true;
    }),
  ];
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}

/**
 * For every process that serves. The key set comes from its own memory, so without this a process that sees no tokens for
 * a while would publish keys of before a rotation that another node or a command has made.
 */
export const keepKeysFresh = (deps: Deps, logFailure = failureLog(deps)): StopJobs =>
  every(quickPeriodMs, () => {
    deps.timekeeper.isSettled(); // asked this often, it can tell drift from a jump
    return runJobs(deps, ['refresh keys'], undefined, logFailure);
  });

/** Work that fails is repeated ever more rarely, down to once a minute. */
function every(ms: number, work: () => Promise<boolean>): StopJobs {
  const maxSkipped = Math.max(0, Math.floor(periodMs / ms) - 1);
  let running: Promise<boolean> | undefined;
  let skipped = 0;
  let toSkip = 0;
  const timer = setInterval(async () => {
    if (running || skipped < toSkip) {
      skipped += 1;
      return;
    }
    running = work();
    const isWell = await running;
    running = undefined;
    skipped = 0;
    toSkip = isWell ? 0 : Math.min(maxSkipped, toSkip * 2 + 1);
  }, ms);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
