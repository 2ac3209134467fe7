import { setTimeout as sleep } from 'node:timers/promises';

/** For background work to end: a mail server or a webhook target may not answer. */
const endingMs = 3_000;

type Closable = { close(): Promise<unknown> };

/**
 * Whatever is opened says here when it is to be closed, so that nothing is forgotten.
 * - `beforeWork`: what waits for nothing but the store, and what the background work ends by.
 * - `work`: in the background. What is claimed and not done within three seconds is done by another process, or after the next start.
 * - `afterWork`: what all of it needs.
 */
export function openClosing() {
  const steps = { beforeWork: [] as Closable[], work: [] as Closable[], afterWork: [] as Closable[] };
  const closeAll = (step: keyof typeof steps) => Promise.all(steps[step].map((one) => one.close()));
  return {
    /** @returns what it was given. */
    on<Opened extends Closable>(step: keyof typeof steps, opened: Opened): Opened {
      steps[step].push(opened);
      return opened;
    },
    /** After the last answer. @param jobs resolves when the jobs in progress have ended. */
    async close(jobs: Promise<void> = Promise.resolve()): Promise<void> {
      await closeAll('beforeWork');
      await Promise.race([Promise.all([jobs, closeAll('work')]), sleep(endingMs, undefined, { ref: false })]);
      await closeAll('afterWork');
    },
  };
}

export type Closing = ReturnType<typeof openClosing>;
