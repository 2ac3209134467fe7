import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMember } from '../../src/groups/change-members.ts';
import { now } from '../../src/platform/clock.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import type { UserId } from '../../src/platform/ids.ts';
import { pace } from '../../src/platform/pace.ts';
import { maxWaiting } from '../../src/signals/store.ts';
import { signalGroupChanges } from '../../src/signals/tell-members.ts';
import { newGroup } from '../support/groups.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { plain } from '../support/plain-sql.ts';
import { poll, type SignalClient, signalApp, signalClient } from '../support/signal-receiver.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

const claimsChange = 'https://schemas.openid.net/secevent/caep/event-type/token-claims-change';
const wanted = { events_requested: [claimsChange], delivery: { method: poll } };
type Stream = Awaited<ReturnType<SignalClient['create']>>;

/** What the receiver has got since it asked last: users, with the groups that they are said to have. */
async function heard(client: SignalClient, stream: Stream): Promise<[user_id: unknown, groups: unknown][]> {
  const got: [unknown, unknown][] = [];
  for (;;) {
    const { sets } = await client.poll(stream);
    const ids = Object.keys(sets);
    if (ids.length === 0) return got.sort(([one], [other]) => `${one}`.localeCompare(`${other}`));
    for (const text of Object.values(sets)) {
      const { events, sub_id } = await client.read(text);
      const user = (sub_id.user ?? sub_id) as { sub?: string };
      got.push([user.sub, (events[claimsChange] as { claims: { groups?: unknown } }).claims.groups]);
    }
    await client.poll(stream, { ack: ids, maxEvents: 0 });
  }
}

const byId = (users: readonly { user_id: string }[]) =>
  users.map(({ user_id }) => user_id).sort((one, other) => one.localeCompare(other));

inEachStore(
  'the members of a group that is renamed or deleted have another claim, and nobody else',
  {},
  async (_t, signet) => {
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const users = [await signet.signedInUser(), await signet.signedInUser(), await signet.signedInUser()];
    const stranger = await signet.signedInUser();
    const { group_id } = await newGroup(signet, 'Editors', users);
    await newGroup(signet, 'Readers', [stranger]);
    await signet.runJobs();
    const receiver = await signalClient(signet);
    const stream = await receiver.create(wanted);
    const app = await signalApp(signet, { allowed_scopes: ['openid', 'groups'] });
    const ownStream = await app.create(wanted);
    const without = await signalApp(signet, { allowed_scopes: ['openid'] });
    const noClaim = await without.create(wanted);
    await users[0]!.obtainTokens(app.client, { scope: 'openid groups' });
    await users[0]!.obtainTokens(without.client, { scope: 'openid' });

    const group = `/v1/admin/groups/${group_id}`;
    assert.equal((await browser.patch(group, { name: 'Authors' })).status, 200);
    await signet.runJobs();
    assert.deepEqual(
      await heard(receiver, stream),
      byId(users).map((id) => [id, ['Authors']]),
    );
    assert.deepEqual(await heard(app, ownStream), [[users[0]!.user_id, ['Authors']]], 'an app hears of its own user');
    assert.deepEqual(await heard(without, noClaim), [], 'which does not read groups');
    assert.equal((await browser.patch(group, { description: 'Who write.' })).status, 200);
    await signet.runJobs();
    assert.deepEqual(await heard(receiver, stream), [], 'no claim has the description');

    assert.equal((await browser.delete(group)).status, 204);
    await signet.runJobs();
    const left = byId(users).map((id) => [id, []]);
    assert.deepEqual(await heard(receiver, stream), left);
    assert.deepEqual(await heard(app, ownStream), [[users[0]!.user_id, []]]);
    for (const table of ['group_changes', 'groups'])
      assert.deepEqual(await plain(signet.deps.db).all(`select * from ${table} where group_id = $1`, [group_id]), []);
  },
);

const many = 120;

/** As many members as take some slices, beside those who have signed up. */
async function fill({ deps }: Signet, group_id: string): Promise<void> {
  const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})`;
  for (const statement of [
    `insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of)
     ${rows} select 'usr_' || (1000 + i), i || '@many.test', i || '@many.test', 'user', 1, 1, 1 from n`,
    `insert into group_members (group_id, user_id, added_at) ${rows} select '${group_id}', 'usr_' || (1000 + i), 1 from n`,
  ])
    await plain(deps.db).run(statement);
}

testSignet(
  'a large group is done in slices, which go on after a kill, and beside which a small one is not late',
  async ({ signet, t }) => {
    if (signet.deps.db.parts.length > 1) return t.skip('ids of one part');
    const { deps } = signet;
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const large = await newGroup(signet, 'Everybody');
    const small = await newGroup(signet, 'Editors');
    await fill(signet, large.group_id);
    await addMember(deps, { actor: 'cli' }, small.group_id, user.user_id);
    await signet.runJobs();
    const receiver = await signalClient(signet);
    const stream = await receiver.create(wanted);
    for (const [one, name] of [
      [large, 'All'],
      [small, 'Authors'],
    ] as const) {
      assert.equal((await browser.patch(`/v1/admin/groups/${one.group_id}`, { name })).status, 200);
      signet.clock.advance(1);
    }
    await deps.auditLog.seal();

    const killed = new AbortController();
    let slices = 0;
    const { slices: sliced } = pace;
    t.mock.method(pace, 'slices', (most?: number) => {
      const run = sliced(most);
      return ((work) => {
        if (++slices === 2) killed.abort();
        return run(work);
      }) as typeof run;
    });
    assert.equal(await signalGroupChanges(deps, killed.signal), false);
    t.mock.restoreAll();
    const first = await heard(receiver, stream);
    assert.ok(
      first.some(([id]) => id === user.user_id),
      'the small one had its turn',
    );
    assert.ok(first.length > 1 && first.length < many, `${first.length}`);
    // As if the process had ended before it noted how far it was.
    await plain(deps.db).run(`update group_changes set after_user_id = ''`);
    assert.equal(await signalGroupChanges(deps), true);
    const all = [...first, ...(await heard(receiver, stream))];
    assert.equal(all.length, many + 1, 'each once');
    assert.equal(new Set(all.map(([id]) => id)).size, many + 1);
    assert.deepEqual(await plain(deps.db).all('select * from group_changes'), []);
  },
);

test('while a part of the store is away the members in the others are not late', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', cells: 4 });
  const { deps } = signet;
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const { group_id } = await newGroup(signet, 'Editors', [user]);
  await signet.runJobs();
  const receiver = await signalClient(signet);
  const stream = await receiver.create(wanted);
  const [shared, ...cells] = deps.db.parts;
  const away = cells.find((part) => part !== deps.db.of(user.user_id as UserId))!;
  // More than a run reads at once, and older.
  await plain(shared!).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
     insert into group_changes (event_id, part, group_id, action, actor, changed_at, after_user_id)
     select 'evt_' || i, $1, 'grp_' || i, 'group.edited', 'cli', 1, '' from n`,
    [away.schema!],
  );
  assert.equal((await browser.patch(`/v1/admin/groups/${group_id}`, { name: 'Authors' })).status, 200);
  const bringBack = beforeEachCall(away, () => {
    throw new StoreUnavailable('This part is away.');
  });
  await assert.rejects(signalGroupChanges(deps), /This part is away\./);
  bringBack();
  assert.deepEqual(await heard(receiver, stream), [[user.user_id, ['Authors']]]);
  for (let run = 0; run < 2; run += 1) assert.equal(await signalGroupChanges(deps), true);
  assert.deepEqual(await plain(shared!).all('select * from group_changes'), []);
  assert.deepEqual(await heard(receiver, stream), [], 'once');
});

testSignet('members wait for a stream that is half full, for an hour at most', async ({ signet, t }) => {
  if (signet.deps.db.parts.length > 1) return t.skip('ids of one part');
  const { deps, clock } = signet;
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const { group_id } = await newGroup(signet, 'Editors', [user]);
  await signet.runJobs();
  const stream = await (await signalClient(signet)).create(wanted);
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxWaiting / 2})
     insert into signal_deliveries (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, next_attempt_at)
     select 'msg_' || i, $1, 'usr_other', 'evt_' || i, 0, 'token-claims-change', '{"members":{}}', cast($2 as bigint), 0, cast($2 as bigint) from n`,
    [stream.stream_id, now(deps)],
  );
  assert.equal((await browser.patch(`/v1/admin/groups/${group_id}`, { name: 'Authors' })).status, 200);
  const queued = () =>
    plain(deps.db).all(`select delivery_id from signal_deliveries where user_id = $1 and stream_id = $2`, [
      user.user_id,
      stream.stream_id,
    ]);
  assert.equal(await signalGroupChanges(deps), true);
  assert.equal((await queued()).length, 0);
  clock.advance(3600);
  assert.equal(await signalGroupChanges(deps), true);
  assert.equal((await queued()).length, 1);
});
