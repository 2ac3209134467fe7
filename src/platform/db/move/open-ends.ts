import { join } from 'node:path';
import { databaseFile } from '../open.ts';
import type { End, Ends } from './ends.ts';
import { MoveRefused } from './refused.ts';
import { openSqliteEnd } from './sqlite-end.ts';

type Settings = { readonly dataDir: string; readonly databaseUrl: string | undefined };

/** @throws {MoveRefused} while another process moves to or from the same PostgreSQL. */
export async function openEnds(from: Settings, to: Settings): Promise<Ends> {
  const source = await openEnd(from);
  try {
    return { source, target: await openEnd(to) };
  } catch (error) {
    await source.close();
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
