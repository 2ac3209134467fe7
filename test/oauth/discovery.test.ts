import assert from 'node:assert/strict';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { assertRefused, claimsOf, redirectedTo, tokensOf, verifier } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

const allScopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];

// What is advertised does not depend on the store, so one engine is enough.
test('discovery', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ allowed_scopes: allScopes });
  const publicClient = await signet.registerClient({ client_type: 'public' });
  const user = await signet.signedInUser();
  const document = (await (await fetch(`${signet.url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    string[]
  >;

  await t.test('DM-01: both well-known forms are one cacheable document with our exact issuer', async () => {
    const bodies = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (form) => {
        const answer = await fetch(`${signet.url}/.well-known/${form}`);
        assert.equal(answer.headers.get('cache-control'), 'public, max-age=300');
        assert.equal(answer.headers.get('access-control-allow-origin'), '*');
        return answer.text();
      }),
    );
    assert.equal(bodies[0], bodies[1]);
    assert.equal(document.issuer, signet.url);
    assert.ok(!/"none"/.test(JSON.stringify(document.id_token_signing_alg_values_supported)));
  });

  await t.test('DM-01: every endpoint that is advertised is there', async () => {
    const endpoints = Object.entries(document).filter(([name]) => /_endpoint$|^jwks_uri$/.test(name));
    assert.equal(endpoints.length, 8);
    for (const [name, url] of endpoints) {
      assert.ok(String(url).startsWith(`${signet.url}/`), name);
      assert.notEqual((await fetch(String(url), { redirect: 'manual' })).status, 404, name);
    }
  });

  await t.test('DM-01: every scope, algorithm, grant and authentication method that is advertised works', async () => {
    assert.deepEqual(document.grant_types_supported, ['authorization_code', 'refresh_token']);
    // Clients request all of them, and no client has entitlements without knowing of them.
    assert.deepEqual(document.scopes_supported, ['openid', 'profile', 'email', 'offline_access']);
    const issued = await user.obtainTokens(client, { scope: document.scopes_supported!.join(' ') });
    assert.equal(issued.scope, document.scopes_supported!.join(' '));
    const userinfo = await signet.userinfo(issued.access_token);
    for (const claim of Object.keys(userinfo.json ?? {})) assert.ok(document.claims_supported!.includes(claim), claim);
    let { refresh_token } = tokensOf(await client.refresh(issued.refresh_token));
    assert.deepEqual(document.token_endpoint_auth_methods_supported, [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'none',
    ]);
    const inBody = { client_secret: client.client_secret! };
    ({ refresh_token } = tokensOf(await client.with({ client_secret: null }).refresh(refresh_token, inBody)));
    await user.obtainTokens(publicClient);
    assert.deepEqual(document.introspection_endpoint_auth_methods_supported, [
      'client_secret_basic',
      'private_key_jwt',
    ]);
    assert.deepEqual(
      document.revocation_endpoint_auth_methods_supported,
      document.token_endpoint_auth_methods_supported,
    );
    const asForm = { client_id: client.client_id, ...inBody };
    assert.equal((await signet.postForm('/oauth/revoke', { token: refresh_token, ...asForm })).status, 200);
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
    assert.deepEqual(document.id_token_signing_alg_values_supported, ['EdDSA', 'RS256']);
    for (const alg of document.id_token_signing_alg_values_supported as ('EdDSA' | 'RS256')[]) {
      const signed = await signet.registerClient({ id_token_signed_response_alg: alg });
      const { id_token } = await user.obtainTokens(signed);
      assert.equal(JSON.parse(Buffer.from(id_token.split('.')[0]!, 'base64url').toString()).alg, alg);
      assert.ok(document.acr_values_supported!.includes(String(claimsOf(id_token).acr)));
      for (const claim of Object.keys(claimsOf(id_token))) assert.ok(document.claims_supported!.includes(claim), claim);
    }
  });

  await t.test('DM-01: what the authorization endpoint is said to take it takes, and nothing else', async () => {
    const outcome = async (changes: Record<string, string>) =>
      redirectedTo(await user.browser.get(client.authorizePath(changes)));
    const works = async (changes: Record<string, string>) => {
      const answer = await outcome(changes);
      assert.equal(answer.get('error'), null, JSON.stringify(changes));
      return answer;
    };
    for (const response_type of document.response_types_supported!) await works({ response_type });
    await works({ response_mode: 'query' });
    const posted = await user.browser.get(client.authorizePath({ response_mode: 'form_post' }));
    assert.match(posted.text, /<form method="post" action="[^"]*" id="form-post">[\s\S]*name="code"/);
    assert.deepEqual(document.response_modes_supported, ['query', 'fragment', 'form_post']);
    for (const code_challenge_method of document.code_challenge_methods_supported!)
      await works({ code_challenge_method });
    for (const prompt of document.prompt_values_supported!) await works({ prompt });
    assert.equal((await works({})).get('iss'), document.issuer);
    assert.equal(document.authorization_response_iss_parameter_supported as unknown, true);
    assert.equal((await outcome({ response_type: 'token' })).get('error'), 'unsupported_response_type');
    assert.equal((await outcome({ response_mode: 'web_message' })).get('error'), 'invalid_request');
    assert.equal((await outcome({ code_challenge_method: 'plain' })).get('error'), 'invalid_request');
    assert.equal((await outcome({ prompt: 'create' })).get('error'), 'invalid_request');
    assert.equal((await outcome({ request: 'x' })).get('error'), 'request_not_supported');
    assert.equal((await outcome({ request_uri: 'https://x.test' })).get('error'), 'request_uri_not_supported');
  });

  await t.test('OP-04: features that are not built are not advertised and claim no effect', async () => {
    const unbuilt = /tls_client|backchannel_authentication|device_authorization/;
    assert.doesNotMatch(JSON.stringify(document), unbuilt);
    const code = await user.authorize(client);
    const sent = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirect_uri,
      code_verifier: verifier,
    };
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const asserted = { client_id: client.client_id, client_assertion_type, client_assertion: 'e30.e30.x' };
    const unproven = await signet.postForm('/oauth/token', { ...sent, ...asserted });
    assertRefused(unproven, 401, 'invalid_client');
    const { token_type, access_token } = tokensOf(await client.post('/oauth/token', sent, { 'x-ssl-cert': 'x' }));
    assert.deepEqual([token_type, claimsOf(access_token).cnf], ['Bearer', undefined]);
    assert.equal((await signet.userinfo(access_token)).status, 200);
  });

  await t.test('DM-02: nothing is derived from Host or from forwarding headers', async () => {
    const mallory = {
      host: 'mallory.test',
      'x-forwarded-host': 'mallory.test',
      'x-forwarded-proto': 'https',
      'x-forwarded-prefix': '/mallory',
      'x-original-url': '/mallory.test',
      forwarded: 'host=mallory.test;proto=https',
    };
    const ask = (path: string, headers = {}) =>
      new Promise<string>((resolve, reject) => {
        const read = async (answer: IncomingMessage) => {
          const body = Buffer.concat(await answer.toArray()).toString();
          resolve(`${answer.headers.location ?? ''} ${JSON.stringify(answer.headers['set-cookie'] ?? '')} ${body}`);
        };
        httpGet(signet.url + path, { headers: { ...mallory, ...headers } }, read).on('error', reject);
      });
    const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
    assert.equal(JSON.parse((await ask('/.well-known/openid-configuration')).slice(4)).issuer, signet.url);
    const answers = [
      await ask('/.well-known/oauth-authorization-server'),
      await ask(client.authorizePath(), { cookie }),
      await ask(client.authorizePath()),
      await ask('/signin'),
      await ask('/account'),
      await ask('/'),
      await ask('/account', { cookie }),
      await ask('/oauth/userinfo'),
    ];
    for (const answer of answers) assert.doesNotMatch(answer, /mallory/);
    assert.match(answers[1]!, new RegExp(`iss=${encodeURIComponent(signet.url)}`));
    const visitor = await signet.newUser();
    const answer = await visitor.browser.post(
      '/signin',
      { username: visitor.email, password: visitor.password },
      mallory,
    );
    assert.equal(answer.location, '/account');
  });
});
