import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { importedHashes } from '../support/imported-hashes.ts';
import { linkIn } from '../support/mailbox.ts';
import { plain } from '../support/plain-sql.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { TestUser } from '../support/test-user.ts';
import { acmeAt } from '../support/upstream.ts';

const { stored, password } = importedHashes.find((one) => one.stored.startsWith('$2b$'))!;

type Row = Record<string, unknown>;
type Result = { outcome: string; problems: { path: string }[] };

const inCells = (t: TestContext) =>
  startSignet(t, {
    engine: 'postgres',
    cells: 4,
    mail: true,
    passwords: newHasher(),
    env: { SIGNET_RATE_LIMITS: 'off', ...acmeAt('https://upstream.test') },
  });

/** As a back end does. */
async function importing(signet: Signet, users: readonly Row[], more: Row = {}): Promise<Result[]> {
  const permissions = ['users:import'];
  const { authorization } = await signet.newService({ permissions, products: [], expires_in_days: 9 });
  const answer = await fetch(`${signet.url}/v1/admin/users/import`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ users, ...more }),
  });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { results: Result[] }).results;
}

const outcomes = (results: readonly Result[]) =>
  results.map(({ outcome, problems }) => [outcome, ...problems.map(({ path }) => path)].join(' '));

let made = 0;
/** Users whose ids lead to another part than their addresses. */
function apart({ deps }: Signet, more: Row = {}): Row & { sub: string; email: string } {
  for (;;) {
    made += 1;
    const [sub, email] = [`auth0|${made}`, `kept${made}@example.com`];
    if (deps.db.of(sub) === deps.db.in(deps.placement.bucketOfEmail(email))) continue;
    return { external_id: sub, sub, email, email_verified: true, password_hash: stored, ...more };
  }
}

const claimsIn = ({ deps }: Signet) => plain(deps.db).all('select claim_key from claims where since is not null');

test('who keeps the id of another product signs in by the address, which nobody else gets', async (t) => {
  const signet = await inCells(t);
  const users = Array.from({ length: 6 }, () => apart(signet));
  assert.deepEqual(
    outcomes(await importing(signet, users)),
    users.map(() => 'imported'),
  );
  assert.deepEqual(await claimsIn(signet), [], 'what was claimed is settled');
  for (const { sub, email } of users) {
    const answer = await new TestUser(signet, { user_id: sub, email, password }).signIn();
    assert.equal(answer.location, '/account', answer.text);
    await assert.rejects(signet.newUser({ email }), /Another account has this already/);
  }
  const [one] = users;
  const others = [{ external_id: 'x', email: one!.email }, apart(signet, { email: one!.email })];
  assert.deepEqual(outcomes(await importing(signet, others)), ['refused email', 'refused email']);
  // A reset leads to the account, and an invitation is refused.
  await signet.postForm('/reset', { email: one!.email });
  linkIn(await signet.mailbox.next(one!.email), /^\/reset\//);
  const admin = await signet.signedInUser({ role: 'admin' });
  const invited = await admin.browser.postJson('/v1/admin/users/invite', { email: one!.email, reason: 'Asked.' });
  assert.equal(invited.status, 409, invited.text);
});

test('what only one user may have is refused to a second one in whichever part, by a dry run as well', async (t) => {
  const signet = await inCells(t);
  const has = {
    identity: { identities: [{ provider: 'acme', subject: 'one' }] },
    username: { preferred_username: 'wanted' },
  };
  const users = Object.values(has).flatMap((more) => Array.from({ length: 5 }, () => apart(signet, more)));
  const tried = outcomes(await importing(signet, users, { dry_run: true }));
  const wanted = ['imported', ...Array.from({ length: 4 }, () => 'refused identities/0')];
  const named = ['imported', ...Array.from({ length: 4 }, () => 'refused preferred_username')];
  const inOrder = (list: readonly string[]) => [...list.slice(0, 5)].sort().concat([...list.slice(5)].sort());
  assert.deepEqual(inOrder(tried), [...wanted, ...named]);
  assert.deepEqual(await plain(signet.deps.db).all('select claim_key from claims'), [], 'a dry run leaves nothing');
  assert.deepEqual(inOrder(outcomes(await importing(signet, users))), [...wanted, ...named]);
  const later = Object.values(has).map((more) => apart(signet, more));
  assert.deepEqual(outcomes(await importing(signet, later)), ['refused identities/0', 'refused preferred_username']);
  const without = await importing(signet, later, { drop_unusable: ['identities', 'preferred_username'] });
  assert.deepEqual(outcomes(without), ['imported identities/0', 'imported preferred_username']);
});

test('an import that is cut off between the claim and the users keeps nobody’s address', async (t) => {
  const signet = await inCells(t);
  const user = apart(signet);
  const stop = beforeEachCall(signet.deps.db, (all) => {
    if (all.some((sql) => sql.startsWith('insert into users'))) throw new StoreUnavailable('cut off');
    if (all.some((sql) => sql.startsWith('delete from claims'))) throw new StoreUnavailable('cut off');
  });
  await assert.rejects(importing(signet, [user]));
  stop();
  assert.notDeepEqual(await claimsIn(signet), []);
  signet.clock.advance(60);
  await signet.runJobs();
  assert.deepEqual(await claimsIn(signet), []);
  await signet.newUser({ email: user.email });
});
