import assert from 'node:assert/strict';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
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
});
