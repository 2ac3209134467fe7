import assert from 'node:assert/strict';
import { newAdministratorUntil } from '../../src/accounts/administrators.ts';
import { sentence } from '../support/messages.ts';
import { type Signet, testSignet } from '../support/signet.ts';

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
