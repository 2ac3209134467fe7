import assert from 'node:assert/strict';
import { bucketOf } from '../../src/platform/ids.ts';
import { everyRow } from './every-table.ts';
import type { Signet } from './signet.ts';

/** Ids of what is a user's, wherever a row has them. */
const idOfUser = /\b(?:usr|ses|gr|pic)_[\w-]{22}\b/g;

/** Of the texts in the rows of a user, which may name others. */
const namesOthers = ['invited_by', 'owner_user_id', 'role_granted_by'];

/** Reads every row that has a `user_id`: its ids have the bucket of that user. @returns how many ids it has seen beside those. */
export async function assertOneBucketEach({ deps }: Signet): Promise<number> {
  let seen = 0;
  const { dataDir, databaseUrl: url } = deps.config;
  for (const [name, lines] of Object.entries(await everyRow({ dataDir, url }))) {
    for (const line of lines) {
      const row = Object.fromEntries(JSON.parse(line) as [string, unknown][]);
      const { user_id } = row;
      if (typeof user_id !== 'string' || !user_id.startsWith('usr_')) continue;
      for (const [column, value] of Object.entries(row)) {
        if (column === 'user_id' || namesOthers.includes(column) || typeof value !== 'string') continue;
        for (const [id] of value.matchAll(idOfUser)) {
          seen += 1;
          assert.equal(bucketOf(id), bucketOf(user_id), `${name}.${column}: ${id} of ${user_id}`);
        }
      }
    }
  }
  return seen;
}
