import assert from 'node:assert/strict';
import { addMember, removeMember } from '../../src/groups/change-members.ts';
import { maxGroupsOfUser } from '../../src/groups/group.ts';
import { createGroup } from '../../src/groups/manage-groups.ts';
import { plain } from '../support/plain-sql.ts';
import { assertScimError, aUser, newDirectory, patchOf } from '../support/scim.ts';
import { testSignet } from '../support/signet.ts';

const caller = { actor: 'cli' } as const;
const valuesOf = (group: Record<string, unknown>) =>
  ((group.members ?? []) as { value: string }[]).map(({ value }) => value).sort();

testSignet('SC-09: members come and go by each form of PATCH and by PUT, each with its event', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const ids: string[] = [];
  for (let number = 0; number < 4; number += 1) ids.push((await signet.newUser()).user_id);
  const [a = '', b = '', c = '', d = ''] = ids;
  const { id } = await directory.ok(201, 'POST', '/Groups', {
    displayName: 'Team',
    externalId: 'g-1',
    members: [{ value: a }],
  });
  const path = `/Groups/${id}`;
  const members = async () => valuesOf(await directory.ok(200, 'GET', path));
  const patches: [object[], string[]][] = [
    [[{ op: 'add', path: 'members', value: [{ value: b }, { value: c }] }], [a, b, c]],
    [[{ op: 'add', value: { members: [{ value: d }] } }], [a, b, c, d]],
    [[{ op: 'remove', path: `members[value eq "${a}" or value eq "${b}"]` }], [c, d]],
    [[{ op: 'replace', path: 'members', value: { value: a } }], [a]],
    [
      [
        { op: 'remove', path: 'members' },
        { op: 'add', path: 'members', value: [{ value: b }, { value: a }] },
      ],
      [a, b],
    ],
    [
      [
        { op: 'add', path: 'members', value: [{ value: c }] },
        { op: 'remove', path: `members[value eq "${c}"]` },
      ],
      [a, b],
    ],
    [[{ op: 'replace', path: 'members', value: [] }], []],
    [[{ op: 'remove', path: 'members[value eq "usr_gone"]' }], []],
    [[{ op: 'add', path: 'members', value: [] }], []],
  ];
  for (const [operations, expected] of patches) {
    await directory.ok(204, 'PATCH', path, patchOf(...operations));
    assert.deepEqual(await members(), expected.toSorted(), JSON.stringify(operations));
  }
  const put = await directory.ok(200, 'PUT', path, { displayName: 'Team', members: [{ value: d }] });
  assert.deepEqual([valuesOf(put), put.externalId], [[d], undefined]);
  const asked = await directory.ok(
    200,
    'PATCH',
    `${path}?attributes=members`,
    patchOf({ op: 'replace', path: 'displayName', value: 'Crew' }),
  );
  assert.deepEqual(valuesOf(asked), [d]);
  const { groups } = await directory.ok(200, 'GET', `/Users/${d}?attributes=groups`);
  assert.deepEqual(groups, [{ value: id, $ref: `${signet.url}/scim/v2${path}`, display: 'Crew' }]);
  const events = await signet.auditLog({ target: String(id), action: 'group.member_added' });
  assert.equal(events.length, 7);
  assert.ok(events.every(({ actor }) => actor === `service:${directory.client_id}`));
});

testSignet('SC-09: what a group cannot be is refused, and changes nothing', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const { user_id } = await signet.newUser();
  const made = await directory.ok(201, 'POST', '/Groups', { displayName: 'Team' });
  await directory.ok(201, 'POST', '/Groups', { displayName: 'Other' });
  const path = `/Groups/${made.id}`;
  assertScimError(await directory.send('POST', '/Groups', { displayName: 'TEAM' }), 409, 'uniqueness');
  assertScimError(await directory.send('PUT', path, { displayName: 'other' }), 409, 'uniqueness');
  const bodies: [object, string][] = [
    [{}, 'invalidValue'],
    [{ displayName: 'x'.repeat(101) }, 'invalidValue'],
    [{ displayName: 'New', members: [{ value: 'usr_unknown' }] }, 'invalidValue'],
    [{ displayName: 'New', members: [{ value: made.id, type: 'Group' }] }, 'invalidValue'],
    [{ displayName: 'New', members: [{}] }, 'invalidValue'],
    [
      { displayName: 'New', members: Array.from({ length: 1001 }, (_, place) => ({ value: `usr_${place}` })) },
      'tooMany',
    ],
  ];
  for (const [body, scimType] of bodies) assertScimError(await directory.send('POST', '/Groups', body), 400, scimType);
  const patches: [object, string][] = [
    [{ op: 'add', path: 'members', value: [{ value: 'usr_unknown' }] }, 'invalidValue'],
    [{ op: 'remove', path: 'members[display eq "x"]' }, 'invalidFilter'],
    [{ op: 'replace', path: 'members[value eq "x"].value', value: 'y' }, 'invalidPath'],
    [{ op: 'replace', path: 'color', value: 'y' }, 'invalidPath'],
    [{ op: 'remove', path: 'displayName' }, 'invalidValue'],
    [{ op: 'remove', path: 'id' }, 'mutability'],
  ];
  for (const [operation, scimType] of patches) {
    const good = { op: 'add', path: 'members', value: [{ value: user_id }] };
    assertScimError(await directory.send('PATCH', path, patchOf(good, operation)), 400, scimType);
  }
  for (const filter of ['displayName sw "T"', 'description eq "x"', 'members[display eq "x"]'])
    assertScimError(await directory.send('GET', `/Groups?filter=${encodeURIComponent(filter)}`), 400, 'invalidFilter');
  assert.deepEqual(valuesOf(await directory.ok(200, 'GET', path)), []);
  assert.equal((await signet.auditLog({ action: 'group.created' })).length, 2);
});

testSignet('SC-09: a member who comes or goes by another way gives a group another version', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const { user_id } = await signet.newUser();
  const { id } = await directory.ok(201, 'POST', '/Groups', { displayName: 'Team' });
  const version = async () => (await directory.send('GET', `/Groups/${id}`)).headers.get('etag');
  const versions = [await version()];
  for (const change of [addMember, removeMember]) {
    signet.clock.advance(1);
    assert.equal(await change(signet.deps, caller, String(id), user_id), true);
    versions.push(await version());
    assert.equal(await change(signet.deps, caller, String(id), user_id), false);
    assert.equal(await version(), versions.at(-1));
  }
  assert.equal(new Set(versions).size, 3, JSON.stringify(versions));
});

testSignet('SC-10: requests and answers about groups are bounded', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const users: { value: string }[] = [];
  for (let number = 0; number < 130; number += 1)
    users.push({ value: String((await directory.ok(201, 'POST', '/Users', aUser())).id) });
  const { id } = await directory.ok(201, 'POST', '/Groups', { displayName: 'Large', members: users });
  assert.equal(valuesOf(await directory.ok(200, 'GET', `/Groups/${id}`)).length, 130);
  await directory.ok(
    204,
    'PATCH',
    `/Groups/${id}`,
    patchOf({ op: 'remove', path: 'members', value: users.slice(0, 120) }),
  );
  assert.equal(valuesOf(await directory.ok(200, 'GET', `/Groups/${id}`)).length, 10);

  const { user_id } = await signet.newUser();
  for (let number = 0; number < maxGroupsOfUser; number += 1) {
    const group = await createGroup(signet.deps, caller, { name: `Group ${number}` });
    await addMember(signet.deps, caller, group.group_id, user_id);
  }
  const last = await directory.ok(201, 'POST', '/Groups', { displayName: 'One more' });
  const added = patchOf({ op: 'add', path: 'members', value: [users[0], { value: user_id }] });
  assertScimError(await directory.send('PATCH', `/Groups/${last.id}`, added), 409);
  assert.deepEqual(valuesOf(await directory.ok(200, 'GET', `/Groups/${last.id}`)), []);
  const page = await directory.ok(200, 'GET', '/Groups?count=500&excludedAttributes=members');
  assert.deepEqual([page.totalResults, page.itemsPerPage], [202, 200]);
});

testSignet(
  'SC-10: a group of more members than an answer is read without them, and still maintained',
  async ({ signet }) => {
    const directory = await newDirectory(signet);
    const { user_id } = await signet.newUser();
    const { id } = await directory.ok(201, 'POST', '/Groups', { displayName: 'Everyone' });
    const db = plain(signet.deps.db);
    await db.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001)
     insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, active_at)
     select 'usr_' || i, i || '@many.test', i || '@many.test', 'user', i, i, i, i from n`,
    );
    await db.run(
      `insert into group_members (group_id, user_id, added_at)
     select '${id}', user_id, 1 from users where email like '%@many.test'`,
    );
    const path = `/Groups/${id}`;
    for (const asked of [path, '/Groups', `${path}?attributes=members.value`])
      assertScimError(await directory.send('GET', asked), 400, 'tooMany');
    for (const asked of [
      `${path}?excludedAttributes=members`,
      `${path}?attributes=displayName`,
      '/Groups?excludedAttributes=members',
    ])
      await directory.ok(200, 'GET', asked);
    await directory.ok(204, 'PATCH', path, patchOf({ op: 'add', path: 'members', value: [{ value: user_id }] }));
    await directory.ok(204, 'PATCH', path, patchOf({ op: 'remove', path: 'members[value eq "usr_17"]' }));
    const isIn = async (user: string) =>
      (
        await directory.ok(
          200,
          'GET',
          `/Groups?excludedAttributes=members&filter=${encodeURIComponent(`members.value eq "${user}"`)}`,
        )
      ).totalResults;
    assert.deepEqual([await isIn(user_id), await isIn('usr_17'), await isIn('usr_18')], [1, 0, 1]);
    assertScimError(await directory.send('PUT', path, { displayName: 'Everyone', members: [] }), 400, 'tooMany');
    const asked = `${path}?attributes=members`;
    const refused = patchOf({ op: 'replace', path: 'displayName', value: 'Renamed' });
    assertScimError(await directory.send('PATCH', asked, refused), 400, 'tooMany');
    assert.equal((await directory.ok(200, 'GET', `${path}?attributes=displayName`)).displayName, 'Everyone');
    const users = await directory.ok(200, 'GET', '/Users?startIndex=5000&count=10');
    assert.deepEqual([users.totalResults, users.itemsPerPage], [5002, 3]);
  },
);
