import { now } from './clock.ts';
import type { Deps } from './deps.ts';
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

/** Ended sessions and grants stay this long, so that whoever is asked "what happened?" can still see it. */
const keptSeconds = 7 * 86_400;

/** One line a job. Each is safe on every node at any time, and alone: one that fails does not stop the others. */
const jobs = {
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
  'purge counters': (deps) => deps.db.batch([purgeFailureCounters(now(deps))]),
} satisfies Record<string, (deps: Deps) => Promise<unknown>>;
const jobNames = Object.keys(jobs) as (keyof typeof jobs)[];

export async function runJobs(deps: Deps): Promise<void> {
  for (const name of jobNames) await runJob(deps, name);
}

async function runJob(deps: Deps, name: keyof typeof jobs): Promise<void> {
  await jobs[name](deps).catch((error: unknown) => deps.log.error({ err: error, job: name }, 'job failed'));
}

const periodMs = 60_000;

/** @returns a function that stops them. */
export const startJobs = (deps: Deps): (() => void) => every(periodMs, () => runJobs(deps));

/**
 * For a process that leaves the jobs to another one. The key set that it serves comes from its own memory, so without
 * this a worker that sees no tokens for a while would publish keys of before the rotation.
 */
export const keepKeysFresh = (deps: Deps): (() => void) => every(periodMs, () => runJob(deps, 'refresh keys'));

function every(ms: number, work: () => Promise<void>): () => void {
  const timer = setInterval(() => void work(), ms);
  timer.unref();
  return () => clearInterval(timer);
}
