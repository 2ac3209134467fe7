import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bucket, newUserId } from '../../src/platform/ids.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { claimsOf } from '../support/relying-party.ts';
import { signInUpstream } from '../support/upstream.ts';

/** Ids of users who are not there, of each of four cells. */
const ids = ['AA', 'QA', 'gA', 'wA'].map((bucket) => newUserId(bucket as Bucket));

test('a text of a user may look like the id of a user in any cell', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t, { engine: 'postgres', cells: 4 });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  for (const [cell, id] of ids.entries()) {
    await t.test(`in c${cell}`, async () => {
      // As an upstream that is Signet, too, says who its users are.
      upstream.account = { sub: id, email: `${id.toLowerCase()}@example.com`, email_verified: true };
      for (const time of ['first', 'next']) {
        const browser = signet.newBrowser();
        const { answer } = await signInUpstream(browser);
        assert.equal(answer.status, 303, `${time}: ${answer.text}`);
        assert.equal((await browser.get('/v1/me')).status, 200);
      }
      const named = await user.browser.patch('/v1/me', { name: id });
      assert.deepEqual([named.status, named.json?.name], [200, id], named.text);
      const { id_token } = await user.obtainTokens(client, { nonce: id, state: id });
      assert.equal(claimsOf(id_token).nonce, id);
    });
  }
});
