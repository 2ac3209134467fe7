import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import type { TestContext } from 'node:test';
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  jwtVerify,
  SignJWT,
} from 'jose';
import { readConfig } from '../../src/app/config.ts';
import { keepKeysFresh, startJobs } from '../../src/app/jobs.ts';
import { openDeps } from '../../src/app/open-deps.ts';
import { listKeys, maxRetiredKeys, rotateDueKeys, rotateNow } from '../../src/oauth/signing-keys/signing-keys.ts';
import { listSigningKeys } from '../../src/oauth/signing-keys/store.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, claimsOf, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const day = 86_400;
const statuses = async ({ deps }: Signet) =>
  (await listSigningKeys(deps.db)).map(({ algorithm, status }) => `${algorithm} ${status}`).sort();
const returnUri = 'https://rp.test/post_logout_redirect';
const settled = ['EdDSA active', 'EdDSA next', 'RS256 active', 'RS256 next'];

async function keySet({ url }: Signet): Promise<JSONWebKeySet> {
  return (await fetch(`${url}/.well-known/jwks.json`)).json() as Promise<JSONWebKeySet>;
}

async function publishedKids(signet: Signet): Promise<string[]> {
  return (await keySet(signet)).keys.map(({ kid = '' }) => kid).sort();
}

async function storedKids({ deps }: Signet, ...wanted: string[]): Promise<string[]> {
  const keys = await listSigningKeys(deps.db);
  return keys
    .filter(({ status }) => wanted.includes(status))
    .map(({ kid }) => kid)
    .sort();
}

/** A relying party in EdDSA and one in RS256, and a user who signs in to both. */
async function relyingParties(t: TestContext, engine: Engine) {
  const signet = await startSignet(t, { engine });
  const post_logout_redirect_uris = [returnUri];
  const clients = [
    await signet.registerClient({ post_logout_redirect_uris }),
    await signet.registerClient({ post_logout_redirect_uris, id_token_signed_response_alg: 'RS256' }),
  ] as const;
  return { signet, clients, user: await signet.signedInUser() };
}

testSignet('each algorithm publishes its active and its next key, and nothing private', async ({ signet }) => {
  assert.deepEqual(await statuses(signet), settled);
  const { keys } = await keySet(signet);
  assert.deepEqual(await publishedKids(signet), await storedKids(signet, 'active', 'next'));
  for (const key of keys) {
    assert.equal(key.kid, await calculateJwkThumbprint(key), 'kid is the RFC 7638 thumbprint');
    const members = key.kty === 'OKP' ? ['crv', 'kty', 'x'] : ['e', 'kty', 'n'];
    assert.deepEqual(Object.keys(key).sort(), [...members, 'alg', 'kid', 'use'].sort());
    assert.equal(key.use, 'sig');
  }
  assert.deepEqual(keys.map(({ alg }) => alg).sort(), ['EdDSA', 'EdDSA', 'RS256', 'RS256']);
});

onBothEngines('keys rotate after 30 days, once, though several nodes do it at the same instant', async (t, engine) => {
  const first = await startSignet(t, { engine });
  const nodes = [first, ...(await Promise.all([1, 2, 3].map(() => startSignet(t, { engine, beside: first }))))];
  const before = { active: await storedKids(first, 'active'), next: await storedKids(first, 'next') };

  first.clock.advance(30 * day - 1);
  await Promise.all(nodes.map((node) => node.runJobs()));
  assert.deepEqual(await storedKids(first, 'active'), before.active, 'not a second early');

  first.clock.advance(1);
  await Promise.all(nodes.flatMap((node) => [node.runJobs(), node.runJobs()]));
  assert.deepEqual(await storedKids(first, 'retiring'), before.active);
  assert.deepEqual(await storedKids(first, 'active'), before.next);
  assert.equal((await listSigningKeys(first.deps.db)).length, 6);
  const events = await first.auditLog({ action: 'key.rotated' });
  assert.equal(events.length, 2, 'one for each algorithm');
  await Promise.all(nodes.map((node) => node.runJobs()));
  assert.deepEqual(await storedKids(first, 'active'), before.next);
  for (const node of nodes) {
    assert.deepEqual(await publishedKids(node), await storedKids(node, 'active', 'next', 'retiring'));
  }
});

testSignet('the node that rotates publishes the new next key at once', async ({ signet }) => {
  signet.clock.advance(30 * day);
  await signet.runJobs();
  assert.deepEqual(await publishedKids(signet), await storedKids(signet, 'active', 'next', 'retiring'));
});

testSignet('a next key signs only 15 minutes after it was published', async ({ signet }) => {
  const [active, next] = [await storedKids(signet, 'active'), await storedKids(signet, 'next')];
  signet.clock.advance(15 * 60 - 1);
  assert.deepEqual(await rotateNow(signet.deps, { actor: 'cli' }), []);
  assert.deepEqual(await storedKids(signet, 'active', 'next', 'retiring'), [...active, ...next].sort());
  signet.clock.advance(1);
  assert.deepEqual((await rotateNow(signet.deps, { actor: 'cli' })).sort(), active);
  assert.deepEqual(await storedKids(signet, 'active'), next);
  const rotations = await Promise.all([1, 2, 3, 4].map(() => rotateNow(signet.deps, { actor: 'cli' })));
  assert.deepEqual(rotations.flat(), [], 'the new next keys are too young');
});

testSignet('the log says which key stopped signing, which one took over, and which is next', async ({ signet }) => {
  const before = await listSigningKeys(signet.deps.db);
  signet.clock.advance(15 * 60);
  await rotateNow(signet.deps, { actor: 'cli' });
  const after = await listSigningKeys(signet.deps.db);
  const kidOf = (keys: typeof before, algorithm: string, status: string) =>
    keys.find((key) => key.algorithm === algorithm && key.status === status)?.kid;
  const rows = await signet.auditLog({ action: 'key.rotated' });
  assert.equal(rows.length, 2);
  for (const { target, before_state, after_state } of rows) {
    const { algorithm, ...was } = JSON.parse(before_state ?? '');
    const active_kid = kidOf(before, algorithm, 'next');
    assert.deepEqual(was, { active_kid: kidOf(before, algorithm, 'active'), next_kid: active_kid });
    assert.equal(kidOf(after, algorithm, 'retiring'), was.active_kid);
    assert.deepEqual(JSON.parse(after_state ?? ''), {
      algorithm,
      active_kid,
      next_kid: kidOf(after, algorithm, 'next'),
    });
    assert.equal(target, active_kid);
  }
});

onBothEngines('keys that a command rotates are in the key set of every process within seconds', async (t, engine) => {
  const node = await startSignet(t, { engine });
  const worker = await startSignet(t, { engine, beside: node });
  node.clock.advance(15 * 60);
  await rotateNow(node.deps, { actor: 'cli' }); // by a process of its own: neither of the two has heard of it
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [stopJobs, stopFreshening] = [startJobs(node.deps), keepKeysFresh(worker.deps)];
  const published = (deps: typeof node.deps) => (JSON.parse(deps.keys.published.body) as JSONWebKeySet).keys.length;
  const etag = node.deps.keys.published.etag;
  t.mock.timers.tick(1000);
  await until('both publish all', () => published(node.deps) + published(worker.deps) >= 12);
  const stopped = Promise.all([stopJobs(), stopFreshening()]);
  t.mock.timers.reset();
  await stopped;
  assert.deepEqual(await publishedKids(node), await storedKids(node, 'active', 'next', 'retiring'));
  assert.deepEqual(await publishedKids(worker), await storedKids(node, 'active', 'next', 'retiring'));
  assert.notEqual(node.deps.keys.published.etag, etag);
});

testSignet('a retiring key loses its private half at once and is published for 65 minutes', async ({ signet }) => {
  signet.clock.advance(30 * day);
  const retired = (await rotateDueKeys(signet.deps)).sort();
  assert.equal(retired.length, 2);
  for (const { kid, private_key_sealed } of await listSigningKeys(signet.deps.db)) {
    assert.equal(private_key_sealed === null, retired.includes(kid));
  }
  signet.clock.advance(65 * 60 - 1);
  await signet.runJobs();
  for (const kid of retired) assert.ok((await publishedKids(signet)).includes(kid));
  signet.clock.advance(1);
  await signet.runJobs();
  assert.deepEqual(await statuses(signet), settled);
  assert.deepEqual(await publishedKids(signet), await storedKids(signet, 'active', 'next'));
});

onBothEngines(
  'tokens from before, amid and after a rotation verify against the key set as long as they live',
  async (t, engine) => {
    const { signet, clients, user } = await relyingParties(t, engine);
    const obtain = async () =>
      (await Promise.all(clients.map((client) => user.obtainTokens(client)))).flatMap((tokens) => [
        tokens.access_token,
        tokens.id_token,
      ]);
    const verifyAll = async (tokens: string[]) => {
      const jwks = createLocalJWKSet(await keySet(signet));
      const currentDate = new Date(signet.clock());
      for (const token of tokens) await jwtVerify(token, jwks, { issuer: signet.url, currentDate });
      return tokens.map((token) => decodeProtectedHeader(token).kid);
    };

    signet.clock.advance(30 * day - 10);
    const fresh = await signet.signedInUser(); // sessions do not last a month
    user.browser.cookies.clear();
    for (const [name, value] of fresh.browser.cookies) user.browser.cookies.set(name, value);
    const before = await obtain();
    const oldKids = await verifyAll(before);
    const cached = createLocalJWKSet(await keySet(signet)); // what a relying party keeps for five minutes
    signet.clock.advance(10);
    await signet.runJobs();
    signet.clock.advance(2);
    const after = await obtain();
    const newKids = await verifyAll([...before, ...after]);
    assert.deepEqual(newKids.slice(0, oldKids.length), oldKids);
    assert.ok(
      newKids.slice(oldKids.length).every((kid) => !oldKids.includes(kid)),
      'the next key signs now',
    );
    for (const token of after) await jwtVerify(token, cached, { currentDate: new Date(signet.clock()) });

    signet.clock.advance(3587); // one second before the first tokens expire
    await signet.runJobs();
    await verifyAll([...before, ...after]);
    signet.clock.advance(400);
    await signet.runJobs();
    await assert.rejects(verifyAll(before));
    assert.deepEqual(await statuses(signet), settled);
  },
);

/** With the private half that its key still has now. */
async function signedAgain({ deps }: Signet, token: string, changes: object): Promise<string> {
  const header = decodeProtectedHeader(token) as JWTHeaderParameters;
  const sealed = (await listSigningKeys(deps.db)).find(({ kid }) => kid === header.kid)?.private_key_sealed ?? '';
  const pem = deps.vault.open(`signing-key:${header.kid}`, sealed);
  return new SignJWT({ ...claimsOf(token), ...changes }).setProtectedHeader(header).sign(createPrivateKey(pem));
}

onBothEngines('a retired key verifies id_token_hint while a session can last, and nothing else', async (t, engine) => {
  const { signet, clients, user } = await relyingParties(t, engine);
  signet.clock.advance(900);
  const sessions = await Promise.all(
    clients.map(async (client) => {
      const there = await user.signedInElsewhere();
      const { access_token, ...tokens } = await there.obtainTokens(client);
      // Valid for longer than ours, so that nothing but its key is a reason to refuse it.
      return {
        there,
        client,
        access_token: await signedAgain(signet, access_token, { exp: 4_000_000_000 }),
        ...tokens,
      };
    }),
  );
  const kids = sessions.map(({ id_token }) => decodeProtectedHeader(id_token).kid ?? '');
  const lasting = await user.obtainTokens(clients[0]);
  for (const { access_token } of sessions) assert.equal((await signet.userinfo(access_token)).status, 200);
  const logoutPath = (id_token_hint: string) =>
    `/oauth/logout?${new URLSearchParams({ id_token_hint, post_logout_redirect_uri: returnUri })}`;
  const isSignedIn = async (one: TestUser) =>
    redirectedTo(await one.browser.get(clients[0].authorizePath({ prompt: 'none' }))).has('code');

  await rotateNow(signet.deps, { actor: 'cli' });
  signet.clock.advance(65 * 60);
  await signet.runJobs();
  assert.ok((await publishedKids(signet)).every((kid) => !kids.includes(kid)));
  assert.ok((await listSigningKeys(signet.deps.db)).every(({ kid }) => !kids.includes(kid)));
  const rows = await plain(signet.deps.db).all<Record<string, string>>('select * from retired_signing_keys');
  assert.deepEqual(rows.map(({ kid }) => kid).sort(), kids.toSorted());
  for (const { algorithm, public_jwk = '', ...row } of rows) {
    const members = algorithm === 'EdDSA' ? ['crv', 'kty', 'x'] : ['e', 'kty', 'n'];
    assert.deepEqual(Object.keys(JSON.parse(public_jwk)).sort(), members);
    assert.deepEqual(Object.keys(row).sort(), ['activated_at', 'created_at', 'kid', 'retired_at']);
  }

  signet.clock.advance(5 * 3600);
  const other = await signet.signedInUser();
  for (const { there, client, access_token, id_token } of sessions) {
    for (const token of [access_token, id_token]) {
      assertRefused(await signet.userinfo(token), 401, 'invalid_token');
      assert.deepEqual((await client.introspect(token)).json, { active: false });
    }
    const asAnother = await other.browser.get(client.authorizePath({ prompt: 'none', id_token_hint: id_token }));
    assert.equal(redirectedTo(asAnother).get('error'), 'login_required', 'the hint names its user still');
    assert.equal((await there.browser.get(logoutPath(id_token))).location, returnUri);
    assert.equal(await isSignedIn(there), false);
  }

  // A sign-in continues its session, which so lasts longer than the key of its first id token is kept.
  for (const days of [2.5, 2.5, 2.5, 2.5, 2.5, 1.5]) {
    await user.signIn();
    signet.clock.advance(days * day);
  }
  signet.clock.advance(-5 * 3600 - 1);
  await signet.runJobs();
  const browser = signet.newBrowser();
  for (const { id_token } of sessions) assert.equal((await browser.get(logoutPath(id_token))).location, returnUri);
  signet.clock.advance(1);
  for (const { id_token } of sessions) assert.equal((await browser.get(logoutPath(id_token))).location, '/signed-out');
  const asked = await user.browser.get(logoutPath(lasting.id_token));
  assert.match(asked.location, /^\/oauth\/logout\/confirm\?request=/);
  assert.match((await user.browser.get(asked.location)).text, sentence('logout.title'));
  assert.ok(await isSignedIn(user));
  await signet.runJobs();
  assert.deepEqual(await plain(signet.deps.db).all('select * from retired_signing_keys'), []);
});

testSignet('of retired keys the newest are kept, so many of each algorithm', async ({ signet }) => {
  const { deps } = signet;
  const retired_at = Math.floor(signet.clock() / 1000);
  const active = (await listSigningKeys(deps.db)).filter(({ status }) => status === 'active');
  const rotations = Array.from({ length: maxRetiredKeys + 5 }, (_, age) => age);
  await plain(deps.db).batch(
    rotations.flatMap((age) =>
      active.map(({ algorithm, public_jwk }) => ({
        sql: `insert into signing_keys (kid, algorithm, status, public_jwk, created_at, retired_at)
              values ($1, $2, 'retiring', $3, 1, $4)`,
        params: [`${algorithm} ${age}`, algorithm, JSON.stringify(public_jwk), retired_at - age],
      })),
    ),
  );
  const kept = async () => (await listKeys(deps)).flatMap(({ kid, status }) => (status === 'retired' ? [kid] : []));
  signet.clock.advance(65 * 60);
  for (const run of ['first', 'second']) {
    await signet.runJobs();
    const expected = rotations.slice(0, maxRetiredKeys).flatMap((age) => [`EdDSA ${age}`, `RS256 ${age}`]);
    assert.deepEqual((await kept()).sort(), expected.sort(), run);
  }
  assert.deepEqual(await statuses(signet), settled);
});

testSignet('another master key opens nothing and changes nothing', async ({ signet }) => {
  const { config, clock, log } = signet.deps;
  const environment = {
    SIGNET_DATA_DIR: config.dataDir,
    SIGNET_DATABASE_URL: config.databaseUrl,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
    SIGNET_MASTER_KEY: Buffer.alloc(32, 8).toString('base64'),
  };
  const rows = await listSigningKeys(signet.deps.db);
  await assert.rejects(openDeps(readConfig(environment), { clock, log }), {
    name: 'ConfigError',
    message: /^The master key does not match this database\./,
  });
  assert.deepEqual(await listSigningKeys(signet.deps.db), rows);
  for (const { private_key_sealed } of rows) assert.doesNotMatch(String(private_key_sealed), /PRIVATE|"d"/);
});
