import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translatePlain } from '../../platform/i18n/translate.ts';
import { html } from '../../platform/pages/html.ts';
import { translator, type View } from '../../platform/pages/view.ts';
import { profileRules } from './profile-rules.ts';
import { timeZoneField, zoneIn } from './time-zone-field.ts';

const view = (locale: string) =>
  ({
    locale,
    t: translator(locale),
    plain: (key, values) => translatePlain(locale, { key, ...(values && { values }) }),
  }) as View;
const markupIn = (locale: string) => timeZoneField(view(locale), null, html``).toString();

test('each time zone is offered once, under its present name, and is one that the profile takes', () => {
  const labels = [...markupIn('en').matchAll(/<option(?: data-old="[^"]*")?>([^<\n]*)/g)].map(([, label]) => label!);
  const names = labels.map((zoneinfo) => zoneIn({ zoneinfo })!);
  for (const name of names) assert.equal(profileRules.zoneinfo.problem(name, { now: 0, service: '' }), undefined, name);
  assert.equal(new Set(names).size, names.length);
  // As many as there are: each one that this engine lists is there, by that name or another one for the same.
  const zoneOf = (timeZone: string) => new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  const offered = new Set(names.map(zoneOf));
  for (const name of [...Intl.supportedValuesOf('timeZone'), 'UTC']) assert.ok(offered.has(zoneOf(name)), name);
  for (const name of ['UTC', 'Europe/Kyiv', 'Asia/Kolkata', 'Asia/Ho_Chi_Minh', 'America/Argentina/Buenos_Aires'])
    assert.ok(names.includes(name), name);
  for (const name of ['Europe/Kiev', 'Asia/Calcutta', 'Asia/Saigon']) assert.ok(!names.includes(name), name);
  assert.equal(zoneIn({ zoneinfo: 'Buenos Aires' }), 'Buenos Aires');
  assert.equal(zoneIn({ zoneinfo: 'Argentina/Buenos Aires' }), 'America/Argentina/Buenos_Aires');
});

test('an old name stands for the same zone as the new one', () => {
  const renamed = [...markupIn('en').matchAll(/<option data-old="([^"]*)">([^<\n]*)/g)];
  assert.equal(renamed.length, 20);
  const winterAndSummer = (timeZone: string) =>
    [0, 6].map((month) => new Intl.DateTimeFormat('en', { timeZone, timeStyle: 'long' }).format(Date.UTC(2026, month)));
  for (const [, old = '', zoneinfo = ''] of renamed)
    assert.deepEqual(winterAndSummer(old), winterAndSummer(zoneIn({ zoneinfo })!), old);
});

test('regions have names in the language, in its order', () => {
  const regions = (locale: string) =>
    [...markupIn(locale).matchAll(/<optgroup label="([^"]*)"/g)].map(([, name]) => name);
  assert.deepEqual(regions('de').slice(0, 5), ['Afrika', 'Amerika', 'Antarktis', 'Arktis', 'Asien']);
  assert.equal(regions('en').length, 10);
  assert.equal(regions('en').includes('Indian'), false); // the name of a language would do, that of the database does not
});
