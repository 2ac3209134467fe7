import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { now } from '../../src/platform/clock.ts';
import { countInWindow } from '../../src/platform/limits/store.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused } from '../support/relying-party.ts';
import {
  env,
  type Json,
  openSignalReceiver,
  pushTo,
  signalApp,
  streamUpdated,
  typesOf,
  verification,
} from '../support/signal-receiver.ts';
import type { Signet } from '../support/signet.ts';

const sent = (signet: Signet) => runJobs(signet.deps, ['seal the audit log', 'deliver signals']);

inEachStore(
  'the owner of an app sees its stream, stops it, and sends again what failed',
  { env },
  async (t, signet) => {
    const owner = await signet.signedInUser();
    const administrator = await signet.signedInUser({ role: 'admin' });
    const receiver = await openSignalReceiver(t);
    const app = await signalApp(signet, { owner });
    const { client_id } = app.client;
    const api = `/v1/oauth/clients/${client_id}/signal-stream`;
    assertRefused(await owner.browser.get(api), 404, 'not_found');
    const { stream_id } = await app.create(pushTo(receiver, { authorization_header: 'Bearer told once' }));

    const read = await owner.browser.get(api);
    assert.deepEqual(
      [read.json?.stream_id, read.json?.status, read.json?.client_id, read.json?.endpoint_url],
      [stream_id, 'enabled', client_id, receiver.url],
    );
    assert.doesNotMatch(read.text, /told once/);

    assert.deepEqual((await owner.browser.postJson(`${api}/pause`, {})).json, { stream_id });
    const reason = 'Paused by the owner of the app.';
    const status = await app.call('GET', `status_endpoint?stream_id=${stream_id}`);
    assert.deepEqual(status.json, { stream_id, status: 'paused', reason });
    assertRefused(await owner.browser.postJson(`${api}/pause`, {}), 409, 'invalid_state');
    assert.deepEqual((await owner.browser.postJson(`${api}/enable`, {})).json, { stream_id });
    receiver.status = 500;
    assert.deepEqual((await owner.browser.postJson(`${api}/send-verification`, {})).json, { stream_id });
    await sent(signet);
    receiver.status = 202;
    const listed = await owner.browser.get(`${api}/deliveries?state=waiting`);
    const failed = ((listed.json?.deliveries ?? []) as Json[]).filter(({ attempts }) => attempts === 1);
    assert.ok(failed.length > 0, listed.text);
    // An id of the audit log counts what happens to other users, too: administrators alone read it.
    const told = (await owner.browser.get(`${api}/deliveries`)).text;
    assert.match(told, /"txn"/);
    assert.doesNotMatch(told, /event_id|evt_/);
    const path = `/v1/admin/signal-streams/${stream_id}/deliveries`;
    assert.match((await administrator.browser.get(path)).text, /"event_id":"evt_/);
    for (const { delivery_id } of failed)
      assert.deepEqual((await owner.browser.postJson(`${api}/deliveries/${delivery_id}/replay`, {})).json, {
        delivery_id,
      });
    receiver.deliveries.length = 0;
    await sent(signet);
    await sent(signet);
    assert.deepEqual(new Set(typesOf(await receiver.tokens(app))), new Set([streamUpdated, verification]));

    // An owner's act is no administrator's, also where an administrator owns the app.
    await signet.deps.auditLog.seal();
    const [event] = await signet.auditLog({ action: 'signal_stream.paused', target: stream_id });
    assert.equal(event?.actor, `user:${owner.user_id}`);
    const byAdministrators = await administrator.browser.get(
      '/v1/admin/audit?changes_by=administrators&action=signal_stream',
    );
    assert.deepEqual(byAdministrators.json?.events, []);

    // Of another user's app it is as if there were none.
    for (const stranger of [await signet.signedInUser(), administrator]) {
      assertRefused(await stranger.browser.get(api), 404, 'not_found');
      assertRefused(await stranger.browser.get(`${api}/deliveries`), 404, 'not_found');
      for (const act of ['pause', 'enable', 'send-verification', 'deliveries/x/replay'])
        assertRefused(await stranger.browser.postJson(`${api}/${act}`, {}), 404, 'not_found');
      assertRefused(await stranger.browser.delete(api), 404, 'not_found');
      assert.equal((await stranger.browser.post(`/developer/clients/${client_id}/signals/pause`)).status, 404);
    }
    assertRefused(await signet.newBrowser().get(api), 401, 'login_required');
    assert.equal((await owner.browser.get(api)).json?.status, 'enabled');

    // The app is suspended: its owner reads, and deletes.
    const admin = `/v1/admin/clients/${client_id}`;
    assert.equal((await administrator.browser.postJson(`${admin}/suspend`, { reason: 'It leaks.' })).status, 200);
    for (const act of ['pause', 'enable', 'send-verification'])
      assertRefused(await owner.browser.postJson(`${api}/${act}`, {}), 409, 'invalid_state');
    assert.equal((await owner.browser.get(api)).json?.credential_active, false);
    assert.equal((await owner.browser.delete(api)).status, 204);
    assertRefused(await owner.browser.get(api), 404, 'not_found');
    assertRefused(await owner.browser.delete(api), 404, 'not_found');
    assert.equal((await signet.auditLog({ action: 'signal_stream.deleted', target: stream_id })).length, 1);
  },
);

inEachStore(
  'an app that has used up its acts does not keep its owner from stopping it',
  { env },
  async (_t, signet) => {
    const { deps } = signet;
    const owner = await signet.signedInUser();
    const app = await signalApp(signet, { owner });
    const api = `/v1/oauth/clients/${app.client.client_id}/signal-stream`;
    const { stream_id } = await app.create();
    const useUp = (window: string, id: string) =>
      deps.db.near(id).run(countInWindow(`${window}:${id}`, { limit: 1, windowSeconds: 3600 }, now(deps)));
    await useUp('signal-stream', app.client.client_id);
    assert.equal((await app.call('POST', 'verification_endpoint', { stream_id })).status, 429);
    assert.equal((await owner.browser.postJson(`${api}/pause`, {})).status, 200);
    assert.equal((await owner.browser.delete(api)).status, 204);

    // Theirs ends, too: each is a row of the audit log for good.
    signet.clock.advance(3600);
    await app.create();
    await useUp('signal-stream-owner', owner.user_id);
    for (const act of ['pause', 'enable', 'send-verification', 'deliveries/x/replay'])
      assertRefused(await owner.browser.postJson(`${api}/${act}`, {}), 429, 'rate_limited');
    assertRefused(await owner.browser.delete(api), 429, 'rate_limited');
    assert.equal((await owner.browser.get(api)).json?.status, 'enabled');
  },
);

inEachStore('the same on the page of the app', { env }, async (t, signet) => {
  const owner = await signet.signedInUser();
  const receiver = await openSignalReceiver(t);
  const app = await signalApp(signet, { owner });
  await app.create(pushTo(receiver));
  const page = `/developer/clients/${app.client.client_id}`;
  const press = async (name: string, fields: Record<string, string> = {}) => {
    const { status, location } = await owner.browser.post(`${page}/signals/${name}`, fields);
    assert.equal(status, 303, name);
    return (await owner.browser.get(location)).text;
  };
  assert.match(await press('pause'), sentence('admin.signals.done.paused'));
  const again = await owner.browser.post(`${page}/signals/pause`);
  assert.equal(again.status, 409);
  assert.match(again.text, /id="signal-enable"/);
  assert.match(await press('enable'), sentence('admin.signals.done.enabled'));
  receiver.status = 500;
  assert.match(await press('verify'), sentence('admin.signals.done.verified'));
  await sent(signet);
  const shown = (await owner.browser.get(`${page}/activity`)).text;
  const [, delivery_id = ''] = /name="delivery_id" value="([^"]+)"/.exec(shown) ?? [];
  assert.match(await press('replay', { delivery_id }), sentence('admin.signals.done.replayed'));
  const gone = await press('delete');
  assert.match(gone, sentence('admin.signals.done.deleted'));
  assert.doesNotMatch(gone, /id="signals"/);
});
