import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { registerApi, retireApi, retireScope } from '../../src/apis/manage-api.ts';
import { deleteAttribute, editAttribute } from '../../src/attributes/manage-attributes.ts';
import { secretPurpose } from '../../src/authentication/credentials/provider-register.ts';
import { setBrandPicture } from '../../src/brand/change-brand.ts';
import { deleteClient } from '../../src/clients/delete-client.ts';
import { fetchLogo } from '../../src/clients/fetch-logos.ts';
import { approveHost } from '../../src/clients/from-outside/approved-hosts.ts';
import { changePolicy, suspendClient } from '../../src/clients/review-client.ts';
import { retire } from '../../src/entitlements/service-credentials/manage-credential.ts';
import { createGroup, deleteGroup } from '../../src/groups/manage-groups.ts';
import { setPicture } from '../../src/self-service/picture/picture.ts';
import { kinds } from '../../src/transfer/kinds/all.ts';
import { createWebhook, disable, rotateSecret } from '../../src/webhooks/manage-webhook.ts';
import { newAttribute } from '../support/attributes.ts';
import { runCommand, settingsOf, succeed } from '../support/command-line.ts';
import type { Engine } from '../support/databases.ts';
import { openDocumentServer } from '../support/document-server.ts';
import { newGroup } from '../support/groups.ts';
import { logoHost, openLogoHost } from '../support/logo-host.ts';
import { authorize, clientAt, readsDocuments } from '../support/outside-clients.ts';
import { assertSignedIn, signInWithPasskey } from '../support/passkeys.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { newDirectory } from '../support/scim.ts';
import type { Settings } from '../support/server-process.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { pushTo, signalClient } from '../support/signal-receiver.ts';
import type { Signet } from '../support/signet.ts';
import { newExportKey, recordsIn, signetOfYesterday, stop } from '../support/transfers.ts';
import { codesOf } from '../support/two-factor.ts';
import { acmeAt } from '../support/upstream.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;
const keys = { from: Buffer.alloc(32, 3), to: Buffer.alloc(32, 4) };
const other = { sqlite: 'postgres', postgres: 'sqlite' } as const satisfies Record<Engine, Engine>;
const allowed = { client_type: 'confidential', consent: 'required' } as const;

/** Everything that there can be, in all states. */
async function fill(t: TestContext, signet: Signet, settings: Settings, folder: string) {
  const { deps } = signet;
  const ada = await signet.signedInUser({ name: 'Ada Lovelace' });
  const app = await ada.enableTotp();
  await (await ada.awaitingSecondFactor()).giveCode(app.backup_codes[0]!);
  for (const preferred_username of ['ada.byron', 'ada.l']) {
    const answer = await ada.browser.patch('/v1/me', { preferred_username, zoneinfo: 'Europe/London', locale: 'de' });
    assert.equal(answer.status, 200, answer.text);
  }
  await setPicture(deps, ada.user_id, pngOf(), caller);
  const root = await signet.signedInUser({ role: 'admin' });
  const passkey = await root.addPasskey();
  const gone = await signet.newUser({ emailVerified: false });
  await succeed(['users', 'disable', gone.email, '--reason', 'left'], settings);
  const imported = join(folder, 'other.jsonl');
  const identities = [{ issuer: 'https://acme.test', subject: 'x', email: 'x@acme.test' }];
  await writeFile(
    imported,
    `${JSON.stringify({ external_id: 'a', sub: 'old|7', email: 'old@example.com', identities })}\n`,
  );
  await succeed(['users', 'import', imported], settings);

  const { attribute_id } = await newAttribute(signet, 'department', { editable_by: 'person', sign_up: 'offered' });
  await newAttribute(signet, 'badge', { value_type: 'integer', minimum: 1, is_shown: false });
  await ada.browser.patch('/v1/me', { attributes: { department: 'Marketing' } });
  await root.browser.patch('/v1/admin/brand', { name: 'Acme', button: '#ffd400' });
  await setBrandPicture(deps, caller, 'logo', pngOf({ width: 120, height: 40 }));
  await root.browser.put('/v1/admin/settings/SIGNET_LANGUAGES', { value: 'de,en' });
  const attributes = { badge: 7 };
  await root.browser.patch(`/v1/admin/users/${ada.user_id}`, { attributes, reason: 'Hired.' });
  await editAttribute(deps, caller, attribute_id, { choices: ['Sales'] }); // her value is older
  await deleteAttribute(deps, caller, (await newAttribute(signet, 'former')).attribute_id);
  const staff = await newGroup(signet, 'Staff', [ada, root]);
  await createGroup(deps, caller, { name: 'Ops', description: 'On call', external_id: 'azure-1' });
  await deleteGroup(deps, caller, (await createGroup(deps, caller, { name: 'Former' })).group_id);
  const scope = (name: string) => ({ name, descriptions: { en: `Use ${name}` } });
  const api = await registerApi(deps, caller, {
    identifier: 'https://mail.test',
    name: 'Mail',
    scopes: [scope('mail:read'), scope('mail:send'), scope('mail:old')],
  });
  await retireScope(deps, caller, api.api_id, 'mail:old');
  const former = await registerApi(deps, caller, {
    identifier: 'https://was.test',
    name: 'Was',
    scopes: [scope('was:x')],
  });
  await retireApi(deps, caller, former.api_id);

  const billing = await signet.newService({ addresses: ['127.0.0.0/8', '::1'] });
  await signet.newService({ permissions: ['tokens:introspect'], products: [], api_id: api.api_id });
  const retired = await signet.newService({ expires_in_days: 5 });
  await retire(deps, caller, retired.client_id);
  const directory = await newDirectory(signet);
  await directory.ok(201, 'POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: 'grace@corp.test',
    externalId: 'azure-2',
    emails: [{ value: 'grace@example.com', primary: true }],
  });
  const until = Math.floor(signet.clock() / 1000) + 90 * 86_400;
  const writes = [
    { version: 1, plan: 'free', event_id: 'e1' },
    { version: 2, current_period_end: until, event_id: 'e2', external_customer_id: 'cus_1', metadata: { seats: 5 } },
    { version: 1, product: 'maps', status: 'past_due' },
  ];
  for (const write of writes) {
    const credential = write.product === 'maps' ? await signet.newService({ products: ['maps'] }) : billing;
    const { status } = await postEntitlement(signet, credential.authorization, writeOf(ada.user_id, write));
    assert.equal(status, 200);
  }

  const logos = await openLogoHost(t, signet);
  logos.givePicture('/notes.png');
  const notes = await signet.registerClient({
    owner: ada,
    ...allowed,
    logo_url: `${logoHost}/notes.png`,
    allowed_scopes: ['openid', 'profile', 'mail:read'],
  });
  const { picture_id } = await fetchLogo(deps, notes.client_id);
  await changePolicy(deps, { client_id: notes.client_id, caller }, { logo_id: picture_id });
  await ada.browser.patch(`/v1/oauth/clients/${notes.client_id}`, { name: 'Notes for teams' });
  await signet.registerClient({
    owner: ada,
    approved: false,
    client_type: 'public',
    redirect_uris: ['com.example.app:/cb'],
  });
  const bad = await signet.registerClient({ owner: root, name: 'Bad one' });
  await suspendClient(deps, { client_id: bad.client_id, caller }, 'It sends unwanted mail.');
  const worse = await signet.registerClient({ owner: root, name: 'Worse one' });
  await suspendClient(deps, { client_id: worse.client_id, caller }, 'It is a copy.');
  await deleteClient(deps, { client_id: worse.client_id, caller });
  const house = ['clients', 'create', '--name', 'Intranet', '--redirect-uri', 'https://intranet.test/cb', '--approve'];
  const { client_id: intranet } = await succeed(house, settings);
  await succeed(['clients', 'restrict', String(intranet), '--allowed-groups', staff.group_id], settings).catch(
    () => undefined,
  );
  const documents = await openDocumentServer(t);
  await authorize(signet, clientAt(signet, documents, documents.urlOf('app', '/client.json')));
  await approveHost(deps, caller, { host: 'apps.example.com', allowed_scopes: ['openid'] });
  const wanted = notes.authorizePath({ scope: 'openid profile' });
  const consent = new URL((await root.browser.get(wanted)).location ?? '', signet.url);
  const decision = { request: consent.searchParams.get('request') ?? '', user: root.user_id, decision: 'allow' };
  assert.equal((await root.browser.post('/consent', decision)).status, 303);

  await plain(deps.db).run(
    `insert into providers (provider_id, issuer, label, upstream_client_id, client_secret_sealed, created_at, disabled_at)
     values ('corp', 'https://corp.test', 'Corp', 'us', $1, 1, 2)`,
    [deps.vault.seal(secretPurpose('corp'), 'the secret there')],
  );
  await plain(deps.db).run(
    `insert into identities (issuer, subject, user_id, provider, linked_at, last_used_at)
     values ('https://corp.test', 'y', $1, 'corp', 1, 2)`,
    [ada.user_id],
  );

  const receiver = await openReceiver(t);
  const first = await createWebhook(deps, caller, { name: 'Mine', url: receiver.url, event_types: ['user.created'] });
  const { secret } = await rotateSecret(deps, caller, first.webhook_id, 3600);
  const off = await createWebhook(deps, caller, { url: receiver.url, event_types: ['user.deleted'] });
  await disable(deps, caller, off.webhook_id);

  const signals = await signalClient(signet);
  const { stream_id } = await signals.create(pushTo(receiver, { authorization_header: 'Bearer of-the-receiver' }));
  const subject = { format: 'iss_sub', iss: signet.url, sub: ada.user_id };
  await signals.call('POST', 'remove_subject_endpoint', { stream_id, subject });

  const declared = join(folder, 'declared.yaml');
  await writeFile(declared, 'apiVersion: signet/v1\ngroups:\n  ops:\n    name: Ops\n    description: On call\n');
  await succeed(['apply', '-f', declared], settings);
  return { ada, app, root, passkey, notes, billing, receiver, first: { ...first, secret } };
}

// Also in a run in cells: into them as out of them.
for (const engine of ['sqlite', 'postgres'] as const) {
  test(`a round trip gives the same store: same records, same passwords, factors, secrets and roles (${engine})`, async (t) => {
    const { folder, recipient, identityFile, read } = await newExportKey();
    const env: Settings = { ...readsDocuments, ...acmeAt('https://acme.test') };
    const from = await signetOfYesterday(t, engine, { ...env, SIGNET_MASTER_KEY: keys.from.toString('base64') });
    const settings = settingsOf(from, keys.from, env);
    const world = await fill(t, from, settings, folder);

    const file = join(folder, 'all.age');
    const exported = await succeed(['export', file, '--recipient', recipient], settings);
    assert.deepEqual(
      Object.keys(exported.records as object),
      kinds.map(({ name }) => name),
      'there is something of each kind',
    );
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await from.auditLog({ action: 'store.exported' })).length, 1);
    assert.match((await from.auditLog({ action: 'store.exported' }))[0]?.after_state ?? '', new RegExp(recipient));
    const before = recordsIn(await read(file));
    const entitlements = await succeed(['entitlements', 'show', world.ada.email], settings);
    const { config } = from.deps;
    await stop(from);

    const to = await signetOfYesterday(t, other[engine], {
      ...env,
      SIGNET_MASTER_KEY: keys.to.toString('base64'),
      SIGNET_PORT: String(config.port),
      SIGNET_BASE_URL: config.baseUrl,
    });
    const there = settingsOf(to, keys.to, env);
    const command = ['import', file, '--identity', identityFile];
    const tried = await succeed([...command, '--roles', '--dry-run'], there);
    assert.deepEqual([tried.imported, tried.refused], [before.length, 0], JSON.stringify(tried));
    const nothing = (await succeed(['users', 'list'], there)).users;
    assert.deepEqual(nothing, [], 'a trial changes nothing');

    const without = await succeed(command, there);
    assert.deepEqual([without.refused, without.left_out], [0, 3], JSON.stringify(without));
    const answered = await runCommand(['users', 'show', world.root.email, '--json'], { env: there });
    assert.equal(JSON.parse(answered.stdout).role, 'user', 'nobody administers by a file');
    const done = await succeed([...command, '--roles'], there);
    assert.deepEqual([done.imported, done.refused, done.left_out], [3, 0, 0], JSON.stringify(done));
    const again = await succeed([...command, '--roles'], there);
    assert.deepEqual([again.imported, again.unchanged, again.refused], [0, before.length, 0]);

    const second = join(folder, 'second.age');
    await succeed(['export', second, '--recipient', recipient], there);
    const after = recordsIn(await read(second));
    assert.deepEqual(
      after.filter((line) => !before.includes(line)).map((line) => JSON.parse(line).kind),
      ['backup_code_key'],
      'that of the new store',
    );
    assert.deepEqual(
      before.filter((line) => !after.includes(line)),
      [],
    );
    assert.deepEqual(await succeed(['entitlements', 'show', world.ada.email], there), entitlements);

    await stop(to);
    const store = {
      dataDir: to.deps.config.dataDir,
      ...(to.deps.config.databaseUrl && { url: to.deps.config.databaseUrl }),
    };
    const { startSignet } = await import('../support/signet.ts');
    const now = await startSignet(t, {
      on: { ...store, at: Math.floor(Date.now() / 1000) + 120 },
      env: {
        ...env,
        SIGNET_MASTER_KEY: keys.to.toString('base64'),
        SIGNET_PORT: String(config.port),
        SIGNET_BASE_URL: config.baseUrl,
      },
    });
    const { ada, app, root, passkey, notes, billing, receiver, first } = world;
    const byCode = await ada.awaitingSecondFactor();
    const used = await byCode.giveCode(app.backup_codes[0]!);
    assert.equal(used.status, 401, 'a backup code that was used');
    assert.equal((await byCode.giveCode(app.backup_codes[1]!)).status, 303, 'a backup code');
    const code = codesOf(now, app.secret);
    assert.equal((await (await ada.awaitingSecondFactor()).giveCode(code())).status, 303, 'TOTP');
    const { browser, answer } = await signInWithPasskey(now, passkey);
    assertSignedIn(answer, browser);
    assert.equal((await browser.get('/v1/admin/users')).status, 200, 'the role');
    assert.equal((await root.elsewhere().browser.get('/v1/admin/users')).status, 401);
    const picture = String((await byCode.browser.get('/v1/me')).json?.picture);
    assert.equal((await byCode.browser.get(new URL(picture).pathname)).status, 200, 'the picture');
    assert.equal((await notes.post('/oauth/introspect', { token: 'x' })).status, 200, 'the secret of a client');
    assert.equal(
      (await notes.with({ client_secret: 'cs_wrong' }).post('/oauth/introspect', { token: 'x' })).status,
      401,
    );
    const write = writeOf(ada.user_id, { version: 3 });
    assert.equal((await postEntitlement(now, billing.authorization, write)).status, 200, 'a service credential');
    const stale = await postEntitlement(
      now,
      billing.authorization,
      writeOf(ada.user_id, { version: 2, event_id: 'e9' }),
    );
    assert.equal(stale.status, 409, 'the version of an entitlement');

    await now.newUser();
    await now.runJobs();
    const [delivery] = receiver.deliveries;
    const { headers, body } = delivery ?? assert.fail('a webhook goes on');
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(first.secret.slice('whsec_'.length), 'base64');
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  });
}
