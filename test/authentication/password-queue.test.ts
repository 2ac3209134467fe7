import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { argon2id } from '../../src/authentication/credentials/formats/argon2id.ts';
import type { PasswordHasher } from '../../src/authentication/credentials/password-hash.ts';
import type { Answer } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

type Derive = typeof argon2id;

/** Holds every password, once it is told to, until the test lets one be hashed. */
function hashHolder(derive: Derive = argon2id) {
  const held: (() => void)[] = [];
  let isHolding = false;
  return {
    async derive(parameters: Parameters<Derive>[0]): Promise<Buffer> {
      if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
      return derive(parameters);
    },
    hold(): void {
      isHolding = true;
    },
    /** One hash after the other, in order of their turns. @returns how many. */
    async letGoUntil(isOver: () => boolean): Promise<number> {
      let count = 0;
      while (!isOver()) {
        const letOne = held.shift();
        if (letOne) count += 1;
        letOne?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return count;
    },
    /** The same, while answers are missing. */
    async letGo(answers: Promise<unknown>): Promise<void> {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      answers.then(end, end);
      await this.letGoUntil(() => isOver);
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

/** A cheap hash, where many users sign in and only their turns matter. */
const cheap: Derive = async ({ message, nonce }) => hash('sha256', Buffer.concat([message, nonce]), 'buffer');

/** Each asks again as soon as it has its answer, until told to stop. */
function keepAsking(bots: readonly (() => Promise<Answer>)[]) {
  const answered = bots.map(() => 0);
  const statuses = new Map<number, number>();
  let isStopped = false;
  const all = Promise.all(
    bots.map(async (ask, index) => {
      while (!isStopped) {
        const { status } = await ask();
        answered[index]! += 1;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }),
  );
  return {
    answered,
    statuses,
    stop(): Promise<unknown> {
      isStopped = true;
      return all;
    },
  };
}

/** Counts how often a password was asked for, and how often that had its turn or was refused. */
function countTurnsOf(password: string, hasher: PasswordHasher) {
  const turns = { asked: 0, had: 0 };
  const passwords: PasswordHasher = {
    ...hasher,
    async verify(given, ...rest) {
      const isCounted = given === password;
      if (isCounted) turns.asked += 1;
      try {
        return await hasher.verify(given, ...rest);
      } finally {
        if (isCounted) turns.had += 1;
      }
    },
  };
  return { turns, passwords };
}

const manyBots = 80; // more than places in the queue

for (const [who, isKnown] of [
  ['80 accounts on known devices at one address', true],
  ['80 addresses with right passwords on new devices', false],
] as const) {
  test(`${who} keep asking, and others have their turn`, { timeout: 300_000 }, async (t) => {
    const hashes = hashHolder(cheap);
    const password = 'no robot has these words';
    const hasher = newHasher({}, { maxWaitMs: 600_000, derive: hashes.derive });
    const { turns, passwords } = countTurnsOf(password, hasher);
    const signet = await startSignet(t, { passwords, env: { SIGNET_TRUST_PROXY: '1' } });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const bots: (() => Promise<Answer>)[] = [];
    const accounts: TestUser[] = [];
    while (accounts.length < (isKnown ? manyBots : 20)) accounts.push(await signet.newUser());
    for (let index = 0; index < manyBots; index += 1) {
      const account = accounts[index % accounts.length]!;
      const address = from(isKnown ? '192.0.2.1' : `198.51.100.${index}`);
      if (isKnown) await account.signIn({}, address);
      bots.push(() => (isKnown ? account : account.elsewhere()).signIn({}, address));
    }
    const known = await signet.signedInUser({ password });
    const confirming = await signet.signedInUser({ password });
    const changing = await signet.signedInUser();
    const newcomer = await signet.newUser({ password });
    const signedInElsewhere = await confirming.signedInElsewhere();
    signedInElsewhere.browser.cookies.delete('signet_device');
    hashes.hold();
    const flood = keepAsking(bots);
    const refused = () => flood.statuses.get(503) ?? 0;
    /** While no hash is let go: some refusals more than may be on their way already. */
    const untilFull = (before = refused()) => until('the queue is full', () => refused() > before + manyBots);
    try {
      await untilFull();
      // Until each has been served or refused, one is like another.
      const everyBot = until('every bot has two answers', () => flood.answered.every((count) => count >= 2));
      await hashes.letGo(everyBot);
      await everyBot;
      for (const address of ['192.0.2.1', '203.0.113.7']) {
        await untilFull();
        const all = turns.asked + 3;
        const inTurn = Promise.all([
          known.signIn({}, from(address)),
          newcomer.elsewhere().signIn({}, from(address)),
          signedInElsewhere.browser.post(
            '/signin/confirm',
            { password: confirming.password, user: confirming.user_id },
            from(address),
          ),
        ]);
        await until('all three wait', () => turns.asked === all);
        const count = await hashes.letGoUntil(() => turns.had === all);
        assert.deepEqual([...new Set(statuses(await inTurn))], [303], address);
        assert.ok(count < 10, `they have overtaken: ${count} hashes`);
      }
      await untilFull();
      const change = { user: changing.user_id, password: 'entirely new words here' };
      const changed = changing.browser.post('/account/security/password', change, from('203.0.113.8'));
      await hashes.letGo(changed);
      assert.equal((await changed).headers.get('location'), '/account/security/password?done=changed');
    } finally {
      hashes.release();
      await flood.stop();
    }
  });
}
