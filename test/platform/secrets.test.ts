import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { listSigningKeys } from '../../src/oauth/signing-keys/store.ts';
import { ask } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { sendRaw } from '../support/raw-socket.ts';
import {
  assertRefused,
  basic,
  type RegisteredClient,
  type Tokens,
  tokensOf,
  verifier,
} from '../support/relying-party.ts';
import { secretCookies } from '../support/secret-cookies.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { openCollector, tracerTo } from '../support/trace-collector.ts';

type Journey = { user: TestUser; client: RegisteredClient; live: Tokens; secrets: Map<string, string> };

/** Everything that a deployment does with secrets, right and wrong. `secrets` maps each one to what it is. */
async function journey(signet: Signet): Promise<Journey> {
  const secrets = new Map<string, string>();
  const keep = (what: string, secret: string | null | undefined) => {
    assert.ok(secret && secret.length > 10, what);
    secrets.set(secret, what);
    return secret;
  };
  const keepTokens = (what: string, tokens: Tokens) => {
    for (const kind of ['access_token', 'refresh_token', 'id_token'] as const) keep(`${what} ${kind}`, tokens[kind]);
    return tokens;
  };
  keep('verifier', verifier);

  const { url } = await inviteAdministrator(signet.deps, 'cli');
  keep('invitation', url.split('/').at(-1));
  const administrator = signet.newBrowser();
  const password = keep('administrator password', 'zebra lantern orbit quilt');
  const fields = { email: 'admin@example.com', name: 'Admin', password };
  const weak = keep('refused password', 'admin@example.com1');
  assert.equal((await administrator.post(new URL(url).pathname, { ...fields, password: weak })).status, 400);
  assert.equal((await administrator.post(new URL(url).pathname, fields)).status, 303);
  assert.equal((await administrator.post(new URL(url).pathname, fields)).status, 400);
  for (const [name, value] of secretCookies(administrator)) keep(`administrator's ${name}`, value);

  const user = await signet.newUser({ password: keep('password', 'marble falcon teapot drizzle') });
  const wrong = keep('mistyped password', 'marble falcon teapot drizzlf');
  assert.equal((await user.signIn({ password: wrong })).status, 401);
  assert.equal(
    (await user.signIn({ username: keep('password typed as address', 'tulip copper anvil meadow') })).status,
    401,
  );
  const client = await signet.registerClient();
  keep('client secret', client.client_secret);
  await user.browser.get(client.authorizePath()); // leaves a request that waits, and the browser's cookie
  await user.signIn();
  for (const [name, value] of secretCookies(user.browser)) keep(name, value);

  const code = keep('code', await user.authorize(client));
  const unused = keep('unused code', await user.authorize(client));
  assertRefused(await client.redeem(unused, { code_verifier: 'A'.repeat(43) }), 400, 'invalid_grant');
  const first = keepTokens('first', tokensOf(await client.redeem(code)));
  const second = keepTokens('second', tokensOf(await client.refresh(first.refresh_token)));
  assert.equal((await signet.userinfo(second.access_token)).status, 200);
  await client.introspect(second.refresh_token);
  await client.post('/oauth/revoke', { token: second.access_token });
  await client.refresh(first.refresh_token); // a replay
  await client.redeem(code); // another
  const live = keepTokens('live', tokensOf(await client.redeem(await user.authorize(client))));

  const wrongSecret = keep('mistyped client secret', `${client.client_secret}x`);
  await client.with({ client_secret: wrongSecret }).introspect(live.access_token);
  await fetch(`${signet.url}/oauth/userinfo?access_token=${live.access_token}`);
  await fetch(`${signet.url}/oauth/token?client_secret=${client.client_secret}`, { method: 'POST' });
  await fetch(`${signet.url}/%zz?code=${code}`);
  const broken = `password=${password}&refresh_token=${live.refresh_token}`;
  const headers = `Authorization: ${basic(client.client_id, client.client_secret!)}\r\nHost: x\r\n`;
  const { port } = signet.deps.config;
  await sendRaw(port, `POST /signin?${broken} HTTP/1.1\r\n${headers}Content-Length: x\r\n\r\n${broken}`);
  await sendRaw(port, `POST /signin HTTP/1.1\r\n${headers}Transfer-Encoding: chunked\r\n\r\nzz\r\n${broken}`);
  return { user, client, live, secrets };
}

/** Every way in which a text may lie in a file: as it is, in base64, in hexadecimal, as a JSON array of bytes. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret),
    secret.replaceAll(' ', '+'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    [...bytes].join(','),
  ];
}

function assertHoldsNone(where: string, text: string, secrets: Map<string, string>): void {
  for (const [secret, what] of secrets) {
    for (const form of formsOf(secret)) assert.ok(!text.includes(form), `${where} holds the ${what}`);
  }
}

async function tablesOf({ deps: { db } }: Signet): Promise<Record<string, Record<string, unknown>[]>> {
  const names =
    db.engine === 'sqlite'
      ? await plain(db).all<{ name: string }>(`select name from sqlite_schema where type = 'table'`)
      : await plain(db).all<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`);
  assert.ok(names.length > 10);
  return Object.fromEntries(
    await Promise.all(
      names.map(async ({ name }) => [name, await plain(db).all<Record<string, unknown>>(`select * from ${name}`)]),
    ),
  );
}

onBothEngines('secrets', async (t, engine) => {
  const collector = await openCollector(t);
  const metricsToken = 'metrics'.padEnd(32, 'x');
  const env = { SIGNET_LOG_REQUESTS: 'on', SIGNET_METRICS_TOKEN: metricsToken };
  const signet = await startSignet(t, { engine, env, tracer: tracerTo(collector) });
  const { user, client, live, secrets } = await journey(signet);
  const { dataDir, masterKey } = signet.deps.config;
  assert.ok(masterKey.from === 'value');
  secrets.set(masterKey.key.toString('base64'), 'master key');

  await t.test('HT-04: no line of the log, at trace level, holds a secret', () => {
    assert.ok(signet.logLines.length > 5, 'nothing was logged, so nothing was tested');
    assertHoldsNone('the log', signet.logLines.join('\n'), secrets);
    const packets = signet.logLines.filter((line) => /rawPacket|"cookie"|"authorization"/i.test(line));
    assert.deepEqual(packets, []);
  });

  await t.test('no metric holds a secret, or who it is about', async () => {
    const headers = { authorization: `Bearer ${metricsToken}` };
    const { status, text } = await ask(`${signet.url}/metrics`, { headers });
    assert.equal(status, 200);
    assert.match(text, /^signet_token_requests_total\{.*\} [1-9]/m);
    const people = [user.user_id, user.email, client.client_id].map((one) => [one, 'id'] as const);
    assertHoldsNone('a metric', text, new Map([...secrets, ...people]));
  });

  await t.test('no span holds a secret, or who it is about', async () => {
    await signet.deps.tracer.close();
    const { spans, requests } = collector;
    assert.ok(spans.length > 50 && spans.some(({ name }) => name === 'POST /oauth/token'), `${spans.length} spans`);
    const people = [user.user_id, user.email, client.client_id].map((text) => [text, 'id'] as const);
    for (const { body } of requests)
      assertHoldsNone('a span', body.toString('latin1'), new Map([...secrets, ...people]));
  });

  await t.test('RT-08: no table holds a secret', async () => {
    for (const [table, rows] of Object.entries(await tablesOf(signet))) {
      assertHoldsNone(table, JSON.stringify(rows), secrets);
    }
  });

  await t.test('RT-08: no file of the data folder holds a secret, and no other user can read one', () => {
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    if (signet.deps.db.engine === 'sqlite')
      assert.ok(
        files.some(({ name }) => name.endsWith('-wal')),
        'no write-ahead log',
      );
    for (const file of files) {
      const path = join(file.parentPath, file.name);
      assertHoldsNone(file.name, readFileSync(path).toString('latin1'), secrets);
      assert.equal(statSync(path).mode & 0o077, 0, `${file.name} can be read by others`);
    }
  });

  await t.test('RT-08: private keys are sealed, and open under the master key alone', async () => {
    const keys = await listSigningKeys(signet.deps.db);
    const dump = JSON.stringify(await tablesOf(signet));
    assert.doesNotMatch(dump, /PRIVATE KEY|"d"|\\"d\\"/);
    assert.equal(keys.length, 4);
    for (const { kid, private_key_sealed } of keys) {
      const sealed = private_key_sealed ?? '';
      const pem = signet.deps.vault.open(`signing-key:${kid}`, sealed);
      const jwk = createPrivateKey(pem).export({ format: 'jwk' });
      assert.ok(jwk.d && !dump.includes(jwk.d));
      const bare = pem.replace(/-----[^-]+-----|\n/g, '');
      assert.ok(!dump.includes(bare) && !Buffer.from(sealed, 'base64url').includes(Buffer.from(bare, 'base64')));
      assert.throws(() => signet.deps.vault.open('signing-key:other', sealed), /cannot be decrypted/);
      const flipped = (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1);
      assert.throws(() => signet.deps.vault.open(`signing-key:${kid}`, flipped), /cannot be decrypted/);
    }
  });

  await t.test('RT-08: nothing that is stored can be presented as a token or secret', async () => {
    signet.clock.advance(1);
    const values = new Set<string>();
    for (const rows of Object.values(await tablesOf(signet))) {
      for (const value of rows.flatMap((row) => Object.values(row))) {
        if (typeof value === 'string' && value.length >= 16 && value.length < 500) values.add(value);
      }
    }
    const credentials = [...values]
      .filter((value) => /^[\w.-]+$/.test(value))
      .flatMap((value) => [value, `rt_${value}`]);
    assert.ok(credentials.length > 20);
    const cookieNames = [...user.browser.cookies.keys()];
    for (const value of credentials) {
      const thief = signet.newBrowser();
      for (const name of cookieNames) thief.cookies.set(name, value);
      assert.equal((await thief.get('/v1/me')).status, 401, value);
      assert.equal((await thief.get(`/invite/${value}`)).status, 400, value);
      assert.equal((await signet.userinfo(value)).status, 401, value);
      assertRefused(await client.redeem(value), 400, 'invalid_grant');
      assertRefused(await client.refresh(value), 400, 'invalid_grant');
    }
    const hashes = await plain(signet.deps.db).all<{ secret_hash: string }>('select secret_hash from client_secrets');
    for (const { secret_hash } of hashes) {
      assertRefused(await client.with({ client_secret: secret_hash }).introspect('x'), 401, 'invalid_client');
    }
    tokensOf(await client.refresh(live.refresh_token)); // while the owner's own still works
  });

  await t.test('RT-08: a refresh token counts to the character, and a wrong one ends nothing', async () => {
    let { refresh_token } = tokensOf(await client.redeem(await user.authorize(client)));
    const swapCase = (letter: string) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
    const altered = [...refresh_token].flatMap((letter, place) => {
      const other = letter === 'A' ? 'B' : 'A';
      return [other, ...(swapCase(letter) === letter ? [] : [swapCase(letter)])].map(
        (instead) => refresh_token.slice(0, place) + instead + refresh_token.slice(place + 1),
      );
    });
    const decorated = ['=', '==', '!', ' ', '\n', '%00', 'A'].flatMap((end) => [
      refresh_token + end,
      end + refresh_token,
    ]);
    for (const wrong of [...altered, ...decorated, refresh_token.slice(0, -1), refresh_token.slice(3)]) {
      assertRefused(await client.refresh(wrong), 400, 'invalid_grant');
    }
    ({ refresh_token } = tokensOf(await client.refresh(refresh_token)));
    tokensOf(await client.refresh(refresh_token));
  });
});
