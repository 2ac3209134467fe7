import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import pino from 'pino';
import { readConfig } from '../../src/app/config.ts';
import type { Check } from '../../src/app/doctor/check.ts';
import { openDeps } from '../../src/app/open-deps.ts';
import type { Db } from '../../src/platform/db/db.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { openMailbox } from '../support/mailbox.ts';
import { openServer } from '../support/open-server.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { bareSettings, type Settings } from '../support/server-process.ts';

const create = ['users', 'create', '--email', 'asa@example.com', '--name', 'Asa', '--verified', '--password-stdin'];
const password = 'ordinary words in a row';

const keysIn = async (db: Db) => (await plain(db).all('select kid from signing_keys')).length;

onBothEngines('a command refuses a database that no server has set up, and makes no key in it', async (t, engine) => {
  const env = await bareSettings(t, engine);
  const sentence = /signet serve.*signet migrate/;
  await refused(['clients', 'create', '--name', 'A', '--redirect-uri', 'https://a.test/cb'], env, sentence);
  assert.equal(existsSync(join(String(env.SIGNET_DATA_DIR), 'master.key')), false);
  const { deps } = await openServer(t, env); // as `serve` and `migrate` do
  assert.equal(await keysIn(deps.db), 4);
  await plain(deps.db).run(`delete from signing_keys where status = 'next'`);
  await succeed(['keys', 'list'], env);
  assert.equal(await keysIn(deps.db), 2, 'a command leaves missing keys to the server');
});

onBothEngines('a command changes no tables: a database of another version is refused', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  const { db } = (await openServer(t, env)).deps;
  const well = await runCommand(['doctor', '--json'], { env });
  assert.deepEqual(
    (JSON.parse(well.stdout).checks as Check[]).filter(({ state }) => state === 'problem'),
    [],
  );
  if (engine === 'postgres') await seesWaitForStandby(env);
  const newest = `(select max(name) from schema_migrations)`;
  await plain(db).run(`update schema_migrations set name = '9999-newer' where name = ${newest}`);
  await refused(['clients', 'list'], env, /9999-newer, which is unknown to this version of Signet/);
  const newer = await runCommand(['doctor', '--json'], { env });
  assert.equal(newer.code, 1);
  assert.match(found('store', newer)?.found ?? '', /9999-newer, which is unknown to this version of Signet/);
  assert.equal(found('master key', newer)?.state, 'skipped');
  await plain(db).run(`delete from schema_migrations where name = ${newest}`);
  await refused(['clients', 'list'], env, /from an older version: a migration is missing\..*run: signet migrate/);
  assert.equal((await plain(db).all(`select name from schema_migrations where name = '9999-newer'`)).length, 0);
  const json = await runCommand(['clients', 'list', '--json'], { env });
  assert.equal(JSON.parse(json.stdout).error, 'migration_refused');
});

const found = (name: string, { stdout }: { stdout: string }) =>
  (JSON.parse(stdout).checks as Check[]).find(({ check }) => check === name);

/** The standby that the tests' PostgreSQL names never comes, which only those notice who ask for it. */
async function seesWaitForStandby(env: Settings): Promise<void> {
  const url = String(env.SIGNET_DATABASE_URL);
  await asAdmin(url, async (client) => {
    await client.query('set synchronous_commit = on');
    const waiting = client.query('create table of_commit_that_waits (at bigint)');
    const look = async () => found('changes', await runCommand(['doctor', '--json'], { env }));
    let changes = await look();
    for (let looks = 1; changes?.state === 'ok' && looks < 500; looks += 1) changes = await look();
    assert.match(changes?.found ?? '', /has waited for \d+ s for a synchronous standby/);
    assert.match(changes?.remedy ?? '', /synchronous_standby_names/);
    const isWaiting = `datname = current_database() and wait_event = 'SyncRep'`;
    await asAdmin(url, (other) =>
      other.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${isWaiting}`),
    );
    await waiting;
  });
}

test('a command without the master key of its database says so and makes none', async (t) => {
  const env = await preparedSettings(t, 'sqlite'); // which makes a key
  const path = join(String(env.SIGNET_DATA_DIR), 'master.key');
  await rm(path);
  await refused(['users', 'list'], env, /master\.key is missing.*Restore the file/);
  assert.equal(existsSync(path), false);
});

onBothEngines('mail that waits is sent by the server, never by a command with other settings', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  await succeed(create, env, password);
  const mailbox = await openMailbox(t);
  const served = { ...env, SIGNET_BASE_URL: 'https://id.example.com', SIGNET_SMTP_URL: mailbox.url };
  const { deps: server } = await openServer(t, served);
  await server.processes.record();

  // The shell knows neither the address of the service nor its mail server.
  const reset = await runCommand(['users', 'reset-link', 'asa@example.com', '--reason', 'lost phone'], { env });
  assert.deepEqual([reset.code, reset.stderr], [0, ''], 'a server that sends mail runs');
  const lines: string[] = [];
  const command = await openDeps(readConfig(env), {
    clock: Date.now,
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    role: 'command',
  });
  await command.mail.deliver();
  await command.db.close();
  assert.deepEqual(lines, [], 'nothing of the queue is printed');
  assert.equal(
    (await plain(server.db).all('select mail_id from outgoing_mails')).length,
    1,
    'nothing is taken out of it',
  );

  await server.mail.deliver();
  const { text } = await mailbox.next('asa@example.com');
  assert.match(text, /https:\/\/id\.example\.com\//, 'links begin as those of the server');
  assert.doesNotMatch(text, /localhost/);
  assert.match(String((await succeed(['admin', 'invite'], env)).url), /^https:\/\/id\.example\.com\/invite\//);
});

onBothEngines('a command says when a mail that it promised cannot be sent soon', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  await succeed(create, env, password);
  const reset = ['users', 'reset-link', 'asa@example.com', '--reason', 'lost phone'];
  const alone = await runCommand(reset, { env });
  assert.match(alone.stderr, /^signet: warning: .* no running server was found[^\n]+\n$/);

  const settings = { ...env, SIGNET_BASE_URL: 'https://id.example.com' };
  const { deps: server, logLines: lines } = await openServer(t, settings);
  await server.processes.record();
  const { code, stdout, stderr } = await runCommand([...reset, '--json'], { env });
  assert.deepEqual([code, JSON.parse(stdout).warnings.length], [0, 1]);
  assert.match(stderr, /SIGNET_SMTP_URL is not set there/);

  const waiting = async () => (await plain(server.db).all('select mail_id from outgoing_mails')).length;
  const queued = await waiting();
  assert.ok(queued >= 2);
  await server.mail.deliver();
  assert.equal(await waiting(), queued, 'kept: the setting may be made yet');
  await plain(server.db).run('update outgoing_mails set created_at = created_at - 3 * 86400 - 1');
  await server.mail.deliver();
  assert.equal(await waiting(), 0, 'the queue of a server without mail does not grow for ever');
  assert.ok(lines.some((line) => line.includes(`"mails":${queued}`) && line.includes('SIGNET_SMTP_URL')));
});
