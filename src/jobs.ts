import { type Deps, now } from './deps.ts';
import { rotateDueKeys } from './keys/rotate-keys.ts';
import { purgeFailureCounters } from './limits/store.ts';
import { purgePendingRequests } from './oauth/authorize/store.ts';
import { purgeGrants } from './oauth/grants.store.ts';
import { purgeRevokedAccessTokens } from './oauth/revoke/store.ts';
import { accessTokenSeconds } from './oauth/token/issue-tokens.ts';
import { purgeLinks } from './one-time-links/store.ts';
import { purgeSessions } from './sessions/store.ts';

/** Ended sessions and grants stay this long, so that whoever is asked "what happened?" can still see it. */
const keptSeconds = 7 * 86_400;

/** One line a job. Each is safe on every node at any time, and alone: one that fails does not stop the others. */
const jobs: Record<string, (deps: Deps) => Promise<unknown>> = {
  'refresh keys': (deps) => deps.keys.refresh(),
  'rotate keys': (deps) => rotateDueKeys(deps),
  'purge grants': (deps) => purgeGrants(deps.db, now(deps) - 600, now(deps) - accessTokenSeconds - keptSeconds),
  'purge sessions': (deps) => purgeSessions(deps.db, now(deps) - keptSeconds),
  'purge requests': (deps) => purgePendingRequests(deps.db, now(deps)),
  'purge revoked tokens': (deps) => purgeRevokedAccessTokens(deps.db, now(deps)),
  'purge links': (deps) => deps.db.batch(purgeLinks(now(deps))),
  'purge counters': (deps) => deps.db.batch([purgeFailureCounters(now(deps))]),
};

export async function runJobs(deps: Deps): Promise<void> {
  for (const [name, job] of Object.entries(jobs)) {
    await job(deps).catch((error: unknown) => deps.log.error({ err: error, job: name }, 'job failed'));
  }
}

const periodMs = 60_000;

/** @returns a function that stops them. */
export function startJobs(deps: Deps): () => void {
  const timer = setInterval(() => void runJobs(deps), periodMs);
  timer.unref();
  return () => clearInterval(timer);
}
