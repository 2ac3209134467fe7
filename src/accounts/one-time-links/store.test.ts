import assert from 'node:assert/strict';
import { freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import { failUnless } from './store.ts';

onBothEngines('a guard fails its batch whole, and leaves no row when it holds', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const spend = (token_hash: string) => ({
    sql: 'insert into spent_tokens (token_hash, expires_at) values ($1, 1)',
    params: [token_hash],
  });
  const is = (one: string, other: string) => ({ sql: '$1 = $2', params: [one, other] });
  await db.batch([failUnless(is('a', 'a'), 'evt_1', 1), spend('kept')]);
  await assert.rejects(db.batch([spend('lost'), failUnless(is('a', 'b'), 'evt_2', 1)]), UniqueViolation);
  assert.deepEqual(
    (await db.all<{ token_hash: string }>('select token_hash from spent_tokens')).map(({ token_hash }) => token_hash),
    ['kept'],
  );
});
