import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import type { Browser } from '../support/browser.ts';
import { administrator } from '../support/clients.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import type { Authenticator } from '../support/two-factor.ts';

const path = '/signin/second-factor/recovery';
const day = 86_400;
const newPassword = 'a quite different pass phrase';
const subject = (name: 'factor_recovery' | 'factor_recovery_link' | 'factor_recovery_stopped' | 'factors_recovered') =>
  sentence(`mail.${name}.subject`);

/** A user with TOTP, signed out, where one waits for seven days. */
async function world(t: TestContext, engine: Engine, env: Record<string, string> = {}) {
  const signet = await startSignet(t, { engine, mail: true, env: { SIGNET_RECOVERY_WAIT_DAYS: '7', ...env } });
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  await user.browser.post('/signout');
  return { signet, user, app };
}

type World = { signet: Signet; user: TestUser; app: Authenticator };

/** Gives the password and asks for the removal. @returns what the page says then. */
async function ask(user: TestUser): Promise<string> {
  const { browser } = await user.awaitingSecondFactor();
  assert.equal((await browser.post(path)).location, path);
  return (await browser.get(path)).text;
}

const isUnderWay = (page: string) => page.includes('id="recovery-under-way"');

const linkIn = (text: string, begin: string): string => {
  const found = new RegExp(`${begin}/ln_[\\w-]{43}`).exec(text)?.[0];
  assert.ok(found, text);
  return found;
};

/** Asks, and reads the link that stops it. */
async function asked({ signet, user }: World): Promise<string> {
  assert.ok(isUnderWay(await ask(user)));
  return linkIn((await signet.mailbox.next(user.email, subject('factor_recovery'))).text, '/recover/stop');
}

/** Asks and waits to the end. @returns the link that removes the factors, and the first that stops it. */
async function waited(world: World): Promise<{ link: string; stop: string }> {
  const { signet, user } = world;
  const stop = await asked(world);
  signet.clock.advance(6 * day);
  await signet.runJobs();
  await signet.mailbox.next(user.email, subject('factor_recovery'));
  signet.clock.advance(day);
  await signet.runJobs();
  const mail = await signet.mailbox.next(user.email, subject('factor_recovery_link'));
  return { stop, link: linkIn(mail.text, '/recover') };
}

const assertAsksForCode = async (user: TestUser, about = '') =>
  assert.equal((await user.elsewhere().signIn()).location, '/signin/second-factor', about);

const spent = async (browser: Browser, link: string, fields?: Record<string, string>) => {
  const answer = fields ? await browser.post(link, fields) : await browser.get(link);
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, sentence('link.spent.recovery'));
};

onBothEngines(
  'decisions §14: who has the password and lost every second factor waits, is told of it, and gets in',
  async (t, engine) => {
    const { signet, user, app } = await world(t, engine);
    const keeper = await user.awaitingSecondFactor();
    await keeper.giveCode(app.code());
    await keeper.addPasskey();
    const client = await signet.registerClient();
    const { refresh_token = '' } = await keeper.obtainTokens(client, { scope: 'openid offline_access' });

    const waiting = await user.awaitingSecondFactor();
    const offer = await waiting.browser.get('/signin/second-factor');
    assert.match(offer.text, sentence('second_factor.lost.recovery', { days: 7 }));
    assert.match((await waiting.browser.get(path)).text, sentence('recovery.what', { days: 7 }));
    const stop = await asked({ signet, user, app });
    const askedAt = signet.clock();
    const [requested] = await signet.auditLog({ action: 'factor_recovery.requested', target: user.user_id });
    assert.match(String(requested?.after_state), /"due_at":\d+/);

    // The reminder comes a day before the end, and nothing else before it.
    await signet.runJobs();
    signet.clock.advance(6 * day - 60);
    await signet.runJobs();
    const before = signet.mailbox.mails.length;
    signet.clock.advance(120);
    await signet.runJobs();
    await signet.runJobs();
    const reminder = await signet.mailbox.next(user.email, subject('factor_recovery'));
    assert.equal(signet.mailbox.mails.length, before + 1, 'once');
    const { text: stopPage } = await user.elsewhere().browser.get(stop);
    assert.match(stopPage, sentence('recovery.stop.what'), 'the first still works');
    // When it was asked for, however late the mail is read.
    const [, shown = ''] = /<time datetime="([^"]+)"[^>]*data-time="exact"/.exec(stopPage) ?? [];
    assert.ok(Math.abs(Date.parse(shown) - askedAt) < 60_000, shown);
    await user.elsewhere().browser.get(linkIn(reminder.text, '/recover/stop'));

    signet.clock.advance(day - 120);
    await signet.runJobs();
    assert.equal((await signet.auditLog({ action: 'factor_recovery.link_sent' })).length, 0, 'a minute before');
    signet.clock.advance(120);
    await signet.runJobs();
    const mail = await signet.mailbox.next(user.email, subject('factor_recovery_link'));
    const link = linkIn(mail.text, '/recover');
    assert.equal((await signet.auditLog({ action: 'factor_recovery.link_sent', target: user.user_id })).length, 1);

    const { browser } = user.elsewhere();
    assert.match((await browser.get(link)).text, sentence('recovery.complete.submit'));
    await assertAsksForCode(user, 'reading it changes nothing');
    const wrong = await browser.post(link, { password: 'a wrong pass phrase' });
    assert.deepEqual([wrong.status, sentence('signin.wrong').test(wrong.text)], [401, true]);
    const done = await browser.post(link, { password: user.password });
    assert.equal(done.location, '/signin/set-up?next=/account/security', done.text);
    assert.equal((await browser.get(done.location)).location, '/account/security', 'where none is required');
    const state = (await browser.get('/v1/me/2fa')).json;
    assert.deepEqual(
      [state?.enabled, state?.methods, state?.passkeys],
      [false, [], { count: 0 }],
      'app, codes and passkeys are gone',
    );
    assert.equal((await keeper.browser.get('/v1/me')).status, 401, 'all sessions have ended');
    assert.equal((await client.refresh(refresh_token)).status, 400, 'and all grants');
    await signet.mailbox.next(user.email, subject('factors_recovered'));
    const [completed] = await signet.auditLog({ action: 'factor_recovery.completed', target: user.user_id });
    assert.match(String(completed?.before_state), /"passkeys":1/);
    await spent(browser, link, { password: user.password });
    await spent(browser, linkIn(reminder.text, '/recover/stop'));
    assert.equal((await user.elsewhere().signIn()).location, '/account', 'the password alone signs in');

    const [{ n } = { n: 1 }] = await plain(signet.deps.db).all<{ n: number }>(
      'select count(*) as n from factor_recoveries',
    );
    assert.equal(Number(n), 0);
    const kept = signet.logLines.join('\n');
    for (const one of [stop, link]) assert.ok(!kept.includes(one.slice(-30)), 'no secret in the log');
  },
);

onBothEngines('the factor that the operator requires is set up in the sign-in that follows', async (t, engine) => {
  const it = await world(t, engine, { SIGNET_SECOND_FACTOR: 'required' });
  const { link } = await waited(it);
  const { browser } = it.user.elsewhere();
  const done = await browser.post(link, { password: it.user.password });
  const page = await browser.get(done.location);
  assert.equal(page.status, 200);
  assert.match(page.text, sentence('set_up.title'));
});

/** What ends a request before its end, of one that was asked for. The keeper is signed in elsewhere with both factors. */
const endings: Readonly<Record<string, (world: World & { keeper: TestUser; stop: string }) => Promise<unknown>>> = {
  'its link is used': async ({ user, stop, signet }) => {
    const { browser } = user.elsewhere();
    const stopped = await browser.post(stop);
    assert.match(stopped.text, sentence('recovery.stopped.what'));
    await signet.mailbox.next(user.email, subject('factor_recovery_stopped'));
    await spent(browser, stop);
  },
  'a code of the app signs in': async ({ user, app }) =>
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).location, '/account'),
  'a backup code signs in': async ({ user, app }) =>
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.backup_codes[2]!)).location, '/account'),
  'the password is changed in a session with the factor': async ({ keeper }) =>
    assert.equal((await keeper.browser.postJson('/v1/me/password', { password: newPassword })).status, 204),
  'the password is reset': async ({ signet, user }) => {
    const { browser } = user.elsewhere();
    await browser.post('/reset', { email: user.email });
    const mail = await signet.mailbox.next(user.email, sentence('mail.reset.subject'));
    assert.equal(
      (await browser.post(linkIn(mail.text, '/reset'), { password: newPassword })).location,
      '/signin/second-factor',
    );
  },
  'backup codes are made again': async ({ keeper }) =>
    assert.equal((await keeper.browser.postEmpty('/v1/me/2fa/backup-codes')).status, 200),
  'a passkey is added': ({ keeper }) => keeper.addPasskey(),
  'the user signs out everywhere else': ({ keeper }) => keeper.browser.delete('/v1/me/sessions'),
  'its user stops it, who is signed in': async ({ signet, keeper, user }) => {
    assert.match((await keeper.browser.get('/account/security')).text, sentence('recovery.stop.what'));
    const { text } = await keeper.browser.post('/account/security/recovery/stop');
    assert.match(text, sentence('recovery.stopped.what'));
    assert.doesNotMatch((await keeper.browser.get('/account/security')).text, /id="factor-recovery"/);
    assert.equal((await keeper.browser.post('/account/security/recovery/stop')).location, '/account/security');
    await signet.mailbox.next(user.email, subject('factor_recovery_stopped'));
  },
  'an administrator stops it': async ({ signet, user }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const api = `/v1/admin/users/${user.user_id}/factor-recovery`;
    const shown = (await root.browser.get(api)).json?.factor_recovery as Record<string, unknown>;
    assert.equal(Number(shown.due_at) - Number(shown.requested_at), 7 * day);
    assert.match((await root.browser.get(`/admin/users/${user.user_id}`)).text, /id="factor-recovery"/);
    assert.equal((await root.browser.delete(api, { reason: 'Not hers.' })).status, 204);
    assert.equal((await root.browser.delete(api, { reason: 'Not hers.' })).status, 404);
    assert.equal((await root.browser.get(api)).json?.factor_recovery, null);
    assert.doesNotMatch((await root.browser.get(`/admin/users/${user.user_id}`)).text, /id="factor-recovery"/);
    const [stopped] = await signet.auditLog({ action: 'factor_recovery.stopped', reason: 'Not hers.' });
    assert.equal(stopped?.actor, `user:${root.user_id}`);
    await signet.mailbox.next(user.email, subject('factor_recovery_stopped'));
  },
  'an administrator stops it on the page': async ({ signet, user }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const page = `/admin/users/${user.user_id}`;
    const { location } = await root.browser.post(`${page}/factor-recovery/stop`, { reason: 'Not hers.' });
    assert.match((await root.browser.get(location)).text, sentence('admin.users.done.recovery_stopped'));
  },
  'an administrator signs the user out everywhere': async ({ signet, user }) => {
    const root = await signet.signedInUser({ role: 'admin' });
    await root.browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, { reason: 'Asked.' });
  },
  'the account is disabled': async ({ signet, user }) => {
    await disableUser(signet.deps, administrator, user.user_id);
    await enableUser(signet.deps, administrator, user.user_id);
  },
};

for (const [name, end] of Object.entries(endings)) {
  onBothEngines(`a request ends when ${name}, and its link never comes`, async (t, engine) => {
    const it = await world(t, engine);
    const { signet, user, app } = it;
    const keeper = await user.awaitingSecondFactor();
    await keeper.giveCode(app.code());
    const stop = await asked(it);
    await end({ ...it, keeper, stop });
    assert.equal((await signet.auditLog({ action: 'factor_recovery.stopped', target: user.user_id })).length, 1);
    await spent(user.elsewhere().browser, stop);
    const isNewPassword = /password is/.test(name);
    const again = isNewPassword ? user.with({ password: newPassword }) : user;
    const page = await ask(again);
    // A new password is none that the attacker knows.
    assert.equal(isUnderWay(page), isNewPassword, page);
    if (!isNewPassword) {
      assert.match(page, /id="recovery-paused"/);
      signet.clock.advance(7 * day - 600);
      assert.ok(!isUnderWay(await ask(again)), 'not within a week');
      signet.clock.advance(1200);
      await signet.runJobs();
      assert.equal((await signet.auditLog({ action: 'factor_recovery.link_sent' })).length, 0);
      assert.ok(isUnderWay(await ask(again)), 'after a week');
    }
  });
}

onBothEngines('what ends it after the link was mailed ends the link', async (t, engine) => {
  const it = await world(t, engine);
  const { signet, user, app } = it;
  const { link } = await waited(it);
  await (await user.awaitingSecondFactor()).giveCode(app.code());
  await spent(user.elsewhere().browser, link);
  await spent(user.elsewhere().browser, link, { password: user.password });
  await assertAsksForCode(user);
  assert.equal((await signet.auditLog({ action: 'factor_recovery.completed' })).length, 0);
});

onBothEngines('the mailed link also stops it, and works for a week', async (t, engine) => {
  const it = await world(t, engine);
  const { signet, user } = it;
  const { link } = await waited(it);
  const stop = link.replace('/recover/', '/recover/stop/');
  const { browser } = user.elsewhere();
  assert.match((await browser.post(stop)).text, sentence('recovery.stopped.title'));
  await spent(browser, link, { password: user.password });

  signet.clock.advance(8 * day);
  const second = await waited(it);
  signet.clock.advance(7 * day - 60);
  assert.equal((await browser.get(second.link)).status, 200);
  signet.clock.advance(120);
  await spent(browser, second.link, { password: user.password });
  await signet.runJobs();
  assert.ok(isUnderWay(await ask(user)), 'one that ran out may be asked for again');
});

/** Whom it is not for, although the password is right. */
const refused: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'an administrator': ({ signet, user }) =>
    plain(signet.deps.db).run(`update users set role = 'admin' where user_id = '${user.user_id}'`),
  'a user of a lesser role': ({ signet, user }) =>
    plain(signet.deps.db).run(`update users set role = 'support' where user_id = '${user.user_id}'`),
  'an address that was not confirmed': ({ signet, user }) =>
    plain(signet.deps.db).run(`update users set email_verified_at = null where user_id = '${user.user_id}'`),
};

for (const [whom, make] of Object.entries(refused)) {
  onBothEngines(`it is refused for ${whom}, at the beginning and at the end`, async (t, engine) => {
    const it = await world(t, engine);
    await make(it);
    const page = await ask(it.user);
    assert.match(page, sentence('recovery.impossible'));
    assert.equal((await it.signet.auditLog({ action: 'factor_recovery.requested' })).length, 0);

    const other = await world(t, engine);
    const { link } = await waited(other);
    await make(other);
    await spent(other.user.elsewhere().browser, link, { password: other.user.password });
  });
}

onBothEngines('one whose account is another by the time of the mail ends, and no link is mailed', async (t, engine) => {
  const it = await world(t, engine);
  const { signet, user } = it;
  await asked(it);
  await plain(signet.deps.db).run(`update users set role = 'reviewer' where user_id = '${user.user_id}'`);
  signet.clock.advance(8 * day);
  await signet.runJobs();
  const [ended] = await signet.auditLog({ action: 'factor_recovery.stopped', target: user.user_id });
  assert.deepEqual([ended?.actor, ended?.reason], ['system', 'account_changed']);
  assert.equal((await signet.auditLog({ action: 'factor_recovery.link_sent' })).length, 0);
});

onBothEngines('it is off by default, and an operator who ends it ends what is under way', async (t, engine) => {
  const it = await world(t, engine);
  const { signet, user } = it;
  const { link } = await waited(it);
  const off = await startSignet(t, { engine, beside: signet, mail: true });
  assert.equal((await off.newBrowser().get(link)).status, 404);
  const other = await signet.newUser();
  const waiting = user.with({ browser: off.newBrowser() });
  const origin = { origin: signet.url };
  assert.equal((await waiting.signIn({}, origin)).location, '/signin/second-factor');
  const page = await waiting.browser.get('/signin/second-factor');
  assert.match(page.text, /id="lost-both"/);
  assert.doesNotMatch(page.text, /id="lost-recovery"/);
  assert.equal((await waiting.browser.get(path)).status, 404);
  assert.ok(other);
});

onBothEngines('nobody asks without the password, and one request is all there is of a user', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  const { browser } = user.elsewhere();
  assert.equal((await browser.post(path)).location, '/signin?stay=1');
  const waiting = await Promise.all(Array.from({ length: 5 }, () => user.awaitingSecondFactor()));
  await Promise.all(waiting.map((one) => one.browser.post(path)));
  await signet.runJobs();
  assert.equal((await signet.auditLog({ action: 'factor_recovery.requested' })).length, 1);
  const mails = signet.mailbox.mails.filter((one) => subject('factor_recovery').test(one.subject));
  assert.equal(mails.length, 1);
  for (const made of ['/recover/ln_x', `/recover/ln_${'a'.repeat(43)}`, `/recover/stop/ln_${'a'.repeat(43)}`])
    await spent(browser, made);
});

onBothEngines('the mails say who, when and where, in the language of the user', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  await plain(signet.deps.db).run(`update users set locale = 'de' where user_id = '${user.user_id}'`);
  await ask(user);
  const mail = await signet.mailbox.next(user.email);
  const german = message('mail.factor_recovery.subject', { service: 'Signet' }, 'de');
  const first = mail.subject === german ? mail : await signet.mailbox.next(user.email, new RegExp(german));
  assert.match(first.text, /127\.0\.0\.1/);
  assert.match(first.text, /UTC/);
});

onBothEngines('the notice goes to the addresses that providers have verified, and to no others', async (t, engine) => {
  const { signet, user } = await world(t, engine);
  const at = Math.floor(signet.clock() / 1000);
  for (const [place, verified] of [
    ['verified', at],
    ['unverified', null],
  ] as const)
    await plain(signet.deps.db).run(
      `insert into identities (issuer, subject, user_id, provider, email, linked_at, last_used_at, email_verified_at)
       values ($1, '1', $2, 'acme', $3, $4, $4, $5)`,
      [`https://${place}.example.com`, user.user_id, `${place}@example.org`, at, verified],
    );
  await ask(user);
  const elsewhere = await signet.mailbox.next('verified@example.org', subject('factor_recovery'));
  await signet.mailbox.next(user.email, subject('factor_recovery'));
  const stopped = await user.elsewhere().browser.post(linkIn(elsewhere.text, '/recover/stop'));
  assert.match(stopped.text, sentence('recovery.stopped.title'), 'its link stops it');
  await signet.mailbox.next('verified@example.org', subject('factor_recovery_stopped'));
  assert.ok(!signet.mailbox.recipients.includes('unverified@example.org'));
});

onBothEngines('a trusted browser is not the factor that was lost: its sign-in ends nothing', async (t, engine) => {
  const it = await world(t, engine, { SIGNET_TRUSTED_BROWSER_DAYS: '30' });
  const { signet, user, app } = it;
  const trusting = await user.awaitingSecondFactor(user.browser);
  await trusting.browser.post('/signin/second-factor', { code: app.code(), trust: 'yes' });
  await user.browser.post('/signout');
  const stop = await asked(it);
  assert.equal((await user.signIn()).location, '/account');
  assert.equal((await user.elsewhere().browser.get(stop)).status, 200);
  assert.equal((await signet.auditLog({ action: 'factor_recovery.stopped' })).length, 0);
});

onBothEngines('of a removal and what ends it at the same moment, exactly one happens', async (t, engine) => {
  const it = await world(t, engine, { SIGNET_RATE_LIMITS: 'off' });
  const { signet, user, app } = it;
  const ends: Record<string, (links: { stop: string }) => Promise<boolean>> = {
    stop: async ({ stop }) => (await user.elsewhere().browser.post(stop)).status === 200,
    code: async () => (await (await user.awaitingSecondFactor()).giveCode(app.code())).location === '/account',
  };
  for (const [name, end] of Object.entries(ends)) {
    signet.clock.advance(30 * day);
    await signet.runJobs();
    const links = await waited(it);
    const { browser } = user.elsewhere();
    await browser.get(links.link);
    const remove = async () => (await browser.post(links.link, { password: user.password })).status === 303;
    const [removed, ended] = await Promise.all([remove(), end(links)]);
    assert.notEqual(removed, ended, `${name}: ${removed} ${ended}`);
    const asks = (await user.elsewhere().signIn()).location === '/signin/second-factor';
    assert.equal(asks, ended, name);
    if (removed) Object.assign(app, await (await user.signedInElsewhere()).enableTotp());
  }
});

onBothEngines('of removals at the same moment one happens', async (t, engine) => {
  const it = await world(t, engine, { SIGNET_RATE_LIMITS: 'off' });
  const { link } = await waited(it);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => it.user.elsewhere().browser.post(link, { password: it.user.password })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400, 400, 400]);
  assert.equal((await it.signet.auditLog({ action: 'factor_recovery.completed' })).length, 1);
});
