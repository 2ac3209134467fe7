import assert from 'node:assert/strict';
import type { Answer } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { type Fields, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const offerPath = '/signin/passkey-offer';
const cookieName = 'signet_passkey_offer';

/** From an app to the sign-in page, and with the password to whatever follows. @param able what the script of the page has found. */
async function comeFromApp(
  user: TestUser,
  client: RegisteredClient,
  { able = '1', ...changes }: Fields & { able?: string } = {},
): Promise<Answer> {
  const asked = await user.browser.get(client.authorizePath(changes));
  const request = new URL(asked.location, 'https://here').searchParams.get('request') ?? '';
  assert.match(request, /^ar_/, asked.location);
  assert.match((await user.browser.get(asked.location)).text, /name="able_device"/);
  return user.signIn({ request, able_device: able });
}

const isOffer = ({ location }: Answer) => location.startsWith(`${offerPath}?request=ar_`);

/** Follows what needs no page of ours. @returns whether the app got its code. */
async function getsCode({ browser }: TestUser, { location }: Answer): Promise<boolean> {
  return redirectedTo(await browser.get(location)).has('code');
}

testSignet(
  'after a password on a device that can have a passkey, one is offered on the way to the app, once in a month',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const user = await signet.newUser();
    const come = await comeFromApp(user, client);
    assert.ok(isOffer(come), come.location);
    const page = await user.browser.get(come.location);
    assert.match(page.text, sentence('passkey.offer.title'));
    const again = await user.browser.get(come.location);
    assert.equal(again.status, 200, 'a reload shows it again');
    const set = page.headers.getSetCookie().find((one) => one.startsWith(`${cookieName}=`)) ?? '';
    assert.match(set, /Max-Age=2592000;/);
    const [, onward = ''] = /id="passkey-offer-not" href="([^"]+)"/.exec(page.text) ?? [];
    assert.ok(redirectedTo(await user.browser.get(onward.replaceAll('&amp;', '&'))).has('code'), 'Not now goes on');

    await user.browser.post('/signout');
    const second = await comeFromApp(user, client);
    assert.ok(!isOffer(second) && (await getsCode(user, second)), 'not again');
    const other = (await signet.newUser()).with({ browser: user.browser });
    await user.browser.post('/signout');
    assert.ok(!isOffer(await comeFromApp(other, client)), 'nor another user of the browser');
    user.browser.cookies.delete(cookieName);
    await user.browser.post('/signout');
    assert.ok(isOffer(await comeFromApp(user, client)), 'a month later');
  },
);

testSignet('without a script, or on a device that can have none, no step is added', async ({ signet }) => {
  const client = await signet.registerClient();
  for (const able of ['', '0']) {
    const user = await signet.newUser();
    const come = await comeFromApp(user, client, { able });
    assert.match(come.location, /^\/oauth\/authorize\/continue/);
    assert.ok(await getsCode(user, come));
  }
  const user = await signet.newUser();
  assert.equal((await user.signIn({ able_device: '1' })).location, '/account', 'nor on the way to the account');
  assert.doesNotMatch((await user.elsewhere().browser.get('/signin')).text, /able_device/);
});

testSignet('who is asked for more by the app, or has a passkey, goes on without a page', async ({ signet }) => {
  const client = await signet.registerClient();
  for (const changes of [{ prompt: 'login' }, { max_age: '600' }, { acr_values: 'urn:signet:acr:2fa' }]) {
    const user = await signet.newUser();
    const come = await comeFromApp(user, client, changes);
    const next = isOffer(come) ? await user.browser.get(come.location) : come;
    assert.match(next.location, /^\/oauth\/authorize\/continue/, JSON.stringify(changes));
    assert.ok(!user.browser.cookies.has(cookieName), 'and may be offered one another time');
  }
  const owner = await signet.signedInUser();
  await owner.addPasskey();
  const has = owner.elsewhere();
  const next = await has.browser.get((await comeFromApp(has, client)).location);
  assert.match(next.location, /^\/oauth\/authorize\/continue/);
});

testSignet('after the second step, too, and never without a session', async ({ signet }) => {
  const client = await signet.registerClient();
  const owner = await signet.signedInUser();
  const app = await owner.enableTotp();
  const user = owner.elsewhere();
  assert.equal((await comeFromApp(user, client)).location, '/signin/second-factor');
  const come = await user.giveCode(app.code());
  assert.ok(isOffer(come), come.location);
  assert.equal((await user.browser.get(come.location)).status, 200);
  assert.match((await signet.newBrowser().get(come.location, { accept: 'text/html' })).location, /^\/signin/);
  assert.equal((await user.browser.get(offerPath)).location, '/account', 'without an app there is nothing to go on to');
});
