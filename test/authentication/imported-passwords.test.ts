import assert from 'node:assert/strict';
import { passwordOf } from '../../src/authentication/credentials/passwords.store.ts';
import { importedHashes, secretSettings, secrets } from '../support/imported-hashes.ts';
import { plain } from '../support/plain-sql.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const withSecrets = {
  passwords: newHasher({}, { secrets }),
  env: { SIGNET_RATE_LIMITS: 'off', ...secretSettings },
};

/** A user as an import leaves them. */
async function withHash(signet: Signet, stored: string, password: string): Promise<TestUser> {
  const user = await signet.newUser();
  const { db } = signet.deps;
  await plain(db).run('update passwords set password_hash = $1 where user_id = $2', [stored, user.user_id]);
  return user.with({ password });
}

testSignet(
  'PW-02: who comes from another product signs in with the old password, of which a hash of ours is stored then',
  withSecrets,
  async ({ signet, t }) => {
    const { db } = signet.deps;
    const hashes = importedHashes.filter(({ atDoor }) => atDoor);
    assert.ok(hashes.length >= 20);
    for (const { stored, password, from } of hashes) {
      await t.test(`${from}: ${stored.slice(0, 24)}`, async () => {
        const user = await withHash(signet, stored, password);
        const before = await passwordOf(db, user.user_id);
        assert.equal(before?.password_hash, stored);
        signet.clock.advance(1);

        assert.equal((await user.signIn({ password: `${password.slice(1)}x` })).status, 401);
        assert.deepEqual(await passwordOf(db, user.user_id), before, 'a wrong password changes nothing');

        assert.equal((await user.signIn()).status, 303);
        const after = await passwordOf(db, user.user_id);
        assert.match(after!.password_hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
        assert.deepEqual({ ...after, password_hash: stored }, before, 'it is the same password, set when it was');

        assert.equal((await user.elsewhere().signIn()).status, 303);
        assert.deepEqual(await passwordOf(db, user.user_id), after);
        assert.equal((await user.elsewhere().signIn({ password: `${password.slice(1)}x` })).status, 401);
      });
    }
  },
);

testSignet(
  'PW-02: a hash whose secret is not set is a wrong password, and the operator learns which',
  { passwords: newHasher(), env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet }) => {
    const ofSecrets = importedHashes.filter(({ stored, atDoor }) => atDoor && /^\$(devise|fbscrypt)\$/.test(stored));
    assert.equal(ofSecrets.length, 2);
    for (const { stored, password } of ofSecrets) {
      const user = await withHash(signet, stored, password);
      assert.equal((await user.signIn()).status, 401);
      const lines = signet.logLines.map((line) => JSON.parse(line)).filter((line) => line.user_id === user.user_id);
      assert.deepEqual(
        lines.map(({ level, reason }) => [level, reason]),
        [[50, 'secret_missing']],
      );
    }
  },
);
