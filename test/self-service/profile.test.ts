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

testSignet('the page edits it without a script, and shows again what was refused', async ({ signet }) => {
  const user = await signet.signedInUser();
  const form = { name: 'Ada Lovelace', locale: '', picture: '', ...entered };
  assert.equal((await user.browser.post('/account', form)).location, '/account?done=yes');
  const page = await user.browser.get('/account');
  for (const [name, value] of Object.entries(entered)) {
    assert.match(page.text, new RegExp(`<input id="${name}"[^>]* value="${value.replaceAll('.', '\\.')}"`), name);
    assert.match(page.text, new RegExp(`<label for="${name}">`), name);
  }
  const refused = await user.browser.post('/account', { ...form, birthdate: 'long ago', preferred_username: 'root' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, sentence('problem.profile.birthdate'));
  assert.match(refused.text, /<input id="birthdate"[^>]* value="long ago" aria-invalid="true"/);
  assert.match(refused.text, /<input id="preferred_username"[^>]* value="root" aria-invalid="true"/);
  // An emptied field is removed.
  assert.equal((await user.browser.post('/account', { name: 'Ada Lovelace' })).status, 303);
  assert.deepEqual(claimsIn((await user.browser.get('/v1/me')).json), {});
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
