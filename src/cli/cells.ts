import { list } from '../platform/report.ts';
import { commandWithoutStore } from './command.ts';

const now = (): number => Math.floor(Date.now() / 1000);

/** The first server has no name in the settings. */
const serverOf = (typed: string): string => (typed === 'first' ? '' : typed);
const named = (server: string): string => server || 'first';

export const cellCommands = {
  'cells list': commandWithoutStore({
    summary: 'List the cells of a store in several parts, and the servers that have them.',
    async runWithoutStore(config) {
      const { bucketsOf, listCells } = await import('../app/cells.ts');
      const cells = (await listCells(config)).map(({ place, cells: of, ...cell }) => ({
        ...cell,
        server: named(cell.server),
        buckets: bucketsOf({ place, cells: of }),
      }));
      const rows = cells.map(({ name, server, address, buckets, users, problem }) => [
        ...[name, server, address, buckets.join('-')],
        ...[users === null ? 'away' : `about ${users}`, problem],
      ]);
      return {
        json: { cells },
        text: list([['name', 'server', 'address', 'buckets', 'users', 'problem'], ...rows]),
        failed: cells.some(({ problem }) => problem !== null),
      };
    },
  }),
  'cells add': commandWithoutStore({
    summary:
      'Give a further server of SIGNET_CELL_SERVERS, or a node of Citus by host:port, the tables that all parts have a copy of, and have it follow them. Then cells can be moved to it.',
    operands: { server: { value: 'server' } },
    async runWithoutStore(config, { server }) {
      const { addServer } = await import('../app/cells.ts');
      await addServer(config, server, now());
      return {
        json: { server, state: 'following' },
        text: `${server} follows the shared tables. Move cells to it with: signet cells move <cell> --to ${server}`,
      };
    },
  }),
  'cells move': commandWithoutStore({
    summary:
      'Move a cell to another server while its users sign in. Run it again if it was interrupted; the old copy stays on its server until you drop it.',
    operands: { cell: { value: 'cell' } },
    options: {
      to: { value: 'server', required: true, help: 'its name in SIGNET_CELL_SERVERS, or first; on Citus host:port' },
    },
    async runWithoutStore(config, { cell, to }, { stderr }) {
      const { moveCellTo } = await import('../app/cells.ts');
      const isTerminal = 'isTTY' in stderr && stderr.isTTY === true;
      const moved = await moveCellTo(config, cell, serverOf(to), {
        now,
        monotonic: () => performance.now(),
        onProgress: ({ tables, left }) =>
          isTerminal && stderr.write(`\r\u001b[K${left === 0 ? '' : `copied ${tables - left} of ${tables} tables`}`),
      });
      const counted = `${moved.rows} rows, the same as before. It was closed for ${moved.closed_ms} ms. Once you have looked, drop what is left at ${moved.from}: drop schema ${cell}_moved cascade;`;
      const text = `${cell} is at ${moved.to}${moved.rows === undefined ? '.' : `: ${counted}`}`;
      return { json: moved, text };
    },
  }),
};
