import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { MessageKey } from '../../src/platform/i18n/translate.ts';
import { openBrowser } from '../support/chromium.ts';
import { linkIn } from '../support/mailbox.ts';
import { message } from '../support/messages.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** The story of a stolen refresh token, from the mail to the new password, without JavaScript. */

const app = { 'user-agent': 'okhttp/4.12.0', 'x-forwarded-for': '203.0.113.7' };
const thief = { 'user-agent': 'python-requests/2.32', 'x-forwarded-for': '198.51.100.24' };
const another = 'another long passphrase of hers';

async function signIn(page: Page, { url }: Signet, user: TestUser, path: string): Promise<void> {
  await page.goto(url + path);
  await page.locator('#username').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(url + path);
}

const visit = (t: TestContext, { url }: Signet) => openBrowser(t, { origins: [url], javaScript: false });

for (const locale of ['en', 'de'] as const) {
  test(`SA-03: a stolen refresh token is told to its user and the owner of the app, and "not me" ends everything (${locale})`, async (t) => {
    const signet = await startSignet(t, { mail: true, env: { SIGNET_TRUST_PROXY: '1' } });
    const say = (key: MessageKey) => message(key, {}, locale);
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ name: 'Field Notes', owner });
    const user = await signet.signedInUser();
    for (const one of [user, owner]) assert.equal((await one.browser.patch('/v1/me', { locale })).status, 200);
    const elsewhere = await (await user.signedInElsewhere()).obtainTokens(client);
    const { refresh_token } = tokensOf(await client.redeem(await user.authorize(client), {}, app));
    signet.clock.advance(60);
    const stolen = tokensOf(await client.refresh(refresh_token, {}, thief));
    signet.clock.advance(60);
    assertRefused(await client.refresh(refresh_token, {}, app), 400, 'invalid_grant');

    const mail = await signet.mailbox.next(user.email, /Field Notes/);
    const path = linkIn(mail, /^\/account\/alerts\//);
    const ofOwner = await visit(t, signet);
    const alert_id = path.split('/').at(-1);
    await signIn(ofOwner.page, signet, owner, `/developer/clients/${client.client_id}/alerts/${alert_id}`);
    await ofOwner.page.getByText(say('developer.alert.check.leaked')).waitFor();
    const read = (await ofOwner.page.locator('#uses').innerText()).replaceAll(/\s+/g, ' ');
    assert.match(read, /198\.51\.100\.24.*203\.0\.113\.7/, 'the thief came first');

    const { page, expectQuiet } = await visit(t, signet);
    await signIn(page, signet, user, path);
    await page.getByRole('heading', { name: say('alert.question') }).waitFor();
    const uses = page.locator('#uses > li');
    assert.match(await uses.first().innerText(), /python-requests\/2\.32/);
    assert.match(await uses.last().innerText(), /okhttp\/4\.12\.0/);
    await page.getByRole('button', { name: say('alert.not_me') }).click();

    await page.waitForURL(`${signet.url}/account/security/password?done=not_me`);
    await page.getByText(say('password.done.not_me')).waitFor();
    assertRefused(await user.browser.get('/v1/me'), 401, 'login_required');
    for (const { refresh_token: token } of [elsewhere, stolen])
      assertRefused(await client.refresh(token), 400, 'invalid_grant');
    assert.equal((await signet.userinfo(elsewhere.access_token)).status, 401);
    assert.equal((await user.elsewhere().signIn()).status, 401, 'the old password is of no use');

    await page.locator('#password').fill(another);
    await page.locator('#password-submit').click();
    await page.getByText(say('password.done.changed')).waitFor();
    assert.equal((await user.elsewhere().with({ password: another }).signIn()).status, 303);
    await page.goto(signet.url + path);
    await page.locator('#afterwards').waitFor();
    expectQuiet();
    ofOwner.expectQuiet();
  });
}
