import assert from 'node:assert/strict';
import { claimOfEmail, partOfEmail } from '../../src/accounts/statements.ts';
import type { Part } from '../../src/platform/db/db.ts';
import type { Deps } from '../../src/platform/deps.ts';
import { bucketOf } from '../../src/platform/ids.ts';
import { everyRow } from './every-table.ts';
import { plain } from './plain-sql.ts';
import type { Signet } from './signet.ts';

/** Ids of what is a user's, wherever a row has them. */
const idOfUser = /\b(?:usr|ses|gr|pic)_[\w-]{22}\b/g;

/** Of the texts in the rows of a user, which may name others. */
const namesOthers = ['invited_by', 'owner_user_id', 'role_granted_by'];

let addresses = 0;

/** Where an account is, its address decides: one after the other, until it is there. */
export async function newUserIn(signet: Signet, part: Part) {
  for (let tried = 0; tried < 1000; tried += 1) {
    addresses += 1;
    const email = `one-of-many${addresses}@example.com`;
    if (partOfEmail(signet.deps, email) === part) return signet.newUser({ email });
  }
  throw new Error('No address leads there.');
}

/**
 * For a user who was made past the stores: in a store of several parts they are not where their address leads to, so it is claimed
 * there, as that of a user who has changed it.
 */
export async function claimAddress(
  deps: Pick<Deps, 'db' | 'placement'>,
  user_id: string,
  email: string,
): Promise<void> {
  if (deps.db.parts.length === 1) return;
  const { part, key } = claimOfEmail(deps, email);
  await plain(part).run('insert into claims (claim_key, user_id) values ($1, $2)', [key, user_id]);
}

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
