import type { Deps } from '../oauth/deps.ts';
import { StoreUnavailable, storeReason } from '../platform/db/db.ts';

/** How often the jobs run that need not be quick. */
export const periodMs = 60_000;

/** In an outage every job fails alike, some of them each second: each is logged once a minute, without a stack. */
export function failureLog({ log, timekeeper }: Pick<Deps, 'log' | 'timekeeper'>) {
  const loggedAt = new Map<string, number>();
  return (job: string, error: unknown) => {
    if (!(error instanceof StoreUnavailable)) return log.error({ err: error, job }, 'job failed');
    const at = timekeeper.monotonic();
    const last = loggedAt.get(job);
    if (last !== undefined && at - last < periodMs) return;
    loggedAt.set(job, at);
    log.error({ job, reason: storeReason(error) }, 'job failed; it will be retried');
  };
}
