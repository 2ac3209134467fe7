import assert from 'node:assert/strict';
import { allow, approve, asJson, authorize, readBy } from '../support/outside-clients.ts';
import { assertRefused, RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const env = { SIGNET_DYNAMIC_REGISTRATION: 'on' };
const day = 86_400;

/** As a program does, from another site's script. */
const register = (signet: Signet, body: unknown, headers: Record<string, string> = {}) =>
  signet.newBrowser().send('/oauth/register', {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', origin: 'https://other.test', ...headers },
  });

const metadata = {
  client_name: 'Notes',
  redirect_uris: ['http://localhost/callback', 'https://notes.test/cb'],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code', 'token'],
  token_endpoint_auth_method: 'client_secret_basic',
  scope: 'openid email unheard:of',
  logo_uri: 'javascript:alert(1)',
  client_uri: 'https://notes.test/',
};

testSignet(
  'DR-01: a client registers itself without a secret, reads what was registered, and signs in once it is approved',
  { env },
  async ({ signet }) => {
    const { json: discovery } = await signet.newBrowser().get('/.well-known/openid-configuration');
    assert.equal(discovery?.registration_endpoint, `${signet.url}/oauth/register`);
    const given = {
      ...metadata,
      client_id: 'cl_mine',
      status: 'approved',
      owner_user_id: 'usr_1',
      is_first_party: true,
    };
    const answer = await register(signet, given);
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    const { client_id, client_id_issued_at, ...registered } = answer.json as {
      client_id: string;
      client_id_issued_at: number;
    };
    const preflight = await signet.newBrowser().send('/oauth/register', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://other.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-protocol-version',
      },
    });
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'content-type,mcp-protocol-version');
    assert.match(client_id, /^cl_[\w-]{22}$/);
    assert.equal(client_id_issued_at, Math.floor(signet.clock() / 1000));
    assert.deepEqual(registered, {
      client_name: 'Notes',
      redirect_uris: metadata.redirect_uris,
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid email offline_access',
      id_token_signed_response_alg: 'EdDSA',
      client_uri: 'https://notes.test/',
    });
    const client = new RegisteredClient(signet, {
      client_id,
      client_secret: null,
      redirect_uri: 'http://localhost:51004/callback',
    });
    const refused = await authorize(signet, client);
    assertRefused(refused, 400, 'unauthorized_client');
    assert.equal(refused.location, '');
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    assert.equal((await user.browser.post('/review-request', { client_id })).status, 303);
    const waiting = await admin.browser.get('/v1/admin/clients?status=waiting');
    assert.ok(waiting.text.includes(client_id));
    const review = await readBy(admin, client_id);
    assert.deepEqual(
      [review.origin, review.owner_user_id, review.status, review.consent],
      ['registration', null, 'pending_review', 'required'],
    );
    assert.equal((await approve(admin, client_id, { revision: 1 })).status, 200);
    const code = await allow(user, (await user.browser.get(client.authorizePath())).location!);
    const { refresh_token } = tokensOf(await client.redeem(code));
    tokensOf(await client.refresh(refresh_token));
    const visitor = signet.newBrowser();
    const page = await visitor.get((await visitor.get(client.authorizePath())).location!);
    assert.ok(page.text.includes('Notes (localhost)'), 'never the name alone');
  },
);

testSignet(
  'DR-02: what cannot be registered is refused by the codes of RFC 7591, and leaves no client',
  { env },
  async ({ signet }) => {
    const cases: [changes: object, error: string][] = [
      [{ redirect_uris: undefined }, 'invalid_redirect_uri'],
      [{ redirect_uris: [] }, 'invalid_redirect_uri'],
      [{ redirect_uris: [7] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['http://notes.test/cb'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['https://notes.test/cb#f'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: Array.from({ length: 21 }, (_, one) => `https://notes.test/${one}`) }, 'invalid_redirect_uri'],
      [{ client_name: 7 }, 'invalid_client_metadata'],
      [{ client_name: '' }, 'invalid_client_metadata'],
      [{ client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
      [{ scope: ['openid'] }, 'invalid_client_metadata'],
      [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
      [{ grant_types: 'authorization_code' }, 'invalid_client_metadata'],
      [{ response_types: ['token'] }, 'invalid_client_metadata'],
      [{ token_endpoint_auth_method: 'tls_client_auth' }, 'invalid_client_metadata'],
      [{ token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
      [{ token_endpoint_auth_method: 'constructor' }, 'invalid_client_metadata'],
    ];
    for (const [changes, error] of cases)
      assertRefused(await register(signet, { ...metadata, ...changes }), 400, error);
    for (const body of ['[]', '7', '"x"', ''])
      assertRefused(await register(signet, body), 400, 'invalid_client_metadata');
    assertRefused(await register(signet, '{'), 400, 'invalid_request');
    assert.equal((await signet.auditLog({ action: 'client.registered' })).length, 0);
  },
);

testSignet(
  'DR-03: registrations are limited by address, by hour and in all, and what nobody reviews goes after seven days',
  {
    env: {
      ...env,
      SIGNET_TRUST_PROXY: '1',
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_ADDRESS: '2',
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_HOUR: '3',
      SIGNET_LIMIT_UNREVIEWED_CLIENTS: '4',
    },
  },
  async ({ signet }) => {
    const from = async (address: string) => (await register(signet, metadata, { 'x-forwarded-for': address })).status;
    const all = async (...addresses: string[]) => (await Promise.all(addresses.map(from))).sort((a, b) => a - b);
    assert.deepEqual(await all('192.0.2.1', '192.0.2.1', '192.0.2.1'), [201, 201, 429]);
    assert.deepEqual(await all('192.0.2.2', '192.0.2.3'), [201, 429]);
    signet.clock.advance(3600);
    assert.deepEqual(await all('192.0.2.4', '192.0.2.5'), [201, 429]);
    assert.equal((await signet.auditLog({ action: 'client.registered' })).length, 4);
    signet.clock.advance(7 * day + 600);
    await signet.runJobs();
    assert.equal((await signet.auditLog({ action: 'client.deleted' })).length, 4);
    assert.equal(await from('192.0.2.1'), 201);
  },
);

testSignet('DR-04: with the setting off there is no such endpoint', async ({ signet }) => {
  assertRefused(await register(signet, metadata, asJson), 404, 'not_found');
  const { json } = await signet.newBrowser().get('/.well-known/oauth-authorization-server');
  assert.ok(!('registration_endpoint' in json!));
});

testSignet('DR-01: a redirect URI that is none is named, also without a client_name', { env }, async ({ signet }) => {
  const { client_name: _, ...unnamed } = metadata;
  for (const uri of ['x', '', 'http://', 'https://[::1', 'http://localhost:99999/x', 'http://127.0.0.1:99999/x'])
    assertRefused(await register(signet, { ...unnamed, redirect_uris: [uri] }), 400, 'invalid_redirect_uri');
});
