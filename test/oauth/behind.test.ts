import assert from 'node:assert/strict';
import { deleteClient } from '../../src/clients/delete-client.ts';
import { now } from '../../src/platform/clock.ts';
import { changeToDeleted } from '../../src/self-service/delete-account/delete-account.ts';
import type { Answer } from '../support/browser.ts';
import { readAnswer } from '../support/browser.ts';
import { finishDeletions } from '../support/deletions.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const scope = 'openid offline_access entitlements:read';

function assertBehind(answer: Answer): void {
  assertRefused(answer, 503, 'temporarily_unavailable');
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
}

/** The store as it was before the last commits: a former primary, or a standby that did not have them. */
const storeOf = ({ deps }: Signet) => ({
  rotations: (more: number) => plain(deps.db).run('update grants set refresh_seq = refresh_seq + $1', [more]),
  hide: () => plain(deps.db).run("update grants set grant_id = 'away ' || grant_id", []),
  show: () => plain(deps.db).run("update grants set grant_id = replace(grant_id, 'away ', '')", []),
});

testSignet('a refresh token that is newer than the store is not invalid, and works later', async ({ signet }) => {
  const [client, other] = [await signet.registerClient(), await signet.registerClient()];
  const user = await signet.signedInUser();
  const first = await user.obtainTokens(client);
  const { refresh_token } = tokensOf(await client.refresh(first.refresh_token));
  const store = storeOf(signet);

  await store.rotations(-1);
  for (const changes of [{}, { scope: 'openid' }]) assertBehind(await client.refresh(refresh_token, changes));
  assertBehind(await client.introspect(refresh_token));
  assertRefused(await other.refresh(refresh_token), 400, 'invalid_grant');

  await store.rotations(1);
  assert.equal((await client.introspect(refresh_token)).json?.active, true);
  const { refresh_token: next } = tokensOf(await client.refresh(refresh_token));

  await store.rotations(-1);
  signet.clock.advance(30 * 86_400);
  assertRefused(await client.refresh(next), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(next)).json, { active: false }, 'not for longer than the row lasts');
});

testSignet('a token whose grant is not there yet is not invalid, and works later', async ({ signet }) => {
  const client = await signet.registerClient({ allowed_scopes: ['openid', 'offline_access', 'entitlements:read'] });
  const user = await signet.signedInUser();
  const tokens = await user.obtainTokens(client, { scope });
  const { access_token } = tokens;
  let { refresh_token } = tokens;
  const store = storeOf(signet);
  const entitlements = async () =>
    readAnswer(
      await fetch(`${signet.url}/v1/me/entitlements`, { headers: { authorization: `Bearer ${access_token}` } }),
    );
  const revoke = (token: string) => client.post('/oauth/revoke', { token });

  await store.hide();
  assertBehind(await client.refresh(refresh_token));
  assertBehind(await signet.userinfo(access_token));
  assertBehind(await entitlements());
  for (const token of [access_token, refresh_token]) {
    assertBehind(await client.introspect(token));
    assertBehind(await revoke(token));
  }
  assertRefused(await client.refresh(`${refresh_token}A`), 400, 'invalid_grant');

  await store.show();
  assert.equal((await signet.userinfo(access_token)).status, 200);
  assert.equal((await entitlements()).status, 200);
  for (const token of [access_token, refresh_token]) {
    assert.equal((await client.introspect(token)).json?.active, true);
  }
  ({ refresh_token } = tokensOf(await client.refresh(refresh_token)));

  await store.hide();
  signet.clock.advance(3600);
  assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(refresh_token)).json, { active: false }, 'a grant of long ago was deleted');
  assert.equal((await revoke(refresh_token)).status, 200);
  assertRefused(await signet.userinfo(access_token), 401, 'invalid_token');
});

testSignet('an access token that is older than its code is in the store is not invalid', async ({ signet }) => {
  const client = await signet.registerClient();
  const { access_token } = await (await signet.signedInUser()).obtainTokens(client);
  await plain(signet.deps.db).run('update grants set redeemed_at = null, refresh_seq = 0', []);
  assertBehind(await signet.userinfo(access_token));
});

testSignet('a token of a user or client that was deleted is invalid at once', async ({ signet }) => {
  const { deps } = signet;
  const [client, deleted] = [await signet.registerClient(), await signet.registerClient()];
  const [user, leaver] = [await signet.signedInUser(), await signet.signedInUser()];
  const tokens = [await user.obtainTokens(deleted), await leaver.obtainTokens(client)];
  await deleteClient(deps, { client_id: deleted.client_id, caller: { actor: 'cli' } });
  await changeToDeleted(deps, { actor: 'cli' }, { ...leaver, role: 'user' }, { at: now(deps), require: {}, run: {} });
  for (const { access_token, refresh_token } of tokens) {
    assertRefused(await signet.userinfo(access_token), 401, 'invalid_token');
    for (const token of [access_token, refresh_token]) {
      assert.deepEqual((await client.introspect(token)).json, { active: false });
      assert.equal((await client.post('/oauth/revoke', { token })).status, 200);
    }
  }
  assertRefused(await client.refresh(tokens[1]!.refresh_token), 400, 'invalid_grant');
  await finishDeletions(deps);
  const left = await plain(deps.db).all('select 1 from grants', []);
  assert.equal(left.length, 0);
});
