import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { signalActions, signalsOfActions, signalTypes } from '../../src/signals/events.ts';
import { eventTypes, payloadOf } from '../../src/webhooks/event-types.ts';
import { raiseSomeAlert } from '../support/alerts.ts';
import { waitForRecovery } from '../support/factor-recoveries.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { addPasskey } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { env, type Json, poll, signalClient, type Token } from '../support/signal-receiver.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

type Told = Record<string, unknown>;
type Step = [actions: string | string[], act: () => Promise<unknown>, tells: Told[]];

testSignet(
  'each act that is mapped gives its signals, and each event that is supported is sent',
  { env: { ...env, SIGNET_RATE_LIMITS: 'off', SIGNET_RECOVERY_WAIT_DAYS: '7' }, mail: true },
  async ({ signet }) => {
    const client = await signalClient(signet);
    const stream = await client.create({ events_requested: undefined, delivery: { method: poll } });
    assert.deepEqual(stream.events_delivered, stream.events_supported);
    const root = await signet.signedInUser({ role: 'admin' });
    let user: TestUser;

    const send = async ({ browser }: Pick<TestUser, 'browser'>, method: string, path: string, body?: object) => {
      const headers = { origin: signet.url, ...(body && { 'content-type': 'application/json' }) };
      const answer = await browser.send(path, { method, headers, body: body && JSON.stringify(body) });
      assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.json ?? {};
    };
    const admin = (method: string, path: string, body?: object) => send(root, method, `/v1/admin${path}`, body);
    const own = (method: string, path: string, body?: object) => send(user, method, `/v1/me${path}`, body);
    const received = async (): Promise<Token[]> => {
      await runJobs(signet.deps, ['seal the audit log']);
      const { sets } = await client.poll(stream);
      await client.poll(stream, { maxEvents: 0, ack: Object.keys(sets) });
      return Promise.all(Object.values(sets).map(client.read));
    };
    const iss_sub = () => ({ format: 'iss_sub', iss: signet.url, sub: user.user_id });
    const by = (initiating_entity: string, more: Told = {}) => ({ initiating_entity, ...more });
    const revoked = (who: string) => ({ type: 'session-revoked', ...by(who) });
    const changed = (credential_type: string, change_type: string, who = 'user') => ({
      type: 'credential-change',
      ...by(who, { credential_type, change_type }),
    });
    const sid = async () =>
      String(
        (
          await plain(signet.deps.db).get<{ session_id: string }>(
            'select session_id from sessions where user_id = $1 and ended_at is null order by created_at desc limit 1',
            [user.user_id],
          )
        )?.session_id,
      );
    const strong = () =>
      plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [user.user_id, twoFactors]);
    const group = await admin('POST', '/groups', { name: 'Teachers' });
    const phrase = 'quite other words in a row';
    let session = '';

    const steps: Step[] = [
      [
        'session.ended',
        async () => {
          session = await sid();
          await send(user, 'POST', '/signout');
        },
        [
          {
            type: 'session-revoked',
            ...by('user'),
            get sub_id() {
              return { format: 'complex', user: iss_sub(), session: { format: 'opaque', id: session } };
            },
          },
        ],
      ],
      [
        'session.ended_others',
        async () => {
          await user.signedInElsewhere();
          await own('DELETE', '/sessions');
        },
        [revoked('user')],
      ],
      ['user.signed_out', () => admin('POST', `/users/${user.user_id}/sign-out`), [revoked('admin')]],
      [
        'password.changed',
        () => own('POST', '/password', { password: phrase }),
        [changed('password', 'update'), revoked('user')],
      ],
      [
        'password.reset',
        async () => {
          const stranger = { browser: signet.newBrowser() };
          await stranger.browser.post('/reset', { email: user.email });
          const path = linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\/./);
          await stranger.browser.post(path, { password: phrase });
        },
        [changed('password', 'update'), revoked('user')],
      ],
      [
        'security_alert.denied',
        async () => {
          const { client_id } = await signet.registerClient();
          const alert_id = await raiseSomeAlert(signet, user.user_id, client_id);
          await own('POST', `/alerts/${alert_id}/answer`, { answer: 'not_me' });
        },
        [changed('password', 'revoke'), revoked('user')],
      ],
      [
        ['passkey.added', 'password.removed', 'password.set', 'passkey.removed'],
        async () => {
          await addPasskey(signet, user);
          await strong();
          await own('DELETE', '/password');
          await own('POST', '/password', { password: phrase });
          const { passkeys } = (await own('GET', '/passkeys')) as { passkeys: { id: string }[] };
          await own('DELETE', `/passkeys/${passkeys[0]?.id}`);
        },
        [
          changed('fido2-platform', 'create'),
          changed('password', 'delete'),
          revoked('user'),
          changed('password', 'create'),
          revoked('user'),
          changed('fido2-platform', 'delete'),
        ],
      ],
      [
        ['totp.confirmed', 'totp.disabled'],
        async () => {
          await user.enableTotp();
          await own('DELETE', '/2fa/totp');
        },
        [changed('app', 'create'), changed('app', 'delete')],
      ],
      [
        'user.factors_reset',
        async () => {
          await user.enableTotp();
          await addPasskey(signet, user);
          await admin('POST', `/users/${user.user_id}/reset-factors`, { reason: 'Lost.' });
        },
        [
          changed('app', 'create'),
          changed('fido2-platform', 'create'),
          changed('app', 'revoke', 'admin'),
          changed('fido2-platform', 'revoke', 'admin'),
          revoked('admin'),
        ],
      ],
      [
        'factor_recovery.completed',
        async () => {
          await user.enableTotp();
          await addPasskey(signet, user);
          const link = await waitForRecovery(signet, user);
          const { status } = await user.elsewhere().browser.post(`/recover/${link}`, { password: user.password });
          assert.equal(status, 303);
        },
        [
          changed('app', 'create'),
          changed('fido2-platform', 'create'),
          changed('app', 'revoke'),
          changed('fido2-platform', 'revoke'),
          revoked('user'),
        ],
      ],
      [
        ['user.disabled', 'user.enabled'],
        async () => {
          await admin('POST', `/users/${user.user_id}/disable`, { reason: 'A secret reason.' });
          await admin('POST', `/users/${user.user_id}/enable`);
        },
        [{ type: 'account-disabled' }, revoked('admin'), { type: 'account-enabled' }],
      ],
      ['user.deleted', () => own('DELETE', '', { email: user.email }), [{ type: 'account-purged' }, revoked('user')]],
      [
        'email.changed',
        () => admin('PATCH', `/users/${user.user_id}`, { email: `new-${user.email}`, reason: 'Married.' }),
        [
          {
            type: 'identifier-changed',
            get sub_id() {
              return { format: 'email', email: user.email };
            },
            get 'new-value'() {
              return `new-${user.email}`;
            },
          },
        ],
      ],
      [
        'entitlement.written',
        async () => {
          const { authorization } = await signet.newService();
          assert.equal((await postEntitlement(signet, authorization, writeOf(user.user_id))).status, 200);
        },
        [
          {
            type: 'token-claims-change',
            ...by('system'),
            claims: (value: Json) => (value.entitlements as Json[])[0]?.product === 'editor',
          },
        ],
      ],
      [
        ['group.member_added', 'group.member_removed'],
        async () => {
          await admin('POST', `/groups/${group.group_id}/members`, { user: user.user_id });
          assert.deepEqual((await received()).map(claimsIn), [{ groups: ['Teachers'] }]);
          await admin('POST', `/groups/${group.group_id}/remove-member`, { user: user.user_id });
        },
        [{ type: 'token-claims-change', ...by('admin'), claims: { groups: [] } }],
      ],
    ];

    const types = new Set<string>();
    const actions = new Set<string>();
    for (const [names, act, tells] of steps) {
      user = await signet.signedInUser();
      await received();
      await act();
      const tokens = await received();
      const shown = tokens.map(({ sub_id, events }, index) => {
        const [[uri, event] = ['', {}]] = Object.entries(events);
        const { claims, ...told } = event as Json;
        const wanted = tells[index]?.claims;
        const isAsWanted = typeof wanted === 'function' ? wanted(claims) === true : undefined;
        const { event_timestamp, reason_admin, ...rest } = told;
        const type = uri.split('/').at(-1) ?? '';
        types.add(type);
        assert.ok((stream.events_supported as string[]).includes(uri));
        if (uri.includes('/caep/')) {
          assert.equal(event_timestamp, signet.clock() / 1000);
          assert.ok((reason_admin as { en: string }).en.length > 0);
        }
        assert.doesNotMatch(JSON.stringify(event), /secret reason/);
        return {
          type,
          sub_id,
          ...rest,
          ...(claims !== undefined && { claims: isAsWanted === true ? wanted : claims }),
        };
      });
      assert.deepEqual(
        shown,
        tells.map((one) => ({ sub_id: iss_sub(), ...one })),
        String(names),
      );
      for (const name of [names].flat()) actions.add(name);
    }
    assert.deepEqual(actions, new Set(signalActions));
    assert.deepEqual(types, new Set(signalTypes));
    assert.ok(Object.values(signalsOfActions).flat().length > 0);
  },
);

const claimsIn = ({ events }: Token) => Object.values(events)[0]?.claims;

test('whatever ends all access of a user signals that a session was revoked', () => {
  const row = {
    event_id: '',
    at: 0,
    actor: 'system',
    target: 'usr_1',
    reason: null,
    before_state: null,
    address: null,
  };
  const endsAll = eventTypes.filter((action) => {
    const { ended } = JSON.parse(payloadOf({ ...row, action, after_state: null })).data;
    return ended?.user_id === 'usr_1' && ended.client_id === 'all' && ended.session_id === 'all';
  });
  assert.ok(endsAll.includes('user.disabled'));
  const silent = endsAll.filter((action) => !signalsOfActions[action]?.some(({ type }) => type === 'session-revoked'));
  assert.deepEqual(silent, []);
});
