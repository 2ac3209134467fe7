import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OneDb } from '../../src/platform/db/db.ts';
import { combinedOf, watchStatements } from '../support/full-scans.ts';
import { plain } from '../support/plain-sql.ts';
import { basic, tokensOf } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

// A plan is made while there are no statistics, or old ones, and kept. When one began with the grants of the client, which were
// all there were, a refresh took ten milliseconds until the next `analyze`.
test('a token request finds its grant by its key, whatever the statistics say', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres' });
  const { db } = signet.deps;
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const statements = watchStatements(db);
  const authorization = basic(client.client_id, client.client_secret ?? '');
  const send = (path: string, form: Record<string, string>) => signet.postForm(path, form, { authorization });
  const { refresh_token = '' } = await user.obtainTokens(client, { scope: 'openid offline_access' });
  const { access_token } = tokensOf(await send('/oauth/token', { grant_type: 'refresh_token', refresh_token }));
  await send('/oauth/introspect', { token: access_token });
  await send('/oauth/introspect', { token: refresh_token });

  const combinable = statements
    .values()
    .filter(({ key }) => key !== undefined)
    .toArray();
  const part = db.of(user.user_id) as OneDb;
  const plansOf = async (when: string) => {
    for (const statement of combinable) {
      const combined = combinedOf(statement);
      assert.equal(combined.length, 1);
      for (const { sql, params } of [statement, ...combined]) {
        const plan = JSON.stringify(await plain(part).all(`explain (format json) ${sql}`, params));
        const index = /where code_hash/.test(sql) ? 'grants_code_hash_key' : 'grants_pkey';
        assert.deepEqual(indexesOfGrants(plan), [index], `${when}: ${sql}\n${plan}`);
        assert.doesNotMatch(plan, /hashed SubPlan|Seq Scan|Hash Join|Merge Join/, `${when}: ${sql}\n${plan}`);
      }
    }
    return combinable.length;
  };
  assert.equal(await plansOf('without statistics'), 4, 'a code, a refresh, and a look at each kind of token');
  const columns = await plain(db).all<{ name: string }>(
    "select column_name as name from information_schema.columns where table_name = 'grants' and table_schema = $1",
    [part.schema ?? 'public'],
  );
  const values = columns.map(({ name }) => (['grant_id', 'code_hash'].includes(name) ? `${name} || n` : name));
  await plain(part).run(
    `insert into grants (${columns.map(({ name }) => name)}) select ${values} from grants cross join generate_series(1, 500) n`,
  );
  await plansOf('with 500 grants to one client, and no statistics');
  await plain(db).run('analyze');
  await plansOf('with statistics of them');
});

/** By which the table is read. */
function indexesOfGrants(plan: string): string[] {
  const indexes: string[] = [];
  JSON.parse(plan, (_key, node) => {
    if (node?.['Relation Name'] === 'grants' && node['Index Name']) indexes.push(node['Index Name']);
    return node;
  });
  return indexes;
}
