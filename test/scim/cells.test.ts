import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertScimError, aUser, type Directory, newDirectory, patchOf } from '../support/scim.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';

const inCells = (t: TestContext) => startSignet(t, { engine: 'postgres', cells: 4 });

/** Addresses that lead to as many parts of the store. */
function addressesApart({ deps }: Signet, count: number): string[] {
  const byPart = new Map<unknown, string>();
  for (let n = 0; byPart.size < count; n += 1) {
    const email = `person${n}@directory.example`;
    const part = deps.db.in(deps.placement.bucketOfEmail(email));
    if (!byPart.has(part)) byPart.set(part, email);
  }
  return [...byPart.values()];
}

const named = (userName: string, email: string) => aUser({ userName, emails: [{ value: email }] });
const make = (directory: Directory, userName: string, email: string) =>
  directory.send('POST', '/Users', named(userName, email));
const idOf = (answer: { json?: unknown }) => (answer.json as { id: string }).id;

test('SC-03: a userName is one person’s in all parts of the store, however it is written', async (t) => {
  const signet = await inCells(t);
  const directory = await newDirectory(signet);
  const [one = '', two = '', three = '', four = ''] = addressesApart(signet, 4);
  const ada = await make(directory, 'ada', one);
  assert.equal(ada.status, 201, ada.text);
  assertScimError(await make(directory, 'ADA', two), 409, 'uniqueness');
  const bob = await make(directory, 'bob', two);
  assert.equal(bob.status, 201, 'of who was refused, nothing is left');
  assertScimError(await directory.send('PUT', `/Users/${idOf(bob)}`, named('Ada', two)), 409, 'uniqueness');
  const toAda = patchOf({ op: 'replace', path: 'userName', value: 'aDa' });
  assertScimError(await directory.send('PATCH', `/Users/${idOf(bob)}`, toAda), 409, 'uniqueness');
  // Who was not made by a directory can be named by one, too.
  const { user_id } = await signet.newUser({ email: three });
  assertScimError(await directory.send('PATCH', `/Users/${user_id}`, toAda), 409, 'uniqueness');
  // A name that is given up is free, and so is that of a user who is deleted.
  const renamed = await directory.ok(
    200,
    'PATCH',
    `/Users/${idOf(ada)}`,
    patchOf({ op: 'replace', path: 'userName', value: 'lovelace' }),
  );
  assert.equal(renamed.userName, 'lovelace');
  await directory.ok(200, 'PATCH', `/Users/${idOf(bob)}`, toAda);
  assertScimError(await make(directory, 'lovelace', four), 409, 'uniqueness');
  assert.equal((await directory.send('DELETE', `/Users/${idOf(ada)}`)).status, 204);
  assert.equal((await make(directory, 'lovelace', four)).status, 201);
  assert.equal((await make(directory, 'ada', one)).status, 409);
});

test('of directories that make people of one userName in the same instant, one does', async (t) => {
  const signet = await inCells(t);
  const directory = await newDirectory(signet);
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(
      addressesApart(signet, 4).map((email) => make(directory, `name${round}`, `${round}${email}`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409]);
  }
});

test('a person is not made with a userName that was given to another while the node stood still', async (t) => {
  const signet = await inCells(t);
  const directory = await newDirectory(signet);
  const [one = '', two = ''] = addressesApart(signet, 2);
  const held = holdNextCall(signet.deps.db, /insert into scim_users/);
  const first = make(directory, 'ada', one);
  await held.reached;
  signet.clock.advance(3600);
  const second = await make(directory, 'ada', two);
  assert.equal(second.status, 201, second.text);
  held.release();
  assertScimError(await first, 409, 'uniqueness');
});
