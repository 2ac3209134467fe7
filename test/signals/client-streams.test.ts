import assert from 'node:assert/strict';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { deleteUserByAdministrator } from '../../src/admin/users/delete-user.ts';
import { runJobs } from '../../src/app/jobs.ts';
import { deleteClient } from '../../src/clients/delete-client.ts';
import { changePolicy, reinstateClient, suspendClient } from '../../src/clients/review-client.ts';
import { addMember, removeMember } from '../../src/groups/change-members.ts';
import { assertionOf, keySetOf, newKeyPair } from '../support/client-keys.ts';
import { newGroup } from '../support/groups.ts';
import { plain } from '../support/plain-sql.ts';
import { redirectedTo } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import {
  env,
  type Json,
  openSignalReceiver,
  pushTo,
  type SignalClient,
  signalApp,
  signalClient,
  streamUpdated,
  type Token,
  typesOf,
} from '../support/signal-receiver.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

const everything = { events_requested: undefined };
const shortTypes = (tokens: readonly Token[]) => typesOf(tokens).map((uri) => uri.split('/').at(-1));
const subjectsOf = (tokens: readonly Token[]) =>
  tokens.map(({ sub_id }) => String((sub_id.user as Json | undefined)?.sub ?? sub_id.sub ?? sub_id.email));

/** What waits, which it acknowledges. */
async function taken(signet: Signet, app: SignalClient, stream: Json): Promise<Token[]> {
  await runJobs(signet.deps, ['seal the audit log']);
  const { sets } = await app.poll(stream);
  await app.poll(stream, { maxEvents: 0, ack: Object.keys(sets) });
  return Promise.all(Object.values(sets).map(app.read));
}

testSignet(
  'a client hears of its own users, and never of those of another, whatever it asks for',
  { env },
  async ({ signet }) => {
    const [app, other] = [await signalApp(signet), await signalApp(signet)];
    const [stream, others] = [await app.create(everything), await other.create(everything)];
    assert.deepEqual([stream.aud, others.aud], [app.client.client_id, other.client.client_id]);
    const [mine, theirs, nobodys] = [
      await signet.signedInUser(),
      await signet.signedInUser(),
      await signet.signedInUser(),
    ];
    await app.meets(mine);
    await other.meets(theirs);
    // Adding a subject that is not its own is refused as one that is unknown, and so is removing it.
    for (const endpoint of ['add_subject_endpoint', 'remove_subject_endpoint']) {
      for (const user of [theirs, nobodys]) {
        const { stream_id } = stream;
        const bySub = { format: 'iss_sub', iss: signet.url, sub: user.user_id };
        const byAddress = { format: 'email', email: user.email };
        for (const [subject, unknown] of [
          [bySub, { ...bySub, sub: 'usr_0000000000000000000000' }],
          [byAddress, { ...byAddress, email: 'nobody@example.com' }],
        ]) {
          const [asked, made] = [
            await app.call('POST', endpoint, { stream_id, subject }),
            await app.call('POST', endpoint, { stream_id, subject: unknown }),
          ];
          assert.deepEqual([asked.status, asked.text], [404, made.text]);
        }
      }
    }
    for (const user of [mine, theirs, nobodys])
      await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
    await runJobs(signet.deps, ['seal the audit log']);
    // Acknowledging what is another's leaves it there.
    const [jti = ''] = Object.keys((await other.poll(others)).sets);
    await app.poll(stream, { maxEvents: 0, ack: [jti], setErrs: { [jti]: { err: 'invalid_key' } } });
    await app.call('POST', 'verification_endpoint', { stream_id: stream.stream_id, state: 'here' });
    const got = await taken(signet, app, stream);
    assert.deepEqual(shortTypes(got), ['credential-change', 'session-revoked', 'verification']);
    assert.deepEqual(new Set(subjectsOf(got.slice(0, 2))), new Set([mine.user_id]));
    const gotByOther = await taken(signet, other, others);
    assert.deepEqual(shortTypes(gotByOther), ['credential-change', 'session-revoked']);
    assert.deepEqual(new Set(subjectsOf(gotByOther)), new Set([theirs.user_id]));
    // A stream is one's own.
    const { stream_id } = others;
    for (const [method, endpoint, body] of [
      ['GET', `configuration_endpoint?stream_id=${stream_id}`],
      ['PATCH', 'configuration_endpoint', { stream_id }],
      ['DELETE', `configuration_endpoint?stream_id=${stream_id}`],
      ['GET', `status_endpoint?stream_id=${stream_id}`],
      ['POST', 'status_endpoint', { stream_id, status: 'disabled' }],
      ['POST', 'verification_endpoint', { stream_id }],
      ['POST', others.delivery.endpoint_url, {}],
    ] as const)
      assert.equal((await app.call(method, endpoint, body)).status, 404, endpoint);
  },
);

testSignet('an address names a user to a client that may read it, and to no other', { env }, async ({ signet }) => {
  const app = await signalApp(signet);
  const { stream_id } = await app.create(everything);
  for (const [scope, expected] of [
    ['openid', 404],
    ['openid email', 204],
  ] as const) {
    const user = await signet.signedInUser();
    await user.obtainTokens(app.client, { scope });
    const subject = { format: 'email', email: user.email };
    assert.equal((await app.call('POST', 'remove_subject_endpoint', { stream_id, subject })).status, expected);
  }
});

testSignet(
  'a client hears of what ends the access of its user, also that the account was deleted, and then nothing',
  { env },
  async ({ signet }) => {
    for (const consent of ['required', 'skip'] as const) {
      const app = await signalApp(signet, { consent, name: `App ${consent}` });
      const stream = await app.create(everything);
      const deleted = ({ user_id, email }: { user_id: string; email: string }) =>
        deleteUserByAdministrator(signet.deps, { actor: 'cli' }, user_id, { email });
      const user = await signet.signedInUser();
      if (consent === 'skip') await app.meets(user);
      else {
        const { location } = await user.browser.get(app.client.authorizePath());
        const request = String(new URL(String(location), signet.url).searchParams.get('request'));
        const decided = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
        const back = await user.browser.get(decided.location);
        const answer = await app.client.redeem(String(redirectedTo(back).get('code')));
        assert.equal(answer.status, 200, answer.text);
      }
      // A session of which the client was no part is none of its business.
      const elsewhere = user.elsewhere();
      await elsewhere.signIn();
      await elsewhere.browser.post('/signout');
      assert.deepEqual(shortTypes(await taken(signet, app, stream)), []);
      await user.browser.post('/signout');
      const [ended] = await taken(signet, app, stream);
      assert.equal((ended!.sub_id.user as Json).sub, user.user_id);
      assert.ok((ended!.sub_id.session as Json).id);

      signet.clock.advance(60);
      const again = await signet.signedInUser();
      if (consent === 'skip') await app.meets(again);
      else
        await plain(signet.deps.db).run(
          "insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, 'openid', 1)",
          [again.user_id, app.client.client_id],
        );
      await disableUser(signet.deps, { actor: 'cli' }, again.user_id);
      assert.deepEqual(shortTypes(await taken(signet, app, stream)), ['account-disabled', 'session-revoked']);
      signet.clock.advance(30 * 86_400);
      await enableUser(signet.deps, { actor: 'cli' }, again.user_id);
      assert.deepEqual(shortTypes(await taken(signet, app, stream)), ['account-enabled']);
      signet.clock.advance(60);
      await disableUser(signet.deps, { actor: 'cli' }, again.user_id);
      await deleted(again);
      const last = await taken(signet, app, stream);
      assert.ok(consent === 'skip' ? last.length === 0 : shortTypes(last).includes('account-purged'));

      const third = await signet.signedInUser();
      await plain(signet.deps.db).run(
        "insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, 'openid profile email offline_access', 1)",
        [third.user_id, app.client.client_id],
      );
      await app.meets(third);
      await deleted(third);
      await runJobs(signet.deps, ['delete accounts']);
      const purged = await taken(signet, app, stream);
      assert.deepEqual(shortTypes(purged), ['account-purged', 'session-revoked']);
      assert.deepEqual(new Set(subjectsOf(purged)), new Set([third.user_id]));
    }
  },
);

testSignet('a user who has disconnected an app is not its user any more', { env }, async ({ signet }) => {
  const app = await signalApp(signet);
  const stream = await app.create(everything);
  const user = await signet.signedInUser();
  await app.meets(user);
  const gone = await user.browser.delete(`/v1/me/grants/${app.client.client_id}`);
  assert.ok(gone.status < 300, gone.text);
  signet.clock.advance(60);
  await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
  assert.deepEqual(await taken(signet, app, stream), []);
});

testSignet(
  'an address and claims are told to a client that may read them, with the values that it may read',
  { env },
  async ({ signet }) => {
    const scopes = ['openid', 'email', 'entitlements:read', 'groups'];
    const [reads, doesNot] = [
      await signalApp(signet, { allowed_scopes: scopes }),
      await signalApp(signet, { allowed_scopes: scopes }),
    ];
    const [stream, other] = [await reads.create(everything), await doesNot.create(everything)];
    const user = await signet.signedInUser();
    await user.obtainTokens(reads.client, { scope: scopes.join(' ') });
    await user.obtainTokens(doesNot.client, { scope: 'openid' });
    const { authorization } = await signet.newService();
    await postEntitlement(signet, authorization, writeOf(user.user_id));
    const tokens = await taken(signet, reads, stream);
    assert.deepEqual(shortTypes(tokens), ['token-claims-change']);
    const [{ claims }] = Object.values(tokens[0]!.events) as [{ claims: { entitlements: { product: string }[] } }];
    assert.deepEqual(
      claims.entitlements.map(({ product }) => product),
      ['editor'],
    );
    assert.deepEqual(await taken(signet, doesNot, other), []);
    // What waits has the values of when it is sent: none, if the user has left the app by then.
    await postEntitlement(signet, authorization, writeOf(user.user_id, { version: 2, plan: 'max' }));
    await runJobs(signet.deps, ['seal the audit log']);
    await user.browser.delete(`/v1/me/grants/${reads.client.client_id}`);
    signet.clock.advance(60);
    const [late] = await taken(signet, reads, stream);
    assert.deepEqual(
      Object.values(late!.events).map(({ claims }) => claims),
      [{}],
    );
  },
);

testSignet('a client hears nothing of groups that it does not see', { env }, async ({ signet }) => {
  const scopes = ['openid', 'groups'];
  const app = await signalApp(signet, { allowed_scopes: scopes });
  const stream = await app.create(everything);
  const user = await signet.signedInUser();
  await user.obtainTokens(app.client, { scope: scopes.join(' ') });
  const caller = { actor: 'cli' } as const;
  const [seen, hidden] = [await newGroup(signet, 'Seen'), await newGroup(signet, 'Hidden')];
  const { client_id } = app.client;
  await changePolicy(signet.deps, { client_id, caller }, { visible_groups: [seen.group_id] });
  signet.clock.advance(2);
  await addMember(signet.deps, caller, hidden.group_id, user.user_id);
  await removeMember(signet.deps, caller, hidden.group_id, user.user_id);
  assert.deepEqual(await taken(signet, app, stream), []);
  await addMember(signet.deps, caller, seen.group_id, user.user_id);
  const tokens = await taken(signet, app, stream);
  assert.deepEqual(
    tokens.flatMap(({ events }) => Object.values(events).map(({ claims }) => claims)),
    [{ groups: ['Seen'] }],
  );
});

testSignet('a client cannot count by its tokens what happens to others', { env }, async ({ signet }) => {
  const app = await signalApp(signet);
  const stream = await app.create(everything);
  const user = await signet.signedInUser();
  await app.meets(user);
  await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
  const tokens = await taken(signet, app, stream);
  const [changed] = await signet.auditLog({ action: 'password.changed' });
  assert.equal(tokens.length, 2);
  const [txn = '', ...others] = new Set(tokens.map((one) => one.txn));
  assert.deepEqual(others, [], 'both are of one event');
  // Such an id counts the events of a process.
  assert.match(String(changed?.event_id), /^evt_[0-9a-f]{8}/);
  assert.doesNotMatch(txn, /^evt_/);
});

testSignet('of an address that it guesses a client is not told by the store either', { env }, async ({ signet }) => {
  const app = await signalApp(signet);
  const { stream_id } = await app.create(everything);
  const other = await signet.newUser();
  const asked: string[][] = [];
  for (const email of [other.email, 'unknown@example.com']) {
    const statements: string[] = [];
    const stop = beforeEachCall(signet.deps.db, (sql) => void statements.push(...sql));
    const subject = { format: 'email', email };
    assert.equal((await app.call('POST', 'add_subject_endpoint', { stream_id, subject })).status, 404);
    stop();
    asked.push(statements.filter((sql) => /grants|users/.test(sql)));
  }
  assert.ok(asked[0]!.length > 1);
  assert.deepEqual(asked[1], asked[0]);
});

testSignet('only an approved client that proves itself has a stream', { env }, async ({ signet }) => {
  const pending = await signet.registerClient({ approved: false });
  const open = await signet.registerClient({ client_type: 'public' });
  const app = await signalApp(signet);
  const { client_id, client_secret, authorization } = app.service;
  const refused: [string, number][] = [
    [`Bearer ${pending.client_id}.${pending.client_secret}`, 401],
    [`Bearer ${open.client_id}.${'x'.repeat(43)}`, 401],
    [`Bearer ${client_id}.${'x'.repeat(43)}`, 401],
    [`Bearer ${client_id}`, 401],
    [`Basic ${Buffer.from(`${open.client_id}:`).toString('base64')}`, 401],
  ];
  for (const [shown, status] of refused)
    for (const [method, body] of [
      ['POST', {}],
      ['GET', undefined],
    ] as const)
      assert.equal((await app.call(method, 'configuration_endpoint', body, shown)).status, status, shown);
  // An access token of a user is none of the client.
  const user = await signet.signedInUser();
  const { access_token } = await user.obtainTokens(app.client);
  assert.equal((await app.call('GET', 'configuration_endpoint', undefined, `Bearer ${access_token}`)).status, 401);
  const stream = await app.create(everything);
  for (const shown of [authorization, `Bearer ${client_id}.${client_secret}`])
    assert.deepEqual((await app.call('GET', 'configuration_endpoint', undefined, shown)).json, [stream]);
  assert.equal((await app.call('POST', 'configuration_endpoint', {})).status, 409, 'it has one');
});

testSignet('a client with a key sends an assertion as its token, each once', { env }, async ({ signet }) => {
  const pair = newKeyPair('ES256');
  const client = await signet.registerClient({ token_endpoint_auth_method: 'private_key_jwt', jwks: keySetOf(pair) });
  const app = await signalApp(signet);
  const call = async (assertion: string) => app.call('GET', 'configuration_endpoint', undefined, `Bearer ${assertion}`);
  const assertion = await assertionOf(signet, client, pair);
  assert.deepEqual([(await call(assertion)).status, (await call(assertion)).status], [200, 401]);
  assert.equal((await call(await assertionOf(signet, client, newKeyPair('ES256')))).status, 401);
  assert.equal((await call(await assertionOf(signet, client, pair))).status, 200);
});

testSignet(
  'the stream of a suspended client stops at once, loses its queue and says so; that of a deleted one goes',
  { env },
  async ({ signet, t }) => {
    const [app, receiver] = [await signalApp(signet), await openSignalReceiver(t)];
    const caller = { actor: 'cli' } as const;
    const { client_id } = app.client;
    const { stream_id } = await app.create({ ...everything, ...pushTo(receiver) });
    const user = await signet.signedInUser();
    await app.meets(user);
    await user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' });
    await runJobs(signet.deps, ['seal the audit log']);
    await suspendClient(signet.deps, { client_id, caller }, 'Phishing.');
    await runJobs(signet.deps, ['deliver signals']);
    assert.equal(receiver.deliveries.length, 0, 'nothing is pushed after the suspension');
    assert.equal((await app.call('GET', `status_endpoint?stream_id=${stream_id}`)).status, 401);
    await runJobs(signet.deps, ['stop signal streams']);
    await runJobs(signet.deps, ['stop signal streams']);
    assert.equal((await signet.auditLog({ target: stream_id, action: 'signal_stream.disabled' })).length, 1);
    await reinstateClient(signet.deps, { client_id, caller });
    signet.clock.advance(2);
    const { json } = await app.call('GET', `status_endpoint?stream_id=${stream_id}`);
    assert.equal(json.status, 'disabled');
    assert.match(String(json.reason), /suspended/);
    await app.call('POST', 'status_endpoint', { stream_id, status: 'enabled' });
    await runJobs(signet.deps, ['deliver signals']);
    assert.deepEqual(typesOf(await receiver.tokens(app)), [streamUpdated], 'what waited is gone');
    await deleteClient(signet.deps, { client_id, caller });
    await runJobs(signet.deps, ['delete clients', 'stop signal streams', 'delete signal streams']);
    for (const table of ['signal_streams', 'signal_deliveries'])
      assert.deepEqual(await plain(signet.deps.db).all(`select * from ${table}`), []);
  },
);

testSignet('streams of clients and of credentials do not disturb each other', { env }, async ({ signet }) => {
  const [service, app] = [await signalClient(signet), await signalApp(signet)];
  const [all, own] = [await service.create(everything), await app.create(everything)];
  const [mine, nobodys] = [await signet.signedInUser(), await signet.signedInUser()];
  await app.meets(mine);
  for (const user of [mine, nobodys]) await user.browser.post('/signout');
  assert.deepEqual(new Set(subjectsOf(await taken(signet, service, all))), new Set([mine.user_id, nobodys.user_id]));
  assert.deepEqual(subjectsOf(await taken(signet, app, own)), [mine.user_id]);
});
