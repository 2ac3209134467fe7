import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { findUserByEmail, replaceEmail } from '../../src/accounts/statements.ts';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

const inCells = (t: TestContext) => startSignet(t, { engine: 'postgres', cells: 4, mail: true });

/** An address that leads to another part of the store than that of a user. */
function addressElsewhere({ deps }: Signet, user_id: string): string {
  for (let n = 0; ; n += 1) {
    const email = `moved${n}@example.com`;
    if (deps.db.in(deps.placement.bucketOfEmail(email)) !== deps.db.of(user_id)) return email;
  }
}

async function changeAddress(signet: Signet, from: Awaited<ReturnType<Signet['signedInUser']>>, email: string) {
  const asked = await from.browser.post('/account/email/change', { email });
  assert.equal(asked.location, '/account/email?done=change_sent', asked.text);
  const path = linkIn(await signet.mailbox.next(email), /^\/verify-email\//);
  return from.browser.post(path);
}

const claimsIn = (signet: Signet) => plain(signet.deps.db).all<{ since: number | null }>('select since from claims');

test('an address that was changed is its user’s in the whole store, and the old one is free', async (t) => {
  const signet = await inCells(t);
  const ada = await signet.signedInUser();
  const email = addressElsewhere(signet, ada.user_id);
  assert.equal((await changeAddress(signet, ada, email)).location, '/account/email?done=changed');
  assert.deepEqual(await claimsIn(signet), [{ since: null }]);
  assert.equal((await ada.with({ email }).elsewhere().signIn()).location, '/account');
  assert.equal((await ada.elsewhere().signIn()).status, 401, 'the old address opens nothing');
  await assert.rejects(signet.newUser({ email }), /Another account has this already/);
  const other = await signet.newUser({ email: ada.email });
  assert.notEqual(other.user_id, ada.user_id);
  const bob = await signet.signedInUser();
  await bob.browser.post('/account/email/change', { email });
  const taken = sentence('mail.change_email_taken.subject', { service: 'Signet' });
  let mail = await signet.mailbox.next(email);
  while (!taken.test(mail.subject)) mail = await signet.mailbox.next(email); // the sign-in elsewhere is reported, too
  assert.doesNotMatch(mail.text, /verify-email/);
});

test('of an account that is deleted nothing is left that says its address', async (t) => {
  const signet = await inCells(t);
  const ada = await signet.signedInUser();
  const email = addressElsewhere(signet, ada.user_id);
  await changeAddress(signet, ada, email);
  await ada.with({ email }).signIn();
  assert.equal((await ada.browser.post('/account/delete', { email })).location, '/account-deleted');
  assert.deepEqual(await claimsIn(signet), []);
  await signet.newUser({ email });
});

test('of many who take one address at once, one has it', async (t) => {
  const signet = await inCells(t);
  const users = await Promise.all(Array.from({ length: 6 }, () => signet.newUser()));
  const email = 'wanted@example.com';
  const { deps } = signet;
  const at = signet.clock() / 1000;
  const { claimOfEmail } = await import('../../src/accounts/statements.ts');
  const takes = users.map((user) =>
    deps.claims.holding(user.user_id, { taken: [claimOfEmail(deps, email)] }, () =>
      deps.db
        .of(user.user_id)
        .change({ run: { user: replaceEmail(user.user_id, { from: user.email, to: email, verifiedAt: at }, at) } }),
    ),
  );
  const account = {
    email,
    name: 'New',
    password: 'ordinary words in a row',
    role: 'user',
    emailVerified: true,
  } as const;
  const done = await Promise.all([
    ...takes.map((take) => take.then(({ ok }) => ok)),
    createUser(deps, account, 'cli').then(
      () => true,
      () => false,
    ),
  ]);
  assert.equal(done.filter(Boolean).length, 1, done.join());
  const holders = await plain(deps.db).all(`select user_id from users where email = '${email}'`);
  assert.equal(holders.length, 1);
  assert.equal((await findUserByEmail(deps, email))?.user_id, (holders as { user_id: string }[])[0]!.user_id);
});

test('what is cut off between the claim and the change is settled by a job, and the address is free', async (t) => {
  const signet = await inCells(t);
  const ada = await signet.signedInUser();
  const email = addressElsewhere(signet, ada.user_id);
  const stop = beforeEachCall(signet.deps.db, ([sql = '', ...more]) => {
    if (
      [sql, ...more].some((one) => one.startsWith('update users set email =') || one.startsWith('delete from claims'))
    )
      throw new StoreUnavailable('cut off');
  });
  assert.equal((await changeAddress(signet, ada, email)).status, 503);
  stop();
  assert.notDeepEqual(await claimsIn(signet), []);
  await assert.rejects(signet.newUser({ email }), 'the claim is younger than the act may last');
  signet.clock.advance(60);
  await signet.runJobs();
  assert.deepEqual(await claimsIn(signet), []);
  await signet.newUser({ email });
});
