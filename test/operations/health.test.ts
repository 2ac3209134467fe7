import assert from 'node:assert/strict';
import { openOperatorServer, type Stage } from '../../src/app/operator-server.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { freePort } from '../support/free-port.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

testSignet('/livez and /readyz say whether a node is up and whether to use it', async ({ signet }) => {
  const browser = signet.newBrowser();
  let calls = 0;
  let failure: Error | undefined;
  beforeEachCall(signet.deps.db, () => {
    calls += 1;
    if (failure) throw failure;
  });

  for (const accept of ['*/*', 'text/html']) {
    const live = await browser.get('/livez', { accept });
    assert.deepEqual([live.status, live.json], [200, { status: 'live' }]);
    assert.equal(live.headers.get('cache-control'), 'no-store');
  }
  assert.equal(calls, 0, 'a probe of the process asks no store');

  const answers = await Promise.all(Array.from({ length: 50 }, () => browser.get('/readyz')));
  for (const { status, json, headers } of answers) {
    assert.deepEqual([status, json, headers.get('cache-control')], [200, { status: 'ready' }, 'no-store']);
  }
  assert.equal(calls, 1, 'strangers cannot make it ask the store more than once a second');

  failure = new StoreUnavailable('secret words of the driver');
  signet.clock.advance(1);
  const away = await browser.get('/readyz', { accept: 'text/html' });
  assertRefused(away, 503, 'temporarily_unavailable');
  assert.deepEqual(away.json?.reasons, ['store']);
  assert.doesNotMatch(away.text, /secret/);
  assert.ok(away.headers.get('retry-after'));
  assert.equal((await browser.get('/livez')).status, 200);

  failure = undefined;
  signet.clock.advance(1);
  assert.equal((await browser.get('/readyz')).status, 200);

  await plain(signet.deps.db).run(
    "update signing_keys set status = 'retiring' where status = 'active' and algorithm = 'RS256'",
  );
  signet.clock.advance(1);
  assert.deepEqual((await browser.get('/readyz')).json?.reasons, ['signing_keys']);

  signet.clock.advance(1);
  signet.deps.timekeeper.markUnsettled();
  const doubted = await browser.get('/readyz');
  assert.deepEqual([doubted.status, doubted.json?.warnings], [503, ['clock']]);
  await plain(signet.deps.db).run("update signing_keys set status = 'active' where status = 'retiring'");
  signet.clock.advance(1);
  assert.deepEqual((await browser.get('/readyz')).json, { status: 'ready', warnings: ['clock'] });
});

testSignet('the port for operators says the same, and nothing else', async ({ signet, t }) => {
  const operatorPort = await freePort();
  const stage: Stage = { is: 'starting' };
  const config = { ...signet.deps.config, operatorPort };
  const server = await openOperatorServer({ ...signet.deps, config }, stage);
  t.after(() => server.close());
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${operatorPort}${path}`, { method });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) };
  };

  const starting = await ask('/readyz');
  assert.deepEqual([starting.status, starting.json.reasons], [503, ['starting']]);
  assert.equal(starting.headers.get('retry-after'), '2');
  assert.deepEqual((await ask('/livez')).json, { status: 'live' });
  stage.is = 'serving';
  assert.deepEqual((await ask('/readyz')).json, { status: 'ready' });
  assert.equal((await ask('/readyz', 'HEAD')).status, 200);

  beforeEachCall(signet.deps.db, () => {
    throw new StoreUnavailable('secret words of the driver');
  });
  signet.clock.advance(1);
  const away = await ask('/readyz');
  assert.deepEqual([away.status, away.json.error, away.json.reasons], [503, 'temporarily_unavailable', ['store']]);
  assert.doesNotMatch(JSON.stringify(away.json), /secret/);

  assert.deepEqual([(await ask('/livez', 'POST')).status, (await ask('/signin')).status], [405, 404]);
  assert.equal((await ask('/constructor')).status, 404);
  await assert.rejects(openOperatorServer({ ...signet.deps, config }, stage), /SIGNET_OPERATOR_PORT: cannot listen/);
});
