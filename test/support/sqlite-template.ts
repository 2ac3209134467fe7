import { join } from 'node:path';
import { migrate } from '../../src/platform/db/migrate.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { scratchFolder } from './scratch.ts';

/** A migrated file, closed, for `freshDatabase` to copy: that is done a hundred times sooner than the migrations are. */
export async function makeSqliteTemplate(): Promise<string> {
  const dataDir = await scratchFolder('template');
  const db = await openDb({ dataDir, databaseUrl: undefined });
  await migrate(db, 0);
  await db.close();
  return join(dataDir, databaseFile);
}
