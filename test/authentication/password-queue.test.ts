import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argon2id } from '../../src/authentication/credentials/argon2id.ts';
import type { Answer } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

/** Holds every password, once it is told to, until the test lets one be hashed. */
function hashHolder() {
  const held: (() => void)[] = [];
  let isHolding = false;
  return {
    async derive(parameters: Parameters<typeof argon2id>[0]): Promise<Buffer> {
      if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
      return argon2id(parameters);
    },
    hold(): void {
      isHolding = true;
    },
    /** One hash for each answer that is still missing, in order of their turns. */
    async letGo(until: Promise<unknown>): Promise<void> {
      let isOver = false;
      void until.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        held.shift()?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    release(): void {
      isHolding = false;
      for (const letOne of held.splice(0)) letOne();
    },
  };
}

const flood = (count: number, request: () => Promise<Answer>) => {
  const early: Answer[] = [];
  const all = Array.from({ length: count }, () =>
    request().then((answer) => {
      early.push(answer);
      return answer;
    }),
  );
  return { early, all: Promise.all(all) };
};

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();

test('one account takes its share of password hashing, and no more', async (t) => {
  const hashes = hashHolder();
  const signet: Signet = await startSignet(t, {
    passwords: newHasher({}, { maxWaitMs: 600_000, derive: hashes.derive }),
    env: { SIGNET_TRUST_PROXY: '1' },
  });
  const user = await signet.newUser();
  const owner = await signet.signedInUser();
  const other = await signet.newUser();
  const busy = await signet.signedInUser();
  const ownerConfirming = await owner.signedInElsewhere();
  ownerConfirming.browser.cookies.delete('signet_device'); // the session alone says who it is
  hashes.hold();
  try {
    const rightPasswords = flood(12, () => user.elsewhere().signIn({}, { 'x-forwarded-for': '192.0.2.1' }));
    const ofOwner = flood(12, () => owner.elsewhere().signIn({}, { 'x-forwarded-for': '192.0.2.2' }));
    const unknown = flood(12, () =>
      signet
        .newBrowser()
        .post('/signin', { username: 'nobody@example.com', password: 'x' }, { 'x-forwarded-for': '192.0.2.3' }),
    );
    const floods = [rightPasswords, ofOwner, unknown];
    // Nothing has been hashed: all but a few were refused at once, also of an account that does not exist.
    await until('each has been judged four times', () => floods.every(({ early }) => early.length >= 4));
    for (const { early } of floods) {
      assert.deepEqual([...new Set(statuses(early))], [429]);
      for (const { headers, text } of early) {
        assert.ok(Number(headers.get('retry-after')) > 0);
        assert.match(text, sentence('refusal.passwords_at_once'));
      }
    }
    // A form with a new password is shown again with what was typed, and never the password.
    const changing = flood(12, () =>
      busy.browser.post('/account/security/password', { user: busy.user_id, password: 'entirely new words here' }),
    );
    await until('it has been judged four times', () => changing.early.length >= 4);
    for (const { status, headers, text } of changing.early) {
      assert.equal(status, 429);
      assert.ok(Number(headers.get('retry-after')) > 0);
      assert.match(text, sentence('refusal.passwords_at_once'));
      assert.match(text, /id="password-submit"/);
      assert.doesNotMatch(text, /entirely new words/);
    }
    // The owner, on a known device and in a session, and another user have their turn before those that wait already.
    const known = owner.signIn();
    const confirming = ownerConfirming.browser.post('/signin/confirm', {
      password: owner.password,
      user: owner.user_id,
    });
    const another = other.signIn({}, { 'x-forwarded-for': '192.0.2.4' });
    const prompt = Promise.all([known, confirming, another]);
    await hashes.letGo(prompt);
    assert.deepEqual(statuses(await prompt), [303, 303, 303]);
    assert.ok(
      floods.every(({ early }) => early.length < 12),
      'they have overtaken',
    );
    const rest = Promise.all(floods.map(({ all }) => all));
    await hashes.letGo(rest);
    await hashes.letGo(changing.all);
    assert.deepEqual(
      (await rest).map((answers) => answers.filter(({ status }) => status === 303).length),
      [8, 8, 0],
    );
  } finally {
    hashes.release();
  }
});
