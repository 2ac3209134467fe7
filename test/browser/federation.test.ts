import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message, sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { acmeAt, startUpstream } from '../support/upstream.ts';

const acme = { provider: 'Acme' };

test('a user connects a provider, signs in with it and disconnects it', async (t) => {
  let clock = () => 0;
  const upstream = await startUpstream(t, () => clock());
  const signet = await startSignet(t, { env: acmeAt(upstream.issuer) });
  clock = () => Math.floor(signet.clock() / 1000);
  const user = await signet.newUser();
  upstream.account = { sub: 'p', email: 'a.rather.long.address.of.a.user@mail.example.org', email_verified: false };
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url, upstream.issuer] });
  const providers = `${signet.url}/account/security/providers`;

  await page.goto(providers);
  await page.getByLabel(message('field.email')).fill(user.email);
  await page.getByLabel(message('field.password'), { exact: true }).fill(user.password);
  await page.getByRole('button', { name: message('signin.submit'), exact: true }).click();
  await page.waitForURL(providers);
  await page.getByRole('button', { name: message('providers.connect', acme) }).click();
  await page.getByRole('heading', { name: message('federation.ask.connect.title', acme) }).waitFor();
  assert.match(
    await page.locator('main').innerText(),
    sentence('federation.ask.connect', { ...acme, account: String(upstream.account.email), email: user.email }),
  );
  await expectAccessible(page);
  await page.getByRole('button', { name: message('providers.connect', acme) }).click();
  await page.waitForURL(`${providers}?done=linked`);
  assert.match(
    await page.locator('main').innerText(),
    sentence('providers.linked', { email: String(upstream.account.email) }),
  );
  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: message('account.sign_out') }).click();
  await page.waitForURL(`${signet.url}/signed-out`);

  // A link on another site leads to the provider, and signs no user in before they agree.
  const lure = `<!doctype html><html lang="en"><title>Lure</title><a href="${signet.url}/auth/acme/login">Click</a>`;
  upstream.lies.answer = {
    '/lure': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(lure),
    '/favicon.ico': (response) => void response.writeHead(204).end(),
  };
  await page.goto(`${upstream.issuer}/lure`);
  await page.getByRole('link', { name: 'Click' }).click();
  await page.getByRole('heading', { name: message('federation.ask.enter.title', acme) }).waitFor();
  await expectAccessible(page);
  assert.match(await page.locator('main').innerText(), sentence('federation.ask.enter', { email: user.email }));
  await page.getByRole('link', { name: message('federation.ask.no') }).click();
  await page.waitForURL(`${signet.url}/signin?stay=1`);
  upstream.lies = {};

  await page.getByRole('link', { name: message('signin.with', acme) }).click();
  await page.waitForURL(`${signet.url}/account`);
  await page.goto(providers);
  await page.getByRole('button', { name: message('providers.disconnect', acme) }).click();
  await page.waitForURL(`${providers}?done=unlinked`);
  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: message('account.sign_out') }).click();
  await page.locator('#sign-in-again').click();

  // An address that both sides have proved is connected after a yes.
  const { account } = upstream;
  upstream.account = { sub: 'q', email: user.email, email_verified: true };
  await page.getByRole('link', { name: message('signin.with', acme) }).click();
  await page.getByRole('heading', { name: message('federation.ask.link.title', acme) }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: message('federation.ask.link.submit', acme) }).click();
  await page.waitForURL(`${signet.url}/account`);
  await page.goto(providers);
  await page.getByRole('button', { name: message('providers.disconnect', acme) }).click();
  await page.waitForURL(`${providers}?done=unlinked`);
  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: message('account.sign_out') }).click();
  await page.locator('#sign-in-again').click();
  upstream.account = account;

  // The identity is linked to no account now, and its address is not verified.
  await page.getByRole('link', { name: message('signin.with', acme) }).click();
  await page.getByRole('heading', { name: message('error.provider.sign_in', acme) }).waitFor();
  await expectAccessible(page);
  upstream.lies.callback = { code: undefined, error: 'access_denied' };
  await page.getByRole('link', { name: message('reset.back') }).click();
  await page.getByRole('link', { name: message('signin.with', acme) }).click();
  await page.getByText(sentence('federation.cancelled', acme)).waitFor();
  upstream.lies = { signedWith: 'another_key' };
  await page.getByRole('link', { name: message('signin.with', acme) }).click();
  await page.getByRole('heading', { name: message('error.provider.sign_in', acme) }).waitFor();
  expectQuiet();
});
