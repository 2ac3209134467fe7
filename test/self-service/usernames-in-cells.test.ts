import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { partOfHandle } from '../../src/accounts/statements.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import type { Answer } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { beforeEachCall, holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const inCells = (t: TestContext) =>
  startSignet(t, { engine: 'postgres', cells: 4, env: { SIGNET_RATE_LIMITS: 'off' } });

const patch = (signet: Signet, by: TestUser, path: string, body: object): Promise<Answer> =>
  by.browser.send(path, {
    method: 'PATCH',
    headers: { origin: signet.url, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const call = (signet: Signet, user: TestUser, preferred_username: string | null) =>
  patch(signet, user, '/v1/me', { preferred_username });

let tried = 0;
/** A new username that another part decides about than those of these users. */
function decidedElsewhere({ deps }: Signet, ...users: TestUser[]): string {
  const parts = users.map(({ user_id }) => deps.db.of(user_id));
  for (;;) {
    tried += 1;
    const name = `wanted${tried}`;
    if (!parts.includes(partOfHandle(deps.db, name))) return name;
  }
}

test('a username for an account that is then refused is free at once', async (t) => {
  const signet = await inCells(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const [ada, bob] = [await signet.signedInUser(), await signet.signedInUser()];
  const name = decidedElsewhere(signet, ada, bob);
  const edit = { preferred_username: name, email: bob.email, reason: 'Asked for it.' };
  const refused = await patch(signet, admin, `/v1/admin/users/${ada.user_id}`, edit);
  assert.equal(refused.status, 409, refused.text);
  assert.equal((await call(signet, bob, name)).status, 200);
  assert.equal((await call(signet, ada, name)).status, 409);

  // The same of who is invited: the address gets an account in the moment of the invitation.
  const other = decidedElsewhere(signet, ada);
  const held = holdNextCall(signet.deps.db, /insert into one_time_links/);
  const invitation = admin.browser.postJson('/v1/admin/users/invite', {
    email: 'new@example.com',
    preferred_username: other,
    reason: 'Asked.',
  });
  await held.reached;
  const newcomer = await signet.newUser({ email: 'new@example.com' });
  held.release();
  assert.equal((await invitation).status, 409);
  await newcomer.signIn();
  assert.equal((await call(signet, newcomer, other)).status, 200);
});

test('a username whose change was cut off is free within a minute', async (t) => {
  const signet = await inCells(t);
  const [ada, bob] = [await signet.signedInUser(), await signet.signedInUser()];
  const name = decidedElsewhere(signet, ada, bob);
  const cutOff = (before: string) =>
    beforeEachCall(signet.deps.db, (all) => {
      if (all.some((sql) => sql.startsWith(before) || sql.startsWith('delete from claims')))
        throw new StoreUnavailable('cut off');
    });
  const stop = cutOff('update users set preferred_username');
  assert.equal((await call(signet, ada, name)).status, 503);
  stop();
  assert.equal((await call(signet, bob, name)).status, 409, 'it may be about to be taken');
  signet.clock.advance(60);
  await signet.runJobs();
  assert.equal((await call(signet, bob, name)).status, 200);

  // After the change: it is the user's.
  const another = decidedElsewhere(signet, ada, bob);
  const end = beforeEachCall(signet.deps.db, (all) => {
    if (all.some((sql) => /^(insert into handles|select claim_key)/.test(sql))) throw new StoreUnavailable('cut off');
  });
  assert.equal((await call(signet, ada, another)).status, 200);
  end();
  assert.equal((await call(signet, bob, another)).status, 409);
  signet.clock.advance(60);
  await signet.runJobs();
  assert.equal((await call(signet, bob, another)).status, 409);
  assert.deepEqual(await plain(signet.deps.db).all('select * from claims'), []);
});

test('a username is one user’s in all parts, and stays theirs for 90 days', async (t) => {
  const signet = await inCells(t);
  const users = await Promise.all(Array.from({ length: 6 }, () => signet.signedInUser()));
  const name = 'one-of-all';
  const answers = await Promise.all(users.map((user) => call(signet, user, name)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409]);
  const place = answers.findIndex(({ status }) => status === 200);
  const [holder, other] = [users[place]!, users[(place + 1) % 6]!];
  assert.equal((await call(signet, holder, 'another-one')).status, 200);
  assert.equal((await call(signet, other, name)).status, 409, 'given up, and kept for its user');
  assert.equal((await call(signet, holder, name)).status, 200);
  assert.equal((await call(signet, holder, 'third.name')).status, 200);
  const fourth = await call(signet, holder, 'fourth.name');
  assert.equal(fourth.status, 400, 'three at a time, wherever it is decided about them');
  assert.equal((await holder.browser.post('/account/delete', { email: holder.email })).location, '/account-deleted');
  for (const kept of [name, 'another-one', 'third.name']) assert.equal((await call(signet, other, kept)).status, 409);
  signet.clock.advance(90 * 86_400);
  await signet.runJobs();
  const later = await signet.signedInUser();
  for (const free of [name, 'another-one', 'third.name']) {
    assert.equal((await call(signet, later, free)).status, 200, free);
  }
});

test('who is invited gets the username that was reserved, wherever it is decided about it', async (t) => {
  const signet = await inCells(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const ada = await signet.signedInUser();
  const name = decidedElsewhere(signet, ada);
  const invited = await admin.browser.postJson('/v1/admin/users/invite', {
    email: 'invited@example.com',
    preferred_username: name,
    reason: 'Asked.',
  });
  assert.equal(invited.status, 200, invited.text);
  assert.equal((await call(signet, ada, name)).status, 409);
  const path = new URL(String(invited.json?.url)).pathname;
  const browser = signet.newBrowser();
  const joined = await browser.post(path, { name: 'Invited', password: 'ordinary words in a row' });
  assert.equal(joined.status, 303, joined.text);
  assert.equal((await browser.get('/v1/me')).json?.preferred_username, name);
  assert.equal((await call(signet, ada, name)).status, 409);
});
