import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registerClient as registerByOperator } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { acrOf } from '../../src/sessions/authentication.ts';
import { onBothEngines } from '../support/databases.ts';
import { openMailbox } from '../support/mailbox.ts';
import { basic } from '../support/relying-party.ts';
import { newService, postEntitlement, writeOf } from '../support/services.ts';
import { type Person, registerClient, type Signet, signedInPerson, signIn, startSignet } from '../support/signet.ts';
import { enableTotp } from '../support/two-factor.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };

const sendAs = (signet: Signet, { browser }: Pick<Person, 'browser'>, method: string, path: string, body?: object) =>
  browser.send(`/v1/admin${path}`, {
    method,
    headers: { origin: signet.url, ...(body ? { 'content-type': 'application/json' } : {}) },
    body: body && JSON.stringify(body),
  });

test('a session from before an administrator had TOTP is no administrator any more', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await signedInPerson(signet, { role: 'admin' });
  assert.equal((await root.browser.get('/v1/admin/keys')).status, 200);
  await enableTotp(signet, root);
  // Whatever confirming it did to the session: one that has seen one factor alone is what a thief would hold.
  await signet.deps.db.run('update sessions set acr = $2, amr = $3 where user_id = $1', [
    root.user_id,
    acrOf(['pwd']),
    'pwd',
  ]);
  const answer = await root.browser.get('/v1/admin/keys');
  assert.deepEqual([answer.status, answer.json?.error], [403, 'reauthentication_required'], answer.text);
});

onBothEngines('whoever has just been made an administrator approves nothing of an administrator', async (t, engine) => {
  const mailbox = await openMailbox(t);
  const signet = await startSignet(t, { engine, env: { ...env, SIGNET_SMTP_URL: mailbox.url } });
  const [root, third, fourth] = [
    await signedInPerson(signet, { role: 'admin' }),
    await signedInPerson(signet, { role: 'admin' }),
    await signedInPerson(signet, { role: 'admin' }),
  ];
  const [puppet, second, person, leaver] = [
    await signedInPerson(signet),
    await signedInPerson(signet),
    await signedInPerson(signet),
    await signedInPerson(signet, { role: 'admin' }),
  ];
  const waiting = (owner: Person) => registerClient(signet, { owner, approved: false });
  const [own, other] = [await waiting(root), await waiting(third)];
  const setRole = async (by: Person, whom: Person, role: string) => {
    const answer = await sendAs(signet, by, 'PUT', `/users/${whom.user_id}/role`, { role });
    assert.equal(answer.status, 200, answer.text);
  };
  const approve = async (by: Person, { client_id }: { client_id: string }) =>
    (await sendAs(signet, by, 'POST', `/clients/${client_id}/approve`, { revision: 1 })).status;

  await setRole(root, puppet, 'admin');
  assert.equal(await approve(puppet, own), 403);
  await setRole(puppet, second, 'admin');
  assert.deepEqual([await approve(second, own), await approve(second, other)], [403, 403], 'a chain of two');
  await setRole(second, puppet, 'user');
  await setRole(second, puppet, 'admin');
  await setRole(puppet, root, 'user');
  assert.deepEqual([await approve(second, own), await approve(puppet, own)], [403, 403], 'demoted for the moment');
  await setRole(second, root, 'admin');
  assert.equal(await approve(root, own), 403, 'their own stays their own');

  const left = await waiting(leaver);
  const gone = await leaver.browser.post('/account/delete', { email: leaver.email });
  assert.equal(gone.status, 303, gone.text);
  assert.equal(await approve(second, left), 403, 'left behind by whoever it was');

  assert.equal(await approve(second, await waiting(person)), 200, 'what people register can be reviewed at once');
  const registration = { name: 'Desk', client_type: 'public', redirect_uris: ['https://rp.test/desk'] };
  const operator = { owner_user_id: null, caller: { actor: 'cli' } } as const;
  const house = await registerByOperator(signet.deps, operator, readRegistration(registration));
  assert.equal(await approve(puppet, house.client), 200, 'so can what the operator has registered');

  const desk = house.client.client_id;
  const edit = async (by: Person, name: string) =>
    (await sendAs(signet, by, 'PATCH', `/clients/${desk}`, { name })).json?.revision;
  const approveEdit = async (by: Person, revision: unknown) =>
    (await sendAs(signet, by, 'POST', `/clients/${desk}/approve`, { revision })).status;
  signet.clock.advance(1);
  await edit(third, 'Another desk');
  const revision = await edit(root, 'Yet another desk');
  assert.deepEqual([await approveEdit(third, revision), await approveEdit(root, revision)], [403, 403], 'both asked');
  assert.equal(await approveEdit(second, revision), 403, 'an accomplice for what the house asks');
  assert.equal(await approveEdit(fourth, revision), 200);

  for (const { email } of [root, third]) {
    assert.ok((await mailbox.next(email, /new administrator/)).text.includes(puppet.email));
  }
  signet.clock.advance(86_398);
  await signIn(second);
  assert.equal(await approve(second, own), 403);
  signet.clock.advance(1);
  assert.equal(await approve(second, own), 200);
});

onBothEngines('of the secrets of a back end two work, and a leaked one ends at once', async (t, engine) => {
  const signet = await startSignet(t, { engine, env });
  const root = await signedInPerson(signet, { role: 'admin' });
  const { user_id } = await signedInPerson(signet);
  const { client_id, client_secret } = await newService(signet);
  const rotate = async (body?: object) => {
    const answer = await sendAs(signet, root, 'POST', `/service-credentials/${client_id}/rotate`, body);
    assert.equal(answer.status, 200, answer.text);
    return String(answer.json?.client_secret);
  };
  let version = 0;
  const works = async (secret: string) => {
    version += 1;
    return (await postEntitlement(signet, basic(client_id, secret), writeOf(user_id, { version }))).status === 200;
  };
  const countSecrets = async () =>
    (await signet.deps.db.all('select secret_id from service_secrets where credential_id = $1', [client_id])).length;
  const second = await rotate();
  assert.deepEqual([await works(client_secret), await works(second)], [true, true]);
  const third = await rotate({ overlap_seconds: 3600 });
  assert.deepEqual([await works(client_secret), await works(second), await works(third)], [false, true, true]);
  assert.equal(await countSecrets(), 2);
  const fourth = await rotate({ overlap_seconds: 0 });
  assert.deepEqual([await works(second), await works(third), await works(fourth)], [false, false, true]);
  const together = await Promise.all([rotate(), rotate(), rotate(), rotate()]);
  assert.equal(await countSecrets(), 2);
  assert.equal((await Promise.all(together.map(works))).filter(Boolean).length <= 2, true);
  for (const overlap_seconds of [-1, 86_401, 1.5, '0']) {
    const answer = await sendAs(signet, root, 'POST', `/service-credentials/${client_id}/rotate`, { overlap_seconds });
    assert.equal(answer.status, 400, answer.text);
  }
});

test('administrators edit a client of the house and change its secrets, and no other', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await signedInPerson(signet, { role: 'admin' });
  const house = await registerClient(signet);
  await signet.deps.db.run('update clients set owner_user_id = null where client_id = $1', [house.client_id]);
  const at = `/clients/${house.client_id}`;
  const edited = await sendAs(signet, root, 'PATCH', at, { revision: 1, name: 'Desk' });
  assert.deepEqual([edited.status, edited.json?.pending_change], [200, { name: 'Desk' }], edited.text);
  const added = await sendAs(signet, root, 'POST', `${at}/secrets`);
  assert.match(String(added.json?.client_secret), /^cs_/);
  const { json } = await root.browser.get(`/v1/admin${at}/secrets`);
  const [first] = (json?.secrets ?? []) as { secret_id: string }[];
  const retired = await sendAs(signet, root, 'DELETE', `${at}/secrets/${first?.secret_id}?overlap_seconds=60`);
  assert.equal(retired.json?.expires_at, signet.clock() / 1000 + 60);
  assert.equal(
    (await sendAs(signet, root, 'DELETE', `${at}/secrets/${first?.secret_id}?overlap_seconds=x`)).status,
    400,
  );

  const owned = await registerClient(signet, { owner: await signedInPerson(signet) });
  const there = `/clients/${owned.client_id}`;
  assert.equal((await sendAs(signet, root, 'PATCH', there, { name: 'Desk' })).status, 403);
  assert.equal((await sendAs(signet, root, 'POST', `${there}/secrets`)).status, 403);
  assert.equal((await root.browser.get(`/v1/admin${there}/secrets`)).status, 403);
});
