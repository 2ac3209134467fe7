import assert from 'node:assert/strict';
import { groupSchemas, newDirectory, patchOf, userSchemas } from '../support/scim.ts';
import { testSignet } from '../support/signet.ts';

// The requests of Entra ID and Okta as their documentation shows them.

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const query = (filter: string) => `?filter=${encodeURIComponent(filter)}`;

testSignet('SC-01: what Entra ID sends of a user is accepted', async ({ signet }) => {
  const entra = await newDirectory(signet);
  const name = 'Test_User_22370c1a@testuser.com';
  // "Test connection": a user who is not there is no error.
  const none = await entra.ok(200, 'GET', `/Users${query('userName eq "non-existent user"')}`);
  assert.deepEqual([none.totalResults, none.Resources], [0, []]);

  const made = await entra.ok(201, 'POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', enterprise],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName: name,
    active: true,
    displayName: 'lennay',
    emails: [{ primary: true, type: 'work', value: name }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Adrienne McNally', familyName: 'McNally', givenName: 'Adrienne' },
    preferredLanguage: 'de-DE',
    timezone: 'Europe/Berlin',
    title: 'Tour Guide',
    phoneNumbers: [{ type: 'work', value: '555-0100' }],
    addresses: [{ type: 'work', formatted: '100 Universal City Plaza' }],
    roles: [],
    [enterprise]: { department: 'R&D', employeeNumber: '701984', manager: { value: '26118915' } },
  });
  const { id } = made;
  assert.deepEqual(
    [made.userName, made.externalId, made.displayName, made.preferredLanguage, made.timezone, made.active],
    [name, '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef', 'lennay', 'de', 'Europe/Berlin', true],
  );
  assert.deepEqual(made.name, { givenName: 'Adrienne', familyName: 'McNally' });

  for (const filter of [
    `userName eq "${name.toUpperCase()}"`,
    'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
    `emails[type eq "work"].value eq "${name}"`,
    `emails[type eq "work" and value eq "${name}"]`,
    `emails.value eq "${name}"`,
    `id eq "${id}"`,
  ]) {
    const found = await entra
      .ok(200, 'GET', `/Users${query(filter)}`)
      .catch((error) => assert.fail(`${filter}: ${error}`));
    assert.equal(found.totalResults, 1, filter);
    assert.equal((found.Resources as { id: string }[])[0]?.id, id);
  }

  const multi = await entra.ok(
    200,
    'PATCH',
    `/Users/${id}`,
    patchOf(
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@testuser.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '555-0101' },
      { op: 'Add', path: `${enterprise}:department`, value: 'Sales' },
      { op: 'Replace', value: { displayName: 'Len', 'name.givenName': 'Ada', nickName: 'Lenny' } },
    ),
  );
  assert.deepEqual(multi.emails, [{ value: 'updatedEmail@testuser.com', type: 'work', primary: true }]);
  assert.deepEqual(
    [multi.name, multi.displayName, multi.nickName],
    [{ givenName: 'Ada', familyName: 'updatedFamilyName' }, 'Len', 'Lenny'],
  );
  const renamed = await entra.ok(
    200,
    'PATCH',
    `/Users/${id}`,
    patchOf({ op: 'Replace', path: 'userName', value: '5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com' }),
  );
  assert.equal(renamed.userName, '5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com');
  // Booleans are words in requests without the flag aadOptscim062020.
  const disabled = patchOf({ op: 'Replace', path: 'active', value: 'False' });
  assert.equal((await entra.ok(200, 'PATCH', `/Users/${id}`, disabled)).active, false);
  const enabled = patchOf({ op: 'Add', path: 'active', value: 'True' });
  assert.equal((await entra.ok(200, 'PATCH', `/Users/${id}`, enabled)).active, true);
  await entra.ok(204, 'DELETE', `/Users/${id}`);
  await entra.ok(404, 'GET', `/Users/${id}`);
  await entra.ok(404, 'DELETE', `/Users/${id}`);
});

testSignet('SC-01: what Entra ID sends of a group is accepted', async ({ signet }) => {
  const entra = await newDirectory(signet);
  const user = await signet.newUser();
  const other = await signet.newUser();
  const made = await entra.ok(201, 'POST', '/Groups', {
    schemas: [
      'urn:ietf:params:scim:schemas:core:2.0:Group',
      'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
    ],
    externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
    displayName: 'displayName',
    meta: { resourceType: 'Group' },
  });
  const path = `/Groups/${made.id}`;
  const seen = await entra.ok(200, 'GET', `${path}?excludedAttributes=members`);
  assert.deepEqual([seen.displayName, seen.members], ['displayName', undefined]);
  const found = await entra.ok(
    200,
    'GET',
    `/Groups${query('displayName eq "displayName"')}&excludedAttributes=members`,
  );
  assert.equal(found.totalResults, 1);

  const patch = (...operations: object[]) => entra.ok(204, 'PATCH', path, patchOf(...operations));
  const members = async () =>
    (((await entra.ok(200, 'GET', path)).members ?? []) as { value: string }[]).map(({ value }) => value).sort();
  await patch({ op: 'Replace', path: 'displayName', value: '1879db59-3bdf-4490-ad68-ab880a269474updatedDisplayName' });
  await patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: user.user_id }] });
  await patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: user.user_id }, { value: other.user_id }] });
  assert.deepEqual(await members(), [user.user_id, other.user_id].sort());
  // The form of Entra ID, whom to remove in the value, and that of the standard.
  await patch({ op: 'Remove', path: 'members', value: [{ $ref: null, value: user.user_id }] });
  assert.deepEqual(await members(), [other.user_id]);
  await patch({ op: 'Remove', path: `members[value eq "${other.user_id}"]` });
  assert.deepEqual(await members(), []);
  const asked = `/Groups${query(`id eq "${made.id}" and members eq "${user.user_id}"`)}`;
  assert.equal((await entra.ok(200, 'GET', asked)).totalResults, 0);
  await patch({ op: 'Add', path: 'members', value: [{ value: user.user_id }] });
  assert.equal((await entra.ok(200, 'GET', asked)).totalResults, 1);
  await entra.ok(204, 'DELETE', path);
  await entra.ok(404, 'GET', path);
});

testSignet('SC-01: what Okta sends of users and groups is accepted', async ({ signet }) => {
  const okta = await newDirectory(signet);
  const user = {
    schemas: userSchemas,
    userName: 'test.user@okta.local',
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
  };
  const asked = `/Users?filter=${encodeURIComponent('userName eq "test.user@okta.local"')}&startIndex=1&count=100`;
  const none = await okta.ok(200, 'GET', asked);
  assert.deepEqual([none.totalResults, none.startIndex, none.itemsPerPage], [0, 1, 0]);
  const { id } = await okta.ok(201, 'POST', '/Users', user);
  const again = await okta.send('POST', '/Users', user);
  assert.deepEqual([again.status, again.json?.scimType], [409, 'uniqueness']);
  assert.equal((await okta.ok(200, 'GET', asked)).totalResults, 1);
  const put = await okta.ok(200, 'PUT', `/Users/${id}`, {
    ...user,
    id,
    name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
    displayName: 'Another User',
    meta: { resourceType: 'User' },
  });
  assert.deepEqual(put.name, { givenName: 'Another', middleName: 'Excited', familyName: 'User' });
  const off = await okta.ok(200, 'PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }));
  assert.equal(off.active, false);
  assert.equal((await okta.ok(200, 'PUT', `/Users/${id}`, { ...user, id, active: true })).active, true);

  const group = { schemas: groupSchemas, displayName: 'Test SCIMv2', members: [{ value: id, display: user.userName }] };
  const made = await okta.ok(201, 'POST', '/Groups', group);
  assert.deepEqual(
    (made.members as { value: string }[]).map(({ value }) => value),
    [id],
  );
  const path = `/Groups/${made.id}`;
  await okta.ok(
    204,
    'PATCH',
    path,
    patchOf({ op: 'replace', value: { id: made.id, displayName: 'Test SCIMv2 renamed' } }),
  );
  await okta.ok(
    204,
    'PATCH',
    path,
    patchOf(
      { op: 'remove', path: `members[value eq "${id}"]` },
      { op: 'add', path: 'members', value: [{ value: id, display: user.userName }] },
    ),
  );
  const replaced = patchOf({ op: 'replace', path: 'members', value: [{ value: id, display: user.userName }] });
  await okta.ok(204, 'PATCH', path, replaced);
  const after = await okta.ok(200, 'GET', path);
  assert.deepEqual([after.displayName, (after.members as unknown[]).length], ['Test SCIMv2 renamed', 1]);
  const emptied = await okta.ok(200, 'PUT', path, { ...group, id: made.id, displayName: 'Test SCIMv2', members: [] });
  assert.equal(emptied.members, undefined);
  const list = await okta.ok(200, 'GET', '/Groups?startIndex=1&count=100');
  assert.deepEqual([list.totalResults, list.itemsPerPage], [1, 1]);
});
