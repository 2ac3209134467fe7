import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { retire } from '../../src/entitlements/service-credentials/manage-credential.ts';
import { settingsOf, succeed } from '../support/command-line.ts';
import { sentence } from '../support/messages.ts';
import {
  env,
  type Json,
  openSignalReceiver,
  pushTo,
  signalClient,
  streamUpdated,
  typesOf,
  verification,
} from '../support/signal-receiver.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const sent = (signet: Signet) => runJobs(signet.deps, ['seal the audit log', 'deliver signals']);

testSignet('administrators see each stream, pause it, and its receiver is told', { env }, async ({ signet, t }) => {
  const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
  const { stream_id } = await client.create(pushTo(receiver, { authorization_header: 'Bearer told once' }));
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = `/admin/signals/${stream_id}`;
  const shown = async (path: string) => {
    const { status, text } = await admin.browser.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /told once/);
    return text;
  };
  assert.match(await shown('/admin/webhooks'), /href="\/admin\/signals"/);
  assert.match(await shown('/admin/signals'), new RegExp(page));
  const press = async (name: string, fields: Record<string, string> = {}) => {
    const { status, location } = await admin.browser.post(`${page}/${name}`, fields);
    assert.equal(status, 303, name);
    return shown(location);
  };
  assert.match(await press('pause'), sentence('admin.signals.done.paused'));
  await sent(signet);
  const paused = { status: 'paused', reason: 'Paused by an administrator.' };
  assert.deepEqual((await client.call('GET', `status_endpoint?stream_id=${stream_id}`)).json, { stream_id, ...paused });
  assert.deepEqual(
    (await receiver.tokens(client)).map(({ events }) => events),
    [{ [streamUpdated]: paused }],
  );
  assert.equal((await admin.browser.post(`${page}/pause`)).status, 409);

  assert.match(await press('enable'), sentence('admin.signals.done.enabled'));
  assert.match(await press('verify'), sentence('admin.signals.done.verified'));
  receiver.status = 500;
  await sent(signet);
  const listed = await admin.browser.get(`/v1/admin/signal-streams/${stream_id}/deliveries?state=waiting`);
  const [waiting] = (listed.json?.deliveries ?? []) as Json[];
  receiver.status = 202;
  receiver.deliveries.length = 0;
  assert.match(
    await press('replay', { delivery_id: String(waiting?.delivery_id) }),
    sentence('admin.signals.done.replayed'),
  );
  await sent(signet);
  assert.deepEqual(
    (await receiver.tokens(client)).map(({ jti }) => jti),
    [waiting?.delivery_id],
  );
  const {
    last_delivered_at,
    dead,
    waiting: count,
  } = (await admin.browser.get(`/v1/admin/signal-streams/${stream_id}`)).json ?? {};
  assert.deepEqual([last_delivered_at, dead, count], [signet.clock() / 1000, 0, 1]);
  assert.match(await shown(`${page}/deliveries`), /verification/);

  await retire(signet.deps, { actor: 'cli' }, client.service.client_id);
  assert.match(await shown(page), sentence('admin.signals.ended'));
  const { location } = await admin.browser.post(`${page}/delete`);
  assert.match(await shown(location), sentence('admin.signals.done.deleted'));
  assert.equal((await admin.browser.get(page)).status, 404);
  const user = await signet.signedInUser();
  assert.equal((await user.browser.get('/admin/signals')).status, 403);
});

testSignet('the commands do the same', { env }, async ({ signet, t }) => {
  const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
  const { stream_id } = await client.create(pushTo(receiver));
  const settings = settingsOf(signet);
  const run = (...args: string[]) => succeed(['signals', ...args], settings);
  const { streams } = (await run('list')) as { streams: Json[] };
  assert.deepEqual(
    streams.map((one) => [one.stream_id, one.status, one.receiver]),
    [[stream_id, 'enabled', 'Billing']],
  );
  assert.deepEqual(await run('pause', stream_id), { paused: stream_id });
  assert.deepEqual(await run('enable', stream_id), { enabled: stream_id });
  assert.deepEqual(await run('verify', stream_id), { verified: stream_id });
  await sent(signet);
  assert.deepEqual(new Set(typesOf(await receiver.tokens(client))), new Set([streamUpdated, verification]));
  const { deliveries } = (await run('deliveries', stream_id, '--state', 'delivered')) as { deliveries: Json[] };
  assert.equal(deliveries.length, 3);
  assert.deepEqual(await run('delete', stream_id, '--yes'), { deleted: stream_id });
  assert.deepEqual(await run('list'), { streams: [] });
});
