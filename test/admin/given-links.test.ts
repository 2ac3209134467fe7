import assert from 'node:assert/strict';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { runCommand, settingsOf } from '../support/command-line.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { sentence } from '../support/messages.ts';

inEachStore(
  'an invitation of an administrator stays one when the last administrator tries to go, and is refused',
  { mail: true },
  async (_t, signet) => {
    const root = await signet.signedInUser({ role: 'admin' });
    const emails = Array.from({ length: 8 }, (_, place) => `successor${place}@join.test`);
    for (const email of emails) {
      const invited = await root.browser.postJson('/v1/admin/users/invite', { email, role: 'admin', reason: 'Heir.' });
      assert.equal(invited.status, 200, invited.text);
    }
    const roles = async () => {
      const { invitations } = (await root.browser.get('/v1/admin/invitations')).json as {
        invitations: { email: string; role: string }[];
      };
      return invitations.map(({ role }) => role);
    };
    const all = emails.map(() => 'admin');
    assert.deepEqual(await roles(), all);
    const path = `/v1/admin/users/${root.user_id}`;
    for (const refused of [
      await root.browser.post('/account/delete', { email: root.email }),
      await root.browser.postJson(`${path}/disable`, { reason: 'Has left.' }),
    ]) {
      assert.equal(refused.status, 409, refused.text);
      assert.deepEqual(await roles(), all);
    }
  },
);

inEachStore(
  'a link for the first administrator is used up by whoever becomes one by another link',
  {},
  async (_t, signet) => {
    const paths: string[] = [];
    for (const purpose of ['first_administrator', 'first_administrator', 'administrator'] as const) {
      const { url } = await inviteAdministrator(signet.deps, 'system', purpose);
      paths.push(new URL(url).pathname);
    }
    const account = { email: 'root@example.com', name: 'Root', password: 'ordinary words in a row' };
    const joined = await signet.newBrowser().post(paths.pop()!, account);
    assert.equal(joined.status, 303, joined.text);
    const args = ['users', 'disable', account.email, '--yes'];
    const disabled = await runCommand(args, { env: settingsOf(signet) });
    assert.equal(disabled.code, 0, disabled.stderr);
    for (const path of paths) {
      const answer = await signet.newBrowser().get(path);
      assert.match(answer.text, sentence('invitation.spent'));
    }
  },
);
