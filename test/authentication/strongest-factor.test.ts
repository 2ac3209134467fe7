import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resetFactors } from '../../src/admin/users/administer-user.ts';
import { oneFactor } from '../../src/authentication/sessions/authentication.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import {
  assertNotSignedIn,
  assertSignedIn,
  confirmWithPasskey,
  passkeyOptions,
  postPasskey,
  sessionOf,
  signInWithPasskey,
} from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { acmeAt } from '../support/upstream.ts';

/**
 * Factors, ways in, address and password are changed only in a session that was confirmed with the strongest kind of
 * factor that the account has (decisions §10): a stolen password, or a mailbox, must not bind a factor of the thief's.
 */

const phrase = 'harbour velvet cactus ninety';
const enrollPath = '/v1/me/2fa/totp/enroll';
const twoFactors = 'urn:signet:acr:2fa';
const env = { SIGNET_RATE_LIMITS: 'off', ...acmeAt('http://localhost:9') };

/** An attacker who knows the password, on another machine. */
async function thiefOf(owner: TestUser): Promise<Browser> {
  const thief = await owner.signedInElsewhere();
  return thief.browser;
}

function assertLacksFactor(answer: Answer, about = '') {
  assert.deepEqual(
    [answer.status, answer.json?.error, answer.json?.acr_values],
    [403, 'reauthentication_required', twoFactors],
    `${about} ${answer.text}`,
  );
}

testSignet(
  'MF-05: neither a password nor a mailbox gets past the passkey of an administrator',
  { mail: true, env },
  async ({ signet, mailbox, t }) => {
    const owner = await signet.signedInUser({ role: 'admin' });
    const key = await owner.addPasskey();
    const isKeptOut = async (browser: Browser) => {
      assertLacksFactor(await browser.get('/v1/admin/users'));
      assertLacksFactor(await browser.postEmpty(enrollPath), 'an app of the thief');
      assertLacksFactor(await browser.postEmpty('/v1/me/passkeys/options'), 'a passkey of the thief');
      assertLacksFactor(await browser.delete(`/v1/me/passkeys/${key.id}`), "the owner's passkey");
      assertLacksFactor(await browser.get('/v1/admin/users'));
    };

    await t.test('by the password', async () => isKeptOut(await thiefOf(owner)));

    await t.test('by a challenge that was handed out before there was a passkey', async () => {
      const user = await signet.signedInUser();
      const thief = await thiefOf(user);
      const options = await passkeyOptions(thief, '/v1/me/passkeys');
      await user.addPasskey();
      assertLacksFactor(await postPasskey(thief, newAuthenticator(signet.url).create(options)));
    });

    await t.test('by a link from the mailbox', async () => {
      const browser = signet.newBrowser();
      await browser.post('/reset', { email: owner.email });
      const path = linkIn(await mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\/./);
      assert.equal((await browser.post(path, { password: 'harbour velvet cactus ninety' })).status, 303);
      await isKeptOut(browser);
    });

    await t.test('and the owner signs in with it as ever', async () => {
      const { browser, answer } = await signInWithPasskey(signet, key);
      assertSignedIn(answer, browser);
      assert.equal((await browser.get('/v1/admin/users')).status, 200);
    });

    await t.test('until an administrator resets the factors of a user who has lost theirs', async () => {
      const user = await signet.signedInUser();
      await user.addPasskey();
      assertLacksFactor(await (await thiefOf(user)).postEmpty(enrollPath));
      await resetFactors(signet.deps, { actor: 'cli' }, user.user_id, 'lost the key, asked in person');
      assert.equal((await (await thiefOf(user)).postEmpty(enrollPath)).status, 200);
    });
  },
);

testSignet(
  'RT-06: a passkey that is reset while it signs in opens nothing after that',
  { mail: true, env },
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const key = await owner.addPasskey();
    const reset = () => resetFactors(signet.deps, { actor: 'cli' }, owner.user_id, 'the key was stolen');
    const held = holdNextCall(signet.deps.db, /insert into sessions/);
    const entering = signInWithPasskey(signet, key);
    await held.reached;
    await reset().finally(held.release);
    const { answer, browser } = await entering;
    assertNotSignedIn(answer, browser, 403);
    assert.match(answer.text, sentence('passkey.problem.refused'));
  },
);

type Change = { method: string; path: string };

/** What every page and endpoint of an account can be asked to change. */
function changesOf({ app }: Signet): Change[] {
  const parents: string[] = [];
  const routes = app.printRoutes({ commonPrefix: false }).split('\n');
  const found = routes.flatMap((line) => {
    const [, indent = '', path = '', methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? [];
    const depth = indent.length / 4;
    parents.splice(depth);
    parents.push(path);
    return methods.split(', ').map((method) => ({ method, path: parents.join('') }));
  });
  return found.filter(({ method }) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method));
}

/** Of those, whatever adds, changes or takes away a factor, a way in, the address, the password or the account. */
const guards =
  /^\/v1\/me$|^\/v1\/me\/(?:2fa|passkeys|password|identities|email$)|^\/account\/(?:security|delete|email\/change)/;
/** The profile is no way in, and who stops a removal of factors keeps them. */
const isFree = ({ method, path }: Change) =>
  (method === 'PATCH' && path === '/v1/me') || path === '/account/security/recovery/stop';

testSignet(
  'SS-06: no sign-in method changes without the strongest kind of factor',
  { mail: true, env },
  async ({ signet, t }) => {
    const { db } = signet.deps;
    const changes = changesOf(signet).filter((change) => guards.test(change.path) && !isFree(change));
    const state = async () =>
      JSON.stringify([
        await plain(db).all('select user_id, email, name from users order by user_id'),
        await plain(db).all('select * from passkeys order by credential_id'),
        await plain(db).all('select * from totp order by user_id'),
        await plain(db).all('select * from passwords order by user_id'),
        await plain(db).all('select code_hash from backup_codes order by code_hash'),
        await plain(db).all('select token_hash from one_time_links'),
      ]);

    const refusesAll = async ({ browser }: TestUser, id: string) => {
      const before = await state();
      let tried = 0;
      for (const { method, path } of changes) {
        const url = path.replace(':id', id).replace(':provider', 'acme');
        const answer = await browser.send(url, { method, headers: { origin: signet.url } });
        if (answer.status === 405) continue;
        tried += 1;
        const about = `${method} ${path}`;
        if (path.startsWith('/v1/') || path.endsWith('/options')) assertLacksFactor(answer, about);
        else assert.match(answer.location, /^\/signin\/confirm\?next=/, about);
      }
      assert.ok(tried >= 23, `only ${tried} were tried`);
      assert.equal(await state(), before);
    };

    await t.test('for a user with a passkey', async () => {
      const owner = await signet.signedInUser();
      const { id } = await owner.addPasskey();
      await refusesAll(owner.with({ browser: await thiefOf(owner) }), id);
    });

    await t.test('for a user with an authenticator app, in an older session', async () => {
      const owner = await signet.signedInUser();
      const thief = await thiefOf(owner);
      await owner.enableTotp();
      await refusesAll(owner.with({ browser: thief }), 'pk_any');
    });

    await t.test('and a change that was under way when the factor was added fails', async () => {
      const owner = await signet.signedInUser();
      const thief = await thiefOf(owner);
      const held = holdNextCall(db, /insert into totp/);
      const answer = thief.postEmpty(enrollPath);
      await held.reached;
      await owner.addPasskey().finally(held.release);
      assertLacksFactor(await answer);
    });
  },
);

test('SS-06: the page that asks once more offers what is enough, and says so', async (t) => {
  const signet = await startSignet(t, { mail: true, env });
  const totpPage = '/account/security/totp';
  const confirmPath = `/signin/confirm?next=${encodeURIComponent(totpPage)}`;

  await t.test('a passkey', async () => {
    const owner = await signet.signedInUser();
    const key = await owner.addPasskey();
    const browser = await thiefOf(owner);
    const page = await browser.get((await browser.get(totpPage)).location);
    assert.match(page.text, sentence('confirm.passkey'));
    assert.match(page.text, /action="\/signin\/confirm\/passkey"/);
    assert.doesNotMatch(page.text, /type="password"|\/auth\/acme/);

    const { email, password } = owner;
    const tried = await browser.post('/signin/confirm', { username: email, password, next: totpPage });
    assert.equal(tried.status, 403);
    assert.match(tried.text, sentence('confirm.passkey.only'));
    const byProvider = await browser.get('/auth/acme/login?confirm=1', { accept: 'application/json' });
    assertRefused(byProvider, 403, 'access_denied');
    assert.equal((await sessionOf(browser)).acr, oneFactor);

    await confirmWithPasskey(browser, key);
    assert.equal((await browser.get(totpPage)).status, 200);
    assert.equal((await browser.postEmpty(enrollPath)).status, 200);
  });

  await t.test('and the page for adding a passkey says so beforehand', async () => {
    const { browser } = await signet.signedInUser();
    const { text } = await browser.get('/account/security/passkeys');
    assert.match(text, pattern`${sentence('passkey.add.binds')}.*<form method="post"[^>]*data-passkey`);
  });

  await t.test('a password and a code, or a backup code', async () => {
    const owner = await signet.signedInUser();
    const before = await thiefOf(owner);
    const { code, backup_codes } = await owner.enableTotp();
    const page = await before.get((await before.get(totpPage)).location);
    assert.equal((await before.get(totpPage)).location, confirmPath);
    assert.match(page.text, sentence('confirm.totp'));
    for (const given of [code, () => backup_codes[0] ?? '']) {
      const { email, password } = owner;
      const answer = await before.post('/signin/confirm', { username: email, password, next: totpPage });
      assert.equal(answer.location, '/signin/second-factor');
      assert.equal((await before.post('/signin/second-factor', { code: given() })).location, totpPage);
      assert.equal((await before.get(totpPage)).status, 200);
    }
  });
});

testSignet(
  'PW-03: a reset lists what signs in beside the password, and how it is removed',
  { mail: true, env },
  async ({ signet, mailbox }) => {
    const owner = await signet.signedInUser();
    const resetLink = async () => {
      await signet.newBrowser().post('/reset', { email: owner.email });
      return linkIn(await mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\/./);
    };
    const bare = await resetLink();
    assert.doesNotMatch((await signet.newBrowser().get(bare)).text, sentence('reset.stays.title'));
    await signet.newBrowser().post(bare, { password: phrase });
    assert.doesNotMatch(
      (await mailbox.next(owner.email, sentence('mail.password_reset.subject'))).text,
      sentence('reset.stays'),
    );

    await owner.with({ password: phrase }).signIn();
    await plain(signet.deps.db).run(
      `insert into identities (issuer, subject, user_id, provider, email, linked_at, last_used_at)
     values ('http://localhost:9', 's', $1, 'acme', 'thief@acme.example', 1800000000, 1800000000)`,
      [owner.user_id],
    );
    await owner.addPasskey(newAuthenticator(signet.url), "Thief's key");
    const path = await resetLink();
    const page = (await signet.newBrowser().get(path)).text;
    assert.match(page, sentence('reset.stays.passkey', { passkey: "Thief's key" }));
    assert.match(page, sentence('reset.stays.provider', { provider: 'Acme', account: 'thief@acme.example' }));
    assert.match(page, sentence('reset.stays.page'));
    const browser = signet.newBrowser();
    assert.equal((await browser.post(path, { password: phrase })).status, 303);
    const mail = await mailbox.next(owner.email, sentence('mail.password_reset.subject'));
    assert.match(
      mail.text,
      pattern`- ${sentence('reset.stays.passkey', { passkey: "Thief's key", day: '2027-01-15' })}\n- ${sentence('reset.stays.provider', { provider: 'Acme', account: 'thief@acme.example' })}`,
    );
    assert.ok(mail.text.includes(`${signet.url}/account/security\n`), mail.text);
  },
);
