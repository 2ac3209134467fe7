import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { contrast } from '../../src/platform/pages/colours.ts';
import { linkIn } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const path = '/v1/admin/brand';
type Json = Record<string, unknown>;

const stylesheetOf = async ({ newBrowser }: Signet, page: string): Promise<string> =>
  (await newBrowser().get(/<link rel="stylesheet" href="([^"]+)"/.exec(page)?.[1] ?? '')).text;
const property = (css: string, name: string) =>
  [...css.matchAll(new RegExp(`--${name}:([^;}]+)`, 'g'))].map(([, value]) => value);
const put = ({ browser }: TestUser, { url }: Signet, picture: string, file: Buffer) =>
  browser.send(`${path}/pictures/${picture}`, {
    method: 'PUT',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ content: file.toString('base64') }),
  });
const page = async (signet: Signet, at = '/signin') => (await signet.newBrowser().get(at)).text;

testSignet('the brand is changed by API, and people see it at once', { mail: true }, async ({ signet, t }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const change = async (body: Json) => {
    const answer = await admin.browser.patch(path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.json as Json;
  };

  await t.test('before anybody has said anything, it is what the settings say', async () => {
    const { json } = await admin.browser.get(path);
    assert.deepEqual([json?.version, json?.name, json?.button, json?.support], [0, 'Signet', '#2f5d50', null]);
  });

  await t.test('name, and colours that stay what they are with readable text on them', async () => {
    const { version } = await change({ name: 'Acme', button: '#FFD400', link: '#ffd400', radius: 0, font: 'serif' });
    assert.equal(version, 1);
    const shown = await page(signet);
    assert.match(shown, /<title>[^<]* - Acme<\/title>/);
    const css = await stylesheetOf(signet, shown);
    assert.deepEqual(property(css, 'button'), ['#ffd400', '#ffd400']);
    for (const [at, ink] of property(css, 'button-ink').entries())
      assert.ok(contrast(ink!, property(css, 'button')[at]!) >= 4.5);
    const [link] = property(css, 'accent');
    assert.notEqual(link, '#ffd400', 'yellow words on white are not to be read');
    assert.ok(contrast(link!, '#ffffff') >= 4.5);
    assert.deepEqual(property(css, 'radius'), ['0px']);
    assert.match(property(css, 'font')[0] ?? '', /Charter.*serif$/);
  });

  await t.test('a logo of any width for light and dark, of which only what is drawn is kept', async () => {
    const [light, dark] = [pngOf({ width: 400, height: 80, text: 'drawn by Ada' }), pngOf({ width: 300, height: 60 })];
    assert.equal((await put(admin, signet, 'logo', light)).status, 200);
    const answer = await put(admin, signet, 'logo_dark', dark);
    const { logo } = (answer.json as Json).pictures as Record<string, { url: string; width: number; height: number }>;
    assert.deepEqual([logo?.width, logo?.height], [400, 80]);
    const read = await fetch(logo!.url);
    assert.equal(read.headers.get('content-type'), 'image/png');
    assert.match(read.headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/);
    assert.ok(Buffer.from(await read.arrayBuffer()).equals(pngOf({ width: 400, height: 80 })));
    for (const extension of ['.css', '.js', '.svg', '.jpg'])
      assert.equal((await fetch(logo!.url.replace('.png', extension))).status, 404, extension);
    const shown = await page(signet);
    const image = new RegExp(
      `<source media="\\(prefers-color-scheme: dark\\)"[^>]*width="140" height="28"><img src="${new URL(logo!.url).pathname}" alt="" width="140" height="28">`,
    );
    assert.match(shown, image);
    await change({ header: 'logo' });
    assert.match(await page(signet), /alt="Acme" width="140" height="28"><\/picture><\/a>/);
    assert.match(await page(signet), /rel="icon" href="\/assets\/icon-[0-9a-f]+\.svg"/, 'a wide logo is no icon');
  });

  await t.test('icons are square PNG files', async () => {
    assert.equal((await put(admin, signet, 'icon', pngOf({ width: 64, height: 64 }))).status, 200);
    assert.equal((await put(admin, signet, 'touch_icon', pngOf({ width: 180, height: 180 }))).status, 200);
    const shown = await page(signet);
    assert.match(shown, /<link rel="icon" href="\/assets\/brand-[0-9a-f]{32}\.png" type="image\/png">/);
    assert.match(shown, /<link rel="apple-touch-icon" href="\/assets\/brand-[0-9a-f]{32}\.png">/);
  });

  await t.test('what is no picture, or does not fit, is refused and changes nothing', async () => {
    const before = (await admin.browser.get(path)).json;
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script/></svg>');
    const files: [string, Buffer, RegExp][] = [
      ['logo', svg, /not a complete PNG, JPEG or WebP/],
      ['logo', pngOf().subarray(0, 60), /not a complete PNG/],
      ['logo', Buffer.alloc(0), /Choose a file/],
      ['logo', Buffer.concat([pngOf(), Buffer.alloc(24 * 1024)]), /larger than 24 KB/],
      ['logo', pngOf({ width: 1300, height: 100 }), /12 times as wide as high/],
      ['logo', pngOf({ width: 8, height: 8 }), /16 to 2048 pixels/],
      ['icon', pngOf({ width: 65, height: 64 }), /square/],
    ];
    for (const [picture, file, why] of files) {
      const answer = await put(admin, signet, picture, file);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, why);
    }
    assert.equal((await put(admin, signet, 'banner', pngOf())).status, 404);
    assert.deepEqual((await admin.browser.get(path)).json, before);
  });

  await t.test('every member that is wrong is named', async () => {
    const answer = await admin.browser.patch(path, {
      name: '\u202e',
      button: 'yellow',
      terms_url: 'javascript:alert(1)',
      support: 'nowhere',
      terms_since: '2027-02-30',
    });
    assert.deepEqual(
      (answer.json?.fields as { path: string }[] | undefined)?.map(({ path: one }) => one),
      ['name', 'button', 'terms_url', 'support', 'terms_since'],
    );
  });

  await t.test('terms, privacy, help and support are where people look for them', async () => {
    await change({
      terms_url: 'https://acme.example/terms',
      privacy_url: 'https://acme.example/privacy',
      help_url: 'https://acme.example/help',
      support: 'help@acme.example',
      terms_since: '2027-03-01',
    });
    const links = [
      'https://acme.example/terms',
      'https://acme.example/privacy',
      'https://acme.example/help',
      'mailto:help@acme.example',
    ];
    for (const at of ['/signin', '/signup', '/reset']) {
      const foot = (await page(signet, at)).split('<footer')[1] ?? '';
      for (const link of links) assert.ok(foot.includes(`href="${link}"`), `${link} at ${at}`);
    }
    const lost = await signet.newBrowser().get('/nowhere', { accept: 'text/html' });
    assert.equal(lost.status, 404);
    assert.ok(lost.text.includes('mailto:help@acme.example'));
    assert.ok((await admin.browser.get('/account')).text.includes('href="https://acme.example/help"'), 'in the menu');
  });

  await t.test('words of its own are escaped, and in the language of the reader', async () => {
    const words = async (body: Json) => {
      const answer = await admin.browser.postJson(`${path}/words`, body);
      assert.equal(answer.status, 200, answer.text);
    };
    await words({ place: 'sign_in', text_en: 'Use your <b>staff</b> account.', text_de: 'Nutzen Sie Ihr Konto.' });
    await words({ place: 'sign_in_title', text_en: 'Welcome & hello' });
    const english = await page(signet);
    assert.match(
      english,
      /<h1>Welcome &amp; hello<\/h1>\s*<p class="own">Use your &lt;b&gt;staff&lt;\/b&gt; account\.<\/p>/,
    );
    assert.match(await page(signet, '/signin?ui_locales=de'), /<p class="own">Nutzen Sie Ihr Konto\.<\/p>/);
    assert.match(
      await page(signet, '/signin?ui_locales=ar'),
      /<p class="own" lang="en" dir="ltr">Use your/,
      'in English for who reads neither',
    );
    await words({ place: 'sign_in', text_en: null, text_de: null });
    assert.doesNotMatch(await page(signet), /class="own"/);
    for (const [place, text] of [
      ['sign_in', 'x'.repeat(301)],
      ['sign_in_title', 'x'.repeat(61)],
      ['sign_in', 'a\u202eb'],
    ]) {
      assertRefused(await admin.browser.postJson(`${path}/words`, { place, text_en: text }), 400, 'invalid_request');
    }
    assertRefused(
      await admin.browser.postJson(`${path}/words`, { place: 'nowhere', text_en: 'x' }),
      400,
      'invalid_request',
    );
  });

  await t.test('a background has readable words on it, and in the dark it is none unless one was chosen', async () => {
    await change({ background: '#003366' });
    const css = await stylesheetOf(signet, await page(signet));
    assert.deepEqual(property(css, 'outside'), ['#003366', 'var(--paper)']);
    assert.ok(contrast(property(css, 'outside-soft')[0]!, '#003366') >= 4.5);
  });

  await t.test('mails show its button, its logo and its last line', async () => {
    await admin.browser.postJson(`${path}/words`, { place: 'mail_footer', text_en: 'Acme, 1 High Street' });
    await signet.newBrowser().post('/signup', { email: 'new@example.com' });
    const { text, html = '' } = await signet.mailbox.next('new@example.com');
    assert.match(text, /\nAcme, 1 High Street\n?$/);
    const links: [string, string][] = [
      ['layout.help', 'https://acme.example/help'],
      ['layout.terms', 'https://acme.example/terms'],
      ['layout.privacy', 'https://acme.example/privacy'],
    ];
    for (const [label, url] of links) {
      assert.ok(text.includes(`\n${message(label as 'layout.help')}: ${url}\n`), text);
      assert.ok(html.includes(`href="${url}"`), url);
    }
    assert.match(html, /#ffd400/);
    assert.match(html, /<img src="cid:logo" alt="Acme" width="160" height="32"[^>]*> <\/td>/, 'it has the name in it');
  });
});

testSignet('the log has what one has agreed to with an account', { mail: true }, async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const signUp = async (email: string) => {
    signet.clock.advance(1);
    const browser = signet.newBrowser();
    await browser.post('/signup', { email });
    const link = linkIn(await signet.mailbox.next(email), /^\/signup\//);
    const { status, text } = await browser.post(link, { name: 'Ada', password: 'ordinary words in a row' });
    assert.equal(status, 303, text);
    const [event] = await signet.auditLog({ action: 'user.created' });
    return (JSON.parse(event?.after_state ?? '{}') as Json).agreed_to;
  };
  assert.equal(await signUp('none@example.com'), undefined, 'to nothing, where there is nothing');
  const terms = { terms_url: 'https://acme.example/terms', terms_since: '2027-03-01' };
  await admin.browser.patch(path, { ...terms, help_url: 'https://acme.example/help' });
  assert.deepEqual(await signUp('terms@example.com'), terms);
  await admin.browser.patch(path, { terms_url: null, privacy_url: 'https://acme.example/privacy' });
  assert.deepEqual(await signUp('privacy@example.com'), { privacy_url: 'https://acme.example/privacy' });
});

testSignet('the brand has versions, which the log has too', async ({ signet, t }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const edit = (body: Json) => admin.browser.patch(path, body);
  const restore = (version: number) => admin.browser.postJson(`${path}/restore`, { version });
  await edit({ name: 'First' });
  assert.equal((await put(admin, signet, 'logo', pngOf({ width: 200, height: 40 }))).status, 200);
  await edit({ name: 'Third', button: '#aa0000' });

  await t.test('any of them comes back with its pictures, and that is a version as well', async () => {
    const back = await restore(2);
    assert.deepEqual([back.json?.version, back.json?.name], [4, 'First']);
    const plain = await restore(0);
    assert.deepEqual([plain.json?.version, plain.json?.name, plain.json?.pictures], [5, 'Signet', {}]);
    const again = await restore(4);
    const { logo } = (again.json as Json).pictures as Record<string, { url: string }>;
    assert.equal((await fetch(logo!.url)).status, 200);
    assert.match(await page(signet), /<title>[^<]* - First<\/title>/);
    assertRefused(await restore(99), 404, 'not_found');
  });

  await t.test('an edit of a version that is no longer the newest is refused', async () => {
    assertRefused(await edit({ name: 'Late', version: 3 }), 409, 'stale_revision');
    assert.equal((await edit({ name: 'First', version: 6 })).json?.version, 6, 'the same again is no version');
  });

  await t.test('who made which, and what it changed', async () => {
    const { versions } = (await admin.browser.get(`${path}/versions`)).json as { versions: Json[] };
    assert.deepEqual(
      versions.map(({ version, restored_from, actor }) => [version, restored_from, actor]),
      [
        [6, 4],
        [5, 0],
        [4, 2],
        [3, null],
        [2, null],
        [1, null],
      ].map((one) => [...one, `user:${admin.user_id}`]),
    );
    const log = await signet.auditLog({ action: 'brand.changed' });
    const third = log
      .map(({ after_state }) => JSON.parse(after_state ?? '{}') as Json)
      .find(({ version }) => version === 3);
    assert.deepEqual(third, { version: 3, name: 'Third', fields: ['name', 'button'] });
  });

  await t.test('the oldest go, and the pictures that no version shows any more', async () => {
    for (let count = 0; count < 51; count += 1) await edit({ name: `Name ${count}` });
    const { versions } = (await admin.browser.get(`${path}/versions`)).json as { versions: Json[] };
    assert.equal(versions.length, 50);
    assert.equal((await admin.browser.get(path)).json?.pictures !== undefined, true);
    const removed = await admin.browser.send(`${path}/pictures/logo`, {
      method: 'DELETE',
      headers: { origin: signet.url },
    });
    assert.deepEqual(removed.json?.pictures, {});
  });

  await t.test('two changes at the same moment are two versions, or one of them is refused', async () => {
    const answers = await Promise.all(['#000001', '#000002', '#000003'].map((button) => edit({ button })));
    const done = answers.filter(({ status }) => status === 200).length;
    const refused = answers.filter(({ status }) => status === 409).length;
    assert.ok(done >= 1 && done + refused === 3, answers.map(({ status }) => status).join());
  });
});

testSignet('who may not change the brand changes nothing', async ({ signet }) => {
  const user = await signet.signedInUser();
  assertRefused(await user.browser.patch(path, { name: 'Mine' }), 403, 'access_denied');
  const auditor = await signet.signedInUser();
  await plain(signet.deps.db).all(
    `update users set role = 'auditor' where user_id = '${auditor.user_id}' returning user_id`,
  );
  assert.equal((await auditor.browser.get(path)).status, 200);
  assertRefused(await auditor.browser.patch(path, { name: 'Mine' }), 403, 'access_denied');
  assertRefused(await put(auditor, signet, 'logo', pngOf()), 403, 'access_denied');
  assert.equal((await user.browser.get('/signin')).text.includes('Mine'), false);
});

test('another node shows a new brand within a second, and its files at once', async (t) => {
  const signet = await startSignet(t);
  const beside = await startSignet(t, { beside: signet });
  const admin = await signet.signedInUser({ role: 'admin' });
  assert.doesNotMatch(await page(beside), /Acme/);
  await admin.browser.patch(path, { name: 'Acme', button: '#123456' });
  await put(admin, signet, 'logo', pngOf({ width: 100, height: 50 }));
  signet.clock.advance(1);
  const [here, there] = [await page(signet), await page(beside)];
  const withoutForms = (text: string) => text.replaceAll(/fm_[\w-]{43}/g, '').replaceAll(beside.url, signet.url);
  assert.equal(withoutForms(there), withoutForms(here));
  for (const [, file = ''] of here.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g))
    assert.equal((await beside.newBrowser().get(file)).status, 200, file);
  assert.match(await page(beside), sentence('signin.title'));
});

test('a sign-in page with a brand takes less than 12 KB with all its scripts, besides its logo, and asks no other server for anything', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const look = {
    name: 'Acme',
    button: '#ffd400',
    background: '#003366',
    font: 'rounded',
    help_url: 'https://acme.example',
  };
  assert.equal((await admin.browser.patch(path, look)).status, 200);
  assert.equal((await put(admin, signet, 'logo', pngOf({ width: 400, height: 80 }))).status, 200);
  const answer = await fetch(`${signet.url}/signin`);
  assert.match(
    answer.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self';/,
  );
  const shown = await answer.text();
  const files = [...shown.matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file);
  assert.ok(files.length > 3 && files.every((file) => file.startsWith('/assets/')), files.join());
  let bytes = Buffer.byteLength(shown);
  for (const file of new Set(files.filter((one) => !one.startsWith('/assets/brand-')))) {
    const coded = await signet.newBrowser().get(file, { 'accept-encoding': 'identity' });
    bytes += brotliCompressSync(coded.text).length;
  }
  assert.ok(bytes < 12 * 1024, `${bytes} bytes`);
});
