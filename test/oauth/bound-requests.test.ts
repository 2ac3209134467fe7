import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { retireApi } from '../../src/apis/manage-api.ts';
import { changePolicy } from '../../src/clients/review-client.ts';
import { newApi } from '../support/apis.ts';
import { keySetOf, newKeyPair } from '../support/client-keys.ts';
import { newProofKey, proofOf } from '../support/dpop.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

const token = ['POST', '/oauth/token'] as const;

testSignet(
  'DP-02: a proof that a public client first sends at a refresh binds its refresh token',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user, client_type: 'public' });
    const key = await newProofKey();
    const proven = async (by = key) => ({ dpop: await proofOf(signet, by, token) });
    const first = await user.obtainTokens(client);
    assert.equal(first.token_type, 'Bearer');
    const bound = tokensOf(await client.refresh(first.refresh_token, {}, await proven()));
    assert.ok(decodeJwt(bound.access_token).cnf);
    assertRefused(await client.refresh(bound.refresh_token), 400, 'invalid_grant');
    assertRefused(
      await client.refresh(bound.refresh_token, {}, await proven(await newProofKey())),
      400,
      'invalid_grant',
    );
    assert.equal(tokensOf(await client.refresh(bound.refresh_token, {}, await proven())).token_type, 'DPoP');
  },
);

testSignet('strangers cannot fill the store with proofs for a public client', async ({ signet }) => {
  const client = await signet.registerClient({ client_type: 'public' });
  const key = await newProofKey();
  const send = async (fields: Record<string, string>) => {
    const proof = { dpop: await proofOf(signet, key, token) };
    return signet.postForm('/oauth/token', { client_id: client.client_id, ...fields }, proof);
  };
  const useless: Record<string, string>[] = [
    { grant_type: 'authorization_code' },
    { grant_type: 'x' },
    { grant_type: 'refresh_token', refresh_token: 'x', resource: 'no uri' },
  ];
  for (const fields of useless) {
    for (let number = 0; number < 30; number += 1) await send(fields);
    assertRefused(await send(fields), 429, 'rate_limited');
    signet.clock.advance(86_400);
  }
  const [rows] = await plain(signet.deps.db).all<{ n: number }>('select count(*) as n from spent_tokens');
  assert.ok(Number(rows?.n) < 90, `${rows?.n} rows`);
});

testSignet('a request that waits is refused once its client must push', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({
    owner: user,
    consent: 'required',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: keySetOf(newKeyPair()),
  });
  const asked = await user.browser.get(client.authorizePath());
  assert.match(asked.location ?? '', /^\/consent/);
  const { client_id } = client;
  await changePolicy(signet.deps, { client_id, caller: { actor: 'cli' } }, { profile: 'fapi2' });
  signet.clock.advance(1);
  const request = new URLSearchParams(asked.location?.split('?')[1]).get('request') ?? '';
  const allowed = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
  const answer = redirectedTo(await user.browser.get(allowed.location ?? ''));
  assert.deepEqual([answer.get('error'), answer.get('code'), answer.get('state')], ['invalid_request', null, 's1']);
});

testSignet('the test of a client whose scopes were all retired says so', async ({ signet }) => {
  const { api_id } = await newApi(signet, ['crm:read']);
  const user = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner: user, allowed_scopes: ['crm:read'] });
  await retireApi(signet.deps, { actor: 'cli' }, api_id);
  const answer = await user.browser.post(`/developer/clients/${client_id}/test`, {});
  assert.equal(answer.status, 400, answer.text);
});
