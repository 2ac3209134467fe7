import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { internalAddresses, openDocumentServer } from '../support/document-server.ts';
import { pattern, sentence } from '../support/messages.ts';
import { allow, approve, authorize, clientAt, readBy, readsDocuments } from '../support/outside-clients.ts';
import { assertRefused, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

testSignet(
  'MD-02: an unknown client_id is read as a document, waits for a review that a user asks for, and signs in once it is approved',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const client = clientAt(signet, server, server.urlOf('app'));
    const { client_id } = client;
    const host = new URL(client_id).host;
    const { json: discovery } = await admin.browser.get('/.well-known/oauth-authorization-server');
    assert.equal(discovery?.client_id_metadata_document_supported, true);

    assertRefused(await authorize(signet, client), 400, 'unauthorized_client');
    const page = await user.browser.get(client.authorizePath());
    assert.equal(page.status, 400);
    assert.equal(page.location, '', 'nothing is sent to a redirect URI that nobody has reviewed');
    assert.match(page.text, pattern`<h1>${sentence('error.app_waits')}</h1>`);
    assert.ok(
      page.text.includes(host) && !page.text.includes('Notes'),
      'the host, and not the name that it gives itself',
    );
    const ask = `/review-request?client_id=${encodeURIComponent(client_id)}`;
    assert.ok(page.text.includes(`href="${ask}"`.replaceAll('&', '&amp;')), page.text);

    const listed = async (status: string) => {
      const { json } = await admin.browser.get(`/v1/admin/clients?status=${status}`);
      return (json!.clients as { client_id: string }[]).map((one) => one.client_id);
    };
    assert.deepEqual(
      [await listed('waiting'), await listed('outside')],
      [[], [client_id]],
      'no queue that strangers fill',
    );

    const question = await user.browser.get(ask);
    assert.equal(question.status, 200, question.text);
    assert.ok(question.text.includes('Notes') && question.text.includes(host));
    assert.equal((await signet.newBrowser().get(ask)).status, 303, 'only who is signed in may ask');
    assert.equal((await user.browser.post('/review-request', { client_id })).status, 303);
    assert.equal((await user.browser.post('/review-request', { client_id })).status, 303);
    assert.equal((await signet.auditLog({ action: 'client.review_asked', target: client_id })).length, 1);
    assert.deepEqual([await listed('waiting'), await listed('outside')], [[client_id], []]);

    const review = await readBy(admin, client_id);
    assert.deepEqual(
      [review.origin, review.owner_user_id, review.status, review.consent, review.client_type, review.name],
      ['metadata_document', null, 'pending_review', 'required', 'public', 'Notes'],
    );
    const adminPage = await admin.browser.get(`/admin/clients/${encodeURIComponent(client_id)}`);
    assert.equal(adminPage.status, 200);
    assert.ok(adminPage.text.includes(host));
    assertRefused(
      await approve(admin, client_id, { revision: review.revision, consent: 'skip' }),
      400,
      'invalid_request',
    );
    assertRefused(await approve(admin, client_id, { revision: 7 }), 409, 'stale_revision');
    const approved = await admin.browser.post(`/admin/clients/${encodeURIComponent(client_id)}/approve`, {
      revision: String(review.revision),
      consent: 'required',
      refresh_retry_window: '0',
      'scope:openid': 'on',
      'scope:offline_access': 'on',
      second_factor: 'optional',
    });
    assert.equal(approved.location, `/admin/clients/${encodeURIComponent(client_id)}?done=approved`, approved.text);
    assert.deepEqual((await readBy(admin, client_id)).allowed_scopes, ['openid', 'offline_access']);

    const visitor = signet.newBrowser();
    const signInPage = await visitor.get((await visitor.get(client.authorizePath())).location!);
    assert.ok(signInPage.text.includes(`Notes (${host})`), 'never the name alone');
    const asked = await user.browser.get(client.authorizePath());
    assert.equal(redirectedTo(asked).base, `${signet.url}/consent`.replace(signet.url, 'http://relative.invalid'));
    const consent = await user.browser.get(asked.location!);
    assert.match(consent.text, sentence('consent.origin.metadata_document', { host: `<code>${host}</code>` }));
    const code = await allow(user, asked.location!);
    const tokens = tokensOf(await client.redeem(code));
    assert.equal(tokens.scope, 'openid offline_access');
    tokensOf(await client.refresh(tokens.refresh_token));
    const { json: connected } = await user.browser.get('/v1/me/grants');
    assert.equal((connected!.grants as { name: string }[])[0]?.name, `Notes (${host})`);
    assert.equal(server.asked.length, 1, 'all of it with one look at the document');
  },
);

testSignet(
  'MD-03: a document that nobody could be approved by is refused, and leaves no client',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const refused = async (path: string, changes: object, said: RegExp, more: object = {}) => {
      const client = clientAt(signet, server, server.urlOf('app', path), changes, more);
      const answer = await authorize(signet, client);
      assertRefused(answer, 400, 'invalid_request');
      assert.match(String(answer.json?.error_description), said);
      assert.equal(answer.location, '');
    };
    const foreign = server.urlOf('other', '/cb');
    const cases: [changes: object, said: RegExp, more?: object][] = [
      [{ client_id: server.urlOf('app', '/another.json') }, /client_id in the document/],
      [{ client_id: undefined }, /client_id in the document/],
      [{ redirect_uris: [foreign] }, /must have the scheme, host and port of the client_id/],
      [{ redirect_uris: [server.urlOf('app', '/cb'), foreign] }, /must have the scheme, host and port/],
      [{ redirect_uris: ['https://app.localhost/cb'] }, /must have the scheme, host and port/],
      [{ redirect_uris: ['http://app.localhost/cb'] }, /must have the scheme, host and port/],
      [{ redirect_uris: ['javascript:alert(1)'] }, /redirect_uris: Must begin with https/],
      [{ redirect_uris: [server.urlOf('app', '/*')] }, /redirect_uris: /],
      [{ redirect_uris: [] }, /at least one URI/],
      [{ redirect_uris: 'https://app.localhost/cb' }, /list of texts/],
      [{ client_secret: 'abc' }, /must not contain a client secret/],
      [{ client_secret_expires_at: 0 }, /must not contain a client secret/],
      [{ token_endpoint_auth_method: 'client_secret_basic' }, /must be none or private_key_jwt/],
      [{ token_endpoint_auth_method: 'client_secret_jwt' }, /must be none or private_key_jwt/],
      [{ grant_types: ['client_credentials'] }, /must contain authorization_code/],
      [{ response_types: ['token'] }, /must contain code/],
      [{ client_name: '\u202eevil' }, /client_name: /],
      [{ client_name: 7 }, /client_name: /],
      [{}, /redirects \(302\)/, { status: 302, headers: { location: server.urlOf('other') } }],
      [{}, /responded with 404/, { status: 404 }],
      [{}, /responded with 201/, { status: 201 }],
      [{}, /more than 16 KB/, { body: Buffer.alloc(10 * 1024 * 1024, ' ') }],
      [{}, /no JSON/, { body: '{"client_id":' }],
      [{}, /JSON object/, { body: [] }],
      [{}, /Content-Type/, { headers: { 'content-type': 'text/html' } }],
    ];
    for (const [place, [changes, said, more]] of cases.entries()) {
      await refused(`/${place}.json`, changes, said, more);
      if (place === 14) signet.clock.advance(3600);
    }
    const { json } = await (await signet.signedInUser({ role: 'admin' })).browser.get('/v1/admin/clients?status=all');
    assert.deepEqual(json?.clients, []);
    assert.equal((await signet.auditLog({ action: 'client.registered' })).length, 0);
    const before = server.asked.length;
    await refused('/24.json', {}, /Content-Type/);
    assert.equal(server.asked.length, before, 'it was mended, and is asked for again after a minute');
    signet.clock.advance(60);
    assertRefused(
      await authorize(signet, clientAt(signet, server, server.urlOf('app', '/24.json'))),
      400,
      'unauthorized_client',
    );
    const withQuery = clientAt(signet, server, server.urlOf('app')).with({ client_id: `${server.urlOf('app')}?a=b` });
    assertRefused(await authorize(signet, withQuery), 400, 'invalid_request');
    assert.ok(!server.asked.some((url) => url.includes('?')));
  },
);

testSignet(
  'MD-04: a document at an internal address is not asked for, unless the operator allows it',
  { env: { SIGNET_CLIENT_ID_METADATA: 'on' } },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const { port } = new URL(server.urlOf('app'));
    for (const client_id of [
      server.urlOf('app'),
      `https://localhost:${port}/a`,
      `https://127.0.0.1:${port}/a`,
      'https://10.0.0.1/a',
    ]) {
      const client = clientAt(signet, server, client_id);
      const answer = await authorize(signet, client);
      assertRefused(answer, 400, 'invalid_request');
      assert.match(String(answer.json?.error_description), /internal address/);
    }
    assert.deepEqual(server.asked, []);
  },
);

testSignet(
  "MD-08: a document that claims another's name is a risk, and a native app of a document has any port of localhost",
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    await signet.registerClient({ name: 'Example Bank' });
    const url = server.urlOf('app');
    const local = ['http://localhost/callback', 'http://127.0.0.1/callback', 'com.example.app:/cb'];
    const client = clientAt(signet, server, url, {
      client_name: 'Examp1e Bank',
      redirect_uris: local,
      logo_uri: 'javascript:alert(1)',
    });
    assertRefused(
      await authorize(signet, client, { redirect_uri: 'http://localhost:51004/callback' }),
      400,
      'unauthorized_client',
    );
    const review = await readBy(admin, url);
    const risk = review.risks.find(({ code }) => code === 'name_resembles_client');
    assert.deepEqual(risk?.detail, ['Example Bank']);
    assert.deepEqual([review.application_type, review.logo_url], ['native', null]);
    assert.ok((await admin.browser.get('/admin/clients?state=outside')).text.includes(new URL(url).host));
  },
);

testSignet(
  'MD-09: with the setting off a URL is an unknown client_id, and nothing is asked for',
  { env: internalAddresses },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const client = clientAt(signet, server, server.urlOf('app'));
    const answer = await authorize(signet, client);
    assertRefused(answer, 400, 'invalid_request');
    assert.equal(answer.json?.error_description, 'client_id does not name a registered client.');
    assert.deepEqual(server.asked, []);
    const { json } = await signet.newBrowser().get('/.well-known/openid-configuration');
    assert.ok(!('client_id_metadata_document_supported' in json!));
  },
);

testSignet(
  'MD-11: a client that pushes its request becomes known by its document there, and is refused until it is approved',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const client = clientAt(signet, server, server.urlOf('app'));
    const parameters = new URL(client.authorizePath(), signet.url).searchParams;
    const push = () => signet.postForm('/oauth/par', Object.fromEntries(parameters));
    assertRefused(await push(), 401, 'invalid_client');
    assert.equal((await readBy(admin, client.client_id)).status, 'pending_review');
    assert.equal((await approve(admin, client.client_id, { revision: 1 })).status, 200);
    const pushed = await push();
    assert.equal(pushed.status, 201, pushed.text);
    const query = new URLSearchParams({ client_id: client.client_id, request_uri: String(pushed.json?.request_uri) });
    const code = await allow(user, (await user.browser.get(`/oauth/authorize?${query}`)).location!);
    tokensOf(await client.redeem(code));
    assert.equal(server.asked.length, 1);
    const broken = clientAt(signet, server, server.urlOf('app', '/b.json'), { client_id: 'another' });
    const refused = await signet.postForm('/oauth/par', { client_id: broken.client_id, response_type: 'code' });
    assertRefused(refused, 400, 'invalid_request');
  },
);

testSignet(
  'MD-13: a document with keys makes a client that authenticates by them, and one with a private key is refused',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] };
    const token_endpoint_auth_method = 'private_key_jwt';
    const client = clientAt(signet, server, server.urlOf('app'), { token_endpoint_auth_method, jwks });
    assertRefused(await authorize(signet, client), 400, 'unauthorized_client');
    const review = await readBy(admin, client.client_id);
    assert.deepEqual(
      [review.client_type, review.token_endpoint_auth_method, review.jwks_uri],
      ['confidential', token_endpoint_auth_method, null],
    );
    assert.equal((review.jwks as typeof jwks).keys[0]?.kid, 'one');
    assert.equal((await approve(admin, client.client_id, { revision: 1 })).status, 200);
    assertRefused(await client.redeem('ac_x'), 401, 'invalid_client');
    const leaked = { keys: [privateKey.export({ format: 'jwk' })] };
    for (const [place, changes] of [{ jwks: leaked }, {}, { jwks, jwks_uri: server.urlOf('app', '/jwks') }].entries()) {
      const other = clientAt(signet, server, server.urlOf('app', `/${place}.json`), {
        token_endpoint_auth_method,
        ...changes,
      });
      const refused = await authorize(signet, other);
      assertRefused(refused, 400, 'invalid_request');
      assert.ok(!refused.text.includes(leaked.keys[0]!.d!));
    }
  },
);
