import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../support/browser.ts';
import { preparedSettings, refused, succeed } from '../support/command-line.ts';
import { linkIn } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';

/** Usernames that administrators give to users. */

const env = { SIGNET_RATE_LIMITS: 'off' };
const reason = 'The wiki needs one.';
const password = 'four unrelated tall words';
const day = 86_400;

async function administratorOf(signet: Signet) {
  const { browser } = await signet.signedInUser({ role: 'admin' });
  return {
    browser,
    edit: (user_id: string, body: object) => browser.patch(`/v1/admin/users/${user_id}`, { reason, ...body }),
    invite: (email: string, body: object) => browser.postJson('/v1/admin/users/invite', { email, reason, ...body }),
  };
}

function assertTaken(answer: Answer) {
  const { error, current_status, fields } = answer.json ?? {};
  assert.deepEqual([answer.status, error, current_status], [409, 'invalid_state', 'taken'], answer.text);
  assert.deepEqual(
    (fields as { path: string }[]).map(({ path }) => path),
    ['preferred_username'],
  );
  assert.match(answer.text, sentence('problem.profile.preferred_username.taken'));
}

testSignet('a username that an administrator gives is what apps receive', { env }, async ({ signet }) => {
  const admin = await administratorOf(signet);
  const [ada, eve] = [await signet.signedInUser(), await signet.signedInUser()];
  const { access_token } = await ada.obtainTokens(await signet.registerClient(), { scope: 'openid profile' });
  const released = async () => (await signet.userinfo(access_token)).json?.preferred_username;
  const given = await admin.edit(ada.user_id, { preferred_username: 'Ada.King' });
  assert.deepEqual([given.status, given.json?.preferred_username], [200, 'ada.king'], given.text);
  assert.equal(await released(), 'ada.king');
  assert.equal((await ada.browser.get('/v1/me')).json?.preferred_username, 'ada.king');
  const found = (await admin.browser.get('/v1/admin/users?query=ada.king')).json?.users;
  assert.deepEqual(
    (found as { user_id: string; preferred_username: string }[]).map((one) => [one.user_id, one.preferred_username]),
    [[ada.user_id, 'ada.king']],
  );
  const log = await signet.auditLog({ target: ada.user_id, action: 'user.changed' });
  assert.deepEqual(
    log.map((event) => [event.reason, event.after_state]),
    [[reason, '{"fields":["preferred_username"]}']],
    'which field, and not what is in it',
  );

  assertTaken(await admin.edit(eve.user_id, { preferred_username: 'ADA.KING' }));
  assertTaken(await eve.browser.patch('/v1/me', { preferred_username: 'ada.king' }));
  for (const bad of ['ad', 'root', 'ada king', '']) {
    assert.equal((await admin.edit(eve.user_id, { preferred_username: bad })).status, 400, bad);
  }
  // However often an administrator changes it, as users may not.
  for (const next of ['second', 'third', 'fourth', 'fifth']) {
    assert.equal((await admin.edit(ada.user_id, { preferred_username: next })).status, 200, next);
  }
  assertTaken(await admin.edit(eve.user_id, { preferred_username: 'second' }));
  assert.equal((await admin.edit(ada.user_id, { preferred_username: null })).json?.preferred_username, null);
  assert.equal(await released(), undefined);
  signet.clock.advance(90 * day + 1);
  const later = await administratorOf(signet);
  assert.equal((await later.edit(eve.user_id, { preferred_username: 'second' })).status, 200);
});

testSignet('the page gives a username, changes and removes it', { env }, async ({ signet }) => {
  const { browser } = await administratorOf(signet);
  const user = await signet.signedInUser({ name: 'Ada' });
  const other = await signet.signedInUser();
  assert.equal((await other.browser.patch('/v1/me', { preferred_username: 'taken' })).status, 200);
  const path = `/admin/users/${user.user_id}`;
  const username = async () => (await user.browser.get('/v1/me')).json?.preferred_username;
  /** As a browser sends the form, with one field changed. */
  const send = async (preferred_username: string) => {
    const { text } = await browser.get(`${path}/edit`);
    const fields = [...text.matchAll(/<input [^>]*\bname="([a-z_]+)"[^>]* value="([^"]*)"/g)];
    const form = Object.fromEntries(fields.map(([, name, value]) => [name, value]));
    return browser.post(`${path}/edit`, { ...form, email_verified: '', preferred_username, reason });
  };
  assert.equal((await send(' ada ')).location, `${path}?done=edited`);
  assert.equal(await username(), 'ada');
  assert.match(
    (await browser.get(path)).text,
    pattern`<dt>${sentence('claim.preferred_username')}</dt><dd><bdi>ada</bdi></dd>`,
  );
  const refusal = await send('taken');
  assert.equal(refusal.status, 409);
  assert.match(refusal.text, sentence('problem.profile.preferred_username.taken'));
  assert.match(refusal.text, /<input id="preferred_username"[^>]*\s[^>]*value="taken"/);
  assert.equal(await username(), 'ada');
  assert.equal((await send('')).location, `${path}?done=edited`);
  assert.equal(await username(), null);
});

testSignet(
  'an invitation reserves its username for whoever accepts it',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const admin = await administratorOf(signet);
    const eve = await signet.signedInUser();
    const wants = (preferred_username: string) => eve.browser.patch('/v1/me', { preferred_username });
    const shown = await admin.invite('ada@join.test', { preferred_username: 'Ada' });
    assert.equal(shown.status, 200, shown.text);
    const mailed = linkIn(await mailbox.next('ada@join.test'), /^\/join\//);
    assertTaken(await wants('ada'));
    assertTaken(await admin.invite('other@join.test', { preferred_username: 'ada' }));
    assertTaken(await admin.edit(eve.user_id, { preferred_username: 'ada' }));
    assert.equal((await admin.invite('bad@join.test', { preferred_username: 'root' })).status, 400);
    const { invitations } = (await admin.browser.get('/v1/admin/invitations')).json as { invitations: object[] };
    assert.deepEqual(
      invitations.map((one) => ({ ...one, invited_at: 0, expires_at: 0 })),
      [{ email: 'ada@join.test', preferred_username: 'ada', name: null, role: 'user', invited_at: 0, expires_at: 0 }],
      'nobody is invited with a username that is taken',
    );
    const [invited] = await signet.auditLog({ action: 'user.invited' });
    assert.match(String(invited?.after_state), /"fields":\["preferred_username"\]/);

    const browser = signet.newBrowser();
    const said = pattern`${sentence('join.username', { username: '<strong>ada</strong>' })}`;
    assert.match((await browser.get(mailed)).text, said);
    assert.equal((await browser.post(mailed, { name: 'Ada', password })).status, 303);
    const me = (await browser.get('/v1/me')).json;
    assert.deepEqual([me?.email, me?.preferred_username], ['ada@join.test', 'ada']);
    const found = (await admin.browser.get('/v1/admin/users?query=ada')).json?.users as { user_id: string }[];
    assert.deepEqual(
      found.map(({ user_id }) => user_id),
      [me?.user_id],
    );
    assertTaken(await wants('ada'));
  },
);

testSignet('a username is free again when its invitation is revoked or has expired', { env }, async ({ signet }) => {
  const admin = await administratorOf(signet);
  const eve = await signet.signedInUser();
  const wants = (preferred_username: string | null) => eve.browser.patch('/v1/me', { preferred_username });
  const form = (email: string, more = {}) => ({ email, locale: 'en', reason, ...more });
  assert.equal(
    (await admin.browser.post('/admin/users/invite', form('a@x.test', { preferred_username: 'first' }))).status,
    200,
  );
  const list = (await admin.browser.get('/admin/users/invite')).text;
  assert.match(list, pattern`${sentence('claim.preferred_username')}: first`);
  // The form that sends it again keeps the username.
  const again = form('a@x.test', { replace: 'on', preferred_username: 'first' });
  assert.match(list, /<input type="hidden" name="preferred_username" value="first">/);
  assert.equal((await admin.browser.post('/admin/users/invite', again)).status, 200);
  assertTaken(await wants('first'));
  const replaced = await admin.invite('a@x.test', { preferred_username: 'second', replace: true });
  assert.equal(replaced.status, 200, replaced.text);
  assert.equal((await wants('first')).status, 200);
  assertTaken(await wants('second'));
  assert.equal((await admin.browser.post('/admin/invitations/revoke', form('a@x.test'))).status, 303);
  assert.equal((await wants('second')).status, 200);

  assert.equal((await admin.invite('b@x.test', { preferred_username: 'third' })).status, 200);
  signet.clock.advance(7 * day - 1);
  await eve.signIn();
  await signet.runJobs();
  assertTaken(await wants('third'));
  signet.clock.advance(1);
  assert.equal((await wants('third')).status, 200);
  assert.equal((await admin.browser.get('/v1/me')).status, 401, 'the session of the administrator has ended');
  const next = await administratorOf(signet);
  assert.equal((await next.invite('b@x.test', { preferred_username: 'never' })).status, 200);
  signet.clock.advance(7 * day + 301); // longer for a node whose clock is behind
  await signet.runJobs();
  assert.deepEqual(await plain(signet.deps.db).all(`select user_id from handles where user_id like 'inv%'`), []);
});

test('commands create, invite and edit users with a username', async (t) => {
  const settings = await preparedSettings(t);
  const create = (email: string, username: string) => [
    'users',
    'create',
    '--email',
    email,
    '--name',
    'Ada',
    '--username',
    username,
    '--password-stdin',
  ];
  const made = await succeed(create('ada@example.com', 'Ada'), settings, password);
  assert.equal(made.preferred_username, 'ada');
  await refused(
    create('b@example.com', 'ada'),
    settings,
    sentence('problem.profile.preferred_username.taken'),
    password,
  );
  await refused(create('b@example.com', 'x'), settings, sentence('problem.profile.preferred_username'), password);
  await refused(['users', 'show', 'b@example.com'], settings, /Not found/);
  const edit = ['users', 'edit', 'ada@example.com', '--reason', 'x', '--username'];
  assert.equal((await succeed([...edit, 'countess'], settings)).preferred_username, 'countess');
  assert.equal((await succeed([...edit, ''], settings)).preferred_username, null);
  await succeed(['users', 'invite', 'c@example.com', '--username', 'charles'], settings);
  const { invitations } = await succeed(['invitations', 'list'], settings);
  assert.equal((invitations as { preferred_username: string }[])[0]?.preferred_username, 'charles');
  await refused([...edit, 'charles'], settings, sentence('problem.profile.preferred_username.taken'));
});
