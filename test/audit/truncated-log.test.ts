import assert from 'node:assert/strict';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import { now } from '../../src/platform/clock.ts';
import type { OneDb } from '../../src/platform/db/db.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { pattern, sentence } from '../support/messages.ts';
import { openServer } from '../support/open-server.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet } from '../support/signet.ts';

async function addEvents(deps: Deps, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const { statement } = auditEvent({ action: 'user.changed', actor: 'cli', target: `t${number}` }, now(deps));
    await plain(deps.db).run(statement.sql, statement.params);
  }
}

/** With write access to the database: the newest events go, and an older record of the head comes back. */
async function cutAfter(db: OneDb, seq: number, heads: readonly { name: string; seq: number; sealed: string }[]) {
  await plain(db).run('delete from audit_log where seq > $1 or seq is null', [seq]);
  await plain(db).run('delete from audit_heads');
  for (const { name, seq: place, sealed } of heads) {
    await plain(db).run('insert into audit_heads (name, seq, sealed) values ($1, $2, $3)', [name, place, sealed]);
  }
}

const headsOf = (db: OneDb) =>
  plain(db).all<{ name: string; seq: number; sealed: string }>('select * from audit_heads');
const sealedIn = async (db: OneDb) =>
  (await plain(db).get<{ n: number }>('select count(*) as n from audit_log where seq is not null'))?.n;

/** A server that has sealed five events, with the records of before the last two. */
async function sealed(t: TestContext, engine: Engine) {
  const env = await preparedSettings(t, engine);
  const server = await openServer(t, env);
  const { db } = server.deps;
  await addEvents(server.deps, 3);
  await runJobs(server.deps);
  const older = await headsOf(db);
  await addEvents(server.deps, 2);
  await runJobs(server.deps);
  assert.equal(await sealedIn(db), 5);
  return { env, server, db, older };
}

onBothEngines(
  'a log whose end was cut off is found after a restart, and nothing is sealed on it',
  async (t, engine) => {
    const { env, server, db, older } = await sealed(t, engine);
    await cutAfter(db, 3, older);
    const verify = async () => JSON.parse((await runCommand(['audit', 'verify', '--json'], { env })).stdout);
    const { broken, stopped } = await verify();
    assert.deepEqual([broken, stopped], [{ seq: 4, why: 'missing' }, true]);

    // The next event, and the check again: the check itself seals nothing.
    await addEvents(server.deps, 1);
    const { code, stdout } = await runCommand(['audit', 'verify'], { env });
    assert.equal(code, 1);
    assert.match(stdout, /event 4 is missing.*restored\s+from a backup.*signet audit accept-loss --reason/s);
    assert.equal(await sealedIn(db), 3);
    const { checks } = JSON.parse((await runCommand(['doctor', '--json'], { env })).stdout);
    const { state, remedy } = checks.find(({ check }: { check: string }) => check === 'audit log');
    assert.deepEqual([state, /signet audit verify/.test(remedy)], ['problem', true]);

    await server.close();
    const restarted = await openServer(t, env);
    await runJobs(restarted.deps);
    await runJobs(restarted.deps);
    assert.equal(await sealedIn(restarted.deps.db), 3);
    const logged = restarted.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
    assert.equal(logged.length, 1, 'one loud line, not one for each attempt');
    assert.match(logged[0].msg, /no events are sealed and no webhooks are sent.*signet audit verify/);
    assert.deepEqual([logged[0].seq, logged[0].why], [5, 'missing']);
  },
);

onBothEngines('an operator acknowledges a loss, and old acknowledgements excuse no new one', async (t, engine) => {
  const { env, server, db, older } = await sealed(t, engine);
  await refused(['audit', 'accept-loss', '--reason', 'x'], env, sentence('audit.nothing_lost'));
  await cutAfter(db, 3, older);
  const other = await openServer(t, env); // another node, which has seen the end as well
  await refused(['audit', 'accept-loss', '--reason', ''], env, /reason: /);
  const { head } = await succeed(['audit', 'accept-loss', '--reason', 'restored the backup of Monday'], env);
  assert.equal((head as { seq: number }).seq, 3);

  for (const node of [server, other]) {
    await addEvents(node.deps, 1);
    await runJobs(node.deps);
  }
  assert.equal(await sealedIn(db), 6);
  const { code, stdout } = await runCommand(['audit', 'verify'], { env });
  assert.equal(code, 0, stdout);
  const { events } = await succeed(['audit', 'list', '--action', 'audit_log.loss_accepted'], env);
  const [event] = events as Record<string, unknown>[];
  assert.deepEqual([event?.actor, event?.reason], ['cli', 'restored the backup of Monday']);
  assert.equal((event?.before as { seq: number } | undefined)?.seq, 5);

  const accepted = await headsOf(db);
  await addEvents(server.deps, 2);
  await runJobs(server.deps);
  await cutAfter(
    db,
    3,
    accepted.map((one) => (one.name === 'head' ? { ...one, ...older[0] } : one)),
  );
  const restarted = await openServer(t, env);
  await addEvents(restarted.deps, 1);
  await runJobs(restarted.deps);
  assert.equal(await sealedIn(db), 3, 'the acknowledgement of the loss before was put back');
  assert.equal((await verifyAuditLog({ ...server.deps, db: server.deps.db.parts[0]! })).stopped, true);
});

onBothEngines('an acknowledgement of another loss excuses none on a node that had lost nothing', async (t, engine) => {
  const { env, server, db } = await sealed(t, engine);
  await plain(db).run('update audit_heads set sealed = $1', ['forged']);
  const { lost } = await succeed(['audit', 'accept-loss', '--reason', 'the record of the head was forged'], env);
  assert.equal((lost as { why: string }).why, 'head');
  await runJobs(server.deps);
  const sealedThen = await sealedIn(db);
  assert.equal(sealedThen, 6);
  const heads = await headsOf(db);
  await addEvents(server.deps, 2);
  await runJobs(server.deps);
  await cutAfter(db, Number(sealedThen), heads);

  await addEvents(server.deps, 1);
  await runJobs(server.deps);
  assert.equal(await sealedIn(db), sealedThen, 'the acknowledgement from before the cut excused it');
  await server.close();
  const restarted = await openServer(t, env);
  await runJobs(restarted.deps);
  assert.equal(await sealedIn(restarted.deps.db), sealedThen);
});

onBothEngines(
  'a chain that was cut and sealed on by a node that knew nothing is no chain to those that did',
  async (t, engine) => {
    const { env, server, db, older } = await sealed(t, engine);
    await cutAfter(db, 3, older);
    const elsewhere = { ...env, SIGNET_AUDIT_HEAD_FILE: join(String(env.SIGNET_DATA_DIR), 'elsewhere', 'head.json') };
    const fresh = await openServer(t, elsewhere);
    await addEvents(fresh.deps, 4);
    await runJobs(fresh.deps);
    assert.equal(await sealedIn(db), 7);
    // Nor can a loss be acknowledged where none is known: the refusal says where it can.
    await refused(
      ['audit', 'accept-loss', '--reason', 'x'],
      elsewhere,
      sentence('audit.nothing_lost', { file: elsewhere.SIGNET_AUDIT_HEAD_FILE }),
    );
    const { broken, stopped } = await verifyAuditLog({ ...server.deps, db: server.deps.db.parts[0]! });
    assert.deepEqual([broken, stopped], [{ seq: 5, why: 'altered' }, true]);
  },
);

test('the newest place is kept in a file of the owner alone, and one that cannot be read stops the sealing', async (t) => {
  const { env, server } = await sealed(t, 'sqlite');
  const { path } = server.deps.witness;
  assert.equal(path, join(String(env.SIGNET_DATA_DIR), 'audit-head.json'));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await server.close();
  await writeFile(path, '');
  const restarted = await openServer(t, env);
  await addEvents(restarted.deps, 1);
  await runJobs(restarted.deps);
  assert.equal(await sealedIn(restarted.deps.db), 5);
  const logged = restarted.logLines.map((line) => JSON.parse(line)).find(({ level }) => level >= 50);
  assert.match(logged.msg, /^the file with the checkpoint of the audit log cannot be read/);
  const { stdout, code } = await runCommand(['audit', 'verify'], { env });
  assert.equal(code, 1);
  assert.ok(stdout.includes(`until ${path} is readable or removed`), stdout);
  await refused(['audit', 'accept-loss', '--reason', 'x'], env, sentence('audit.file_unreadable'));
  await rm(path);
  await runJobs(restarted.deps);
  assert.equal(await sealedIn(restarted.deps.db), 6);
  assert.ok(restarted.logLines.some((line) => line.includes('sealing of the audit log has resumed')));
});

test('a file that cannot be written is reported once, and the log is sealed all the same', async (t) => {
  const env = { ...(await preparedSettings(t)), SIGNET_AUDIT_HEAD_FILE: '/proc/nope/head.json' };
  const { deps, logLines } = await openServer(t, env);
  for (const _ of [1, 2]) {
    await addEvents(deps, 1);
    await runJobs(deps);
  }
  assert.equal(await sealedIn(deps.db), 2);
  assert.equal(logLines.filter((line) => line.includes('SIGNET_AUDIT_HEAD_FILE')).length, 1);
});

test('administrators read on the overview and in the check that nothing is sealed', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser({ role: 'admin' });
  await signet.runJobs();
  assert.doesNotMatch((await browser.get('/admin')).text, sentence('admin.overview.audit.stopped'));
  await plain(signet.deps.db).run('delete from audit_heads');
  await plain(signet.deps.db).run('delete from audit_log where seq = (select max(seq) from audit_log)');
  assert.match((await browser.get('/admin')).text, sentence('admin.overview.audit.stopped'));
  assert.match(
    (await browser.post('/admin/audit/verify')).text,
    pattern`${sentence('admin.audit.broken.missing')}.*${sentence('admin.audit.stopped')}`,
  );
  const { json } = await browser.postEmpty('/v1/admin/audit/verify');
  assert.deepEqual([json?.stopped, (json?.broken as { why: string } | undefined)?.why], [true, 'missing']);
  await signet.deps.auditLog.acceptLoss({ actor: 'cli' }, 'a test');
  assert.doesNotMatch((await browser.get('/admin')).text, sentence('admin.overview.audit.stopped'));
});
