import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { letterNames } from '../../src/platform/mail/letters.ts';
import { openBrowser } from '../support/chromium.ts';
import { misunderstood, preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { message, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';

const path = '/admin/settings/mails';

test('every mail can be seen in the console, with nobody real in it', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { browser } = await signet.signedInUser({ role: 'admin', name: 'Marie Curie' });
  const { text: all } = await browser.get(path);
  const links = [...all.matchAll(/ href="(\/admin\/settings\/mails\/(\w+)\?[^"]*)"/g)];
  assert.deepEqual(
    links.map(([, , name]) => name),
    letterNames,
  );
  for (const [, link = '', name = ''] of links) {
    const page = await browser.get(link.replaceAll('&amp;', '&'));
    assert.equal(page.status, 200, link);
    const [, source = ''] = /<iframe [^>]*sandbox src="([^"]+)"/.exec(page.text) ?? [];
    const { status, text } = await browser.get(source.replaceAll('&amp;', '&'));
    assert.equal(status, 200, source);
    assert.ok(text.includes('Ada Lovelace') || !/Hello [A-Z]/.test(text), name);
    assert.doesNotMatch(text, /Curie/);
  }
  assert.equal(signet.deps.mail.enqueued, 0);
  assert.equal((await browser.get(`${path}/nothing`)).status, 404);
  assert.equal((await browser.get(`${path}/nothing/html`)).status, 404);
  assert.equal((await browser.get(`${path}/constructor/html`)).status, 404);
});

test('a preview is in the language and the colours that are chosen, or is the text', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_LANGUAGES: 'en,ar,de' } });
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const shown = async (query: string) => (await browser.get(`${path}/reset/html?${query}`)).text;
  assert.match(await shown('language=ar'), /<html lang="ar" dir="rtl">/);
  assert.match(await shown('language=fr'), /<html lang="en" dir="ltr">/, 'it is not offered here');
  assert.match(await shown('language=en&look=dark'), /content="dark".*\.paper\{background:#151816!important/s);
  assert.doesNotMatch(await shown('look=light'), /!important/);
  const { text } = await browser.get(`${path}/reset?language=de&look=text`);
  assert.match(text, /<pre lang="de"[^>]*>Guten Tag Ada Lovelace,/);
  assert.doesNotMatch(text, /<iframe/);
  assert.match((await browser.get(`${path}/reset?look=phone_light`)).text, /<iframe class="preview phone"/);
  const { text: waiting } = await browser.get(`${path}/reviews_waiting`);
  assert.deepEqual(
    [...waiting.matchAll(/<option value="(en|ar|de)"/g)].map(([, one]) => one),
    ['en', 'de'],
  );
});

test('a preview runs nothing, asks for nothing, and is in a frame of ours alone', async (t) => {
  const logo = join(await scratchFolder('logo'), 'logo.png');
  writeFileSync(logo, pngOf());
  const signet = await startSignet(t, { env: { SIGNET_LOGO: logo } });
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const { headers, text } = await browser.get(`${path}/new_device/html`);
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; .*frame-ancestors 'self'/,
  );
  assert.doesNotMatch(policy, /script-src|allow-/);
  assert.equal(headers.get('x-frame-options'), 'SAMEORIGIN');
  assert.match(text, /<img src="data:image\/png;base64,/);
  const page = await browser.get(`${path}/new_device`);
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-src 'self';.*frame-ancestors 'none'/);
});

test('previews are for those who may read settings', async (t) => {
  const signet = await startSignet(t);
  const [user, stranger] = [await signet.signedInUser(), signet.newBrowser()];
  for (const page of [path, `${path}/reset`, `${path}/reset/html`]) {
    assert.equal((await user.browser.get(page)).status, 403, page);
    assert.equal((await stranger.get(page)).status, 303, page);
  }
});

test('a preview is chosen and seen without JavaScript', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const { page, context, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await context.addCookies([...admin.browser.cookies].map(([name, value]) => ({ name, value, url: signet.url })));
  await page.goto(`${signet.url}/admin/settings`);
  await page.getByRole('link', { name: message('admin.mails.title') }).click();
  await page.getByRole('link', { name: message('mail.new_device.subject', { service: 'Signet' }) }).click();
  await page.getByLabel(message('admin.mails.look')).selectOption({ label: message('admin.mails.look.phone_dark') });
  await page.locator('#mail-show').click();
  const mail = page.frameLocator('iframe.phone');
  assert.equal(await mail.locator('h1').textContent(), message('mail.new_device.subject', { service: 'Signet' }));
  const behind = await mail.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
  assert.equal(behind, 'rgb(21, 24, 22)');
  expectQuiet();
});

test('signet mail preview prints a mail in each part, and lists them all', async (t) => {
  const settings = { ...(await preparedSettings(t)), SIGNET_NAME: 'Harbour', SIGNET_LANGUAGES: 'fr,en' };
  const printed = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(['mail', 'preview', ...args], { env: settings });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const all = await succeed(['mail', 'preview'], settings);
  assert.deepEqual(
    (all.mails as { name: string }[]).map(({ name }) => name),
    letterNames,
  );
  assert.match(await printed(), /^ *NAME +TO +SUBJECT$/m);
  assert.match(await printed('reset'), sentence('mail.reset.text', { minutes: 30 }, 'fr'));
  assert.match(await printed('reset', '--text'), sentence('mail.reset.text', { minutes: 30 }, 'fr'));
  const html = await printed('reset', '--language', 'ar', '--html');
  assert.match(html, /^<!doctype html>\n<html lang="ar" dir="rtl">.*Harbour.*<\/html>\n+$/s);
  const { subject, text, to } = await succeed(['mail', 'preview', 'reset', '--language', 'en'], settings);
  assert.deepEqual([subject, to], [message('mail.reset.subject', { service: 'Harbour' }), 'ada@example.com']);
  assert.match(String(text), sentence('mail.reset.text', { minutes: 30 }));
  assert.match((await runCommand(['mail', 'preview', '--help'])).stdout, /--language/);
  await misunderstood(['mail', 'preview', 'nothing'], settings, /There is no mail "nothing"/);
  await misunderstood(['mail', 'preview', 'reset', '--language', 'tlh'], settings, /--language/);
  await misunderstood(['mail', 'preview', 'reset', '--html', '--text'], settings, /either --html or --text/);
});
