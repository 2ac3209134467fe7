import assert from 'node:assert/strict';
import { type message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const figureOf = (text: string, label: Parameters<typeof message>[0]) =>
  Number(pattern`<strong>([\d,]+)</strong> ${sentence(label)}</figcaption>`.exec(text)?.[1] ?? Number.NaN);

const usersOn = (text: string) =>
  Number(pattern`<dt>${sentence('admin.overview.users')}</dt><dd>([\d,]+)</dd>`.exec(text)?.[1] ?? Number.NaN);

/** Events that wait to be sealed. */
async function leaveBacklog({ deps, clock }: Signet, events: number) {
  const at = Math.floor(clock() / 1000);
  const rows = Array.from({ length: events }, (_, place) => `('evt_backlog${place}', ${at}, 'user.created', 'cli')`);
  await plain(deps.db).run(`insert into audit_log (event_id, at, action, actor) values ${rows.join(', ')}`);
}

testSignet('the first page counts what has just happened, before any job has run', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  await signet.registerClient({ owner: await signet.signedInUser() });
  const { text } = await admin.browser.get('/admin');
  assert.equal(usersOn(text), 2);
  assert.equal(figureOf(text, 'admin.overview.sign_ins'), 2);
  assert.equal(figureOf(text, 'admin.overview.sign_ups'), 2);
  assert.equal(figureOf(text, 'admin.overview.new_clients'), 1);
  assert.doesNotMatch(text, /id="counted-until"/);
  await signet.runJobs();
  assert.equal(usersOn((await admin.browser.get('/admin')).text), 2, 'the job counts nothing twice');
});

testSignet('while much is left to count, the first page says until when it has counted', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  await leaveBacklog(signet, 700);
  const { text } = await admin.browser.get('/admin');
  assert.match(text, /id="counted-until">.*<time /);
  assert.ok(usersOn(text) < 701, 'no page counts all of a backlog');
  await signet.runJobs();
  const later = await admin.browser.get('/admin');
  assert.equal(usersOn(later.text), 701);
  assert.doesNotMatch(later.text, /id="counted-until"/);
});

testSignet('a sign-in at a client is on its chart and in the list of its owner at once', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  await owner.obtainTokens(client);
  const { text } = await owner.browser.get(`/developer/clients/${client.client_id}/activity`);
  assert.equal(figureOf(text, 'admin.overview.sign_ins'), 1);
  await owner.obtainTokens(client);
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = await admin.browser.get(`/admin/clients/${client.client_id}`);
  assert.equal(figureOf(page.text, 'admin.overview.sign_ins'), 2);
});
