import assert from 'node:assert/strict';
import { ada, asReviewer, eventsOf, openClients, refusedWith } from '../../test/support/clients.ts';
import { onBothEngines } from '../../test/support/databases.ts';
import { finishDeletions } from '../../test/support/deletions.ts';
import { plain } from '../../test/support/plain-sql.ts';
import type { Db } from '../platform/db/db.ts';
import { RequestError } from '../platform/errors.ts';
import { deleteClient } from './delete-client.ts';
import { countNeedingReview, findAnyClient, findClients } from './find-clients.ts';
import { clientReview } from './read-review.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from './review-client.ts';

onBothEngines(
  'an approval lets the client start logins, under the consent and retry window it names',
  async (t, engine) => {
    const { deps, register } = await openClients(t, engine);
    const { client } = await register();
    const approval = { revision: 1, consent: 'required', refresh_retry_window: 60 } as const;
    const approved = await approveClient(deps, asReviewer(client), approval);
    assert.deepEqual(
      [approved.status, approved.consent, approved.refresh_retry_window, approved.revision],
      ['approved', 'required', 60, 1],
    );
    assert.deepEqual(await findAnyClient(deps, client.client_id), approved);
    for (const refresh_retry_window of [-1, 61, 1.5, Number.NaN]) {
      await assert.rejects(approveClient(deps, asReviewer(client), { revision: 1, refresh_retry_window }), /fields/);
    }
  },
);

onBothEngines('an approval names the revision that was read', async (t, engine) => {
  const { deps, register, edit } = await openClients(t, engine);
  const { client } = await register();
  await edit(client, { redirect_uris: ['https://evil.test/cb'] });
  const late = approveClient(deps, asReviewer(client), { revision: 1 });
  await assert.rejects(late, refusedWith('stale_revision', { stored_revision: 2 }));
  assert.equal((await approveClient(deps, asReviewer(client), { revision: 2 })).status, 'approved');
});

onBothEngines('every step is refused outside of its state, which the refusal names', async (t, engine) => {
  const { deps, register } = await openClients(t, engine);
  const { client } = await register();
  const on = asReviewer(client);
  const steps = {
    approve: () => approveClient(deps, on, { revision: 1 }),
    reject: () => rejectClient(deps, on, 'No.'),
    suspend: () => suspendClient(deps, on, 'No.'),
    reinstate: () => reinstateClient(deps, on),
  };
  const refuses = async (current_status: string, ...names: (keyof typeof steps)[]) => {
    for (const name of names)
      await assert.rejects(steps[name](), refusedWith('invalid_state', { current_status }), name);
  };
  await refuses('pending_review', 'suspend', 'reinstate');
  await steps.approve();
  await refuses('approved', 'approve', 'reject', 'reinstate');
  await steps.suspend();
  await refuses('suspended', 'approve', 'reject', 'suspend');
  await steps.reinstate();
  await refuses('approved', 'approve', 'reject', 'reinstate');
  const { client: other } = await register();
  on.client_id = other.client_id;
  await steps.reject();
  await refuses('rejected', 'approve', 'reject', 'suspend', 'reinstate');
});

onBothEngines('a reason is given, and is readable', async (t, engine) => {
  const { deps, approved } = await openClients(t, engine);
  const client = await approved();
  for (const reason of ['', '  ', 'x'.repeat(501), 'a\0b', 'a\u202eb']) {
    await assert.rejects(suspendClient(deps, asReviewer(client), reason), refusedWithReasonField);
    await assert.rejects(rejectClient(deps, asReviewer(client), reason), refusedWithReasonField);
  }
  assert.equal(
    (await suspendClient(deps, asReviewer(client), ' Phishing,\r\nreported. ')).status_reason,
    'Phishing,\nreported.',
  );
});
const refusedWithReasonField = (error: unknown) =>
  error instanceof RequestError && JSON.stringify(error.details).includes('"path":"reason"');

onBothEngines('a rejected client that is edited waits again', async (t, engine) => {
  const { deps, register, edit } = await openClients(t, engine);
  const { client } = await register();
  const rejected = await rejectClient(deps, asReviewer(client), 'Which product is it?');
  assert.deepEqual([rejected.status, rejected.status_reason], ['rejected', 'Which product is it?']);
  const edited = await edit(rejected, { name: 'Ledger' });
  assert.deepEqual(
    [edited.status, edited.status_reason, edited.revision, edited.name, edited.pending_change],
    ['pending_review', null, 2, 'Ledger', null],
  );
  assert.deepEqual(await edit(edited, { name: 'Ledger' }), edited, 'nothing changed');
  const again = await rejectClient(deps, asReviewer(client), 'Its home page says nothing.');
  const same = await edit(again, { name: 'Ledger' });
  assert.deepEqual([same.status, same.revision, same.status_reason], ['pending_review', 3, null], 'the page is mended');
});

onBothEngines('an approved client goes on as reviewed while its edits wait', async (t, engine) => {
  const { deps, approved, edit } = await openClients(t, engine);
  const client = await approved();
  const redirect_uris = ['https://rp.test/cb2'];
  await edit(client, { redirect_uris, name: 'Renamed' });
  const staged = await edit(client, { logo_url: 'https://rp.test/l.png', name: 'App' });
  assert.deepEqual(staged.redirect_uris, client.redirect_uris);
  assert.deepEqual([staged.status, staged.revision], ['approved', 3]);
  assert.deepEqual(staged.pending_change, { redirect_uris, logo_url: 'https://rp.test/l.png' });
  const { clients } = await findClients(deps, { listing: 'pending_change' });
  assert.deepEqual(clients, [{ ...staged, secrets: [] }]);

  await assert.rejects(
    approveClient(deps, asReviewer(client), { revision: 2 }),
    refusedWith('stale_revision', { stored_revision: 3 }),
  );
  const after = await approveClient(deps, asReviewer(client), { revision: 3 });
  assert.deepEqual(
    [after.redirect_uris, after.logo_url, after.name, after.pending_change, after.consent],
    [redirect_uris, 'https://rp.test/l.png', 'App', null, 'skip'],
  );
  assert.deepEqual(await findAnyClient(deps, client.client_id), after);
});

onBothEngines('a change that waits can be turned down or taken back', async (t, engine) => {
  const { deps, approved, edit } = await openClients(t, engine);
  const client = await approved();
  await edit(client, { name: 'Bank' });
  const turnedDown = await rejectClient(deps, asReviewer(client), 'You are no bank.');
  assert.deepEqual(
    [turnedDown.status, turnedDown.name, turnedDown.pending_change, turnedDown.status_reason],
    ['approved', 'App', null, 'You are no bank.'],
  );
  await edit(client, { name: 'Shop' });
  const takenBack = await edit(client, { name: 'App' });
  // A reviewer who read the change that is gone must not approve the next one by its number.
  assert.deepEqual([takenBack.pending_change, takenBack.revision], [null, 4]);
  const next = await edit(client, { name: 'Casino' });
  await assert.rejects(
    approveClient(deps, asReviewer(client), { revision: 3 }),
    refusedWith('stale_revision', { stored_revision: next.revision }),
  );
  await edit(client, { name: 'App' });
  await assert.rejects(
    approveClient(deps, asReviewer(client), { revision: takenBack.revision }),
    refusedWith('invalid_state', { current_status: 'approved' }),
  );
});

onBothEngines(
  'an edit of a suspended client waits: a reinstatement brings back what was reviewed',
  async (t, engine) => {
    const { deps, approved, edit } = await openClients(t, engine);
    const client = await approved();
    await suspendClient(deps, asReviewer(client), 'Phishing.');
    await edit(client, { redirect_uris: ['https://evil.test/cb'] });
    for (const listing of ['waiting', 'pending_change'] as const) {
      assert.deepEqual((await findClients(deps, { listing })).clients, [], 'it cannot be decided');
    }
    assert.deepEqual(await countNeedingReview(deps), { pending: 0, changes: 0 });
    const reinstated = await reinstateClient(deps, asReviewer(client));
    assert.deepEqual([reinstated.status, reinstated.redirect_uris], ['approved', client.redirect_uris]);
    assert.deepEqual(await countNeedingReview(deps), { pending: 0, changes: 1 });
  },
);

onBothEngines('a review compares with the clients as they are, however often it is opened', async (t, engine) => {
  const { deps, approved, register, pass } = await openClients(t, engine);
  const { client } = await register({ name: 'Ledgerly Books' }, 'usr_eve');
  const isAlike = async () =>
    (await clientReview(deps, client.client_id)).risks.some(({ code }) => code === 'name_resembles_client');
  const open = async () => {
    const first = await isAlike();
    assert.equal(await isAlike(), first);
    return first;
  };
  pass(10);
  assert.equal(await open(), false);
  const alike = await approved({ name: 'Ledgerly Book' });
  assert.equal(await open(), true);
  pass(10);
  assert.equal(await open(), true);
  await suspendClient(deps, asReviewer(alike), 'Phishing.');
  assert.equal(await open(), false);
  pass(10);
  await reinstateClient(deps, asReviewer(alike));
  assert.equal(await open(), true, 'changed in the second in which it is read');
});

onBothEngines('an edit that names another revision than the stored one is refused', async (t, engine) => {
  const { register, edit } = await openClients(t, engine);
  const { client } = await register();
  await edit(client, { name: 'Two' }, 1);
  await assert.rejects(edit(client, { name: 'Three' }, 1), refusedWith('stale_revision', { stored_revision: 2 }));
});

onBothEngines('a name is compared with those that are approved by now', async (t, engine) => {
  const { deps, approved, register, edit } = await openClients(t, engine);
  const client = await approved({ name: 'Melon Market' });
  const twin = await register({ name: 'Me1on Markët' }, 'usr_eve');
  const resembles = async () =>
    (await clientReview(deps, twin.client.client_id)).risks.some(({ code }) => code === 'name_resembles_client');
  assert.equal(await resembles(), true);
  await edit(client, { name: 'Weather' });
  assert.equal(await resembles(), true, 'the other name is not approved');
  await approveClient(deps, asReviewer(client), { revision: 2 });
  assert.equal(await resembles(), false);
});

const insertGrant = (db: Db, grant_id: string, client_id: string) =>
  plain(db).run(
    `insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
       code_expires_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at)
     values ($1, $2, 'usr_ada', 'ses_1', 'openid', 'https://rp.test/cb', $1, 'x', 1, 0, 1, 1, 1, 'pwd', '0', 1)`,
    [grant_id, client_id],
  );

onBothEngines('a suspension revokes the grants of that client, for good', async (t, engine) => {
  const { db, deps, approved, at, pass } = await openClients(t, engine);
  const client = await approved();
  const other = await approved();
  await insertGrant(db, 'gr_1', client.client_id);
  await insertGrant(db, 'gr_2', other.client_id);
  const ends = async () =>
    (
      await plain(db).all<{ grant_id: string; revoked_at: number | null; revoked_reason: string | null }>(
        'select grant_id, revoked_at, revoked_reason from grants order by grant_id',
      )
    ).map(({ grant_id, revoked_at, revoked_reason }) => [grant_id, revoked_at, revoked_reason]);
  await suspendClient(deps, asReviewer(client), 'Phishing.');
  const first = ['gr_1', at(), 'client_suspended'];
  const untouched = ['gr_2', null, null];
  assert.deepEqual(await ends(), [first, untouched]);
  // Another node was writing this one at the instant of the suspension, which did not see it.
  await insertGrant(db, 'gr_3', client.client_id);
  pass(1);
  await reinstateClient(deps, asReviewer(client));
  assert.deepEqual(await ends(), [first, untouched, ['gr_3', at(), 'client_suspended']]);
});

onBothEngines('a deleted client is gone with its secrets and grants; the log keeps what it was', async (t, engine) => {
  const { db, deps, approved, pass } = await openClients(t, engine);
  const client = await approved();
  await insertGrant(db, 'gr_1', client.client_id);
  pass(1);
  const target = { client_id: client.client_id, owner_user_id: 'usr_ada', caller: ada };
  await deleteClient(deps, target);
  await finishDeletions(deps);
  for (const table of ['clients', 'client_secrets', 'grants'])
    assert.deepEqual(await plain(db).all(`select * from ${table}`), []);
  assert.equal(await deps.clients.find(client.client_id), undefined);
  await assert.rejects(deleteClient(deps, target), refusedWith('not_found'));
  const last = (await eventsOf(db, client)).at(-1);
  assert.deepEqual([last?.action, last?.after_state], ['client.deleted', null]);
  assert.equal(JSON.parse(last?.before_state ?? '{}').name, 'App');
});

onBothEngines('every step is in the log, with who did it, from where, why, and what changed', async (t, engine) => {
  const { db, deps, register, edit, pass } = await openClients(t, engine);
  const { client } = await register();
  const steps = [
    () => edit(client, { name: 'Two' }),
    () => approveClient(deps, asReviewer(client), { revision: 2 }),
    () => edit(client, { name: 'Three' }),
    () => approveClient(deps, asReviewer(client), { revision: 3, consent: 'required' }),
    () => suspendClient(deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing.'),
    () => reinstateClient(deps, asReviewer(client)),
  ];
  for (const step of steps) {
    pass(1);
    await step();
  }
  const events = await eventsOf(db, client);
  assert.deepEqual(
    events.map(({ action, actor, address, reason }) => [action, actor, address, reason]),
    [
      ['client.registered', 'user:usr_ada', '192.0.2.1', null],
      ['client.edited', 'user:usr_ada', '192.0.2.1', null],
      ['client.approved', 'user:usr_root', '192.0.2.2', null],
      ['client.change_requested', 'user:usr_ada', '192.0.2.1', null],
      ['client.change_approved', 'user:usr_root', '192.0.2.2', null],
      ['client.suspended', 'cli', null, 'Phishing.'],
      ['client.reinstated', 'user:usr_root', '192.0.2.2', null],
    ],
  );
  assert.deepEqual(JSON.parse(events[4]?.before_state ?? ''), {
    name: 'Two',
    consent: 'skip',
    pending_change: { name: 'Three' },
  });
  assert.deepEqual(JSON.parse(events[4]?.after_state ?? ''), {
    name: 'Three',
    consent: 'required',
    pending_change: null,
  });
});

onBothEngines('of many administrators at once one approves, and the log says so once', async (t, engine) => {
  const { db, deps, register } = await openClients(t, engine);
  const { client } = await register();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 16 }, () => approveClient(deps, asReviewer(client), { revision: 1 })),
  );
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') refusedWith('invalid_state', { current_status: 'approved' })(outcome.reason);
  }
  const actions = (await eventsOf(db, client)).map(({ action }) => action);
  assert.deepEqual(actions.sort(), ['client.approved', 'client.registered']);
});

onBothEngines('concurrent edits and approvals never approve a revision that was not read', async (t, engine) => {
  const { db, deps, register, edit } = await openClients(t, engine);
  const { client } = await register();
  await Promise.allSettled([
    edit(client, { redirect_uris: ['https://evil.test/cb'] }),
    approveClient(deps, asReviewer(client), { revision: 1 }),
    edit(client, { name: 'Bank' }),
  ]);
  const { status, name, redirect_uris } = await findAnyClient(deps, client.client_id);
  if (status === 'approved') assert.deepEqual([name, redirect_uris], ['App', ['https://rp.test/cb']]);
  const logged = (await eventsOf(db, client)).length;
  const applied = (await findAnyClient(deps, client.client_id)).revision + (status === 'approved' ? 1 : 0);
  assert.equal(logged, applied, 'an event for each change, and none besides');
});
