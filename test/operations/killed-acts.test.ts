import assert from 'node:assert/strict';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../../src/platform/db/sql.ts';
import { type Act, acts, type World } from '../support/acts-over-parts.ts';
import { settingsOf } from '../support/command-line.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { freePort } from '../support/free-port.ts';
import { aMinuteLater, assertNothingHalf } from '../support/nothing-half.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { RegisteredClient, Tokens } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { newDirectory } from '../support/scim.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { refreshAt, startServer, withClockAhead } from '../support/server-process.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { isOn, onTwoServers } from '../support/two-servers.ts';
import { until } from '../support/until.ts';
import { acmeAt, type Upstream } from '../support/upstream.ts';

type OnTwo = World & {
  servers: Readonly<Record<'first' | 'second', PostgresServer>>;
  client: RegisteredClient;
  bystanders: Readonly<Record<'first' | 'second', Chain[]>>;
};

/** Refresh tokens of one grant. */
type Chain = { user: TestUser; tokens: Tokens };

const env = { SIGNET_RATE_LIMITS: 'off' };
const chainsOnEach = 3;

async function startWorld(t: TestContext): Promise<OnTwo> {
  const random = seededRandom(t);
  let upstream!: Upstream;
  const { signet, first, second } = await onTwoServers(t, { mail: true, env }, async (t, options) => {
    const made = await startFederatedSignet(t, options);
    upstream = made.upstream;
    return made.signet;
  });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const bystanders = { first: [] as Chain[], second: [] as Chain[] };
  while (Object.values(bystanders).some(({ length }) => length < chainsOnEach)) {
    const user = await signet.signedInUser();
    const tokens = await user.obtainTokens(client, { scope: 'openid offline_access' });
    bystanders[isOn(signet, user.user_id, 'first') ? 'first' : 'second'].push({ user, tokens });
  }
  const directory = await newDirectory(signet);
  const servers = { first, second };
  return { signet, upstream, administrator, directory, random, strays: new Set(), servers, client, bystanders };
}

type Attempt = Act & { name: string; status: number };

/** Of those that have an account at a provider only one, since the provider knows one person at a time. */
async function prepareActs(world: OnTwo): Promise<Attempt[]> {
  const { random, administrator } = world;
  const ofProvider = Object.keys(acts).filter((name) => name.includes('provider'));
  const left = random.pick(ofProvider);
  const names = Object.keys(acts).filter((name) => name === left || !ofProvider.includes(name));
  const attempts: Attempt[] = [];
  for (const name of names) attempts.push({ name, status: 0, ...(await acts[name]!(world)) });
  await administrator.signIn(); // what an administrator does needs a recent sign-in
  return attempts;
}

/** Sends all at once, and breaks something when some have been answered. */
async function sendAmid({ random }: OnTwo, attempts: readonly Attempt[], breakIt: () => Promise<unknown>) {
  const { promise: isTime, resolve } = Promise.withResolvers<void>();
  const enough = random.below(attempts.length);
  let answered = 0;
  const count = () => {
    answered += 1;
    if (answered >= enough) resolve();
  };
  if (enough === 0) resolve();
  const sent = attempts.map(async (attempt) => {
    await sleep(random.below(40));
    const answer = await attempt.send().catch(() => undefined); // the connection broke: nobody knows
    attempt.status = answer?.status ?? 0;
    count();
  });
  await isTime;
  await sleep(random.below(40));
  await breakIt();
  return Promise.all(sent);
}

const unknown: readonly number[] = [0, 503];

/** A minute after the fault: each act is whole or nothing, and can be done. @returns how many were done without an answer. */
async function assertWhole(world: OnTwo, attempts: readonly Attempt[]): Promise<number> {
  await aMinuteLater(world);
  let doneUnheard = 0;
  for (const { name, status, send, isDone, again = send } of attempts) {
    const what = `${name}, answered ${status}`;
    assert.ok(status < 400 || unknown.includes(status), what);
    const isKept = await isDone();
    if (isKept && unknown.includes(status)) doneUnheard += 1;
    if (isKept) continue;
    assert.ok(unknown.includes(status), `${what}: what was confirmed is there`);
    const repeated = await again();
    assert.ok(repeated.status < 400, `${what}, again: ${JSON.stringify(repeated).slice(0, 300)}`);
    assert.ok(await isDone(), `${what}: the second time it is done`);
  }
  await aMinuteLater(world);
  await assertNothingHalf(world);
  return doneUnheard;
}

type Stream = {
  /** Until each of the chains has been refreshed some times more. */
  goesOn(times: number): Promise<void>;
  stop(): Promise<void>;
};

/** Uses tokens and refreshes them without pause. @param mayFail without an answer, or for want of the store; then the same is sent again. */
function keepRefreshing(url: string, world: OnTwo, chains: readonly Chain[], mayFail = false): Stream {
  let isOver = false;
  const refreshes = chains.map(() => 0);
  const expect = (answer: { status: number } | undefined): boolean => {
    const isWell = answer?.status === 200;
    assert.ok(isWell || (mayFail && (answer === undefined || answer.status === 503)), JSON.stringify(answer));
    return isWell;
  };
  const streams = chains.map(async (chain, place) => {
    while (!isOver) {
      const answer = await refreshAt(url, world.client, chain.tokens.refresh_token).catch(() => undefined);
      if (expect(answer)) {
        chain.tokens = answer as unknown as Tokens;
        if (!mayFail) expect(await world.signet.userinfo(chain.tokens.access_token));
        refreshes[place]! += 1;
      }
      await sleep(5);
    }
  });
  const all = Promise.all(streams);
  all.catch(() => undefined); // whoever stops them is told
  return {
    async goesOn(times) {
      const wanted = refreshes.map((so) => so + times);
      const haveGone = () => refreshes.every((so, place) => so >= wanted[place]!);
      await Promise.race([until('others notice nothing', haveGone), all]);
    },
    async stop() {
      isOver = true;
      await all;
    },
  };
}

/** The last token that was acknowledged, or the one that a lost answer had: a repetition gets it. */
async function assertAlive({ client, signet }: OnTwo, chains: readonly Chain[]): Promise<void> {
  for (const chain of chains) {
    let answer = await client.refresh(chain.tokens.refresh_token);
    await until('its server is back', async () => {
      if (answer.status !== 503) return true;
      answer = await client.refresh(chain.tokens.refresh_token);
      return false;
    });
    assert.equal(answer.status, 200, `a refresh token was burnt: ${answer.text}`);
    chain.tokens = answer.json as unknown as Tokens;
    assert.equal((await signet.userinfo(chain.tokens.access_token)).status, 200);
  }
}

/**
 * Another node answers in place of this one, as behind a load balancer; what an app asks for stays here.
 * @returns what ends it.
 */
function leadTo({ app }: Signet, url: string): () => void {
  const { server } = app;
  const own = server.listeners('request') as ((asked: IncomingMessage, answer: ServerResponse) => void)[];
  const lead = (asked: IncomingMessage, answer: ServerResponse) => {
    if (/^\/oauth\/(?:token|userinfo)/.test(asked.url ?? ''))
      return own.forEach((listener) => void listener(asked, answer));
    const { method, headers } = asked;
    const passed = request(new URL(asked.url ?? '/', url), { method, headers, agent: false }, (theirs) => {
      answer.writeHead(theirs.statusCode ?? 502, theirs.rawHeaders);
      pipeline(theirs, answer, () => undefined);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  };
  server.removeAllListeners('request').on('request', lead);
  return () => {
    server.off('request', lead);
    for (const listener of own) server.on('request', listener);
  };
}

/** What it has begun is ended by nobody but the jobs of the other node. */
async function killProcessAmid(t: TestContext, world: OnTwo): Promise<number> {
  const { signet, bystanders } = world;
  const attempts = await prepareActs(world);
  const process = await startServer(t, {
    ...settingsOf(signet, undefined, { ...env, ...acmeAt(world.upstream.issuer), SIGNET_SMTP_URL: signet.mailbox.url }),
    ...withClockAhead(signet.clock() - Date.now()),
    SIGNET_PORT: String(await freePort()),
  });
  const [here, there] = [[0], [1, 2]].map((places) =>
    Object.values(bystanders).flatMap((chains) => chains.filter((_, place) => places.includes(place))),
  ) as [Chain[], Chain[]];
  const streams = [keepRefreshing(signet.url, world, here), keepRefreshing(process.url, world, there, true)];
  const stop = leadTo(signet, process.url);
  await sendAmid(world, attempts, () => process.stop('SIGKILL')).finally(stop);
  await Promise.all(streams.map((stream) => stream.stop()));
  await signet.runJobs(); // it is found out that the process is gone
  await assertAlive(world, [...here, ...there]);
  return assertWhole(world, attempts);
}

async function killPostgresAmid(world: OnTwo): Promise<number> {
  const { signet, servers, bystanders, random } = world;
  const attempts = await prepareActs(world);
  const which = random.pick(['first', 'second'] as const);
  const others = bystanders[which === 'first' ? 'second' : 'first'];
  const stream = keepRefreshing(signet.url, world, others);
  const own = keepRefreshing(signet.url, world, bystanders[which], true);
  await sendAmid(world, attempts, servers[which].kill);
  await stream.goesOn(3);
  await Promise.all([stream.stop(), own.stop()]);
  await servers[which].startAgain();
  const { parts, shared } = signet.deps.db;
  const isWell = async () => {
    for (const part of parts) await part.query(sql`select 1 as one`);
    await shared.run(sql`update clients set event_id = event_id where client_id = ''`);
    return true;
  };
  await until(`the ${which} server is back`, () => isWell().catch(() => false));
  await assertAlive(world, [...others, ...bystanders[which]]);
  return assertWhole(world, attempts);
}

const rounds = repeated(1);

test('kill -9 of a node, and of a PostgreSQL, amid acts over two servers: each act is whole or nothing a minute later', async (t) => {
  const world = await startWorld(t);
  const unheard = { process: 0, postgres: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    await t.test(`a node (${round})`, async (t) => {
      unheard.process += await killProcessAmid(t, world);
    });
    await t.test(`a PostgreSQL (${round})`, async () => {
      unheard.postgres += await killPostgresAmid(world);
    });
  }
  t.diagnostic(`done without an answer: ${JSON.stringify(unheard)}`);
});
