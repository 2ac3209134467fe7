import assert from 'node:assert/strict';
import type { Answer } from '../support/browser.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const entered = {
  given_name: 'Ada',
  middle_name: 'Augusta',
  family_name: 'King',
  nickname: 'Countess',
  preferred_username: 'ada.king',
  profile: 'https://people.example.com/ada',
  website: 'http://ada.example.com/',
  gender: 'female',
  birthdate: '1915-12-10',
  zoneinfo: 'Europe/London',
};
const names = Object.keys(entered) as (keyof typeof entered)[];
const day = 86_400;

const patch = (user: TestUser, body: unknown) => user.browser.patch('/v1/me', body);
const setHandle = (user: TestUser, preferred_username: string | null) => patch(user, { preferred_username });
const claimsIn = (record: Record<string, unknown> | undefined) =>
  Object.fromEntries(names.filter((name) => record?.[name] != null).map((name) => [name, record?.[name]]));

function assertFieldRefused(answer: Answer, path: string, key?: Parameters<typeof message>[0]) {
  assert.equal(answer.status, key?.endsWith('.taken') ? 409 : 400, `${path}: ${answer.text}`);
  const fields = answer.json?.fields as { path: string; message: string }[];
  assert.deepEqual(
    fields.map((field) => field.path),
    [path],
  );
  if (key) assert.equal(fields[0]?.message, message(key));
}

async function tokenFor(signet: Signet, user: TestUser, scope = 'openid profile') {
  return (await user.obtainTokens(await signet.registerClient(), { scope })).access_token;
}

testSignet(
  'oidcc-scope-profile: what a user enters is theirs to read, and is released under profile',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const access_token = await tokenFor(signet, user);
    const userinfoClaims = async (token = access_token) => (await signet.userinfo(token)).json;
    // What was not entered is left out (OIDC Core §5.3.2), not null and not "".
    assert.deepEqual(claimsIn(await userinfoClaims()), {});
    const me = (await user.browser.get('/v1/me')).json!;
    assert.deepEqual(
      names.map((name) => me[name]),
      names.map(() => null),
    );

    const changed = await patch(user, entered);
    assert.deepEqual(claimsIn(changed.json), entered);
    assert.deepEqual(claimsIn((await user.browser.get('/v1/me')).json), entered);
    const after = await userinfoClaims();
    assert.deepEqual(claimsIn(after), entered);
    assert.equal(after?.updated_at, signet.clock() / 1000);
    await patch(user, { locale: 'de' });
    assert.equal((await userinfoClaims())?.locale, 'de');
    assert.deepEqual(Object.keys((await userinfoClaims(await tokenFor(signet, user, 'openid email'))) ?? {}).sort(), [
      'email',
      'email_verified',
      'sub',
    ]);

    const { nickname: _, birthdate: __, ...kept } = entered;
    assert.deepEqual(claimsIn((await patch(user, { nickname: null, birthdate: null })).json), kept);
    assert.equal('nickname' in (await userinfoClaims())!, false);

    // The log outlives the account: which fields, and never what is in them.
    const log = await signet.auditLog({ target: user.user_id, action: 'user.changed' });
    assert.equal(log.length, 3);
    assert.ok(log.some(({ after_state }) => after_state?.includes('birthdate')));
    for (const value of Object.values(entered)) assert.ok(!JSON.stringify(log).includes(value), value);
    // The same again is no change.
    await patch(user, { given_name: entered.given_name });
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'user.changed' })).length, 3);
  },
);

testSignet('what is not of its claim is refused, and nothing is changed', async ({ signet }) => {
  const user = await signet.signedInUser();
  const bad: Record<keyof typeof entered, unknown[]> = {
    given_name: ['', ' ', 'a'.repeat(101), 'A\u202eda', 7, {}],
    middle_name: ['', 'a'.repeat(101), 'Augusta\u2066'],
    family_name: ['x\u200by'],
    nickname: ['\n\t', []],
    preferred_username: ['ab', 'a'.repeat(31), '.ada', 'ada-', 'ada king', 'ada@example.com', '\u0430da', 'adä', ''],
    profile: ['ada', '//example.com', 'javascript:alert(1)', 'ftp://example.com', 'https://a:b@example.com/'],
    website: ['http://', 'https://example.com/ ', `https://example.com/${'a'.repeat(2048)}`, 'data:text/html,x'],
    gender: ['', 'x'.repeat(101)],
    birthdate: [
      '10.12.1915',
      '1915-13-01',
      '1915-02-29',
      '1899-01-01',
      '2999-01-01',
      '2999',
      '0000',
      '0000-02-30',
      '1915-12',
    ],
    zoneinfo: ['Europe/Atlantis', '+01:00', 'CET+1', 'europe', '', 'Etc/../passwd'],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) assertFieldRefused(await patch(user, { [name]: value }), name);
  }
  assert.deepEqual(claimsIn((await user.browser.get('/v1/me')).json), {});
  for (const birthdate of ['1915', '0000-02-29', '2000-02-29']) {
    assert.equal((await patch(user, { birthdate })).json?.birthdate, birthdate);
  }
  for (const zoneinfo of ['UTC', 'America/Argentina/Buenos_Aires', 'Europe/Kyiv']) {
    assert.equal((await patch(user, { zoneinfo })).json?.zoneinfo, zoneinfo);
  }
});

testSignet('a handle is unique, whatever its case, and reserved words are refused', async ({ signet }) => {
  const [ada, eve] = [await signet.signedInUser(), await signet.signedInUser()];
  for (const word of ['admin', 'Support', 'ad.min', 'root', 'sig-net', 'no-reply']) {
    assertFieldRefused(await setHandle(ada, word), 'preferred_username', 'problem.profile.preferred_username.reserved');
  }
  assert.equal((await setHandle(ada, 'Ada.King')).json?.preferred_username, 'ada.king');
  for (const taken of ['ada.king', 'ADA.KING']) {
    assertFieldRefused(await setHandle(eve, taken), 'preferred_username', 'problem.profile.preferred_username.taken');
  }
  assert.equal((await setHandle(eve, 'ada-king')).status, 200);
  // Of two who want it at once, one has it.
  const others = await Promise.all([signet.signedInUser(), signet.signedInUser()]);
  const answers = await Promise.all(others.map((other) => setHandle(other, 'charles')));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
});

testSignet("a handle that was given up stays its user's for 90 days", async ({ signet }) => {
  const [ada, eve] = [await signet.signedInUser(), await signet.signedInUser()];
  for (const handle of ['first', 'second', 'third']) assert.equal((await setHandle(ada, handle)).status, 200, handle);
  // No user collects names: three at a time, those given up included.
  assertFieldRefused(
    await setHandle(ada, 'fourth'),
    'preferred_username',
    'problem.profile.preferred_username.changes',
  );
  assert.equal((await setHandle(ada, 'first')).json?.preferred_username, 'first');
  assert.equal((await setHandle(ada, null)).json?.preferred_username, null);
  assertFieldRefused(await setHandle(eve, 'first'), 'preferred_username', 'problem.profile.preferred_username.taken');

  signet.clock.advance(90 * day + 1);
  await eve.signIn();
  await ada.signIn();
  assert.equal((await setHandle(eve, 'first')).status, 200);
  assertFieldRefused(await setHandle(ada, 'first'), 'preferred_username', 'problem.profile.preferred_username.taken');
  signet.clock.advance(300); // for a node whose clock is behind
  await signet.runJobs();
  assert.deepEqual(await plain(signet.deps.db).all('select released_at from handles'), [{ released_at: null }]);

  // Nor does an account's end give its handle to the next one at once.
  assert.equal((await eve.browser.post('/account/delete', { email: eve.email })).status, 303);
  assertFieldRefused(await setHandle(ada, 'first'), 'preferred_username', 'problem.profile.preferred_username.taken');
  signet.clock.advance(90 * day + 1);
  await ada.signIn();
  assert.equal((await setHandle(ada, 'first')).status, 200);
});

const emptyDate = { birth_day: '', birth_month: '', birth_year: '' };
const shown = ({ text }: Answer) => ({
  birth_day: /<input id="birth_day"[^>]* value="([^"]*)"/.exec(text)?.[1],
  birth_month: /<select id="birth_month".*?<option value="(\d*)" selected>/s.exec(text)?.[1] ?? '',
  birth_year: /<input id="birth_year"[^>]* value="([^"]*)"/.exec(text)?.[1],
});

testSignet('the page edits it without a script, and shows again what was refused', async ({ signet }) => {
  const user = await signet.signedInUser();
  const { birthdate, zoneinfo, ...texts } = entered;
  const date = { birth_day: '10', birth_month: '12', birth_year: '1915' };
  const form = { name: 'Ada Lovelace', locale: '', picture: '', ...texts, ...date, zoneinfo: 'London' };
  assert.equal((await user.browser.post('/account', form)).location, '/account?done=yes');
  assert.deepEqual(claimsIn((await user.browser.get('/v1/me')).json), { ...texts, birthdate, zoneinfo });
  const page = await user.browser.get('/account');
  for (const [name, value] of Object.entries(texts)) {
    assert.match(page.text, new RegExp(`<input id="${name}"[^>]* value="${value.replaceAll('.', '\\.')}"`), name);
    assert.match(page.text, new RegExp(`<label for="${name}">`), name);
  }
  assert.deepEqual(shown(page), date);
  assert.match(page.text, /<option selected>London\n/);
  assert.equal((await user.browser.post('/account', form)).location, '/account?done=unchanged');
  const refused = await user.browser.post('/account', { ...form, birth_year: 'long ago', preferred_username: 'root' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, sentence('account.birthdate.problem'));
  assert.match(refused.text, /<input id="birth_year"[^>]* aria-invalid="true"[^>]* value="long ago"/);
  assert.match(refused.text, /<input id="preferred_username"[^>]* value="root" aria-invalid="true"/);
  // An emptied field is removed.
  const { name } = form;
  assert.equal((await user.browser.post('/account', { name, ...emptyDate, zoneinfo: '' })).status, 303);
  assert.deepEqual(claimsIn((await user.browser.get('/v1/me')).json), {});
});

testSignet('the page has fields for a date of birth in each of its forms, and for no other', async ({ signet }) => {
  const user = await signet.signedInUser();
  const save = (date: Partial<typeof emptyDate & { name: string }>) =>
    user.browser.post('/account', { name: 'Ada Lovelace', ...emptyDate, ...date });
  const stored = async () => (await user.browser.get('/v1/me')).json?.birthdate;
  const forms = {
    '1915-12-10': { birth_day: '10', birth_month: '12', birth_year: '1915' },
    '1915': { ...emptyDate, birth_year: '1915' },
    '0000-02-29': { ...emptyDate, birth_day: '29', birth_month: '2' },
  };
  for (const [birthdate, date] of Object.entries(forms)) {
    assert.equal((await save(date)).location, '/account?done=yes', birthdate);
    assert.equal(await stored(), birthdate);
    assert.deepEqual(shown(await user.browser.get('/account')), date);
  }
  // What is wrong has the focus, what was typed is there, and nothing is changed.
  const impossible = [
    ['birth_day', { birth_day: '31', birth_month: '2', birth_year: '1990' }],
    ['birth_day', { birth_day: '31', birth_month: '2' }],
    ['birth_day', { birth_month: '5' }],
    ['birth_day', { birth_month: '5', birth_year: '1990' }],
    ['birth_day', { birth_day: 'x"', birth_month: '5', birth_year: '1990' }],
    ['birth_month', { birth_day: '5' }],
    ['birth_month', { birth_day: '5', birth_year: '1990' }],
    ['birth_year', { birth_day: '29', birth_month: '2', birth_year: '1990' }],
    ['birth_year', { birth_day: '1', birth_month: '5', birth_year: '90' }],
    ['birth_year', { birth_day: '1', birth_month: '5', birth_year: '1899' }],
    ['birth_year', { birth_year: '2999' }],
    ['birth_year', { birth_year: '0000' }],
  ] as const;
  for (const [wrong, typed] of impossible) {
    const label = JSON.stringify(typed);
    const refused = await save(typed);
    assert.equal(refused.status, 400, label);
    assert.match(refused.text, sentence('account.birthdate.problem'), label);
    assert.match(refused.text, new RegExp(`id="${wrong}"[^>]* aria-invalid="true"[^>]* autofocus`), label);
    const kept = Object.entries({ ...emptyDate, ...typed }).map(([name, text]) => [name, text.replace('"', '&quot;')]);
    assert.deepEqual(shown(refused), Object.fromEntries(kept), label);
    assert.match(refused.text, /<details open><summary>/, label);
    assert.equal(await stored(), '0000-02-29', label);
  }
  // Refused for another reason, it is not folded away.
  await save({});
  assert.match((await save({ birth_year: '1915', name: '' })).text, /<details open><summary>/);
  // A page of the version before has one field for it, and a menu without any changes nothing.
  assert.equal((await user.browser.post('/account', { name: 'Ada Lovelace', birthdate: '1915' })).status, 303);
  assert.equal(await stored(), '1915');
});

testSignet('day, month and year stand as in dates of the region, with months in the language', async ({ signet }) => {
  const user = await signet.signedInUser();
  const order = async (language: string) => {
    const { text } = await user.browser.get('/account', { 'accept-language': language });
    const month = /<option value="3">([^<]*)/.exec(text)?.[1];
    return [...[...text.matchAll(/autocomplete="bday-(\w+)"/g)].map(([, part]) => part), month];
  };
  assert.deepEqual(await order('en-US'), ['month', 'day', 'year', 'March']);
  assert.deepEqual(await order('en-GB'), ['day', 'month', 'year', 'March']);
  assert.deepEqual(await order('de-DE'), ['day', 'month', 'year', 'März']);
});

testSignet('a time zone that the page does not list stays what it is, and can be chosen again', async ({ signet }) => {
  const user = await signet.signedInUser();
  const zones = { 'Asia/Calcutta': 'Asia/Calcutta', 'US/Pacific': 'US/Pacific', 'Europe/Kyiv': 'Kyiv', UTC: 'UTC' };
  for (const [zoneinfo, label] of Object.entries(zones)) {
    await patch(user, { zoneinfo });
    const { text } = await user.browser.get('/account');
    const chosen = [...text.matchAll(/<option[^>]* selected>([^<\n]*)/g)].map(([, option]) => option);
    assert.deepEqual(chosen, [label]);
    assert.match(text, sentence('account.zone.hint'));
    const saved = await user.browser.post('/account', { name: `Ada at ${zoneinfo}`, zoneinfo: label });
    assert.equal(saved.location, '/account?done=yes');
    assert.equal((await user.browser.get('/v1/me')).json?.zoneinfo, zoneinfo);
  }
  const refused = await user.browser.post('/account', { name: 'Ada', zoneinfo: 'Atlantis' });
  assert.match(refused.text, sentence('problem.profile.zoneinfo'));
  assert.match(refused.text, /<select id="zoneinfo"[^>]* aria-invalid="true"[\s\S]*<option selected>Atlantis/);
});

testSignet('administrators see it, and the end of the account ends it', async ({ signet }) => {
  const user = await signet.signedInUser();
  await patch(user, entered);
  const admin = await signet.signedInUser({ role: 'admin' });
  const path = `/admin/users/${user.user_id}`;
  assert.deepEqual((await admin.browser.get(`/v1${path}`)).json?.profile, entered);
  const page = await admin.browser.get(path);
  for (const name of names) {
    assert.match(page.text, sentence(`claim.${name}`));
    assert.ok(page.text.includes(entered[name]), name);
  }
  // With more grants than one statement may delete, the row stays for a while.
  assert.equal((await user.browser.post('/account/delete', { email: user.email })).status, 303);
  const left = JSON.stringify(await plain(signet.deps.db).all('select * from users'));
  for (const value of Object.values(entered)) assert.ok(!left.includes(value), value);
  assert.ok(!JSON.stringify(await plain(signet.deps.db).all('select * from handles')).includes('ada'));
});
