import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { stopUrl } from '../../src/clients/declined-mails.ts';
import { rejectClient } from '../../src/clients/review-client.ts';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { bringClient } from '../support/outside-clients.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { pushTo, signalClient } from '../support/signal-receiver.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';
import { expectPage, expectToFit, openDetails } from './expect-page.ts';
import { lendSession } from './seeded-signet.ts';

/** What an administrator sees and does, in a browser that has no JavaScript. */

const textOf = async (page: Page) => (await page.locator('main').textContent()) ?? '';

const env = { SIGNET_RATE_LIMITS: 'off', SIGNET_WEBHOOK_INTERNAL: '127.0.0.1' };

async function begin(t: TestContext) {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const visitor = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await signInHere(visitor.page, signet, admin);
  return { signet, admin, ...visitor };
}

async function signInHere(page: Page, signet: Signet, { email, password }: TestUser) {
  await page.goto(`${signet.url}/signin?next=/admin`);
  await page.locator('#username').fill(email);
  await page.locator('#password').fill(password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(`${signet.url}/admin`);
}

/** axe-core runs by the debugger, and needs a page in which scripts may run. */
async function withScripts(t: TestContext, signet: Signet, admin: TestUser) {
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, admin, signet);
  return visitor;
}

test('every page of administration is accessible, light and dark, on a phone and on a desk, in both languages', async (t) => {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const owner = await signet.signedInUser();
  const shop = { name: 'Example shop', redirect_uris: ['https://shop.example/cb'] };
  const pending = await signet.registerClient({ owner, approved: false, ...shop });
  await rejectClient(signet.deps, { client_id: pending.client_id, caller: { actor: 'cli' } }, 'Which shop is this?');
  await edit(owner, pending.client_id, { homepage_url: 'https://shop.example/about' });
  const changed = await signet.registerClient({ owner, name: 'Field Notes' });
  // With the longest of all risk signals.
  await signet.registerClient({ owner: await signet.signedInUser(), approved: false, name: 'Field N0tes' });
  await edit(owner, changed.client_id, {
    name: 'Field Notes 2',
    redirect_uris: ['https://rp.test/cb', `https://new.example/${'long/'.repeat(60)}`],
  });
  const fromOutside = await bringClient(signet, 'https://notes.example.com/client.json');
  const service = await signet.newService();
  for (const version of [1, 2]) {
    const notes = { external_customer_id: 'cus_1', metadata: { seats: 3, note: 'long '.repeat(60) } };
    await postEntitlement(signet, service.authorization, writeOf(owner.user_id, { version, ...notes }));
  }
  const receiver = await openReceiver(t);
  Object.assign(receiver, { status: 500, body: '{"error": "out of order"}' });
  const made = await admin.browser.postJson('/v1/admin/webhooks', { url: receiver.url, event_types: ['user.created'] });
  await signet.signedInUser();
  await signet.runJobs();
  await signet.newBrowser().post('/signin', { username: owner.email, password: 'wrong' });
  await plain(signet.deps.db).run(
    `insert into unauthenticated_events (event_key, hour, action, reason, detail, address, first_at, last_at, count)
     values ('x', 0, 'session.refused', 'upstream_failed', $1, $2, 0, 3599, 12)`,
    [JSON.stringify({ provider: 'google', problem: 'p'.repeat(60) }), 'W'.repeat(64)],
  );
  await plain(signet.deps.db).run('update webhook_deliveries set dead_at = $1, next_attempt_at = null', [1]);

  await plain(signet.deps.db).run(
    `insert into providers (provider_id, issuer, label, upstream_client_id, client_secret_sealed, created_at)
     values ('acme', $1, 'Acme', $2, $3, 1)`,
    [`https://id.acme.example/${'long'.repeat(40)}`, 'c'.repeat(100), signet.deps.vault.seal('provider:acme', 'x')],
  );

  const { text } = await admin.browser.get(`/admin/webhooks/${made.json?.webhook_id}`);
  const [delivery = ''] = /\/admin\/webhooks\/wh_[^/"]+\/deliveries\/msg_[^"]+/.exec(text) ?? [];

  for (const name of ['One', 'Two']) await admin.browser.patch('/v1/admin/brand', { name, background: '#003366' });
  await admin.browser.put('/v1/admin/brand/pictures/logo', {
    content: pngOf({ width: 400, height: 80 }).toString('base64'),
  });
  const signals = await signalClient(signet);
  const { stream_id } = await signals.create(pushTo(receiver));
  await signals.call('POST', 'verification_endpoint', { stream_id });

  const { page, expectQuiet } = await withScripts(t, signet, admin);
  const paths = [
    '/admin',
    '/admin/clients',
    '/admin/clients?state=suspended',
    `/admin/clients/${pending.client_id}`,
    `/admin/clients/${changed.client_id}`,
    `/admin/clients/${encodeURIComponent(fromOutside)}`,
    '/admin/clients?state=outside',
    '/admin/client-hosts',
    `/review-request?client_id=${encodeURIComponent(fromOutside)}`,
    '/admin/users',
    '/admin/users/invite',
    '/admin/search?q=e',
    `/admin/users/bulk?action=disable&user:${owner.user_id}=on&user:${admin.user_id}=on`,
    `/admin/users/${owner.user_id}`,
    `/admin/users/${owner.user_id}/edit`,
    `/admin/users/${owner.user_id}/sessions`,
    `/admin/users/${owner.user_id}/grants`,
    `/admin/users/${owner.user_id}/entitlements?product=editor`,
    '/admin/entitlements?product=editor',
    '/admin/clients/register?kind=web&library=authjs',
    '/admin/apis',
    '/admin/service-credentials',
    `/admin/service-credentials/${service.client_id}`,
    '/admin/providers',
    '/admin/providers/acme',
    '/admin/signals',
    `/admin/signals/${stream_id}`,
    `/admin/signals/${stream_id}/deliveries`,
    '/admin/webhooks',
    `/admin/webhooks/${made.json?.webhook_id}`,
    `/admin/webhooks/${made.json?.webhook_id}/edit`,
    delivery,
    `/admin/webhooks/${made.json?.webhook_id}/deliveries?state=dead`,
    '/admin/keys',
    '/admin/audit',
    '/admin/audit/unauthenticated',
    '/admin/brand',
    '/admin/brand?words=ar&subject=consent&scheme=dark&width=320',
    ...['sign_up', 'new_account', 'error'].map((one) => `/admin/brand?subject=${one}&width=390`),
    '/admin/brand/versions',
    '/admin/settings',
    '/admin/settings/SIGNET_SECOND_FACTOR',
    '/admin/settings/mails',
    new URL(stopUrl(signet.deps, admin.user_id)).pathname,
    '/admin/users/refused-addresses',
    '/admin/settings/mails/new_device?look=phone_dark',
    '/admin/settings/mails/client_rejected?look=text',
    '/admin/audit/unauthenticated?address=192.0.2.1',
  ];
  const fitDesks = async () => {
    for (const width of [1280, 1366]) await expectToFit(page, width);
  };
  for (const path of paths) await expectPage(page, signet, { path, act: openDetails }, fitDesks);
  // With more sessions and grants than it lists, the page of a user has a search among either.
  for (let count = 0; count < 11; count += 1) await owner.elsewhere().signIn();
  for (let count = 0; count < 11; count += 1) await owner.obtainTokens(changed);
  await page.goto(`${signet.url}/admin/users/${owner.user_id}`);
  assert.equal(await page.locator('main').getByRole('search').count(), 2);
  await expectAccessible(page);
  // On a phone the navigation is one line, in which the tab of the page is to be seen.
  await page.setViewportSize({ width: 320, height: 800 });
  await page.goto(`${signet.url}/admin/settings?ui_locales=de`);
  const navigation = await page.locator('.tabs').boundingBox();
  const tab = await page.locator('.tabs [aria-current]').boundingBox();
  assert.ok(navigation!.height < 80, `${navigation?.height} px`);
  assert.ok(tab!.x >= 0 && tab!.x + tab!.width <= 320, JSON.stringify(tab));
  // A chart's table has a line for each day there.
  await page.goto(`${signet.url}/admin`);
  await openDetails(page);
  const [day, count] = await Promise.all(
    ['th', 'td'].map((cell) => page.locator(`.chart tbody ${cell}`).first().boundingBox()),
  );
  assert.ok(count!.x > day!.x && Math.abs(count!.y - day!.y) < day!.height, JSON.stringify([day, count]));
  await page.goto(`${signet.url}/admin/audit`);
  await page.locator('#audit-verify').click();
  await page.getByRole('status').first().waitFor(); // of each part
  await page.goto(`${signet.url}/reference?ui_locales=en`);
  await expectAccessible(page);
  await page.goto(`${signet.url}/reference/entitlements`);
  await page.locator('main details > summary').first().click();
  await expectAccessible(page);
  expectQuiet();
});

test('a review without JavaScript: the queue, the difference, a refusal that explains itself, the approval', async (t) => {
  const { signet, page, expectQuiet } = await begin(t);
  const owner = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner, name: 'Field Notes' });
  await edit(owner, client_id, { redirect_uris: ['https://rp.test/cb', 'https://new.example/cb'] });

  await page.reload();
  assert.match(await textOf(page), sentence('admin.overview.clients', { pending: 0, changes: 1 }));
  await page
    .getByRole('link', { name: message('admin.tab.clients') })
    .first()
    .click();
  await page.getByText(message('admin.clients.status.change')).waitFor();
  await page.getByRole('link', { name: 'Field Notes' }).click();
  const row = page.getByRole('row', { name: sentence('clients.field.redirect_uris') });
  assert.match((await row.textContent()) ?? '', pattern`new\.example.*${sentence('admin.diff.added')}`);
  assert.match(await textOf(page), sentence('risk.new_redirect_host', { detail: 'new.example' }));

  // The owner changes their mind while the page is open.
  await edit(owner, client_id, { redirect_uris: ['https://rp.test/cb', 'https://newer.example/cb'] });
  await page.locator('form[action$="/approve"]').getByLabel(message('admin.clients.consent.required')).check();
  await page.getByRole('button', { name: message('admin.clients.approve.submit', { revision: 2 }) }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('admin.problem.stale') })
    .waitFor();
  assert.match(await textOf(page), /newer\.example/);
  await page.locator('form[action$="/approve"]').getByLabel(message('admin.clients.consent.required')).check();
  await page.getByRole('button', { name: message('admin.clients.approve.submit', { revision: 3 }) }).click();
  await page
    .getByRole('status')
    .filter({ hasText: sentence('admin.clients.done.approved') })
    .waitFor();
  const client = await signet.deps.clients.find(client_id);
  assert.deepEqual(
    [client?.redirect_uris, client?.consent],
    [['https://rp.test/cb', 'https://newer.example/cb'], 'required'],
  );

  await page.locator('summary', { hasText: message('admin.clients.suspend') }).click();
  await page.getByLabel(message('admin.reason')).fill('Phishing');
  await page.locator('#client-suspend').click();
  await page
    .getByRole('status')
    .filter({ hasText: sentence('admin.clients.done.suspended') })
    .waitFor();
  await page.getByRole('link', { name: message('admin.history') }).click();
  assert.match(await textOf(page), /client\.suspended.*Phishing/s);
  expectQuiet();
});

test('a service credential and a webhook: each secret is shown once, and gone with the next page', async (t) => {
  const { page, expectQuiet } = await begin(t);
  await page
    .getByRole('link', { name: message('admin.tab.services') })
    .first()
    .click();
  await page.getByLabel(message('admin.services.name'), { exact: true }).fill('Billing');
  await page.getByLabel('entitlements:write').check();
  await page.getByRole('button', { name: message('admin.services.create.submit') }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('problem.service.no_product') })
    .waitFor();
  assert.equal(await page.getByLabel(message('admin.services.name'), { exact: true }).inputValue(), 'Billing');
  await page.getByRole('textbox', { name: message('admin.services.products') }).fill('editor');
  await page.getByRole('button', { name: message('admin.services.create.submit') }).click();
  assert.match(await textOf(page), /ss_[\w-]{43}/);
  await page.getByRole('link', { name: message('admin.go_on') }).click();
  assert.doesNotMatch(await textOf(page), /ss_[\w-]/);

  await page.getByRole('link', { name: message('admin.tab.webhooks') }).click();
  await page.getByLabel(message('admin.webhooks.url'), { exact: true }).fill('https://hooks.example.com/signet');
  await page.getByText(message('admin.webhooks.group.single')).first().click();
  await page.getByLabel('user.created').check();
  await page.getByRole('button', { name: message('admin.services.create.submit') }).click();
  assert.match(await textOf(page), /whsec_/);
  await page.getByRole('link', { name: message('admin.go_on') }).click();
  assert.doesNotMatch(await textOf(page), /whsec_/);
  expectQuiet();
});

test('a user is found and disabled; after 15 minutes the administrator confirms first, and returns to the same page', async (t) => {
  const { signet, admin, page, expectQuiet } = await begin(t);
  const user = await signet.signedInUser();
  await page
    .getByRole('link', { name: message('admin.tab.users') })
    .first()
    .click();
  await page.getByRole('searchbox', { name: message('admin.users.find') }).fill(user.email);
  await page.getByRole('button', { name: message('admin.users.find.submit') }).click();
  await page
    .getByRole('main')
    .getByRole('link', { name: /Person/ })
    .click();
  signet.clock.advance(901);
  await page.locator('summary', { hasText: message('admin.users.disable') }).click();
  await page.locator('#disable-reason').fill('Asked for it');
  await page.locator('#user-disable').click();
  await page.locator('#password').fill(admin.password);
  await page.locator('main button[type=submit]').first().click();
  await page.waitForURL(`${signet.url}/admin/users/${user.user_id}?unfinished=1`);
  await page
    .getByRole('status')
    .filter({ hasText: sentence('layout.kept') })
    .waitFor();
  assert.equal((await user.browser.get('/v1/me')).status, 200);
  assert.equal(await page.locator('#disable-reason').inputValue(), 'Asked for it');
  await page.locator('#user-disable').click();
  await page
    .getByRole('status')
    .filter({ hasText: sentence('admin.users.done.disabled') })
    .waitFor();
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  expectQuiet();
});

test('what administrators do each day is done by the keyboard alone: reviews, users, the audit log', async (t) => {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner: user, name: 'Field Notes', approved: false });
  await signet.registerClient({ owner: user, name: 'Quarry', approved: false });
  const { page, expectQuiet } = await withScripts(t, signet, admin);
  const link = (name: string) => page.getByRole('link', { name }).first();
  const press = async (target: Locator, key = 'Enter') => {
    await tabTo(page, target);
    await page.keyboard.press(key);
  };
  const write = async (target: Locator, text: string) => {
    await tabTo(page, target);
    await page.keyboard.type(text);
  };
  const done = (text: RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();

  await page.goto(`${signet.url}/admin`);
  await press(link(message('admin.tab.clients')));
  await page.waitForURL('**/admin/clients');
  await press(page.getByRole('main').getByRole('link', { name: 'Field Notes' }).first());
  await page.waitForURL(`**/admin/clients/${client_id}*`);
  const approval = page.locator('form[action$="/approve"]');
  await press(approval.getByRole('radio').first(), 'Space');
  const required = approval.getByLabel(message('admin.clients.consent.required'));
  if (!(await required.isChecked())) await page.keyboard.press('ArrowDown');
  assert.ok(await required.isChecked());
  await press(page.getByRole('button', { name: message('admin.clients.approve.submit', { revision: 1 }) }));
  await done(sentence('admin.clients.done.approved'));
  assert.equal((await signet.deps.clients.find(client_id))?.consent, 'required');

  await press(page.locator('summary', { hasText: message('admin.clients.suspend') }));
  await write(page.getByLabel(message('admin.reason')), 'Phishing');
  await press(page.locator('#client-suspend'));
  await done(sentence('admin.clients.done.suspended'));

  await press(link(message('admin.tab.users')));
  await page.waitForURL('**/admin/users');
  await write(page.getByRole('searchbox', { name: message('admin.users.find') }), user.email);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/admin/users?*');
  await press(page.locator(`main a[href^="/admin/users/${user.user_id}"]`).first());
  await page.waitForURL(`**/admin/users/${user.user_id}*`);
  await press(page.locator('summary', { hasText: message('admin.users.disable') }));
  await write(page.locator('#disable-reason'), 'Asked for it');
  await press(page.locator('#user-disable'));
  await done(sentence('admin.users.done.disabled'));
  assert.equal((await user.browser.get('/v1/me')).status, 401);

  await press(page.locator('#user-edit'));
  await page.waitForURL('**/edit');
  await write(page.locator('#name'), 'Mia Rossi');
  await write(page.locator('textarea[name=reason]'), 'Asked for it');
  await page.keyboard.press('Tab');
  await press(page.locator('main form button[type=submit]').first());
  await done(sentence('admin.users.done.edited'));

  await press(link(message('admin.tab.users')));
  await page.waitForURL('**/admin/users');
  await press(page.locator('#users-invite'));
  await page.waitForURL('**/invite');
  await write(page.locator('#email'), 'katherine@example.com');
  await write(page.locator('textarea[name=reason]'), 'Joins on Monday');
  await press(page.locator('#user-invite'));
  await page.locator('#once-0').waitFor();

  await press(link(message('admin.tab.audit')));
  await page.waitForURL('**/admin/audit');
  await write(page.locator('#who'), user.email);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/admin/audit?*');
  await press(page.locator('.log summary').first());
  await page.locator('.log details[open]').waitFor();
  await press(page.locator('#without-who'));
  await page.waitForURL((url) => !url.searchParams.get('who'));

  // A second client is turned away, with a reason that need not be written; and the policy of the first one is changed.
  await press(link(message('admin.tab.clients')));
  await press(page.getByRole('main').getByRole('link', { name: 'Quarry' }).first());
  await tabTo(page, page.locator('#reject-ready'));
  await page.keyboard.press('ArrowDown');
  await press(page.locator('#client-reject'));
  await done(sentence('admin.clients.done.rejected'));
  await page.goto(`${signet.url}/admin/clients/${client_id}`);
  await press(page.locator('#client-reinstate'));
  await done(sentence('admin.clients.done.reinstated'));
  await press(page.locator('#policy-retry'), 'ArrowUp');
  await press(page.locator('#client-policy'));
  await done(sentence('admin.clients.done.policy'));
  assert.equal((await signet.deps.clients.find(client_id))?.refresh_retry_window, 1);
  expectQuiet();
});

/** As far as a page has anything to stop at. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  const isFocused = () => target.evaluate((element) => element === document.activeElement);
  for (let stops = 0; stops < 150 && !(await isFocused()); stops += 1) await page.keyboard.press('Tab');
  assert.ok(await isFocused(), `${page.url()}: ${target} cannot be reached by the keyboard`);
}

test('what strangers chose breaks no page: markup, what turns letters around, words without end', async (t) => {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const word = 'W'.repeat(300);
  const change = JSON.stringify({ name: word, redirect_uris: [`https://${word}.example/${word}`], logo_url: word });
  await plain(signet.deps.db).run(
    'update clients set name = $1, status_reason = $1, logo_url = $1, pending_change = $2',
    [word, change],
  );
  await plain(signet.deps.db).run('update users set name = $1', [word]);
  await plain(signet.deps.db).run('update sessions set user_agent = $1', [word]);
  await plain(signet.deps.db).run('update audit_log set reason = $1, after_state = $2', [
    word,
    JSON.stringify({ word }),
  ]);
  const { page, expectQuiet } = await withScripts(t, signet, admin);
  for (const path of [
    '/admin/clients',
    `/admin/clients/${client.client_id}`,
    '/admin/users',
    `/admin/users/${owner.user_id}`,
    '/admin/audit',
  ]) {
    await page.goto(signet.url + path);
    for (const width of [320, 1280]) await expectToFit(page, width);
    assert.match(await textOf(page), /W{99}/);
  }
  expectQuiet();
});

const edit = (owner: TestUser, client_id: string, fields: Record<string, unknown>) =>
  owner.browser.patch(`/v1/oauth/clients/${client_id}`, fields);
