import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { openBrowser } from '../support/chromium.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet } from '../support/signet.ts';
import { lendSession } from './seeded-signet.ts';

/** What an administrator reads wrongly on a small screen, or without colours. */

async function begin(t: TestContext) {
  const signet = await startSignet(t, { mail: true });
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia Hartmann-Lindqvist' });
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, admin, signet);
  return { signet, admin, page: visitor.page };
}

/** The lines on which each part of some texts stands, where a part ends at a permitted break. */
const linesOfParts = (some: Locator) =>
  some.evaluateAll((all) =>
    all.flatMap((one) =>
      [...one.childNodes]
        .filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => {
          const range = document.createRange();
          range.selectNodeContents(node);
          return { text: node.textContent, lines: new Set([...range.getClientRects()].map(({ top }) => top)).size };
        }),
    ),
  );

test('no IP address and no word of a mail address is broken in two on a phone', async (t) => {
  const { signet, page } = await begin(t);
  const at = Math.floor(signet.clock() / 1000);
  const addresses = ['203.0.113.112', '198.51.100.145', '2001:db8:85a3:8d3:1319:8a2e:370:7348'];
  for (const [place, address] of addresses.entries()) {
    await plain(signet.deps.db).run(
      'insert into audit_log (event_id, at, action, actor, address) values ($1, $2, $3, $4, $5)',
      [`evt_address${place}`, at, 'session.started', 'cli', address],
    );
  }
  await signet.newUser({ name: 'Bartholomäus Featherstonehaugh', email: 'bartholomaeus.feather@example.org' });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [path, texts] of [
    ['/admin/audit', '.log-address bdi'],
    ['/admin', '.log-address bdi'],
    ['/admin/users', 'th .soft bdi'],
  ] as const) {
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(signet.url + path);
      const parts = await linesOfParts(page.locator(texts));
      assert.ok(parts.length >= 2, path);
      for (const { text, lines } of parts) assert.equal(lines, 1, `${path} at ${width} px breaks ${text}`);
    }
  }
});

test('the half of a day stays beside its hour', async (t) => {
  const { signet, page } = await begin(t);
  await page.addInitScript(() => Object.defineProperty(navigator, 'languages', { get: () => ['en-US'] }));
  await page.goto(`${signet.url}/admin/audit`);
  assert.match((await page.locator('.log-time').first().textContent()) ?? '', /\d:\d\d:\d\d\u00a0[AP]M$/);
});

test('what is done and how bad a risk is are told without colours', async (t) => {
  const { signet, page } = await begin(t);
  const owner = await signet.signedInUser();
  await signet.registerClient({ owner, name: 'Field Notes' });
  const other = { owner: await signet.signedInUser(), redirect_uris: ['https://other.example/cb'] };
  await signet.registerClient({ ...other, approved: false, name: 'Field N0tes' });
  await page.emulateMedia({ forcedColors: 'active' });
  for (const path of ['/admin', '/admin/clients']) {
    await page.goto(signet.url + path);
    const isSigned = async (key: Parameters<typeof sentence>[0]) => {
      const badge = page
        .locator('.badge')
        .filter({ hasText: sentence(key) })
        .first();
      return [
        await badge.locator('svg').count(),
        sentence('admin.risk.warning').test((await badge.textContent()) ?? ''),
      ];
    };
    assert.deepEqual(await isSigned('admin.risk.name_resembles_client'), [1, true], path);
    assert.deepEqual(await isSigned('admin.risk.new_redirect_host'), [0, false], path);
  }
  await page.goto(`${signet.url}/admin`);
  const ring = (item: string) =>
    page
      .locator(item)
      .first()
      .evaluate((one) => Number.parseFloat(getComputedStyle(one, '::before').borderTopWidth));
  assert.ok((await ring('.checklist .done')) > 2 * (await ring('.checklist li:not(.done)')), 'a disc and a ring');
  const width = (item: string) =>
    page
      .locator(item)
      .first()
      .evaluate((one) => {
        const { width, borderLeftWidth, boxSizing } = getComputedStyle(one, '::before');
        return Number.parseFloat(width) + (boxSizing === 'border-box' ? 0 : 2 * Number.parseFloat(borderLeftWidth));
      });
  assert.equal(await width('.checklist .done'), await width('.checklist li:not(.done)'), 'of the same size');
});

test('a page of users is a few screens on a phone, and what is done to them stays in sight', async (t) => {
  const { signet, page } = await begin(t);
  for (let count = 0; count < 30; count += 1) await signet.newUser({ name: `Bartholomew Hopper-Lindqvist ${count}` });
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(`${signet.url}/admin/users`);
    const bar = await page.locator('#users-bulk-preview').boundingBox();
    assert.ok(bar !== null && bar.y + bar.height <= 844, `${width} px: ${JSON.stringify(bar)}`);
    const rows = await page.locator('.people tbody tr').evaluateAll((all) => all.map((one) => one.clientHeight));
    assert.equal(rows.length, 31);
    for (const height of rows) assert.ok(height <= 130, `${width} px: ${height} px a row`);
    // What has the focus is not behind the bar.
    const last = page.locator('.people tbody tr').last().locator('input');
    await page.evaluate('scrollTo(0, 0)');
    await last.focus();
    const box = await last.boundingBox();
    const top = await page.locator('.bulk').boundingBox();
    assert.ok(box!.y + box!.height <= top!.y, `${width} px: ${JSON.stringify([box, top])}`);
  }
});
