import { join } from 'node:path';
import type { CellSettings } from '../cell-settings.ts';
import { databaseFile } from '../open.ts';
import type { End } from './ends.ts';
import { MoveRefused } from './refused.ts';
import { openSqliteEnd } from './sqlite-end.ts';

type Settings = {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly cells?: CellSettings | undefined;
};

/** `parts` of the target: the first one is that of the shared tables, of which `copies` have a copy. */
export type OpenEnds = { source: End; parts: [End, ...End[]]; copies: End[]; close(): Promise<void> };

/**
 * @param placeOf the name of the server that has a cell of the target.
 * @throws {MoveRefused} while another process moves to or from the same PostgreSQL.
 */
export async function openEnds(
  from: Settings,
  to: Settings,
  placeOf: (cell: string) => string = () => '',
): Promise<OpenEnds> {
  const opened: End[] = [];
  const close = async () => void (await Promise.all(opened.map((end) => end.close())));
  const open = async (settings: Settings): Promise<End> => {
    const end = await openEnd(settings);
    opened.push(end);
    return end;
  };
  try {
    const source = await open(from);
    const parts: OpenEnds['parts'] = [await open(to)];
    const copies: End[] = [];
    if (to.cells) {
      const { openPostgresEnd } = await import('./postgres-end.ts');
      const { followsShared } = await import('../cell-servers.ts');
      const { cells, servers } = to.cells;
      for (const cell of cells) {
        const part = await openPostgresEnd(servers[placeOf(cell)]!, cell);
        opened.push(part);
        parts.push(part);
      }
      for (const [name, url] of Object.entries(servers)) {
        if (name !== '' && (await followsShared(name, url))) copies.push(await open({ ...to, databaseUrl: url }));
      }
    }
    return { source, parts, copies, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openEnd({ databaseUrl, dataDir }: Settings): Promise<End> {
  if (databaseUrl === undefined) return openSqliteEnd(join(dataDir, databaseFile));
  const { openPostgresEnd } = await import('./postgres-end.ts');
  const end = await openPostgresEnd(databaseUrl);
  if (end.isAlone) return end;
  await end.close();
  throw new MoveRefused('Another signet move uses the same PostgreSQL. Wait until it has ended, or end it.');
}
