import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { childrenOf } from '../../bench/processor-time.ts';
import type { MigratableDb } from '../../src/platform/db/migrate.ts';
import { afterTest } from '../support/after-test.ts';
import { asAdmin, databaseUrl } from '../support/postgres-admin.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Options, type Signet, startSignet } from '../support/signet.ts';
import { clockStart } from '../support/store-template.ts';
import { until } from '../support/until.ts';

const given = process.env.CITUS_SERVERS?.split(/\s+/).filter(Boolean) ?? [];

/** Why the tests of Citus cannot run; undefined if they can. */
export const skip =
  given.length >= 3
    ? undefined
    : 'set CITUS_SERVERS to URLs of a coordinator and two workers with Citus, as superuser, with spaces between them (docs/citus.md)';

/** `host:port`, as Citus names a node. */
export const addressOf = (url: string): string => {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || 5432}`;
};

export type Cluster = {
  /** Of the coordinator, with a database of this test alone. */
  url: string;
  /** The same of each worker. */
  workers: readonly string[];
};

/** The name of the server that has each cell. */
export const placesOf = ({ deps }: Signet): string[] =>
  cellNames.map((cell) => (deps.db as MigratableDb).placeOf!(cell));

/** The name of the server that has the rows of a user. */
export const placeOfUser = (signet: Signet, user_id: string): string =>
  placesOf(signet)[signet.deps.db.parts.indexOf(signet.deps.db.of(user_id) as never) - 1]!;

export const cellNames = ['c0', 'c1', 'c2', 'c3'];

type Joining = {
  /** How many of the workers. */
  joined?: number;
  /** The databases know nothing of Citus yet. */
  isBare?: boolean;
};

/** A database on each server, which are joined to a cluster: the coordinator, and workers. */
export async function freshCluster(
  t: TestContext,
  { joined = given.length - 1, isBare = false }: Joining = {},
): Promise<Cluster> {
  const name = `signet_test_${randomBytes(6).toString('hex')}`;
  for (const server of given) {
    await asAdmin(server, (client) => client.query(`create database ${name}`));
    afterTest(t, () => dropDatabase(server, name));
  }
  const [url = '', ...workers] = given.map((server) => databaseUrl(server, name));
  if (!isBare) await joinCluster({ url, workers }, joined);
  return { url, workers };
}

/** As an operator does it. */
export async function joinCluster({ url, workers }: Cluster, joined: number): Promise<void> {
  for (const one of [url, ...workers]) await asAdmin(one, (client) => client.query('create extension citus'));
  await asAdmin(url, async (client) => {
    const partsOf = (server: string) => addressOf(server).split(':');
    await client.query('select citus_set_coordinator_host($1, $2)', partsOf(url));
    for (const worker of workers.slice(0, joined)) {
      await client.query('select citus_add_node($1, $2)', partsOf(worker));
    }
  });
}

/** Also with what a move has left there that did not come to its end. */
async function dropDatabase(server: string, name: string): Promise<void> {
  await asAdmin(databaseUrl(server, name), async (client) => {
    const { rows } = await client.query(
      'select subname from pg_subscription join pg_database d on d.oid = subdbid where datname = current_database()',
    );
    for (const { subname } of rows) {
      await client.query(`alter subscription ${subname} disable`);
      await client.query(`alter subscription ${subname} set (slot_name = none)`);
      await client.query(`drop subscription ${subname}`);
    }
  });
  // Processes of replication and of Citus are not always gone at once.
  await until('the database can be dropped', () =>
    asAdmin(server, (client) => client.query(`drop database if exists ${name} with (force)`)).then(
      () => true,
      () => false,
    ),
  );
}

/** A server of Signet whose store is on the cluster. */
export async function signetOn(t: TestContext, { url }: Cluster, options: Options = {}): Promise<Signet> {
  const dataDir = await scratchFolder('citus');
  afterTest(t, () => rm(dataDir, { recursive: true, force: true }));
  const env = { SIGNET_CELLS: cellNames.join(' '), SIGNET_RATE_LIMITS: 'off', ...options.env };
  return startSignet(t, { ...options, on: { url, dataDir, at: clockStart / 1000 }, env });
}

/**
 * Listens to what servers of Citus say that they send to others, over the connections of this process to a URL that is {@link logging}.
 * @returns what the coordinator has sent, and what the workers have.
 */
export function listenToRemote({ url }: Cluster): { byCoordinator: string[]; byWorkers: string[]; stop(): void } {
  const coordinator = Number(new URL(url).port);
  const heard = { byCoordinator: [] as string[], byWorkers: [] as string[] };
  const { emit } = pg.Client.prototype;
  pg.Client.prototype.emit = function (this: pg.Client, event: string | symbol, ...rest: unknown[]) {
    const [notice] = rest as [{ message?: string }?];
    if (event === 'notice' && notice?.message?.startsWith('issuing ')) {
      heard[this.port === coordinator ? 'byCoordinator' : 'byWorkers'].push(notice.message.slice(0, 100));
    }
    return Reflect.apply(emit, this, [event, ...rest]);
  } as typeof emit;
  const stop = () => {
    pg.Client.prototype.emit = emit;
  };
  return { ...heard, stop };
}

export const logging = (url: string): string =>
  `${url}?options=${encodeURIComponent('-c citus.log_remote_commands=on')}`;

/** A server on this machine, by its processes. */
export async function processOf(url: string) {
  const pid = await asAdmin(url, async (client) => {
    const backend = (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number;
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${backend}/status`, 'utf8'))?.[1]);
  });
  const listIn = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1);
  const command = listIn('cmdline');
  const env = Object.fromEntries(listIn('environ').map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
  const program = readlinkSync(`/proc/${pid}/exe`);
  const cwd = readlinkSync(`/proc/${pid}/cwd`);
  const { uid, gid } = statSync(`/proc/${pid}`);
  const all = () => [pid, ...childrenOf(pid)];
  const signal = (name: NodeJS.Signals) => {
    for (const one of name === 'SIGCONT' ? all().toReversed() : all()) process.kill(one, name);
  };
  return {
    /** As a machine that answers nothing and closes no connection. */
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async kill() {
      const killed = all();
      signal('SIGKILL');
      await until('its processes are gone', () => killed.every((one) => !readdirSync('/proc').includes(String(one))));
    },
    /** As it was started before. */
    async restart() {
      const child = spawn(program, command.slice(1), {
        cwd,
        env,
        uid,
        gid,
        argv0: command[0]!,
        detached: true,
        stdio: 'ignore',
      });
      await once(child, 'spawn');
      child.unref();
      const answers = () =>
        asAdmin(url, (client) => client.query('select 1')).then(
          () => true,
          () => false,
        );
      await until('the server answers again', answers);
    },
  };
}
