import assert from 'node:assert/strict';
import { idleGrants } from '../../src/oauth/grants/surplus-grants.store.ts';
import { now } from '../../src/platform/clock.ts';
import type { ClientId, UserId } from '../../src/platform/ids.ts';
import { watchStatements } from '../support/full-scans.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, claimsOf, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { visitedRows, watchReads } from '../support/visited-rows.ts';

const scope = 'openid offline_access';

testSignet('a user has at most 100 active grants to a client: a new one revokes the oldest', async ({ signet }) => {
  const { db } = signet.deps;
  const [client, other] = [await signet.registerClient(), await signet.registerClient()];
  const [user, neighbour] = [await signet.signedInUser(), await signet.signedInUser()];
  const isActive = async (of: RegisteredClient, token: string) => (await of.introspect(token)).json?.active;
  const surplus = () => signet.auditLog({ action: 'grant.revoked', reason: 'surplus' });

  const first = await user.obtainTokens(client, { scope });
  const elsewhere = [
    await user.obtainTokens(other, { scope }),
    await neighbour.obtainTokens(client, { scope }),
  ] as const;
  const oldest = await plain(db).get<{ grant_id: string; session_id: string }>(
    'select grant_id, session_id from grants where client_id = $1 and user_id = $2',
    [client.client_id, user.user_id],
  );
  // 98 later ones, and ten that have expired or whose code was not redeemed, which do not count.
  await plain(db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 108)
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                         code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at)
     select 'gr_' || i, client_id, user_id, session_id, scope, redirect_uri, 'code' || i, code_challenge, code_expires_at,
            case when i <= 103 then redeemed_at end, refresh_seq, case when i between 99 and 103 then 1 else idle_expires_at end,
            expires_at, auth_time, amr, acr, created_at + 1
       from grants, n where grant_id = $1`,
    [oldest!.grant_id],
  );
  signet.clock.advance(2);
  await user.obtainTokens(client, { scope });
  assert.deepEqual([await isActive(client, first.access_token), await surplus()], [true, []]);
  const unused = await plain(db).all(`select 1 from grants where revoked_reason = 'expired'`);
  assert.equal(unused.length, 5, 'those that were not used for too long have ended for good');

  signet.clock.advance(1);
  const newest = await user.obtainTokens(client, { scope });
  assert.equal(await isActive(client, first.access_token), false);
  assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
  const events = await surplus();
  assert.deepEqual(
    events.map(({ actor, target, after_state }) => [actor, target, JSON.parse(String(after_state))]),
    [
      [
        'system',
        oldest!.grant_id,
        { user_id: user.user_id, client_id: client.client_id, session_id: oldest!.session_id },
      ],
    ],
  );
  assert.equal(await isActive(client, newest.access_token), true);
  assert.equal(await isActive(other, elsewhere[0].access_token), true, 'to another client');
  assert.equal(await isActive(client, elsewhere[1].access_token), true, 'of another user');

  // More, from before there was a maximum, are revoked some at a time.
  await plain(db).run(
    'update grants set revoked_at = null, idle_expires_at = expires_at, redeemed_at = created_at where user_id = $1 and client_id = $2',
    [user.user_id, client.client_id],
  );
  signet.clock.advance(1);
  await user.obtainTokens(client, { scope });
  assert.equal((await surplus()).length, 11);
  await user.obtainTokens(client, { scope });
  const left = await plain(db).all(
    'select 1 from grants where user_id = $1 and client_id = $2 and revoked_at is null',
    [user.user_id, client.client_id],
  );
  assert.equal(left.length, 100);

  // The statement that inserts a grant reads no other grant, only the index.
  if (db.engine !== 'sqlite') return;
  const statements = watchStatements(db);
  await user.obtainTokens(client, { scope });
  const insert = statements.values().find(({ sql }) => sql.startsWith('insert into grants'))!;
  const steps = await plain(db).all<{ detail: string }>(`explain query plan ${insert.sql}`, insert.params);
  const [count] = steps.map(({ detail }) => detail).filter((detail) => detail.includes('grants_of_user'));
  assert.match(count ?? '', /COVERING .* \(user_id=\? AND revoked_at=\? AND client_id=\?\)/);
});

/** Each a few milliseconds after the other, all of one second. */
async function withinOneSecond<Made>({ clock }: Signet, count: number, make: () => Promise<Made>): Promise<Made[]> {
  clock.advance(1 - ((clock() / 1000) % 1));
  const made: Made[] = [];
  for (let one = 0; one < count; one += 1) {
    clock.advance(0.005);
    made.push(await make());
  }
  return made;
}

testSignet('of many codes within one second the newest 50 can be redeemed', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const codes = await withinOneSecond(signet, 104, () => user.authorize(client, { scope }));
  for (const code of codes.slice(-50)) tokensOf(await client.redeem(code));
  assertRefused(await client.redeem(codes[0]!), 400, 'invalid_grant');
});

testSignet('of many sign-ins within one second the newest 100 stay', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const tokens = await withinOneSecond(signet, 104, () => user.obtainTokens(client, { scope }));
  const places = [];
  for (const [place, { refresh_token }] of tokens.entries())
    if (!(await client.introspect(refresh_token)).json?.active) places.push(place);
  assert.deepEqual(places, [0, 1, 2, 3]);
});

/** 150 for each that a user has from a session, one a second later than the other. */
const addExpired = ({ deps, clock }: Signet, user_id: string, session_id: string) =>
  plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge, code_expires_at,
                         redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at, expiry_check_at)
     select 'gr_' || client_id || i, client_id, user_id, session_id, scope, redirect_uri, client_id || i, code_challenge,
            code_expires_at, redeemed_at, refresh_seq, idle_expires_at + i, expires_at + i, auth_time, amr, acr, created_at,
            expiry_check_at
       from grants, n where user_id = $1 and session_id = $2 and scope = 'openid' and expires_at < $3`,
    [user_id, session_id, now({ clock })],
  );

testSignet('of the grants that have expired the newest 50 stay', async ({ signet }) => {
  const { db } = signet.deps;
  const client = await signet.registerClient();
  const [user, neighbour] = [await signet.signedInUser(), await signet.signedInUser()];
  const scopes = { scope: 'openid' };
  const { sid } = claimsOf((await user.obtainTokens(client, scopes)).id_token);
  await neighbour.obtainTokens(client, scopes);
  signet.clock.advance(7200);
  await addExpired(signet, user.user_id, String(sid));

  const rows = () =>
    plain(db).all<{ expires_at: number }>('select expires_at from grants where user_id = $1 order by expires_at', [
      user.user_id,
    ]);
  const before = await rows();
  assert.equal(before.length, 151);
  await user.obtainTokens(client, scopes);
  const after = await rows();
  assert.deepEqual(after.slice(0, -1), before.slice(-50));
  assert.ok(after.at(-1)!.expires_at > now({ clock: signet.clock }), 'the one that was just made');
  const others = await plain(db).all('select 1 from grants where user_id = $1', [neighbour.user_id]);
  assert.equal(others.length, 1, 'of another user');
});

testSignet(
  'with back-channel logout, one expired grant of each session also stays, so that the client can be notified',
  async ({ signet }) => {
    const { db } = signet.deps;
    const client = await signet.registerClient({ backchannel_logout_uri: 'https://rp.test/logout' });
    const user = await signet.signedInUser();
    const elsewhere = [await user.signedInElsewhere(), await user.signedInElsewhere()] as const;
    const scopes = { scope: 'openid' };
    const obtained = async (by: Pick<typeof user, 'obtainTokens'>, change?: string) => {
      const { id_token } = await by.obtainTokens(client, scopes);
      const newest = '(select grant_id from grants order by expires_at desc, created_at desc limit 1)';
      if (change) await plain(db).run(`update grants set ${change} where grant_id = ${newest}`);
      signet.clock.advance(1);
      return String(claimsOf(id_token).sid);
    };

    const first = await obtained(elsewhere[0]);
    // None of these notifies when the one before does: it lasts longer, is a test, or is from before the client had a URI.
    await obtained(elsewhere[0], "scope = 'openid offline_access'");
    const test = `'${signet.deps.config.baseUrl}/developer/clients/${client.client_id}/test/callback'`;
    await obtained(elsewhere[0], `redirect_uri = ${test}`);
    await obtained(elsewhere[0], 'expiry_check_at = null');
    const second = await obtained(elsewhere[1]);
    await obtained(elsewhere[1]);
    const own = await obtained(user);
    signet.clock.advance(7200);
    await addExpired(signet, user.user_id, own);

    const rows = () =>
      plain(db).all<{ session_id: string; scope: string; expiry_check_at: number | null }>(
        'select session_id, scope, expiry_check_at from grants order by expires_at',
      );
    assert.equal((await rows()).length, 157);
    await obtained(user);
    const left = await rows();
    const old = left.slice(0, -51);
    assert.deepEqual(
      old.map(({ session_id, scope, expiry_check_at }) => [session_id, scope, expiry_check_at !== null]),
      [
        [first, 'openid', true],
        [first, 'openid offline_access', true],
        [first, 'openid', false],
        [second, 'openid', true],
      ],
    );
    assert.ok(left.slice(-51).every(({ session_id }) => session_id === own));

    const notified = async () => {
      await signet.runJobs();
      const deliveries = await plain(db).all<{ session_id: string }>('select session_id from logout_deliveries');
      await plain(db).run('delete from logout_deliveries');
      return [...new Set(deliveries.map(({ session_id }) => session_id))].toSorted();
    };
    await elsewhere[1].browser.post('/signout');
    assert.deepEqual(
      await notified(),
      [first, second].toSorted(),
      'of the first through the grant with offline_access',
    );
    signet.clock.advance(400 * 24 * 3600);
    assert.deepEqual(await notified(), [first, own].toSorted(), 'once the sessions have expired');
  },
);

testSignet('an expired grant that is revoked in bulk stays until its client can be notified', async ({ signet }) => {
  const client = await signet.registerClient({ backchannel_logout_uri: 'https://rp.test/logout' });
  const user = await signet.signedInUser();
  const { sid } = claimsOf((await user.obtainTokens(client, { scope: 'openid' })).id_token);
  signet.clock.advance(7200);
  await user.obtainTokens(client, { scope: 'openid' }); // one that can be revoked
  await addExpired(signet, user.user_id, String(sid));
  const count = async () => (await plain(signet.deps.db).all('select 1 from grants')).length;
  assert.equal(await count(), 152);
  assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
  await user.obtainTokens(client, { scope: 'openid' });
  assert.equal(await count(), 153);
  await signet.runJobs();
  const deliveries = await plain(signet.deps.db).all<{ session_id: string }>(
    'select session_id from logout_deliveries',
  );
  assert.deepEqual(
    deliveries.map(({ session_id }) => session_id),
    [sid],
  );
});

testSignet(
  'an expired grant stays while its client has no URI to be notified at, which it had before',
  async ({ signet }) => {
    const { db } = signet.deps;
    const uri = 'https://rp.test/logout';
    const client = await signet.registerClient({ backchannel_logout_uri: uri });
    const user = await signet.signedInUser();
    const { sid } = claimsOf((await user.obtainTokens(client, { scope: 'openid' })).id_token);
    signet.clock.advance(7200);
    await addExpired(signet, user.user_id, String(sid));
    const setUri = (to: string | null) => plain(db).run('update clients set backchannel_logout_uri = $1', [to]);
    await setUri(null);
    await user.obtainTokens(client, { scope: 'openid' });
    const count = async () => (await plain(db).all('select 1 from grants')).length;
    assert.equal(await count(), 152);
    await setUri(uri);
    await user.obtainTokens(client, { scope: 'openid' });
    assert.equal(await count(), 52);
  },
);

testSignet(
  'what is surplus is found among a bounded part of what a user has, also of thousands',
  async ({ signet }) => {
    const { db } = signet.deps;
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    await user.obtainTokens(client, { scope });
    // From before there was a maximum: of each kind, codes and active grants, in turn.
    await plain(db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                         code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at)
     select 'gr_' || i, client_id, user_id, session_id, scope, redirect_uri, 'code' || i, code_challenge, code_expires_at,
            case when i % 2 = 0 then redeemed_at end, refresh_seq, idle_expires_at, expires_at + i, auth_time, amr, acr, created_at
       from grants, n where user_id = $1`,
      [user.user_id],
    );
    await plain(db).run('analyze');
    const reads = watchReads(db);
    const code = await user.authorize(client, { scope });
    await client.redeem(code);
    const found = [...reads.values()].filter(({ sql }) => / as found\b/.test(sql));
    assert.ok(found.length >= 3, `${found.length} reads`);
    const { sql, params } = idleGrants(user.user_id as UserId, client.client_id as ClientId, now(signet.deps)); // in a change
    found.push({ sql, params, part: db.of(user.user_id) });
    if (db.engine === 'postgres') {
      for (const { sql, rows } of await visitedRows(found)) assert.ok(rows <= 2000, `${rows} rows: ${sql}`);
      return;
    }
    for (const { sql, params } of found) {
      const steps = await plain(db).all<{ detail: string }>(`explain query plan ${sql}`, params);
      const plan = steps.map(({ detail }) => detail);
      const ofGrants = plan.filter((detail) => /(?:SEARCH|SCAN) grants\b/.test(detail));
      assert.ok(
        ofGrants.length > 0 && ofGrants.every((detail) => /grants_of_user \(user_id=\?|\(grant_id=\?\)/.test(detail)),
        plan.join(),
      );
    }
  },
);
