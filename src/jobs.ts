import { sealAuditLog } from './audit/chain.ts';
import { tellHead } from './audit/tell-head.ts';
import { purgeFailures } from './clients/failures.store.ts';
import { failureKeptSeconds } from './clients/failures.ts';
import { now } from './clock.ts';
import type { Deps } from './deps.ts';
import { beat } from './heartbeat/heartbeat.ts';
import { rotateDueKeys } from './keys/rotate-keys.ts';
import { purgeFailureCounters } from './limits/store.ts';
import { purgePendingRequests } from './oauth/authorize/store.ts';
import { purgeGrants } from './oauth/grants.store.ts';
import { purgeRevokedAccessTokens } from './oauth/revoke/store.ts';
import { accessTokenSeconds } from './oauth/token/issue-tokens.ts';
import { purgeLinks } from './one-time-links/store.ts';
import { deviceSeconds } from './sessions/device.ts';
import { purgeDevices, purgeSessions } from './sessions/store.ts';
import { purgeAttempts } from './signin/store.ts';
import { deliverWebhooks } from './webhooks/deliver.ts';
import { deliveriesOf } from './webhooks/manage-webhook.ts';
import { purgeDeliveries } from './webhooks/store.ts';

/** Ended sessions and grants stay this long, so that whoever is asked "what happened?" can still see it. */
const keptSeconds = 7 * 86_400;

/** A delivery that was given up may still be sent again for so long. */
const unsentSeconds = 30 * 86_400;

/** One line a job. Each is safe on every node at any time, and alone: one that fails does not stop the others. */
const jobs = {
  'give a sign of life': (deps) => beat(deps),
  'rotate keys': (deps) => rotateDueKeys(deps),
  'refresh keys': (deps) => deps.keys.refresh(), // after the rotation, so that its key set is out at once
  'purge grants': (deps) => purgeGrants(deps.db, now(deps) - 600, now(deps) - accessTokenSeconds - keptSeconds),
  'purge sessions': (deps) => purgeSessions(deps.db, now(deps) - keptSeconds),
  'purge requests': (deps) => purgePendingRequests(deps.db, now(deps)),
  'purge revoked tokens': (deps) => purgeRevokedAccessTokens(deps.db, now(deps)),
  'purge links': (deps) => deps.db.batch(purgeLinks(now(deps))),
  'purge sign-in attempts': (deps) => deps.db.batch([purgeAttempts(now(deps))]),
  'purge devices': (deps) => deps.db.batch([purgeDevices(now(deps) - deviceSeconds)]),
  'send mails': (deps) => deps.mail.deliver(),
  'seal the audit log': (deps) => sealAuditLog(deps, deliveriesOf(deps)),
  'tell the head of the audit log': (deps) => tellHead(deps),
  'deliver webhooks': (deps) => deliverWebhooks(deps),
  'purge deliveries': (deps) =>
    deps.db.batch(purgeDeliveries({ delivered: now(deps) - keptSeconds, unsent: now(deps) - unsentSeconds })),
  'purge failures of clients': (deps) => deps.db.batch([purgeFailures(now(deps) - failureKeptSeconds)]),
  'purge counters': (deps) => deps.db.batch([purgeFailureCounters(now(deps))]),
} satisfies Record<string, (deps: Deps) => Promise<unknown>>;
type JobName = keyof typeof jobs;
const everyJob = Object.keys(jobs) as JobName[];
/** What somebody waits for, in this order. */
export const quickJobs: readonly JobName[] = ['seal the audit log', 'deliver webhooks'];
const slowJobs = everyJob.filter((name) => !quickJobs.includes(name));

/** One after the other. */
export async function runJobs(deps: Deps, names: readonly JobName[] = everyJob): Promise<void> {
  for (const name of names) {
    await jobs[name](deps).catch((error: unknown) => deps.log.error({ err: error, job: name }, 'job failed'));
  }
}

const periodMs = 60_000;
const quickPeriodMs = 1000;

/** @returns a function that stops them. */
export function startJobs(deps: Deps): () => void {
  const stops = [
    every(periodMs, () => runJobs(deps, slowJobs)),
    every(quickPeriodMs, () => runJobs(deps, ['seal the audit log'])),
    // Not waited for: it starts a lane for each target, and skips those that are still at it.
    every(quickPeriodMs, async () => void runJobs(deps, ['deliver webhooks'])),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * For a process that leaves the jobs to another one. The key set that it serves comes from its own memory, so without
 * this a worker that sees no tokens for a while would publish keys of before the rotation.
 */
export const keepKeysFresh = (deps: Deps): (() => void) => every(periodMs, () => runJobs(deps, ['refresh keys']));

function every(ms: number, work: () => Promise<void>): () => void {
  let isRunning = false;
  const timer = setInterval(async () => {
    if (isRunning) return;
    isRunning = true;
    await work();
    isRunning = false;
  }, ms);
  timer.unref();
  return () => clearInterval(timer);
}
