import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Seconds. Only what never comes takes so long: a machine with twenty times more to do than it can do is slow, and not wrong.
 * TEST_PATIENCE is for runs in which something is meant to fail.
 */
const patience = Number(process.env.TEST_PATIENCE ?? 300);

/**
 * Waits for what happens elsewhere: in another process, in a browser, on a disk. Everything that a test waits for is waited for
 * here, or by a promise that settles, so a wait has an end and says what did not come.
 * @param what "the mail is sent": the failure reads "In 300 s it did not come to pass that the mail is sent".
 * @param instead what there was in its place, for the failure.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  instead = () => '',
): Promise<void> {
  const begun = performance.now();
  for (let pauseMs = 1; !(await condition()); pauseMs = Math.min(20, pauseMs + 1)) {
    if (performance.now() - begun > patience * 1000)
      assert.fail(`In ${patience} s it did not come to pass that ${what}. ${instead()}`);
    await sleep(pauseMs);
  }
}
