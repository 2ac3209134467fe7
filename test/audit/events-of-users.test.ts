import assert from 'node:assert/strict';
import { assertRefused } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

testSignet(
  'sign-ins of a user are limited an hour, known devices apart from all others',
  { env: { SIGNET_LIMIT_SIGN_INS_PER_HOUR: '10' } },
  async ({ signet }) => {
    const user = await signet.signedInUser(); // the first on an unknown device
    const events = async () => (await signet.auditLog({ action: 'session.started' })).length;
    for (let count = 0; count < 9; count += 1) assert.equal((await user.elsewhere().signIn()).status, 303);
    const before = await events();
    for (let count = 0; count < 3; count += 1) {
      const refused = await user.elsewhere().signIn();
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      assert.deepEqual(
        refused.headers.getSetCookie().filter((cookie) => /session/.test(cookie)),
        [],
      );
    }
    assert.equal(await events(), before, 'nothing more is in the log');
    assert.equal((await user.signIn()).status, 303, "the owner's own browser");
    assert.equal((await (await signet.newUser()).signIn()).status, 303, 'another user');
    signet.clock.advance(3600);
    assert.equal((await user.elsewhere().signIn()).status, 303);
  },
);

testSignet(
  'sign-ins that wait for a second factor count, and a new password begins anew',
  { env: { SIGNET_LIMIT_SIGN_INS_PER_HOUR: '10' } },
  async ({ signet }) => {
    const user = await signet.signedInUser();
    await user.enableTotp();
    const statuses = [];
    for (let count = 0; count < 11; count += 1) statuses.push((await user.elsewhere().signIn()).status);
    assert.deepEqual(new Set(statuses.slice(0, 9)), new Set([303]));
    assert.equal(statuses.at(-1), 429);
    const password = 'harbour velvet cactus ninety';
    assert.equal((await user.browser.postJson('/v1/me/password', { password })).status, 204);
    await user.with({ password }).awaitingSecondFactor();
  },
);

testSignet(
  'grants that an app revokes are all revoked, and a limited number an hour is in the log',
  { env: { SIGNET_LIMIT_REVOCATION_EVENTS_PER_HOUR: '2' } },
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient();
    const revoke = async (who = user) => {
      const { refresh_token } = await who.obtainTokens(client);
      assert.equal((await client.post('/oauth/revoke', { token: refresh_token })).status, 200);
      assert.equal((await client.introspect(refresh_token)).json?.active, false);
    };
    const notes = async () => {
      const events = await signet.auditLog({ action: 'grant.revoked' });
      return events.toReversed().map(({ reason, after_state }) => {
        const after = JSON.parse(after_state ?? '{}') as Record<string, unknown>;
        return [reason, after.user_id, after.further_of_this_hour];
      });
    };
    for (let count = 0; count < 5; count += 1) await revoke();
    const ofHour = [
      ['client', user.user_id, undefined],
      ['client', user.user_id, undefined],
      ['client', user.user_id, 'not recorded'],
    ];
    assert.deepEqual(await notes(), ofHour);

    // Neither another user, nor another reason, nor an administrator is left out.
    const other = await signet.signedInUser();
    await revoke(other);
    const { refresh_token } = await user.obtainTokens(client);
    await client.refresh(refresh_token);
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
    const admin = await signet.signedInUser({ role: 'admin' });
    for (let count = 0; count < 4; count += 1) {
      await user.obtainTokens(client);
      const { json } = await admin.browser.get(`/v1/admin/users/${user.user_id}/grants`);
      const [grant] = (json?.grants ?? []) as { grant_id: string }[];
      assert.equal((await admin.browser.delete(`/v1/admin/grants/${grant?.grant_id}`)).status, 204);
    }
    const further = [
      ['client', other.user_id, undefined],
      ['replay', user.user_id, undefined],
      ...Array.from({ length: 4 }, () => ['administrator', user.user_id, undefined]),
    ];
    assert.deepEqual(await notes(), [...ofHour, ...further]);
    signet.clock.advance(3600);
    await revoke();
    assert.deepEqual((await notes()).at(-1), ['client', user.user_id, undefined]);
  },
);

testSignet(
  'consents and disconnected apps of a user are limited an hour, and apart',
  { env: { SIGNET_LIMIT_APP_CHANGES_PER_HOUR: '2' } },
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ consent: 'required' });
    const path = `/v1/me/grants/${client.client_id}`;
    const allow = async (who = user) => {
      const { location } = await who.browser.get(client.authorizePath({ prompt: 'consent' }));
      const request = new URL(location, signet.url).searchParams.get('request') ?? '';
      return who.browser.post('/consent', { request, user: who.user_id, decision: 'allow' });
    };
    const events = async () =>
      (await signet.auditLog({ target: client.client_id })).filter(({ actor }) => actor === `user:${user.user_id}`);
    for (let count = 0; count < 2; count += 1) {
      assert.equal((await allow()).status, 303);
      assert.equal((await user.browser.delete(path)).status, 204);
    }
    const refused = await allow();
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await events()).length, 4, 'nothing more is in the log');
    assert.equal((await allow(await signet.signedInUser())).status, 303);
    signet.clock.advance(1800);
    assert.equal((await allow()).status, 429);
    signet.clock.advance(1800);
    assert.equal((await user.signIn()).status, 303);
    assert.equal((await allow()).status, 303);
    // A client that asks for no consent.
    const plain = await signet.registerClient();
    const disconnect = () => user.browser.delete(`/v1/me/grants/${plain.client_id}`);
    for (let count = 0; count < 2; count += 1) {
      await user.obtainTokens(plain);
      assert.equal((await disconnect()).status, 204);
    }
    await user.obtainTokens(plain);
    assertRefused(await disconnect(), 429, 'rate_limited');
    signet.clock.advance(3600);
    await user.obtainTokens(plain);
    assert.equal((await disconnect()).status, 204);
  },
);
