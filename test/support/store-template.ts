import { join } from 'node:path';
import { ensureSigningKeys } from '../../src/oauth/signing-keys/signing-keys.ts';
import { type MigratableDb, migrate } from '../../src/platform/db/migrate.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { openPlacement } from '../../src/platform/placement.ts';
import { prepareVaultFor } from '../../src/platform/vault.ts';
import { scratchFolder } from './scratch.ts';

/** Of every server that a test starts in its own process. */
export const masterKey = Buffer.alloc(32, 7);
/** 2027-01-15T08:00:00Z, in milliseconds: where the clocks of tests begin. */
export const clockStart = 1_800_000_000_000;

/** What the first start of a server leaves in an empty store. Most of that start is spent on drawing primes. */
export async function prepareStore(db: MigratableDb): Promise<void> {
  await migrate(db, 0);
  const vault = await prepareVaultFor(db, masterKey);
  await openPlacement(db, vault);
  await ensureSigningKeys({ db, clock: () => clockStart, vault });
}

/** A prepared file, closed, for `freshDatabase` to copy: that is done a hundred times sooner than it is prepared. */
export async function makeSqliteTemplate(): Promise<string> {
  const dataDir = await scratchFolder('template');
  const db = await openDb({ dataDir, databaseUrl: undefined });
  await prepareStore(db);
  await db.close();
  return join(dataDir, databaseFile);
}
