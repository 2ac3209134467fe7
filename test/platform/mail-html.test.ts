import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../src/app/config.ts';
import { directionOf, locales } from '../../src/platform/i18n/translate.ts';
import { exampleMail } from '../../src/platform/mail/examples.ts';
import { composeMail, type LetterName, letters } from '../../src/platform/mail/letters.ts';
import { pngOf } from '../support/pictures.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';

/** The HTML of mails. How it looks: `test/browser/mails.test.ts`. */

const names = Object.keys(letters) as LetterName[];
const clock = () => 1_800_000_000_000;
const config = readConfig({ SIGNET_SUPPORT: 'help@example.com', SIGNET_BASE_URL: 'https://id.example.com' });

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(await scratchFolder('logo'), name);
  writeFileSync(path, content);
  return path;
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
/** What a reader sees. */
const seen = (html: string): string =>
  html
    .replace(/<head>.*?<\/head>|<!--.*?-->|<div style="display:none.*?<\/div>/gs, '')
    .replace(/<(?:br|\/p|\/h1|\/td|\/th|\/blockquote)>/g, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name]!);
const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
const hrefs = (html: string): string[] => [...html.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href!);

for (const locale of locales) {
  test(`the HTML of each mail says what its text says, in the language ${locale}`, () => {
    for (const name of names) {
      const { subject, text, html } = exampleMail({ config, clock }, name, locale);
      const shown = words(seen(html));
      assert.ok(shown.includes(words(subject)), `${name}: the subject is its heading`);
      for (const line of text.split('\n').flatMap((one) => one.split(/(?=https?:)|(?<=https?:\S+)/))) {
        assert.ok(shown.includes(words(line)), `${name} does not say “${line}”`);
      }
      const [urls, links] = [text.match(/https:\/\/id\.example\.com\S*/g) ?? [], hrefs(html)];
      for (const url of urls) assert.ok(links.includes(url), `${name}: ${url} is no link`);
      assert.doesNotMatch(html, /undefined|\[object|\{\w+\}/);
      assert.ok(Buffer.byteLength(html) < 25_000, `${name}: ${Buffer.byteLength(html)} bytes`);
      assert.match(html, new RegExp(`^<!doctype html>\n<html lang="${locale}" dir="${directionOf(locale)}">`));
    }
  });
}

test('a mail has one button at most, whose link can be read below it', () => {
  for (const name of names) {
    const { html, text } = exampleMail({ config, clock }, name, 'en');
    const buttons = [...html.matchAll(/<a class="button" href="([^"]*)"/g)].map(([, href]) => href!);
    assert.equal(buttons.length, /https:\/\/id\.example\.com/.test(text) ? 1 : 0, name);
    for (const url of buttons) assert.ok(html.includes(`>${url}</a></p>`), name);
  }
});

test('a mail is laid out alike in every language', () => {
  const tags = (html: string) => [...html.matchAll(/<(?:h1|p|blockquote|tr|a)\b(?: class="\w+")?/g)].join(' ');
  for (const name of names) {
    const [english, ...others] = locales
      .toSorted((one) => (one === 'en' ? -1 : 0))
      .map((locale) => ({ locale, tags: tags(exampleMail({ config, clock }, name, locale).html) }));
    for (const other of others) assert.equal(other.tags, english!.tags, `${name} in ${other.locale}`);
  }
});

test('a subject fits into a list of mails in every language', () => {
  const named = readConfig({ SIGNET_NAME: 'Harbour ID' });
  for (const locale of locales) {
    for (const name of names) {
      const { subject } = exampleMail({ config: named, clock }, name, locale);
      assert.ok([...subject].length <= 60, `${locale}, ${name}: ${subject}`);
    }
  }
});

test('a mail asks no server for anything, and nothing in it tells that it was read', async () => {
  const logo = await file('logo.png', pngOf());
  const branded = readConfig({ SIGNET_LOGO: logo, SIGNET_BASE_URL: 'https://id.example.com' });
  for (const name of names) {
    const { html } = exampleMail({ config: branded, clock }, name, 'en');
    const loaded = [...html.matchAll(/ (?:src|srcset|background|poster|data|action)="([^"]*)"/g)].map(([, url]) => url);
    assert.deepEqual(loaded, ['cid:logo'], name);
    assert.doesNotMatch(html, /url\(|@import|<(?:link|script|iframe|object|form|base)\b/i, name);
    for (const href of hrefs(html)) assert.match(href, /^https:\/\/id\.example\.com\/[\w/-]*$/, name);
  }
});

test('a logo keeps its proportions in a mail, however wide it is', async () => {
  for (const [width, height, shown] of [
    [64, 64, 'width="32" height="32"'],
    [640, 64, 'width="220" height="22"'],
  ] as const) {
    const logo = await file(`logo-${width}.png`, pngOf({ width, height }));
    const branded = readConfig({ SIGNET_LOGO: logo, SIGNET_BASE_URL: 'https://id.example.com' });
    assert.ok(
      exampleMail({ config: branded, clock }, 'reset', 'en').html.includes(`<img src="cid:logo" alt="" ${shown}`),
    );
  }
});

test('a mail is made of elements that web mail keeps, and what others have written stays apart in it', async () => {
  const logo = await file('logo.png', pngOf());
  const branded = readConfig({ SIGNET_LOGO: logo, SIGNET_SUPPORT: 'help@example.com' });
  const kept = new Set('a blockquote body br div h1 img p span style table td th tr'.split(' '));
  const ofDocument = new Set('head html meta title'.split(' '));
  for (const name of names) {
    const { html } = exampleMail({ config: branded, clock }, name, 'ar');
    const elements = new Set([...html.matchAll(/<([a-z]\w*)/g)].map(([, element]) => element!));
    assert.deepEqual([...elements.difference(kept).difference(ofDocument)], [], name);
  }
  const { html } = exampleMail({ config, clock }, 'app_disconnected', 'ar');
  assert.match(html, /<p [^>]*>[^<]*<span dir="auto">Field Notes<\/span>/);
});

test('what people have written is text in a mail, and no link', () => {
  const bad = '<a href="https://evil.example">Click</a> & "quotes"';
  const to = { email: 'ada@example.com', name: bad, locale: 'en' };
  const values = { app: bad, reason: `${bad}\n\nhttps://evil.example`, url: 'https://id.example.com/developer' };
  const { html, text } = composeMail({ config, clock }, to, 'client_rejected', values);
  assert.ok(text.includes(bad));
  assert.ok(!html.includes('<a href="https://evil'));
  assert.deepEqual([...new Set(hrefs(html))], ['https://id.example.com/developer', 'mailto:help@example.com']);
  assert.ok(seen(html).includes(bad));
});

test('a mail that says from where something was done says in a table to whom, when and with what', () => {
  const rows = (name: LetterName) => {
    const { html } = exampleMail({ config, clock }, name, 'en');
    return [...html.matchAll(/<tr><th scope="row".*?<\/tr>/gs)].map(([row]) => words(seen(row)));
  };
  const account = 'Account ada@example.com';
  const [time, address] = ['Time January 15, 2027 at 8:00 AM UTC', 'IP address 203.0.113.7'];
  assert.deepEqual(rows('new_device'), [account, time, 'Browser Firefox, Linux', address]);
  assert.deepEqual(rows('password_changed'), [account, time, address]);
  assert.deepEqual(rows('reset'), []);
});

test('a mail is sent as text and as HTML, with the logo beside it if that is a PNG', async (t) => {
  for (const [logo, types] of [
    [undefined, ['text/plain', 'text/html']],
    [await file('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'), ['text/plain', 'text/html']],
    [await file('logo.png', pngOf()), ['text/plain', 'text/html', 'image/png']],
  ] as const) {
    const signet = await startSignet(t, { mail: true, env: logo === undefined ? {} : { SIGNET_LOGO: logo } });
    const { email } = await signet.newUser();
    await signet.newBrowser().post('/reset', { email });
    const mail = await signet.mailbox.next(email);
    assert.match(mail.headers, /^Content-Type: multipart\/alternative;/im);
    assert.deepEqual(mail.types, types); // the last that a program can show is shown (RFC 2046 §5.1.4)
    const [, link] = /(http:\/\/localhost:\d+\/reset\/ln_[\w-]{43})/.exec(mail.text) ?? [];
    assert.ok(link && hrefs(mail.html ?? '').includes(link));
    assert.equal(mail.html?.includes('src="cid:logo"'), types.length === 3);
    for (const { headers } of mail.attachments) assert.match(headers, /^Content-Id: <logo>$/im);
  }
});
