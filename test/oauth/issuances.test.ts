import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runJobs } from '../../src/app/jobs.ts';
import { now } from '../../src/platform/clock.ts';
import { type Db, OutcomeUnknown, type Part, StoreUnavailable } from '../../src/platform/db/db.ts';
import { unavailable } from '../../src/platform/errors.ts';
import type { Answer } from '../support/browser.ts';
import { signedInClient } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { newProofKey, proofOf } from '../support/dpop.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { bareSettings, codeFor, redeemAt, refreshAt, startServer } from '../support/server-process.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { until } from '../support/until.ts';

/** Carries out the next changes of grants, or not, and in either case loses the confirmation. */
function losing(db: Db, { times, kept }: { times: number; kept: boolean }): () => void {
  let left = times;
  const restores = db.parts.map((part) => {
    const { commit } = part;
    const lossy: Part['commit'] = async (steps) => {
      if (!steps[0]?.sql.includes('update grants set re') || left === 0) return commit(steps);
      left -= 1;
      if (kept) await commit(steps);
      throw new OutcomeUnknown('lost');
    };
    Object.assign(part, { commit: lossy });
    return () => void Object.assign(part, { commit });
  });
  return () => {
    for (const restore of restores) restore();
  };
}
const always = Number.POSITIVE_INFINITY;

testSignet('a lost confirmation is asked for again within the request', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  for (const kept of [true, false]) {
    const code = await user.authorize(client);
    let restore = losing(signet.deps.db, { times: 1, kept });
    const first = tokensOf(await client.redeem(code));
    restore();
    restore = losing(signet.deps.db, { times: 1, kept });
    const second = tokensOf(await client.refresh(first.refresh_token));
    restore();
    const third = tokensOf(await client.refresh(second.refresh_token));
    assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
    assertRefused(await client.refresh(third.refresh_token), 400, 'invalid_grant');
  }
});

onBothEngines('all attempts at a token request have one deadline of five seconds', async (t, engine) => {
  let passed = 0;
  const signet = await startSignet(t, { engine, monotonic: () => passed });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const { refresh_token } = await user.obtainTokens(client);
  const code = await user.authorize(client);
  /** @param times so many attempts are lost, each after so many milliseconds. */
  async function attemptsAt(ask: () => Promise<Answer>, { times, after }: { times: number; after: number }) {
    let attempts = 0;
    const restore = losing(signet.deps.db, { times, kept: false });
    const stop = beforeEachCall(signet.deps.db, ([sql]) => {
      if (!sql?.includes('update grants set re')) return;
      attempts += 1;
      passed += after;
    });
    const answer = await ask();
    stop();
    restore();
    return { answer, attempts };
  }
  for (const ask of [() => client.refresh(refresh_token), () => client.redeem(code)]) {
    const late = await attemptsAt(ask, { times: always, after: 5_000 });
    assertRefused(late.answer, 503, 'temporarily_unavailable');
    assert.equal(late.attempts, 1, 'the first one took all the time');
    const early = await attemptsAt(ask, { times: 1, after: 1_000 });
    tokensOf(early.answer);
    assert.equal(early.attempts, 2);
  }
});

testSignet('what stayed unknown may be repeated, and nothing else is excused by it', async ({ signet, t }) => {
  const node = await startSignet(t, { beside: signet });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const other = await signet.registerClient({ owner });
  const families = await Promise.all(Array.from({ length: 5 }, () => owner.obtainTokens(client)));
  const [mine, elsewhere, replayed, late, used] = families.map(({ refresh_token }) => refresh_token) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const parents = await Promise.all(
    [mine, elsewhere, replayed, late, used].map(async (token) => tokensOf(await client.refresh(token)).refresh_token),
  );
  const code = await owner.authorize(client);

  const restore = losing(signet.deps.db, { times: always, kept: true });
  const answers = await Promise.all([...parents.map((token) => client.refresh(token)), client.redeem(code)]);
  restore();
  for (const answer of answers) {
    assertRefused(answer, 503, 'temporarily_unavailable');
    assert.match(answer.text, /may or may not have been saved/);
  }

  await t.test('with the same refresh token or code, by the same client', async () => {
    assertRefused(await other.refresh(parents[0]!), 400, 'invalid_grant');
    const again = tokensOf(await client.refresh(parents[0]!));
    assert.equal(tokensOf(await client.refresh(parents[0]!)).refresh_token, again.refresh_token);
    tokensOf(await client.refresh(again.refresh_token));
    const redeemed = tokensOf(await client.redeem(code));
    tokensOf(await client.refresh(redeemed.refresh_token));
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    assertRefused(await client.refresh(redeemed.refresh_token), 400, 'invalid_grant');
  });

  await t.test('on another node, once the store has the doubt', async () => {
    const doubts = 'select count(*) as doubts from grants where unanswered_until is not null';
    await until(
      'the store has three doubts',
      async () => Number((await plain(node.deps.db).get<{ doubts: number }>(doubts))?.doubts) >= 3,
    );
    tokensOf(await client.at(node).refresh(parents[1]!));
  });

  await t.test('but an older token is a replay', async () => {
    assertRefused(await client.at(node).refresh(replayed), 400, 'invalid_grant');
    assertRefused(await client.at(node).refresh(parents[2]!), 400, 'invalid_grant');
  });

  await t.test('and so is the parent once its successor was used', async () => {
    const successor = tokensOf(await client.refresh(parents[4]!));
    const next = tokensOf(await client.refresh(successor.refresh_token));
    assertRefused(await client.refresh(parents[4]!), 400, 'invalid_grant');
    assertRefused(await client.refresh(next.refresh_token), 400, 'invalid_grant');
  });

  await t.test('and five minutes later', async () => {
    signet.clock.advance(300);
    assertRefused(await client.refresh(parents[3]!), 400, 'invalid_grant');
    assertRefused(await client.at(node).refresh(parents[3]!), 400, 'invalid_grant');
  });
});

testSignet('a repetition on another node waits for a doubt that could not be written yet', async ({ signet, t }) => {
  const node = await startSignet(t, { beside: signet });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const { refresh_token } = await owner.obtainTokens(client);
  const code = await owner.authorize(client);
  await signet.deps.processes.serve();
  Object.assign(node.deps.db, { isRunning: async () => true });

  const restore = losing(signet.deps.db, { times: always, kept: true });
  let attempts = 0;
  const mend = beforeEachCall(signet.deps.db, (sql) => {
    if (!sql.some((text) => text.includes('set unanswered_until'))) return;
    attempts += 1;
    throw new StoreUnavailable('no change now');
  });
  const answers = await Promise.all([client.refresh(refresh_token), client.redeem(code)]);
  for (const answer of answers) assertRefused(answer, 503, 'temporarily_unavailable');

  const repeated = [client.at(node).refresh(refresh_token), client.at(node).redeem(code)];
  const seen = attempts;
  await until('both have looked', () => attempts > seen);
  mend();
  restore();
  const [refreshed, redeemed] = (await Promise.all(repeated)).map(tokensOf);
  tokensOf(await client.at(node).refresh(refreshed!.refresh_token));
  tokensOf(await client.refresh(redeemed!.refresh_token));
  await signet.deps.issuances.close();
});

testSignet('a token that could not be signed after its rotation may be asked for again', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const { refresh_token } = await owner.obtainTokens(client);
  const { signTokens } = signet.deps.keys;
  Object.assign(signet.deps.keys, { signTokens: () => Promise.reject(unavailable(new Error('no key'))) });
  const failed = await client.refresh(refresh_token);
  Object.assign(signet.deps.keys, { signTokens });
  assertRefused(failed, 503, 'temporarily_unavailable');
  assert.match(failed.text, /may or may not have been saved/);
  tokensOf(await client.refresh(refresh_token));
});

testSignet('a lost answer is repeated with a new proof by the same key, and with nothing else', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, client_type: 'public' });
  const [key, other] = [await newProofKey(), await newProofKey()];
  const proven = async (by = key) => ({ dpop: await proofOf(signet, by, ['POST', '/oauth/token']) });
  const code = await owner.authorize(client);
  let token = '';
  const asks = [
    (headers: Record<string, string>) => client.redeem(code, {}, headers),
    (headers: Record<string, string>) => client.refresh(token, {}, headers),
  ];
  for (const ask of asks) {
    const sent = await proven();
    const { signTokens } = signet.deps.keys;
    Object.assign(signet.deps.keys, { signTokens: () => Promise.reject(unavailable(new Error('no key'))) });
    assertRefused(await ask(sent), 503, 'temporarily_unavailable');
    Object.assign(signet.deps.keys, { signTokens });
    assertRefused(await ask(sent), 400, 'invalid_dpop_proof');
    assertRefused(await ask({}), 400, 'invalid_grant');
    assertRefused(await ask(await proven(other)), 400, 'invalid_grant');
    const issued = tokensOf(await ask(await proven()));
    assert.equal(issued.token_type, 'DPoP');
    token = issued.refresh_token;
  }
  tokensOf(await client.refresh(token, {}, await proven()));
});

testSignet('a code is a replay once its refresh token was used, answered or not', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const code = await owner.authorize(client);
  const { refresh_token } = tokensOf(await client.redeem(code));
  const { signTokens } = signet.deps.keys;
  Object.assign(signet.deps.keys, { signTokens: () => Promise.reject(unavailable(new Error('no key'))) });
  assertRefused(await client.refresh(refresh_token), 503, 'temporarily_unavailable');
  Object.assign(signet.deps.keys, { signTokens });
  assertRefused(await client.redeem(code), 400, 'invalid_grant');
  assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
});

testSignet('what a process issued shortly before it was killed may have been unanswered', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const family = async (node: typeof signet) => {
    const first = await owner.obtainTokens(client);
    return { parent: first.refresh_token, next: tokensOf(await client.at(node).refresh(first.refresh_token)) };
  };
  const doomed = await startSignet(t, { beside: signet });
  const polite = await startSignet(t, { beside: signet });
  const alive = await startSignet(t, { beside: signet });
  await doomed.deps.processes.serve();
  await polite.deps.processes.serve();
  // On SQLite a run is a process, and this process is the only one here.
  Object.assign(signet.deps.db, {
    isRunning: async (run_id: string) => run_id === alive.deps.db.run_id || run_id === polite.deps.db.run_id,
  });
  await alive.deps.processes.serve();
  const early = await family(doomed);
  signet.clock.advance(100);
  const [lost, answered, used, ofAlive] = [
    await family(doomed),
    await family(polite),
    await family(doomed),
    await family(alive),
  ];
  await polite.deps.issuances.close();

  assertRefused(await client.refresh(answered.parent), 400, 'invalid_grant');
  assertRefused(await client.refresh(ofAlive.parent), 400, 'invalid_grant');
  assert.equal(tokensOf(await client.refresh(lost.parent)).refresh_token, lost.next.refresh_token);
  tokensOf(await client.refresh(used.next.refresh_token));
  assertRefused(await client.refresh(used.parent), 400, 'invalid_grant');
  signet.clock.advance(301);
  assertRefused(await client.refresh(early.parent), 400, 'invalid_grant');
});

testSignet(
  'a process that serves is seen once a minute until it leaves, its node as well by one of them',
  async ({ signet }) => {
    const { deps } = signet;
    const seen = async () => {
      const [node] = await plain(deps.db).all<{ at: number }>('select at from server_heartbeat');
      const runs = await plain(deps.db).all<{ seen_at: number }>('select seen_at from issuing_runs');
      return { node: node && Number(node.at), runs: runs.map(({ seen_at }) => Number(seen_at)) };
    };
    await deps.processes.serve();
    const start = now(deps);
    assert.deepEqual(await seen(), { node: undefined, runs: [start] });
    signet.clock.advance(60);
    await runJobs(deps, ['record a heartbeat']);
    assert.deepEqual(await seen(), { node: start + 60, runs: [start + 60] });
    signet.clock.advance(60);
    await runJobs(deps, ['record a worker']);
    assert.deepEqual(await seen(), { node: start + 60, runs: [start + 120] });
    await deps.processes.leave();
    signet.clock.advance(60);
    await runJobs(deps, ['record a heartbeat', 'record a worker']);
    assert.deepEqual(await seen(), { node: start + 180, runs: [] });
  },
);

testSignet('what was doubtful by a clock that was ahead is not so for ever', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const doomed = await startSignet(t, { beside: signet });
  const first = await owner.obtainTokens(client);
  const second = await owner.obtainTokens(client);

  signet.clock.advance(86_400);
  await doomed.deps.processes.serve();
  tokensOf(await client.at(doomed).refresh(first.refresh_token));
  tokensOf(await client.refresh(second.refresh_token));
  const until = now(signet.deps) + 300;
  await plain(signet.deps.db).run('update grants set unanswered_until = $1 where issuance_id like $2', [
    until,
    `${signet.deps.db.run_id}.%`,
  ]);
  Object.assign(signet.deps.db, { isRunning: async () => false });
  tokensOf(await client.refresh(first.refresh_token));
  tokensOf(await client.refresh(second.refresh_token));
  signet.clock.advance(-86_400);
  assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
  assertRefused(await client.refresh(second.refresh_token), 400, 'invalid_grant');
});

testSignet('an answer says that nothing was changed only where that is known', async ({ signet }) => {
  const { browser } = await signet.signedInUser();
  const failing = async (error: Error, ask: () => Promise<{ status: number; headers: Headers; text: string }>) => {
    const restore = beforeEachCall(signet.deps.db, (sql) => {
      if (sql.some((text) => text.includes('update users'))) throw error;
    });
    const answer = await ask();
    restore();
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '2');
    return answer.text;
  };
  const byProgram = () => browser.patch('/v1/me', { name: 'New name' });
  const byUser = (language: string) => () =>
    browser.post('/account', { name: 'New name' }, { accept: 'text/html', 'accept-language': language });

  const refused = new StoreUnavailable('not sent');
  assert.match(await failing(refused, byProgram), /Nothing was changed/);
  assert.match(await failing(refused, byUser('en')), sentence('refusal.temporarily_unavailable'));
  const lines = signet.logLines.filter((line) => line.includes('not sent'));
  assert.equal(lines.length, 2, 'one line for each');
  for (const line of lines) assert.ok(line.length < 500 && !line.includes('stack'), line);

  const unknown = new OutcomeUnknown('sent');
  const said = await failing(unknown, byProgram);
  assert.match(said, /may or may not have been saved/);
  assert.doesNotMatch(said, /othing was/);
  const english = await failing(unknown, byUser('en'));
  assert.match(english, sentence('refusal.outcome_unknown'));
  assert.match(english, sentence('error.advice.unknown'));
  assert.doesNotMatch(english, /othing was/);
  const german = await failing(unknown, byUser('de'));
  assert.match(german, sentence('refusal.outcome_unknown', {}, 'de'));
  assert.doesNotMatch(german, /nichts (geändert|verloren)|ging nichts/i);
});

/** The next flush of this process's SQLite stores waits until `end` is called, and fails with what that is given. */
function holdNextFlush(t: TestContext): { reached: Promise<void>; end(error?: Error): void } {
  const { fdatasync } = fs;
  const restore = () => {
    Object.assign(fs, { fdatasync });
    syncBuiltinESMExports();
  };
  t.after(restore);
  const reached = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error | null>();
  const held = async (descriptor: number, done: (error: Error | null) => void) => {
    restore();
    reached.resolve();
    const error = await ended.promise;
    if (error) done(error);
    else fdatasync(descriptor, done);
  };
  Object.assign(fs, { fdatasync: held });
  syncBuiltinESMExports();
  return { reached: reached.promise, end: (error) => ended.resolve(error ?? null) };
}

/** The access tokens that a node signs, in their order. */
function watchSignatures({ keys }: Signet['deps']): string[] {
  const signed: string[] = [];
  const { signTokens } = keys;
  const watched: typeof signTokens = async (...claims) => {
    const tokens = await signTokens(...claims);
    signed.push(tokens.access_token);
    return tokens;
  };
  Object.assign(keys, { signTokens: watched });
  return signed;
}

const signatures = (signed: readonly string[], count: number) =>
  until(`${count} tokens are signed`, () => signed.length >= count);

test('SQLite: tokens are signed while their change is flushed, and sent after that', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const signed = watchSignatures(signet.deps);
  const code = await owner.authorize(client);
  let refresh_token = '';
  for (const ask of [() => client.redeem(code), (token: string) => client.refresh(token)]) {
    const before = signed.length;
    const flush = holdNextFlush(t);
    let hasAnswer = false;
    const answer = ask(refresh_token).finally(() => (hasAnswer = true));
    await flush.reached;
    await signatures(signed, before + 1);
    await sleep(20);
    const during = { signed: signed.length - before, hasAnswer };
    flush.end();
    assert.deepEqual(during, { signed: 1, hasAnswer: false });
    const tokens = tokensOf(await answer);
    assert.deepEqual(signed.slice(before), [tokens.access_token], 'once');
    refresh_token = tokens.refresh_token;
  }
});

test('SQLite: tokens whose change may not have been kept are never sent', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const { refresh_token } = await owner.obtainTokens(client);
  const signed = watchSignatures(signet.deps);
  const flush = holdNextFlush(t);
  const answer = client.refresh(refresh_token);
  await flush.reached;
  await signatures(signed, 1);
  flush.end(new Error('EIO: i/o error, fdatasync'));
  const { access_token } = tokensOf(await answer); // the change was made again, under the same id
  assert.equal(signed.length, 2);
  assert.equal(signed[1], access_token);
});

onBothEngines(
  'a server that was killed excuses what it may not have answered; one that stopped does not',
  async (t, engine) => {
    const settings = { ...(await bareSettings(t, engine)), SIGNET_RATE_LIMITS: 'off' };
    const first = await startServer(t, settings);
    const { browser, client } = await signedInClient(first);
    const lost = await redeemAt(first.url, client, await codeFor(browser, client));
    const answered = await redeemAt(first.url, client, await codeFor(browser, client));
    const successor = await refreshAt(first.url, client, lost.refresh_token);
    await first.stop('SIGKILL');

    const second = await startServer(t, settings);
    const again = await refreshAt(second.url, client, lost.refresh_token);
    assert.deepEqual([again.status, again.refresh_token], [200, successor.refresh_token]);
    assert.equal((await refreshAt(second.url, client, answered.refresh_token)).status, 200);
    assert.equal((await second.stop()).code, 0);

    const third = await startServer(t, settings);
    assert.equal((await refreshAt(third.url, client, answered.refresh_token)).status, 400);
  },
);
