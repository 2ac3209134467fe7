import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { reinstateClient, suspendClient } from '../../src/clients/review-client.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, claimsOf, type RegisteredClient, type Tokens, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const day = 86_400;
const inactive = { active: false };

testSignet('a refresh token', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const owner = user;
  const allowed_scopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];
  const client = await signet.registerClient({ owner, allowed_scopes });
  const other = await signet.registerClient({ owner });
  const app = await signet.registerClient({ owner, client_type: 'public' });
  const auditedEnds = async (reason: string) => (await signet.auditLog({ action: 'grant.revoked', reason })).length;

  await t.test('RT-01: is replaced by each use, and the old one is refused', async () => {
    for (const one of [client, app]) {
      const first = await user.obtainTokens(one);
      const second = tokensOf(await one.refresh(first.refresh_token));
      assert.notEqual(second.refresh_token, first.refresh_token);
      assert.notEqual(second.access_token, first.access_token);
      const third = tokensOf(await one.refresh(second.refresh_token));
      assert.equal((await signet.userinfo(third.access_token)).status, 200);
      assertRefused(await one.refresh(first.refresh_token), 400, 'invalid_grant');
    }
  });

  await t.test('RT-02: used twice, ends its family with all access tokens, and no other family', async () => {
    const endsBefore = await auditedEnds('replay');
    const first = await user.obtainTokens(client);
    const family: Tokens[] = [first];
    for (let uses = 0; uses < 2; uses += 1) {
      family.push(tokensOf(await client.refresh(family.at(-1)?.refresh_token ?? '')));
    }
    const sibling = await user.obtainTokens(client);
    const elsewhere = await user.obtainTokens(app);
    assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
    for (const { access_token, refresh_token } of family.toReversed()) {
      assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
      assert.deepEqual((await client.introspect(access_token)).json, inactive);
      assert.deepEqual((await client.introspect(refresh_token)).json, inactive);
      assert.equal((await signet.userinfo(access_token)).status, 401);
    }
    assert.equal((await signet.userinfo(sibling.access_token)).status, 200);
    tokensOf(await client.refresh(sibling.refresh_token));
    tokensOf(await app.refresh(elsewhere.refresh_token));
    assert.equal((await auditedEnds('replay')) - endsBefore, 1, 'the log tells it once');
  });

  await t.test('RT-03: is bound to its client, which must authenticate', async () => {
    const first = await user.obtainTokens(client);
    const { refresh_token } = tokensOf(await client.refresh(first.refresh_token));
    const unauthenticated = client.with({ client_secret: null });
    for (const token of [refresh_token, first.refresh_token]) {
      assertRefused(await other.refresh(token), 400, 'invalid_grant');
      assertRefused(await app.refresh(token), 400, 'invalid_grant');
      // A scope tells another client nothing of what was granted, neither one that was nor one that was not.
      for (const scope of ['openid', 'entitlements:read']) {
        assertRefused(await other.refresh(token, { scope }), 400, 'invalid_grant');
      }
      assertRefused(await unauthenticated.refresh(token), 401, 'invalid_client');
      assertRefused(await unauthenticated.refresh(token, { client_secret: '' }), 401, 'invalid_client');
      assertRefused(await client.with({ client_secret: 'cs_wrong' }).refresh(token), 401, 'invalid_client');
      assertRefused(await client.refresh(token, { client_id: other.client_id }), 400, 'invalid_request');
    }
    tokensOf(await client.refresh(refresh_token)); // not one of these ended it
  });

  await t.test('RT-04: scope may narrow for one access token, and never grows', async () => {
    const scope = 'openid email offline_access';
    const first = await user.obtainTokens(client, { scope });
    for (const refused of ['profile', 'entitlements:read', 'bogus', ' ', 'openid\temail']) {
      assertRefused(await client.refresh(first.refresh_token, { scope: refused }), 400, 'invalid_scope');
    }
    let { refresh_token } = first;
    for (const wider of ['openid profile', 'openid entitlements:read', 'openid bogus', ' openid  openid ']) {
      const cut = tokensOf(await client.refresh(refresh_token, { scope: wider }));
      assert.deepEqual([cut.scope, claimsOf(cut.access_token).scope], ['openid', 'openid'], wider);
      refresh_token = cut.refresh_token;
    }
    const narrow = tokensOf(await client.refresh(refresh_token, { scope: 'email' }));
    assert.equal(narrow.scope, 'email');
    assert.equal(claimsOf(narrow.access_token).scope, 'email');
    assert.equal(narrow.id_token, undefined, 'no openid, no id token');
    assert.equal((await signet.userinfo(narrow.access_token)).status, 403);
    const full = tokensOf(await client.refresh(narrow.refresh_token, { scope }));
    assert.equal(full.scope, scope);
    assert.equal(tokensOf(await client.refresh(full.refresh_token)).scope, scope);
  });

  await t.test('RT-06: ends with the sign-out of its session, and only with that', async () => {
    const here = await signet.signedInUser();
    const ours = [await here.obtainTokens(client), await here.obtainTokens(app)];
    const code = await here.authorize(client);
    const laptop = here.browser;
    const phone = here.with({ browser: (await signet.newUser()).browser });
    await phone.signIn();
    const theirs = await phone.obtainTokens(client);
    assert.equal((await laptop.post('/signout')).status, 303);
    assertRefused(await client.refresh(ours[0]?.refresh_token ?? ''), 400, 'invalid_grant');
    assertRefused(await app.refresh(ours[1]?.refresh_token ?? ''), 400, 'invalid_grant');
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    for (const { access_token } of ours) assert.equal((await signet.userinfo(access_token)).status, 401);
    tokensOf(await client.refresh(theirs.refresh_token));
  });

  await t.test('RT-06: ends when its user is disabled', async () => {
    const leaver = await signet.signedInUser();
    const tokens = await leaver.obtainTokens(client);
    await disableUser(signet.deps, { actor: 'cli' }, leaver.user_id, 'left');
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.deepEqual((await client.introspect(tokens.access_token)).json, inactive);
  });

  await t.test('RT-06: is revoked when its client is suspended, and stays revoked after reinstatement', async () => {
    const suspended = await signet.registerClient({ owner, client_type: 'public' });
    const target = { client_id: suspended.client_id, caller: { actor: 'cli' } } as const;
    const tokens = await user.obtainTokens(suspended);
    await suspendClient(signet.deps, target, 'abuse was reported');
    assertRefused(await suspended.refresh(tokens.refresh_token), 401, 'invalid_client');
    assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
    await reinstateClient(signet.deps, target);
    assertRefused(await suspended.refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
  });

  await t.test('RT-07: the id token of a refresh describes the same sign-in', async () => {
    const first = await user.obtainTokens(client, { nonce: 'n-1' });
    signet.clock.advance(100);
    const second = tokensOf(await client.refresh(first.refresh_token));
    const { iat, exp, nonce, at_hash, ...same } = claimsOf(first.id_token);
    const { iat: laterIat, exp: laterExp, at_hash: laterHash, ...sameStill } = claimsOf(second.id_token);
    assert.deepEqual(sameStill, same);
    for (const claim of ['iss', 'sub', 'aud', 'auth_time', 'sid']) assert.ok(claim in same, claim);
    assert.equal(nonce, 'n-1');
    assert.equal(laterIat, Number(iat) + 100);
    assert.equal(laterExp, Number(exp) + 100);
    assert.notEqual(laterHash, at_hash);
  });

  await t.test('RT-08: of what was issued nothing opens anything in the store, its files or the log', async () => {
    const code = await user.authorize(client);
    const unredeemed = await user.authorize(client);
    const first = tokensOf(await client.redeem(code));
    const second = tokensOf(await client.refresh(first.refresh_token));
    const session = user.browser.cookies.get('signet_identity_session') ?? '';
    const tokens = [first, second].flatMap(({ access_token, refresh_token, id_token }) => [
      access_token,
      refresh_token,
      id_token,
    ]);
    const secrets = [code, unredeemed, session, user.password, client.client_secret ?? '', ...tokens];
    const stored = await everythingStored(signet);
    assert.ok(stored.includes(user.user_id), 'this looked in the right place');
    for (const secret of secrets) {
      assert.ok(secret.length > 10);
      // Without its prefix as well: "ac_" could have been cut off before it was stored.
      assert.equal(stored.includes(secret.replace(/^[a-z]{2}_/, '')), false);
    }
  });
});

/** Every table's rows, every file of the data folder, every line of the log. */
async function everythingStored(signet: Signet): Promise<string> {
  const { db, config } = signet.deps;
  const folder = new URL('../../src/platform/db/migrations/', import.meta.url);
  const migrations = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')));
  const tables = [...migrations.join('\n').matchAll(/create table (\w+)/g)].map(([, table]) => table);
  const rows = await Promise.all(tables.map((table) => plain(db).all(`select * from ${table}`)));
  const entries = await readdir(config.dataDir, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((path) => readFile(path, 'latin1')));
  return [JSON.stringify(rows), ...contents, ...signet.logLines].join('\n');
}

test('RT-08: a refresh token counts as it was issued, character for character', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const { refresh_token } = await user.obtainTokens(client);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const swapped = (character: string) =>
    character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();
  const forgeries = [...refresh_token].flatMap((character, index) => {
    const next = alphabet[(alphabet.indexOf(character) + 1) % 64];
    const replacements = [next, swapped(character), ''].filter((one) => one !== character);
    return replacements.map((one) => refresh_token.slice(0, index) + one + refresh_token.slice(index + 1));
  });
  const padded = ['=', '!', 'A', ' ', '\n', '.'].flatMap((extra) => [refresh_token + extra, extra + refresh_token]);
  const foreign = [
    refresh_token.slice(3),
    'rt_',
    'rt_A',
    `rt_${'A'.repeat(70)}`,
    `rt_${'A'.repeat(5000)}`,
    '0',
    'null',
  ];
  for (const forged of [...forgeries, ...padded, ...foreign]) {
    assertRefused(await client.refresh(forged), 400, 'invalid_grant');
  }
  assertRefused(await client.refresh(''), 400, 'invalid_request');
  tokensOf(await client.refresh(refresh_token)); // not one of them touched the real one
});

testSignet('RT-05: a refresh token ends after 30 days without use', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const [used, unused] = [await user.obtainTokens(client), await user.obtainTokens(client)];
  signet.clock.advance(30 * day - 1);
  await signet.runJobs();
  const next = tokensOf(await client.refresh(used.refresh_token));
  signet.clock.advance(1);
  assertRefused(await client.refresh(unused.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(unused.refresh_token)).json, inactive);
  tokensOf(await client.refresh(next.refresh_token));
});

testSignet('RT-05: a refresh token ends after 90 days, however often it is used', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  let tokens = await user.obtainTokens(client);
  const born = signet.clock() / 1000;
  for (const days of [29, 29, 29, 2]) {
    signet.clock.advance(days * day);
    await signet.runJobs();
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
  }
  signet.clock.advance(day - 1);
  tokens = tokensOf(await client.refresh(tokens.refresh_token));
  assert.equal((await client.introspect(tokens.refresh_token)).json?.exp, born + 90 * day);
  signet.clock.advance(1);
  assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(tokens.refresh_token)).json, inactive);
});

/** The refresh token was used again outside of its retry window, so the grant is revoked. */
async function assertGrantRevoked(client: RegisteredClient, tokens: Tokens): Promise<void> {
  assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(tokens.access_token)).json, inactive);
}

testSignet('a refresh token within the retry window of its client', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user, refresh_retry_window: 30 });

  await t.test('is answered again with the same successor until the window ends', async () => {
    const first = await user.obtainTokens(client);
    const lost = tokensOf(await client.refresh(first.refresh_token));
    signet.clock.advance(30);
    const again = tokensOf(await client.refresh(first.refresh_token));
    assert.equal(again.refresh_token, lost.refresh_token);
    assert.notEqual(again.access_token, lost.access_token);
    assert.equal(claimsOf(again.access_token).iat, signet.clock() / 1000);
    assert.equal((await signet.userinfo(again.access_token)).status, 200);
    signet.clock.advance(1); // 31 seconds after the rotation: asking again did not move the window
    assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
    await assertGrantRevoked(client, again);
  });

  await t.test('is a replay once its successor was used', async () => {
    const first = await user.obtainTokens(client);
    const second = tokensOf(await client.refresh(first.refresh_token));
    const third = tokensOf(await client.refresh(second.refresh_token));
    assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
    await assertGrantRevoked(client, third);
  });

  await t.test('is answered to its own client only', async () => {
    const other = await signet.registerClient({ owner: user, refresh_retry_window: 60 });
    const first = await user.obtainTokens(client);
    const second = tokensOf(await client.refresh(first.refresh_token));
    assertRefused(await other.refresh(first.refresh_token), 400, 'invalid_grant');
    assertRefused(await client.with({ client_secret: null }).refresh(first.refresh_token), 401, 'invalid_client');
    assert.equal(tokensOf(await client.refresh(first.refresh_token)).refresh_token, second.refresh_token);
  });

  await t.test('is refused once the grant is revoked', async () => {
    const first = await user.obtainTokens(client);
    const { refresh_token } = tokensOf(await client.refresh(first.refresh_token));
    await user.browser.post('/signout');
    assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
  });
});

testSignet('without a retry window the second use of a refresh token revokes its grant', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user, refresh_retry_window: 0 });
  const first = await user.obtainTokens(client);
  const second = tokensOf(await client.refresh(first.refresh_token));
  assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
  await assertGrantRevoked(client, second);
});
