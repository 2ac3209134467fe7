import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientsIn } from '../../src/imports/clients/foreign-client.ts';
import { clientAdapters, type ImportedClient, importClients } from '../../src/imports/clients/import-clients.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { preparedSettings, runCommand } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const fixture = (product: string) => join(import.meta.dirname, `clients/${product}.json`);
const caller = { actor: 'cli' } as const;

async function imported(
  { deps }: Signet,
  product: keyof typeof clientAdapters,
  { approve = true, dryRun = false } = {},
): Promise<ReadonlyMap<string, ImportedClient>> {
  const { default: document } = await import(fixture(product), { with: { type: 'json' } });
  const clients = clientsIn(document, clientAdapters[product]) ?? assert.fail();
  const { done, stoppedBy } = await importClients(deps, clients, { caller, approve, dryRun });
  assert.equal(stoppedBy, undefined);
  return new Map(done.map((one) => [one.client_id, one]));
}

const outcomes = (done: ReadonlyMap<string, ImportedClient>) =>
  Object.fromEntries([...done.values()].map(({ client_id, outcome }) => [client_id, outcome]));

onBothEngines('IM-10: a client of Keycloak goes on with its client_id and its secret', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const done = await imported(signet, 'keycloak');
  assert.deepEqual(outcomes(done), {
    'shop.web': 'approved',
    'shop-spa': 'imported',
    'https://sp.example.com/saml': 'refused',
    'orders-api': 'refused',
    'nightly-job': 'refused',
    'only-patterns': 'refused',
  });
  const user = await signet.signedInUser();
  const shop = new RegisteredClient(signet, {
    client_id: 'shop.web',
    client_secret: 'Yq4c2rN8sV0tKx7wLm3bZp6dHf9gJa1E',
    redirect_uri: 'https://shop.example.com/oidc/return',
  });
  const { access_token, refresh_token } = tokensOf(await shop.redeem(await user.authorize(shop)));
  assert.equal((await signet.userinfo(access_token)).json?.sub, user.user_id);
  assert.equal((await shop.refresh(refresh_token)).status, 200);
  const record = await signet.deps.clients.find('shop.web');
  assert.deepEqual(record?.post_logout_redirect_uris, [
    'https://shop.example.com/bye',
    'https://shop.example.com/callback',
    'https://shop.example.com/oidc/return',
  ]);
  assert.equal(record?.backchannel_logout_uri, 'https://shop.example.com/logout');
  assert.deepEqual([record?.id_token_signed_response_alg, record?.claims_in_id_token], ['RS256', true]);

  const notes = [...done.values()].map(({ client_id, notes }) => [client_id, notes.join(' ')] as const);
  for (const [client_id, note] of [
    ['shop.web', /pattern.*exact ones.*code_challenge.*grant implicit/s],
    ['shop-spa', /switched off/],
    ['https://sp.example.com/saml', /SAML/],
    ['orders-api', /signet apis register/],
    ['nightly-job', /service credential/],
    ['only-patterns', /exact/],
  ] as const)
    assert.match(new Map(notes).get(client_id) ?? '', note, client_id);

  // Again, it finds what is there, and a page names it.
  const again = outcomes(await imported(signet, 'keycloak'));
  assert.deepEqual([again['shop.web'], again['shop-spa']], ['unchanged', 'unchanged']);
  const admin = await signet.signedInUser({ role: 'admin' });
  assert.match((await admin.browser.get('/admin/audit?who=shop.web')).text, /Shop/);
  assert.equal((await admin.browser.get('/admin/clients/shop.web')).status, 200);
});

testSignet('IM-10: a client of Auth0 keeps its secret and the way it sends it', async ({ signet }) => {
  const done = await imported(signet, 'auth0');
  const web = 'pZ3mQ8vT1sR5wX7yB2nD4fH6jK9lC0aE';
  assert.deepEqual(outcomes(done), {
    [web]: 'approved',
    aZ3mQ8vT1sR5wX7yB2nD4fH6jK9lC0aE: 'approved',
    bZ3mQ8vT1sR5wX7yB2nD4fH6jK9lC0aE: 'refused',
  });
  assert.match(done.get(web)?.notes.join(' ') ?? '', /implicit.*client_credentials.*HS256/s);
  const user = await signet.signedInUser();
  const client = new RegisteredClient(signet, {
    client_id: web,
    client_secret: null,
    redirect_uri: 'https://acme.example.com/callback',
  });
  const code = await user.authorize(client);
  const client_secret = '3Jx-Qb7dTn0sYw5rKe9uVh2mLc8pFz1aGi4oXt6kRvNjDyWqEsUbHlMfPgZcBaOx';
  const { refresh_token } = tokensOf(await client.redeem(code, { client_secret }));
  const revoked = await client.post('/oauth/revoke', { token: refresh_token, client_id: web, client_secret });
  assert.equal(revoked.status, 200, revoked.text);
  const admin = await signet.signedInUser({ role: 'admin' });
  const about = await admin.browser.get(`/v1/admin/audit?about=${web}`, { accept: 'application/json' });
  const { events } = about.json as { events: { action: string; actor: string }[] };
  assert.deepEqual(
    events.filter(({ actor }) => actor === `client:${web}`).map(({ action }) => action),
    ['grant.revoked'],
    'what it did is about it, although its id does not say that it is a client',
  );
  assert.equal((await signet.deps.clients.find('aZ3mQ8vT1sR5wX7yB2nD4fH6jK9lC0aE'))?.application_type, 'spa');
});

const exported = (...ids: string[]) =>
  clientsIn(
    ids.map((client_id) => ({ client_id, name: client_id, callbacks: ['https://app.example.com/return'] })),
    clientAdapters.auth0,
  ) ?? assert.fail();

testSignet('IM-10: a client_id that would be taken for something else here is refused', async ({ signet }) => {
  const of22 = 'a'.repeat(22);
  const clients = exported(`svc_${of22}`, `usr_${of22}`, `api_${of22}`, '..', '.app', 'a b', 'api_gateway', 'app.');
  const { done } = await importClients(signet.deps, clients, { caller, approve: true, dryRun: false });
  assert.deepEqual(
    done.map(({ client_id, outcome }) => [client_id, outcome]),
    [
      ...clients.slice(0, 6).map(({ client_id }) => [client_id, 'refused']),
      ...['api_gateway', 'app.'].map((client_id) => [client_id, 'approved']),
    ],
  );
});

testSignet(
  'IM-10: an import that the store stops says the new secrets of what is done, and goes on',
  async ({ signet }) => {
    const clients = exported('first', 'second', 'third');
    const { db } = signet.deps;
    let changes = 0;
    const change: typeof db.change = (...of) => {
      changes += 1;
      // The registration of the first, not its approval; nothing of the second.
      if (changes === 2 || changes === 3)
        throw new RequestError('temporarily_unavailable', 'The store does not answer.');
      return db.change(...of);
    };
    const options = { caller, approve: true, dryRun: false };
    const stopped = await importClients({ ...signet.deps, db: { ...db, shared: { ...db, change } } }, clients, options);
    assert.deepEqual(
      stopped.done.map(({ client_id, outcome }) => [client_id, outcome]),
      [['first', 'imported']],
    );
    assert.match(stopped.done[0]?.client_secret ?? '', /^cs_/);
    assert.equal(stopped.stoppedBy?.code, 'temporarily_unavailable');
    const { done } = await importClients(signet.deps, clients, options);
    assert.deepEqual(
      done.map(({ outcome }) => outcome),
      ['unchanged', 'approved', 'approved'],
    );
  },
);

testSignet('IM-10: a client of Hydra gets a new secret, since the list has none', async ({ signet }) => {
  const tried = await imported(signet, 'hydra', { dryRun: true });
  const id = '0f6b2a4c-6a5e-4f0f-9d5b-8d4b6f1f2a10';
  assert.equal(await signet.deps.clients.find(id), undefined, 'a dry run changes nothing');
  assert.equal(tried.get(id)?.client_secret, undefined);
  signet.clock.advance(2);
  const done = await imported(signet, 'hydra', { approve: false });
  assert.deepEqual(outcomes(done), { [id]: 'imported', machine: 'refused' });
  assert.match(done.get(id)?.client_secret ?? '', /^cs_/);
  const client = await signet.deps.clients.find(id);
  assert.equal(client?.status, 'pending_review');
  assert.deepEqual(client?.allowed_scopes, ['openid', 'profile', 'offline_access']);
  assert.equal(client?.policy_uri, 'https://notes.example.com/privacy');
});

test('clients import reads a file, and exits with 1 when a client was refused', async (t) => {
  const folder = await scratchFolder('clients-import');
  const env = await preparedSettings(t);
  const run = (...args: string[]) => runCommand(['clients', 'import', ...args], { env });
  const dry = await run(fixture('keycloak'), '--from', 'keycloak', '--dry-run');
  assert.equal(dry.code, 1, dry.stderr);
  assert.match(dry.stdout, /2 would be imported, 0 unchanged, 4 refused\./);
  const done = await run(fixture('keycloak'), '--from', 'keycloak', '--approve', '--json');
  const { clients } = JSON.parse(done.stdout) as { clients: ImportedClient[] };
  assert.equal(clients.find(({ client_id }) => client_id === 'shop.web')?.outcome, 'approved');
  assert.doesNotMatch(done.stdout + done.stderr, /Yq4c2rN8sV0tKx7w/, 'an old secret is printed nowhere');
  const other = join(folder, 'other.json');
  await writeFile(other, '{"a":1}');
  assert.match((await run(other, '--from', 'hydra')).stderr, /no clients as hydra exports them/);
  await writeFile(other, '{');
  assert.match((await run(other, '--from', 'auth0')).stderr, /not JSON/);
  assert.equal((await run(join(folder, 'missing'), '--from', 'auth0')).code, 2);
});
