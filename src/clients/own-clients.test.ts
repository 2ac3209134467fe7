import assert from 'node:assert/strict';
import { asReviewer, openClients, refusedWith } from '../../test/support/clients.ts';
import { onBothEngines } from '../../test/support/databases.ts';
import { plain } from '../../test/support/plain-sql.ts';
import type { Caller } from '../audit/audit.ts';
import { matchesActiveSecret } from '../platform/ids.ts';
import { type Client, reviewedRecord } from './client.ts';
import { deleteClient } from './delete-client.ts';
import { editClient } from './edit-client.ts';
import { findAnyClient, findClients, findOwnClient, listOwnClients } from './find-clients.ts';
import { rejectClient } from './review-client.ts';

const hour = 3600;

onBothEngines('a new client waits for review, belongs to its owner, and shows its secret once', async (t, engine) => {
  const { db, deps, register, at } = await openClients(t, engine);
  const { client, client_secret } = await register({ logo_url: 'https://rp.test/l.png' });
  assert.match(client.client_id, /^cl_[\w-]{22}$/);
  assert.match(client_secret ?? '', /^cs_[\w-]{43}$/);
  assert.equal(client.status, 'pending_review');
  assert.equal(client.owner_user_id, 'usr_ada');
  const stored = await findOwnClient(deps, client.client_id, 'usr_ada');
  assert.deepEqual(stored, client);
  assert.deepEqual(await listOwnClients(deps, 'usr_ada'), [{ ...client, secrets: [] }]);

  assert.equal(matchesActiveSecret(stored.secrets, client_secret ?? '', at()), true);
  for (const wrong of ['', 'cs_', `${client_secret}x`, stored.secrets[0]?.secret_hash ?? '', 'é'.repeat(9)]) {
    assert.equal(matchesActiveSecret(stored.secrets, wrong, at()), false);
  }
  const everything = [await plain(db).all('select * from clients'), await plain(db).all('select * from audit_log')];
  const digest = stored.secrets[0]?.secret_hash ?? 'none';
  for (const record of [everything, reviewedRecord(stored)]) {
    assert.ok(!JSON.stringify(record).includes(client_secret ?? 'none'));
    assert.ok(!JSON.stringify(record).includes(digest));
  }
});

onBothEngines('a public client has no secret, and none is right', async (t, engine) => {
  const { register, at } = await openClients(t, engine);
  const { client, client_secret } = await register({ client_type: 'public' });
  assert.equal(client_secret, null);
  assert.equal(matchesActiveSecret(client.secrets, '', at()), false);
});

onBothEngines('a secret that has expired is wrong; while it lasts two are right', async (t, engine) => {
  const { db, deps, register, at, pass } = await openClients(t, engine);
  const { client, client_secret } = await register();
  const other = await register();
  await plain(db).run('update client_secrets set expires_at = $1 where client_id = $2', [at() + 10, client.client_id]);
  await plain(db).run('update client_secrets set client_id = $1', [client.client_id]);
  const stored = await findAnyClient(deps, client.client_id);
  for (const secret of [client_secret, other.client_secret]) {
    assert.equal(matchesActiveSecret(stored.secrets, secret ?? '', at()), true);
  }
  pass(10);
  assert.equal(matchesActiveSecret(stored.secrets, client_secret ?? '', at()), false);
  assert.equal(matchesActiveSecret(stored.secrets, other.client_secret ?? '', at()), true);
});

onBothEngines('another user gets the refusal of an unknown id (ID-01)', async (t, engine) => {
  const { deps, register } = await openClients(t, engine);
  const { client } = await register();
  const eve: Caller = { actor: 'user:usr_eve' };
  assert.deepEqual(await listOwnClients(deps, 'usr_eve'), []);
  const unknown = ['cl_AAAAAAAAAAAAAAAAAAAAAA', '', 'x'.repeat(5000), '../x', 'a\0b', "' or 1=1 --"];
  for (const client_id of [client.client_id, ...unknown]) {
    const target = { client_id, owner_user_id: 'usr_eve', caller: eve };
    await assert.rejects(findOwnClient(deps, client_id, 'usr_eve'), refusedWith('not_found'));
    await assert.rejects(editClient(deps, target, { fields: {}, revision: 9 }), refusedWith('not_found'));
    await assert.rejects(deleteClient(deps, target), refusedWith('not_found'));
  }
  assert.deepEqual(await findAnyClient(deps, client.client_id), client);
});

onBothEngines('a user registers five clients an hour; of forty at once five get through', async (t, engine) => {
  const { deps, register, pass } = await openClients(t, engine, {});
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => register()));
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 5);
  assert.equal((await listOwnClients(deps, 'usr_ada')).length, 5);
  await assert.rejects(register(), refusedWith('rate_limited'));
  await register({}, 'usr_eve');
  pass(hour);
  await register();
});

onBothEngines(
  'the 21st that waits is refused, until one of them is reviewed; first-party clients have no limit',
  async (t, engine) => {
    const { db, deps, register } = await openClients(t, engine);
    for (let count = 0; count < 20; count++) await register();
    await assert.rejects(register(), refusedWith('rate_limited'));
    const rowsOf = async (table: string) => (await plain(db).all(`select * from ${table}`)).length;
    assert.deepEqual(
      [await rowsOf('clients'), await rowsOf('client_secrets'), await rowsOf('audit_log')],
      [20, 20, 20],
    );
    const [first] = (await findClients(deps, { listing: 'pending_review' })).clients;
    await rejectClient(deps, asReviewer(first!), 'Not ours.');
    await register();
    await register({}, 'usr_eve');
    for (let count = 0; count < 21; count++) await register({}, null);
  },
);

onBothEngines('a rejected client that is edited waits again only where one more may wait', async (t, engine) => {
  const environment = {
    SIGNET_LIMIT_PENDING_CLIENTS: '3',
    SIGNET_LIMIT_REGISTRATIONS_PER_HOUR: '99',
    SIGNET_LIMIT_CLIENT_CHANGES_PER_HOUR: '6', // refused edits are not among them
  };
  const { db, deps, register, edit } = await openClients(t, engine, environment);
  const pending = async () => (await findClients(deps, { listing: 'pending_review' })).clients;
  const rejected: Client[] = [];
  for (let count = 0; count < 6; count++) {
    const { client } = await register();
    rejected.push(await rejectClient(deps, asReviewer(client), 'Not ours.'));
  }
  const fresh = [await register(), await register(), await register()];
  const events = async () => (await plain(db).all('select event_id from audit_log')).length;
  const before = await events();
  for (const client of rejected) {
    await assert.rejects(edit(client, { name: 'Again' }), refusedWith('rate_limited'));
    assert.deepEqual(await findAnyClient(deps, client.client_id), client);
  }
  assert.equal(await events(), before);
  // One that waits already is edited without asking; clients of others and ownerless ones take no place.
  await edit(fresh[0]!.client, { name: 'Ledger' });
  await register({}, 'usr_eve');
  await register({}, null);

  await rejectClient(deps, asReviewer(fresh[1]!.client), 'Not ours.');
  const atOnce = [...rejected.map((client) => edit(client, { name: 'Again' })), register(), register()];
  const outcomes = await Promise.allSettled<unknown>(atOnce);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'of all at once one gets the place');
  assert.equal((await pending()).filter(({ owner_user_id }) => owner_user_id === 'usr_ada').length, 3);
});
