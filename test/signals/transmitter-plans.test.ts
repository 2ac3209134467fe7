import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { ask } from '../support/browser.ts';
import {
  credentialChange,
  env,
  type Json,
  openSignalReceiver,
  poll,
  push,
  pushTo,
  type SignalClient,
  sessionRevoked,
  signalApp,
  signalClient,
  typesOf,
  verification,
} from '../support/signal-receiver.ts';
import { type Signet, testSignet } from '../support/signet.ts';

// The modules of the plans of the OpenID Foundation for transmitters, by their names: openid-ssf-transmitter-test-plan and
// openid-ssf-transmitter-caep-test-plan, by push and by poll. What needs a person at the transmitter, the test does.

const sent = async (signet: Signet) => runJobs(signet.deps, ['seal the audit log', 'deliver signals']);
const unknown = 'sst_0000000000000000000000';
const wrong = `Bearer svc_0000000000000000000000.${'x'.repeat(43)}`;

testSignet('openid-ssf-transmitter-metadata', { env }, async ({ signet }) => {
  const { headers, json: metadata = {} } = await ask(`${signet.url}/.well-known/ssf-configuration`);
  assert.match(String(headers.get('content-type')), /^application\/json/);
  assert.equal(metadata.issuer, signet.url);
  assert.equal(metadata.spec_version, '1_0');
  assert.deepEqual(metadata.delivery_methods_supported, [push, poll]);
  assert.deepEqual((metadata.authorization_schemes as Json[])[0], { spec_urn: 'urn:ietf:rfc:6749' });
  assert.equal(metadata.default_subjects, 'ALL');
  for (const name of Object.keys(metadata).filter((one) => /_endpoint$|_uri$/.test(one)))
    assert.ok(String(metadata[name]).startsWith(`${signet.url}/`), name);
  for (const value of Object.values(metadata)) assert.ok(!Array.isArray(value) || value.length > 0, 'no empty lists');
  const { json: jwks } = await ask(String(metadata.jwks_uri));
  assert.ok(((jwks?.keys ?? []) as Json[]).some(({ alg }) => alg === 'RS256'));
});

const verify = (client: SignalClient, stream: Json, state?: string) =>
  client.call('POST', 'verification_endpoint', { stream_id: stream.stream_id, state });
const isVerification = (stream: Json, state?: string) => ({
  sub_id: { format: 'opaque', id: stream.stream_id },
  events: { [verification]: state === undefined ? {} : { state } },
});

/** A service credential, and an app that hears of its own users. */
for (const [open, whose] of [
  [signalClient, ''],
  [signalApp, ', of a client'],
] as const) {
  for (const method of [push, poll]) {
    const by = `${method === push ? 'push' : 'poll'}${whose}`;
    const setUp = async (signet: Signet, t: Parameters<typeof openSignalReceiver>[0]) => {
      const [client, receiver] = await Promise.all([open(signet), openSignalReceiver(t)]);
      const delivery = method === push ? pushTo(receiver).delivery : { method };
      const body = { description: 'A test', events_requested: [sessionRevoked, credentialChange], delivery };
      return { client, receiver, body };
    };

    testSignet(`openid-ssf-stream-control-happy-path, ${by}`, { env }, async ({ signet, t }) => {
      const { client, receiver, body } = await setUp(signet, t);
      const created = await client.call('POST', 'configuration_endpoint', body);
      assert.equal(created.status, 201, created.text);
      const stream = created.json;
      const stream_id = String(stream.stream_id);
      assert.match(stream_id, /^[\w.~-]+$/);
      assert.deepEqual([stream.iss, stream.aud], [signet.url, client.service.client_id]);
      assert.deepEqual(stream.events_requested, body.events_requested);
      assert.deepEqual(stream.events_delivered, body.events_requested);
      for (const uri of stream.events_supported as string[])
        assert.match(uri, /^https:\/\/schemas\.openid\.net\/secevent\/(?:caep|risc)\/event-type\/[a-z-]+$/);
      const { endpoint_url } = stream.delivery as { endpoint_url: string };
      assert.deepEqual(stream.delivery, { method, endpoint_url });
      if (method === push) assert.equal(endpoint_url, receiver.url);
      else assert.ok(endpoint_url.startsWith(signet.url));

      const read = await client.call('GET', `configuration_endpoint?stream_id=${stream_id}`);
      assert.deepEqual([read.status, read.json], [200, stream]);
      const listed = await client.call('GET', 'configuration_endpoint');
      assert.deepEqual([listed.status, listed.json], [200, [stream]]);

      const status = await client.call('GET', `status_endpoint?stream_id=${stream_id}`);
      assert.deepEqual([status.status, status.json], [200, { stream_id, status: 'enabled' }]);
      for (const wanted of ['paused', 'disabled', 'enabled']) {
        const set = await client.call('POST', 'status_endpoint', { stream_id, status: wanted, reason: 'A test' });
        assert.deepEqual([set.status, set.json], [200, { stream_id, status: wanted, reason: 'A test' }]);
        assert.deepEqual((await client.call('GET', `status_endpoint?stream_id=${stream_id}`)).json, set.json);
      }

      const patched = await client.call('PATCH', 'configuration_endpoint', {
        stream_id,
        events_requested: [sessionRevoked, 'https://example.com/an-event-of-our-own'],
      });
      assert.equal(patched.status, 200, patched.text);
      assert.deepEqual(patched.json.events_delivered, [sessionRevoked]);
      assert.equal(patched.json.description, 'A test');
      const replaced = await client.call('PUT', 'configuration_endpoint', {
        ...patched.json,
        events_requested: body.events_requested,
        description: undefined,
      });
      assert.equal(replaced.status, 200, replaced.text);
      assert.deepEqual([replaced.json.events_delivered, replaced.json.description], [body.events_requested, undefined]);

      const deleted = await client.call('DELETE', `configuration_endpoint?stream_id=${stream_id}`);
      assert.deepEqual([deleted.status, deleted.text], [204, '']);
      assert.equal((await client.call('GET', `configuration_endpoint?stream_id=${stream_id}`)).status, 404);
      assert.deepEqual((await client.call('GET', 'configuration_endpoint')).json, []);
    });

    testSignet(
      `openid-ssf-stream-control-error-create-stream-with-broken-input, ${by}`,
      { env },
      async ({ signet }) => {
        const client = await open(signet);
        for (const broken of [
          '{"delivery":',
          '[]',
          '"text"',
          { delivery: { method: 'urn:example:none' } },
          { delivery: 1 },
        ])
          assert.equal((await client.call('POST', 'configuration_endpoint', broken)).status, 400);
        assert.deepEqual((await client.call('GET', 'configuration_endpoint')).json, [], 'nothing was made');
      },
    );

    testSignet(
      `openid-ssf-stream-control-error-create-stream-with-invalid-token, ${by}`,
      { env },
      async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        for (const token of [wrong, 'Bearer invalid', 'Bearer', 'invalid'])
          assert.equal((await client.call('POST', 'configuration_endpoint', body, token)).status, 401, token);
        assert.deepEqual((await client.call('GET', 'configuration_endpoint')).json, []);
      },
    );

    testSignet(
      `openid-ssf-stream-control-error-create-stream-with-duplicate-config, ${by}`,
      { env },
      async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        const { stream_id } = await client.create(body);
        assert.equal((await client.call('POST', 'configuration_endpoint', body)).status, 409);
        assert.equal((await client.call('DELETE', `configuration_endpoint?stream_id=${stream_id}`)).status, 204);
        await client.create(body);
      },
    );

    testSignet(`openid-ssf-stream-control-error-read-unknown-stream, ${by}`, { env }, async ({ signet }) => {
      const client = await open(signet);
      for (const endpoint of ['configuration_endpoint', 'status_endpoint'])
        assert.equal((await client.call('GET', `${endpoint}?stream_id=${unknown}`)).status, 404);
    });

    testSignet(
      `openid-ssf-stream-control-error-read-stream-with-invalid-token, ${by}`,
      { env },
      async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        const { stream_id } = await client.create(body);
        for (const endpoint of ['configuration_endpoint', 'status_endpoint'])
          assert.equal((await client.call('GET', `${endpoint}?stream_id=${stream_id}`, undefined, wrong)).status, 401);
      },
    );

    for (const [verb, name] of [
      ['PATCH', 'update'],
      ['PUT', 'replace'],
    ] as const) {
      const about = `openid-ssf-stream-control-error-${name}-stream`;
      testSignet(`${about}-with-invalid-body, ${by}`, { env }, async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        const stream = await client.create(body);
        const { stream_id } = stream;
        const bodies = [
          '{"stream_id":',
          '[]',
          { ...body },
          { stream_id, delivery: { method: 'x' } },
          { stream_id, iss: 'https://other.test' },
        ];
        for (const broken of bodies)
          assert.equal((await client.call(verb, 'configuration_endpoint', broken)).status, 400, JSON.stringify(broken));
        assert.deepEqual((await client.call('GET', `configuration_endpoint?stream_id=${stream_id}`)).json, stream);
      });

      testSignet(`openid-ssf-stream-control-error-${name}-unknown-stream, ${by}`, { env }, async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        assert.equal((await client.call(verb, 'configuration_endpoint', { stream_id: unknown, ...body })).status, 404);
      });

      testSignet(`${about}-with-invalid-token, ${by}`, { env }, async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        const { stream_id } = await client.create(body);
        assert.equal((await client.call(verb, 'configuration_endpoint', { stream_id, ...body }, wrong)).status, 401);
      });
    }

    testSignet(`openid-ssf-stream-control-error-delete-unknown-stream, ${by}`, { env }, async ({ signet }) => {
      const client = await open(signet);
      assert.equal((await client.call('DELETE', `configuration_endpoint?stream_id=${unknown}`)).status, 404);
    });

    testSignet(
      `openid-ssf-stream-control-error-delete-stream-with-invalid-token, ${by}`,
      { env },
      async ({ signet, t }) => {
        const { client, body } = await setUp(signet, t);
        const { stream_id } = await client.create(body);
        assert.equal(
          (await client.call('DELETE', `configuration_endpoint?stream_id=${stream_id}`, undefined, wrong)).status,
          401,
        );
        assert.equal((await client.call('GET', `configuration_endpoint?stream_id=${stream_id}`)).status, 200);
      },
    );

    testSignet(`openid-ssf-stream-subject-control, ${by}`, { env }, async ({ signet, t }) => {
      const { client, receiver, body } = await setUp(signet, t);
      const stream = await client.create(body);
      const [one, other] = [await signet.signedInUser(), await signet.signedInUser()];
      for (const user of [one, other]) await client.meets(user, 'openid email');
      const { stream_id } = stream;
      const subject = { format: 'iss_sub', iss: signet.url, sub: one.user_id };
      const byAddress = { format: 'email', email: one.email };
      const removed = await client.call('POST', 'remove_subject_endpoint', { stream_id, subject: byAddress });
      assert.deepEqual([removed.status, removed.text], [204, '']);
      await one.browser.post('/signout');
      await other.browser.post('/signout');
      assert.deepEqual(usersOf(await received(signet, { client, receiver, stream })), [other.user_id]);
      const added = await client.call('POST', 'add_subject_endpoint', { stream_id, subject, verified: true });
      assert.deepEqual([added.status, added.text], [200, '']);
      await one.signIn();
      await client.meets(one);
      await one.browser.post('/signout');
      assert.deepEqual(usersOf(await received(signet, { client, receiver, stream })), [one.user_id]);
    });

    testSignet(`openid-ssf-transmitter-stream-caep-interop, ${by}`, { env }, async ({ signet, t }) => {
      const { client, receiver, body } = await setUp(signet, t);
      const stream = await client.create(body);
      const [user, admin] = [await signet.signedInUser(), await signet.signedInUser({ role: 'admin' })];
      await client.meets(user);
      const { status } = await admin.browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {
        reason: 'Stolen laptop',
      });
      assert.equal(status, 200);
      await user.signIn();
      await client.meets(user);
      await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
      const tokens = await received(signet, { client, receiver, stream });
      assert.deepEqual(typesOf(tokens), [sessionRevoked, credentialChange, sessionRevoked]);
      for (const { sub_id, events, toe, txn } of tokens) {
        const [event] = Object.values(events) as [Json];
        assert.deepEqual(sub_id, { format: 'iss_sub', iss: signet.url, sub: user.user_id });
        assert.equal(event.event_timestamp, signet.clock() / 1000);
        assert.equal(toe, event.event_timestamp);
        assert.ok(String(txn).length > 20);
        assert.ok((event.reason_admin as { en: string }).en.length > 0);
      }
      const [revoked, changed] = tokens.map(({ events }) => Object.values(events)[0]!);
      assert.equal(revoked?.initiating_entity, 'admin');
      const { credential_type, change_type, initiating_entity } = changed ?? {};
      assert.deepEqual(
        { credential_type, change_type, initiating_entity },
        { credential_type: 'password', change_type: 'update', initiating_entity: 'user' },
      );
    });
  }

  testSignet(`openid-ssf-transmitter-stream-verification-push${whose}`, { env }, async ({ signet, t }) => {
    const [client, receiver] = [await open(signet), await openSignalReceiver(t)];
    const stream = await client.create(pushTo(receiver, { authorization_header: 'Bearer of-the receiver' }));
    assert.equal((await verify(client, stream, 'a state')).status, 204);
    assert.equal((await verify(client, stream)).status, 204);
    await sent(signet);
    const tokens = await receiver.tokens(client);
    const shown = tokens.map(({ sub_id, events }) => ({ sub_id, events }));
    assert.deepEqual(new Set(shown), new Set([isVerification(stream, 'a state'), isVerification(stream)]));
    for (const { headers } of receiver.deliveries) {
      assert.equal(headers['content-type'], 'application/secevent+jwt');
      assert.equal(headers.authorization, 'Bearer of-the receiver');
    }
  });

  testSignet(
    `openid-ssf-transmitter-stream-verification-error-push-no-auth${whose}`,
    { env },
    async ({ signet, t }) => {
      const [client, receiver] = [await open(signet), await openSignalReceiver(t)];
      const stream = await client.create(pushTo(receiver));
      assert.equal((await verify(client, stream, 'a state')).status, 204);
      await sent(signet);
      assert.equal(receiver.deliveries.length, 1);
      assert.equal(receiver.deliveries[0]?.headers.authorization, undefined);
    },
  );

  testSignet(`openid-ssf-transmitter-stream-verification-poll-only${whose}`, { env }, async ({ signet }) => {
    const client = await open(signet);
    const stream = await client.create();
    assert.deepEqual((await client.poll(stream, { returnImmediately: true })).json, { sets: {} });
    assert.equal((await verify(client, stream, 'a state')).status, 204);
    const { status, sets } = await client.poll(stream, { maxEvents: 10, returnImmediately: true });
    assert.equal(status, 200);
    const [[jti, text] = ['', '']] = Object.entries(sets);
    const token = await client.read(text);
    assert.equal(token.jti, jti);
    assert.deepEqual({ sub_id: token.sub_id, events: token.events }, isVerification(stream, 'a state'));
    assert.deepEqual(Object.keys((await client.poll(stream)).sets), [jti], 'it comes again until it is acknowledged');
  });

  testSignet(`openid-ssf-transmitter-stream-verification-poll-and-ack${whose}`, { env }, async ({ signet }) => {
    const client = await open(signet);
    const stream = await client.create();
    await verify(client, stream, 'one');
    const [first = ''] = Object.keys((await client.poll(stream)).sets);
    await verify(client, stream, 'two');
    const { sets } = await client.poll(stream, { ack: [first], maxEvents: 10 });
    assert.equal(Object.keys(sets).length, 1);
    assert.deepEqual((await client.read(Object.values(sets)[0]!)).events, { [verification]: { state: 'two' } });
  });

  testSignet(`openid-ssf-transmitter-stream-verification-ack-only${whose}`, { env }, async ({ signet }) => {
    const client = await open(signet);
    const stream = await client.create();
    await verify(client, stream, 'one');
    const [jti = ''] = Object.keys((await client.poll(stream)).sets);
    assert.deepEqual((await client.poll(stream, { maxEvents: 0, ack: [jti] })).json, { sets: {} });
    assert.deepEqual((await client.poll(stream)).json, { sets: {} });
  });
}

/** Whatever has come since the last call, by push or by poll. */
async function received(
  signet: Signet,
  {
    client,
    receiver,
    stream,
  }: { client: SignalClient; receiver: Awaited<ReturnType<typeof openSignalReceiver>>; stream: Json },
) {
  await sent(signet);
  if ((stream.delivery as Json).method === push) {
    const tokens = await receiver.tokens(client);
    receiver.deliveries.length = 0;
    return tokens;
  }
  const { sets } = await client.poll(stream);
  await client.poll(stream, { maxEvents: 0, ack: Object.keys(sets) });
  return Promise.all(Object.values(sets).map(client.read));
}

const usersOf = (tokens: readonly { sub_id: Json }[]) =>
  tokens.map(({ sub_id }) => (sub_id.user as Json | undefined)?.sub ?? sub_id.sub);
