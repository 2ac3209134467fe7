import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { createVerifier } from '../../packages/verify/src/index.ts';
import { retireApi } from '../../src/apis/manage-api.ts';
import { newApi } from '../support/apis.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const cli = { actor: 'cli' } as const;
const audienceOf = (token: string) => decodeJwt(token).aud;

async function setUp(signet: Signet) {
  const crm = await newApi(signet, ['crm:read']);
  const files = await newApi(signet, ['files:read'], 'https://files.test/v1');
  const user = await signet.signedInUser();
  const allowed_scopes = ['openid', 'email', 'offline_access', 'entitlements:read', 'crm:read', 'files:read'];
  return { crm, files, user, client: await signet.registerClient({ owner: user, allowed_scopes }) };
}

testSignet('RI-08: a grant whose API is retired does not become one for Signet', async ({ signet }) => {
  const { crm, user, client } = await setUp(signet);
  const scope = 'openid email offline_access entitlements:read crm:read';
  const held = await user.obtainTokens(client, { scope });
  const code = await user.authorize(client, { scope });
  await retireApi(signet.deps, cli, crm.api_id);
  const refreshed = tokensOf(await client.refresh(held.refresh_token));
  for (const { access_token } of [refreshed, tokensOf(await client.redeem(code))]) {
    assert.deepEqual(audienceOf(access_token), [client.client_id]);
    assertRefused(await signet.userinfo(access_token), 401, 'invalid_token');
    const headers = { authorization: `Bearer ${access_token}` };
    assert.equal((await fetch(`${signet.url}/v1/me/entitlements`, { headers })).status, 401);
    assert.deepEqual((await client.introspect(access_token)).json, { active: false });
  }
  const own = tokensOf(await client.refresh(refreshed.refresh_token, { resource: signet.url }));
  assert.equal((await signet.userinfo(own.access_token)).json?.email, user.email, 'it has to be asked for');
});

testSignet(
  'RI-08: the order of a scope, or only scopes of ours, do not change for whom a token is',
  async ({ signet }) => {
    const { crm, user, client } = await setUp(signet);
    const held = await user.obtainTokens(client, { scope: 'openid email offline_access', resource: crm.identifier });
    const forCrm = [client.client_id, crm.identifier];
    assert.deepEqual(audienceOf(held.access_token), forCrm);
    let { refresh_token } = held;
    for (const scope of ['offline_access email openid', 'openid', 'openid email offline_access']) {
      const refreshed = tokensOf(await client.refresh(refresh_token, { scope }));
      assert.deepEqual(audienceOf(refreshed.access_token), forCrm, scope);
      ({ refresh_token } = refreshed);
    }
    const mixed = await user.obtainTokens(client, { scope: 'openid offline_access crm:read' });
    const less = tokensOf(await client.refresh(mixed.refresh_token, { scope: 'openid' }));
    assert.deepEqual([audienceOf(less.access_token), less.scope], [forCrm, 'openid']);
  },
);

testSignet('a verifier that introspects refuses a token for an API that was retired', async ({ signet }) => {
  const { crm, files, user, client } = await setUp(signet);
  const { access_token } = await user.obtainTokens(client, { scope: 'openid crm:read files:read' });
  const { client_id: clientId, client_secret: clientSecret } = await signet.newService({
    permissions: ['tokens:introspect'],
  });
  const verifierOf = (audience: string) =>
    createVerifier({
      issuer: signet.url,
      audience,
      introspection: { clientId, clientSecret, cacheSeconds: 0 },
      now: () => signet.clock(),
    });
  const [ofCrm, ofFiles] = [verifierOf(crm.identifier), verifierOf(files.identifier)];
  const ask = (verify: typeof ofCrm) => verify(access_token);
  await ask(ofCrm);
  await retireApi(signet.deps, cli, crm.api_id);
  await assert.rejects(ask(ofCrm), /no longer active/);
  await ask(ofFiles);
});
