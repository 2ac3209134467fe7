import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, Browser } from '../support/browser.ts';
import { message, sentence } from '../support/messages.ts';
import { type Fields, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

/** @returns the id of the request of an app in a tab of its own, which waits for a sign-in. */
async function openTab({ browser }: { browser: Browser }, client: RegisteredClient, changes?: Fields): Promise<string> {
  const answer = await browser.get(client.authorizePath(changes));
  const request = redirectedTo(answer).get('request');
  assert.ok(answer.location.startsWith('/signin?') && request, answer.location);
  return request;
}

const continueAt = (request: string) => `/oauth/authorize/continue?request=${request}`;
const places = (answer: Answer) => [answer.status, answer.location];
const linkTo = (page: string, { text }: Answer): string => {
  const [, href] = new RegExp(`href="(${page}(?:\\?[^"]*)?)"`).exec(text) ?? [];
  assert.ok(href, `no link to ${page}`);
  return href.replaceAll('&amp;', '&');
};

testSignet('a sign-in in one tab is enough for the apps in the others', { mail: true }, async ({ signet }) => {
  const [one, other] = [await signet.registerClient(), await signet.registerClient({ consent: 'required' })];
  const user = await signet.newUser();
  const { browser } = user;
  const first = await openTab(user, one);
  const waits = [await openTab(user, other), await openTab(user, other), await openTab(user, other)] as const;
  assert.equal((await browser.get(`/signin?request=${waits[0]}`)).status, 200, 'nobody has signed in yet');
  await user.signIn({ request: first });
  for (const [place, page] of (['/signin', '/signup', '/reset'] as const).entries()) {
    const answer = await browser.get(`${page}?request=${waits[place]}`);
    assert.deepEqual(places(answer), [303, continueAt(waits[place]!)], page);
    const { location } = await browser.get(answer.location);
    assert.equal(location, `/consent?request=${waits[place]}`, 'which asks for what this app needs');
  }
  assert.ok(redirectedTo(await browser.get(continueAt(first))).get('code'));
});

test('without an app, a user who is signed in goes on to where the link leads, or to the account', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { browser } = await signet.signedInUser();
  for (const page of ['/signin', '/signup']) {
    assert.deepEqual(places(await browser.get(page)), [303, '/account']);
    const next = `${page}?next=${encodeURIComponent('/account/apps?x=1')}`;
    assert.deepEqual(places(await browser.get(next)), [303, '/account/apps?x=1']);
    for (const foreign of ['https://evil.test/', '//evil.test', '/\\evil.test'])
      assert.equal((await browser.get(`${page}?next=${encodeURIComponent(foreign)}`)).location, '/account', foreign);
  }
  // A mail about a change that was not theirs tells them to choose a new password.
  assert.equal((await browser.get('/reset')).status, 200);
  assert.equal((await signet.newBrowser().get('/signin?next=%2Faccount')).status, 200);
});

test('what asks for a sign-in on purpose still does', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const somebodyElse = await signet.signedInUser();
  const { id_token } = await somebodyElse.obtainTokens(client);
  signet.clock.advance(120);
  const asksFor = async (who: TestUser, changes: Fields) => {
    const request = await openTab(who, client, changes);
    for (const page of ['/signin', '/signup', '/reset'])
      assert.equal(
        (await who.browser.get(`${page}?request=${request}`)).status,
        200,
        `${page} ${JSON.stringify(changes)}`,
      );
    return request;
  };
  const again = await asksFor(user, { prompt: 'login' });
  await asksFor(user, { max_age: '60' });
  await asksFor(user, { id_token_hint: id_token });
  // Of this request, the sign-in that it asks for is behind it.
  const signedIn = await user.signIn({ request: again });
  assert.deepEqual(places(await user.browser.get(`/signin?request=${again}`)), [303, signedIn.location]);

  // A session from before the user had a second factor.
  const { browser } = await user.signedInElsewhere();
  await user.enableTotp();
  const older = user.with({ browser });
  await asksFor(older, {});
  assert.equal((await browser.get('/signin')).status, 200);
});

test('"Use another account" shows the form, and so do the pages that it links to', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const other = await signet.newUser();
  const { browser } = user;
  const choice = await browser.get(client.authorizePath({ prompt: 'select_account' }));
  const request = redirectedTo(choice).get('request')!;
  const asked = await browser.get(`/signin?request=${request}`);
  assert.equal((await browser.get(asked.location)).location, choice.location, 'the choice is asked again');

  const another = linkTo('/signin', await browser.get(choice.location));
  const form = await browser.get(another);
  assert.match(form.text, sentence('signin.submit'));
  const wrong = await browser.post('/signin', { username: user.email, password: 'x', request, stay: '1' });
  for (const page of ['/signup', '/reset'])
    for (const from of [form, wrong]) {
      const answer = await browser.get(linkTo(page, from));
      assert.equal(answer.status, 200, page);
      assert.equal((await browser.get(linkTo('/signin', answer))).status, 200, page);
    }
  assert.match(form.text, /name="stay" value="1"/);
  const signedIn = await other.with({ browser }).signIn({ request, stay: '1' });
  const code = redirectedTo(await browser.get(signedIn.location)).get('code');
  assert.ok(code);
  assert.equal((await browser.get('/v1/me')).json?.user_id, other.user_id);
});

test('whoever starts over, or has forgotten the password, is not sent back to where a session leads', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const client = await signet.registerClient({ default_acr_values: ['urn:signet:acr:2fa'] });
  const careful = await signet.signedInUser();
  await careful.enableTotp();
  const user = await signet.signedInUser();
  const { browser } = user;
  // Another account that has a second factor: the first half of its sign-in is done.
  await careful.with({ browser }).signIn();
  const startOver = linkTo('/signin', await browser.get('/signin/second-factor'));
  assert.equal((await browser.get(startOver)).status, 200);
  for (const query of ['next=%2Faccount%2Fsecurity%2Fpassword', ''])
    assert.equal(
      (await browser.get(linkTo('/reset', await browser.get(`/signin/confirm?${query}`)))).status,
      200,
      query,
    );

  const passkeyUser = await signet.signedInUser();
  await passkeyUser.addPasskey();
  const stepUp = await passkeyUser.signedInElsewhere();
  const { location } = await stepUp.browser.get(client.authorizePath());
  assert.match(location, /^\/signin\/confirm\?request=/);
  const onward = await stepUp.browser.get(location.replace('/confirm', ''));
  assert.equal(
    (await stepUp.browser.get(onward.location)).location,
    location,
    'the passkey is asked for, not the password',
  );
});

testSignet(
  'a session that ends while its code is issued leads to the form, and not around in a circle',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const held = holdNextCall(signet.deps.db, /insert into grants/);
    const issuing = user.browser.get(client.authorizePath());
    await held.reached;
    const copy = user.withCopiedCookies();
    await copy.browser.post('/signout');
    held.release();
    const { location } = await issuing;
    assert.match(location, /^\/signin\?request=ar_[\w-]+&stay=1$/);
    const page = await user.browser.get(location);
    assert.match(page.text, new RegExp(`<h1>${message('signin.title')}</h1>`));
  },
);
