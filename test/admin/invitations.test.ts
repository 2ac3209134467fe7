import assert from 'node:assert/strict';
import { newAdministratorUntil } from '../../src/accounts/administrators.ts';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { onBothEngines } from '../support/databases.ts';
import { linkIn } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const password = 'ordinary words in a row';

async function join(signet: Signet, path: string, fields: Record<string, string> = {}) {
  const browser = signet.newBrowser();
  const form = await browser.get(path);
  assert.equal(form.status, 200, form.text);
  const [, name = ''] = /<input id="name"[^>]* value="([^"]*)"/.exec(form.text) ?? [];
  const answer = await browser.post(path, { name, password, ...fields });
  assert.equal(answer.status, 303, answer.text);
  return { browser, form, me: (await browser.get('/v1/me')).json };
}

testSignet(
  'a colleague is invited with a name and as an administrator, without a reason; every administrator is notified',
  { mail: true },
  async ({ signet, mailbox }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const fields = { email: 'ada@join.test', name: ' Ada Lovelace ', role: 'admin', locale: 'en' };
    const made = await admin.browser.post('/admin/users/invite', fields);
    assert.equal(made.status, 200, made.text);
    const list = (await admin.browser.get('/admin/users/invite')).text;
    assert.match(list, sentence('admin.users.administrator'));
    assert.match(list, /<bdi>Ada Lovelace<\/bdi>/);
    assert.match(list, /name="role" value="admin"/, 'a new invitation is the same');
    const { json = {} } = await admin.browser.get('/v1/admin/invitations');
    const [invitation] = json.invitations as Record<string, unknown>[];
    assert.deepEqual([invitation?.name, invitation?.role], ['Ada Lovelace', 'admin']);
    const [event] = await signet.auditLog({ action: 'user.invited' });
    assert.equal(event?.reason, null);
    assert.equal(JSON.parse(event?.after_state ?? '').role, 'admin');

    const warned = await mailbox.next(
      admin.email,
      sentence('mail.administrator_invited.subject', { service: 'Signet' }),
    );
    assert.match(warned.text, /ada@join\.test/);

    const [, path = ''] = /(\/join\/ln_[\w-]{43})/.exec((await mailbox.next('ada@join.test')).text) ?? [];
    const { form, me } = await join(signet, path);
    assert.match(form.text, sentence('join.administrator'));
    assert.deepEqual([me?.name, me?.role, me?.email_verified], ['Ada Lovelace', 'admin', true]);
    const notified = await mailbox.next(admin.email, sentence('mail.new_administrator.subject'));
    assert.match(notified.text, /ada@join\.test/);
    const [given] = await signet.auditLog({ action: 'user.role_changed' });
    assert.deepEqual([given?.actor, given?.target], [`user:${admin.user_id}`, me?.user_id]);
    const until = await newAdministratorUntil(signet.deps, String(me?.user_id));
    assert.equal(until, signet.clock() / 1000 + 86_400, 'as one who was made an administrator');
  },
);

testSignet(
  'an invitation makes an administrator only while who has invited is one, and the name is its reader’s to change',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const other = await signet.signedInUser({ role: 'admin' });
    const invite = async (body: object) => {
      const answer = await admin.browser.postJson('/v1/admin/users/invite', body);
      assert.equal(answer.status, 200, answer.text);
      return new URL(String(answer.json?.url)).pathname;
    };
    const first = await invite({ email: 'ada@join.test', name: 'Ada', role: 'admin' });
    const second = await invite({ email: 'grace@join.test', name: 'Grace', role: 'admin' });
    const plain = await invite({ email: 'mary@join.test' });
    assert.equal((await join(signet, first, { name: 'Countess' })).me?.name, 'Countess');
    await other.browser.put(`/v1/admin/users/${admin.user_id}/role`, { role: 'user' });
    assert.equal((await join(signet, second)).me?.role, 'user');
    assert.equal((await join(signet, plain, { name: 'Mary' })).me?.role, 'user');
    for (const wrong of [{ name: '\u0007' }, { role: 'god' }, { reason: '' }, { reason: 'x'.repeat(501) }]) {
      const answer = await other.browser.postJson('/v1/admin/users/invite', { email: 'x@join.test', ...wrong });
      assert.equal(answer.status, 400, JSON.stringify(wrong));
    }
    const refused = await other.browser.post('/admin/users/invite', { email: 'x', name: 'Xena', role: 'admin' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /name="name"[^>]* value="Xena"/);
    assert.match(refused.text, /name="role" value="admin"[^>]* checked/);
  },
);

const pathOf = (answer: { status: number; text: string; json?: Record<string, unknown> | undefined }): string => {
  assert.equal(answer.status, 200, answer.text);
  return new URL(String(answer.json?.url)).pathname;
};
const inviteAs = async ({ browser }: TestUser, email: string, role: string) =>
  pathOf(await browser.postJson('/v1/admin/users/invite', { email, role }));

type Access = { signet: Signet; thief: TestUser; owner: TestUser; root: TestUser };
const reason = 'Stolen.';
/** Whatever ends the access of a thief in the account of an administrator. */
const ends: Record<string, (access: Access) => Promise<unknown>> = {
  async 'the password is reset'({ signet, owner }) {
    await signet.newBrowser().post('/reset', { email: owner.email });
    const path = linkIn(await signet.mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\/./);
    return signet.newBrowser().post(path, { password });
  },
  'the password is changed': ({ owner }) => owner.browser.postJson('/v1/me/password', { password }),
  'the owner signs out everywhere else': ({ owner }) => owner.browser.delete('/v1/me/sessions'),
  'an administrator signs the owner out': ({ owner, root }) =>
    root.browser.postJson(`/v1/admin/users/${owner.user_id}/sign-out`, { reason }),
  async 'an administrator signs the owner out, who is signed in nowhere'({ signet, owner, thief, root }) {
    for (const { browser } of [thief, owner]) await browser.post('/signout', {});
    assert.equal((await owner.browser.get('/v1/me')).status, 401);
    await root.browser.postJson(`/v1/admin/users/${owner.user_id}/sign-out`, { reason });
    const [event] = await signet.auditLog({ target: owner.user_id });
    assert.equal(event?.action, 'user.signed_out');
  },
  async 'the factors are reset of an owner who is signed in nowhere'({ owner, thief, root }) {
    for (const { browser } of [thief, owner]) await browser.post('/signout', {});
    await root.browser.postJson(`/v1/admin/users/${owner.user_id}/reset-factors`, { reason });
  },
  'the factors are reset': ({ owner, root }) =>
    root.browser.postJson(`/v1/admin/users/${owner.user_id}/reset-factors`, { reason }),
  async 'the account is disabled for a while'({ signet, owner }) {
    await disableUser(signet.deps, { actor: 'cli' }, owner.user_id);
    await enableUser(signet.deps, { actor: 'cli' }, owner.user_id);
  },
  async 'the role is lost for a while'({ owner, root }) {
    for (const role of ['user', 'admin']) await root.browser.put(`/v1/admin/users/${owner.user_id}/role`, { role });
  },
};

onBothEngines('what a thief has given as an administrator, by links, ends with that access', async (t, engine) => {
  const signet = await startSignet(t, { engine, mail: true, env: { SIGNET_RATE_LIMITS: 'off' } });
  const root = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const resetLink = async ({ browser }: TestUser) =>
    pathOf(await browser.postJson(`/v1/admin/users/${user.user_id}/reset-link`, { reason }));
  const kept = await inviteAs(root, 'kept@join.test', 'admin');
  for (const [what, end] of Object.entries(ends)) {
    await t.test(what, async () => {
      const owner = await signet.signedInUser({ role: 'admin' });
      const thief = await owner.signedInElsewhere();
      const email = `${owner.user_id.slice(4, 12).toLowerCase()}@join.test`;
      const invited = await inviteAs(thief, email, 'admin');
      const reset = await resetLink(thief);
      assert.match((await signet.newBrowser().get(invited)).text, sentence('join.administrator'));
      assert.equal((await signet.newBrowser().get(reset)).status, 200);
      await end({ signet, thief, owner, root });
      assert.doesNotMatch((await signet.newBrowser().get(invited)).text, sentence('join.administrator'));
      assert.equal((await signet.newBrowser().get(reset)).status, 400);
      const { invitations } = (await root.browser.get('/v1/admin/invitations')).json ?? {};
      const [listed] = (invitations as Record<string, unknown>[]).filter((one) => one.email === email);
      assert.equal(listed?.role, 'user');
      assert.equal((await join(signet, invited, { name: 'Mallory' })).me?.role, 'user');
    });
  }
  await t.test('page and mail say so, where there was such an invitation', async () => {
    const owner = await signet.signedInUser({ role: 'admin' });
    const said = message('password.done.invitations');
    const path = '/account/security/password';
    const change = async () => {
      const { location } = await owner.browser.post(path, { password });
      const mail = await signet.mailbox.next(owner.email, sentence('mail.password_changed.subject'));
      const { text } = await owner.browser.get(location!);
      return [text.includes(said), mail.text.replaceAll(/\s+/g, ' ').includes(said)];
    };
    await inviteAs(owner, 'ordinary@join.test', 'user');
    await resetLink(owner);
    assert.deepEqual(await change(), [false, false]);
    await inviteAs(owner, 'colleague@join.test', 'admin');
    assert.deepEqual(await change(), [true, true]);
    assert.deepEqual(await change(), [false, false], 'it is ordinary already');
    const link = await signet.newBrowser().post('/reset', { email: owner.email });
    assert.equal(link.status, 303);
    await inviteAs(owner, 'another@join.test', 'admin');
    const reset = linkIn(await signet.mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\//);
    assert.equal((await signet.newBrowser().post(reset, { password })).status, 303);
    const { text } = await signet.mailbox.next(owner.email, sentence('mail.password_reset.subject'));
    assert.ok(text.replaceAll(/\s+/g, ' ').includes(said), text);
  });
  assert.equal((await join(signet, kept, { name: 'Kim' })).me?.role, 'admin', 'what others have given stays');
  assert.equal((await signet.newBrowser().get(await resetLink(root))).status, 200);
});

onBothEngines(
  'who is invited as an administrator, and no longer becomes one, is told so, and may create an ordinary account',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const root = await signet.signedInUser({ role: 'admin' });
    const loseRole = ({ user_id }: TestUser) => root.browser.put(`/v1/admin/users/${user_id}/role`, { role: 'user' });
    const changePassword = ({ browser }: TestUser) => browser.postJson('/v1/me/password', { password });
    for (const [place, { end, isInTheMoment }] of [
      { end: loseRole, isInTheMoment: true },
      { end: changePassword, isInTheMoment: true },
      { end: loseRole, isInTheMoment: false },
    ].entries()) {
      const admin = await signet.signedInUser({ role: 'admin' });
      const path = await inviteAs(admin, `ada${place}@join.test`, 'admin');
      const browser = signet.newBrowser();
      assert.match((await browser.get(path)).text, /name="role" value="admin"/);
      const fields = { name: 'Ada', password, role: 'admin' };
      const held = isInTheMoment ? holdNextCall(signet.deps.db, /insert into users/) : undefined;
      const answer = held && browser.post(path, fields);
      await held?.reached;
      await end(admin);
      held?.release();
      const refused = await (answer ?? browser.post(path, fields));
      assert.equal(refused.status, 409);
      assert.match(refused.text, sentence('join.role_ended'));
      assert.match(refused.text, /name="name"[^>]* value="Ada"/);
      assert.doesNotMatch(refused.text, sentence('join.administrator'));
      assert.doesNotMatch(refused.text, /name="role"/);
      const { me } = await join(signet, path, { name: 'Ada' });
      assert.equal(me?.role, 'user');
    }
  },
);
