import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '../../src/clients/client.ts';
import { editClient } from '../../src/clients/edit-client.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import { readAnswer } from '../support/browser.ts';
import { assertRefused, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const all = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'] as const;

/** The owner asks for other scopes, and an administrator approves them. */
async function allow({ deps }: Signet, owner: TestUser, client: RegisteredClient, scopes: Client['allowed_scopes']) {
  const target = { client_id: client.client_id, caller: { actor: 'cli' } } as const;
  const edit = { ...target, owner_user_id: owner.user_id };
  const { revision } = await editClient(deps, edit, { revision: undefined, fields: { allowed_scopes: scopes } });
  await approveClient(deps, target, { revision });
}

const entitlements = async ({ url }: Signet, token: string) =>
  readAnswer(await fetch(`${url}/v1/me/entitlements`, { headers: { authorization: `Bearer ${token}` } }));

testSignet('a scope that is taken from a client leaves the tokens that it holds', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, allowed_scopes: [...all] });
  const held = await owner.obtainTokens(client, { scope: all.join(' ') });
  const emailAlone = await owner.obtainTokens(client, { scope: 'email' });
  assert.equal((await entitlements(signet, held.access_token)).status, 200);

  await allow(signet, owner, client, ['openid', 'offline_access']);
  assert.deepEqual((await signet.userinfo(held.access_token)).json, { sub: owner.user_id });
  assertRefused(await entitlements(signet, held.access_token), 403, 'insufficient_scope');
  for (const token of [held.access_token, held.refresh_token]) {
    const answer = (await client.introspect(token)).json;
    assert.deepEqual([answer?.active, answer?.scope], [true, 'openid offline_access']);
  }
  assertRefused(await signet.userinfo(emailAlone.access_token), 401, 'invalid_token');
  assert.deepEqual((await client.introspect(emailAlone.access_token)).json, { active: false });

  await allow(signet, owner, client, ['openid']);
  assert.deepEqual((await client.introspect(held.refresh_token)).json, { active: false });
  assertRefused(await client.refresh(held.refresh_token), 400, 'invalid_grant');

  await allow(signet, owner, client, all);
  assert.equal((await signet.userinfo(held.access_token)).json?.email, owner.email, 'and comes back with it');
  assert.equal((await entitlements(signet, held.access_token)).status, 200);
});

testSignet('no token is issued for a scope of which the client has lost all', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, allowed_scopes: [...all] });
  const code = await owner.authorize(client, { scope: 'email profile' });
  const { refresh_token } = await owner.obtainTokens(client);
  const wide = await owner.obtainTokens(client, { scope: all.join(' ') });

  await allow(signet, owner, client, ['openid', 'offline_access']);
  assertRefused(await client.redeem(code), 400, 'invalid_scope');
  assertRefused(await client.refresh(wide.refresh_token, { scope: 'email' }), 400, 'invalid_scope');
  assert.equal(tokensOf(await client.refresh(wide.refresh_token)).scope, 'openid offline_access');
  assert.equal(tokensOf(await client.refresh(refresh_token)).scope, 'openid offline_access');

  await allow(signet, owner, client, all);
  assert.equal(tokensOf(await client.redeem(code)).scope, 'email profile', 'the refusal has spent nothing');
});

test('a repeated refresh is not answered with an empty scope either', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, allowed_scopes: [...all], refresh_retry_window: 60 });
  const { refresh_token } = await owner.obtainTokens(client, { scope: all.join(' ') });
  tokensOf(await client.refresh(refresh_token, { scope: 'email' }));
  await allow(signet, owner, client, ['openid', 'offline_access']);
  assertRefused(await client.refresh(refresh_token, { scope: 'email' }), 400, 'invalid_scope');
});
