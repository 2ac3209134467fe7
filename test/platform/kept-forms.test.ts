import assert from 'node:assert/strict';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const confirm = (user: TestUser, next: string) =>
  user.browser.post('/signin/confirm', { username: user.email, password: user.password, next });

/** A form that is posted too late after the sign-in. @returns the page that the sign-in leads back to. */
async function interrupted(signet: Signet, user: TestUser, path: string, fields: Record<string, string>) {
  signet.clock.advance(901);
  const { status, location } = await user.browser.post(path, fields);
  assert.equal(status, 303);
  return new URL(location, signet.url).searchParams.get('next') ?? '';
}

testSignet('what was typed survives the sign-in that a form needs', async ({ signet, t }) => {
  const reviewer = await signet.signedInUser({ role: 'admin' });
  const { client_id } = await signet.registerClient({ name: 'Quarry', approved: false });
  const page = `/admin/clients/${client_id}`;
  const typed = { reason: 'It says "<b>Quarry</b>",\nand is not.', revision: '1' };
  const interrupt = (fields: Record<string, string> = typed) => interrupted(signet, reviewer, `${page}/reject`, fields);
  const kept = /<form id="kept" method="post" action="[^"]*\/reject">.*?<\/form>/s;
  const statusOfClient = async () => (await reviewer.browser.get(`/v1${page}`)).json?.status;

  await t.test('it is shown in its form, once; the act takes the button', async () => {
    const next = await interrupt();
    assert.equal(next, `${page}?unfinished=1`);
    assert.equal((await confirm(reviewer, next)).location, next);
    const { text } = await reviewer.browser.get(next);
    assert.match(text, sentence('layout.kept'));
    const [form = ''] = kept.exec(text) ?? [];
    assert.ok(form.includes('\nIt says &quot;&lt;b&gt;Quarry&lt;/b&gt;&quot;,\nand is not.</textarea>'), form);
    assert.equal(await statusOfClient(), 'pending_review');

    const again = await reviewer.browser.get(next);
    assert.match(again.text, sentence('layout.not_submitted'));
    assert.doesNotMatch(again.text, kept);
  });

  await t.test(
    'another user, another browser and another page get nothing of it, and a late one finds nothing',
    async () => {
      const next = await interrupt();
      const colleague = await signet.signedInUser({ role: 'admin' });
      const elsewhere = await reviewer.signedInElsewhere();
      for (const { browser } of [colleague, elsewhere]) assert.doesNotMatch((await browser.get(next)).text, kept);
      await confirm(reviewer, next);
      assert.doesNotMatch((await reviewer.browser.get('/admin/clients?unfinished=1')).text, /id="kept"/);
      signet.clock.advance(600);
      assert.match((await reviewer.browser.get(next)).text, sentence('layout.not_submitted'));
    },
  );

  await t.test('users that were selected stay selected', async () => {
    const user = await signet.newUser({ name: 'Selected Sam' });
    const selected = { action: 'disable', [`user:${user.user_id}`]: 'on', reason: 'Left the company.' };
    const next = await interrupted(signet, reviewer, '/admin/users/bulk', selected);
    await confirm(reviewer, next);
    const { text } = await reviewer.browser.get(next);
    assert.match(text, /<form id="kept"[^>]*>.*Left the company\./s);
    assert.ok(text.includes(`<input type="hidden" name="user:${user.user_id}" value="on">`));
    assert.equal((await reviewer.browser.get(next)).status, 200, 'the list, once it is gone');
  });

  await t.test('one that is moved to another session in the database is not opened there', async () => {
    const thief = await signet.signedInUser({ role: 'admin' });
    const next = await interrupt();
    await confirm(thief, next);
    const { db } = signet.deps;
    await plain(db).run(
      `update kept_forms set session_id = (select session_id from sessions where user_id = $1) where page = $2`,
      [thief.user_id, page],
    );
    const { status, text } = await thief.browser.get(next);
    assert.equal(status, 200);
    assert.doesNotMatch(text, kept);
    await confirm(reviewer, next);
  });

  await t.test('a long one is not kept, nor a password, and nothing is stored in the clear', async () => {
    const next = await interrupt({ ...typed, reason: 'x'.repeat(17_000) });
    await confirm(reviewer, next);
    assert.match((await reviewer.browser.get(next)).text, sentence('layout.not_submitted'));
    const path = '/account/security/password';
    const back = await interrupted(signet, reviewer, path, { password: 'a password of many words', ends: 'others' });
    const { db } = signet.deps;
    const rows = await plain(db).all<{ sealed: string }>('select sealed from kept_forms');
    assert.doesNotMatch(rows.map(({ sealed }) => sealed).join(), /others|words/);
    await confirm(reviewer, back);
    assert.doesNotMatch((await reviewer.browser.get(back)).text, /many words/);
  });
});
