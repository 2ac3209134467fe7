import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ada, administrator, openClients, refusedWith } from '../../test/support/clients.ts';
import { onBothEngines } from '../../test/support/databases.ts';
import { RequestError } from '../platform/errors.ts';
import { editClient } from './edit-client.ts';
import { findAnyClient } from './find-clients.ts';
import { addSecret, listSecrets, retireSecret } from './manage-secrets.ts';
import { readClientEdit, readRegistration } from './registration.ts';

onBothEngines('a user changes their clients thirty times an hour, whatever the change', async (t, engine) => {
  const { deps, register, edit, pass } = await openClients(t, engine, {});
  const { client } = await register();
  for (let one = 0; one < 28; one += 1) await edit(client, { name: `App ${one}` });
  const target = { client_id: client.client_id, owner_user_id: 'usr_ada', caller: ada };
  const { secret } = await addSecret(deps, target);
  await retireSecret(deps, { ...target, secret_id: secret.secret_id, overlapSeconds: 0 });
  const isRefused = (error: unknown) => error instanceof RequestError && error.code === 'rate_limited';
  await assert.rejects(edit(client, { name: 'Once more' }), isRefused);
  await assert.rejects(addSecret(deps, target), isRefused);
  assert.equal((await findAnyClient(deps, client.client_id)).name, 'App 27');
  pass(3601);
  assert.equal((await edit(client, { name: 'Later' })).name, 'Later');
});

onBothEngines('what changes nothing, or is refused, is not one of those changes', async (t, engine) => {
  const environment = { SIGNET_LIMIT_CLIENT_CHANGES_PER_HOUR: '3' };
  const { deps, register, edit } = await openClients(t, engine, environment);
  const { client } = await register();
  const target = { client_id: client.client_id, owner_user_id: 'usr_ada', caller: ada };
  for (let time = 0; time < 4; time += 1) {
    assert.equal((await edit(client, { name: 'App' })).revision, 1, 'it says what is so');
    await assert.rejects(edit(client, { name: 'Late' }, 7), refusedWith('stale_revision', { stored_revision: 1 }));
    const last = { ...target, secret_id: client.secrets[0]?.secret_id ?? '', overlapSeconds: 0 };
    await assert.rejects(retireSecret(deps, last), refusedWith('invalid_state', { current_status: 'pending_review' }));
  }
  const names = Array.from({ length: 8 }, (_, place) => `App ${place}`);
  const outcomes = await Promise.allSettled(names.map((name) => edit(client, { name })));
  const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
  assert.ok(refusals.filter((code) => code === 'rate_limited').length >= 5, String(refusals));
  assert.ok((await findAnyClient(deps, client.client_id)).revision <= 4);
  await assert.rejects(edit(client, { name: 'Once more' }), refusedWith('rate_limited'));
  const now = await findAnyClient(deps, client.client_id);
  assert.deepEqual(await edit(now, { name: now.name }), now, 'and what changes nothing goes on being answered');
});

test('the redirect URIs of a client have 8 KB together', () => {
  const uris = (count: number) =>
    Array.from({ length: count }, (_, place) => `https://rp.test/${String(place).padStart(2, '0')}`.padEnd(2048, 'x'));
  const of = (redirect_uris: string[]) => ({ name: 'App', client_type: 'public', redirect_uris });
  const isRefused = (error: unknown) =>
    error instanceof RequestError && /"path":"redirect_uris".*8192/.test(JSON.stringify(error.details));
  assert.equal(readRegistration(of(uris(4))).redirect_uris.length, 4);
  const [first = '', ...others] = uris(4);
  const oneMore = [first.slice(0, -17), ...others, 'https://rp.test/cb'];
  assert.equal(oneMore.join('').length, 8193);
  for (const redirect_uris of [oneMore, uris(5)]) {
    assert.throws(() => readRegistration(of(redirect_uris)), isRefused);
    assert.throws(() => readClientEdit({ redirect_uris }), isRefused);
  }
});

onBothEngines(
  'a client without an owner gets edits and secrets from administrators, and others do not',
  async (t, engine) => {
    const { deps, register } = await openClients(t, engine);
    const { client } = await register({}, null);
    assert.equal((await findAnyClient(deps, client.client_id)).is_first_party, true);
    const target = { client_id: client.client_id, owner_user_id: null, caller: administrator };
    assert.equal((await editClient(deps, target, { revision: 1, fields: { name: 'Desk' } })).name, 'Desk');
    const { secret } = await addSecret(deps, target);
    const ended = client.secrets[0]?.secret_id ?? '';
    await retireSecret(deps, { ...target, secret_id: ended, overlapSeconds: 0 });
    assert.deepEqual(await listSecrets(deps, client.client_id, null), [secret]);

    const { client: owned } = await register();
    assert.equal(owned.is_first_party, false);
    const others = { ...target, client_id: owned.client_id };
    await assert.rejects(
      editClient(deps, others, { revision: 1, fields: { name: 'X' } }),
      refusedWith('access_denied'),
    );
    await assert.rejects(addSecret(deps, others), refusedWith('access_denied'));
    await assert.rejects(listSecrets(deps, owned.client_id, null), refusedWith('access_denied'));
    const stolen = { ...target, owner_user_id: 'usr_ada', caller: ada };
    await assert.rejects(editClient(deps, stolen, { revision: 2, fields: { name: 'X' } }), refusedWith('not_found'));
  },
);
