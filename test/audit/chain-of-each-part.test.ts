import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { textOfHead } from '../../src/audit/audit-log.ts';
import { findDeliveries, findDelivery } from '../../src/webhooks/list-webhooks.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { replay } from '../../src/webhooks/replay.ts';
import { newUserIn } from '../support/buckets.ts';
import { runCommand, settingsOf } from '../support/command-line.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const inCells = (t: TestContext, env: Record<string, string> = {}) =>
  startSignet(t, { engine: 'postgres', cells: 4, mail: true, env });

type Listed = { events: { event_id: string; at: number; seq: number; seal: string; part?: string }[]; next: unknown };

/** A few users, a second apart. */
async function newUsers(signet: Signet, count: number) {
  for (let n = 0; n < count; n += 1) {
    await signet.newUser();
    signet.clock.advance(1);
  }
}

test('the log of several parts is read as one, newest first, and each event is on one page', async (t) => {
  const signet = await inCells(t);
  const { browser } = await signet.signedInUser({ role: 'admin' });
  await newUsers(signet, 24);
  const pageAt = async (query: string) => (await browser.get(`/v1/admin/audit?${query}`)).json as Listed;
  for (const filter of ['', 'action=user.created&', 'action=user&changes_by=administrators&']) {
    const { events: all } = await pageAt(`${filter}limit=500`);
    assert.ok(all.length >= 24);
    assert.ok(new Set(all.map(({ part }) => part)).size > 2, 'users are in several parts');
    assert.deepEqual(
      all.map(({ at }) => at),
      all.map(({ at }) => at).sort((one, other) => other - one),
    );
    const paged: string[] = [];
    let next: unknown = '';
    for (let pages = 0; next !== null; pages += 1) {
      assert.ok(pages < 50, 'it has an end');
      const page = await pageAt(`${filter}limit=5${next ? `&before=${next}` : ''}`);
      paged.push(...page.events.map(({ event_id }) => event_id));
      next = page.next;
    }
    assert.deepEqual(
      paged,
      all.map(({ event_id }) => event_id),
    );
  }
  assert.equal((await browser.get('/v1/admin/audit?before=7')).status, 400, 'a place of a store in one part');

  const csv = (await browser.get('/v1/admin/audit/export?format=csv')).text.trim().split('\r\n');
  assert.match(csv[0]!, /,request_id,part$/);
  assert.ok(csv.slice(1).every((line) => /,(?:public|c\d)$/.test(line)));
  assert.equal((await browser.get('/admin')).status, 200);
  const { text } = await browser.get('/admin/audit');
  assert.match(text, /<code>c\d:\d+:[\w-]{43}<\/code>/);
});

test('every chain is checked, and the one that was changed is named', async (t) => {
  const signet = await inCells(t);
  const { browser } = await signet.signedInUser({ role: 'admin' });
  await newUsers(signet, 12);
  await runJobs(signet.deps, quickJobs);
  const env = settingsOf(signet);
  const sound = await signet.deps.auditLog.verify();
  assert.deepEqual(
    sound.map(({ part }) => part),
    ['public', ...(signet.deps.config.cells?.cells ?? [])],
  );
  assert.ok(sound.every(({ broken, stopped }) => !broken && !stopped));
  const { head, part } = sound.findLast(({ verified }) => verified > 1)!;
  const expected = textOfHead({ part, ...head });
  const verified = await runCommand(['audit', 'verify', '--expect', expected], { env });
  assert.deepEqual([verified.code, verified.stderr], [0, '']);
  assert.ok(verified.stdout.includes(`newest  ${expected}`));
  const elsewhere = await runCommand(['audit', 'verify', '--expect', `c9:${head.seq}:${head.seal}`], { env });
  assert.equal(elsewhere.code, 2, 'there is no such part');
  const other = await runCommand(['audit', 'verify', '--expect', `${part}:${head.seq}:${'x'.repeat(43)}`], { env });
  assert.equal(other.code, 1);
  assert.match(other.stdout, /does not have the expected seal/);

  const changed = signet.deps.db.parts.find(({ schema }) => schema === part)!;
  await plain(changed).run("update audit_log set reason = 'other' where seq = 2");
  const { json } = await browser.postJson('/v1/admin/audit/verify', {});
  const { parts, broken } = json as { parts: { part: string; broken: unknown }[]; broken: unknown };
  assert.deepEqual(broken, { seq: 2, why: 'altered' });
  assert.deepEqual(
    parts.filter((one) => one.broken !== null).map((one) => one.part),
    [part],
  );
});

test('a chain that has lost its end stops alone, until an operator acknowledges it', async (t) => {
  const signet = await inCells(t);
  await newUsers(signet, 12);
  await runJobs(signet.deps, quickJobs);
  const states = await signet.deps.auditLog.states();
  const { db, sealed } = states.findLast((one) => one.db.schema && one.sealed > 1)!;
  await plain(db).run('delete from audit_log where seq = $1', [sealed]);
  await newUserIn(signet, db);
  await newUsers(signet, 8);
  await runJobs(signet.deps, quickJobs);
  const stopped = await signet.deps.auditLog.states();
  assert.deepEqual(
    stopped.filter(({ lost }) => lost).map((one) => one.db.schema),
    [db.schema],
  );
  assert.ok(stopped.every((one) => (one.db === db ? one.unsealed > 0 : one.unsealed === 0)));
  const accepted = await signet.deps.auditLog.acceptLoss({ actor: 'cli' }, 'A test of it.');
  assert.deepEqual(
    accepted.map((one) => [one.part, one.lost.seq]),
    [[db.schema, sealed]],
  );
  await runJobs(signet.deps, quickJobs);
  assert.ok((await signet.deps.auditLog.verify()).every(({ broken, unsealed }) => !broken && unsealed === 0));
});

test('a chain does not count as another one that is put in its place', async (t) => {
  const signet = await inCells(t);
  await newUsers(signet, 12);
  await runJobs(signet.deps, quickJobs);
  const [from, to] = (await signet.deps.auditLog.states()).filter(({ db, sealed }) => db.schema && sealed > 0);
  for (const table of ['audit_log', 'audit_heads']) {
    await plain(to!.db).run(`delete from ${table}`);
    await plain(signet.deps.db.parts[0]!).run(
      `insert into ${to!.db.schema}.${table} select * from ${from!.db.schema}.${table}`,
    );
  }
  const report = (await signet.deps.auditLog.verify()).find(({ part }) => part === to!.db.schema);
  assert.deepEqual(report?.broken, { seq: 1, why: 'altered' });
});

test('events of every part are posted, listed and sent again, mails of every part leave, and charts count all', async (t) => {
  const signet = await inCells(t, { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' });
  const { deps } = signet;
  const receiver = await openReceiver(t);
  const webhook = await createWebhook(deps, { actor: 'cli' }, { url: receiver.url, event_types: ['user.created'] });
  const users = [];
  for (let n = 0; n < 12; n += 1) users.push(await signet.newUser());
  assert.ok(new Set(users.map(({ user_id }) => deps.db.of(user_id))).size > 1);
  for (let runs = 0; runs < 2; runs += 1) await runJobs(deps, quickJobs);
  const posted = receiver.deliveries.map(({ body }) => JSON.parse(body).data.target);
  assert.deepEqual(posted.sort(), users.map(({ user_id }) => user_id).sort());
  const first = await findDeliveries(deps, webhook.webhook_id, { limit: 7 });
  const rest = await findDeliveries(deps, webhook.webhook_id, { after: first.next!, limit: 7 });
  const listed = [...first.deliveries, ...rest.deliveries];
  assert.equal(new Set(listed.map(({ delivery_id }) => delivery_id)).size, 12);
  assert.equal(rest.next, null);
  for (const { delivery_id } of listed) {
    assert.equal((await findDelivery(deps, webhook.webhook_id, delivery_id)).state, 'delivered');
    await replay(deps, { actor: 'cli' }, { webhook_id: webhook.webhook_id, delivery_id });
  }
  await runJobs(deps, quickJobs);
  assert.equal(receiver.deliveries.length, 24);

  const admin = await signet.signedInUser({ role: 'admin' });
  for (const { user_id } of users) {
    const answer = await admin.browser.postJson(`/v1/admin/users/${user_id}/reset-link`, { reason: 'A test.' });
    assert.ok(answer.status < 300, answer.text);
  }
  await runJobs(deps);
  for (const { email } of users) await signet.mailbox.next(email);
  const { text } = await admin.browser.get('/admin');
  assert.match(text, />13</, 'users in all');
});
