import { randomBytes } from 'node:crypto';
import { startEmptyPostgres } from '../test/support/postgres-server.ts';
import { childrenOf } from './processor-time.ts';

/** How a store lies on PostgreSQL: in one part, in eight cells of one server, or with half of them on a second one. */
export const layouts = ['one_part', 'cells', 'two_servers'] as const;
export type Layout = (typeof layouts)[number];

const cells = Array.from({ length: 8 }, (_, place) => `c${place}`);
/** The server that has every other cell. */
const second = 'b';

type Database = {
  /** Of the first server. */
  url: string;
  /** Settings of the Signet that uses it. */
  environment: NodeJS.ProcessEnv;
  /** Puts the cells where they belong, once Signet has made them. */
  spread: (command: (args: string[]) => Promise<unknown>) => Promise<void>;
  /** All its processes. */
  pids: () => number[];
  stop: () => Promise<void>;
};

/** New servers with PostgreSQL's own defaults, flushes included, and what the layout needs. */
export async function startDatabase(layout: Layout): Promise<Database> {
  const start = () =>
    startEmptyPostgres({ max_connections: '100', ...(layout === 'two_servers' && { wal_level: 'logical' }) });
  const settled = await Promise.allSettled([start(), ...(layout === 'two_servers' ? [start()] : [])]);
  const servers = settled.filter((one) => one.status === 'fulfilled').map((one) => one.value);
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())));
  const failure = settled.find((one) => one.status === 'rejected');
  if (failure) {
    await stop();
    throw failure.reason;
  }
  const [first, other] = servers;
  return {
    url: first!.url,
    environment: {
      SIGNET_DATABASE_URL: first!.url,
      SIGNET_MASTER_KEY: randomBytes(32).toString('hex'),
      ...(layout !== 'one_part' && { SIGNET_CELLS: cells.join(' ') }),
      ...(other && { SIGNET_CELL_SERVERS: `${second}=${other.url}` }),
    },
    spread: async (command) => {
      if (!other) return;
      await command(['cells', 'add', second]);
      for (const cell of cells.filter((_, place) => place % 2 === 1)) {
        await command(['cells', 'move', cell, '--to', second]);
      }
    },
    pids: () => servers.flatMap(({ pid }) => [pid, ...childrenOf(pid)]),
    stop,
  };
}
