import assert from 'node:assert/strict';
import { type DocumentServer, documentOf, internalAddresses, openDocumentServer } from '../support/document-server.ts';
import { pattern, sentence } from '../support/messages.ts';
import { assertRefused, RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const env = { SIGNET_CLIENT_ID_METADATA: 'on', ...internalAddresses };
const asJson = { accept: 'application/json' };
const day = 86_400;

/** A client by the URL of its document, which the server gives. */
function clientAt(signet: Signet, server: DocumentServer, client_id: string, changes: object = {}, more: object = {}) {
  const document = documentOf(client_id, changes);
  server.give(client_id, { body: document, ...more });
  return new RegisteredClient(signet, { client_id, client_secret: null, redirect_uri: document.redirect_uris[0]! });
}

const authorize = (signet: Signet, client: RegisteredClient, changes = {}) =>
  signet.newBrowser().get(client.authorizePath(changes), asJson);

const pathOf = (client_id: string, rest = '') => `/v1/admin/clients/${encodeURIComponent(client_id)}${rest}`;

/** What an administrator reads of it. */
async function readBy(admin: TestUser, client_id: string) {
  const answer = await admin.browser.get(pathOf(client_id));
  assert.equal(answer.status, 200, answer.text);
  return answer.json as Record<string, unknown> & { revision: number; risks: { code: string; detail: string[] }[] };
}

/** Answers the consent page. @returns the code. */
async function allow(user: TestUser, page: string): Promise<string> {
  const request = new URL(page, 'http://relative.invalid').searchParams.get('request')!;
  const answer = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
  return redirectedTo(await user.browser.get(answer.location!)).get('code') ?? assert.fail('no code');
}

const approve = (admin: TestUser, client_id: string, body: object) =>
  admin.browser.postJson(pathOf(client_id, '/approve'), body);

testSignet(
  'MD-02: an unknown client_id is read as a document, waits for a review that a user asks for, and signs in once it is approved',
  { env },
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
    assert.equal(server.asked.length, 1, 'all of it with one look at the document');
  },
);

testSignet(
  'MD-03: a document that nobody could be approved by is refused, and leaves no client',
  { env },
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
  'MD-05: strangers fill neither the queue nor the disk: a thousand client_ids, limits by address, by hour and in all',
  {
    env: {
      ...env,
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_ADDRESS: '9',
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_HOUR: '5',
      SIGNET_LIMIT_UNREVIEWED_CLIENTS: '6',
      SIGNET_TRUST_PROXY: '1',
    },
  },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const from = (address: string) => ({ ...asJson, 'x-forwarded-for': address });
    const ask = (path: string, address: string, name = 'app') =>
      signet.newBrowser().get(clientAt(signet, server, server.urlOf(name, path)).authorizePath(), from(address));
    const codes = new Map<string, number>();
    const asked = async (answers: Promise<{ status: number; json: Record<string, unknown> | undefined }>[]) => {
      for (const { status, json } of await Promise.all(answers)) {
        assert.ok(status === 400 || status === 429, `${status}`);
        codes.set(String(json?.error), (codes.get(String(json?.error)) ?? 0) + 1);
      }
    };
    const thousand = Array.from({ length: 1000 }, (_, one) => `/${one}.json`);
    for (let place = 0; place < 1000; place += 50)
      await asked(thousand.slice(place, place + 50).map((path) => ask(path, '203.0.113.1')));
    assert.ok(server.asked.length <= 9, `${server.asked.length} of one address`);
    assert.equal(
      [...codes.values()].reduce((sum, one) => sum + one),
      1000,
    );
    signet.clock.advance(3600);
    await asked(thousand.slice(0, 40).map((_, one) => ask(`/b${one}.json`, `198.51.100.${one}`)));
    const admin = await signet.signedInUser({ role: 'admin' });
    const count = async (status: string) => {
      const { browser } = await admin.signedInElsewhere();
      const answer = await browser.get(`/v1/admin/clients?status=${status}&limit=100`);
      return (answer.json?.clients as unknown[] | undefined)?.length ?? assert.fail(answer.text);
    };
    const brought = await count('outside');
    assert.ok(brought <= 6, `${brought} wait`);
    for (const hour of [1, 2, 3]) {
      signet.clock.advance(3600);
      for (let one = 0; one < 4; one++) await asked([ask(`/c${hour}${one}.json`, `192.0.2.${hour}`, 'other')]);
    }
    assert.equal(await count('outside'), 6);
    assert.equal(await count('waiting'), 0);
    assert.equal((await signet.auditLog({ action: 'client.registered' })).length, 6);
    signet.clock.advance(3600);
    const full = await ask('/full.json', '192.0.2.9');
    assertRefused(full, 429, 'rate_limited');
    assert.ok(Number(full.headers.get('retry-after')) > 0);
  },
);

testSignet(
  'MD-06: what nobody reviews goes after seven days, what was asked for counts from then, what is approved stays',
  { env },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const [forgotten, wanted, used] = ['/f.json', '/w.json', '/u.json'].map((path) =>
      clientAt(signet, server, server.urlOf('app', path)),
    ) as [RegisteredClient, RegisteredClient, RegisteredClient];
    for (const client of [forgotten, wanted, used])
      assertRefused(await authorize(signet, client), 400, 'unauthorized_client');
    assert.equal((await approve(admin, used.client_id, { revision: 1 })).status, 200);
    signet.clock.advance(6 * day);
    await signet.runJobs();
    const there = async () => {
      const answers = [forgotten, wanted, used].map(({ client_id }) =>
        admin.signedInElsewhere().then((one) => one.browser.get(pathOf(client_id))),
      );
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    assert.deepEqual(await there(), [200, 200, 200]);
    const again = await user.signedInElsewhere();
    assert.equal((await again.browser.post('/review-request', { client_id: wanted.client_id })).status, 303);
    signet.clock.advance(day + 600);
    await signet.runJobs();
    assert.deepEqual(await there(), [404, 200, 200]);
    const [event] = await signet.auditLog({ action: 'client.deleted', target: forgotten.client_id });
    assert.equal(event?.actor, 'system');
    signet.clock.advance(7 * day);
    await signet.runJobs();
    assert.deepEqual(await there(), [404, 404, 200]);
  },
);

testSignet(
  'MD-07: a changed document is a change that waits, what was approved goes on, and a document that fails changes nothing',
  { env },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const url = server.urlOf('app');
    const cached = { headers: { 'cache-control': 'public, max-age=1200' } };
    const client = clientAt(signet, server, url, { scope: 'openid email offline_access' }, cached);
    await authorize(signet, client);
    // Between the review and the approval it becomes another.
    const before = await readBy(admin, url);
    clientAt(signet, server, url, { scope: 'openid email offline_access', client_name: 'Memos' }, cached);
    signet.clock.advance(1200);
    await authorize(signet, client);
    await until('the document is read again', async () => (await readBy(admin, url)).name === 'Memos');
    const reviewer = await admin.signedInElsewhere();
    assertRefused(await approve(reviewer, url, { revision: before.revision }), 409, 'stale_revision');
    const { revision } = await readBy(admin, url);
    assert.equal((await approve(reviewer, url, { revision, allowed_scopes: ['openid'] })).status, 200);

    const asked = () => server.asked.length;
    let known = asked();
    assert.equal(known, 2);
    const signIn = async (of = client) => (await user.browser.get(of.authorizePath())).location ?? '';
    assert.match(await signIn(), /\/consent/);
    signet.clock.advance(1100);
    await signIn();
    assert.equal(asked(), known, 'it is fresh for as long as its headers say');
    signet.clock.advance(200);
    const moved = {
      redirect_uris: [server.urlOf('app', '/elsewhere')],
      scope: 'openid email offline_access',
      client_name: 'Memos',
    };
    clientAt(signet, server, url, moved, cached);
    await signIn();
    await until('the change is staged', async () => (await readBy(admin, url)).pending_change !== null);
    const staged = await readBy(admin, url);
    assert.deepEqual(
      staged.pending_change,
      { redirect_uris: moved.redirect_uris },
      'scopes that the reviewer has narrowed are not wanted anew',
    );
    assert.match(await signIn(), /\/consent/);
    assertRefused(
      await user.browser.get(client.with({ redirect_uri: moved.redirect_uris[0]! }).authorizePath(), asJson),
      400,
      'invalid_request',
    );
    assert.ok((await admin.browser.get('/v1/admin/clients?status=waiting')).text.includes(url));
    const rejected = await (await admin.signedInElsewhere()).browser.postJson(pathOf(url, '/reject'), {
      reason: 'Another place.',
    });
    assert.equal(rejected.status, 200, rejected.text);

    for (const failing of [
      { status: 500 },
      { status: 404 },
      { body: '{' },
      { headers: { location: '/x' }, status: 301 },
    ]) {
      known = asked();
      server.give(url, failing);
      signet.clock.advance(1300);
      assert.match(await signIn(), /\/consent/);
      await until('it was asked for', () => asked() > known);
      await signIn();
      assert.equal(asked(), known + 1, 'and not at each request');
    }
    const after = await readBy(await admin.signedInElsewhere(), url);
    assert.deepEqual(
      [after.status, after.pending_change, after.redirect_uris],
      ['approved', null, [server.urlOf('app', '/cb')]],
    );
    clientAt(signet, server, url, moved, { headers: { 'cache-control': 'no-store' } });
    known = asked();
    signet.clock.advance(1300);
    await signIn();
    await until('it was asked for', () => asked() > known);
    await signIn();
    assert.equal(
      (await readBy(await admin.signedInElsewhere(), url)).pending_change,
      null,
      'the same document is not wanted anew after it was rejected',
    );
    signet.clock.advance(299);
    await signIn();
    assert.equal(asked(), known + 1, 'not more often than every five minutes');
  },
);

testSignet(
  "MD-08: a document that claims another's name is a risk, and a native app of a document has any port of localhost",
  { env },
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
