import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suspendClient } from '../../src/clients/review-client.ts';
import { linkIn } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type Fields, formOf, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const path = '/oauth/authorize/cancel';

/** A browser of a flow that waits at the sign-in page. */
async function waiting(signet: Signet, client: RegisteredClient, changes?: Fields, browser = signet.newBrowser()) {
  const request = redirectedTo(await browser.get(client.authorizePath(changes))).get('request');
  assert.ok(request);
  return { browser, request };
}

testSignet('whoever cancels a sign-in returns to the app, which reads access_denied', async ({ signet }) => {
  const client = await signet.registerClient();
  const { browser, request } = await waiting(signet, client, { state: `"'<&>` });
  const before = (await signet.auditLog()).length;
  const answer = await browser.post(path, { request });
  assert.equal(answer.status, 303);
  const response = redirectedTo(answer);
  assert.equal(response.base, client.redirect_uri);
  assert.deepEqual(Object.fromEntries(response), {
    error: 'access_denied',
    error_description: 'The user canceled the sign-in.',
    state: `"'<&>`,
    iss: signet.url,
  });
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  // The request has ended, and nothing else has happened.
  const json = { accept: 'application/json' };
  assertRefused(await browser.post(path, { request }, json), 400, 'invalid_request');
  assertRefused(await browser.get(`/signin?request=${request}`, json), 400, 'invalid_request');
  assert.equal((await signet.auditLog()).length, before);
  assert.equal((await plain(signet.deps.db).all('select 1 from grants')).length, 0);
});

testSignet('a session, and half of a sign-in, outlive the cancellation', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  const asked = await waiting(signet, client, { prompt: 'login' }, user.browser);
  assert.equal((await user.browser.post(path, { request: asked.request })).status, 303);
  assert.equal((await user.browser.get('/v1/me')).status, 200);

  const other = user.elsewhere();
  const { request } = await waiting(signet, client, {}, other.browser);
  assert.equal((await other.signIn({ request })).location, '/signin/second-factor');
  assert.equal(redirectedTo(await other.browser.post(path, { request })).get('error'), 'access_denied');
  assert.equal((await other.giveCode(app.code())).location, '/account');
});

testSignet('the answer of a cancellation travels as the request says', async ({ signet }) => {
  const client = await signet.registerClient();
  const inFragment = await waiting(signet, client, { response_mode: 'fragment' });
  const { location } = await inFragment.browser.post(path, { request: inFragment.request });
  const [place, fragment] = location.split('#');
  assert.deepEqual([place, new URLSearchParams(fragment).get('error')], [client.redirect_uri, 'access_denied']);
  const inForm = await waiting(signet, client, { response_mode: 'form_post' });
  const { action, fields } = formOf(await inForm.browser.post(path, { request: inForm.request }));
  assert.deepEqual([action, fields.error, fields.state], [client.redirect_uri, 'access_denied', 's1']);
});

test('only the browser of the sign-in cancels it, from a page of ours, while the app may be returned to', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient();
  const { browser, request } = await waiting(signet, client);
  const json = { accept: 'application/json' };
  assertRefused(await signet.newBrowser().post(path, { request }, json), 400, 'invalid_request');
  assertRefused(await browser.post(path, { request }, { ...json, origin: 'https://evil.test' }), 403, 'access_denied');
  for (const wrong of ['', 'ar_x', `${request}x`])
    assertRefused(await browser.post(path, { request: wrong }, json), 400, 'invalid_request');
  assertRefused(await browser.get(`${path}?request=${request}`, json), 405, 'method_not_allowed');
  assert.equal((await browser.get(`/signin?request=${request}`)).status, 200, 'it still waits');

  await suspendClient(signet.deps, { ...client, caller: { actor: 'cli' } }, 'abuse was reported');
  signet.clock.advance(2);
  const answer = await browser.post(path, { request }, json);
  assert.deepEqual([answer.status, answer.location], [400, '']);

  const late = await waiting(signet, await signet.registerClient());
  signet.clock.advance(600);
  assertRefused(await late.browser.post(path, { request: late.request }, json), 400, 'invalid_request');
});

test('a second click on Cancel gets the answer of the first', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient();
  const { browser, request } = await waiting(signet, client);
  const { text } = await browser.get(`/signin?request=${request}`);
  const [, form_id = ''] =
    /action="\/oauth\/authorize\/cancel">.*?name="form_id" value="(fm_[\w-]{43})"/s.exec(text) ?? [];
  const click = () => browser.post(path, { form_id, request });
  const [first, second] = [await click(), await click()];
  assert.deepEqual([second.status, second.location], [303, first.location]);
});

test('every page on which a user of an app waits leads back to it', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const name = 'Notes <b>&';
  const client = await signet.registerClient({ name });
  const user = await signet.signedInUser();
  await user.enableTotp();
  const visitor = await waiting(signet, client);
  const halfway = user.elsewhere();
  const second = await waiting(signet, client, {}, halfway.browser);
  await halfway.signIn({ request: second.request });
  const choosing = await user.browser.get(client.authorizePath({ prompt: 'select_account' }));
  await visitor.browser.post('/signup', { email: 'new@example.com', request: visitor.request });
  const signUp = linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//);
  await visitor.browser.post('/reset', { email: user.email, request: visitor.request });
  const reset = linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\//);

  const waits = [
    [visitor.browser, `/signin?request=${visitor.request}`, visitor.request],
    [visitor.browser, `/signup?request=${visitor.request}`, visitor.request],
    [visitor.browser, `/reset?request=${visitor.request}`, visitor.request],
    [visitor.browser, signUp, visitor.request],
    [visitor.browser, reset, visitor.request],
    [halfway.browser, '/signin/second-factor', second.request],
    [user.browser, choosing.location, redirectedTo(choosing).get('request')],
  ] as const;
  const label = message('signin.cancel', { client: '<bdi>Notes &lt;b&gt;&amp;</bdi>' });
  for (const [browser, page, request] of waits) {
    const { text } = await browser.get(page);
    const [, form = ''] = /<form method="post" action="\/oauth\/authorize\/cancel">(.*?)<\/form>/s.exec(text) ?? [];
    assert.ok(form.includes(`name="request" value="${request}"`), page);
    assert.ok(form.includes(`>${label}</button>`), page);
  }
  // A refused password shows the page again; outside of a flow there is nothing to return to.
  const wrong = await visitor.browser.post('/signin', {
    username: user.email,
    password: 'x',
    request: visitor.request,
  });
  assert.match(wrong.text, /action="\/oauth\/authorize\/cancel"/);
  const stranger = signet.newBrowser();
  for (const page of ['/signin', '/signup', '/reset', signUp, reset])
    assert.doesNotMatch((await stranger.get(page)).text, /oauth\/authorize\/cancel/, page);
});
