import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { afterTest } from './after-test.ts';
import { freePort } from './free-port.ts';
import { asAdmin } from './postgres-admin.ts';
import { importWithoutExitHook } from './postgres-server.ts';
import { scratchFolder } from './scratch.ts';
import { until } from './until.ts';

/** A primary whose commits wait for its standby, and what an operator does when the primary is lost. */
export type PostgresPair = {
  /** Of the primary, and after {@link promote} of what was its standby. */
  url: string;
  standbyUrl: string;
  /** `kill -9` of the primary. */
  kill(): Promise<void>;
  /** Stops the primary as an operator does, so that its standby has all that it had. */
  stop(): Promise<void>;
  promote(): Promise<void>;
  /** Starts what was the primary as a standby that gets nothing more. */
  rejoin(): Promise<void>;
};

const password = 'test';
const urlOf = (port: number) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

export async function startPostgresPair(t: TestContext): Promise<PostgresPair> {
  const EmbeddedPostgres = await importWithoutExitHook();
  const lines: string[] = [];
  const serverIn = (folder: string, port: number, flags: readonly string[]) => {
    const server = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      password,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      postgresFlags: flags.flatMap((flag) => ['-c', flag]),
      onLog: (line) => lines.push(String(line)),
      onError: (error) => lines.push(String(error)),
    });
    return { server, port, url: urlOf(port) };
  };
  const common = ['max_connections=40', 'shared_buffers=32MB', 'autovacuum=off'];
  const folder = await scratchFolder('primary');
  const copy = await scratchFolder('standby');
  afterTest(t, () => Promise.all([folder, copy].map((path) => rm(path, { recursive: true, force: true }))));

  const primary = serverIn(folder, await freePort(), common);
  await primary.server.initialise();
  await primary.server.start();
  afterTest(t, () => end(primary.server));
  await asAdmin(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', true)`);
    rmSync(copy, { recursive: true });
    const copied = spawnSync('cp', ['-a', folder, copy], { encoding: 'utf8' });
    if (copied.status !== 0) throw new Error(copied.stderr);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    const { uid, gid } = statSync(copy);
    for (const [name, text] of [
      ['backup_label', rows[0]!.labelfile],
      ['standby.signal', ''],
    ] as const) {
      writeFileSync(join(copy, name), text);
      chownSync(join(copy, name), uid, gid);
    }
    rmSync(join(copy, 'postmaster.pid'));
  });

  const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=standby`;
  const standby = serverIn(copy, await freePort(), [...common, `primary_conninfo=${source}`]);
  void standby.server.start().catch(() => undefined); // it says that it is ready when it has been promoted
  afterTest(t, () => end(standby.server));
  await asAdmin(primary.url, async (client) => {
    const isStreaming = `select 1 from pg_stat_replication where state = 'streaming'`;
    const said = () => lines.join('');
    await until('the standby connects', async () => (await client.query(isStreaming)).rowCount !== 0, said);
    await client.query(`alter system set synchronous_standby_names = 'standby'`);
    await client.query('select pg_reload_conf()');
    const waits = `select 1 from pg_stat_replication where sync_state = 'sync'`;
    await until('commits wait for the standby', async () => (await client.query(waits)).rowCount !== 0, said);
  });

  const pair: PostgresPair = {
    url: primary.url,
    standbyUrl: standby.url,
    kill: () => end(primary.server),
    stop: () => end(primary.server, 'SIGINT'),
    async promote() {
      await asAdmin(standby.url, (client) => client.query('select pg_promote(true)'));
      pair.url = standby.url;
      pair.standbyUrl = primary.url;
    },
    async rejoin() {
      const { uid, gid } = statSync(folder);
      writeFileSync(join(folder, 'standby.signal'), '');
      chownSync(join(folder, 'standby.signal'), uid, gid);
      const rejoined = serverIn(folder, primary.port, common);
      void rejoined.server.start().catch(() => undefined);
      afterTest(t, () => end(rejoined.server));
      await answers(primary.url);
    },
  };
  return pair;
}

async function answers(url: string): Promise<void> {
  let refusal: unknown;
  const isThere = async () => {
    try {
      await asAdmin(url, (client) => client.query('select 1'));
      return true;
    } catch (error) {
      refusal = error;
      return false;
    }
  };
  await until('the server answers', isThere, () => String(refusal));
}

/** By a signal to the process that starts all others; these end as soon as they notice. */
async function end(server: object, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const { process: postmaster } = server as { process?: ChildProcess };
  if (postmaster?.exitCode !== null || postmaster.signalCode !== null) return;
  const gone = once(postmaster, 'exit');
  postmaster.kill(signal);
  await gone;
}
