import assert from 'node:assert/strict';
import { insertFactorRecovery, noteLink } from '../../src/authentication/sessions/factor-recoveries.store.ts';
import { bucketOf, digest, newSecretIn } from '../../src/platform/ids.ts';
import type { Signet } from './signet.ts';

type Asking = { user_id: string; email: string };

/** As if the user had asked for the removal of their second factors just now. @returns the secret of the link that stops it. */
export async function askForRecovery({ deps, clock }: Pick<Signet, 'deps' | 'clock'>, { user_id, email }: Asking) {
  const at = Math.floor(clock() / 1000);
  const stop = newSecretIn(bucketOf(user_id), 'ln_');
  const recovery = {
    ...{ user_id, email, due_at: at + 7 * 86_400, notify_at: at + 6 * 86_400, stop_hash: digest(stop) },
    ...{ address: '203.0.113.7', user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' },
  };
  const { changes } = await deps.db.of(user_id).run(insertFactorRecovery(recovery, at));
  assert.equal(changes, 1);
  return stop;
}

/** As if the wait were over as well. @returns the secret of the link that removes them. */
export async function waitForRecovery(signet: Pick<Signet, 'deps' | 'clock'>, of: Asking) {
  await askForRecovery(signet, of);
  const at = Math.floor(signet.clock() / 1000);
  const link = newSecretIn(bucketOf(of.user_id), 'ln_');
  const mailed = { user_id: of.user_id, notify_at: at + 6 * 86_400, due_at: at, hash: digest(link) };
  const { changes } = await signet.deps.db.of(of.user_id).run(noteLink(mailed, at));
  assert.equal(changes, 1);
  return link;
}
