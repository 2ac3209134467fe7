import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDb } from '../../src/platform/db/open.ts';
import { digest } from '../../src/platform/ids.ts';
import { ask } from '../support/browser.ts';
import { signedInClient, succeed } from '../support/command-line.ts';
import { plain } from '../support/plain-sql.ts';
import { basic, claimsOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { bareSettings, type ServerProcess, type Settings, startServer } from '../support/server-process.ts';
import { push } from '../support/signal-receiver.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const rounds = repeated(3);
const writers = 4;

test('kill -9 in a stream of events, again and again: each committed one arrives, none under two jti, none that was not committed', async (t) => {
  const random = seededRandom(t);
  const settings: Settings = {
    ...(await bareSettings(t)),
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8',
  };
  const [receiver, ofApp] = [await openReceiver(t), await openReceiver(t)];
  for (const one of [receiver, ofApp]) one.status = 202;
  let server = await startServer(t, settings);
  const { browser } = await signedInClient(server);
  const me = await browser.get('/v1/me');
  const user_id = String(me.json?.user_id);
  const permissions = ['--permission', 'signals:manage', '--permission', 'entitlements:write', '--product', 'editor'];
  const made = await succeed(['service-credentials', 'create', '--name', 'Receiver', ...permissions], settings);
  const authorization = basic(String(made.client_id), String(made.client_secret));
  const app = await succeed(
    [
      'clients',
      'create',
      '--approve',
      '--name',
      'App',
      '--redirect-uri',
      'https://app.test/cb',
      '--scope',
      'openid',
      '--scope',
      'entitlements:read',
    ],
    settings,
  );
  const post = (server: ServerProcess, path: string, body: object, as = authorization) =>
    ask(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: as, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  let streamOfApp = '';
  for (const [to, as] of [
    [receiver, authorization],
    [ofApp, basic(String(app.client_id), String(app.client_secret))],
  ] as const) {
    const stream = {
      events_requested: ['https://schemas.openid.net/secevent/caep/event-type/token-claims-change'],
      delivery: { method: push, endpoint_url: to.url },
    };
    const created = await post(server, '/v1/signals/streams', stream, as);
    assert.equal(created.status, 201, created.text);
    streamOfApp = String(created.json?.stream_id);
  }
  // The user becomes one of the app's.
  await server.stop();
  const store = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
  await plain(store).run(
    "insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, 'openid entitlements:read', 1)",
    [user_id, String(app.client_id)],
  );
  await store.close();
  server = await startServer(t, settings);

  let version = 0;
  let acknowledged = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const stop = new AbortController();
    const { promise: isEnough, resolve } = Promise.withResolvers<void>();
    let left = 5 + random.below(30);
    const write = async () => {
      while (!stop.signal.aborted) {
        version += 1;
        const write = { user_id, product: 'editor', plan: 'pro', status: 'active', source: 'billing', version };
        try {
          const { status } = await post(server, '/v1/entitlements', write);
          if (status === 200) acknowledged += 1;
        } catch {
          return; // it is dead
        }
        left -= 1;
        if (left <= 0) resolve();
      }
    };
    const writing = Promise.all(Array.from({ length: writers }, write));
    await Promise.race([isEnough, writing]);
    const killed = server.stop('SIGKILL');
    stop.abort();
    await Promise.all([killed, writing]);
    const db = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
    // The half minute for which the dead process had taken some passes while nothing runs.
    await plain(db).run(
      'update signal_deliveries set next_attempt_at = next_attempt_at - 30 where next_attempt_at is not null',
    );
    await db.close();
    server = await startServer(t, settings);
  }
  const read = async <Row>(statement: string): Promise<Row[]> => {
    const db = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
    const rows = await plain(db).all<Row>(statement);
    await db.close();
    return rows;
  };
  const committed = async () =>
    (await read<{ event_id: string }>("select event_id from audit_log where action = 'entitlement.written'")).map(
      ({ event_id }) => event_id,
    );
  const events = await committed();
  assert.ok(acknowledged > 0 && events.length >= acknowledged, 'what was acknowledged was committed');
  // Apps are not told the ids of the log.
  const toldApp = events.map((event_id) => digest(`${streamOfApp} ${event_id}`));
  for (const [{ deliveries }, told] of [
    [receiver, events],
    [ofApp, toldApp],
  ] as const) {
    const jtisOf = () => Map.groupBy(deliveries, ({ body }) => String(claimsOf(body).txn));
    await until('all have arrived', () => jtisOf().size >= told.length);
    const arrived = jtisOf();
    assert.deepEqual(new Set(arrived.keys()), new Set(told));
    for (const [event, some] of arrived)
      assert.equal(new Set(some.map(({ body }) => claimsOf(body).jti)).size, 1, event);
    t.diagnostic(JSON.stringify({ events: events.length, acknowledged, deliveries: deliveries.length }));
  }
});
