import assert from 'node:assert/strict';
import { decodeProtectedHeader } from 'jose';
import { disableUser } from '../../../src/admin/users/administer-user.ts';
import { retireScope } from '../../../src/apis/manage-api.ts';
import { rotateNow } from '../../../src/oauth/signing-keys/signing-keys.ts';
import { newApi } from '../../../test/support/apis.ts';
import { newProofKey, type ProofKey, proofOf } from '../../../test/support/dpop.ts';
import { claimsOf, tokensOf, verifier } from '../../../test/support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../../../test/support/signet.ts';
import { createVerifier, type VerifierOptions } from '../src/index.ts';
import { refusal } from './refusal.ts';

/** An API that accepts the tokens of this client, on the clock of the test. */
const verifierFor = (signet: Signet, audience: string | string[], more: Partial<VerifierOptions> = {}) =>
  createVerifier({ issuer: signet.url, audience, now: signet.clock, ...more });

testSignet(
  'access tokens of Signet are accepted, EdDSA and RS256, and nothing else of the same grant',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    for (const id_token_signed_response_alg of ['EdDSA', 'RS256'] as const) {
      const client = await signet.registerClient({ id_token_signed_response_alg });
      const tokens = await user.obtainTokens(client, { scope: 'openid email offline_access' });
      assert.equal(decodeProtectedHeader(tokens.access_token).alg, id_token_signed_response_alg);
      const verify = verifierFor(signet, client.client_id);
      const claims = await verify(tokens.access_token, { scope: 'openid email' });
      assert.deepEqual(claims, claimsOf(tokens.access_token));
      assert.deepEqual([claims.sub, claims.client_id], [user.user_id, client.client_id]);
      await refusal(verify(tokens.access_token, { scope: 'profile' }), 'insufficient_scope');
      await refusal(verify(tokens.id_token), 'invalid_token', /not an access token/);
      await refusal(verify(tokens.refresh_token), 'invalid_token', /not a signed JWT/);

      const narrowed = await client.refresh(tokens.refresh_token, { scope: 'openid' });
      await refusal(verify(String(narrowed.json?.access_token), { scope: 'email' }), 'insufficient_scope');
    }
  },
);

testSignet('a token for another client, of another Signet, or expired is refused', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const [client, other] = [await signet.registerClient(), await signet.registerClient()];
  const { access_token } = await user.obtainTokens(client);
  await refusal(verifierFor(signet, other.client_id)(access_token), 'invalid_token', /another audience/);
  await verifierFor(signet, [other.client_id, client.client_id])(access_token);

  const { engine } = signet.deps.db;
  const stranger = await startSignet(t, { engine }); // made from the same template, so with the same keys
  await refusal(verifierFor(stranger, client.client_id)(access_token), 'invalid_token', /another issuer/);

  const verify = verifierFor(signet, client.client_id, { clockTolerance: 0 });
  signet.clock.advance(3599);
  await verify(access_token);
  signet.clock.advance(1);
  await refusal(verify(access_token), 'invalid_token', /expired/);
});

testSignet('a rotation of keys is not noticed, and tokens of both keys are accepted', async ({ signet }) => {
  const user = await signet.signedInUser();
  for (const id_token_signed_response_alg of ['EdDSA', 'RS256'] as const) {
    const client = await signet.registerClient({ id_token_signed_response_alg });
    let fetches = 0;
    const counting: typeof fetch = (input, init) => {
      fetches += 1;
      return fetch(input, init);
    };
    const verify = verifierFor(signet, client.client_id, { fetch: counting });
    signet.clock.advance(15 * 60);
    const before = (await user.obtainTokens(client)).access_token;
    await verify(before);
    assert.equal(fetches, 2, 'metadata and keys');
    assert.equal((await rotateNow(signet.deps, { actor: 'cli' })).length, 2);
    signet.clock.advance(2);
    const after = (await user.obtainTokens(client)).access_token;
    assert.notEqual(decodeProtectedHeader(after).kid, decodeProtectedHeader(before).kid);
    await verify(after);
    await verify(before);
    assert.equal(fetches, 2, 'the next key was in the set already');
  }
});

testSignet(
  'with introspection, a revocation, a sign-out and a disabled user take effect at once',
  async ({ signet }) => {
    const { client_id, client_secret } = await signet.newService({ permissions: ['tokens:introspect'] });
    const client = await signet.registerClient();
    const introspection = { clientId: client_id, clientSecret: client_secret, cacheSeconds: 0 };
    const [alone, verify] = [{}, { introspection }].map((more) => verifierFor(signet, client.client_id, more));
    const ends: Record<string, (token: string, user: Awaited<ReturnType<Signet['signedInUser']>>) => Promise<unknown>> =
      {
        revocation: (token) => client.post('/oauth/revoke', { token }),
        'sign-out': (_token, user) => user.browser.post('/signout', {}),
        'disabled user': (_token, { user_id }) => disableUser(signet.deps, { actor: 'cli' }, user_id),
      };
    for (const [name, end] of Object.entries(ends)) {
      const user = await signet.signedInUser();
      const { access_token } = await user.obtainTokens(client);
      assert.equal((await verify!(access_token)).sub, user.user_id, name);
      await end(access_token, user);
      await refusal(verify!(access_token), 'invalid_token', /no longer active/).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`);
      });
      await alone!(access_token);
    }
    const { access_token } = await (await signet.signedInUser()).obtainTokens(client);
    const wrong = { ...introspection, clientSecret: 'wrong' };
    await refusal(verifierFor(signet, client.client_id, { introspection: wrong })(access_token), 'unavailable');
  },
);

testSignet(
  'RI-04: a token for an API is accepted by that API alone, which introspects it with a credential of its own',
  async ({ signet }) => {
    const orders = await newApi(signet, ['orders:read', 'orders:write'], 'https://api.example.com/orders');
    const mail = await newApi(signet, ['mail:read'], 'https://api.example.com/mail');
    const user = await signet.signedInUser();
    const client = await signet.registerClient({
      allowed_scopes: ['openid', 'email', 'offline_access', 'orders:read', 'mail:read'],
    });
    const credentials = async ({ api_id }: { api_id: string }) => {
      const { client_id, client_secret } = await signet.newService({
        permissions: ['tokens:introspect'],
        products: [],
        api_id,
      });
      return { clientId: client_id, clientSecret: client_secret, cacheSeconds: 0 };
    };
    const metadata = { scopes_supported: ['orders:read', 'orders:write'] };
    const introspection = await credentials(orders);
    const forOrders = verifierFor(signet, orders.identifier, { metadata, introspection });
    const forMail = verifierFor(signet, mail.identifier, { introspection: await credentials(mail) });
    const forClient = verifierFor(signet, client.client_id);

    const tokens = await user.obtainTokens(client, { scope: 'openid offline_access orders:read' });
    assert.equal((await forOrders(tokens.access_token, { scope: 'orders:read' })).sub, user.user_id);
    for (const verify of [forMail, forClient]) {
      await refusal(verify(tokens.access_token), 'invalid_token', /another audience/);
    }
    await forClient((await user.obtainTokens(client, { scope: 'openid' })).access_token);
    const lacking = await refusal(forOrders(tokens.access_token, { scope: 'orders:write' }), 'insufficient_scope');
    assert.match(
      lacking.wwwAuthenticate ?? '',
      /, scope="orders:read orders:write", resource_metadata="[^"]+\/orders"$/,
    );

    const both = await user.obtainTokens(client, { scope: 'offline_access orders:read mail:read' });
    for (const verify of [forOrders, forMail]) await verify(both.access_token);
    const narrowed = await client.refresh(both.refresh_token, { resource: mail.identifier });
    await forMail(String(narrowed.json?.access_token));
    await refusal(forOrders(String(narrowed.json?.access_token)), 'invalid_token', /another audience/);

    // The credential of another API sees nothing of it.
    const wrong = verifierFor(signet, orders.identifier, { introspection: await credentials(mail) });
    await refusal(wrong(tokens.access_token), 'invalid_token', /no longer active/);
    await retireScope(signet.deps, { actor: 'cli' }, orders.api_id, 'orders:read');
    signet.clock.advance(2);
    // It was the only scope of that API which the client had.
    await refusal(forOrders(tokens.access_token, { scope: 'orders:read' }), 'invalid_token', /no longer active/);
  },
);

testSignet(
  'a token that Signet has bound to a key is accepted with a proof of it, once (RFC 9449 §7)',
  async ({ signet }) => {
    const api = await newApi(signet, ['orders:read'], 'https://api.example.com/orders');
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ client_type: 'public', allowed_scopes: ['openid', 'orders:read'] });
    const key = await newProofKey();
    const redeemed = await client.post(
      '/oauth/token',
      {
        grant_type: 'authorization_code',
        code: await user.authorize(client, { scope: 'orders:read' }),
        redirect_uri: client.redirect_uri,
        code_verifier: verifier,
        client_id: client.client_id,
      },
      { dpop: await proofOf(signet, key, ['POST', '/oauth/token']) },
    );
    const token = tokensOf(redeemed).access_token;
    const service = { permissions: ['tokens:introspect'], products: [], api_id: api.api_id };
    const { client_id, client_secret } = await signet.newService(service);
    const introspection = { clientId: client_id, clientSecret: client_secret, cacheSeconds: 0 };
    const verify = verifierFor(signet, api.identifier, { dpop: { required: true }, introspection });
    const at = { clock: signet.clock, url: 'https://api.example.com' };
    const ask = async (by: ProofKey, proof?: string) => {
      const made = proof ?? (await proofOf(at, by, ['GET', '/orders/1'], { token }));
      return verify.authorization(`DPoP ${token}`, { dpop: { proof: made, method: 'GET', path: '/orders/1?full' } });
    };
    assert.equal((await ask(key)).sub, user.user_id);
    const used = await proofOf(at, key, ['GET', '/orders/1'], { token });
    await ask(key, used);
    await refusal(ask(key, used), 'invalid_dpop_proof', /used before/);
    await refusal(ask(await newProofKey()), 'invalid_dpop_proof', /another key/);
    await refusal(verify.authorization(`Bearer ${token}`), 'invalid_token', /no Bearer token/);
    await refusal(verifierFor(signet, api.identifier)(token), 'invalid_token', /no Bearer token/);
  },
);
