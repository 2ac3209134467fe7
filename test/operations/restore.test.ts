import assert from 'node:assert/strict';
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pino from 'pino';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { backUp, restoreBackup, restoreInPlace } from '../../src/app/backup.ts';
import { closeDeps } from '../../src/app/open-deps.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { now } from '../../src/platform/clock.ts';
import { copySqlite } from '../../src/platform/db/sqlite-backup.ts';
import { recordRun } from '../../src/platform/processes.store.ts';
import { findGeneration, finishRestore, markCopy } from '../../src/platform/store.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { freshDatabase, onBothEngines } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { assertRefused, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { bareSettings, startServer } from '../support/server-process.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const caller = { actor: 'cli' } as const;
const documented = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const log = pino({ enabled: false });
const restoring = { caller, reason: 'the disk broke' };

type Live = {
  user: TestUser;
  signedOut: TestUser;
  waiting: TestUser;
  code: string;
  totp: string;
  backupCode: string;
  invitation: string;
  client: RegisteredClient;
  tokens: { access_token: string; refresh_token: string };
};

async function make(signet: Signet): Promise<Live> {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const app = await user.enableTotp();
  const tokens = await user.obtainTokens(client);
  const signedOut = await user.awaitingSecondFactor();
  assert.equal((await signedOut.giveCode(app.code())).status, 303);
  const waiting = await user.awaitingSecondFactor();
  const { url } = await inviteAdministrator(signet.deps, 'cli');
  const [backupCode = ''] = app.backup_codes;
  const totp = app.code(); // moves the clock
  const code = await user.authorize(client);
  return {
    user,
    signedOut,
    waiting,
    code,
    totp,
    backupCode,
    invitation: new URL(url).pathname,
    client,
    tokens,
  };
}

/** As the parent of this process would be named in the store if it were a server. */
function nameOfParent(): string {
  const path = `/proc/${process.ppid}/stat`;
  const status = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return `${process.ppid}-${status.slice(status.lastIndexOf(')')).split(' ')[20] ?? ''}-parent`;
}

const isSignedIn = async ({ browser }: TestUser) => (await browser.get('/account')).status === 200;

async function assertDead(signet: Signet, live: Live): Promise<void> {
  const { client, tokens } = live;
  assert.deepEqual([await isSignedIn(live.user), await isSignedIn(live.signedOut)], [false, false], 'sessions');
  assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  assertRefused(await client.redeem(live.code), 400, 'invalid_grant');
  assert.equal((await client.post('/oauth/introspect', { token: tokens.access_token })).json?.active, false);
  assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
  assert.notEqual((await live.waiting.giveCode(live.totp)).location, '/account', 'a pending sign-in');
  assert.equal((await signet.newBrowser().get(live.invitation)).status, 400, 'a link');
  const again = await live.user.awaitingSecondFactor();
  assert.equal((await again.giveCode(live.totp)).status, 401, 'a code that an app showed before');
  assert.equal((await again.giveCode(live.backupCode)).status, 401, 'a backup code');
}

/** The same server, after a stop and a start. */
const restarted = (t: TestContext, signet: Signet): Promise<Signet> =>
  startSignet(t, { beside: signet, env: { SIGNET_PORT: String(signet.deps.config.port) } });

async function stop({ app, deps }: Signet): Promise<void> {
  await app.close();
  await closeDeps(deps);
}

test('what ended after a backup under load stays ended after its restore, and what began after it never was', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' });
  const { config, clock } = { config: signet.deps.config, clock: signet.clock };
  const live = await make(signet);
  const busy = await Promise.all([1, 2, 3, 4].map(() => live.user.obtainTokens(live.client)));
  await signet.runJobs();

  let isDone = false;
  let refreshes = 0;
  const load = busy.map(async ({ refresh_token: first }) => {
    for (let refresh_token = first; !isDone; refreshes += 1) {
      ({ refresh_token } = tokensOf(await live.client.refresh(refresh_token)));
    }
  });
  const file = join(config.dataDir, 'backup.db');
  writeFileSync(`${file}.${process.pid}.part`, 'of a killed process with the number of this one, as in a container');
  await signet.deps.db.run(recordRun(nameOfParent(), now(signet.deps), signet.deps.vault.id)); // a server in another process
  const backup = await backUp(signet.deps, caller, file, () => undefined);
  isDone = true;
  await Promise.all(load);
  t.diagnostic(`${refreshes} refreshes during the backup of ${backup.bytes} bytes`);
  assert.ok(refreshes > 0);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(config.dataDir).filter((name) => name.startsWith('backup.db')),
    ['backup.db'],
  );

  const elsewhere = {
    ...config,
    dataDir: join(config.dataDir, 'drill'),
    auditHeadFile: join(config.dataDir, 'drill.json'),
  };
  mkdirSync(elsewhere.dataDir);
  if (process.getuid?.() === 0) chownSync(elsewhere.dataDir, 4321, 4321);
  await restoreBackup(elsewhere, { clock, log }, { ...restoring, path: file, force: false });
  const { uid, gid, mode } = statSync(join(elsewhere.dataDir, 'signet.db'));
  const owner = statSync(elsewhere.dataDir);
  assert.deepEqual([uid, gid, mode & 0o777], [owner.uid, owner.gid, 0o600], 'the server can open what root restored');

  const { refresh_token } = tokensOf(await live.client.refresh(live.tokens.refresh_token));
  const later = await live.user.obtainTokens(live.client);
  tokensOf(await live.client.redeem(live.code));
  assert.equal((await live.waiting.giveCode(live.totp)).status, 303);
  await live.signedOut.browser.post('/signout', {});
  await signet.runJobs();

  await assert.rejects(restoreBackup(config, { clock, log }, { ...restoring, path: file, force: false }), /--force/);
  await assert.rejects(
    restoreBackup(config, { clock, log }, { ...restoring, path: file, force: true }),
    /has .* open\. Stop the server/,
  );
  await assert.rejects(restoreInPlace(config, { clock, log }, restoring), /A server is running on this store/);
  assert.ok(await isSignedIn(live.user), 'a refused restore changes nothing');
  await stop(signet);

  const { replaced, ended } = await restoreBackup(config, { clock, log }, { ...restoring, path: file, force: true });
  assert.ok(ended.sessions >= 2 && replaced !== null && existsSync(replaced));
  assert.deepEqual(
    readdirSync(config.dataDir).filter((name) => /restoring|-wal|-shm|part/.test(name)),
    [],
  );
  const next = await restarted(t, signet);
  await assertDead(next, live);
  for (const token of [refresh_token, later.refresh_token])
    assertRefused(await live.client.refresh(token), 400, 'invalid_grant');
  assert.equal((await next.userinfo(later.access_token)).status, 401);

  await next.runJobs();
  const { broken, unsealed } = await verifyAuditLog(next.deps);
  assert.deepEqual([broken, unsealed], [undefined, 0], 'the log goes on after the restore');
  const [event] = await next.auditLog({ action: 'store.restored' });
  assert.deepEqual([event?.actor, event?.reason], ['cli', 'the disk broke']);
  assert.equal(JSON.parse(String(event?.after_state)).taken_at, backup.taken_at);
  assert.equal(
    (await next.auditLog({ action: 'store.backed_up' })).length,
    0,
    'what was written after the backup is gone',
  );
});

onBothEngines(
  'a copy that the tools of its database have put in place is served when all that was valid in it has ended',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const { config, clock } = { config: signet.deps.config, clock: signet.clock };
    const live = await make(signet);
    await stop(signet);
    await restoreInPlace(config, { clock, log }, restoring);
    await assertDead(await restarted(t, signet), live);
  },
);

test('a backup and a restore refuse what would cost something, in a sentence', async (t) => {
  const env = await preparedSettings(t, 'sqlite');
  const folder = env.SIGNET_DATA_DIR ?? '';
  const file = join(folder, 'backup.db');
  writeFileSync(`${file}.999999999.part`, 'of a process that was killed');
  const { bytes } = await succeed(['backup', file], env);
  assert.equal(statSync(file).size, bytes);
  assert.ok(!existsSync(`${file}.999999999.part`));
  await refused(['backup', file], env, /exists already/);
  await refused(['backup', join(folder, 'none', 'backup.db')], env, /There is no folder/);
  await refused(['restore', file], env, /add --force/);
  await refused(['restore', join(folder, 'none.db')], env, /There is no file .*none\.db\. Nothing was changed/);

  const text = join(folder, 'text');
  writeFileSync(text, 'a text and no database at all');
  await refused(['restore', text, '--force'], env, /is not a backup of Signet/);
  const damaged = join(folder, 'damaged.db');
  copyFileSync(file, damaged);
  writeFileSync(damaged, readFileSync(file).fill(1, 8_192, 20_000));
  await refused(['restore', damaged, '--force'], env, /is damaged/);
  const live = join(folder, 'live.db');
  copyFileSync(file, live);
  appendFileSync(`${live}-wal`, 'something');
  await refused(['restore', live, '--force'], env, /is a database in use/);
  await refused(
    ['restore', file, '--force'],
    { ...env, SIGNET_MASTER_KEY: Buffer.alloc(32, 3).toString('hex') },
    /master key/,
  );
  const empty = join(folder, 'empty');
  await refused(
    ['restore', file, '--force'],
    { ...env, SIGNET_DATA_DIR: empty },
    /There is no master key in \S+\. For a store that was copied here, put the copy of its key there; .*Nothing was changed\./,
  );
  assert.ok(!existsSync(join(empty, 'signet.db')), 'nothing was written');
  await succeed(['keys', 'list'], env);

  await refused(['purge'], env, /the clock of this machine/);
  const { purged } = await succeed(['purge', '--force'], env);
  assert.equal((purged as Record<string, number>)['purge sessions'], 0);

  copyFileSync(file, join(folder, 'signet.db'));
  await refused(['keys', 'list'], env, /is a backup that was put in place and not restored/);
  await succeed(['restore', '--after-copy', '--reason', 'put back the snapshot of Monday'], env);
  await succeed(['keys', 'list'], env);
  const { replaced, taken_at } = await succeed(['restore', file, '--force'], env);
  assert.ok(existsSync(String(replaced)) && Number(taken_at) > 0);
  await succeed(['keys', 'list'], env);

  for (const name of readdirSync(folder)) if (name.startsWith('signet.db')) rmSync(join(folder, name));
  writeFileSync(join(folder, 'signet.db-wal'), 'what a lost database has left');
  await succeed(['restore', file], env);
  const logs = readdirSync(folder).filter((name) => /^signet\.db.*-wal$/.test(name));
  assert.match(
    logs.join(),
    /^signet\.db\.replaced-\d+-wal$/,
    'the log of a lost database is kept, and not for another one',
  );
  assert.equal(readFileSync(join(folder, logs.join()), 'utf8'), 'what a lost database has left');
});

test('a backup of a running server is tried beside it by the documented commands, also with another master key', async (t) => {
  const settings = await bareSettings(t);
  const server = await startServer(t, settings);
  const folder = settings.SIGNET_DATA_DIR ?? '';
  const file = join(folder, 'monday.db');
  await succeed(['backup', file], settings);
  const keys = { of: join(folder, 'copied.key'), next: join(folder, 'next.key') };
  copyFileSync(join(folder, 'master.key'), keys.of);
  writeFileSync(keys.next, Buffer.alloc(32, 9).toString('base64'), { mode: 0o600 });

  const [, block = ''] = /## Try it\n[^`]+```sh\n(.+?)```/s.exec(documented('backup.md')) ?? [];
  const [, names = ''] = /^export (.+)$/m.exec(block) ?? [];
  assert.deepEqual(names.match(/\w+(?==)/g), ['SIGNET_DATA_DIR', 'SIGNET_MASTER_KEY_FILE', 'SIGNET_PORT']);
  const port = String(await freePort());
  const trial = { SIGNET_DATA_DIR: join(folder, 'trial'), SIGNET_MASTER_KEY_FILE: keys.of, SIGNET_PORT: port };
  const commands = [...block.matchAll(/^signet (.+)$/gm)].map(([, args = '']) =>
    args.split(' ').map((word) => (word.endsWith('.db') ? file : word)),
  );
  assert.deepEqual(
    commands.map(([name]) => name),
    ['restore', 'doctor'],
  );
  for (const args of commands) assert.equal((await runCommand(args, { env: trial })).code, 0, args.join(' '));

  const rekeyed = { SIGNET_MASTER_KEY_FILE: keys.next, SIGNET_OTHER_MASTER_KEY_FILE: keys.of };
  assert.match(documented('keys.md'), /`SIGNET_OTHER_MASTER_KEY_FILE`, restore, and run `signet rekey` again/);
  assert.equal((await succeed(['rekey'], { ...trial, ...rekeyed })).replaced, true);
  const started = await startServer(t, { ...trial, SIGNET_MASTER_KEY_FILE: keys.next });
  assert.equal((await fetch(`${started.url}/readyz`)).status, 200);

  await refused(['rekey'], { ...settings, ...rekeyed }, /A server process still seals under another master key/);
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200, 'the server beside it goes on');
});

onBothEngines('each restore voids what browsers keep, also if the clock was set back', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const seen = new Set([await findGeneration(db)]);
  for (const [id, at] of [['rst_2', 1000] as const, ['rst_1', 500] as const, ['rst_3', 500] as const]) {
    await markCopy(db, 'rst_copy', null);
    await db.run(finishRestore(id, at));
    seen.add(await findGeneration(db));
  }
  assert.equal(seen.size, 4);
});

test('a backup gives up before the log of the store grows so long that changes are refused', async (t) => {
  const { deps } = await startSignet(t, { engine: 'sqlite' });
  const from = join(deps.config.dataDir, 'signet.db');
  await deps.db.run(auditEvent({ action: 'store.backed_up', ...caller }, 0).statement);
  await assert.rejects(
    copySqlite(from, `${from}.copy`, () => undefined, { pagesPerStep: 1, maxLogBytes: 1 }),
    /was given up/,
  );
});
