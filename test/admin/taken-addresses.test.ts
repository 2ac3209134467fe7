import assert from 'node:assert/strict';
import { inEachStore } from '../support/in-each-store.ts';
import { sentence } from '../support/messages.ts';

inEachStore(
  'an administrator who gives a person the address of another is told that it is the address, wherever the two are',
  {},
  async (_t, signet) => {
    const administrator = await signet.signedInUser({ role: 'admin' });
    const { user_id, email: own } = await signet.newUser();
    for (let count = 0; count < 8; count += 1) {
      const { email } = await signet.newUser();
      const body = { email, reason: 'Married.' };
      const refused = await administrator.browser.patch(`/v1/admin/users/${user_id}`, body);
      assert.deepEqual([refused.status, refused.json?.current_status], [409, 'taken'], refused.text);
      assert.match(refused.text, sentence('problem.email.taken'));
    }
    const { json } = await administrator.browser.get(`/v1/admin/users/${user_id}`);
    assert.equal(json?.email, own);
  },
);
