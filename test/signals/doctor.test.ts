import assert from 'node:assert/strict';
import { checkSignals } from '../../src/app/doctor/signal-checks.ts';
import { now } from '../../src/platform/clock.ts';
import { manyWaiting } from '../../src/signals/troubled-streams.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { plain } from '../support/plain-sql.ts';
import { env, openSignalReceiver, pushTo, signalApp, signalClient } from '../support/signal-receiver.ts';

inEachStore('the doctor says which streams need somebody, and what to do', { env }, async (t, signet) => {
  const { deps, clock } = signet;
  const examined = () => checkSignals(deps, deps.db);
  assert.deepEqual([(await examined()).state, (await examined()).found], ['ok', 'No receiver has a stream.']);

  const receiver = await openSignalReceiver(t);
  const [pushed, polled] = [await signalClient(signet), await signalApp(signet)];
  const { stream_id } = await pushed.create(pushTo(receiver));
  const other = await polled.create();
  assert.equal((await examined()).state, 'ok');

  receiver.status = 500;
  assert.equal((await pushed.call('POST', 'verification_endpoint', { stream_id })).status, 204);
  await signet.runJobs();
  assert.equal((await examined()).state, 'ok', 'a failure of a moment');
  // A signal has the time of its event: one for a member of a group may be queued an hour after the change.
  for (const part of deps.db.parts)
    await plain(part).run('update signal_deliveries set created_at = created_at - 3601 where stream_id = $1', [
      stream_id,
    ]);
  assert.equal((await examined()).state, 'ok', 'its first attempt was now');
  for (const pause of [6, 31, 121]) {
    clock.advance(pause);
    await signet.runJobs();
  }
  assert.equal((await examined()).state, 'problem', 'one attempt after another');
  clock.advance(3601);
  const failing = await examined();
  assert.equal(failing.state, 'problem');
  assert.ok(failing.found.includes(stream_id) && !failing.found.includes(other.stream_id), failing.found);
  assert.match(failing.remedy ?? '', /signet signals deliveries/);
  assert.ok(!failing.found.includes(receiver.url), 'the path of a receiver may be its password');
  receiver.status = 202;
  await signet.runJobs();
  assert.equal((await examined()).state, 'ok', 'it was taken');

  const admin = await signet.signedInUser({ role: 'admin' });
  const act = (name: string) => admin.browser.postJson(`/v1/admin/signal-streams/${other.stream_id}/${name}`, {});
  await act('pause');
  const paused = await examined();
  assert.equal(paused.state, 'warning');
  assert.ok(paused.found.includes(other.stream_id), paused.found);
  await act('enable');
  assert.equal((await examined()).state, 'ok');

  await plain(deps.db.parts[0]!).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${manyWaiting})
     insert into signal_deliveries (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, next_attempt_at)
     select 'msg_' || i, $1, null, 'evt_' || i, 0, 'session-revoked', '{"members":{}}', cast($2 as bigint), 0, cast($2 as bigint) from n`,
    [other.stream_id, now(deps)],
  );
  const filling = await examined();
  assert.equal(filling.state, 'warning');
  assert.ok(filling.found.includes(other.stream_id) && !filling.found.includes(stream_id), filling.found);
});
