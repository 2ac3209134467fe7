import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { oneFactor, twoFactors } from '../../src/authentication/sessions/authentication.ts';
import type { Browser } from '../support/browser.ts';
import { administrator } from '../support/clients.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { message, sentence } from '../support/messages.ts';
import { sessionOf } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import type { Authenticator } from '../support/two-factor.ts';

const trusted = 'signet_trusted';
const secondFactor = '/signin/second-factor';
const day = 86_400;
const html = { accept: 'text/html' };
const newPassword = 'a quite different pass phrase';

/** Signs in with password and code, and ticks the box. */
async function trust(user: TestUser, app: Authenticator): Promise<TestUser> {
  const waiting = await user.awaitingSecondFactor(user.browser);
  const answer = await waiting.browser.post(secondFactor, { code: app.code(), trust: 'yes' });
  assert.equal(answer.location, '/account', answer.text);
  return waiting;
}

/** A user with TOTP whose browser is trusted, and signed out. */
async function world(t: TestContext, engine: Engine, env: Record<string, string> = {}) {
  const signet = await startSignet(t, { engine, mail: true, env: { SIGNET_TRUSTED_BROWSER_DAYS: '30', ...env } });
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  await user.browser.post('/signout');
  await trust(user, app);
  await user.browser.post('/signout');
  return { signet, user, app };
}

const listOf = async ({ browser }: Pick<TestUser, 'browser'>) =>
  (await browser.get('/v1/me/trusted-browsers')).json?.trusted_browsers as Record<string, unknown>[];

/** Where the password alone leads. */
const passwordLeadsTo = async (user: TestUser, fields: Record<string, string> = {}) =>
  (await user.signIn(fields)).location;
const assertTrusted = async (user: TestUser, about = '') =>
  assert.equal(await passwordLeadsTo(user), '/account', about);
const assertAsked = async (user: TestUser, about = '') =>
  assert.equal(await passwordLeadsTo(user), secondFactor, about);

const requestOf = async (browser: Browser, path: string) => {
  const { location } = await browser.get(path);
  const request = new URL(location, 'https://here').searchParams.get('request');
  assert.ok(request, location);
  return request;
};

onBothEngines(
  'decisions §9: a trusted browser is not asked for the second factor, says so in amr and acr, and others are',
  async (t, engine) => {
    const { signet, user, app } = await world(t, engine);
    await assertTrusted(user);
    const session = await sessionOf(user.browser);
    assert.deepEqual([session.amr, session.acr], [['pwd', 'rba'], oneFactor]);
    const client = await signet.registerClient();
    const { id_token = '' } = await user.obtainTokens(client);
    const { amr, acr } = claimsOf(id_token);
    assert.deepEqual([amr, acr], [['pwd', 'rba'], oneFactor]);
    assert.match((await user.browser.get('/account/sessions')).text, sentence('sessions.how.rba'));
    await assertAsked(user.elsewhere(), 'another browser');

    const other = await signet.newUser();
    const inSameBrowser = other.with({ browser: user.browser });
    await user.browser.post('/signout');
    const otherApp = await (await other.signedInElsewhere()).enableTotp();
    await assertAsked(inSameBrowser, 'another user in the same browser');
    await trust(inSameBrowser, otherApp);
    await user.browser.post('/signout');
    await assertTrusted(user, 'who trusts it as before');
    await user.browser.post('/signout');
    await assertTrusted(inSameBrowser, 'both do');
    await user.browser.post('/signout');

    // Without the box nothing is trusted, nor with a backup code.
    const plainly = await user.awaitingSecondFactor();
    await plainly.giveCode(app.code());
    assert.ok(!plainly.browser.cookies.has(trusted));
    const byBackup = await user.awaitingSecondFactor();
    await byBackup.browser.post(secondFactor, { code: app.backup_codes[0]!, trust: 'yes' });
    assert.equal((await byBackup.browser.get('/v1/me')).status, 200);
    assert.ok(!byBackup.browser.cookies.has(trusted));
  },
);

onBothEngines('the box is there where the operator allows it, and not for a backup code', async (t, engine) => {
  const { user } = await world(t, engine, { SIGNET_TRUSTED_BROWSER_DAYS: '7' });
  const asked = await user.awaitingSecondFactor();
  const label = sentence('second_factor.trust', { days: 7 });
  assert.match((await asked.browser.get(secondFactor)).text, label);
  assert.doesNotMatch((await asked.browser.get(`${secondFactor}?backup=1`)).text, /name="trust"/);
  const wrong = await asked.browser.post(secondFactor, { code: '12', trust: 'yes' });
  assert.match(wrong.text, /name="trust"[^>]* checked/, 'what was chosen stays after a wrong code');

  const signet = await startSignet(t, { engine });
  const another = await signet.signedInUser();
  const app = await another.enableTotp();
  const waiting = await another.awaitingSecondFactor();
  assert.doesNotMatch((await waiting.browser.get(secondFactor)).text, /name="trust"/);
  await waiting.browser.post(secondFactor, { code: app.code(), trust: 'yes' });
  assert.ok(!waiting.browser.cookies.has(trusted), 'nor is it taken where it is not allowed');
  assert.deepEqual(await listOf(waiting), []);
});

onBothEngines('it ends after its days by our clock, and using it does not prolong it', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  await assertTrusted(user);
  const [listed] = await listOf(user);
  assert.equal(Number(listed?.expires_at) - Number(listed?.created_at), 30 * day);
  const client = await signet.registerClient();
  for (const after of [10, 10]) {
    signet.clock.advance(after * day);
    await assertTrusted(user);
  }
  signet.clock.advance(10 * day - 60);
  await assertTrusted(user, 'a minute before');
  await user.authorize(client);
  signet.clock.advance(120);
  const late = await user.browser.get(client.authorizePath());
  assert.match(late.location, /^\/signin\?/, 'nor does a session outlive what it rests on');
  await assertAsked(user);
  signet.clock.advance(day);
  await signet.runJobs();
  const [{ n } = { n: 1 }] = await plain(signet.deps.db).all<{ n: number }>(
    'select count(*) as n from trusted_browsers',
  );
  assert.equal(Number(n), 0);
  await trust(user, app);
  await assertTrusted(user);
});

onBothEngines('an operator who allows it no longer, or for fewer days, ends it for all', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  await assertTrusted(user);
  const client = await signet.registerClient();
  await user.authorize(client);
  const off = await startSignet(t, { engine, beside: signet });
  const session = user.browser.cookies.get('signet_identity_session') ?? '';
  const asked = await off.newBrowser().get(client.authorizePath(), { cookie: `signet_identity_session=${session}` });
  assert.match(asked.location, /\/signin\?/, 'nor does a session rest on it there');
  signet.clock.advance(8 * day);
  for (const env of [{}, { SIGNET_TRUSTED_BROWSER_DAYS: '7' }] as Record<string, string>[]) {
    const other = await startSignet(t, { engine, beside: signet, env });
    const browser = other.newBrowser();
    for (const [name, value] of user.browser.cookies) browser.cookies.set(name, value);
    const there = user.with({ browser });
    const { location } = await there.signIn({}, { origin: signet.url });
    assert.equal(location, secondFactor, JSON.stringify(env));
  }
});

type World = { signet: Signet; user: TestUser; app: Authenticator; keeper: TestUser };

/** What ends the trust of every browser. The keeper is signed in elsewhere, with both factors. */
const endings: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'the password is changed': async ({ keeper }) => {
    const answer = await keeper.browser.postJson('/v1/me/password', { password: newPassword });
    assert.equal(answer.status, 204, answer.text);
  },
  'the password is reset': async ({ signet, user }) => {
    const { browser } = user.elsewhere();
    await browser.post('/reset', { email: user.email });
    const mail = await signet.mailbox.next(user.email, sentence('mail.reset.subject'));
    const path = /\/reset\/ln_[\w-]{43}/.exec(mail.text)?.[0] ?? '';
    assert.equal((await browser.post(path, { password: newPassword })).location, secondFactor);
  },
  'a passkey is added': ({ keeper }) => keeper.addPasskey(),
  'a passkey is removed': async ({ keeper, user, app }) => {
    const { id } = await keeper.addPasskey();
    await trust(user, app);
    await user.browser.post('/signout');
    await assertTrusted(user);
    assert.equal((await keeper.browser.delete(`/v1/me/passkeys/${id}`)).status, 204);
  },
  'another app is set up': ({ keeper, app }) =>
    Object.assign(keeper.enableTotp().then((one) => Object.assign(app, one))),
  'backup codes are made again': ({ keeper }) => keeper.browser.postEmpty('/v1/me/2fa/backup-codes'),
  'a backup code is used': async ({ user, app }) => {
    const other = await user.awaitingSecondFactor();
    assert.equal((await other.giveCode(app.backup_codes[1]!)).location, '/account');
  },
  'an administrator resets the factors, and another app is set up': async ({ signet, user, app }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const path = `/v1/admin/users/${user.user_id}/reset-factors`;
    assert.equal((await root.browser.postJson(path, { reason: 'Lost.' })).status, 200);
    Object.assign(app, await (await user.signedInElsewhere()).enableTotp());
  },
  'an administrator signs the user out everywhere': async ({ signet, user }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const answer = await root.browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, { reason: 'Asked.' });
    assert.equal(answer.status, 200, answer.text);
  },
  'the account is disabled': async ({ signet, user }) => {
    await disableUser(signet.deps, administrator, user.user_id);
    await enableUser(signet.deps, administrator, user.user_id);
  },
  'the user signs out everywhere else': ({ keeper }) => keeper.browser.delete('/v1/me/sessions'),
  'the user ends the session that began in it': async ({ keeper }) => {
    const sessions = (await keeper.browser.get('/v1/me/sessions')).json!.sessions as {
      session_id: string;
      current: boolean;
    }[];
    const there = sessions.find(({ current }) => !current)!;
    assert.equal((await keeper.browser.delete(`/v1/me/sessions/${there.session_id}`)).status, 204);
  },
  'the user stops trusting it': async ({ keeper }) => {
    const [one] = await listOf(keeper);
    assert.equal((await keeper.browser.delete(`/v1/me/trusted-browsers/${one?.browser_id}`)).status, 204);
    assert.equal((await keeper.browser.delete(`/v1/me/trusted-browsers/${one?.browser_id}`)).status, 404);
  },
  'the user stops trusting it by the page': async ({ keeper }) => {
    const [one] = await listOf(keeper);
    assert.match((await keeper.browser.get('/account/sessions')).text, sentence('sessions.trusted.title'));
    const answer = await keeper.browser.post('/account/sessions/end-trust', { browser_id: String(one?.browser_id) });
    assert.match((await keeper.browser.get(answer.location)).text, sentence('sessions.done.untrusted'));
  },
  'an administrator ends it': async ({ signet, user }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const path = `/v1/admin/users/${user.user_id}/trusted-browsers`;
    const [one] = (await root.browser.get(path)).json!.trusted_browsers as { browser_id: string }[];
    assert.match((await root.browser.get(`/admin/users/${user.user_id}`)).text, sentence('admin.users.trusted'));
    assert.equal((await root.browser.delete(`${path}/${one?.browser_id}`, { reason: 'Sold.' })).status, 204);
    assert.equal((await signet.auditLog({ action: 'trusted_browser.ended', target: one!.browser_id })).length, 1);
  },
};

for (const [name, end] of Object.entries(endings)) {
  onBothEngines(`it ends when ${name}, and so does what a session rests on`, async (t, engine) => {
    const { signet, user, app } = await world(t, engine);
    const client = await signet.registerClient();
    const keeper = await user.awaitingSecondFactor();
    await keeper.giveCode(app.code());
    await assertTrusted(user);
    await user.authorize(client);
    await end({ signet, user, app, keeper });
    assert.match(
      (await user.browser.get(client.authorizePath())).location,
      /^\/signin\?/,
      'no further code for an app',
    );
    const again = /password is/.test(name) ? user.with({ password: newPassword }) : user;
    await assertAsked(again);
  });
}

onBothEngines('it goes on after a sign-out, and where others are signed out from it', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  const elsewhere = user.elsewhere();
  await trust(elsewhere, app);
  await assertTrusted(user);
  assert.deepEqual((await listOf(user)).map(({ current }) => current).sort(), [false, true]);
  assert.equal((await user.browser.delete('/v1/me/sessions')).status, 200);
  await user.authorize(await signet.registerClient());
  assert.deepEqual(
    (await listOf(user)).map(({ current }) => current),
    [true],
  );
  await user.browser.post('/signout');
  await assertTrusted(user);
  await assertAsked(elsewhere);
  const stranger = await signet.signedInUser();
  const [own] = await listOf(user);
  assert.equal((await stranger.browser.delete(`/v1/me/trusted-browsers/${own?.browser_id}`)).status, 404);
});

onBothEngines('a copied cookie: whoever comes second ends it, and both are asked', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  const client = await signet.registerClient();
  const thief = user.withCopiedCookies();
  await assertTrusted(thief, 'the copy is as good as the original');
  const tokens = await thief.obtainTokens(client, { scope: 'openid offline_access' });
  await assertAsked(user, 'until the owner comes, with a secret that was used');
  assert.equal((await thief.browser.get('/v1/me')).status, 401, 'which ends the session of the thief');
  assert.equal((await client.refresh(tokens.refresh_token!)).status, 400, 'and what it was given');
  await assertAsked(thief);
  const mail = await signet.mailbox.next(user.email, sentence('mail.trusted_browser_replayed.subject'));
  assert.match(mail.text, /127\.0\.0\.1/);
  assert.equal((await signet.auditLog({ action: 'trusted_browser.replayed', target: user.user_id })).length, 1);
  const [ended] = await signet.auditLog({ action: 'session.ended', reason: 'replay' });
  assert.equal(ended?.actor, 'system');

  // The other way round: the thief has an older copy.
  await trust(user, app);
  const late = user.withCopiedCookies();
  await user.browser.post('/signout');
  await assertTrusted(user);
  await assertAsked(late);
  assert.match((await user.browser.get(client.authorizePath())).location, /^\/signin/);
  await assertAsked(user);
  // What is over tells nobody anything more.
  await assertAsked(late);
  assert.equal((await signet.auditLog({ action: 'trusted_browser.replayed', target: user.user_id })).length, 2);
});

onBothEngines('a cookie is worth nothing without the first factor, of another user, or made up', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  const thief = user.withCopiedCookies();
  assert.equal((await thief.with({ password: 'a wrong pass phrase' }).signIn()).status, 401);
  assert.equal((await signet.auditLog({ action: 'trusted_browser.replayed' })).length, 0);
  const [, series = '', secret = ''] =
    /^(tb_[\w-]{43})\.([\w-]{43})$/.exec(user.browser.cookies.get(trusted) ?? '') ?? [];
  const other = await signet.signedInUser();
  await other.enableTotp();
  for (const value of [
    `${series}.${secret}`,
    `${series.slice(0, -1)}x.${secret}`,
    `tb_${other.user_id.slice(4)}${series.slice(25)}.${secret}`,
    `${secret}.${secret}`,
    '~~~~~~~~~',
    'x'.repeat(4000),
  ]) {
    const asOther = other.elsewhere();
    asOther.browser.cookies.set(trusted, value);
    await assertAsked(asOther, value.slice(0, 90));
  }
  await assertTrusted(user, 'and none of it ends what another user has');
  const rows = await plain(signet.deps.db).all('select * from trusted_browsers');
  const kept = JSON.stringify(rows) + signet.logLines.join('\n');
  for (const part of [series, secret, (user.browser.cookies.get(trusted) ?? '').slice(47)])
    assert.ok(!kept.includes(part));
  const header = (await user.signIn()).headers.getSetCookie().find((one) => one.startsWith(`${trusted}=`)) ?? '';
  assert.match(header, /; Path=\/;.*HttpOnly; SameSite=Lax/);
  assert.doesNotMatch(header, /Domain/);
});

onBothEngines(
  'of twenty sign-ins at once with one cookie at most one passes, and then none rests on it',
  async (t, engine) => {
    const { signet, user } = await world(t, engine);
    const client = await signet.registerClient();
    const copies = Array.from({ length: 20 }, () => user.withCopiedCookies());
    const answers = await Promise.all(copies.map((one) => one.signIn()));
    const passed = answers.filter(({ location }) => location === '/account').length;
    assert.ok(passed <= 1, `${passed} passed`);
    assert.equal(answers.filter(({ location }) => location === secondFactor).length, 20 - passed);
    for (const { browser } of copies) assert.match((await browser.get(client.authorizePath())).location, /^\/signin/);
    assert.equal((await signet.auditLog({ action: 'trusted_browser.replayed' })).length, 1);
    await assertAsked(user);
  },
);

onBothEngines('a sign-in that races with the end of trust passes before it or not at all', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  const client = await signet.registerClient();
  const keeper = await user.awaitingSecondFactor();
  await keeper.giveCode(app.code());
  for (let round = 0; round < 5; round += 1) {
    const [one] = await listOf(keeper);
    await Promise.all([user.signIn(), keeper.browser.delete(`/v1/me/trusted-browsers/${one?.browser_id}`)]);
    assert.match((await user.browser.get(client.authorizePath())).location, /^\/signin/, `round ${round}`);
    await assertAsked(user);
    await trust(user, app);
    await user.browser.post('/signout');
  }
});

const asking = {
  'prompt=login': { prompt: 'login' },
  max_age: { max_age: '86400' },
  acr_values: { acr_values: twoFactors },
  'an essential acr': { claims: JSON.stringify({ id_token: { acr: { essential: true, value: twoFactors } } }) },
};

for (const [name, parameters] of Object.entries(asking)) {
  onBothEngines(`decisions §9: a client that asks by ${name} gets a second factor of now`, async (t, engine) => {
    const { signet, user, app } = await world(t, engine);
    const client = await signet.registerClient();
    const path = client.authorizePath(parameters);
    const request = await requestOf(user.browser, path);
    assert.equal(await passwordLeadsTo(user, { request }), secondFactor);
    const given = await user.browser.post(secondFactor, { code: app.code() });
    const code = redirectedTo(await user.browser.get(given.location)).get('code')!;
    const { id_token } = (await client.redeem(code)).json as { id_token: string };
    assert.deepEqual([claimsOf(id_token).acr, claimsOf(id_token).amr], [twoFactors, ['pwd', 'otp', 'mfa']]);
    await user.browser.post('/signout');

    // Nor does a session do that began in the trusted browser before.
    await assertTrusted(user);
    const asked = (await user.browser.get(path)).location;
    assert.match(asked, /^\/signin(\/confirm)?\?request=/);
    const again = new URL(asked, signet.url).searchParams.get('request')!;
    const confirms = asked.startsWith('/signin/confirm');
    const answer = await user.browser.post(confirms ? '/signin/confirm' : '/signin', {
      username: user.email,
      password: user.password,
      request: again,
    });
    assert.equal(answer.location, secondFactor);
    const none = redirectedTo(await user.browser.get(client.authorizePath({ ...parameters, prompt: 'none' })));
    if (name === 'acr_values') {
      const silent = (await client.redeem(none.get('code')!)).json as { id_token: string };
      assert.equal(claimsOf(silent.id_token).acr, oneFactor, 'a preference is declined silently, and acr says so');
    } else if (name !== 'prompt=login') assert.equal(none.get('error'), 'login_required');
  });
}

onBothEngines('decisions §9: a client that is registered to require two factors gets both', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  const client = await signet.registerClient({ default_acr_values: [twoFactors] });
  await assertTrusted(user);
  const asked = (await user.browser.get(client.authorizePath())).location;
  assert.match(asked, /^\/signin\/confirm\?request=/);
  const request = new URL(asked, signet.url).searchParams.get('request')!;
  const page = (await user.browser.get(asked)).text;
  assert.doesNotMatch(page, sentence('confirm.decline'));
  await user.browser.post('/signin/confirm', { password: user.password, request });
  const given = await user.browser.post(secondFactor, { code: app.code() });
  const code = redirectedTo(await user.browser.get(given.location)).get('code')!;
  const { id_token } = (await client.redeem(code)).json as { id_token: string };
  assert.equal(claimsOf(id_token).acr, twoFactors);
});

onBothEngines(
  'the account: pages open, changes of factors and administration ask for the factor',
  async (t, engine) => {
    const { signet, user, app } = await world(t, engine, { SIGNET_SECOND_FACTOR: 'required' });
    await assertTrusted(user);
    assert.equal(
      (await user.browser.get('/account', html)).status,
      200,
      'it counts where everyone needs a second factor',
    );
    const owner = await user.awaitingSecondFactor();
    await owner.giveCode(app.code());
    await user.authorize(await signet.registerClient({ owner }));
    for (const path of ['/v1/me/2fa/backup-codes', '/v1/me/2fa/totp/enroll']) {
      const refused = await user.browser.postEmpty(path);
      assert.deepEqual([refused.status, refused.json?.error], [403, 'reauthentication_required'], path);
    }
    assert.equal((await user.browser.postJson('/v1/me/password', { password: newPassword })).status, 403);
    const confirmed = await user.browser.post('/signin/confirm', {
      password: user.password,
      next: '/account/security/totp',
    });
    assert.equal(confirmed.location, secondFactor, 'and no trust stands in for it there');
    await user.browser.post(secondFactor, { code: app.code() });
    assert.equal((await user.browser.get('/account/security/totp')).status, 200);

    await plain(signet.deps.db).run("update users set role = 'admin' where user_id = $1", [user.user_id]);
    await user.browser.post('/signout');
    await assertTrusted(user);
    assert.match((await user.browser.get('/admin', html)).location, /^\/signin\/confirm\?/);
  },
);

onBothEngines('twenty browsers at most: the one unused for longest is asked again', async (t, engine) => {
  const { signet, user, app } = await world(t, engine);
  signet.clock.advance(60);
  for (let place = 0; place < 20; place += 1) await trust(user.elsewhere(), app);
  const last = await user.awaitingSecondFactor(user.browser);
  await last.giveCode(app.code());
  assert.equal((await listOf(last)).length, 20);
  assert.equal(message('sessions.trusted.title'), 'Trusted browsers');
});
