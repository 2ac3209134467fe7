import assert from 'node:assert/strict';
import { keySetOf, newKeyPair } from '../support/client-keys.ts';
import { FapiClient } from '../support/fapi-client.ts';
import { assertRefused, claimsOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';

/** The fields that an answer finds fault with. */
const faultsOf = (answer: { json: Record<string, unknown> | undefined }) =>
  (answer.json?.fields as { path: string }[] | undefined)?.map(({ path }) => path);

testSignet('FA-02: a client is held to FAPI 2.0 only as what the profile allows, and stays so', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const admin = await signet.signedInUser({ role: 'admin' });
  const plain = await signet.registerClient({ owner, id_token_signed_response_alg: 'RS256', approved: false });
  const local = { redirect_uris: ['https://rp.test/cb', 'http://localhost:8080/cb'] };
  await owner.browser.patch(`/v1/oauth/clients/${plain.client_id}`, local);
  const approval = { revision: 2, consent: 'skip', profile: 'fapi2' };
  const refused = await admin.browser.postJson(`/v1/admin/clients/${plain.client_id}/approve`, approval);
  assert.equal(refused.status, 400, refused.text);
  assert.deepEqual(faultsOf(refused), [
    'token_endpoint_auth_method',
    'id_token_signed_response_alg',
    'redirect_uris/1',
  ]);
  const open = await signet.registerClient({ owner, client_type: 'public' });
  const change = (client_id: string, body: object) =>
    admin.browser.patch(`/v1/admin/clients/${client_id}/policy`, body);
  assert.deepEqual(faultsOf(await change(open.client_id, { profile: 'fapi2' })), [
    'client_type',
    'token_endpoint_auth_method',
  ]);

  const pair = newKeyPair();
  const keyed = { owner, token_endpoint_auth_method: 'private_key_jwt', jwks: keySetOf(pair) } as const;
  const client = await signet.registerClient({ ...keyed, id_token_signed_response_alg: 'RS256' });
  assert.deepEqual(faultsOf(await change(client.client_id, { profile: 'fapi2' })), ['id_token_signed_response_alg']);
  const held = await change(client.client_id, { profile: 'fapi2', id_token_signed_response_alg: 'EdDSA' });
  assert.deepEqual([held.status, held.json?.profile], [200, 'fapi2'], held.text);
  const [event] = await signet.auditLog({ target: client.client_id, action: 'client.policy_changed' });
  assert.match(String(event?.after_state), /"profile":"fapi2"/);
  const path = `/v1/oauth/clients/${client.client_id}`;
  assert.deepEqual(faultsOf(await owner.browser.patch(path, { token_endpoint_auth_method: null })), [
    'token_endpoint_auth_method',
  ]);
  assert.equal((await owner.browser.patch(path, { profile: null })).status, 400, 'it is the choice of the reviewer');
  assert.deepEqual(faultsOf(await change(client.client_id, { id_token_signed_response_alg: 'RS256' })), [
    'id_token_signed_response_alg',
  ]);

  const page = await admin.browser.get(`/admin/clients/${client.client_id}`);
  assert.match(page.text, /<select id="policy-profile"[^>]*>.*<option value="fapi2" selected>/s);
  assert.equal(redirectedTo(await owner.browser.get(client.authorizePath())).get('error'), 'invalid_request');
  const released = await admin.browser.post(`/admin/clients/${client.client_id}/policy`, {
    consent: 'skip',
    refresh_retry_window: '0',
    profile: 'none',
    id_token_signed_response_alg: 'EdDSA',
  });
  assert.equal(released.status, 303, released.text);
  assert.ok(redirectedTo(await owner.browser.get(client.authorizePath())).get('code'));
});

testSignet(
  'FA-03: a refresh token of the profile stays, on all nodes, and ends with its grant',
  async ({ signet, t }) => {
    const beside = await startSignet(t, { beside: signet });
    const user = await signet.signedInUser();
    const client = await FapiClient.register(signet);
    const { refresh_token, id_token } = await client.run(user);
    assert.equal(claimsOf(id_token).sid, undefined);
    const there = client.at(beside);
    const answers = await Promise.all([client, there, client, there].map((one) => one.refresh(refresh_token)));
    assert.deepEqual(
      answers.map((answer) => tokensOf(answer).refresh_token),
      Array(4).fill(refresh_token),
    );
    for (const answer of answers) assert.equal((await client.userinfo(tokensOf(answer).access_token)).status, 200);
    assert.equal((await client.post('/oauth/revoke', { token: refresh_token })).status, 200);
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
    assert.equal((await client.userinfo(tokensOf(answers[0]!).access_token)).status, 401);

    const logout = await FapiClient.register(signet, { post_logout_redirect_uris: ['https://rp.test/out'] });
    assert.ok(claimsOf((await logout.run(user)).id_token).sid, 'who signs users out needs the session');
  },
);
