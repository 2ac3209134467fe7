import assert from 'node:assert/strict';
import { ada, asReviewer, openClients, refusedWith } from '../../test/support/clients.ts';
import { onBothEngines } from '../../test/support/databases.ts';
import { interleave } from '../../test/support/store-spy.ts';
import { runJobs } from '../app/jobs.ts';
import type { Deps } from '../oauth/deps.ts';
import { dangerousSkewSeconds } from '../platform/processes.ts';
import { deleteClient } from './delete-client.ts';
import { findAnyClient } from './find-clients.ts';
import { clientReview } from './read-review.ts';
import { suspendClient } from './review-client.ts';

const memory = ['owner_has_suspended_client', 'suspended_client_name', 'suspended_client_host'];

onBothEngines(
  'its owner does not delete a suspended client, nor one that is suspended this moment',
  async (t, engine) => {
    const { deps, approved } = await openClients(t, engine);
    const client = await approved();
    const target = { client_id: client.client_id, owner_user_id: 'usr_ada', caller: ada };
    const suspended = refusedWith('invalid_state', { current_status: 'suspended' });
    // Suspended between what the deletion has read and what it writes.
    const stop = interleave(deps.db, () => suspendClient(deps, asReviewer(client), 'Phishing.'));
    await assert.rejects(deleteClient(deps, target), suspended);
    stop();
    await assert.rejects(deleteClient(deps, target), suspended);
    await assert.rejects(deleteClient(deps, { ...target, owner_user_id: 'usr_eve' }), refusedWith('not_found'));
    assert.equal((await findAnyClient(deps, client.client_id)).status, 'suspended');
  },
);

onBothEngines(
  'a suspension is remembered after an administrator deleted the client, for two years',
  async (t, engine) => {
    const { deps, approved, register, pass } = await openClients(t, engine);
    const risks = async (client_id: string) =>
      (await clientReview(deps, client_id)).risks.map(({ code }) => code).filter((code) => memory.includes(code));
    const harmless = await approved({ redirect_uris: ['https://other.test/cb'] });
    await deleteClient(deps, asReviewer(harmless));
    const client = await approved();
    await suspendClient(deps, asReviewer(client), 'Phishing.');
    await deleteClient(deps, asReviewer(client));
    const again = await register();
    assert.deepEqual(await risks(again.client.client_id), memory);
    const twin = await register({}, 'usr_eve');
    assert.deepEqual(await risks(twin.client.client_id), memory.slice(1));
    const elsewhere = await register({ name: 'Weather', redirect_uris: ['https://other.test/cb'] }, 'usr_eve');
    assert.deepEqual(await risks(elsewhere.client.client_id), [], 'what was never suspended leaves no memory');

    const settled = { ...deps, timekeeper: { isSettled: () => true } } as unknown as Deps;
    const purge = () => runJobs(settled, ['purge recorded suspensions']);
    pass(730 * 86_400 + dangerousSkewSeconds);
    await purge();
    assert.deepEqual(await risks(again.client.client_id), memory);
    pass(1);
    await purge();
    assert.deepEqual(await risks(again.client.client_id), []);
  },
);
