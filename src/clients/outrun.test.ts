import assert from 'node:assert/strict';
import { asReviewer, eventsOf, openClients, refusedWith } from '../../test/support/clients.ts';
import { onBothEngines } from '../../test/support/databases.ts';
import { interleave } from '../../test/support/store-spy.ts';
import { RequestError } from '../platform/errors.ts';
import type { Client } from './client.ts';
import { deleteClient } from './delete-client.ts';
import { findAnyClient } from './find-clients.ts';
import { reinstateClient, rejectClient, suspendClient } from './review-client.ts';

/** An owner must not be able to prevent a suspension by editing the client without pause. */

onBothEngines(
  'an edit before every single write does not put off a suspension, a reinstatement or an end',
  async (t, engine) => {
    const { deps, approved, edit } = await openClients(t, engine);
    const client = await approved();
    let edits = 0;
    let isEnding = false;
    const stop = interleave(deps.db, async () => {
      edits += 1;
      await edit(client, { name: `App ${edits}` }).catch((error: unknown) => {
        if (!isEnding || deps.db.parts.length === 1) throw error;
        refusedWith('not_found')(error); // in several parts its grants end after it
      });
    });
    assert.equal((await suspendClient(deps, asReviewer(client), 'Phishing.')).status, 'suspended');
    assert.equal((await findAnyClient(deps, client.client_id)).pending_change?.name, `App ${edits}`, 'no edit is lost');
    assert.equal((await reinstateClient(deps, asReviewer(client))).status, 'approved');
    isEnding = true;
    await deleteClient(deps, asReviewer(client));
    stop();
    if (deps.db.parts.length === 1) assert.equal(edits, 3);
    else assert.ok(edits > 3, 'each part has a change of its own');
    await assert.rejects(findAnyClient(deps, client.client_id), refusedWith('not_found'));
    const actions = (await eventsOf(deps.db, client)).map(({ action }) => action);
    for (const action of ['client.suspended', 'client.reinstated', 'client.deleted']) {
      assert.equal(actions.filter((one) => one === action).length, 1, action);
    }
  },
);

onBothEngines('a suspension is made once while dozens of edits run', async (t, engine) => {
  const { deps, approved, edit } = await openClients(t, engine);
  const client = await approved();
  let stopped = false;
  const editing = Array.from({ length: 24 }, async (_, worker) => {
    for (let round = 0; !stopped && round < 200; round += 1) {
      await edit(client, { name: `App ${worker} ${round}` }).catch((error: unknown) => {
        assert.ok(error instanceof RequestError && error.code === 'stale_revision', String(error));
      });
    }
  });
  const suspensions = await Promise.allSettled(
    Array.from({ length: 4 }, () => suspendClient(deps, asReviewer(client), 'Phishing.')),
  );
  stopped = true;
  await Promise.all(editing);
  assert.equal(suspensions.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const one of suspensions) {
    if (one.status === 'rejected') refusedWith('invalid_state', { current_status: 'suspended' })(one.reason);
  }
  const after: Client = await findAnyClient(deps, client.client_id);
  assert.deepEqual([after.status, after.status_reason], ['suspended', 'Phishing.']);
});

onBothEngines('of two who end a client at once, one does', async (t, engine) => {
  const { deps, approved } = await openClients(t, engine);
  const client = await approved();
  const ends = await Promise.allSettled([1, 2, 3].map(() => deleteClient(deps, asReviewer(client))));
  assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal((await eventsOf(deps.db, client)).filter(({ action }) => action === 'client.deleted').length, 1);
});

onBothEngines('a rejection that names a revision is of that one', async (t, engine) => {
  const { deps, register, edit } = await openClients(t, engine);
  const { client } = await register();
  await edit(client, { name: 'Harmless' });
  const late = rejectClient(deps, asReviewer(client), 'Phishing.', 1);
  await assert.rejects(late, refusedWith('stale_revision', { stored_revision: 2 }));
  assert.equal((await rejectClient(deps, asReviewer(client), 'Phishing.', 2)).status, 'rejected');
});
