import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAuthenticator } from '../support/authenticator.ts';
import { addPasskey, passkeyOptions, postPasskey, signInWithPasskey } from '../support/passkeys.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

async function apart(signet: Signet): Promise<[TestUser, TestUser]> {
  const one = await signet.signedInUser();
  for (;;) {
    const other = await signet.signedInUser();
    if (signet.deps.db.of(one.user_id) !== signet.deps.db.of(other.user_id)) return [one, other];
  }
}

test('a passkey opens one account, in whichever parts others ask for it', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', cells: 4, env: { SIGNET_RATE_LIMITS: 'off' } });
  const [one, other] = await apart(signet);
  const authenticator = newAuthenticator(signet.url);
  const register = async ({ browser }: TestUser) =>
    postPasskey(browser, authenticator.create(await passkeyOptions(browser, '/v1/me/passkeys')));
  const { id } = await addPasskey(signet, one, authenticator);
  const taken = await register(other);
  assert.deepEqual([taken.status, taken.json?.current_status], [409, 'registered'], taken.text);
  const removed = await one.browser.send(`/v1/me/passkeys/${id}`, {
    method: 'DELETE',
    headers: { origin: signet.url },
  });
  assert.equal(removed.status, 204, removed.text);
  await addPasskey(signet, other, authenticator);
  const { browser, answer } = await signInWithPasskey(signet, authenticator);
  assert.equal(answer.status, 303, answer.text);
  assert.equal((await browser.get('/v1/me')).json?.user_id, other.user_id);
  const answers = await Promise.all(
    [one, other].map(async (user) => {
      const another = newAuthenticator(signet.url);
      return {
        another,
        status: (await postPasskey(user.browser, another.create(await passkeyOptions(user.browser, '/v1/me/passkeys'))))
          .status,
      };
    }),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201],
    'passkeys of their own',
  );
});
