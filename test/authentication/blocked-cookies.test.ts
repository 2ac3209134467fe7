import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { type Answer, type Browser, newBrowser } from '../support/browser.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { formAt, submit } from '../support/forms.ts';
import { linkIn } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { followUpstream, fromElsewhere, fromOurPage } from '../support/upstream.ts';

const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const phrase = 'harbour velvet cactus ninety';

/** A browser that asks for pages, and forgets what it is told to keep. */
function blocking(origin: string): Browser {
  const browser = newBrowser(origin);
  const forget = async (answer: Promise<Answer>) => {
    const answered = await answer;
    browser.cookies.clear();
    return answered;
  };
  return {
    ...browser,
    get: (path, headers) => forget(browser.get(path, { ...page, ...headers })),
    post: (path, fields, headers) => forget(browser.post(path, fields, { ...page, ...headers })),
  };
}

/** Of our own addresses, as a browser follows them. */
async function follow(signet: Signet, browser: Browser, path: string): Promise<Answer> {
  for (let at = path, hops = 0; hops < 10; hops += 1) {
    const answer = await browser.get(at);
    if (answer.status >= 400 || answer.location === '') return answer;
    const { origin, pathname, search } = new URL(answer.location, signet.url);
    if (origin !== signet.url) return answer;
    at = pathname + search;
  }
  throw new Error('a circle');
}

const onItsPage = pattern`<h1>${sentence('error.cookies')}</h1>\s*<p>${sentence('cookies.blocked.start_again')}`;

function assertSaysSo(answer: Answer): void {
  assert.equal(answer.status, 400, `${answer.status} ${answer.location} ${answer.text.slice(0, 500)}`);
  assert.match(answer.text, pattern`role="alert" id="problem"><p>${sentence('cookies.blocked')}`);
}

testSignet('a right password in a browser that blocks cookies is answered with what to do', async ({ signet }) => {
  const user = await signet.newUser();
  const typed = { username: user.email, password: user.password };
  const browser = blocking(signet.url);
  const answer = await submit(browser, await formAt(browser, '/signin?next=%2Faccount%2Fapps', '/signin', typed));
  assertSaysSo(answer);
  assert.ok(answer.text.includes(`value="${user.email}"`), 'the address need not be typed again');
  assert.match(answer.text, /name="next" value="\/account\/apps"/);
  assert.equal((await plain(signet.deps.db).all('select 1 from sessions')).length, 0);

  // Allowed meanwhile: the page that says so brought a cookie, and its form is good.
  const kept = signet.newBrowser();
  const refused = await kept.post('/signin', (await formAt(browser, '/signin', '/signin', typed)).fields, page);
  assertSaysSo(refused);
  assert.deepEqual([...kept.cookies.keys()], ['signet_probe']);
  assert.equal((await submit(kept, await formAt(kept, '/signin', '/signin', typed))).location, '/account');
});

test('any cookie of ours is enough, and programs need none', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.newUser();
  const typed = { username: user.email, password: user.password };
  const sendWith = async (cookie: string) => {
    const browser = signet.newBrowser();
    const form = await formAt(browser, '/signin', '/signin', typed);
    return browser.post(form.action, form.fields, { cookie });
  };
  for (const name of ['signet_language', 'signet_device']) {
    assert.equal((await sendWith(`a=b; ${name}=x`)).status, 303, name);
    assertSaysSo(await sendWith(`other_${name}=x`));
  }
  assert.equal((await signet.newBrowser().post('/signin', typed)).status, 303);
  const { headers } = await signet.newBrowser().get('/signin');
  assert.match(headers.getSetCookie().join(), /^signet_probe=1; Path=\/; HttpOnly; SameSite=Lax$/);
});

test('a link for a new account or a new password is not used up', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const user = await signet.newUser();
  const browser = blocking(signet.url);
  await browser.post('/signup', { email: 'new@example.com' });
  const signUp = linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//);
  await browser.post('/reset', { email: user.email });
  const reset = linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\//);
  const invite = new URL((await inviteAdministrator(signet.deps, 'cli')).url).pathname;
  const links: [string, Record<string, string>][] = [
    [signUp, { name: 'New Nora' }],
    [reset, {}],
    [invite, { email: 'root@example.com', name: 'Root' }],
  ];
  for (const [link, fields] of links) {
    const filledIn = { ...fields, password: phrase };
    const refused = await submit(browser, await formAt(browser, link, link, filledIn));
    assertSaysSo(refused);
    for (const value of Object.values(fields)) assert.ok(refused.text.includes(`value="${value}"`), value);
    const kept = signet.newBrowser();
    assert.equal((await submit(kept, await formAt(kept, link, link, filledIn))).status, 303, link);
    assert.equal((await kept.get('/v1/me')).status, 200, link);
  }
});

testSignet('in the flow of an app it is not said that the sign-in took too long', async ({ signet }) => {
  const client = await signet.registerClient();
  const refused = await follow(signet, blocking(signet.url), client.authorizePath());
  assert.equal(refused.status, 400);
  assert.match(refused.text, onItsPage);
  const keeping = signet.newBrowser();
  const asPages: Browser = { ...keeping, get: (path) => keeping.get(path, page) };
  assert.equal((await follow(signet, asPages, client.authorizePath())).status, 200);
  // What is over, or of another browser, is so in a browser that keeps cookies; it takes one hop to know.
  const { location } = await signet.newBrowser().get(client.authorizePath());
  const stranger = signet.newBrowser();
  const other: Browser = { ...stranger, get: (path) => stranger.get(path, page) };
  const over = await follow(signet, other, location);
  assert.match(over.text, pattern`<h1>${sentence('error.sign_in_over')}</h1>`);
  assertRefused(await signet.newBrowser().get(location, { accept: 'application/json' }), 400, 'invalid_request');
});

test('cookies that are blocked in the middle of a sign-in end it with the same words', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  await user.enableTotp();
  const { browser } = await user.awaitingSecondFactor();
  const second = await formAt(browser, '/signin/second-factor', '/signin/second-factor', { code: '123456' });
  const { location } = await user.browser.get(client.authorizePath());
  const consent = await formAt(user.browser, location, '/consent', { decision: 'allow' });
  const cancel = await formAt(signet.newBrowser(), '/signin', '/signin').then(({ fields }) => ({
    action: '/oauth/authorize/cancel',
    fields: { ...fields, request: consent.fields.request! },
  }));
  for (const form of [second, consent, cancel, { ...second, action: '/signin/second-factor/passkey' }]) {
    const answer = await submit(blocking(signet.url), form);
    assert.equal(answer.status, 400, form.action);
    assert.match(answer.text, onItsPage, form.action);
  }
});

test('a sign-in at a provider says so before it leaves from our page, or when it is back', async (t) => {
  const { signet } = await startFederatedSignet(t);
  const browser = blocking(signet.url);
  const start = '/auth/acme/login';
  const fromPage: Browser = { ...browser, get: (path) => browser.get(path, fromOurPage) };
  assert.match((await follow(signet, fromPage, start)).text, onItsPage);

  const elsewhere = await browser.get(start, fromElsewhere);
  assert.equal(elsewhere.status, 302);
  const callback = await followUpstream(elsewhere.location);
  const events = () => plain(signet.deps.db).all('select 1 from unauthenticated_events');
  const before = (await events()).length;
  const refused = await follow(signet, browser, callback.pathname + callback.search);
  assert.equal(refused.status, 400);
  assert.match(refused.text, onItsPage);
  assert.equal((await events()).length, before);

  const keeping = signet.newBrowser();
  const asPages: Browser = { ...keeping, get: (path) => keeping.get(path, page) };
  const unknown = await follow(signet, asPages, callback.pathname + callback.search);
  assert.match(unknown.text, pattern`<h1>${sentence('error.sign_in_over')}</h1>`);
});
