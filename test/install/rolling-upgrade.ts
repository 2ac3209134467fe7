/**
 * Two nodes on one PostgreSQL are upgraded one after the other under load. `BEFORE` names the program of the version before,
 * such as `/usr/local/bin/signet`; without it `dist/signet` replaces itself.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { ask, newBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { startEmptyPostgres } from '../support/postgres-server.ts';
import { assertRefused, basic, tokensOf } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { codeFor, registerByHttp, runProcess, type Settings, startServer } from '../support/server-process.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { masterKey } from '../support/store-template.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';
import { startBalancer } from './balancer.ts';

const root = join(import.meta.dirname, '../..');
const after = join(root, 'dist/signet');
const programBefore = process.env.BEFORE ?? after;
const password = 'ordinary words in a row';

before(() => {
  execFileSync('npm', ['run', 'build:executable'], { cwd: root, stdio: 'ignore' });
});

test('two nodes are upgraded one after the other: both versions serve at once, and no request fails', async (t) => {
  const postgres = await startEmptyPostgres({});
  afterTest(t, () => postgres.stop());
  const folder = await scratchFolder('rolling');
  afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const ports = [await freePort(), await freePort()];
  const addresses = ports.map((port) => `http://localhost:${port}`);
  const balancer = await startBalancer(t, addresses);
  const settingsOf = (place: number): Settings => ({
    SIGNET_DATABASE_URL: postgres.url,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_BASE_URL: balancer.url,
    SIGNET_PORT: String(ports[place]),
    SIGNET_DATA_DIR: join(folder, `node-${place}`),
    SIGNET_TRUST_PROXY: '1',
    SIGNET_DRAIN_SECONDS: '1',
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8',
  });
  const command = async (program: string, args: string[], input = '') => {
    const { code, stdout, stderr } = await runProcess([...args, '--json'], {
      command: program,
      env: settingsOf(0),
      input,
    });
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}${stdout}`);
    return JSON.parse(stdout);
  };
  const serve = (program: string, place: number) => startServer(t, settingsOf(place), { command: program });
  const nodes = [await serve(programBefore, 0), await serve(programBefore, 1)];
  await until(
    'the balancer is ready',
    async () => (await ask(`${balancer.url}/readyz`).catch(() => undefined))?.status === 200,
  );

  const receiver = await openReceiver(t);
  const types = 'session.started session.ended grant.revoked';
  await command(programBefore, ['webhooks', 'create', '--url', receiver.url, '--event', types]);
  const credential = ['service-credentials', 'create', '--name', 'Billing', '--permission', 'entitlements:write'];
  const { client_id, client_secret } = await command(programBefore, [...credential, '--product', 'editor']);
  const authorization = basic(client_id, client_secret);
  const newAccount = async (email: string): Promise<string> => {
    const args = ['users', 'create', '--email', email, '--name', 'Someone', '--verified', '--password-stdin'];
    return (await command(programBefore, args, password)).user_id;
  };
  await newAccount('owner@example.com');
  const owner = newBrowser(balancer.url);
  assert.equal((await owner.post('/signin', { username: 'owner@example.com', password })).status, 303);
  const client = await registerByHttp(balancer, owner);
  await command(programBefore, ['clients', 'approve', client.client_id, '--revision', '1']);
  const everywhere = addresses.map((url) => client.at({ url }));

  /** What a person and their app do within a day, each step at another node. */
  async function day(email: string, user_id: string, number: number): Promise<void> {
    const browser = newBrowser(balancer.url);
    const signedIn = await browser.post('/signin', { username: email, password });
    assert.deepEqual([signedIn.status, signedIn.location], [303, '/account'], signedIn.text);
    const code = await codeFor(browser, client);
    let tokens = tokensOf(await client.redeem(code));
    for (let times = 0; times < 3; times += 1) {
      const older = tokens.refresh_token;
      tokens = tokensOf(await client.refresh(older));
      const answer = await ask(`${balancer.url}/oauth/userinfo`, {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      });
      assert.equal(answer.json?.sub, user_id, answer.text);
      assert.deepEqual(await states(tokens.refresh_token, tokens.access_token, older), [true, true, false]);
    }
    const written = await postEntitlement(
      balancer,
      authorization,
      writeOf(user_id, { version: number, plan: `plan-${number}` }),
    );
    assert.equal(written.json.applied, true, JSON.stringify(written.json));
    const { json } = await browser.get('/v1/me/entitlements');
    assert.partialDeepStrictEqual(json, { entitlements: [{ plan: `plan-${number}` }] });
    const edited = await browser.patch('/v1/me', { name: `Someone ${number}` });
    assert.equal(edited.status, 200, edited.text);
    const ending = [
      async () => client.post('/oauth/revoke', { token: tokens.refresh_token }),
      async () => browser.post('/signout'),
      async () => assertRefused(await client.redeem(code), 400, 'invalid_grant'), // a replay
    ];
    await ending[number % ending.length]!();
    assert.deepEqual(await states(tokens.refresh_token, tokens.access_token), [false, false], `${number % 3}`);
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  }
  /** Whether each is active. All nodes have to agree. */
  async function states(...tokens: string[]): Promise<boolean[]> {
    return Promise.all(
      tokens.map(async (token) => {
        const said = new Set<unknown>();
        for (const one of everywhere) {
          const answer = await one.introspect(token).catch(() => undefined); // a node that is being replaced
          if (answer?.status === 200) said.add(answer.json?.active);
        }
        assert.equal(said.size, 1, 'the nodes do not agree');
        return said.has(true);
      }),
    );
  }

  const emails = ['anna', 'ben', 'carla', 'david'].map((name) => `${name}@example.com`);
  const days = emails.map(() => 0);
  let isOver = false;
  const lane = async (email: string, place: number) => {
    const user_id = await newAccount(email);
    while (!isOver) {
      await day(email, user_id, days[place]! + 1);
      days[place]! += 1;
    }
  };
  const lanes = Promise.all(emails.map(lane)).then(() => assert.ok(isOver));
  const someDays = async () => {
    const goal = days.map((count) => count + 3);
    await Promise.race([until('three days more', () => days.every((count, place) => count >= goal[place]!)), lanes]);
  };

  await someDays();
  await command(after, ['migrate']); // the first new node would do it, too
  await someDays();
  for (const place of [1, 0]) {
    const finished = await Promise.race([nodes[place]!.stop('SIGTERM'), lanes]);
    assert.equal(finished?.code, 0);
    await Promise.race([someDays(), lanes]);
    nodes[place] = await serve(after, place);
    await someDays();
  }
  isOver = true;
  await lanes;

  const failures = [...balancer.counts].filter(([result]) => !/ [234]\d\d$/.test(result));
  assert.deepEqual(failures, []);
  const sum = days.reduce((total, count) => total + count, 0);
  const started = () => {
    const those = receiver.deliveries.filter(({ body }) => JSON.parse(body).type === 'session.started');
    return new Set(those.map(({ headers }) => headers['webhook-id'])).size;
  };
  await until('one more has started', () => started() >= sum + 1);
  assert.equal(started(), sum + 1, 'each sign-in was reported');
  const { broken } = await command(after, ['audit', 'verify']);
  assert.equal(broken ?? null, null);
  for (const node of nodes) {
    const { code, stderr } = await node.stop();
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /"level":[56]0/);
  }
  t.diagnostic(JSON.stringify({ days: sum, answers: Object.fromEntries(balancer.counts) }));
});
