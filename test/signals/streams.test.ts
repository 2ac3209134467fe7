import assert from 'node:assert/strict';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { runJobs } from '../../src/app/jobs.ts';
import { retire } from '../../src/entitlements/service-credentials/manage-credential.ts';
import { countInWindow } from '../../src/platform/limits/store.ts';
import { polling } from '../../src/signals/poll.ts';
import { maxOwnWaiting, maxWaiting } from '../../src/signals/store.ts';
import { setStreamStatus } from '../../src/signals/watch-stream.ts';
import { plain } from '../support/plain-sql.ts';
import {
  credentialChange,
  env,
  type Json,
  openSignalReceiver,
  push,
  pushTo,
  sessionRevoked,
  signalClient,
  streamUpdated,
  typesOf,
  verification,
} from '../support/signal-receiver.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { afterNextChange } from '../support/store-spy.ts';

const sent = async (signet: Signet) => runJobs(signet.deps, ['seal the audit log', 'deliver signals']);
const signOut = async (signet: Signet) => {
  const user = await signet.signedInUser();
  await user.browser.post('/signout');
  return user;
};
const waiting = async (signet: Signet) =>
  (await plain(signet.deps.db).all('select 1 as one from signal_deliveries where next_attempt_at is not null')).length;

testSignet('a receiver reaches no stream but its own, and needs the permission', { env }, async ({ signet }) => {
  const [one, other] = [await signalClient(signet), await signalClient(signet)];
  const stream = await one.create();
  const { stream_id } = stream;
  const asOther = `Bearer ${other.service.client_id}.${other.service.client_secret}`;
  const subject = { format: 'iss_sub', iss: signet.url, sub: (await signet.newUser()).user_id };
  const calls: [string, string, unknown?][] = [
    ['GET', `configuration_endpoint?stream_id=${stream_id}`],
    ['PATCH', 'configuration_endpoint', { stream_id }],
    ['PUT', 'configuration_endpoint', { stream_id }],
    ['DELETE', `configuration_endpoint?stream_id=${stream_id}`],
    ['GET', `status_endpoint?stream_id=${stream_id}`],
    ['POST', 'status_endpoint', { stream_id, status: 'disabled' }],
    ['POST', 'verification_endpoint', { stream_id }],
    ['POST', 'add_subject_endpoint', { stream_id, subject }],
    ['POST', 'remove_subject_endpoint', { stream_id, subject }],
    ['POST', stream.delivery.endpoint_url, {}],
  ];
  const without = await signet.newService({ permissions: ['tokens:introspect'], products: [] });
  for (const [method, endpoint, body] of calls) {
    assert.equal((await one.call(method, endpoint, body, asOther)).status, 404, endpoint);
    assert.equal((await one.call(method, endpoint, body, without.authorization)).status, 403, endpoint);
  }
  assert.deepEqual((await one.call('GET', 'configuration_endpoint', undefined, one.service.authorization)).json, [
    stream,
  ]);
});

testSignet('a stream that cannot be is refused with the member that is wrong', { env: {} }, async ({ signet }) => {
  const client = await signalClient(signet);
  const refused: [Json, string][] = [
    [{ delivery: { method: 'urn:ietf:rfc:9999' } }, 'delivery/method'],
    [{ delivery: { method: push } }, 'delivery/endpoint_url'],
    [{ delivery: { method: push, endpoint_url: 'http://receiver.example.com/' } }, 'delivery/endpoint_url'],
    [{ delivery: { method: push, endpoint_url: 'https://10.0.0.1/' } }, 'delivery/endpoint_url'],
    [{ delivery: { method: push, endpoint_url: 'https://user:word@example.com/' } }, 'delivery/endpoint_url'],
    [
      { delivery: { method: push, endpoint_url: 'https://a.example.com/', authorization_header: 'a\r\nb: c' } },
      'delivery/authorization_header',
    ],
    [{ description: 'a\u202eb' }, 'description'],
    [{ events_requested: [1] }, 'events_requested/0'],
  ];
  for (const [body, path] of refused) {
    const { status, json } = await client.call('POST', 'configuration_endpoint', body);
    assert.deepEqual([status, (json.fields as { path: string }[])[0]?.path], [400, path]);
  }
  const { stream_id } = await client.create();
  const { user_id: sub } = await signet.newUser();
  const subjects: [Json, number][] = [
    [{ format: 'opaque', id: sub }, 400],
    [{ format: 'email' }, 400],
    [{ format: 'email', email: 'nobody@example.com' }, 404],
    [{ format: 'iss_sub', iss: 'https://other.example.com', sub }, 400],
    [{ format: 'iss_sub', iss: signet.url }, 400],
    [{ format: 'iss_sub', iss: signet.url, sub: 'usr_0000000000000000000000' }, 404],
  ];
  for (const [subject, expected] of subjects)
    for (const endpoint of ['add_subject_endpoint', 'remove_subject_endpoint'])
      assert.equal((await client.call('POST', endpoint, { stream_id, subject })).status, expected);
});

testSignet('a paused stream holds its tokens, a disabled one loses them', { env }, async ({ signet, t }) => {
  const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
  const { stream_id } = await client.create(pushTo(receiver));
  const set = (status: string) => client.call('POST', 'status_endpoint', { stream_id, status });
  await set('paused');
  const user = await signOut(signet);
  await sent(signet);
  assert.equal(receiver.deliveries.length, 0);
  await set('enabled');
  await sent(signet);
  assert.deepEqual(
    (await receiver.tokens(client)).map(({ sub_id }) => (sub_id.user as Json).sub),
    [user.user_id],
  );
  await set('paused');
  await signOut(signet);
  await sent(signet);
  await set('disabled');
  await signOut(signet);
  await sent(signet);
  await set('enabled');
  await sent(signet);
  assert.equal(receiver.deliveries.length, 1);
  assert.equal(await waiting(signet), 0);
});

testSignet(
  'what is pushed again after a failure has the same jti and the same content, and then its order',
  { env },
  async ({ signet, t }) => {
    const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
    await client.create(pushTo(receiver));
    receiver.status = 503;
    const user = await signOut(signet);
    await sent(signet);
    await user.signIn();
    await user.browser.post('/signout');
    const other = await signOut(signet);
    await sent(signet);
    assert.equal(receiver.deliveries.length, 2, 'what is later about the same user waits, other users do not');
    receiver.status = 202;
    signet.clock.advance(60);
    await sent(signet);
    const tokens = await receiver.tokens(client);
    const ofUser = ({ sub_id }: Json) => ((sub_id as Json).user as Json).sub;
    const [first, , ...later] = tokens;
    assert.deepEqual([tokens.length, ofUser(first!)], [5, user.user_id]);
    const mine = later.filter((one) => ofUser(one) === user.user_id);
    assert.deepEqual(mine[0], first);
    assert.notEqual(mine[1]?.jti, first?.jti);
    assert.ok(later.some((one) => ofUser(one) === other.user_id));
    assert.equal(await waiting(signet), 0);
  },
);

testSignet(
  'nothing is sent for a retired credential, nor of events that were not asked for',
  { env },
  async ({ signet, t }) => {
    const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
    await client.create({ ...pushTo(receiver), events_requested: [sessionRevoked] });
    const user = await signet.signedInUser();
    await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
    await sent(signet);
    assert.deepEqual(typesOf(await receiver.tokens(client)), [sessionRevoked]);
    await user.browser.post('/signout');
    await runJobs(signet.deps, ['seal the audit log']);
    await retire(signet.deps, { actor: 'cli' }, client.service.client_id);
    await signOut(signet);
    await sent(signet);
    assert.equal(receiver.deliveries.length, 1);
  },
);

testSignet('a receiver refuses a token by setErrs, and gets no more than it asks for', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const stream = await client.create();
  for (let count = 0; count < 3; count += 1) await signOut(signet);
  await sent(signet);
  const first = await client.poll(stream, { maxEvents: 2 });
  assert.deepEqual([Object.keys(first.sets).length, first.json.moreAvailable], [2, true]);
  const [jti = '', other = ''] = Object.keys(first.sets);
  const setErrs = {
    [jti]: { err: 'invalid_key', description: 'Key not found' },
    'another-one': { err: 'invalid_request' },
  };
  const next = await client.poll(stream, { setErrs, ack: [other, 'unknown'] });
  assert.deepEqual([Object.keys(next.sets).length, next.json.moreAvailable], [1, undefined]);
  const [row] = await plain(signet.deps.db).all<{ last_error: string }>(
    'select last_error from signal_deliveries where dead_at is not null',
  );
  assert.match(String(row?.last_error), /invalid_key Key not found/);
  const pushed = await signalClient(signet);
  const { stream_id } = await pushed.create({
    delivery: { method: push, endpoint_url: 'https://receiver.example.com/' },
  });
  assert.equal((await pushed.call('POST', `${signet.url}/v1/signals/streams/${stream_id}/poll`, {})).status, 404);
});

/** Leaves no room for another signal in the part of the store in which the user is. */
async function fill(signet: Signet, stream_id: string, user_id: string) {
  const part = signet.deps.db.of(user_id);
  await plain(part).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxWaiting})
     insert into signal_deliveries (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, next_attempt_at)
     select 'msg_' || i, $1, $2, 'evt_' || i, 0, 'session-revoked', '{"members":{}}', 1, 0, 1 from n`,
    [stream_id, user_id],
  );
  return part;
}

testSignet(
  'events about one user that several nodes wrote are in the order of their times',
  { env },
  async ({ signet }) => {
    const client = await signalClient(signet);
    const stream = await client.create({ events_requested: undefined });
    const { user_id } = await signet.newUser();
    await runJobs(signet.deps, ['seal the audit log']);
    await disableUser(signet.deps, { actor: 'cli' }, user_id);
    signet.clock.advance(1);
    await enableUser(signet.deps, { actor: 'cli' }, user_id);
    // The ids of a node rise, and say nothing about those of another.
    for (const [action, event_id] of [
      ['user.disabled', 'evt_0000ffff0000000000000000000000'],
      ['user.enabled', 'evt_000000010000000000000000000000'],
    ] as const)
      await plain(signet.deps.db).run('update audit_log set event_id = $1 where action = $2', [event_id, action]);
    await runJobs(signet.deps, ['seal the audit log']);
    const tokens = await Promise.all(Object.values((await client.poll(stream)).sets).map(client.read));
    assert.deepEqual(
      typesOf(tokens).map((uri) => uri.split('/').at(-1)),
      ['account-disabled', 'session-revoked', 'account-enabled'],
    );
  },
);

testSignet('what is no refusal of a token is refused, whatever it is called', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const stream = await client.create();
  for (const name of ['a', 'a\nb', '\u2028', ''])
    for (const value of [null, 5, {}, { err: 1 }]) {
      const { status, text } = await client.poll(stream, { setErrs: { [name]: value } });
      assert.equal(status, 400, `${JSON.stringify(name)} ${JSON.stringify(value)} ${text}`);
    }
});

testSignet(
  'a full queue takes no more, is paused with a reason, and its receiver learns of it',
  { env },
  async ({ signet }) => {
    const client = await signalClient(signet);
    const stream = await client.create();
    const { stream_id } = stream;
    const { user_id } = await signet.newUser();
    const part = await fill(signet, stream_id, user_id);
    const user = await signet.signedInUser();
    const before = await waiting(signet);
    if (signet.deps.db.of(user.user_id) === part) {
      await user.browser.post('/signout');
      await sent(signet);
      assert.equal(await waiting(signet), before);
    }
    await runJobs(signet.deps, ['pause full signal streams']);
    const { json } = await client.call('GET', `status_endpoint?stream_id=${stream_id}`);
    assert.equal(json.status, 'paused');
    assert.match(String(json.reason), /queue is full/);
    const { sets } = await client.poll(stream);
    const tokens = await Promise.all(Object.values(sets).map(client.read));
    assert.deepEqual(
      tokens.map(({ events }) => events),
      [{ [streamUpdated]: { status: 'paused', reason: json.reason } }],
    );
    await runJobs(signet.deps, ['pause full signal streams']);
    assert.equal((await signet.auditLog({ target: stream_id, action: 'signal_stream.paused' })).length, 1);
    // It stays so when there is room again, and takes events when its receiver has enabled it.
    await plain(part).run("delete from signal_deliveries where delivery_id <> 'msg_1'");
    const own = (await waiting(signet)) - 1;
    await signOut(signet);
    await sent(signet);
    assert.equal(await waiting(signet), own + 1);
    await client.call('POST', 'status_endpoint', { stream_id, status: 'enabled' });
    await signOut(signet);
    await sent(signet);
    assert.equal(await waiting(signet), own + 2);
  },
);

testSignet(
  'a receiver that had paused its stream learns as well that the queue is full, once',
  { env },
  async ({ signet }) => {
    const client = await signalClient(signet);
    const stream = await client.create();
    const { stream_id } = stream;
    await client.call('POST', 'status_endpoint', { stream_id, status: 'paused', reason: 'Maintenance' });
    await fill(signet, stream_id, (await signet.newUser()).user_id);
    await runJobs(signet.deps, ['pause full signal streams']);
    await runJobs(signet.deps, ['pause full signal streams']);
    const { json } = await client.call('GET', `status_endpoint?stream_id=${stream_id}`);
    assert.match(String(json.reason), /queue is full/);
    const tokens = await Promise.all(Object.values((await client.poll(stream)).sets).map(client.read));
    assert.deepEqual(
      tokens.map(({ events }) => events),
      [{ [streamUpdated]: { status: 'paused', reason: json.reason } }],
    );
  },
);

testSignet('a stream that nobody takes anything of for days is paused', { env }, async ({ signet, t }) => {
  const [client, receiver] = [await signalClient(signet), await openSignalReceiver(t)];
  const { stream_id } = await client.create(pushTo(receiver));
  receiver.status = 500;
  receiver.body = '{"err":"invalid_request"}';
  await signOut(signet);
  await sent(signet);
  for (let attempt = 0; attempt < 12; attempt += 1) {
    signet.clock.advance(90_000);
    await sent(signet);
  }
  const { json } = await client.call('GET', `status_endpoint?stream_id=${stream_id}`);
  assert.equal(json.status, 'paused');
  receiver.status = 202;
  receiver.deliveries.length = 0;
  signet.clock.advance(90_000);
  await sent(signet);
  assert.deepEqual(typesOf(await receiver.tokens(client)), [streamUpdated], 'it hears of it, once it is there again');
  const [dead] = await plain(signet.deps.db).all<{ last_error: string }>(
    'select last_error from signal_deliveries where dead_at is not null',
  );
  assert.match(String(dead?.last_error), /500.*invalid_request/);
});

testSignet('a stream that is enabled again loses nothing that happens from then on', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const stream = await client.create();
  const { stream_id } = stream;
  const statusIs = (status: string) => client.call('POST', 'status_endpoint', { stream_id, status });
  await statusIs('disabled');
  afterNextChange(signet.deps.db, /update signal_streams/, async () => {
    await signOut(signet);
    await runJobs(signet.deps, ['seal the audit log']);
  });
  assert.equal((await statusIs('enabled')).json.status, 'enabled');
  const tokens = await Promise.all(Object.values((await client.poll(stream)).sets).map(client.read));
  assert.deepEqual(typesOf(tokens), [sessionRevoked]);
});

testSignet('what changes nothing of a stream is no event', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const { stream_id, delivery } = await client.create();
  const body = { stream_id, status: 'paused', reason: 'Maintenance' };
  for (let time = 0; time < 3; time += 1) {
    assert.equal((await client.call('POST', 'status_endpoint', body)).status, 200);
    assert.equal((await client.call('PATCH', 'configuration_endpoint', { stream_id, delivery })).status, 200);
    const whole = { stream_id, delivery, events_requested: [sessionRevoked, credentialChange] };
    assert.equal((await client.call('PUT', 'configuration_endpoint', whole)).status, 200);
  }
  const actions = (await signet.auditLog({ target: stream_id })).map(({ action }) => action);
  assert.deepEqual(actions.sort(), ['signal_stream.created', 'signal_stream.paused']);
});

testSignet(
  'a receiver changes and verifies its stream so often in an hour, and no more',
  { env },
  async ({ signet }) => {
    const [client, other] = [await signalClient(signet), await signalClient(signet)];
    const [stream, others] = [await client.create(), await other.create()];
    const { stream_id } = stream;
    const window = { limit: 600, windowSeconds: 3600 };
    const counted = countInWindow(`signal-stream:${client.service.client_id}`, window, signet.clock() / 1000);
    for (let count = 1; count < window.limit; count += 1)
      await signet.deps.db.near(client.service.client_id).run(counted);
    const acts: [string, string, Json?][] = [
      ['POST', 'status_endpoint', { stream_id, status: 'paused' }],
      ['PATCH', 'configuration_endpoint', { stream_id, description: 'Another' }],
      ['PUT', 'configuration_endpoint', { stream_id, description: 'Another' }],
      ['POST', 'verification_endpoint', { stream_id }],
      ['DELETE', `configuration_endpoint?stream_id=${stream_id}`],
    ];
    const log = async () => (await signet.auditLog({ target: stream_id })).length;
    const before = await log();
    for (const [method, endpoint, body] of acts)
      assert.equal((await client.call(method, endpoint, body)).status, 429, `${method} ${endpoint}`);
    assert.deepEqual([await log(), await waiting(signet)], [before, 0]);
    // It goes on to get what happens, and others change theirs.
    await signOut(signet);
    await sent(signet);
    assert.equal(Object.keys((await client.poll(stream)).sets).length, 1);
    assert.equal((await other.call('POST', 'verification_endpoint', { stream_id: others.stream_id })).status, 204);
    signet.clock.advance(3600);
    assert.equal((await client.call('POST', 'verification_endpoint', { stream_id })).status, 204);
  },
);

testSignet('a receiver that polls as often as it can keeps few threads busy', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const stream = await client.create();
  for (let count = 0; count < 2 * polling.tokens; count += 1) await signOut(signet);
  await runJobs(signet.deps, ['seal the audit log']);
  const { sign } = signet.deps.keys;
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const most = polling.polls * polling.tokens;
  let [busy, busiest] = [0, 0];
  Object.assign(signet.deps.keys, {
    async sign(...of: Parameters<typeof sign>) {
      busy += 1;
      busiest = Math.max(busiest, busy);
      if (busy === most) reached.resolve();
      if (busy > most) released.resolve(); // else what is to be refused would wait for ever
      await released.promise;
      return sign(...of).finally(() => {
        busy -= 1;
      });
    },
  });
  const polls = Array.from({ length: polling.polls }, () => client.poll(stream));
  await reached.promise;
  const [{ delivery_id } = { delivery_id: '' }] = await plain(signet.deps.db).all<{ delivery_id: string }>(
    'select delivery_id from signal_deliveries',
  );
  assert.equal((await client.poll(stream, { ack: [delivery_id] })).status, 429);
  released.resolve();
  for (const { status, sets } of await Promise.all(polls))
    assert.deepEqual([status, Object.keys(sets).length], [200, 2 * polling.tokens]);
  assert.equal(busiest, most);
  // What was refused has acknowledged nothing, and may be sent again.
  assert.ok(delivery_id in (await client.poll(stream)).sets);
});

testSignet('notices that nobody takes are bounded: the newest stay', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const stream = await client.create();
  const { stream_id } = stream;
  const caller = { actor: 'cli' } as const;
  for (let count = 0; count < maxOwnWaiting + 5; count += 1) {
    signet.clock.advance(1);
    await setStreamStatus(signet.deps, caller, stream_id, count % 2 === 0 ? 'paused' : 'enabled');
  }
  const tokens = await Promise.all(Object.values((await client.poll(stream)).sets).map(client.read));
  assert.equal(tokens.length, maxOwnWaiting);
  assert.equal(Object.values(tokens.at(-1)!.events)[0]!.status, 'paused');
});

testSignet('verifications that nobody takes are bounded', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const { stream_id } = await client.create();
  for (let count = 0; count < maxOwnWaiting; count += 1)
    assert.equal((await client.call('POST', 'verification_endpoint', { stream_id })).status, 204);
  assert.equal((await client.call('POST', 'verification_endpoint', { stream_id })).status, 429);
});

testSignet('a stream that is deleted takes its queue with it', { env }, async ({ signet }) => {
  const client = await signalClient(signet);
  const { stream_id } = await client.create();
  const { user_id: sub } = await signOut(signet);
  const subject = { format: 'iss_sub', iss: signet.url, sub };
  await sent(signet);
  await client.call('POST', 'remove_subject_endpoint', { stream_id, subject });
  assert.equal(await waiting(signet), 1);
  await client.call('DELETE', `configuration_endpoint?stream_id=${stream_id}`);
  await client.create();
  await runJobs(signet.deps, ['delete signal streams']);
  for (const table of ['signal_deliveries', 'signal_exclusions'])
    assert.deepEqual(await plain(signet.deps.db).all(`select * from ${table}`), []);
  assert.equal((await plain(signet.deps.db).all('select * from signal_streams')).length, 1);
});

testSignet('the header of pushes stays with its URL, and nobody reads it', { env }, async ({ signet, t }) => {
  const [client, receiver, other] = [
    await signalClient(signet),
    await openSignalReceiver(t),
    await openSignalReceiver(t),
  ];
  const stream = await client.create(pushTo(receiver, { authorization_header: 'Bearer told once' }));
  const { stream_id } = stream;
  assert.doesNotMatch(JSON.stringify(stream), /told once/);
  const patch = async (body: Json) => {
    const { status, text } = await client.call('PATCH', 'configuration_endpoint', { stream_id, ...body });
    assert.equal(status, 200, text);
    assert.doesNotMatch(text, /told once/);
    await client.call('POST', 'verification_endpoint', { stream_id });
    await sent(signet);
  };
  await patch({ description: 'Another', ...pushTo(receiver) });
  assert.equal(receiver.deliveries[0]?.headers.authorization, 'Bearer told once');
  await patch(pushTo(other));
  assert.deepEqual(
    other.deliveries.map(({ headers }) => headers.authorization),
    [undefined],
  );
  assert.deepEqual(typesOf(await other.tokens(client)), [verification]);
  for (const { after_state } of await signet.auditLog({ target: stream_id }))
    assert.doesNotMatch(String(after_state), /told once|\/hook/);
});
