import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import sodium from 'sodium-native';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import { argon2id } from '../../src/authentication/credentials/formats/argon2id.ts';
import { removePassword } from '../../src/authentication/credentials/passwords.store.ts';
import { passwordLimits, resetPasswordLimits } from '../../src/authentication/passwords/password-limits.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { digest } from '../../src/platform/ids.ts';
import { type Answer, withoutFormIds } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall, holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const passwords = newHasher();

/** What each password that was checked has cost: memory, passes and length of the tag. */
const costs: string[] = [];
const measured = newHasher(
  {},
  {
    derive: (parameters) => {
      costs.push(`${parameters.memory} KiB, ${parameters.passes} passes, ${parameters.tagLength} bytes`);
      return argon2id(parameters);
    },
  },
);

let accounts = 0;
const newAccount = (password: string) => ({
  email: `account${++accounts}@example.com`,
  name: 'Ada',
  password,
  role: 'user' as const,
  emailVerified: true,
});

const attempt = (signet: Signet, username: string, password: string, headers: Record<string, string> = {}) =>
  signet.newBrowser().post('/signin', { username, password }, headers);

/** Random letters: nothing that a list, a keyboard or a name could give away. */
const letters = (length: number) =>
  Array.from(crypto.randomBytes(length), (byte) => 'abcdefghijklmnopqrstuvwxyz'[byte % 26]).join('');

testSignet(
  'PW-01: what makes a password good enough',
  { passwords, env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    await t.test('PW-01: the form refuses a weak one with its reason, and takes a long one', async () => {
      const { url } = await inviteAdministrator(signet.deps, 'cli');
      const path = new URL(url).pathname;
      const browser = signet.newBrowser();
      const email = 'ada@example.com';
      const choose = (password: string) => browser.post(path, { email, name: 'Ada L', password });
      const weak: [string, RegExp][] = [
        ['', sentence('problem.password.short', { min: 15 })],
        [letters(14), sentence('problem.password.short', { min: 15 })],
        ['password123456789', sentence('problem.password.common')],
        ['ababababababababab', sentence('problem.password.repeats')],
        ['qwertyuiopasdfghjkl', sentence('problem.password.common')],
        ['Correct horse battery staple', sentence('problem.password.common')],
        ['this-is-my-password', sentence('problem.password.common')],
        ['worldofwarcraft', sentence('problem.password.common')],
        ['worldofwarcraft2026', sentence('problem.password.pieces')],
        [email, sentence('problem.password.pieces')],
        ['x'.repeat(70_000), sentence('refusal.content_too_large', { max: 64 })],
        ['é'.repeat(600), sentence('problem.password.long', { max: 1024 })],
      ];
      for (const [password, reason] of weak) {
        const answer = await choose(password);
        assert.ok(answer.status === 400 || answer.status === 413, String(answer.status));
        assert.match(answer.text, reason);
        if (password && password !== email) assert.ok(!answer.text.includes(password), 'the page repeats the password');
        assert.deepEqual(answer.headers.getSetCookie(), []);
      }
      assert.equal((await choose(letters(200))).status, 303); // no refusal above has used the link up
      assert.equal((await choose(letters(200))).status, 400); // this has
      assert.equal((await browser.get('/v1/me')).json?.role, 'admin');
    });

    await t.test(
      'PW-01: 15, 64 and 200 characters are fine, of whatever kind, and every one of them counts',
      async () => {
        for (const password of [
          letters(15),
          letters(64),
          `${letters(60)} ${letters(139)}`,
          'ünïcödé 東京 🦊 und mehr',
        ]) {
          const account = newAccount(password);
          await createUser(signet.deps, account, 'cli');
          assert.equal((await attempt(signet, account.email, password)).status, 303);
          const lastDiffers = password.slice(0, -1) + (password.endsWith('z') ? 'y' : 'z');
          for (const wrong of [
            lastDiffers,
            password.slice(0, -1),
            `${password}z`,
            ` ${password}`,
            password.toUpperCase(),
          ]) {
            assert.equal((await attempt(signet, account.email, wrong)).status, 401);
          }
        }
      },
    );

    await t.test('PW-01: composed and decomposed letters are the same password', async () => {
      const account = newAccount('café crème brûlée naïve');
      await createUser(signet.deps, { ...account, password: account.password.normalize('NFD') }, 'cli');
      for (const form of ['NFC', 'NFD']) {
        const answer = await attempt(signet, account.email, account.password.normalize(form));
        assert.equal(answer.status, 303, form);
      }
      assert.equal((await attempt(signet, account.email, 'cafe creme brulee naive')).status, 401);
    });

    await t.test('PW-01: createUser holds the command line to the same rules', async () => {
      for (const password of ['short', 'password123456789', 'iloveyouiloveyou', letters(14)]) {
        await assert.rejects(
          createUser(signet.deps, newAccount(password), 'cli'),
          (error: unknown) => error instanceof RequestError && JSON.stringify(error.details).includes('"password"'),
          password,
        );
      }
    });

    await t.test('PW-02: what is stored is a salted Argon2id hash, another one for the same password', async () => {
      const password = letters(20);
      const ids = [];
      for (let times = 0; times < 2; times += 1) ids.push(await createUser(signet.deps, newAccount(password), 'cli'));
      const rows = await plain(signet.deps.db).all<{ password_hash: string }>(
        'select password_hash from passwords where user_id in ($1, $2)',
        ids,
      );
      assert.equal(new Set(rows.map(({ password_hash }) => password_hash)).size, 2);
      for (const { password_hash } of rows) {
        const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d\$/.exec(password_hash) ?? [];
        assert.ok(Number(memory) >= 19_456 && Number(passes) >= 2); // OWASP's minimum
      }
    });
  },
);

const failuresOf = async (signet: Signet, { email }: TestUser) => {
  const key = `password-account:${digest(email)}`;
  const sql = 'select failures from failure_counters where counter_key = $1';
  return (await plain(signet.deps.db).get<{ failures: number }>(sql, [key]))?.failures ?? 0;
};

testSignet('PW-02: guessing', async ({ signet, t }) => {
  await t.test('PW-02: five failures block for 30 seconds, and each further one for twice as long', async () => {
    const user = await signet.newUser();
    for (let tries = 0; tries < 5; tries += 1) {
      assert.equal((await attempt(signet, user.email, 'wrong')).status, 401);
    }
    for (const seconds of [30, 60, 120]) {
      const blocked = await attempt(signet, user.email.toUpperCase(), user.password);
      assert.equal(blocked.status, 429);
      assert.equal(blocked.headers.get('retry-after'), String(seconds));
      assert.deepEqual(blocked.headers.getSetCookie(), []);
      signet.clock.advance(seconds - 1);
      assert.equal((await attempt(signet, user.email, user.password)).status, 429);
      signet.clock.advance(1);
      assert.equal((await attempt(signet, user.email, 'wrong')).status, 401);
    }
    signet.clock.advance(3600);
    assert.equal((await user.signIn()).status, 303);
    assert.equal(await failuresOf(signet, user), 0);
  });

  await t.test('PW-02: after a hundred failures the right password is refused, for as long as you wait', async () => {
    const user = await signet.newUser();
    // 99 of them without a hash each, then the last by a request.
    for (let tries = 0; tries < 99; tries += 1) {
      await passwordLimits(signet.deps).failed(user.email, '198.51.100.1');
      signet.clock.advance(3600);
    }
    assert.equal((await attempt(signet, user.email, 'wrong')).status, 401);
    for (const wait of [0, 3600, 30 * 86_400, 3 * 365 * 86_400]) {
      signet.clock.advance(wait);
      await signet.runJobs();
      const answer = await user.signIn();
      assert.equal(answer.status, 403, `after ${wait} s`);
      assert.match(answer.text, sentence('signin.password_disabled'));
      assert.equal(answer.headers.get('retry-after'), null, 'there is nothing to wait for');
    }
  });

  /** Five wrong passwords of strangers, each from another address. */
  const guessFromElsewhere = async ({ email }: TestUser) => {
    for (let tries = 0; tries < 5; tries += 1) {
      await passwordLimits(signet.deps).failed(email, `198.51.100.${tries}`);
    }
  };
  const deviceCookie = 'signet_device';

  await t.test("PW-02: a stranger's guesses do not lock the owner's own browser out", async () => {
    const user = await signet.newUser();
    assert.equal((await user.signIn()).status, 303);
    await guessFromElsewhere(user);
    assert.equal((await attempt(signet, user.email, user.password)).status, 429, 'a strange browser waits');
    assert.equal((await user.signIn()).status, 303, 'the known one does not');
    assert.equal((await attempt(signet, user.email, user.password)).status, 429, 'and opens it for no stranger');

    const password = 'harbour velvet cactus ninety';
    signet.clock.advance(60);
    assert.equal((await user.browser.postJson('/v1/me/password', { password })).status, 204);
    await guessFromElsewhere(user);
    assert.equal((await user.with({ password }).signIn()).status, 303, 'the browser that changed it stays known');
  });

  await t.test('PW-02: the cookie of a known browser is worth no more guesses than a strange one has', async () => {
    const user = await signet.newUser();
    const other = user.elsewhere();
    for (const one of [user, other]) assert.equal((await one.signIn()).status, 303);
    const thief = user.elsewhere();
    const copy = () => thief.browser.cookies.set(deviceCookie, user.browser.cookies.get(deviceCookie) ?? '');
    for (let tries = 0; tries < 5; tries += 1) {
      copy();
      assert.equal((await thief.with({ password: 'wrong' }).signIn()).status, 401);
    }
    assert.equal((await thief.signIn()).status, 429);
    assert.equal((await user.signIn()).status, 429, 'the browser that the cookie was taken from');
    assert.equal((await other.signIn()).status, 303);
    await plain(signet.deps.db).batch(resetPasswordLimits(user.email));
    assert.equal((await user.signIn()).status, 303, 'a reset opens it as well');
  });

  await t.test("PW-02: a browser that knew an earlier password is a stranger's", async () => {
    const user = await signet.newUser();
    const thief = user.elsewhere();
    for (const one of [user, thief]) assert.equal((await one.signIn()).status, 303);
    const password = 'harbour velvet cactus ninety';
    signet.clock.advance(600);
    assert.equal((await user.browser.postJson('/v1/me/password', { password })).status, 204);
    await guessFromElsewhere(user);
    assert.equal((await thief.with({ password }).signIn()).status, 429);
  });

  await t.test('PW-02: a block that begins while the right password is judged refuses it', async () => {
    const user = await signet.newUser();
    const { failed } = passwordLimits(signet.deps);
    for (let tries = 0; tries < 4; tries += 1) await failed(user.email, '198.51.100.1');
    const held = holdNextCall(signet.deps.db, /^delete from failure_counters where counter_key = \$1 and/);
    const answer = user.signIn();
    await held.reached; // no block was read
    await failed(user.email, '198.51.100.1');
    held.release();
    assert.equal((await answer).status, 429);
    assert.ok(!user.browser.cookies.has('signet_identity_session'));
  });

  await t.test('PW-02: one address that tries many accounts is stopped, too', async () => {
    const answers: Answer[] = [];
    for (let tries = 0; tries < 21; tries += 1) answers.push(await attempt(signet, `nobody${tries}@x.test`, 'wrong'));
    assert.equal(answers.at(19)?.status, 401);
    assert.equal(answers.at(20)?.status, 429);
    const user = await signet.newUser();
    assert.equal((await user.signIn()).status, 429);
    signet.clock.advance(600);
    assert.equal((await user.signIn()).status, 303);
  });
});

testSignet(
  'PW-02: a burst of guesses is no more than a few, and the right one among them looks like the others',
  { passwords },
  async ({ signet }) => {
    const user = await signet.newUser();
    const burst = Array.from({ length: 40 }, () => attempt(signet, user.email, 'wrong'));
    const right = await user.signIn();
    const answers = await Promise.all(burst);
    const refused = answers.filter(({ status }) => status === 401).length;
    assert.ok(refused >= 5 && refused <= 10, `${refused} of 40 guesses were judged`);
    const blocked = answers.filter(({ status }) => status === 429);
    assert.equal(blocked.length, 40 - refused);
    assert.equal(right.status, 429);
    const page = withoutFormIds(right.text);
    assert.ok(blocked.some(({ text }) => withoutFormIds(text) === page));
    assert.ok((await failuresOf(signet, user)) <= refused);
    signet.clock.advance(3600);
    assert.equal((await user.signIn()).status, 303, 'a burst must not disable the password for good');
  },
);

/** Every Argon2 computation and store call of what runs meanwhile, in order. */
async function workOf(t: TestContext, { deps: { db } }: Signet, task: () => Promise<unknown>): Promise<string[]> {
  const work: string[] = [];
  const [byOpenSsl, bySodium] = [crypto.argon2, sodium.crypto_pwhash_async];
  const mocks = [
    t.mock.method(crypto, 'argon2', (...given: Parameters<typeof byOpenSsl>) => {
      const [name, { memory, passes, parallelism, tagLength }] = given;
      work.push(`${name} ${memory} ${passes} ${parallelism} ${tagLength} by OpenSSL`);
      return byOpenSsl(...given);
    }),
    t.mock.method(sodium, 'crypto_pwhash_async', (...given: Parameters<typeof bySodium>) => {
      const [tag, , , passes, memory] = given;
      work.push(`argon2id ${memory / 1024} ${passes} 1 ${tag.length} by libsodium`);
      return bySodium(...given);
    }),
  ];
  syncBuiltinESMExports();
  const stopSpying = beforeEachCall(db, (sql) => work.push(...sql));
  try {
    await task();
  } finally {
    stopSpying();
    for (const { mock } of mocks) mock.restore();
    syncBuiltinESMExports();
  }
  return work;
}

test('PW-03: text, status and work of an answer do not disclose who has an account', async (t) => {
  const signet = await startSignet(t, { passwords });
  const known = await signet.newUser();
  const disabled = await signet.newUser();
  await disableUser(signet.deps, { actor: 'cli' }, disabled.user_id);
  const federated = await signet.newUser();
  const { sql, params } = removePassword(federated.user_id);
  await plain(signet.deps.db).run(sql, params);
  const kinds: [string, string, string][] = [
    ['unknown', 'nobody@example.com', 'some password of theirs'],
    ['known', known.email, 'some password of theirs'],
    ['disabled, with the right password', disabled.email, disabled.password],
    ['without a password', federated.email, federated.password],
    ['empty password', known.email, ''],
    ['overlong password', known.email, 'x'.repeat(5_000)],
    ['no address', 'not an address', 'some password of theirs'],
    ['NUL', 'nobody\u0001@example.com', 'some password of theirs'],
  ];
  await attempt(signet, 'first@example.com', 'some password of theirs'); // providers are read for the page, and remembered for a second
  const seen = new Map<string, string>();
  await signet.newBrowser().get('/signin'); // the providers are read once a second, whoever signs in
  for (const [kind, username, password] of kinds) {
    let answer: Answer | undefined;
    const work = await workOf(t, signet, async () => {
      answer = await attempt(signet, username, password);
    });
    assert.equal(work.filter((one) => one.startsWith('argon2id')).length, 1, kind);
    const page = withoutFormIds(answer!.text).replace(/value="[^"]*"/g, 'value=""');
    const headers = [...answer!.headers].filter(([name]) => name !== 'date' && name !== 'content-length');
    seen.set(kind, JSON.stringify([answer!.status, headers, page, work]));
  }
  for (const [kind, outcome] of seen) assert.equal(outcome, seen.get('unknown'), kind);
  // The log alone tells them apart: there the operator reads why a sign-in was refused.
  const why = 'select reason from unauthenticated_events where action = $1 and target = $2';
  const reasonsOf = async ({ user_id }: { user_id: string }) =>
    (await plain(signet.deps.db).all<{ reason: string }>(why, ['session.refused', user_id])).map(
      ({ reason }) => reason,
    );
  assert.deepEqual(await reasonsOf(disabled), ['account_disabled']);
  assert.deepEqual([...new Set(await reasonsOf(known))], ['wrong_password']);
});

test('PW-03: the limit discloses nothing either: an unknown address is blocked like a known one', async (t) => {
  const signet = await startSignet(t);
  const known = await signet.newUser();
  const statuses = [];
  for (const email of [known.email, 'nobody@example.com']) {
    const answers = [];
    for (let tries = 0; tries < 7; tries += 1) answers.push(await attempt(signet, email, 'wrong'));
    statuses.push(answers.map(({ status, headers }) => [status, headers.get('retry-after')]));
    signet.clock.advance(600);
  }
  assert.deepEqual(statuses[0], statuses[1]);
});

testSignet(
  'PW-02: a stored hash that cannot be checked is a wrong password, at the cost of any, and the operator learns of it',
  { passwords: measured, env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet }) => {
    const salt = 'c29tZXNhbHQ';
    const tag = 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    const unreadable: [string, string][] = [
      ['$2x$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy', 'unknown_format'],
      ['5f4dcc3b5aa765d61d8327deb882cf99', 'unknown_format'],
      ['', 'unknown_format'],
      [`$argon2ds$v=19$m=65536,t=2,p=1$${salt}$${tag}`, 'unknown_format'],
      ['$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhW', 'damaged'],
      ['$2b$31$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy', 'too_costly'],
      [`$argon2id$v=19$m=65536,t=2,p=1$${salt}`, 'damaged'],
      [`$argon2id$v=19$m=65536,t=2,p=0$${salt}$${tag}`, 'damaged'],
      [`$argon2id$v=19$m=65536,t=0,p=1$${salt}$${tag}`, 'damaged'],
      [`$argon2id$v=19$m=65536,t=2,p=1$${salt}$AA`, 'damaged'],
      [`$argon2id$v=19$m=4294967295,t=2,p=1$${salt}$${tag}`, 'too_costly'],
      [`$argon2id$v=19$m=${'9'.repeat(400)},t=2,p=1$${salt}$${tag}`, 'too_costly'],
      [`$argon2id$v=19$m=65536,t=4294967295,p=1$${salt}$${tag}`, 'too_costly'],
      [`$argon2id$v=19$m=65536,t=2,p=8000$${salt}$${tag}`, 'too_costly'],
    ];
    const known = newAccount(letters(20));
    await createUser(signet.deps, known, 'cli');
    const checked = async (email: string, password: string) => {
      costs.length = 0;
      const { status, text } = await attempt(signet, email, password);
      return { status, text: withoutFormIds(text).replaceAll(email, 'EMAIL'), costs: [...costs] };
    };
    const wrong = await checked(known.email, 'password');
    assert.deepEqual([wrong.status, wrong.costs.length], [401, 1]);
    for (const [stored, reason] of unreadable) {
      const account = newAccount(letters(20));
      const user_id = await createUser(signet.deps, account, 'cli');
      await plain(signet.deps.db).run('update passwords set password_hash = $1 where user_id = $2', [stored, user_id]);
      for (const password of ['password', account.password]) {
        assert.deepEqual(await checked(account.email, password), wrong, stored);
      }
      const lines = signet.logLines.map((line) => JSON.parse(line)).filter((line) => line.user_id === user_id);
      assert.deepEqual(
        lines.map((line) => [line.level, line.reason]),
        [[50, reason]],
        stored,
      );
      const [row] = await plain(signet.deps.db).all('select password_hash from passwords where user_id = $1', [
        user_id,
      ]);
      assert.deepEqual(row, { password_hash: stored }, 'nothing has changed');
    }
    const log = signet.logLines.join('\n');
    for (const [stored] of unreadable) if (stored) assert.ok(!log.includes(stored), stored);
    assert.equal((await attempt(signet, known.email, known.password)).status, 303);
  },
);
