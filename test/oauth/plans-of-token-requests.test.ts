import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OneDb } from '../../src/platform/db/db.ts';
import { newApi } from '../support/apis.ts';
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

// PostgreSQL keeps the new version of a row on its page, and writes no entry of any index, where no column of an index has changed, nor
// one of its condition.
test('issuing a token changes no column of an index of grants, with a status neither', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres' });
  const { db } = signet.deps;
  await newApi(signet, ['files:read'], 'https://files.test', { token_status: 'list' });
  const scope = 'openid offline_access files:read';
  const client = await signet.registerClient({ allowed_scopes: scope.split(' ') });
  const user = await signet.signedInUser();
  const statements = watchStatements(db);
  const { refresh_token } = await user.obtainTokens(client, { scope });
  tokensOf(await client.refresh(refresh_token));
  const changed = statements
    .keys()
    .filter((sql) => sql.startsWith('update grants set'))
    .map((sql) => sql.slice(0, sql.indexOf(' where ')))
    .toArray();
  assert.equal(changed.length, 2, 'a code and a refresh');
  const columns = new Set(
    changed.flatMap((sql) => [...sql.matchAll(/(?:set|,)\s+(\w+) = /g)].map(([, name]) => name!)),
  );
  for (const name of ['refresh_seq', 'status_refs', 'status_refs_before', 'status_window'])
    assert.ok(columns.has(name), name);
  const indexes = await plain(db.of(user.user_id) as OneDb).all<{ definition: string }>(
    "select indexdef as definition from pg_indexes where tablename = 'grants'",
  );
  assert.ok(indexes.length > 5);
  for (const { definition } of indexes) {
    for (const name of columns) assert.doesNotMatch(definition, new RegExp(`\\b${name}\\b`));
  }
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
