import assert from 'node:assert/strict';
import { exportUser } from '../../src/self-service/export/export-user.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { fullScansOf, watchStatements } from '../support/full-scans.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { aUser, newDirectory, patchOf } from '../support/scim.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { signInUpstream } from '../support/upstream.ts';

onBothEngines(
  'SC-05: who was made by a directory signs in by a provider, until the directory disables them',
  async (t, engine) => {
    const { signet, upstream } = await startFederatedSignet(t, { engine });
    const directory = await newDirectory(signet);
    const sent = aUser({ displayName: 'Ada Lovelace' });
    const { id } = await directory.ok(201, 'POST', '/Users', sent);
    upstream.account = { sub: 'ada', email: sent.userName, email_verified: true };
    const browser = signet.newBrowser();
    assert.equal((await signInUpstream(browser)).answer.status, 303);
    const me = await browser.get('/v1/me');
    assert.deepEqual([me.json?.sub, me.json?.name, me.json?.email_verified], [id, 'Ada Lovelace', true]);
    await directory.ok(200, 'PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }));
    assert.equal((await browser.get('/v1/me', { accept: 'application/json' })).status, 401);
    assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 403);
    await directory.ok(200, 'PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'True' }));
    assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303);
    await directory.ok(204, 'DELETE', `/Users/${id}`);
  },
);

testSignet(
  'SC-05: who was made by a directory sets a password by the link of a reset',
  { mail: true },
  async ({ signet, mailbox }) => {
    const directory = await newDirectory(signet);
    const sent = aUser({ externalId: 'e-7' });
    const { id } = await directory.ok(201, 'POST', '/Users', sent);
    assert.deepEqual(mailbox.mails, [], 'nobody was sent a mail');
    await signet.newBrowser().post('/reset', { email: sent.userName });
    const link = linkIn(await mailbox.next(sent.userName, sentence('mail.reset.subject')), /^\/reset\/./);
    const browser = signet.newBrowser();
    assert.equal((await browser.post(link, { password: 'harbour velvet cactus ninety' })).status, 303);
    assert.equal((await browser.get('/v1/me')).json?.sub, id);
    const { content } = await exportUser(signet.deps, { actor: 'cli' }, String(id));
    const { directory: known } = JSON.parse((await Array.fromAsync(content)).join(''));
    assert.deepEqual([known.user_name, known.external_id], [sent.userName, 'e-7']);
  },
);

onBothEngines('SC-07: no request of a directory reads a table from end to end', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const directory = await newDirectory(signet);
  const statements = watchStatements(signet.deps.db);
  const sent = aUser({ externalId: 'e' });
  const { id } = await directory.ok(201, 'POST', '/Users', sent);
  const group = await directory.ok(201, 'POST', '/Groups', {
    displayName: 'Team',
    externalId: 'g',
    members: [{ value: id }],
  });
  const ask = (path: string, filter: string) =>
    directory.ok(200, 'GET', `${path}?filter=${encodeURIComponent(filter)}`);
  for (const filter of [
    'userName eq "x"',
    `userName eq "${sent.userName}"`,
    'externalId eq "e"',
    'emails.value eq "x@y.z"',
  ])
    await ask('/Users', filter);
  for (const filter of ['displayName eq "x"', 'externalId eq "g"', `members.value eq "${id}"`])
    await ask('/Groups', filter);
  await directory.ok(200, 'GET', '/Users?startIndex=1&count=10&attributes=groups');
  await directory.ok(200, 'GET', '/Groups');
  await directory.ok(
    200,
    'PATCH',
    `/Users/${id}`,
    patchOf({ op: 'replace', value: { userName: 'other', displayName: 'X', active: false } }),
  );
  await directory.ok(204, 'PATCH', `/Groups/${group.id}`, patchOf({ op: 'replace', path: 'members', value: [] }));
  await directory.ok(204, 'DELETE', `/Groups/${group.id}`);
  await directory.ok(204, 'DELETE', `/Users/${id}`);
  assert.ok(statements.size > 20);
  assert.deepEqual(await fullScansOf(signet.deps.db, [...statements.values()]), []);
});
