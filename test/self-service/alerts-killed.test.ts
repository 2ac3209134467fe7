import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDb } from '../../src/platform/db/open.ts';
import { signedInClient, succeed } from '../support/command-line.ts';
import { openMailbox } from '../support/mailbox.ts';
import { plain } from '../support/plain-sql.ts';
import { redirectedTo, tokensOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { bareSettings, refreshAt, type Settings, startServer } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const rounds = repeated(3);
const stolenInRound = 6;
const raised = 'security_alert.raised';

type Told = { data: { state: { alert_id: string } } };

test('kill -9 while tokens come twice, again and again: each alert that was committed is told by mail and webhook, and no other', async (t) => {
  const random = seededRandom(t);
  const [mailbox, receiver] = [await openMailbox(t), await openReceiver(t)];
  const settings: Settings = {
    ...(await bareSettings(t)),
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8',
    SIGNET_SMTP_URL: mailbox.url,
    SIGNET_MAIL_FROM: 'Signet <signet@example.com>',
  };
  let server = await startServer(t, settings);
  const { browser, client } = await signedInClient(server);
  await succeed(['webhooks', 'create', '--url', receiver.url, '--event', raised], settings);

  /** A token whose grant has gone on without it. */
  const staleToken = async (): Promise<string> => {
    const answer = await browser.get(client.authorizePath({ scope: 'openid offline_access' }));
    const { refresh_token } = tokensOf(await client.redeem(redirectedTo(answer).get('code') ?? ''));
    assert.equal((await refreshAt(server.url, client, refresh_token)).status, 200);
    return refresh_token;
  };
  let refused = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const stale: string[] = [];
    while (stale.length < stolenInRound) stale.push(await staleToken());
    const { promise: isEnough, resolve } = Promise.withResolvers<void>();
    let left = 1 + random.below(stolenInRound);
    const replays = stale.map(async (token) => {
      const answer = await refreshAt(server.url, client, token).catch(() => undefined); // it is dead
      if (answer === undefined) return;
      assert.equal(answer.status, 400);
      refused += 1;
      left -= 1;
      if (left === 0) resolve();
    });
    await Promise.race([isEnough, Promise.all(replays)]);
    await server.stop('SIGKILL');
    await Promise.all(replays);
    const db = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
    // The time for which the dead process had taken some passes while nothing runs.
    for (const table of ['webhook_deliveries', 'outgoing_mails'])
      await plain(db).run(
        `update ${table} set next_attempt_at = next_attempt_at - 600 where next_attempt_at is not null`,
      );
    await db.close();
    server = await startServer(t, settings);
  }

  const db = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
  // The log has them all; of one app the newest twenty are kept.
  const events = await plain(db).all<{ after_state: string }>('select after_state from audit_log where action = $1', [
    raised,
  ]);
  const ended = await plain(db).all('select grant_id from grants where revoked_reason = $1', ['replay']);
  await db.close();
  const committed = new Set(
    events.map(({ after_state }) => (JSON.parse(after_state) as { alert_id: string }).alert_id),
  );
  assert.ok(refused > 0 && committed.size >= refused, 'of what was answered there is an alert');
  assert.equal(committed.size, ended.length, 'one for each grant that was ended');

  const told = () =>
    receiver.deliveries.map(({ headers, body }) => ({
      id: String(headers['webhook-id']),
      ...(JSON.parse(body) as Told),
    }));
  const idOf = ({ data }: Told) => data.state.alert_id;
  await until('all have arrived by webhook', () => new Set(told().map(idOf)).size >= committed.size);
  assert.deepEqual(new Set(told().map(idOf)), committed);
  for (const [alert_id, some] of Map.groupBy(told(), idOf))
    assert.equal(new Set(some.map(({ id }) => id)).size, 1, `${alert_id} under one id, so that it counts once`);

  const linked = () =>
    mailbox.mails.flatMap(({ text }) => [...text.matchAll(/\/account\/alerts\/([\w-]+)/g)].map(([, id]) => id));
  await until('all have arrived by mail', () => new Set(linked()).size >= committed.size);
  assert.deepEqual(new Set(linked()), committed);
  const waiting = await openDb({ dataDir: settings.SIGNET_DATA_DIR ?? '', databaseUrl: undefined });
  await until(
    'no mail waits',
    async () => (await plain(waiting).all('select mail_id from outgoing_mails')).length === 0,
  );
  await waiting.close();
  t.diagnostic(JSON.stringify({ alerts: committed.size, refused, webhooks: told().length, mails: linked().length }));
});
