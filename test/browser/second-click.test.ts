import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openBrowser } from '../support/chromium.ts';
import { plain } from '../support/plain-sql.ts';
import { codesOf } from '../support/two-factor.ts';
import { startProxiedSignet } from './proxied-signet.ts';
import { lendSession } from './seeded-signet.ts';

/** Two clicks with the mouse while the answer to the first is on its way. */
async function clickTwice(page: Page, selector: string) {
  await page.locator(selector).scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await page.locator(selector).boundingBox())!;
  await page.mouse.click(x + width / 2, y + height / 2);
  await sleep(500);
  await page.mouse.click(x + width / 2, y + height / 2);
}

/** The navigation of the first click, which the second one ends, is no failure. */
const arriveAt = (page: Page, url: string) => page.waitForURL(url).catch(() => page.waitForURL(url));

// With the script the second click sends nothing. Without it the server answers both alike.
for (const hasScript of [true, false]) {
  test(`an impatient second click ${hasScript ? 'is held' : 'is answered as the first, without the script'}`, async (t) => {
    const signet = await startProxiedSignet(t, { mail: true });
    const { proxy } = signet;
    const client = await signet.registerClient({ redirect_uris: [`${signet.url}/signed-out`] });
    const { page, context } = await openBrowser(t, { origins: [signet.url] });
    if (!hasScript) await page.route('**/assets/page-*', (route) => route.abort());
    // Forms; a script that checks what is typed posts, too.
    const posted = () =>
      proxy.requests.filter(({ method, headers }) => method === 'POST' && headers['sec-fetch-mode'] === 'navigate')
        .length;
    const late = async (act: () => Promise<unknown>) => {
      proxy.postDelayMs = 1500;
      const before = posted();
      await act();
      proxy.postDelayMs = 0;
      assert.equal(posted() - before, hasScript ? 1 : 2);
    };

    // Sign-up, by its link, within the flow of an app.
    await page.goto(signet.url + client.authorizePath());
    await page.goto(page.url().replace('/signin', '/signup'));
    await page.fill('#email', 'nora@example.com');
    await late(async () => {
      await clickTwice(page, '#signup-submit');
      await arriveAt(page, `${signet.url}/signup/sent?**`);
    });
    const { text } = await signet.mailbox.next('nora@example.com');
    await page.goto(/https?:\S+\/signup\/\S+/.exec(text)![0]);
    await page.fill('#name', 'Nora');
    await page.fill('#password', 'some more words in a row');
    await late(async () => {
      await clickTwice(page, '#signup-create');
      await arriveAt(page, `${signet.url}/signed-out?code=**`); // of the app
    });
    assert.equal(signet.mailbox.mails.filter(({ to }) => String(to).includes('nora@')).length, 1);

    // The backup codes, which are shown once.
    await page.goto(`${signet.url}/account/security/totp`);
    await page.click('#totp-enroll');
    await page.click('main summary');
    const code = codesOf(signet, (await page.innerText('#totp-secret')).replaceAll(' ', ''));
    await page.fill('#code', code());
    await late(async () => {
      await clickTwice(page, '#totp-confirm');
      await page.locator('#backup-codes code').first().waitFor();
    });
    assert.equal(await page.locator('#backup-codes code').count(), 10);

    // A client and its secret.
    await page.goto(`${signet.url}/developer/register?kind=web&library=other`);
    await page.fill('#name', 'Twice');
    await page.fill('#redirect_uris', 'https://twice.test/cb');
    await late(async () => {
      await clickTwice(page, '#register-submit');
      await page
        .getByText(/^cs_[\w-]{43}$/)
        .first()
        .waitFor();
    });
    assert.equal((await plain(signet.deps.db).all("select 1 from clients where name = 'Twice'")).length, 1);

    // Password and second factor, within the flow of an app.
    await context.clearCookies();
    await page.goto(signet.url + client.authorizePath());
    await page.fill('#username', 'nora@example.com');
    await page.fill('#password', 'some more words in a row');
    await late(async () => {
      await clickTwice(page, '#signin-submit');
      await arriveAt(page, `${signet.url}/signin/second-factor`);
    });
    await page.fill('#code', code());
    await late(async () => {
      await clickTwice(page, '#second-factor-submit');
      await arriveAt(page, `${signet.url}/signed-out?code=**`);
    });
  });
}

test('a form whose answer is a file, and one of several buttons, work as ever', async (t) => {
  const signet = await startProxiedSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, admin, signet);
  const { page } = visitor;
  await page.goto(`${signet.url}/admin/users/${admin.user_id}`);
  await page.locator('main details').evaluateAll((all) => all.map((one) => one.setAttribute('open', '')));
  const form = page.locator('form[action$="/export"]');
  await form.locator('[name=reason]').fill('They asked for it.');
  for (let times = 0; times < 2; times += 1) {
    const [download] = await Promise.all([page.waitForEvent('download'), form.locator('button').click()]);
    assert.match(download.suggestedFilename(), /\.json$/);
    await form.locator('button:not([aria-disabled])').waitFor(); // it opens again
  }
  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: 'Deutsch' }).click(); // name and value of the button are sent
  await page.locator('html[lang=de]').waitFor({ state: 'attached' });
});
