import assert from 'node:assert/strict';
import { newAttribute } from '../support/attributes.ts';
import { onBothEngines } from '../support/databases.ts';
import { type Signet, startSignet } from '../support/signet.ts';

type Result = { outcome: string; user_id: string | null; problems: { path: string; message: string }[] };

async function importOne(signet: Signet, from: string, user: object, more: object = {}) {
  const { authorization } = await signet.newService({
    permissions: ['users:import', 'users:read'],
    products: [],
    expires_in_days: 30,
  });
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ from, users: [user], ...more });
  const answer = await fetch(`${signet.url}/v1/admin/users/import`, { method: 'POST', headers, body });
  assert.equal(answer.status, 200, await answer.clone().text());
  const [result] = ((await answer.json()) as { results: Result[] }).results;
  const record = result!.user_id && (await fetch(`${signet.url}/v1/admin/users/${result!.user_id}`, { headers }));
  const { attributes } = record ? ((await record.json()) as { attributes: object }) : { attributes: undefined };
  return { ...result!, attributes };
}

const nothing = 'There is no attribute of this name here.';

onBothEngines('an import gives users the attributes that are defined here, each of its type', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  await newAttribute(signet, 'department', { choices: ['Sales', 'Service'] });
  await newAttribute(signet, 'badge', { value_type: 'integer' });
  await newAttribute(signet, 'remote', { value_type: 'boolean' });
  await newAttribute(signet, 'teams', { value_type: 'strings' });
  await newAttribute(signet, 'motto', { editable_by: 'person' });

  const own = await importOne(signet, 'signet', {
    external_id: '1',
    email: 'one@example.com',
    attributes: { department: 'Sales', badge: 7, remote: false, teams: ['a'] },
  });
  assert.deepEqual(own.attributes, { department: 'Sales', badge: 7, remote: false, teams: ['a'] });
  const wrong = {
    external_id: '2',
    email: 'two@example.com',
    attributes: { badge: 'seven', hobby: 'x', remote: true },
  };
  const refused = await importOne(signet, 'signet', wrong);
  assert.deepEqual(
    [refused.outcome, ...refused.problems.map(({ path }) => path)],
    ['refused', 'attributes/badge', 'attributes/hobby'],
  );
  const reduced = await importOne(signet, 'signet', wrong, { drop_unusable: ['attributes'] });
  assert.deepEqual([reduced.outcome, reduced.attributes], ['imported', { remote: true }]);
  const without = await importOne(
    signet,
    'signet',
    { ...wrong, external_id: '3', email: 'three@example.com' },
    { without: ['attributes'] },
  );
  assert.deepEqual([without.outcome, without.attributes, without.problems], ['imported', {}, []]);

  const keycloak = await importOne(signet, 'keycloak', {
    id: 'kc-1',
    email: 'kc@example.com',
    attributes: {
      Department: ['Service'],
      badge: ['42'],
      remote: ['true'],
      teams: ['a', 'b'],
      locale: ['de'],
      fax: ['1'],
    },
  });
  assert.deepEqual(keycloak.attributes, { department: 'Service', badge: 42, remote: true, teams: ['a', 'b'] });
  assert.deepEqual(keycloak.problems, [{ path: 'attributes/fax', message: nothing }]);
  const unfit = { id: 'kc-2', email: 'kc2@example.com', attributes: { department: ['Finance'] } };
  assert.equal((await importOne(signet, 'keycloak', unfit)).outcome, 'refused');

  // What users could write there says nothing of what administrators say here.
  const auth0 = await importOne(signet, 'auth0', {
    user_id: 'auth0|1',
    email: 'auth0@example.com',
    user_metadata: { department: 'Sales', motto: 'Carpe diem', __proto__: { x: 1 }, theme: { dark: true } },
    app_metadata: { badge: 9 },
  });
  assert.deepEqual(auth0.attributes, { motto: 'Carpe diem', badge: 9 });
  assert.deepEqual(auth0.problems.map(({ path }) => path).sort(), ['attributes/department', 'attributes/theme']);

  const csv = await importOne(signet, 'csv', {
    external_id: 'csv-1',
    email: 'csv@example.com',
    'attributes.department': 'Sales',
    'attributes.teams': 'a\nb',
    'attributes.badge': '',
  });
  assert.deepEqual(csv.attributes, { department: 'Sales', teams: ['a', 'b'] });
});
