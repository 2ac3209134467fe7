import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClient } from '../../test/support/a-client.ts';
import type { Client } from './client.ts';
import { looksAlike, nameSkeleton } from './name-skeleton.ts';
import { listedRecords } from './read-review.ts';
import { comparedClient, type RiskCode, riskContextOf, riskSignals } from './risk-signals.ts';

const context = riskContextOf({
  service: 'Signet',
  approved: [
    { client_id: 'cl_1', owner_user_id: 'usr_ada', name: 'Paypal Shop', redirect_uris: ['https://shop.example/cb'] },
    {
      client_id: 'cl_2',
      owner_user_id: 'usr_eve',
      name: 'Melon',
      redirect_uris: ['https://melon.example/cb', 'example.melon://disguise.example/cb'],
    },
  ].map((client) => comparedClient({ ...client, post_logout_redirect_uris: [] })),
  suspended: [
    {
      client_id: 'cl_3',
      owner_user_id: 'usr_mal',
      name: 'Cheap Phish',
      redirect_uris: ['https://phish.example/cb', 'example.phish:/cb'],
    },
  ].map((client) => comparedClient({ ...client, post_logout_redirect_uris: ['https://phish-out.example/'] })),
});

/** Nothing about it raises a question. */
const harmless = aClient({
  client_id: 'cl_9',
  owner_user_id: 'usr_ada',
  name: 'Weather',
  redirect_uris: ['https://shop.example/weather'],
  allowed_scopes: ['openid', 'profile'],
  logo_url: 'https://shop.example/logo.svg',
  homepage_url: 'https://shop.example/',
  initiate_login_uri: 'https://shop.example/login',
  policy_uri: 'https://policies.example/shop',
  status: 'pending_review',
});

const risksOf = (more: Partial<Client>) => riskSignals({ ...harmless, ...more }, context);
const codesOf = (more: Partial<Client>) => risksOf(more).map(({ code }) => code);

test('a client that is like what its owner had approved before raises no question', () => {
  assert.deepEqual(risksOf({}), []);
});

const telling: [Partial<Client>, RiskCode, 'notice' | 'warning', string | string[]][] = [
  [
    { redirect_uris: ['https://new.example/cb'], logo_url: null, homepage_url: null },
    'new_redirect_host',
    'notice',
    'new.example',
  ],
  [{ name: 'PayPaI-Shop', owner_user_id: 'usr_eve' }, 'name_resembles_client', 'warning', 'Paypal Shop'],
  [{ name: 'Paypal Shop Login', owner_user_id: 'usr_eve' }, 'name_resembles_client', 'warning', 'Paypal Shop'],
  [{ name: 'S1gn3t' }, 'name_resembles_service', 'warning', 'Signet'],
  [{ name: 'Signet Support' }, 'name_resembles_service', 'warning', 'Signet'],
  [{ name: 'Sɪɢɴᴇᴛ ꜱᴜᴘᴘᴏʀᴛ' }, 'name_resembles_service', 'warning', 'Signet'],
  [
    { name: 'Account and billing portal for all of the customers of Signet' },
    'name_resembles_service',
    'warning',
    'Signet',
  ],
  [
    { name: 'Settle everything that you owe with one click at ΡауΡаl-Ѕhор', owner_user_id: 'usr_eve' },
    'name_resembles_client',
    'warning',
    'Paypal Shop',
  ],
  [{ name: 'Pаypal' }, 'mixed_scripts', 'warning', 'Pаypal'],
  [{ name: 'Wetter für alle' }, 'non_ascii_name', 'notice', 'Wetter für alle'],
  [
    { redirect_uris: ['https://shop.example/a', 'https://xn--pypal-4ve.example/cb'] },
    'punycode_host',
    'warning',
    'xn--pypal-4ve.example',
  ],
  [{ homepage_url: 'https://www.xn--pypal-4ve.example/' }, 'punycode_host', 'warning', 'www.xn--pypal-4ve.example'],
  [{ tos_uri: 'https://xn--pypal-4ve.example/terms' }, 'punycode_host', 'warning', 'xn--pypal-4ve.example'],
  [{ logo_url: 'https://cdn.example/logo.svg' }, 'foreign_logo_host', 'notice', 'cdn.example'],
  [{ homepage_url: 'https://about.example/' }, 'foreign_homepage_host', 'notice', 'about.example'],
  [
    { allowed_scopes: ['openid', 'offline_access', 'entitlements:read'] },
    'sensitive_scope',
    'notice',
    ['offline_access', 'entitlements:read'],
  ],
  [{ owner_user_id: 'usr_mal' }, 'owner_has_suspended_client', 'warning', 'Cheap Phish'],
  [{ name: 'Cheap Phi5h' }, 'suspended_client_name', 'warning', 'Cheap Phish'],
  [{ redirect_uris: ['https://phish.example/x'] }, 'suspended_client_host', 'warning', 'phish.example'],
  [{ redirect_uris: ['HTTPS://PHISH.example.:443/x'] }, 'suspended_client_host', 'warning', 'phish.example'],
  [{ post_logout_redirect_uris: ['https://new.example/out'] }, 'new_redirect_host', 'notice', 'new.example'],
  [{ redirect_uris: ['https://shop.example/a', 'new.app:/cb'] }, 'new_redirect_host', 'notice', 'new.app:'],
  [{ redirect_uris: ['new.app://shop.example/cb'] }, 'new_redirect_host', 'notice', 'new.app:'],
  [{ redirect_uris: ['https://disguise.example/cb'] }, 'new_redirect_host', 'notice', 'disguise.example'],
  [{ jwks_uri: 'https://keys.example/jwks.json' }, 'new_key_host', 'notice', 'keys.example'],
  [{ initiate_login_uri: 'https://start.example/login' }, 'new_start_host', 'notice', 'start.example'],
  [{ initiate_login_uri: 'https://xn--pypal-4ve.example/' }, 'punycode_host', 'warning', 'xn--pypal-4ve.example'],
  [{ redirect_uris: ['new.app://shop.example/cb'] }, 'private_use_scheme', 'notice', 'new.app:'],
  [{ redirect_uris: ['example.phish:/other'] }, 'suspended_client_host', 'warning', 'example.phish:'],
  [
    { post_logout_redirect_uris: ['https://phish.example/', 'https://phish-out.example/x'] },
    'suspended_client_host',
    'warning',
    ['phish.example', 'phish-out.example'],
  ],
  [{ owner_user_id: 'usr_new' }, 'first_client', 'notice', 'usr_new'],
  [
    { client_type: 'public', redirect_uris: ['https://shop.example/a', 'https://melon.example/b'] },
    'public_several_hosts',
    'notice',
    ['shop.example', 'melon.example'],
  ],
];

for (const [more, code, severity, detail] of telling) {
  test(`${code} is signaled for ${JSON.stringify(more)}`, () => {
    const risk = risksOf(more).find((one) => one.code === code);
    assert.deepEqual(risk, { code, severity, detail: [detail].flat() });
  });
}

test('of many names that are alike some are named, and the others are counted', () => {
  const named = (count: number) =>
    riskContextOf({
      service: 'Signet',
      approved: Array.from({ length: count }, (_, place) =>
        comparedClient({
          client_id: `cl_${place}`,
          owner_user_id: 'usr_eve',
          name: `Melon${'!?.,;:-'.charAt(place)}`,
          redirect_uris: [],
          post_logout_redirect_uris: [],
        }),
      ),
      suspended: [],
    });
  const alike = (count: number) =>
    riskSignals({ ...harmless, name: 'Melon' }, named(count)).find(({ code }) => code === 'name_resembles_client');
  assert.deepEqual([alike(7)?.detail.length, alike(7)?.more], [5, 2]);
  assert.deepEqual([alike(5)?.detail.length, alike(5)?.more], [5, undefined]);
});

test('what would be is judged, and not what is', () => {
  const pending_change = { name: 'Melon!', redirect_uris: ['https://elsewhere.example/cb'] };
  assert.deepEqual(risksOf({ status: 'approved', pending_change }).slice(0, 2), [
    { code: 'name_resembles_client', severity: 'warning', detail: ['Melon'] },
    { code: 'new_redirect_host', severity: 'warning', detail: ['elsewhere.example'] },
  ]);
});

test('an approved client that would be answered by another app, or lead elsewhere after a sign-out, is a warning', () => {
  const pending_change = {
    redirect_uris: ['new.app://melon.example/cb'],
    post_logout_redirect_uris: ['https://elsewhere.example/'],
  };
  const native = { status: 'approved', client_type: 'public', application_type: 'native' } as const;
  assert.deepEqual(risksOf({ ...native, pending_change })[0], {
    code: 'new_redirect_host',
    severity: 'warning',
    detail: ['new.app:', 'elsewhere.example'],
  });
});

test('who was stopped and begins again is no newcomer, and a client is not compared with itself', () => {
  const again = { owner_user_id: 'usr_mal', name: 'Cheap Phish', redirect_uris: ['https://phish.example/cb'] };
  const codes = ['owner_has_suspended_client', 'suspended_client_name', 'suspended_client_host'];
  assert.deepEqual(codesOf(again).slice(0, 3), codes);
  assert.ok(!codesOf(again).includes('first_client'));
  const itself = codesOf({ ...again, client_id: 'cl_3', status: 'suspended' });
  assert.deepEqual(
    itself.filter((code) => codes.includes(code)),
    [],
  );
});

test('a user may name their clients alike, and their own machine is no host', () => {
  assert.deepEqual(codesOf({ name: 'Paypal Shop 2' }), []);
  assert.deepEqual(
    codesOf({ redirect_uris: ['https://shop.example/a', 'http://127.0.0.1/cb', 'http://localhost:3000/cb'] }),
    [],
  );
});

test("a first-party client has no owner who could be new, and every other client is another owner's", () => {
  assert.deepEqual(codesOf({ owner_user_id: null }), []);
  assert.deepEqual(codesOf({ owner_user_id: null, name: 'Melon' }), ['name_resembles_client']);
});

test('warnings come first', () => {
  const severities = risksOf({ name: 'Signét', logo_url: 'https://cdn.example/l.png' }).map(({ severity }) => severity);
  assert.deepEqual(severities, ['warning', 'notice', 'notice']);
});

const alike: [string, string][] = [
  ['PayPal', 'paypa1'],
  ['PayPal', 'Ρауραl'], // Greek and Cyrillic
  ['PayPal', 'P a y P a l'],
  ['PayPal', 'PayPals'],
  ['Microsoft', 'Rnicrosoft'],
  ['Amazon', 'Àmazôn'],
  ['Google', '𝐆𝐨𝐨𝐠𝐥𝐞'],
  ['Google', 'ＧＯＯＧＬＥ'],
  ['Instagram', 'lnstagrarn'],
  ['App', 'ΑΡΡ'],
  ['Signet', 'Sɪɢɴᴇᴛ'],
  ['Signet', 'ꓢꓲꓖꓠꓰꓔ'], // Lisu
  ['Signet', 'ᏚᎥᏀᏁᎬᎢ'], // Cherokee
  ['Signet', '𝕊𝗶𝑔ɳ𝖊𝓽'],
  ['Signet', 'Si\u200bgn\u00adet'],
  ['Alpha', 'Aʟphᴀ'],
  ['Signet', '🆂🅸🅶🅽🅴🆃'],
  ['Signet', '🅢🅘🅖🅝🅔🅣'],
  ['Melon', 'ｍеⅼоո'],
];
for (const [one, other] of alike) {
  test(`${one} looks like ${other}`, () => assert.ok(looksAlike(one, other) && looksAlike(other, one)));
}

const different: [string, string][] = [
  ['App', 'Api'],
  ['Mail', 'Meal plan'],
  ['Weather', 'Calendar'],
  ['!!!', '???'],
  ['東京', '大阪'],
];
for (const [one, other] of different) {
  test(`${one} does not look like ${other}`, () => assert.ok(!looksAlike(one, other)));
}

test('names of any letters have a skeleton, and it is one of itself', () => {
  for (const name of [
    '',
    '東京',
    '🦊',
    'a'.repeat(100),
    'Ünïcödé',
    'مرحبا',
    'Straße',
    'СИГНЕТ',
    '\ufdfa'.repeat(100),
  ]) {
    assert.equal(nameSkeleton(nameSkeleton(name)), nameSkeleton(name), name);
  }
});

test('a list of clients is assessed one at a time, so that other requests go on in between', async () => {
  const clients = Array.from(
    { length: 20 },
    (_, number): Client => ({
      ...harmless,
      client_id: `cl_1${number}`,
      status: 'pending_review',
    }),
  );
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const records = await listedRecords({ db: undefined as never, riskContext: async () => context }, clients);
  clearImmediate(next);
  assert.ok(records.every((record) => 'risks' in record));
  assert.ok(turns >= clients.length - 1, `${turns} turns of the event loop`);
});
