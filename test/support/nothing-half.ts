import assert from 'node:assert/strict';
import type { World } from './acts-over-parts.ts';
import { plain } from './plain-sql.ts';

/** A minute later: what was left is finished or taken back. */
export async function aMinuteLater({ signet }: World): Promise<void> {
  signet.clock.advance(60);
  await signet.runJobs();
  if (process.env.ACT)
    for (const line of signet.logLines.splice(0)) if (/job failed/.test(line)) console.log(line.slice(0, 600));
}

/** Users who have two usernames, or one that leads nowhere. */
async function strayHandles({ signet: { deps } }: World): Promise<string[]> {
  const db = plain(deps.db);
  const named = 'select user_id from users where deleted_at is null and preferred_username is not null';
  const held = 'select user_id from handles where released_at is null';
  const all = [...(await db.all<{ user_id: string }>(named)), ...(await db.all<{ user_id: string }>(held))];
  const byUser = Map.groupBy(all, ({ user_id }) => user_id);
  return [...byUser].filter(([, rows]) => rows.length !== 2).map(([user_id]) => user_id);
}

/** Nobody has what is another's, no claim is left, and each username leads to its user. */
export async function assertNothingHalf(world: World): Promise<void> {
  const db = plain(world.signet.deps.db);
  const twice = (rows: readonly object[]) => {
    const seen = rows.map((one) => Object.values(one).join(' '));
    return seen.filter((one, at) => seen.indexOf(one) !== at);
  };
  assert.deepEqual(twice(await db.all('select email_key from users where deleted_at is null')), []);
  assert.deepEqual(twice(await db.all('select issuer, subject from identities')), []);
  assert.deepEqual(await db.all('select claim_key from claims where since is not null'), []);
  const strays = (await strayHandles(world)).filter((user_id) => !world.strays.has(user_id));
  for (const user_id of strays) world.strays.add(user_id);
  assert.deepEqual(strays, [], 'a username is its user’s');
}
