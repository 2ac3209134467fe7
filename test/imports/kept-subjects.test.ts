import assert from 'node:assert/strict';
import { listPasskeys } from '../../src/authentication/credentials/passkeys.store.ts';
import { readingDeps } from '../../src/imports/deps.ts';
import { importUsers } from '../../src/imports/import-users.ts';
import { nothingOmitted, readUser } from '../../src/imports/read-user.ts';
import type { Answer } from '../support/browser.ts';
import { importedHashes } from '../support/imported-hashes.ts';
import { signInWithPasskey } from '../support/passkeys.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { TestUser } from '../support/test-user.ts';

const { stored, password } = importedHashes.find(({ stored }) => stored.startsWith('$2b$'))!;
const longest = `a${'b'.repeat(254)}`;
/** As other products write them. */
const subjects = [
  'auth0|5f7c8ec7c33c6c004bbafe82',
  '165460784409546753',
  'f:8f1b-0a1e:ada',
  'user_2abcDEF',
  'Ada',
  'ADA',
  longest,
];

const usersIn = ({ json }: Answer) => json?.users as { user_id: string }[];

async function imported(signet: Signet, sub: string, place: number): Promise<TestUser> {
  const email = `user${place}@example.com`;
  const given = {
    external_id: sub,
    sub,
    email,
    email_verified: true,
    name: `Imported ${place}`,
    password_hash: stored,
  };
  const { user, problems } = readUser(await readingDeps(signet.deps), given);
  assert.deepEqual(problems, []);
  const run = { source: 'signet', caller: { actor: 'cli' }, omissions: nothingOmitted } as const;
  const [outcome] = await importUsers(signet.deps, run, [user!]);
  assert.deepEqual(outcome, { status: 'imported', user_id: sub, dropped: [] });
  return new TestUser(signet, { user_id: sub, email, password });
}

testSignet(
  'a subject of another product is the user_id wherever one stands',
  { passwords: newHasher(), env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    await admin.enableTotp();
    const client = await signet.registerClient({ owner: admin });
    const users = [];
    for (const [place, sub] of subjects.entries()) users.push(await imported(signet, sub, place));

    for (const user of users) {
      const { user_id: sub } = user;
      signet.clock.advance(1);
      assert.equal((await user.signIn()).status, 303);
      const { access_token } = await user.obtainTokens(client);
      assert.equal((await signet.userinfo(access_token)).json?.sub, sub);
      await user.addPasskey();

      const path = encodeURIComponent(sub);
      const shown = await admin.browser.get(`/v1/admin/users/${path}`);
      assert.deepEqual([shown.status, shown.json?.user_id], [200, sub]);
      const found = await admin.browser.get(`/v1/admin/users?query=${path}`);
      assert.equal(usersIn(found)[0]?.user_id, sub);
      assert.equal((await admin.browser.get(`/admin/users/${sub}`)).status, 200);
      const log = await admin.browser.get(`/admin/audit?who=${path}`);
      assert.ok(log.text.includes(`<a href="/admin/users/${sub}">`), log.text);
    }

    const seen: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page = await admin.browser.get(`/v1/admin/users?query=imported&limit=2&after=${encodeURIComponent(next)}`);
      assert.equal(page.status, 200, page.text);
      seen.push(...usersIn(page).map(({ user_id }) => user_id));
      next = page.json?.next as string | null;
    }
    assert.deepEqual(seen.sort(), [...subjects].sort());
    for (let next: string | null = ''; next !== null; ) {
      const page = await admin.browser.get(`/v1/admin/users?limit=1&after=${encodeURIComponent(next)}`);
      assert.equal(page.status, 200, page.text);
      next = page.json?.next as string | null;
    }

    const reason = 'A test.';
    const bulk = await admin.browser.postJson('/v1/admin/users/bulk', {
      action: 'sign_out',
      user_ids: subjects,
      reason,
    });
    assert.equal(bulk.status, 200, bulk.text);
    const results = bulk.json?.results as { done: boolean }[];
    assert.ok(results.every(({ done }) => done));
  },
);

testSignet(
  'a passkey of another product signs in its user, by the user handle that it has from there',
  async ({ signet }) => {
    const before = await signet.signedInUser();
    const authenticator = await before.addPasskey();
    const [made] = await listPasskeys(signet.deps.db, before.user_id);
    const admin = await signet.signedInUser({ role: 'admin' });
    const confirmation = { email: before.email, reason: 'They move.' };
    assert.equal((await admin.browser.delete(`/v1/admin/users/${before.user_id}`, confirmation)).status, 204);
    assert.equal((await signInWithPasskey(signet, authenticator)).answer.status, 403);
    await signet.runJobs(); // in cells they delete the passkey

    const { credential_id, public_key } = made!;
    const user_handle = Buffer.from(before.user_id).toString('base64url');
    const passkey = { rp_id: new URL(signet.url).hostname, credential_id, public_key, user_handle, sign_count: 0 };
    const given = { external_id: '1', email: 'moved@example.com', email_verified: true, passkeys: [passkey] };
    const { user, problems } = readUser(await readingDeps(signet.deps), given);
    assert.deepEqual(problems, []);
    const run = { source: 'signet', caller: { actor: 'cli' }, omissions: nothingOmitted } as const;
    const [outcome] = await importUsers(signet.deps, run, [user!]);
    assert.equal(outcome?.status, 'imported');

    const { answer, browser } = await signInWithPasskey(signet, authenticator);
    assert.equal(answer.status, 303, answer.text);
    assert.equal((await browser.get('/v1/me')).json?.email, 'moved@example.com');
    const other = Buffer.from('usr_of_another').toString('base64url');
    assert.equal((await signInWithPasskey(signet, authenticator, { userHandle: other })).answer.status, 403);
  },
);
