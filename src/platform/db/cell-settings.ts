import { ConfigError } from '../errors.ts';
import { serversOf } from './postgres-address.ts';

export type CellSettings = {
  /** Schemas, in the order of their buckets, of which each has as many. Which server has one, the store itself knows. */
  readonly cells: readonly string[];
  /** URLs by name. The first database of the store has the name `''`. */
  readonly servers: Readonly<Record<string, string>>;
};

const name = /^[a-z][a-z0-9_]{0,30}$/;
const taken = /^(?:public$|information_schema$|pg_)/;
const mostCells = 64;

function must(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new ConfigError(sentence);
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/**
 * @param home the URL of the first database.
 * @param cells as `c0 c1 c2 c3`.
 * @param servers as `b=postgres://…`.
 * @throws {ConfigError} which repeats nothing that may be secret.
 */
export function readCells(
  home: string | undefined,
  cells: string | undefined,
  servers: string | undefined,
): CellSettings | undefined {
  if (cells === undefined) {
    must(servers === undefined, 'SIGNET_CELL_SERVERS is set without SIGNET_CELLS, which names the cells on them.');
    return undefined;
  }
  must(home !== undefined, 'SIGNET_CELLS needs SIGNET_DATABASE_URL: a store in cells is on PostgreSQL.');
  const urls = readServers(home, servers);
  const read = wordsOf(cells);
  must(
    read.every((one) => name.test(one) && !taken.test(one)),
    'SIGNET_CELLS must be names of schemas, such as c0 c1 c2 c3: each 1 to 31 lower-case letters, digits and "_".',
  );
  must(new Set(read).size === read.length, 'SIGNET_CELLS names a cell twice.');
  must(
    read.length >= 2 && read.length <= mostCells && Number.isInteger(Math.log2(read.length)),
    `SIGNET_CELLS must be 2, 4, 8, 16, 32 or 64 cells: each has an equal share of the users.`,
  );
  return { cells: read, servers: urls };
}

function readServers(home: string, text: string | undefined): Record<string, string> {
  const urls: Record<string, string> = { '': home };
  for (const word of wordsOf(text ?? '')) {
    const [server = '', ...rest] = word.split('=');
    const url = rest.join('=');
    must(
      name.test(server) && /^postgres(?:ql)?:\/\//.test(url),
      'SIGNET_CELL_SERVERS must be servers such as b=postgres://user:password@host:5432/database, with spaces between them.',
    );
    must(!(server in urls), `SIGNET_CELL_SERVERS names ${server} twice.`);
    urls[server] = usable(server, url);
  }
  return urls;
}

function usable(server: string, url: string): string {
  try {
    serversOf(url);
    return url;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace('SIGNET_DATABASE_URL', `The URL of ${server} in SIGNET_CELL_SERVERS`));
  }
}
