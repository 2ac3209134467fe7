import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newBrowser } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { withRole } from '../support/roles.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

/** What administrators do to accounts on their owners' behalf. */

const env = { SIGNET_RATE_LIMITS: 'off' };
const reason = 'Asked for by phone.';
const password = 'four unrelated tall words';

async function administratorOf(signet: Signet) {
  const admin = await signet.signedInUser({ role: 'admin' });
  const send = (method: string, path: string, body?: object) =>
    admin.browser.send(`/v1/admin/users${path}`, {
      method,
      headers: { origin: signet.url, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
  return Object.assign(admin, { send });
}

const pathOf = (signet: Signet, url: unknown) => String(url).replace(signet.url, '');

testSignet(
  'an invited person creates one account, whose address is verified by the mailed link alone',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const root = await administratorOf(signet);
    const invite = (email: string) => root.send('POST', '/invite', { email, reason });
    const [shown, mailed] = [await invite('ada@join.test'), await invite('bo@join.test')];
    assert.deepEqual([shown.status, shown.json?.mailed], [200, true], shown.text);
    const mail = await mailbox.next('bo@join.test', sentence('mail.invitation.subject'));
    assert.ok(!mail.text.includes(String(mailed.json?.url)), 'the administrator holds another link than the mailbox');
    for (const [path, email, verified] of [
      [pathOf(signet, shown.json?.url), 'ada@join.test', false],
      [linkIn(mail, /^\/join\//), 'bo@join.test', true],
    ] as const) {
      const browser = newBrowser(signet.url);
      assert.ok((await browser.get(path)).text.includes(email));
      const weak = await browser.post(path, { name: 'New', password: 'short' });
      assert.equal(weak.status, 400, 'the link is not used up');
      const made = await browser.post(path, { name: 'New', password });
      assert.deepEqual([made.status, made.location], [303, '/account'], made.text);
      const { json } = await browser.get('/v1/me');
      assert.deepEqual([json?.email, json?.email_verified, json?.role], [email, verified, 'user']);
      assert.match((await newBrowser(signet.url).get(path)).text, sentence('link.spent.invitation'));
    }
    const other = await newBrowser(signet.url).get(pathOf(signet, mailed.json?.url));
    assert.match(other.text, sentence('link.spent.invitation'), 'the account has used up the other link, too');

    const taken = await invite('ADA@join.test');
    assert.deepEqual([taken.status, taken.json?.error, taken.json?.current_status], [409, 'invalid_state', 'taken']);
    assert.match(taken.text, sentence('problem.email.taken'));
    const late = await invite('late@join.test');
    signet.clock.advance(7 * 86_400);
    assert.match(
      (await newBrowser(signet.url).get(pathOf(signet, late.json?.url))).text,
      sentence('link.spent.invitation'),
    );
    const [event] = await signet.auditLog({ action: 'user.invited', reason });
    assert.equal(event?.actor, `user:${root.user_id}`);
    assert.deepEqual(JSON.parse(String(event?.after_state)), {
      email: 'late@join.test',
      expires_at: late.json?.expires_at,
    });
    assert.doesNotMatch(JSON.stringify(await signet.auditLog({})), /\bln_[\w-]{43}/);
  },
);

testSignet(
  'a reset link sets one password, proves no address, and leaves the second factor',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const root = await administratorOf(signet);
    const user = await signet.signedInUser({ emailVerified: false });
    const totp = await user.enableTotp();
    const create = async () =>
      pathOf(signet, (await root.send('POST', `/${user.user_id}/reset-link`, { reason })).json?.url);
    const first = await create();
    assert.doesNotMatch(
      (await mailbox.next(user.email, sentence('mail.reset_link_created.subject'))).text,
      /\/reset\//,
    );
    const link = await create();
    const browser = newBrowser(signet.url);
    assert.match((await browser.get(first)).text, sentence('link.spent.password_reset'), 'replaced');

    // Any visitor may request a link by mail. It does not replace the administrator's, nor the other way round.
    await browser.post('/reset', { email: user.email });
    const requested = linkIn(await mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\//);
    const done = await browser.post(link, { password });
    assert.equal(done.location, '/signin/second-factor', done.text);
    assert.equal((await user.browser.get('/v1/me')).status, 401, 'signed out everywhere');
    await mailbox.next(user.email, sentence('mail.password_reset_admin.subject'));
    for (const one of [link, requested]) {
      assert.match((await browser.get(one)).text, sentence('link.spent.password_reset'));
    }
    const again = user.with({ password, browser });
    signet.clock.advance(30);
    assert.equal((await again.giveCode(totp.code())).location, '/account');
    assert.equal((await browser.get('/v1/me')).json?.email_verified, false);

    const late = await create();
    signet.clock.advance(1800);
    assert.match((await browser.get(late)).text, sentence('link.spent.password_reset'));
    await root.signIn();
    const unused = await create();
    assert.equal((await root.send('PUT', `/${user.user_id}/role`, { role: 'admin' })).status, 200);
    assert.match(
      (await browser.get(unused)).text,
      sentence('link.spent.password_reset'),
      'no link to an administrator',
    );
  },
);

testSignet(
  'an address is changed or marked as verified, and the old one loses its links and is notified',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const root = await administratorOf(signet);
    const user = await signet.signedInUser({ email: 'old@edit.test', emailVerified: false });
    const other = await signet.newUser();
    const edit = (body: object) => root.send('PATCH', `/${user.user_id}`, { reason, ...body });
    await newBrowser(signet.url).post('/reset', { email: 'old@edit.test' });
    const link = linkIn(await mailbox.next('old@edit.test', sentence('mail.reset.subject')), /^\/reset\//);

    assert.equal((await edit({ email_verified: true })).json?.email_verified, true);
    const named = await edit({ name: 'Zoë New', email: 'OLD@edit.test' });
    assert.deepEqual(
      [named.json?.name, named.json?.email, named.json?.email_verified],
      ['Zoë New', 'OLD@edit.test', true],
      'the same mailbox',
    );
    for (const [status, body, key] of [
      [409, { email: other.email.toUpperCase() }, 'problem.email.taken'],
      [400, { email: 'nowhere' }, 'problem.email.malformed'],
      [400, { name: ' ' }, 'problem.name'],
    ] as const) {
      const refusal = await edit(body);
      assert.equal(refusal.status, status, refusal.text);
      assert.equal(refusal.json?.current_status, status === 409 ? 'taken' : undefined);
      assert.match(refusal.text, sentence(key));
    }
    assert.equal((await edit({ reason: '' })).status, 400);
    const moved = await edit({ email: 'new@edit.test' });
    assert.deepEqual([moved.json?.email, moved.json?.email_verified], ['new@edit.test', false], moved.text);
    const mail = await mailbox.next('OLD@edit.test', sentence('mail.email_changed_admin.subject'));
    assert.match(mail.text, /new@edit\.test/);
    assert.match((await newBrowser(signet.url).get(link)).text, sentence('link.spent.password_reset'));
    assert.equal((await user.browser.get('/v1/me')).json?.email, 'new@edit.test', 'sessions stay');
    // A page that was drawn before changes only what was touched on it.
    const page = (await root.browser.get(`/admin/users/${user.user_id}/edit`)).text;
    const shown = Object.fromEntries(
      [...page.matchAll(/ name="((?:shown_)?(?:name|email))"[^>]* value="([^"]*)"/g)].map(([, key, value]) => [
        key,
        value,
      ]),
    );
    assert.deepEqual(Object.keys(shown).sort(), ['email', 'name', 'shown_email', 'shown_name']);
    await edit({ email: 'newer@edit.test' });
    await root.browser.post(`/admin/users/${user.user_id}/edit`, { ...shown, name: 'Zoë Newer', reason });
    const { json: edited } = await user.browser.get('/v1/me');
    assert.deepEqual([edited?.name, edited?.email], ['Zoë Newer', 'newer@edit.test']);
    const { json } = await root.browser.get('/v1/admin/users?query=zoe+newer%40edit');
    assert.deepEqual(
      ((json?.users ?? []) as { user_id: string }[]).map(({ user_id }) => user_id),
      [user.user_id],
    );
    const actions = (await signet.auditLog({ target: user.user_id, reason })).map(({ action }) => action);
    assert.deepEqual(actions.sort(), [
      'email.changed',
      'email.changed',
      'email.changed',
      'email.verified',
      'user.changed',
      'user.changed',
    ]);
  },
);

test('no administrator takes over another, nor their own account, by a link or an address', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const [other, demoted] = [await signet.signedInUser({ role: 'admin' }), await signet.signedInUser({ role: 'admin' })];
  assert.equal((await root.send('PUT', `/${demoted.user_id}/role`, { role: 'user' })).status, 200);
  for (const { user_id, email } of [root, other, demoted]) {
    for (const [method, path, body] of [
      ['POST', '/reset-link', {}],
      ['PATCH', '', { email: 'evil@takeover.test' }],
      ['PATCH', '', { email, email_verified: true }],
    ] as const) {
      const answer = await root.send(method, `/${user_id}${path}`, { reason, ...body });
      const isVerifiedAlready = 'email_verified' in body;
      assert.equal(answer.status, isVerifiedAlready ? 200 : 403, answer.text);
    }
    assert.equal((await root.send('PATCH', `/${user_id}`, { reason, name: 'Renamed' })).status, 200);
    const page = await root.browser.get(`/admin/users/${user_id}/edit`);
    assert.doesNotMatch(page.text, /name="email"/, 'no field that could only fail');
  }
  assert.deepEqual(await signet.auditLog({ action: 'password.reset_link_created' }), []);
  signet.clock.advance(86_400);
  await root.signIn();
  assert.equal((await root.send('POST', `/${demoted.user_id}/reset-link`, { reason })).status, 200);

  // With the link they could have entered and edited as the owner: so another administrator approves the owner's client.
  const { client_id } = await signet.registerClient({ owner: demoted, approved: false });
  const approve = (by: typeof root) =>
    by.browser.postJson(`/v1/admin/clients/${client_id}/approve`, { revision: 1, consent: 'required' });
  const own = await approve(root);
  assert.equal(own.status, 403);
  assert.match(own.text, sentence('clients.own_access'));
  await other.signIn();
  assert.equal((await approve(Object.assign(other, { send: root.send }))).status, 200);

  const disabled = await root.send('POST', `/${demoted.user_id}/disable`, { reason });
  assert.equal(disabled.status, 200);
  const answer = await root.send('POST', `/${demoted.user_id}/reset-link`, { reason });
  assert.deepEqual([answer.status, answer.json?.current_status], [409, 'disabled'], answer.text);
});

testSignet(
  'an administrator deletes an account by its address, but neither their own nor the last one',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const root = await administratorOf(signet);
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const tokens = await user.obtainTokens(client);
    const remove = ({ user_id }: { user_id: string }, email: string) =>
      root.send('DELETE', `/${user_id}`, { email, reason });
    const wrong = await remove(user, root.email);
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, sentence('problem.email.other'));
    assert.equal((await remove(root, root.email)).status, 403);
    assert.equal((await remove(user, user.email)).status, 204);
    assert.equal((await remove(user, user.email)).status, 404);
    assert.equal((await user.browser.get('/v1/me')).status, 401);
    assert.deepEqual((await client.introspect(tokens.access_token)).json, { active: false });
    assert.equal((await root.browser.get(`/v1/admin/clients/${client.client_id}`)).json?.owner, null);
    await mailbox.next(user.email, sentence('mail.account_deleted_admin.subject'));
    const [event] = await signet.auditLog({ action: 'user.deleted' });
    assert.deepEqual([event?.actor, event?.target, event?.reason], [`user:${root.user_id}`, user.user_id, reason]);

    // Two administrators who delete each other at once: one of them is left.
    const other = await administratorOf(signet);
    const answers = await Promise.all([
      remove(other, other.email),
      other.send('DELETE', `/${root.user_id}`, { email: root.email, reason }),
    ]);
    assert.equal(answers.filter(({ status }) => status === 204).length, 1, answers.map(({ text }) => text).join());
  },
);

test('invitations and reset links work on a server that sends no mail, and their pages show them once', async (t) => {
  const origin = 'https://id.example.com';
  const signet = await startSignet(t, { env: { ...env, SIGNET_BASE_URL: origin, SIGNET_SIGN_UP: 'off' } });
  const openBrowser = () => newBrowser(`http://localhost:${signet.deps.config.port}`);
  const [admin, user] = [await signet.newUser({ role: 'admin' }), await signet.newUser({ name: 'Nora Quist' })];
  const browser = openBrowser();
  const post = (path: string, fields: Record<string, string>, by = browser) => by.post(path, fields, { origin });
  await post('/signin', { username: admin.email, password: admin.password });
  const one = `/admin/users/${user.user_id}`;
  const invited = await post('/admin/users/invite', { email: 'ada@join.test', locale: 'de', reason });
  assert.equal(invited.status, 200, invited.text);
  assert.match(invited.text, sentence('admin.users.invite.not_mailed'));
  const linked = await post(`${one}/reset-link`, { reason });
  assert.match(linked.text, pattern`<h1>${sentence('admin.users.reset_link.done', { name: 'Nora Quist' })}`);
  for (const { text } of [invited, linked]) {
    const [, path = ''] = /https:\/\/id\.example\.com(\/(?:join|reset)\/ln_[\w-]+)</.exec(text) ?? [];
    const another = openBrowser();
    const opened = await another.get(path);
    assert.equal(opened.status, 200, opened.text);
    const used = await post(path, { name: 'Ada', password }, another);
    assert.deepEqual([used.status, used.location], [303, '/account'], used.text);
  }
  assert.equal((await browser.get('/reset')).status, 404);
  const malformed = await post('/admin/users/invite', { email: 'nowhere', reason });
  assert.match(malformed.text, sentence('problem.email.malformed'));
  const edited = await post(`${one}/edit`, { name: 'Nora', email: 'n@x.test', reason });
  assert.equal(edited.location, `${one}?done=edited`, edited.text);
  const deleted = await post(`${one}/delete`, { email: 'n@x.test', reason });
  assert.equal(deleted.location, '/admin/users?done=deleted', deleted.text);
});

testSignet('invitations are listed while they can be used, renewed and revoked', { env, mail: true }, async (given) => {
  const { signet, mailbox } = given;
  const admin = await signet.signedInUser({ role: 'admin' });
  const invite = async (email: string, more = {}) => {
    const answer = await admin.browser.postJson('/v1/admin/users/invite', { email, reason, ...more });
    assert.equal(answer.status, 200, answer.text);
    signet.clock.advance(1);
    return new URL(String(answer.json?.url)).pathname;
  };
  const pending = async () => {
    const seen: unknown[] = [];
    for (let next: unknown = ''; next !== null; ) {
      const { json = {} } = await admin.browser.get(`/v1/admin/invitations?limit=1${next && `&after=${next}`}`);
      seen.push(...(json.invitations as { email: string }[]).map(({ email }) => email));
      next = json?.next;
    }
    return seen;
  };
  const opens = async (path: string) => (await signet.newBrowser().get(path)).status === 200;

  const first = await invite('nina@join.test');
  const mailed = linkIn(await mailbox.next('nina@join.test'), /^\/join\//);
  const other = await invite('otto@join.test');
  const used = await invite('used@join.test');
  const by = linkIn(await mailbox.next('used@join.test'), /^\/join\//);
  assert.equal((await signet.newBrowser().post(by, { name: 'Used', password })).status, 303);
  assert.deepEqual(await pending(), ['otto@join.test', 'nina@join.test'], 'the other link made the account');
  assert.equal(await opens(used), false);

  const again = await invite('nina@join.test', { replace: true });
  assert.deepEqual([await opens(first), await opens(mailed), await opens(again)], [false, false, true]);
  assert.deepEqual(await pending(), ['nina@join.test', 'otto@join.test']);

  const page = '/admin/users/invite';
  const shown = (await admin.browser.get(page)).text;
  assert.match(shown, /<bdi>otto@join\.test<\/bdi>/);
  assert.doesNotMatch(shown, /used@join|ln_/);
  const form = { email: 'otto@join.test', reason };
  const revoked = await admin.browser.post('/admin/invitations/revoke', form);
  assert.equal(revoked.location, `${page}?done=invitation_revoked`, revoked.text);
  assert.match((await admin.browser.get(revoked.location)).text, sentence('admin.users.done.invitation_revoked'));
  assert.deepEqual([await opens(other), await pending()], [false, ['nina@join.test']]);
  assert.equal((await admin.browser.postJson('/v1/admin/invitations/revoke', form)).status, 404);
  const [event] = await signet.auditLog({ action: 'user.invitation_revoked' });
  assert.deepEqual([event?.actor, event?.reason], [`user:${admin.user_id}`, reason]);
  signet.clock.advance(8 * 86_400);
  await admin.signIn();
  assert.deepEqual(await pending(), []);
});

testSignet(
  'the page of a user has a menu of its parts with their counts, and what destroys is at its end',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    await user.obtainTokens(client);
    const { text } = await admin.browser.get(`/admin/users/${user.user_id}`);
    const [, menu = ''] = /<nav class="sections".*?>(.*?)<\/nav>/s.exec(text) ?? [];
    const entries = [...menu.matchAll(/href="#([\w-]+)">([^<]+)</g)].map(([, id = '', label = '']) => ({ id, label }));
    for (const { id } of entries) assert.equal(text.split(`id="${id}"`).length, 2, `${id} is there, once`);
    const counted = (key: Parameters<typeof message>[0], count: number) => `${message(key)} (${count})`;
    for (const label of [
      counted('admin.users.groups', 0),
      counted('admin.users.sessions', 1),
      counted('admin.users.grants', 1),
      counted('admin.users.clients', 1),
    ])
      assert.ok(
        entries.some((one) => one.label === label),
        `${label} in ${menu}`,
      );
    assert.equal(entries.at(-1)?.id, 'danger-zone');
    const [, rest = ''] = text.split('class="danger-zone"');
    for (const act of ['disable', 'reset-factors', 'delete']) assert.match(rest, new RegExp(`/${act}"`), act);
    assert.doesNotMatch(rest, /<h2(?! id="danger-zone")/, 'nothing comes after it');
    assert.doesNotMatch(text, /id="user-administered"/);
    const own = (await admin.browser.get(`/admin/users/${admin.user_id}`)).text;
    const [, path = ''] = /href="([^"]+)" id="user-administered"/.exec(own) ?? [];
    assert.equal((await admin.browser.get(path.replaceAll('&amp;', '&'))).status, 200);
    const auditor = await withRole(signet, 'auditor');
    const read = (await auditor.browser.get(`/admin/users/${user.user_id}`)).text;
    assert.match(read, /href="#sessions"/);
    assert.doesNotMatch(read, /href="#(?:actions|danger-zone)"/, 'who may change nothing');
  },
);
