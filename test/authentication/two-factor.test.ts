import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { openMailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, claimsOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { codesOf, totpAt, wrongCode } from '../support/two-factor.ts';

const enrollPath = '/v1/me/2fa/totp/enroll';
const confirmPath = '/v1/me/2fa/totp/confirm';

async function world(t: TestContext, engine: Engine = 'sqlite') {
  const signet = await startSignet(t, { engine });
  const user = await signet.signedInUser();
  return { signet, user, browser: user.browser };
}

/** A user with TOTP, in a browser that is signed out. */
async function withTotp(t: TestContext, engine: Engine = 'sqlite') {
  const { signet, user, browser } = await world(t, engine);
  const app = await user.enableTotp();
  await browser.post('/signout');
  return { signet, user, browser, app };
}

const enroll = async ({ browser }: Pick<TestUser, 'browser'>) => {
  const answer = await browser.postEmpty(enrollPath);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as { otpauth_uri: string; secret_base32: string; qr_svg: string };
};
const stateOf = async ({ browser }: Pick<TestUser, 'browser'>) => {
  const { json } = await browser.get('/v1/me/2fa');
  return json as {
    enabled: boolean;
    methods: string[];
    totp: Record<string, unknown>;
    backup_codes: { total: number; remaining: number };
  };
};
const isIn = async ({ browser }: Pick<TestUser, 'browser'>) => (await browser.get('/v1/me')).status === 200;
const at = ({ clock }: Signet) => clock() / 1000;
const twenty = <Result>(of: (place: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: 20 }, (_, place) => of(place)));

onBothEngines('decisions §10: the state has one shape from nothing to active and back', async (t, engine) => {
  const { signet, user, browser } = await world(t, engine);
  const nothing = {
    enabled: false,
    methods: [],
    totp: { status: 'none', confirmed_at: null, last_used_at: null },
    backup_codes: { total: 0, remaining: 0, generated_at: null },
    passkeys: { count: 0 },
  };
  assert.deepEqual(await stateOf(user), nothing);
  const { secret_base32 } = await enroll(user);
  assert.deepEqual(await stateOf(user), { ...nothing, totp: { ...nothing.totp, status: 'pending' } });
  const code = codesOf(signet, secret_base32);
  assert.equal((await browser.postJson(confirmPath, { code: code() })).status, 200);
  const now = at(signet);
  assert.deepEqual(await stateOf(user), {
    enabled: true,
    methods: ['totp', 'backup_codes'],
    totp: { status: 'active', confirmed_at: now, last_used_at: now },
    backup_codes: { total: 10, remaining: 10, generated_at: now },
    passkeys: { count: 0 },
  });
  assert.equal((await browser.get('/v1/me')).json?.two_factor_enabled, true);
  assert.equal((await user.browser.delete('/v1/me/2fa/totp')).status, 204);
  assert.deepEqual(await stateOf(user), nothing);
  assert.equal((await browser.get('/v1/me')).json?.two_factor_enabled, false);
  assertRefused(await user.browser.delete('/v1/me/2fa/totp'), 409, 'invalid_state');
});

onBothEngines(
  'MF-03: a secret has 160 bits, is new at each call, and only the last one can be confirmed',
  async (t, engine) => {
    const { signet, user, browser } = await world(t, engine);
    const answer = await browser.postEmpty(enrollPath);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const first = answer.json as Awaited<ReturnType<typeof enroll>>;
    assert.deepEqual(Object.keys(first), ['otpauth_uri', 'secret_base32', 'qr_svg']);
    assert.match(first.secret_base32, /^[A-Z2-7]{32}$/);
    const uri = new URL(first.otpauth_uri);
    assert.equal(decodeURIComponent(uri.pathname), `/Signet:${user.email}`);
    assert.equal(uri.searchParams.get('secret'), first.secret_base32);
    assert.match(first.qr_svg, /^<svg .*<\/svg>$/);
    const second = await enroll(user);
    assert.notEqual(second.secret_base32, first.secret_base32);

    const refused = await browser.postJson(confirmPath, { code: totpAt(first.secret_base32, at(signet)) });
    assertRefused(refused, 400, 'invalid_code');
    assert.equal((await stateOf(user)).enabled, false);
    const confirmed = await browser.postJson(confirmPath, { code: totpAt(second.secret_base32, at(signet)) });
    assert.equal(confirmed.status, 200);
    assert.equal(confirmed.headers.get('cache-control'), 'no-store');
    const codes = confirmed.json?.backup_codes as string[];
    assert.equal(new Set(codes).size, 10);
    for (const code of codes) assert.match(code, /^[0-9a-z]{4}-[0-9a-z]{5}-[0-9a-z]{4}$/);
  },
);

onBothEngines('MF-03: enrolling anew leaves the app in force until the new one is confirmed', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const there = await user.awaitingSecondFactor();
  await there.giveCode(app.code());
  const { secret_base32 } = await enroll(there);
  const elsewhere = await user.awaitingSecondFactor();
  assert.equal((await elsewhere.giveCode(totpAt(secret_base32, at(signet)))).status, 401);
  assert.equal((await elsewhere.giveCode(app.code())).status, 303);
  assert.equal((await stateOf(there)).totp.status, 'active');

  const code = codesOf(signet, secret_base32);
  const confirmed = await there.browser.postJson(confirmPath, { code: code() });
  assert.equal(confirmed.status, 200, confirmed.text);
  const last = await user.awaitingSecondFactor();
  assert.equal((await last.giveCode(app.code())).status, 401);
  assert.equal((await last.giveCode(app.backup_codes[0]!)).status, 401);
  assert.equal((await last.giveCode(code())).status, 303);
});

onBothEngines('a secret that waits is over after ten minutes, and after five wrong codes', async (t, engine) => {
  const { signet, user, browser } = await world(t, engine);
  const confirm = (code: string) => browser.postJson(confirmPath, { code });
  const over = async (code: string) => {
    const answer = await confirm(code);
    assertRefused(answer, 409, 'invalid_state');
    assert.equal(answer.json?.current_status, 'none');
  };
  await over('123456');
  const late = await enroll(user);
  signet.clock.advance(600);
  await over(totpAt(late.secret_base32, at(signet)));
  const guessed = await enroll(user);
  const wrong = wrongCode(signet, guessed.secret_base32);
  for (let guess = 0; guess < 5; guess += 1) assertRefused(await confirm(wrong), 400, 'invalid_code');
  await over(totpAt(guessed.secret_base32, at(signet)));
  assert.equal((await stateOf(user)).totp.status, 'none');
  const raced = await enroll(user);
  const answers = await twenty(() => confirm(wrongCode(signet, raced.secret_base32)));
  assert.equal(answers.filter(({ status }) => status === 400).length, 5);
});

onBothEngines(
  'MF-01: a code counts once, also for twenty at once, and none older after a newer one',
  async (t, engine) => {
    const { signet, user, app } = await withTotp(t, engine);
    // Not the code that confirmed it, either: it was given out before this step.
    const confirming = await user.awaitingSecondFactor();
    assert.equal((await confirming.giveCode(totpAt(app.secret, at(signet)))).status, 401);

    const code = app.code();
    const users = await twenty(() => user.awaitingSecondFactor());
    const answers = await Promise.all(users.map((one) => one.giveCode(code)));
    // Ten an hour are checked; the rest get 429. One is signed in.
    assert.equal(answers.filter(({ status }) => status === 303).length, 1);
    assert.equal((await Promise.all(users.map(isIn))).filter(Boolean).length, 1);

    signet.clock.advance(3600);
    const older = totpAt(app.secret, at(signet));
    signet.clock.advance(30);
    const newer = app.code();
    const next = await user.awaitingSecondFactor();
    assert.equal((await next.giveCode(newer)).status, 303);
    const last = await user.awaitingSecondFactor();
    for (const used of [newer, older]) assert.equal((await last.giveCode(used)).status, 401);
    assert.equal(await isIn(last), false);
  },
);

test('MF-02: the clock that counts is ours: one step early or late, never two', async (t) => {
  const { signet, user, app } = await withTotp(t);
  signet.clock.advance(300);
  for (const steps of [2, -2, 20]) {
    const one = await user.awaitingSecondFactor();
    assert.equal((await one.giveCode(totpAt(app.secret, at(signet) + steps * 30))).status, 401, String(steps));
  }
  for (const steps of [-1, 1]) {
    const one = await user.awaitingSecondFactor();
    assert.equal((await one.giveCode(totpAt(app.secret, at(signet) + steps * 30))).status, 303, String(steps));
  }
});

onBothEngines('MF-02: five wrong codes end the sign-in, for the right one too', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const guesser = await user.awaitingSecondFactor();
  const wrong = wrongCode(signet, app.secret);
  for (const left of [4, 3, 2, 1]) {
    const answer = await guesser.giveCode(wrong);
    assert.equal(answer.status, 401);
    assert.match(answer.text, sentence('second_factor.wrong', { triesLeft: left }));
  }
  const kept = new Map(guesser.browser.cookies);
  const over = await guesser.giveCode(wrong);
  assert.equal(over.status, 401);
  assert.match(over.text, sentence('second_factor.over.again'));
  for (const [name, value] of kept) guesser.browser.cookies.set(name, value);
  const late = await guesser.giveCode(app.code());
  assert.equal(late.status, 303);
  assert.equal(late.location, '/signin?stay=1');
  assert.equal(await isIn(guesser), false);

  const raced = await user.awaitingSecondFactor();
  const cookies = new Map(raced.browser.cookies);
  const answers = await twenty(() => {
    const browser = signet.newBrowser();
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    return browser.post('/signin/second-factor', { code: wrong });
  });
  assert.equal(answers.filter(({ status }) => status === 401).length, 5, 'of twenty at once five are looked at');
  const again = await user.awaitingSecondFactor();
  assert.equal((await again.giveCode(app.code())).status, 429);
});

test('MF-02: ten failures of a user within an hour, over any number of sign-ins', async (t) => {
  const { signet, user, app } = await withTotp(t);
  const wrong = () => wrongCode(signet, app.secret);
  for (let guess = 0; guess < 9; guess += 1) {
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(wrong())).status, 401);
  }
  assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).status, 303, 'success forgets them');
  for (let guess = 0; guess < 10; guess += 1) {
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(wrong())).status, 401);
  }
  const blocked = await (await user.awaitingSecondFactor()).giveCode(app.code());
  assert.equal(blocked.status, 429);
  assert.ok(Number(blocked.headers.get('retry-after')) > 0);
  const bystander = await signet.signedInUser();
  const theirs = await bystander.enableTotp();
  assert.equal((await (await bystander.awaitingSecondFactor()).giveCode(theirs.code())).status, 303);
  signet.clock.advance(3600);
  assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).status, 303);
});

onBothEngines('MF-04: a backup code signs in once, also when twenty use it at once', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const [first = '', second = ''] = app.backup_codes;
  const users = await twenty(() => user.awaitingSecondFactor());
  const answers = await Promise.all(users.map((one) => one.giveCode(first)));
  assert.equal(answers.filter(({ status }) => status === 303).length, 1);
  assert.equal((await Promise.all(users.map(isIn))).filter(Boolean).length, 1);
  const winner = users[answers.findIndex(({ status }) => status === 303)]!;
  assert.equal((await stateOf(winner)).backup_codes.remaining, 9);

  signet.clock.advance(3600);
  const other = await user.awaitingSecondFactor();
  assert.equal((await other.giveCode(first)).status, 401);
  assert.equal((await other.giveCode(` ${second.toUpperCase().replaceAll('-', ' ')} `)).status, 303);
  assert.deepEqual((await other.browser.get('/v1/me')).json?.session, {
    ...((await other.browser.get('/v1/me')).json?.session as object),
    amr: ['pwd', 'otp', 'mfa'],
    acr: 'urn:signet:acr:2fa',
  });
});

onBothEngines("MF-04: another user's backup code opens nothing, and new ones end the old", async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const thief = await signet.signedInUser();
  const theirs = await thief.enableTotp();
  const half = await user.awaitingSecondFactor();
  assert.equal((await half.giveCode(theirs.backup_codes[0]!)).status, 401);
  assert.equal((await stateOf(thief)).backup_codes.remaining, 10);
  assert.equal((await half.giveCode(app.code())).status, 303);

  const answers = await twenty(() => half.browser.postEmpty('/v1/me/2fa/backup-codes'));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal((await stateOf(half)).backup_codes.total, 10, 'twenty at once leave one set');
  const renewed = (await half.browser.postEmpty('/v1/me/2fa/backup-codes')).json?.backup_codes as string[];
  const next = await user.awaitingSecondFactor();
  assert.equal((await next.giveCode(app.backup_codes[1]!)).status, 401);
  assert.equal((await next.giveCode(renewed[0]!)).status, 303);
  await half.browser.delete('/v1/me/2fa/totp');
  assertRefused(await half.browser.postEmpty('/v1/me/2fa/backup-codes'), 409, 'invalid_state');
});

onBothEngines('MF-03, MF-04: neither the database nor the log can give a factor away', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const half = await user.awaitingSecondFactor();
  await half.giveCode(app.backup_codes[0]!);
  const pending = await enroll(half);
  const used = app.code();
  await (await user.awaitingSecondFactor()).giveCode(used);
  const secrets = [app.secret, pending.secret_base32, ...app.backup_codes];
  const raw = secrets.flatMap((secret) => [secret, secret.toLowerCase(), secret.replaceAll('-', '')]);
  const tables = ['totp', 'backup_codes', 'audit_log', 'outgoing_mails', 'sign_in_attempts', 'sessions'];
  const rows = await Promise.all(tables.map((table) => plain(signet.deps.db).all(`select * from ${table}`)));
  const { dataDir } = signet.deps.config;
  const files = readdirSync(dataDir).map((file) => readFileSync(join(dataDir, file), 'latin1'));
  const places = [JSON.stringify(rows), signet.logLines.join('\n'), ...files];
  for (const secret of raw) assert.ok(!places.some((place) => place.includes(secret)), secret);
  const attempt = half.browser.cookies.get('signet_attempt');
  assert.equal(attempt, undefined, 'the cookie of the half sign-in is gone');
  // A row copied to another user is sealed for its own.
  const thief = await signet.signedInUser();
  await thief.enableTotp();
  const { db } = signet.deps;
  await plain(db).run(
    'update totp set secret_sealed = (select t.secret_sealed from totp t where t.user_id = $2) where user_id = $1',
    [thief.user_id, user.user_id],
  );
  assert.notEqual((await (await thief.awaitingSecondFactor()).giveCode(app.code())).status, 303);
});

onBothEngines('MF-05: a sign-in that waits for its second factor opens nothing', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const client = await signet.registerClient();
  const half = await user.awaitingSecondFactor();
  const { browser } = half;
  const attempt = browser.cookies.get('signet_attempt') ?? '';
  assert.match(attempt, /^at_[\w-]{43}$/);
  const jsonPaths = ['/v1/me', '/v1/me/2fa', '/v1/me/entitlements', '/v1/oauth/clients', '/oauth/userinfo'];
  const inDisguise = [{}, { cookie: `signet_identity_session=${attempt}` }, { authorization: `Bearer ${attempt}` }];
  for (const path of jsonPaths) {
    for (const headers of inDisguise) {
      const answer = await browser.get(path, headers as Record<string, string>);
      assert.ok(answer.status === 401 || answer.status === 404, `${path}: ${answer.status}`);
    }
  }
  assertRefused(await browser.postEmpty(enrollPath), 401, 'login_required');
  assertRefused(await browser.postJson(confirmPath, { code: app.code() }), 401, 'login_required');
  assertRefused(await half.browser.delete('/v1/me/2fa/totp'), 401, 'login_required');
  for (const path of ['/account', '/account/security/totp', '/account/security/backup-codes', '/signin/confirm']) {
    assert.match((await browser.get(path)).location, /^\/signin\?next=/, path);
  }
  const confirmed = await browser.post('/signin/confirm', { username: user.email, password: user.password });
  assert.match(confirmed.location, /^\/signin\?next=/);
  assert.match((await browser.get(client.authorizePath())).location, /^\/signin\?request=/);
  const none = redirectedTo(await browser.get(client.authorizePath({ prompt: 'none' })));
  assert.equal(none.get('error'), 'login_required');
  assert.equal((await half.giveCode(app.code())).status, 303, 'and it is still good for its second factor');
});

onBothEngines('MF-05: a sign-in that began before the second factor was turned on opens nothing', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  const [strange, known] = [user.elsewhere(), await user.signedInElsewhere()];
  for (const [browser, statement] of [
    [strange, /insert into sessions/],
    [known, /update sessions set/], // which would get a new secret
  ] as const) {
    const before = new Map(browser.browser.cookies);
    const held = holdNextCall(signet.deps.db, statement);
    const entering = browser.signIn();
    await held.reached;
    await user.enableTotp();
    held.release();
    const answer = await entering;
    assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(browser.browser.cookies, before);
    assert.equal((await user.browser.delete('/v1/me/2fa/totp')).status, 204);
  }
});

onBothEngines('MF-05, FL-01: the second factor belongs to the browser that gave the first', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const half = await user.awaitingSecondFactor();
  const stranger = signet.newBrowser();
  for (const cookie of ['', 'signet_attempt=', 'signet_attempt=at_x', `signet_attempt=${'x'.repeat(3000)}`]) {
    const headers: Record<string, string> = cookie === '' ? {} : { cookie };
    const page = await stranger.get('/signin/second-factor', headers);
    assert.equal(page.location, '/signin?stay=1', cookie.slice(0, 40));
    const given = await stranger.post('/signin/second-factor', { code: app.backup_codes[0]! }, headers);
    assert.equal(given.location, '/signin?stay=1');
  }
  assert.equal((await stateOf(half)).totp, undefined);
  // Another user's half sign-in takes that user's codes, and theirs alone.
  const thief = await signet.signedInUser();
  await thief.enableTotp();
  const theirHalf = await thief.awaitingSecondFactor();
  assert.equal((await theirHalf.giveCode(app.code())).status, 401);
  assert.equal((await half.giveCode(app.code())).status, 303);
  assert.equal((await half.browser.get('/v1/me')).json?.user_id, user.user_id);
  // One half sign-in is one session: neither its cookie nor a second right code makes another.
  const again = signet.newBrowser();
  again.cookies.set('signet_attempt', half.browser.cookies.get('signet_attempt') ?? 'at_gone');
  assert.equal((await again.post('/signin/second-factor', { code: app.code() })).location, '/signin?stay=1');
  const double = await user.awaitingSecondFactor();
  const cookies = new Map(double.browser.cookies);
  const twins = [app.code(), app.backup_codes[2]!].map((code) => {
    const browser = signet.newBrowser();
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    return { browser, code };
  });
  await Promise.all(twins.map(({ browser, code }) => browser.post('/signin/second-factor', { code })));
  assert.equal((await Promise.all(twins.map(isIn))).filter(Boolean).length, 1);
});

onBothEngines('a half sign-in ends with what it rests on: password, factors, the user', async (t, engine) => {
  const { signet, user, app } = await withTotp(t, engine);
  const keeper = await user.awaitingSecondFactor();
  await keeper.giveCode(app.code());
  const dies = async (change: () => Promise<unknown>, code: () => string) => {
    const half = await user.awaitingSecondFactor();
    await change();
    assert.equal((await half.giveCode(code())).location, '/signin?stay=1');
    assert.equal(await isIn(half), false);
  };
  const unused = [...app.backup_codes];
  const anyCode = () => unused.pop()!;
  await dies(async () => signet.clock.advance(600), anyCode);
  await dies(() => keeper.browser.postJson('/v1/me/password', { password: 'another set of words' }), anyCode);
  user.password = 'another set of words';
  await dies(() => keeper.browser.postEmpty('/v1/me/2fa/backup-codes'), app.code);
  await dies(() => keeper.browser.delete('/v1/me/2fa/totp'), app.code);
  const renewed = await keeper.enableTotp();
  await dies(() => disableUser(signet.deps, { actor: 'cli' }, user.user_id), renewed.code);
  await enableUser(signet.deps, { actor: 'cli' }, user.user_id);
  assert.equal((await (await user.awaitingSecondFactor()).giveCode(renewed.code())).status, 303);
});

test('SS-06: factors change only after a recent sign-in, and only for the signed-in user', async (t) => {
  const { signet, user, browser } = await world(t);
  const { secret_base32 } = await enroll(user);
  const everyChange = (who: Pick<TestUser, 'browser'>) => [
    who.browser.postEmpty(enrollPath),
    who.browser.postJson(confirmPath, { code: totpAt(secret_base32, at(signet)) }),
    who.browser.delete('/v1/me/2fa/totp'),
    who.browser.postEmpty('/v1/me/2fa/backup-codes'),
  ];
  signet.clock.advance(901);
  for (const answer of await Promise.all(everyChange(user))) {
    assertRefused(answer, 403, 'reauthentication_required');
    assert.equal(answer.json?.max_age, 900);
  }
  for (const path of ['/account/security/totp', '/account/security/totp/disable', '/account/security/backup-codes']) {
    const expected = `/signin/confirm?${new URLSearchParams({ next: path })}`;
    assert.equal((await browser.get(path)).location, expected);
  }
  for (const answer of await Promise.all(everyChange({ browser: signet.newBrowser() }))) {
    assertRefused(answer, 401, 'login_required');
  }
  const foreign = await browser.send(enrollPath, { method: 'POST', headers: { origin: 'https://evil.example' } });
  assert.equal(foreign.status, 403);
  await browser.post('/signin/confirm', { username: user.email, password: user.password });
  assert.equal((await browser.postEmpty(enrollPath)).status, 200);
});

test('a body that is not `{code: string}` is a 400 that changes nothing', async (t) => {
  const { signet, user, browser } = await world(t);
  const { secret_base32 } = await enroll(user);
  const bodies = [
    {},
    [],
    null,
    'x',
    { code: 123456 },
    { code: null },
    { code: ['123456'] },
    { code: { a: 1 } },
    { code: true },
    { code: '123456', more: 1 },
    { code: '1'.repeat(101) },
  ];
  for (const body of bodies) {
    const answer = await browser.postJson(confirmPath, body);
    assertRefused(answer, 400, 'invalid_request');
  }
  for (const code of ['', 'abcdef', "' or 1=1 --"]) {
    assertRefused(await browser.postJson(confirmPath, { code }), 400, 'invalid_code');
  }
  const spaced = totpAt(secret_base32, at(signet)).replace(/^.../, '$& ');
  assert.equal((await browser.postJson(confirmPath, { code: spaced })).status, 200);
});

onBothEngines('twenty confirmations and twenty disablings at once are one of each', async (t, engine) => {
  const { signet, user, browser } = await world(t, engine);
  const { secret_base32 } = await enroll(user);
  const code = totpAt(secret_base32, at(signet));
  const confirmed = await twenty(() => browser.postJson(confirmPath, { code }));
  assert.equal(confirmed.filter(({ status }) => status === 200).length, 1);
  // The one that counts puts the session under another secret; those beside it come too late with the old one.
  assert.ok(confirmed.every(({ status }) => [200, 401, 409].includes(status)));
  assert.equal((await stateOf(user)).backup_codes.total, 10);
  const shown = confirmed.find(({ status }) => status === 200)?.json?.backup_codes as string[];
  assert.equal(
    (await (await user.awaitingSecondFactor()).giveCode(shown[0]!)).status,
    303,
    'the codes that were shown are the ones that count',
  );
  const disabled = await twenty(() => user.browser.delete('/v1/me/2fa/totp'));
  assert.equal(disabled.filter(({ status }) => status === 204).length, 1);
  assert.ok(disabled.every(({ status }) => status === 204 || status === 409));
  const rows = await signet.auditLog({ target: user.user_id });
  for (const action of ['totp.confirmed', 'totp.disabled']) {
    assert.equal(rows.filter((row) => row.action === action).length, 1, action);
  }
});

test('NO-01: each change of factors is one mail and one event, and so is what looks like a break-in', async (t) => {
  const mailbox = await openMailbox(t);
  const signet = await startSignet(t, { env: { SIGNET_SMTP_URL: mailbox.url } });
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  // A user who did not do this has no code of that app, so the account's own pages are no way out.
  const { text: mailed } = await mailbox.next(user.email, sentence('mail.totp_confirmed.subject'));
  assert.ok(mailed.includes(`${signet.url}/reset\n`), mailed);
  assert.match(mailed, sentence('mail.totp_confirmed.text', { service: 'Signet' }));
  await user.browser.postEmpty('/v1/me/2fa/backup-codes');
  await mailbox.next(user.email, sentence('mail.backup_codes_regenerated.subject'));

  const guesser = await user.awaitingSecondFactor();
  for (let guess = 0; guess < 5; guess += 1) await guesser.giveCode(wrongCode(signet, app.secret));
  await mailbox.next(user.email, sentence('mail.second_factor_wrong.subject'));
  const warning = await mailbox.next(user.email, sentence('mail.second_factor_refused.subject'));
  assert.match(warning.text, /127\.0\.0\.1/);

  const codes = (await user.browser.postEmpty('/v1/me/2fa/backup-codes')).json?.backup_codes as string[];
  await mailbox.next(user.email, sentence('mail.backup_codes_regenerated.subject'));
  await (await user.awaitingSecondFactor()).giveCode(codes[0]!);
  assert.match(
    (await mailbox.next(user.email, sentence('mail.backup_code_used.subject'))).text,
    sentence('mail.backup_code_used.text', { remaining: 9 }),
  );
  await mailbox.next(user.email, sentence('mail.new_device.subject'));
  await user.browser.delete('/v1/me/2fa/totp');
  await mailbox.next(user.email, sentence('mail.totp_disabled.subject'));
  await signet.deps.mail.deliver();
  assert.equal(mailbox.mails.length, 8, mailbox.mails.map(({ subject }) => subject).join('; '));
  for (const { text, subject } of mailbox.mails) {
    for (const secret of [app.secret, ...app.backup_codes, ...codes]) assert.ok(!(text + subject).includes(secret));
  }

  const rows = await signet.auditLog({ target: user.user_id });
  const count = (action: string) => rows.filter((row) => row.action === action).length;
  const expected = {
    'totp.confirmed': 1,
    'backup_codes.regenerated': 2,
    'backup_code.used': 1,
    'totp.disabled': 1,
    'session.refused': 5,
  };
  for (const [action, times] of Object.entries(expected)) assert.equal(count(action), times, action);
  assert.ok(rows.filter(({ action }) => action === 'session.refused').every(({ reason }) => reason === 'wrong_code'));
});

test('decisions §5: tokens say what happened; max_age and prompt ask for it again', async (t) => {
  const { signet, user, browser, app } = await withTotp(t);
  const client = await signet.registerClient();
  const twoFactors = 'urn:signet:acr:2fa';
  /** Through sign-in and second factor to the code and its tokens. */
  const signInFor = async (changes: Record<string, string> = {}) => {
    const waiting = (await browser.get(client.authorizePath(changes))).location;
    assert.match(waiting, /^\/signin\?request=ar_/);
    const request = new URL(waiting, signet.url).searchParams.get('request') ?? '';
    assert.equal((await user.signIn({ request })).location, '/signin/second-factor');
    const continued = await browser.get(`/oauth/authorize/continue?request=${request}`);
    assert.equal(continued.location, waiting, 'the second factor cannot be walked around');
    const page = await browser.get('/signin/second-factor');
    assert.match(page.text, new RegExp(`<html lang="${changes.ui_locales ?? 'en'}"`));
    const onward = await user.giveCode(app.code());
    assert.equal(onward.location, `/oauth/authorize/continue?request=${request}`);
    const code = redirectedTo(await browser.get(onward.location)).get('code') ?? '';
    return claimsOf(tokensOf(await client.redeem(code)).id_token);
  };
  const claims = await signInFor();
  assert.deepEqual(claims.amr, ['pwd', 'otp', 'mfa']);
  assert.equal(claims.acr, twoFactors);
  assert.equal(claims.auth_time, at(signet));
  for (const changes of [{ prompt: 'login', ui_locales: 'de' }, { max_age: '0' }] as Record<string, string>[]) {
    assert.equal((await signInFor(changes)).acr, twoFactors);
  }
});

test('the pages: set up with a QR code, see the codes once, replace them, turn it off', async (t) => {
  const { signet, user, browser } = await world(t);
  const bystander = await user.signedInElsewhere();
  const path = '/account/security/totp';
  const page = async () => (await browser.get(path)).text;
  assert.match(await page(), sentence('totp.begin'));
  const begun = await browser.post(`${path}/enroll`);
  assert.equal(begun.status, 303);
  assert.equal(begun.location, path);
  const setUp = await page();
  const secretIn = (text: string) => (/<code id="totp-secret">([A-Z2-7 ]+)</.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const secret = secretIn(setUp);
  assert.equal(secret.length, 32);
  assert.match(setUp, new RegExp(`href="otpauth://totp/[^"]*secret=${secret}`));
  assert.match(setUp, /<svg [^>]*role="img"[^>]*><title>/);
  const wrong = await browser.post(`${path}/confirm`, { code: wrongCode(signet, secret) });
  assert.equal(wrong.status, 400);
  assert.equal(secretIn(wrong.text), secret, 'a wrong code does not mean to scan again');
  const confirmed = await browser.post(`${path}/confirm`, {
    code: totpAt(secret, at(signet)),
    end_other_sessions: 'yes',
  });
  assert.equal(confirmed.status, 200);
  assert.equal(confirmed.headers.get('cache-control'), 'no-store');
  assert.equal(await isIn(bystander), false, 'every other session has ended');
  assert.equal(await isIn(user), true);
  const codesIn = (text: string) => [...text.matchAll(/<li><code>([\w-]+)<\/code>/g)].map(([, code = '']) => code);
  const shown = codesIn(confirmed.text);
  assert.equal(shown.length, 10);
  const after = await page();
  assert.equal(secretIn(after), '');
  for (const code of shown) assert.ok(!after.includes(code) && !JSON.stringify(signet.logLines).includes(code));
  assert.equal((await (await user.awaitingSecondFactor()).giveCode(shown[0]!)).status, 303);
  assert.match(
    (await browser.get('/account/security/backup-codes')).text,
    sentence('backup_codes.remaining.of', { remaining: 9, total: 10 }),
  );
  const renewed = await browser.post('/account/security/backup-codes');
  assert.equal(renewed.status, 200);
  assert.equal(codesIn(renewed.text).length, 10);
  assert.equal((await browser.post(`${path}/disable`)).status, 303);
  assert.match(await page(), sentence('totp.begin'));
  assert.equal((await browser.get('/account/security/backup-codes')).location, path);
  // Too late: the pending secret is over, and the page says so.
  await browser.post(`${path}/enroll`);
  const late = secretIn(await page());
  signet.clock.advance(600);
  const over = await browser.post(`${path}/confirm`, { code: totpAt(late, at(signet)) });
  assert.equal(over.status, 409);
  assert.match(over.text, sentence('totp.nothing_pending'));
});
