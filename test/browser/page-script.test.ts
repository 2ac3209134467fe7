import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../support/chromium.ts';
import { message } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { startProxiedSignet } from './proxied-signet.ts';
import { lendSession } from './seeded-signet.ts';

test('the menu of the account closes with Escape, which gives the focus back, and with a click elsewhere', async (t) => {
  const signet = await startSignet(t);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, await signet.signedInUser(), signet);
  const { page, expectQuiet } = visitor;
  await page.goto(`${signet.url}/account/sessions`);
  const signOut = page.locator('#signout-submit');
  await page.locator('#user-menu').click();
  await signOut.focus();
  await page.keyboard.press('Escape');
  await signOut.waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate('document.activeElement.id'), 'user-menu');
  await page.locator('#user-menu').click();
  await page.locator('.menu strong').click(); // inside
  assert.equal(await signOut.isVisible(), true);
  await page.locator('h1').click();
  await signOut.waitFor({ state: 'hidden' });
  expectQuiet();
});

test('the time zone of the browser is one click away, also under an old name', async (t) => {
  const signet = await startSignet(t);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  const user = await signet.signedInUser();
  await lendSession(visitor, user, signet);
  const { page, context, expectQuiet } = visitor;
  const emulation = await context.newCDPSession(page);
  for (const [timezoneId, zoneinfo] of [
    ['Asia/Calcutta', 'Asia/Kolkata'],
    ['Europe/Berlin', 'Europe/Berlin'],
  ]) {
    await emulation.send('Emulation.setTimezoneOverride', { timezoneId: timezoneId! });
    await page.goto(`${signet.url}/account`);
    await page.locator('main details').evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', '');
    });
    const zone = zoneinfo!.split('/')[1]!;
    await page.getByRole('button', { name: message('account.zone.own', { zone }) }).click();
    assert.equal(await page.locator('[data-zone]').isVisible(), false);
    assert.equal(await page.evaluate('document.activeElement.id'), 'zoneinfo');
    await page.locator('#profile-submit').click();
    await page.getByRole('status').waitFor();
    assert.equal((await user.browser.get('/v1/me')).json?.zoneinfo, zoneinfo);
  }
  expectQuiet();
});

test('the keyboard leads to the search of the console, also from a field, whose text stays', async (t) => {
  const signet = await startSignet(t);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, await signet.signedInUser({ role: 'admin', name: 'Olivia' }), signet);
  const { page, expectQuiet } = visitor;
  await page.goto(`${signet.url}/admin/users`);
  const field = page.locator('#q');
  await field.fill('k');
  await field.press('k');
  assert.equal(await field.inputValue(), 'kk', 'a letter is a letter');
  await field.press('Control+k');
  await page.keyboard.type('web');
  assert.equal(await field.inputValue(), 'kk');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${signet.url}/admin/search?q=web`);
  await page.locator('main a[href="/admin/webhooks"]').waitFor();
  assert.equal(await page.locator('#jump').inputValue(), 'web');
  expectQuiet();
});

test('a page that the browser kept is asked for again when it is shown again', async (t) => {
  const signet = await startSignet(t);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  const user = await signet.signedInUser();
  await lendSession(visitor, user, signet);
  const { page } = visitor;
  // Playwright turns the back/forward cache off: the event stands for it.
  const showAgain = 'dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))';
  await page.goto(`${signet.url}/account/sessions`);
  await user.browser.post('/signout'); // the cookie of this browser is worth nothing any more
  await page.evaluate(showAgain);
  await page.waitForURL(`${signet.url}/signin?next=%2Faccount%2Fsessions`);
  // A page that answers a form: its form is shown, and nothing is sent again.
  await page.locator('#username').fill(user.email);
  await page.locator('#password').fill('wrong words in a row');
  await page.locator('#signin-submit').click();
  await page.locator('#problem').waitFor();
  await page.evaluate(showAgain);
  await page.locator('#problem').waitFor({ state: 'detached' });
  assert.equal(page.url(), `${signet.url}/signin`);
});

test('forms work where something on the way withholds `Sec-Fetch-Site`', async (t) => {
  const signet = await startProxiedSignet(t);
  signet.proxy.withheld = /^sec-/;
  const user = await signet.newUser();
  const { page } = await openBrowser(t, { origins: [signet.url] });
  await page.goto(`${signet.url}/signin`);
  await page.locator('#username').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(`${signet.url}/account`);
  await page.locator('#user-menu').click();
  await page.locator('#signout-submit').click();
  await page.getByRole('heading', { name: message('logout.done.title') }).waitFor();
  const posted = signet.proxy.requests.filter(({ method }) => method === 'POST');
  assert.deepEqual([...new Set(posted.map(({ headers }) => headers.origin))], [signet.url]);
  // An origin that says nothing stays refused: a foreign frame in a sandbox has it, too.
  const { status } = await user.browser.post('/signin', { username: user.email }, { origin: 'null' });
  assert.equal(status, 403);
});
