import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, settingsOf } from '../support/command-line.ts';
import { newDirectory } from '../support/scim.ts';
import { poll, signalClient } from '../support/signal-receiver.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { newExportKey } from '../support/transfers.ts';
import { isOn, onTwoServers } from '../support/two-servers.ts';

async function administratorOnFirst(signet: Signet): Promise<TestUser> {
  for (;;) {
    const one = await signet.signedInUser({ role: 'admin' });
    if (isOn(signet, one.user_id, 'first')) return one;
  }
}

/** Pages that show rows of every part, and what of those that are there. */
const pages = (here: TestUser, client_id: string): Readonly<Record<string, string>> => ({
  '/admin': '',
  '/admin?days=7': '',
  '/admin/users': here.user_id,
  '/admin/users?order=last_sign_in': here.user_id,
  '/admin/users?filter=administrators': '',
  '/admin/users?q=person': here.user_id,
  '/admin/users?q=person+example': here.user_id,
  '/admin/clients': '',
  '/admin/clients?q=product': 'Test product',
  '/admin/search?q=product': 'Test product',
  '/admin/entitlements': '',
  '/admin/webhooks': '',
  '/admin/signals': '',
  '/admin/audit': '',
  '/admin/audit?action=user.created': here.user_id,
  '/admin/audit/unauthenticated': '',
  '/admin/users/refused-addresses': '',
  [`/admin/clients/${client_id}`]: 'Test product',
  [`/admin/clients/${client_id}/logout-deliveries`]: '',
  [`/developer/clients/${client_id}`]: 'Test product',
  [`/developer/clients/${client_id}/activity`]: '',
});

test('while a server is away, lists show what the others have and name the parts that are missing', async (t) => {
  const env = { SIGNET_RATE_LIMITS: 'off' };
  const { signet, second } = await onTwoServers(t, { mail: true, env });
  const admin = await administratorOnFirst(signet);
  const client = await signet.registerClient({ owner: admin });
  const people = await Promise.all(Array.from({ length: 10 }, () => signet.signedInUser()));
  const isThere = (place: 'first' | 'second') => people.some(({ user_id }) => isOn(signet, user_id, place));
  while (!isThere('first') || !isThere('second')) people.push(await signet.signedInUser()); // once in 500 runs
  for (const one of people) await one.obtainTokens(client);
  const here = people.findLast(({ user_id }) => isOn(signet, user_id, 'first'))!;
  const there = people.findLast(({ user_id }) => isOn(signet, user_id, 'second'))!;
  await signet.registerClient({ owner: there, approved: false });
  const directory = await newDirectory(signet);
  await (await signalClient(signet)).create({ delivery: { method: poll } });
  await signet.runJobs();
  const whole = await admin.browser.get('/admin/users');
  assert.doesNotMatch(whole.text, /id="absent-parts"/);
  assert.match(whole.text, new RegExp(RegExp.escape(there.user_id)));
  await second.stop();

  for (const [path, shown] of Object.entries(pages(here, client.client_id))) {
    const { status, text } = await admin.browser.get(path);
    assert.equal(status, 200, `${path}: ${text}`);
    assert.match(text, /<div class="advice" id="absent-parts" role="status"><p>[^<]*: c2, c3\./, path);
    assert.ok(text.includes(shown), path);
    if (path.startsWith('/admin/users')) assert.ok(!text.includes(there.user_id), path);
  }
  const own = await here.browser.get('/account');
  assert.ok(own.status === 200 && !own.text.includes('absent-parts'), 'of one user alone');
  assert.equal((await admin.browser.get(`/admin/users/${there.user_id}`)).status, 503);

  for (const path of ['/v1/admin/users', '/v1/admin/users?query=person', '/v1/admin/audit', '/v1/admin/invitations']) {
    const answer = await admin.browser.get(path);
    assert.deepEqual([answer.status, answer.headers.get('signet-absent-parts')], [200, 'c2 c3'], answer.text);
  }
  const alone = await admin.browser.get(`/v1/admin/users/${here.user_id}`);
  assert.deepEqual([alone.status, alone.headers.get('signet-absent-parts')], [200, null]);
  assert.equal((await directory.send('GET', '/Users')).status, 503, 'a directory takes what is missing for deleted');

  // A file that is kept, and may be taken for all there is, is refused.
  for (const path of ['/admin/entitlements/export', '/v1/admin/entitlements/export', '/v1/admin/audit/export']) {
    assert.equal((await admin.browser.get(path)).status, 503, path);
  }
  const users = await admin.browser.post('/admin/users/export', { reason: 'For the records.' });
  assert.equal(users.status, 503, users.text);

  const settings = settingsOf(signet, undefined, env);
  const found = await runCommand(['users', 'find', 'person', '--json'], { env: settings });
  assert.equal(found.code, 3, found.stderr + found.stdout);
  assert.match(found.stderr, /signet: warning: Parts of the store cannot be reached: c2, c3\./);
  const json = JSON.parse(found.stdout) as { users: { email: string }[]; warnings: string[] };
  assert.match(json.warnings.join(), /c2, c3/);
  assert.ok(json.users.some(({ email }) => email === here.email));
  assert.ok(!json.users.some(({ email }) => email === there.email));
  const one = await runCommand(['users', 'show', here.email, '--json'], { env: settings });
  assert.equal(one.code, 0, one.stderr);
  const { folder, recipient } = await newExportKey();
  const file = join(folder, 'all.age');
  const exported = await runCommand(['export', file, '--recipient', recipient], { env: settings });
  assert.equal(exported.code, 1);
  assert.match(exported.stderr, /The export is not complete, and must not be used\. Repeat it once the whole store/);
  assert.ok(!existsSync(file));
});
