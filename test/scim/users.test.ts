import assert from 'node:assert/strict';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { basic } from '../support/relying-party.ts';
import { assertScimError, aUser, newDirectory, patchOf } from '../support/scim.ts';
import { startSignet, testSignet } from '../support/signet.ts';

testSignet('SC-02: nobody but a credential with scim:write is answered', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const { user_id, email } = await signet.newUser();
  const other = await newDirectory(signet, ['users:read', 'users:write', 'users:delete', 'groups:write']);
  const wrong = await newDirectory(signet);
  const unknown = `Bearer ${wrong.client_id}.ss_wrong`;
  const paths = ['/Users', `/Users/${user_id}`, '/Groups', '/ServiceProviderConfig', '/Schemas', '/ResourceTypes'];
  for (const path of paths) {
    assertScimError(await other.send('GET', path), 403);
    for (const authorization of [
      unknown,
      basic(wrong.client_id, 'ss_wrong'),
      'Bearer x',
      'Bearer a.b.c',
      'Basic ',
      '',
    ]) {
      const refused = await wrong.send('GET', path, undefined, { headers: { authorization } });
      assertScimError(refused, 401);
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Basic /);
    }
    const bySession = await admin.browser.get(`/scim/v2${path}`, { accept: 'application/scim+json' });
    assert.equal(bySession.status, 401, path);
  }
  const off = patchOf({ op: 'replace', path: 'active', value: false });
  assertScimError(await other.send('PATCH', `/Users/${user_id}`, off), 403);
  assertScimError(await other.send('POST', '/Users', aUser()), 403);
  const { client_id, client_secret } = await signet.newService({
    permissions: ['scim:write'],
    products: [],
    expires_in_days: 1,
    addresses: ['192.0.2.0/24'],
  });
  const elsewhere = { headers: { authorization: `Bearer ${client_id}.${client_secret}` } };
  assertScimError(await wrong.send('GET', '/Users', undefined, elsewhere), 403);
  assert.deepEqual(await signet.auditLog({ action: 'user.disabled' }), []);
  assert.equal((await wrong.ok(200, 'GET', `/Users/${user_id}`)).userName, email);
  signet.clock.advance(31 * 86_400);
  assertScimError(await wrong.send('GET', '/Users'), 401);
});

testSignet('SC-03: an account that is there is never taken over', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const person = await signet.signedInUser({ email: 'ada@example.com' });
  const path = `/Users/${person.user_id}`;
  const taken = aUser({ userName: 'someone', emails: [{ value: 'Ada@example.com' }] });
  assertScimError(await directory.send('POST', '/Users', taken), 409, 'uniqueness');
  const named = aUser({ userName: 'ADA@example.com', emails: [{ value: 'other@example.com' }] });
  assertScimError(await directory.send('POST', '/Users', named), 409, 'uniqueness');
  // It is found by its address, named and grouped; its address stays, and so does the account.
  const found = await directory.ok(200, 'GET', `/Users?filter=${encodeURIComponent('userName eq "ada@example.com"')}`);
  assert.equal((found.Resources as { id: string }[])[0]?.id, person.user_id);
  const linked = await directory.ok(
    200,
    'PATCH',
    path,
    patchOf({ op: 'add', value: { externalId: 'x-1', displayName: 'Ada L' } }),
  );
  assert.deepEqual([linked.externalId, linked.displayName, linked.userName], ['x-1', 'Ada L', 'ada@example.com']);
  const moved = patchOf({ op: 'replace', path: 'emails[type eq "work"].value', value: 'thief@example.com' });
  assertScimError(await directory.send('PATCH', path, moved), 403);
  assertScimError(await directory.send('DELETE', path), 403);
  assert.equal((await person.browser.get('/v1/me')).json?.email, 'ada@example.com');
  const off = patchOf({ op: 'replace', path: 'active', value: false });
  assert.equal((await directory.ok(200, 'PATCH', path, off)).active, false);
  assert.equal(
    (await person.browser.get('/v1/me', { accept: 'application/json' })).status,
    401,
    'the session has ended',
  );
  const events = await signet.auditLog({ target: person.user_id });
  const service = `service:${directory.client_id}`;
  assert.deepEqual(
    events.slice(0, 2).map(({ action, actor }) => [action, actor]),
    [
      ['user.disabled', service],
      ['user.changed', service],
    ],
  );
});

testSignet('SC-04: an administrator is not changed by a directory', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const admin = await signet.signedInUser({ role: 'admin', name: 'Root' });
  await signet.newUser({ role: 'admin' });
  const path = `/Users/${admin.user_id}`;
  const before = (await directory.send('GET', path)).text;
  for (const value of [
    { active: false },
    { displayName: 'Nobody' },
    { externalId: 'x' },
    { userName: 'x@example.com' },
  ])
    assertScimError(await directory.send('PATCH', path, patchOf({ op: 'replace', value })), 403);
  assertScimError(
    await directory.send('PUT', path, aUser({ userName: admin.email, emails: [], displayName: 'X' })),
    403,
  );
  assertScimError(await directory.send('DELETE', path), 403);
  assert.equal((await directory.send('GET', path)).text, before);
});

testSignet(
  'SC-05: an account that a directory has made is its own: address, state and end',
  { mail: true },
  async ({ signet }) => {
    const directory = await newDirectory(signet);
    const sent = aUser({ externalId: 'e-1', name: { givenName: 'Zoë', familyName: 'Ŝ' }, active: false });
    const made = await directory.send('POST', '/Users', sent, { type: 'application/json' });
    assert.equal(made.status, 201, made.text);
    const { id, displayName, active, meta } = made.json as {
      id: string;
      displayName: string;
      active: boolean;
      meta: Record<string, string>;
    };
    assert.deepEqual([displayName, active], ['Zoë Ŝ', false]);
    assert.equal(made.headers.get('location'), `${signet.url}/scim/v2/Users/${id}`);
    assert.equal(made.headers.get('etag'), meta.version);
    const on = await directory.ok(
      200,
      'PATCH',
      `/Users/${id}`,
      patchOf({ op: 'replace', path: 'ACTIVE', value: true }),
    );
    assert.equal(on.active, true);
    await directory.ok(
      200,
      'PATCH',
      `/Users/${id}`,
      patchOf({
        op: 'replace',
        path: 'emails',
        value: [
          { value: 'home@example.com', type: 'home' },
          { value: 'new@example.com', primary: true },
        ],
      }),
    );
    const { rows } = { rows: await signet.auditLog({ target: id }) };
    assert.deepEqual(
      rows.map(({ action }) => action),
      ['email.changed', 'user.enabled', 'user.disabled', 'user.created'],
    );
    assert.ok(rows.every(({ actor }) => actor === `service:${directory.client_id}`));
    const put = await directory.ok(200, 'PUT', `/Users/${id}`, { userName: 'plain-name' });
    assert.deepEqual([put.userName, put.externalId, put.name, put.active], ['plain-name', undefined, undefined, true]);
    assert.deepEqual((put.emails as { value: string }[])[0]?.value, 'new@example.com', 'its address stays');
    await directory.ok(204, 'DELETE', `/Users/${id}`);
    await directory.ok(
      201,
      'POST',
      '/Users',
      aUser({ userName: 'plain-name', emails: [{ value: 'new@example.com' }] }),
    );
  },
);

testSignet('SC-06: a version that is no longer there changes nothing', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const made = await directory.send('POST', '/Users', aUser());
  const path = `/Users/${made.json?.id}`;
  const first = made.headers.get('etag') ?? '';
  const same = await directory.send('GET', path, undefined, { headers: { 'if-none-match': first } });
  assert.deepEqual([same.status, same.text], [304, '']);
  const change = (displayName: string, version: string) =>
    directory.send('PATCH', path, patchOf({ op: 'replace', path: 'displayName', value: displayName }), {
      headers: { 'if-match': version },
    });
  const second = await change('One', first);
  assert.equal(second.status, 200, second.text);
  assert.notEqual(second.headers.get('etag'), first);
  assertScimError(await change('Two', first), 412);
  const old = { headers: { 'if-match': first } };
  assertScimError(await directory.send('PUT', path, aUser(), old), 412);
  assertScimError(await directory.send('DELETE', path, undefined, old), 412);
  assert.equal((await directory.ok(200, 'GET', path)).displayName, 'One');
  assert.equal((await change('Three', '*')).status, 200);
  const other = await directory.send('GET', path, undefined, { headers: { 'if-none-match': first } });
  assert.equal(other.status, 200);

  const group = await directory.send('POST', '/Groups', { displayName: 'Team' });
  const ofGroup = `/Groups/${group.json?.id}`;
  const before = { headers: { 'if-match': group.headers.get('etag') ?? '' } };
  const add = patchOf({ op: 'add', path: 'members', value: [{ value: made.json?.id }] });
  assert.equal((await directory.send('PATCH', ofGroup, add, before)).status, 204);
  assertScimError(await directory.send('DELETE', ofGroup, undefined, before), 412);
});

testSignet('SC-07: lists have pages, and filters find by what is indexed', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const made: unknown[] = [];
  for (let number = 0; number < 5; number += 1) made.push((await directory.ok(201, 'POST', '/Users', aUser())).id);
  type List = { totalResults: number; startIndex: number; itemsPerPage: number; Resources: { id: string }[] };
  const list = async (query: string) => (await directory.ok(200, 'GET', `/Users?${query}`)) as unknown as List;
  const seen: unknown[] = [];
  for (const startIndex of [1, 3, 5]) {
    const page = await list(`startIndex=${startIndex}&count=2&attributes=userName`);
    assert.deepEqual([page.totalResults, page.startIndex], [5, startIndex]);
    assert.deepEqual(Object.keys(page.Resources[0] ?? {}), ['schemas', 'id', 'userName']);
    seen.push(...page.Resources.map(({ id }) => id));
  }
  assert.deepEqual(seen.toSorted(), made.toSorted());
  assert.deepEqual([(await list('count=0')).totalResults, (await list('count=0')).Resources.length], [5, 0]);
  assert.equal((await list('startIndex=-4&count=-1')).Resources.length, 0);
  assert.equal((await list('startIndex=99')).Resources.length, 0);
  for (const filter of [
    'userName sw "s"',
    'active eq true',
    'not (userName eq "x")',
    'userName eq "a" or userName eq "b"',
    'password eq "x"',
    'emails[type eq "work"]',
    'userName eq',
    'userName eq "x',
    '"x" eq userName',
    '((((((((((userName eq "x"))))))))))',
    `userName eq "${'x'.repeat(1000)}"`,
    'constructor eq "x"',
    '__proto__ eq "x"',
    'id eq "1" and id eq "1" and id eq "1" and id eq "1" and id eq "1" and id eq "1"',
  ])
    assertScimError(await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`), 400, 'invalidFilter');
  for (const query of ['startIndex=x', 'count=1.5', 'attributes=a&excludedAttributes=b'])
    assertScimError(await directory.send('GET', `/Users?${query}`), 400, 'invalidValue');
  const searched = await directory.ok(200, 'POST', '/Users/.search', { filter: `id eq "${made[0]}"`, count: 10 });
  assert.equal(searched.totalResults, 1);
  await directory.ok(201, 'POST', '/Groups', { displayName: 'Team' });
  const all = (await directory.ok(200, 'POST', '/.search', { startIndex: 5, count: 5 })) as unknown as List;
  assert.deepEqual([all.totalResults, all.Resources.length], [6, 2]);
});

testSignet(
  'SC-08: what a user cannot be is refused in the words of the standard, and changes nothing',
  async ({ signet }) => {
    const directory = await newDirectory(signet);
    const made = await directory.ok(201, 'POST', '/Users', aUser({ displayName: 'Ada' }));
    const path = `/Users/${made.id}`;
    const before = (await directory.send('GET', path)).text;
    const bodies: [unknown, string][] = [
      [aUser({ userName: undefined }), 'invalidValue'],
      [aUser({ userName: 'no-address', emails: [] }), 'invalidValue'],
      [aUser({ emails: [{ value: 'not an address' }] }), 'invalidValue'],
      [aUser({ emails: [7] }), 'invalidValue'],
      [aUser({ displayName: 'x'.repeat(101) }), 'invalidValue'],
      [aUser({ displayName: { a: 1 } }), 'invalidValue'],
      [aUser({ externalId: 'x'.repeat(256) }), 'invalidValue'],
      [aUser({ active: 'maybe' }), 'invalidValue'],
      [aUser({ timezone: 'Mars/Base' }), 'invalidValue'],
      [aUser({ name: 'Ada' }), 'invalidValue'],
      [[], 'invalidSyntax'],
      ['null', 'invalidSyntax'],
      [undefined, 'invalidSyntax'],
    ];
    for (const [body, scimType] of bodies) assertScimError(await directory.send('POST', '/Users', body), 400, scimType);
    const patches: [object, string][] = [
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'replace', path: 'groups', value: [] }, 'mutability'],
      [{ op: 'replace', path: 'shoeSize', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: '__proto__.polluted', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'constructor.prototype', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'name.', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[type co "w"].value', value: 'x@example.com' }, 'invalidFilter'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'move', path: 'userName' }, 'invalidSyntax'],
      [{ op: 'add', path: 'displayName' }, 'invalidSyntax'],
      [{ op: 'add', value: 'x' }, 'invalidValue'],
    ];
    for (const [operation, scimType] of patches) {
      const good = { op: 'replace', path: 'displayName', value: 'Changed' };
      const answer = await directory.send('PATCH', path, patchOf(good, operation));
      assertScimError(answer, 400, scimType);
    }
    assertScimError(await directory.send('PATCH', path, { Operations: [] }), 400, 'invalidSyntax');
    assertScimError(
      await directory.send('PATCH', path, patchOf(...Array(1001).fill({ op: 'add', path: 'x', value: 'y' }))),
      400,
      'invalidSyntax',
    );
    assertScimError(await directory.send('GET', '/Users/usr_unknown'), 404);
    assertScimError(await directory.send('GET', '/Nothing'), 404);
    assertScimError(await directory.send('POST', '/Bulk', {}), 404);
    assertScimError(await directory.send('GET', '/Me'), 404);
    assertScimError(await directory.send('PATCH', '/Users', {}), 405);
    assertScimError(await directory.send('POST', '/Users', '{'), 400, 'invalidValue');
    assertScimError(await directory.send('POST', '/Users', { ...aUser(), big: 'x'.repeat(300_000) }), 413);
    assert.equal((await directory.send('GET', path)).text, before);
    assert.equal(({} as { polluted?: string }).polluted, undefined);
  },
);

testSignet('SC-05: the name of an account that is being deleted is free', async ({ signet }) => {
  const directory = await newDirectory(signet);
  const sent = aUser();
  const { id } = await directory.ok(201, 'POST', '/Users', sent);
  // As a deletion leaves it for a while, of an account with many rows.
  await plain(signet.deps.db).run(
    `update users set email = '', email_key = 'deleted:x', deleted_at = 1 where user_id = '${id}'`,
  );
  await directory.ok(404, 'GET', `/Users/${id}`);
  const again = await directory.ok(201, 'POST', '/Users', sent);
  assert.notEqual(again.id, id);
});

onBothEngines('SC-03: of many creations of one user at once, one makes the account', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const directory = await newDirectory(signet);
  const one = aUser();
  const answers = await Promise.all(Array.from({ length: 6 }, () => directory.send('POST', '/Users', one)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  const patched = await Promise.all(
    Array.from({ length: 6 }, (_, place) =>
      directory.send(
        'PATCH',
        `/Users/${answers.find(({ status }) => status === 201)?.json?.id}`,
        patchOf({ op: 'replace', path: 'active', value: place % 2 === 0 }),
      ),
    ),
  );
  assert.ok(
    patched.every(({ status }) => status === 200 || status === 409),
    patched.map(({ text }) => text).join(),
  );
});
