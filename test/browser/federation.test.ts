import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { newPerson, startSignet } from '../support/signet.ts';
import { acmeAt, startUpstream } from '../support/upstream.ts';

test('a person connects a provider, signs in with it and disconnects it', async (t) => {
  let clock = () => 0;
  const upstream = await startUpstream(t, () => clock());
  const signet = await startSignet(t, { env: acmeAt(upstream.issuer) });
  clock = () => Math.floor(signet.clock() / 1000);
  const person = await newPerson(signet);
  upstream.account = { sub: 'p', email: 'a.rather.long.address.of.somebody@mail.example.org', email_verified: false };
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url, upstream.issuer] });
  const providers = `${signet.url}/account/security/providers`;

  await page.goto(providers);
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(providers);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Connect Acme' }).click();
  await page.getByRole('heading', { name: 'Connect this account at Acme?' }).waitFor();
  assert.match(await page.locator('main').innerText(), /signed in as a\.rather\.long\.address/);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Connect Acme' }).click();
  await page.waitForURL(`${providers}?done=linked`);
  assert.match(await page.locator('main').innerText(), /Connected as a\.rather\.long\.address/);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${signet.url}/signin`);
  await expectAccessible(page);

  // A link on another site leads to the provider, and signs nobody in before they agree.
  const lure = `<!doctype html><html lang="en"><title>Lure</title><a href="${signet.url}/auth/acme/login">Click</a>`;
  upstream.lies.answer = {
    '/lure': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(lure),
    '/favicon.ico': (response) => void response.writeHead(204).end(),
  };
  await page.goto(`${upstream.issuer}/lure`);
  await page.getByRole('link', { name: 'Click' }).click();
  await page.getByRole('heading', { name: 'Sign in with Acme?' }).waitFor();
  await expectAccessible(page);
  assert.match(await page.locator('main').innerText(), new RegExp(`signed in as ${person.email}`));
  await page.getByRole('link', { name: 'No, go back' }).click();
  await page.waitForURL(`${signet.url}/signin`);
  upstream.lies = {};

  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.waitForURL(`${signet.url}/account`);
  await page.goto(providers);
  await page.getByRole('button', { name: 'Disconnect Acme' }).click();
  await page.waitForURL(`${providers}?done=unlinked`);
  await page.getByRole('button', { name: 'Sign out' }).click();

  // An address that both sides have proved is connected after a yes.
  const { account } = upstream;
  upstream.account = { sub: 'q', email: person.email, email_verified: true };
  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.getByRole('heading', { name: 'Connect Acme with your account?' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Connect Acme and sign in' }).click();
  await page.waitForURL(`${signet.url}/account`);
  await page.goto(providers);
  await page.getByRole('button', { name: 'Disconnect Acme' }).click();
  await page.waitForURL(`${providers}?done=unlinked`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  upstream.account = account;

  // Nobody has this identity now, and its address is not proved.
  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.getByRole('heading', { name: 'This did not work' }).waitFor();
  await expectAccessible(page);
  upstream.lies.callback = { code: undefined, error: 'access_denied' };
  await page.getByRole('link', { name: 'Go on from here' }).click();
  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.getByText('You did not finish at Acme').waitFor();
  await expectAccessible(page);
  upstream.lies = { signedWith: 'another_key' };
  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.getByRole('heading', { name: 'The other service did not answer as it should' }).waitFor();
  await expectAccessible(page);
  expectQuiet();
});
