import assert from 'node:assert/strict';
import { type Signet, testSignet } from '../support/signet.ts';

const path = '/v1/admin/users/import';
type Row = Record<string, unknown>;

/** As a back end: JSON, by HTTP Basic. */
async function send({ url }: Signet, authorization: string, body: object) {
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, json: (await answer.json()) as { results: Row[] } & Row };
}

const user = (number: number) => ({
  external_id: `x${number}`,
  email: `user${number}@example.com`,
  name: `User ${number}`,
});

testSignet('a back end imports users in pieces, and repeats a piece whose answer was lost', async ({ signet }) => {
  const permissions = ['users:import'];
  const { authorization } = await signet.newService({ permissions, products: [], expires_in_days: 9 });
  const users = [...Array.from({ length: 498 }, (__, number) => user(number)), 'no user', user(7)];
  const tried = await send(signet, authorization, { users: users.slice(0, 499), dry_run: true });
  assert.deepEqual([tried.status, tried.json.imported, tried.json.refused], [200, 498, 1]);
  assert.equal(tried.json.results[0]?.user_id, null);

  const first = await send(signet, authorization, { users });
  assert.deepEqual([first.json.imported, first.json.unchanged, first.json.refused], [498, 1, 1]);
  assert.deepEqual(first.json.results[498], {
    external_id: null,
    outcome: 'refused',
    user_id: null,
    problems: [{ path: '', message: 'Is not a JSON object.' }],
  });
  const again = await send(signet, authorization, { users });
  assert.deepEqual([again.json.imported, again.json.unchanged, again.json.refused], [0, 499, 1]);
  assert.equal(again.json.results[3]?.user_id, first.json.results[3]?.user_id);

  const [event] = await signet.auditLog({ action: 'user.list_imported' });
  assert.match(String(event?.actor), /^service:svc_/);
  const exported = [{ id: 'f3f1', email: 'ada@example.com', firstName: 'Ada', enabled: true }];
  const keycloak = await send(signet, authorization, { users: exported, from: 'keycloak', keep_subjects: true });
  assert.deepEqual(keycloak.json.results, [
    { external_id: 'f3f1', outcome: 'imported', user_id: 'f3f1', problems: [] },
  ]);
});

testSignet('an import needs its permission, and a body of its form', async ({ signet }) => {
  const other = await signet.newService({ permissions: ['users:write'], products: [], expires_in_days: 9 });
  assert.equal((await send(signet, other.authorization, { users: [user(1)] })).status, 403);
  const { authorization } = await signet.newService({
    permissions: ['users:import'],
    products: [],
    expires_in_days: 9,
  });
  const bodies = [
    {},
    { users: [] },
    { users: Array.from({ length: 501 }, (__, number) => user(number)) },
    { users: [user(1)], from: 'ldap' },
    { users: [user(1)], source: 'A B' },
    { users: [user(1)], without: ['email'] },
    { users: [user(1)], role: 'admin' },
  ];
  for (const body of bodies) {
    const { status, json } = await send(signet, authorization, body);
    assert.deepEqual([status, json.error], [400, 'invalid_request'], JSON.stringify(json));
  }
});
