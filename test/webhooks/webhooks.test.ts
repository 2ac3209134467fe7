import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { editApi, retireApi, retireScope } from '../../src/apis/manage-api.ts';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { readLog } from '../../src/audit/read-log.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import type { DeliveryState } from '../../src/deliveries/queue.ts';
import { guardedLookup, InternalTarget, isAllowedAddress } from '../../src/platform/http/outbound/reachable.ts';
import { subnetList } from '../../src/platform/ip-address.ts';
import { type EventType, eventTypes } from '../../src/webhooks/event-types.ts';
import { findDeliveries, findDelivery } from '../../src/webhooks/list-webhooks.ts';
import { createWebhook, enable } from '../../src/webhooks/manage-webhook.ts';
import { replay, replayDead } from '../../src/webhooks/replay.ts';
import { countDeadDeliveries, findWebhook } from '../../src/webhooks/store.ts';
import { raiseSomeAlert } from '../support/alerts.ts';
import { newApi } from '../support/apis.ts';
import { waitForRecovery } from '../support/factor-recoveries.ts';
import { linkIn, openMailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { basic, claimsOf, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;
const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
const refusedFields = (paths: string[]) => (error: { details?: { fields?: { path: string }[] } }) => {
  assert.deepEqual(
    error.details?.fields?.map(({ path }) => path),
    paths,
  );
  return true;
};
const deliveriesTo = async (signet: Signet, webhook_id: string) =>
  (await findDeliveries(signet.deps, webhook_id)).deliveries;

testSignet('an event is delivered once, signed as Standard Webhooks says', { env }, async ({ signet, t }) => {
  const receiver = await openReceiver(t);
  const webhook = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  const { user_id } = await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  await runJobs(signet.deps, quickJobs);
  assert.equal(receiver.deliveries.length, 1);
  const { headers, body } = receiver.deliveries[0]!;
  const { type, timestamp, data } = JSON.parse(body);
  assert.deepEqual([type, data.target], ['user.created', user_id]);
  assert.equal(Date.parse(timestamp), signet.clock());
  const key = Buffer.from(webhook.secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  assert.ok(!body.includes('@'), 'no address of a user leaves');
});

testSignet('two nodes deliver each event once', { env }, async ({ signet, t }) => {
  const beside = await startSignet(t, { env, beside: signet });
  const receiver = await openReceiver(t);
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  const rounds = 8; // in each, both nodes are after the same delivery
  for (let round = 0; round < rounds; round += 1) {
    await signet.newUser();
    await runJobs(signet.deps, ['seal the audit log']);
    await Promise.all([signet, beside].map(({ deps }) => runJobs(deps, ['deliver webhooks'])));
  }
  await Promise.all([runJobs(signet.deps, quickJobs), runJobs(beside.deps, quickJobs)]);
  assert.equal(receiver.deliveries.length, rounds);
  assert.equal(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size, rounds);
});

test('a delivery that fails is retried at growing intervals, is given up in the end, and can be replayed', async (t) => {
  const signet = await startSignet(t, { env });
  const receiver = await openReceiver(t);
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  assert.equal(receiver.deliveries.splice(0).length, 1, 'one that came through, before the trouble');
  signet.clock.advance(86_400);
  receiver.status = 500;
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  await runJobs(signet.deps, quickJobs);
  assert.equal(receiver.deliveries.length, 1, 'not again at once');
  const [waiting] = await deliveriesTo(signet, webhook_id);
  assert.deepEqual([waiting?.attempts, waiting?.last_error], [1, 'The receiver responded with 500.']);
  for (let day = 0; day < 12; day += 1) {
    signet.clock.advance(86_400);
    await runJobs(signet.deps, quickJobs);
  }
  assert.equal(receiver.deliveries.length, 11);
  const [dead] = await deliveriesTo(signet, webhook_id);
  assert.ok(dead?.dead_at);
  assert.equal(
    new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size,
    1,
    'one id for all attempts',
  );

  assert.ok((await findWebhook(signet.deps.db, webhook_id))?.disabled_at, 'nothing came through for days: it is off');
  assert.ok(signet.logLines.some((line) => line.includes('a webhook was disabled')));
  await assert.rejects(
    replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id }),
    sentence('webhooks.is_off'),
    'nothing would be sent',
  );
  receiver.status = 200;
  await enable(signet.deps, caller, webhook_id);
  await replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id });
  await runJobs(signet.deps, quickJobs);
  assert.ok((await deliveriesTo(signet, webhook_id))[0]?.delivered_at);

  const [taken] = receiver.deliveries.splice(0).slice(-1);
  await replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id });
  await assert.rejects(
    replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id }),
    ({ code }: { code: string }) => code === 'invalid_state',
    'it waits already',
  );
  await runJobs(signet.deps, quickJobs);
  const [repeat, ...more] = receiver.deliveries.splice(0);
  assert.deepEqual(more, []);
  assert.equal(repeat?.headers['webhook-id'], taken?.headers['webhook-id'], 'a receiver recognizes the repeat');
  assert.equal(repeat?.body, taken?.body);
  assert.deepEqual((await deliveriesTo(signet, webhook_id))[0]?.state, 'delivered');

  signet.clock.advance(1);
  receiver.status = 500;
  await signet.newUser();
  for (let day = 0; day < 12; day += 1) {
    await runJobs(signet.deps, quickJobs);
    if (day === 5) {
      receiver.status = 200;
      await signet.newUser();
      await runJobs(signet.deps, quickJobs);
      receiver.status = 500;
    }
    signet.clock.advance(86_400);
  }
  const states = (await deliveriesTo(signet, webhook_id)).map(({ dead_at }) => dead_at !== null);
  assert.equal(states.filter((isDead) => isDead).length, 1, 'one was given up');
  assert.equal((await findWebhook(signet.deps.db, webhook_id))?.disabled_at, null, 'others came through: it stays on');
});

testSignet(
  'a delivery that is sent again stays known as delivered, and switches no webhook off',
  { env },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const { webhook_id } = await createWebhook(signet.deps, caller, {
      url: receiver.url,
      event_types: ['user.created'],
    });
    await signet.newUser();
    await runJobs(signet.deps, quickJobs);
    const delivered_at = signet.clock() / 1000;
    const [{ delivery_id } = assert.fail()] = await deliveriesTo(signet, webhook_id);
    const listed = async (state: DeliveryState) =>
      (await findDeliveries(signet.deps, webhook_id, { state })).deliveries.map((one) => one.delivery_id);
    const failForDays = async () => {
      for (let day = 0; day < 12; day += 1) {
        signet.clock.advance(86_400);
        await runJobs(signet.deps, quickJobs);
      }
    };
    const isOff = async () => (await findWebhook(signet.deps.db, webhook_id))?.disabled_at !== null;
    receiver.status = 500; // as of one that takes no event twice

    await replay(signet.deps, caller, { webhook_id, delivery_id });
    const again = await findDelivery(signet.deps, webhook_id, delivery_id);
    assert.deepEqual([again.state, again.attempts, again.delivered_at], ['waiting', 0, delivered_at]);
    assert.deepEqual([await listed('waiting'), await listed('delivered')], [[delivery_id], []]);
    const { events } = await readLog(signet.deps, { action: 'webhook.replayed' }, 10);
    assert.deepEqual(events[0]?.before, { delivered_at });
    await failForDays();
    const failed = await findDelivery(signet.deps, webhook_id, delivery_id);
    assert.deepEqual([failed.state, failed.attempts, failed.delivered_at], ['dead', 11, delivered_at]);
    assert.deepEqual([await listed('dead'), await listed('delivered')], [[delivery_id], []]);
    assert.equal((await countDeadDeliveries(signet.deps.db)).get(webhook_id), 1);
    assert.equal(await isOff(), false, 'after a success');

    assert.deepEqual(await replayDead(signet.deps, caller, webhook_id), { replayed: 1, dead: 0 });
    await plain(signet.deps.db).run('update webhook_deliveries set delivered_at = null'); // as of one that never was
    await failForDays();
    assert.deepEqual([await listed('dead'), await isOff()], [[delivery_id], false]);

    await signet.newUser();
    await failForDays();
    assert.equal(await isOff(), true, 'what failed by itself counts');
  },
);

testSignet(
  'the beginning of an answer is kept if it is text, and an answer that never ends counts',
  { env },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const { webhook_id } = await createWebhook(signet.deps, caller, {
      url: receiver.url,
      event_types: ['user.created'],
    });
    const answered = async (status: number, body?: string | Buffer) => {
      Object.assign(receiver, { status, body });
      signet.clock.advance(1);
      await signet.newUser();
      await runJobs(signet.deps, quickJobs);
      const [{ delivery_id } = assert.fail()] = await deliveriesTo(signet, webhook_id);
      const { state, response_status, response_body } = await findDelivery(signet.deps, webhook_id, delivery_id);
      return [state, response_status, response_body];
    };
    assert.deepEqual(await answered(200, 'thank you'), ['delivered', 200, 'thank you']);
    assert.deepEqual(await answered(204), ['delivered', 204, '']);
    assert.deepEqual(await answered(500, `x${'é'.repeat(2000)}`), ['waiting', 500, `x${'é'.repeat(511)}`]);
    assert.deepEqual(await answered(200, Buffer.from([0x1f, 0x8b, 0xff])), ['delivered', 200, null], 'no text');
    assert.deepEqual(await answered(200, 'a\0b'), ['delivered', 200, null], 'nor is this');
    receiver.drips = true;
    assert.deepEqual(await answered(202, 'and then'), ['delivered', 202, 'and then']);
    const [latest] = await deliveriesTo(signet, webhook_id);
    assert.ok(latest && !('response_body' in latest) && !('payload' in latest), 'a list has neither');
  },
);

test('a redirect is not followed', async (t) => {
  const signet = await startSignet(t, { env });
  const [receiver, elsewhere] = [await openReceiver(t), await openReceiver(t)];
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  receiver.status = 307;
  receiver.location = elsewhere.url;
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  assert.deepEqual([receiver.deliveries.length, elsewhere.deliveries.length], [1, 0]);
  assert.equal((await deliveriesTo(signet, webhook_id))[0]?.last_error, 'The receiver responded with 307.');
});

test('internal addresses are refused at registration, and names that lead there at the connection', async (t) => {
  const signet = await startSignet(t);
  const wanted = (url: string) => createWebhook(signet.deps, caller, { url, event_types: ['user.created'] });
  for (const url of [
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'hooks.example.com',
    'https://user:password@hooks.example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00::1]/',
    `https://hooks.example.com/${'x'.repeat(2000)}`,
  ]) {
    await assert.rejects(wanted(url), refusedFields(['url']), url);
  }
  await assert.rejects(
    createWebhook(signet.deps, caller, { url: 'https://hooks.example.com/', event_types: ['user.exploded'] }),
    refusedFields(['event_types']),
  );
  const { webhook_id } = await wanted('https://localhost:9/hook');
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  assert.match((await deliveriesTo(signet, webhook_id))[0]?.last_error ?? '', /^The target is an internal address/);
});

test('which addresses are internal', () => {
  const none = subnetList([]);
  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])
    assert.ok(isAllowedAddress(address, none), address);
  for (const address of [
    '0.0.0.0',
    '100.64.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.0.170',
    '192.0.2.1',
    '192.88.99.1',
    '192.175.48.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
  ]) {
    assert.ok(!isAllowedAddress(address, none), address);
  }
  for (const address of [
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '::7f00:1',
    '[::1]',
    '2001::1',
    '2001:db8::1',
    '2002:a00:1::1',
    '64:ff9b:1::1',
    '100::1',
    'fec0::1',
    '4000::1',
    '0x7f.1',
    '127.1',
    '010.0.0.1',
    'fe80::1%eth0',
    'fc00::1',
    'ff02::1',
    '64:ff9b::7f00:1',
    '::ffff:0:7f00:1',
    '3fff::1',
    '5f00::1',
    'name',
  ]) {
    assert.ok(!isAllowedAddress(address, none), address);
  }
  assert.ok(isAllowedAddress('10.0.0.7', subnetList(['10.0.0.7'])));
  assert.ok(!isAllowedAddress('10.0.0.8', subnetList(['10.0.0.7'])));
});

test('a name that has one internal address among public ones is refused, wherever it stands', async () => {
  const [good, bad] = ['8.8.8.8', '10.0.0.7'].map((address) => ({ address, family: 4 }));
  const lookUp = (addresses: LookupAddress[], all: boolean) =>
    new Promise<unknown>((resolve, reject) =>
      guardedLookup(async () => addresses, 'https:', subnetList([]))('hooks.example.com', { all }, (error, found) =>
        error ? reject(error) : resolve(found),
      ),
    );
  for (const all of [true, false]) {
    for (const mixed of [[good!, bad!], [bad!, good!], [bad!], []])
      await assert.rejects(lookUp(mixed, all), InternalTarget);
  }
  assert.deepEqual(await lookUp([good!], true), [good]);
  assert.equal(await lookUp([good!], false), '8.8.8.8');
});

type Event = { type: EventType; data: Record<string, unknown> & { ended?: Record<string, unknown> } };

/** As a back end reads `ended`. */
const isEnded = ({ data: { ended } }: Event, { sub, client_id, sid }: Record<string, unknown>): boolean => {
  if (!ended || ended.except_session_id === sid) return false;
  const fits = (name: string, value: unknown) => ended[name] === 'all' || ended[name] === value;
  return fits('user_id', sub) && fits('client_id', client_id) && fits('session_id', sid);
};

test('what changes an account, or ends tokens, is delivered with the user_id, and with no address', async (t) => {
  const [mailbox, receiver] = [await openMailbox(t), await openReceiver(t)];
  const more = { SIGNET_SMTP_URL: mailbox.url, SIGNET_RATE_LIMITS: 'off', SIGNET_RECOVERY_WAIT_DAYS: '7' };
  const signet = await startSignet(t, { env: { ...env, ...more } });
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types: eventTypes });
  const root = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const phrase = 'quite other words in a row';
  const seen = new Set<string>();

  const send = async ({ browser }: Pick<TestUser, 'browser'>, method: string, path: string, body?: object) => {
    const headers = { origin: signet.url, ...(body && { 'content-type': 'application/json' }) };
    const answer = await browser.send(path, { method, headers, body: body && JSON.stringify(body) });
    assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json ?? {};
  };
  const admin = (method: string, path: string, body?: object) => send(root, method, `/v1/admin${path}`, body);
  const eventsOf = async (act: () => Promise<unknown>): Promise<Event[]> => {
    await runJobs(signet.deps, quickJobs);
    const before = receiver.deliveries.length;
    await act();
    await runJobs(signet.deps, quickJobs);
    const bodies = receiver.deliveries.slice(before).map(({ body }) => body);
    for (const body of bodies) assert.doesNotMatch(body, /@|127\.0\.0\.1|\b(?:cs|st|rt|ac|inv)_[\w-]{16}|whsec/);
    return bodies.map((body) => JSON.parse(body));
  };

  type Standing = { user: TestUser; there: TestUser; app: RegisteredClient; sid: string; refresh_token: string };
  type Step = [
    what: string,
    act: (of: Standing) => Promise<unknown>,
    tells: (of: Standing) => Partial<Record<EventType, object>>,
  ];
  const ofUser = ({ user }: Standing) => ({ target: user.user_id });
  const everything = ({ user: { user_id } }: Standing) => ({
    target: user_id,
    ended: { user_id, client_id: 'all', session_id: 'all' },
  });
  const session = ({ user: { user_id }, sid }: Standing) => ({
    target: sid,
    ended: { user_id, client_id: 'all', session_id: sid },
  });
  const grant = ({ user: { user_id }, app: { client_id }, sid }: Standing) => ({
    ended: { user_id, client_id, session_id: sid },
  });
  const ofClient = ({ app: { client_id } }: Standing) => ({
    target: client_id,
    ended: { user_id: 'all', client_id, session_id: 'all' },
  });
  const others = ({ user: { user_id }, sid }: Standing) => ({
    target: user_id,
    ended: { user_id, client_id: 'all', session_id: 'all', except_session_id: sid },
  });
  /** As if the session had been confirmed with it, too. */
  const addPasskey = async ({ user_id }: TestUser) => {
    await plain(signet.deps.db).run(
      `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
       values ($1, $1, 'k', 0, '', 'Key', 0)`,
      [user_id],
    );
    await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [user_id, twoFactors]);
  };
  const ownApp = (of: Standing) => `/clients/${of.app.client_id}`;

  const steps: Step[] = [
    [
      'a name',
      ({ user }) => send(user, 'PATCH', '/v1/me', { name: 'Another' }),
      (of) => ({ 'user.changed': { ...ofUser(of), state: { fields: ['name'] } } }),
    ],
    [
      'an address',
      async ({ user }) => {
        const email = `new-${user.email}`;
        await send(user, 'POST', '/v1/me/email', { email });
        await send(user, 'POST', linkIn(await mailbox.next(email), /^\/verify-email\//));
      },
      (of) => ({ 'email.changed': { ...ofUser(of), state: undefined, ended: undefined } }),
    ],
    [
      'an address that is confirmed',
      async ({ user }) => {
        await plain(signet.deps.db).run('update users set email_verified_at = null where user_id = $1', [user.user_id]);
        await send(user, 'POST', '/v1/me/email/verify');
        await send(
          user,
          'POST',
          linkIn(await mailbox.next(user.email, sentence('mail.verify_email.subject')), /^\/verify-email\//),
        );
      },
      (of) => ({ 'email.verified': { ...ofUser(of), state: undefined, ended: undefined } }),
    ],
    [
      'a password',
      ({ user }) => send(user, 'POST', '/v1/me/password', { password: phrase }),
      (of) => ({ 'password.changed': everything(of) }),
    ],
    [
      'a password that was forgotten',
      async ({ user: { email } }) => {
        const stranger = { browser: signet.newBrowser() };
        await stranger.browser.post('/reset', { email });
        const path = linkIn(await mailbox.next(email, sentence('mail.reset.subject')), /^\/reset\/./);
        await stranger.browser.post(path, { password: phrase });
      },
      (of) => ({ 'password.reset': everything(of) }),
    ],
    [
      'no password, and one again',
      async ({ user }) => {
        await addPasskey(user);
        await send(user, 'DELETE', '/v1/me/password');
        await send(user, 'POST', '/v1/me/password', { password: phrase });
        await send(user, 'DELETE', `/v1/me/passkeys/${await passkeyOf(user)}`);
      },
      (of) => ({ 'password.removed': everything(of), 'password.set': everything(of), 'passkey.removed': ofUser(of) }),
    ],
    [
      'a second factor',
      async ({ user }) => {
        const { backup_codes } = await user.enableTotp({ end_other_sessions: true });
        const elsewhere = await user.awaitingSecondFactor();
        await elsewhere.giveCode(backup_codes[0]!);
        await send(user, 'POST', '/v1/me/2fa/backup-codes');
        await send(user, 'DELETE', '/v1/me/2fa/totp');
      },
      (of) => ({
        'totp.confirmed': ofUser(of),
        'session.ended_others': others(of),
        'backup_code.used': { ...ofUser(of), state: { remaining: 9 } },
        'backup_codes.regenerated': ofUser(of),
        'totp.disabled': ofUser(of),
      }),
    ],
    ['a sign-out', ({ user }) => send(user, 'POST', '/signout'), (of) => ({ 'session.ended': session(of) })],
    [
      'another user in the same browser',
      ({ user: { browser } }) => signedIn(root.with({ browser })),
      (of) => ({ 'session.ended': session(of) }),
    ],
    [
      'a session that an administrator ends',
      ({ user, sid }) => admin('DELETE', `/users/${user.user_id}/sessions/${sid}`),
      (of) => ({ 'session.ended': session(of) }),
    ],
    [
      'the other sessions',
      ({ user }) => send(user, 'DELETE', '/v1/me/sessions'),
      (of) => ({ 'session.ended_others': others(of) }),
    ],
    [
      'an app',
      ({ user, app }) => send(user, 'DELETE', `/v1/me/grants/${app.client_id}`),
      (of) => ({
        'app.disconnected': {
          target: of.app.client_id,
          ended: { user_id: of.user.user_id, client_id: of.app.client_id, session_id: 'all' },
        },
      }),
    ],
    [
      'a consent',
      async ({ user, app }) => {
        const asked = redirectedTo(await user.browser.get(app.authorizePath({ prompt: 'consent' })));
        const fields = { request: asked.get('request') ?? '', user: user.user_id, decision: 'allow' };
        assert.equal((await user.browser.post('/consent', fields)).status, 303);
      },
      ({ user: { user_id }, app: { client_id: target } }) => ({
        'consent.given': { target, state: { user_id, scope: 'openid offline_access' }, ended: undefined },
      }),
    ],
    [
      'an entitlement',
      async ({ user }) => {
        const { authorization } = await signet.newService();
        const write = writeOf(user.user_id, { metadata: { mail: user.email } });
        assert.equal((await postEntitlement(signet, authorization, write)).status, 200);
      },
      (of) => ({
        'entitlement.written': {
          ...ofUser(of),
          state: { product: 'editor', plan: 'pro', status: 'active', version: 1 },
          ended: undefined,
        },
      }),
    ],
    [
      'a token that its client gives back',
      ({ app, refresh_token }) =>
        fetch(`${signet.url}/oauth/revoke`, {
          method: 'POST',
          headers: { authorization: basic(app.client_id, app.client_secret ?? '') },
          body: new URLSearchParams({ token: refresh_token }),
        }),
      (of) => ({ 'grant.revoked': { reason: 'client', ...grant(of) } }),
    ],
    [
      'a token that is used twice',
      async ({ app, refresh_token }) => {
        await app.refresh(refresh_token);
        await app.refresh(refresh_token);
      },
      (of) => ({
        'grant.revoked': { reason: 'replay', ...grant(of) },
        'security_alert.raised': { ...ofUser(of), actor: 'system', ended: undefined },
      }),
    ],
    [
      'a security alert that its user recognizes, and then does not',
      async ({ user, app }) => {
        const path = `/v1/me/alerts/${await raiseSomeAlert(signet, user.user_id, app.client_id)}/answer`;
        for (const answer of ['me', 'not_me']) await send(user, 'POST', path, { answer });
      },
      (of) => ({
        'security_alert.recognized': { ...ofUser(of), ended: undefined },
        'security_alert.denied': everything(of),
      }),
    ],
    [
      'signed out everywhere',
      ({ user }) => admin('POST', `/users/${user.user_id}/sign-out`),
      (of) => ({ 'user.signed_out': everything(of) }),
    ],
    [
      'factors that an administrator resets',
      ({ user }) => admin('POST', `/users/${user.user_id}/reset-factors`, { reason: 'Lost.' }),
      (of) => ({ 'user.factors_reset': everything(of) }),
    ],
    [
      'a request to remove lost factors that an administrator stops',
      async ({ user }) => {
        await user.enableTotp();
        await send(await user.awaitingSecondFactor(), 'POST', '/signin/second-factor/recovery');
        await admin('DELETE', `/users/${user.user_id}/factor-recovery`, { reason: 'Not hers.' });
      },
      (of) => ({
        'factor_recovery.requested': { ...ofUser(of), ended: undefined },
        'factor_recovery.stopped': { ...ofUser(of), reason: 'Not hers.', ended: undefined },
      }),
    ],
    [
      'lost factors that are removed',
      async ({ user }) => {
        await user.enableTotp();
        const link = await waitForRecovery(signet, user);
        const answer = await user.elsewhere().browser.post(`/recover/${link}`, { password: user.password });
        assert.equal(answer.status, 303, answer.text);
      },
      (of) => ({ 'factor_recovery.completed': everything(of) }),
    ],
    [
      'a user who is disabled',
      ({ user }) => admin('POST', `/users/${user.user_id}/disable`, { reason: 'Abuse.' }),
      (of) => ({ 'user.disabled': everything(of) }),
    ],
    [
      'a user who leaves',
      ({ user }) => send(user, 'DELETE', '/v1/me', { email: user.email }),
      (of) => ({ 'user.deleted': everything(of) }),
    ],
    [
      'a client that is suspended',
      (of) => admin('POST', `${ownApp(of)}/suspend`, { reason: 'Abuse.' }),
      (of) => ({ 'client.suspended': ofClient(of) }),
    ],
    ['a client that is gone', (of) => admin('DELETE', ownApp(of)), (of) => ({ 'client.deleted': ofClient(of) })],
    [
      'secrets and a change of a client',
      async ({ user, app }) => {
        const path = `/v1/oauth/clients/${app.client_id}`;
        await send(user, 'POST', `${path}/secrets`, {});
        const { secrets } = (await send(user, 'GET', `${path}/secrets`)) as { secrets: { secret_id: string }[] };
        await send(user, 'DELETE', `${path}/secrets/${secrets[0]?.secret_id}`);
        await send(user, 'PATCH', path, { name: 'Another' });
        await send(user, 'POST', `/developer/clients/${app.client_id}/withdraw`);
      },
      ({ app: { client_id: target } }) => ({
        'client.secret_added': { target },
        'client.secret_retired': { target },
        'client.change_withdrawn': { target },
      }),
    ],
    [
      'a back end and an administrator',
      async () => {
        const terms = { permissions: ['entitlements:write'], products: ['editor'] };
        const { client_id } = await admin('POST', '/service-credentials', { name: 'Billing', ...terms });
        await admin('POST', `/service-credentials/${client_id}/rotate`);
        await admin('PATCH', `/service-credentials/${client_id}`, { ...terms, products: ['viewer'] });
        await admin('POST', `/service-credentials/${client_id}/retire`);
        await inviteAdministrator(signet.deps, 'cli');
        const api = await newApi(signet, ['hooks:read', 'hooks:write']);
        await editApi(signet.deps, caller, api.api_id, { name: 'Hooks' });
        await retireScope(signet.deps, caller, api.api_id, 'hooks:write');
        await retireApi(signet.deps, caller, api.api_id);
      },
      () => ({
        'service_credential.created': {},
        'service_credential.rotated': {},
        'service_credential.restricted': {},
        'service_credential.retired': {},
        'administrator.invited': { actor: 'cli' },
        'api.registered': { actor: 'cli' },
        'api.edited': { actor: 'cli' },
        'api.scope_retired': { actor: 'cli' },
        'api.retired': { actor: 'cli' },
      }),
    ],
  ];
  const passkeyOf = async (user: TestUser) =>
    ((await send(user, 'GET', '/v1/me/passkeys')) as { passkeys: { id: string }[] }).passkeys[0]?.id;
  const signedIn = async (user: TestUser) => assert.equal((await user.signIn()).status, 303);

  for (const [what, act, tells] of steps) {
    await t.test(what, async () => {
      const user = await signet.signedInUser();
      const there = user.elsewhere();
      await signedIn(there);
      const app = /client/.test(what) ? await signet.registerClient({ owner: user }) : client;
      const [here, elsewhere] = [await user.obtainTokens(app), await there.obtainTokens(app)];
      const bystander = await root.obtainTokens(client);
      const sid = String(claimsOf(here.access_token).sid);
      const of = { user, there, app, sid, refresh_token: here.refresh_token };
      const events = await eventsOf(() => act(of));
      for (const [type, expected] of Object.entries(tells(of))) {
        const event = events.find((one) => one.type === type);
        assert.ok(event, `${type} is not among ${events.map((one) => one.type)}`);
        for (const [name, value] of Object.entries(expected)) assert.deepEqual(event.data[name], value, name);
      }
      // A back end that follows the events is of one mind with us about every token.
      for (const { access_token } of [here, elsewhere, bystander]) {
        const isAlive = (await signet.userinfo(access_token)).status === 200;
        assert.equal(isAlive, !events.some((event) => isEnded(event, claimsOf(access_token))), what);
      }
      for (const { type } of events) seen.add(type);
    });
  }

  await t.test('whatever else is in the list', async () => {
    const rest = eventTypes.filter((type) => !seen.has(type));
    const audited = rest.map((action) => auditEvent({ action, actor: 'system', target: 'x' }, signet.clock() / 1000));
    const events = await eventsOf(() => plain(signet.deps.db).batch(audited.map(({ statement }) => statement)));
    assert.deepEqual(events.map(({ type }) => type).sort(), [...rest].sort());
  });
});
