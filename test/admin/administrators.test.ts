import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteUser } from '../../src/accounts/store.ts';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { acrOf } from '../../src/authentication/sessions/authentication.ts';
import { registerClient as registerByOperator } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { basic } from '../support/relying-party.ts';
import { rememberingHasher } from '../support/remembering-hasher.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };

const sendAs = (signet: Signet, { browser }: Pick<TestUser, 'browser'>, method: string, path: string, body?: object) =>
  browser.send(`/v1/admin${path}`, {
    method,
    headers: { origin: signet.url, ...(body ? { 'content-type': 'application/json' } : {}) },
    body: body && JSON.stringify(body),
  });

test('a session from before an administrator had TOTP is no administrator any more', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await signet.signedInUser({ role: 'admin' });
  assert.equal((await root.browser.get('/v1/admin/keys')).status, 200);
  await root.enableTotp();
  // Whatever confirming it did to the session: one that has seen one factor alone is what a thief would hold.
  await plain(signet.deps.db).run('update sessions set acr = $2, amr = $3 where user_id = $1', [
    root.user_id,
    acrOf(['pwd']),
    'pwd',
  ]);
  const answer = await root.browser.get('/v1/admin/keys');
  assert.deepEqual([answer.status, answer.json?.error], [403, 'reauthentication_required'], answer.text);
});

testSignet(
  'a new administrator approves nothing of another administrator',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const [root, third, fourth] = [
      await signet.signedInUser({ role: 'admin' }),
      await signet.signedInUser({ role: 'admin' }),
      await signet.signedInUser({ role: 'admin' }),
    ];
    const [puppet, second, user, leaver] = [
      await signet.signedInUser(),
      await signet.signedInUser(),
      await signet.signedInUser(),
      await signet.signedInUser({ role: 'admin' }),
    ];
    const waiting = (owner: TestUser) => signet.registerClient({ owner, approved: false });
    const [own, other] = [await waiting(root), await waiting(third)];
    const setRole = async (by: TestUser, whom: TestUser, role: string) => {
      const answer = await sendAs(signet, by, 'PUT', `/users/${whom.user_id}/role`, { role });
      assert.equal(answer.status, 200, answer.text);
    };
    const approve = async (by: TestUser, { client_id }: { client_id: string }) =>
      (await sendAs(signet, by, 'POST', `/clients/${client_id}/approve`, { revision: 1 })).status;

    await setRole(root, puppet, 'admin');
    assert.equal(await approve(puppet, own), 403);
    await setRole(puppet, second, 'admin');
    assert.deepEqual([await approve(second, own), await approve(second, other)], [403, 403], 'a chain of two');
    await setRole(fourth, puppet, 'user');
    await setRole(fourth, puppet, 'admin');
    await setRole(fourth, root, 'user');
    assert.deepEqual([await approve(second, own), await approve(puppet, own)], [403, 403], 'demoted for the moment');
    await setRole(fourth, root, 'admin');
    assert.equal(await approve(root, own), 403, 'their own stays their own');

    const left = await waiting(leaver);
    const gone = await leaver.browser.post('/account/delete', { email: leaver.email });
    assert.equal(gone.status, 303, gone.text);
    assert.equal(await approve(second, left), 403, 'although its owner is deleted');
    const leaving = await signet.signedInUser({ role: 'admin' });
    const half = await waiting(leaving);
    await plain(signet.deps.db).batch(deleteUser(leaving.user_id, signet.clock() / 1000).slice(1)); // more rows than go at once
    assert.equal(await approve(second, half), 403, 'left behind by an account of which rows are still being deleted');

    assert.equal(await approve(second, await waiting(user)), 200, 'what users register can be reviewed at once');
    const registration = { name: 'Desk', client_type: 'public', redirect_uris: ['https://rp.test/desk'] };
    const operator = { owner_user_id: null, caller: { actor: 'cli' } } as const;
    const firstParty = await registerByOperator(signet.deps, operator, readRegistration(registration));
    assert.equal(await approve(puppet, firstParty.client), 200, 'so can what the operator has registered');

    const desk = firstParty.client.client_id;
    const edit = async (by: TestUser, name: string) =>
      (await sendAs(signet, by, 'PATCH', `/clients/${desk}`, { name })).json?.revision;
    const approveEdit = async (by: TestUser, revision: unknown) =>
      (await sendAs(signet, by, 'POST', `/clients/${desk}/approve`, { revision })).status;
    signet.clock.advance(1);
    await edit(third, 'Another desk');
    const revision = await edit(root, 'Yet another desk');
    assert.deepEqual([await approveEdit(third, revision), await approveEdit(root, revision)], [403, 403], 'both asked');
    assert.equal(await approveEdit(second, revision), 403, 'an accomplice for what the operator asks');
    assert.equal(await approveEdit(fourth, revision), 200);

    for (const { email } of [root, third]) {
      assert.ok((await mailbox.next(email, sentence('mail.new_administrator.subject'))).text.includes(puppet.email));
    }
    signet.clock.advance(86_398);
    await second.signIn();
    assert.equal(await approve(second, own), 403);
    signet.clock.advance(1);
    assert.equal(await approve(second, own), 200);
  },
);

testSignet('a new administrator takes no role from another one', { env }, async ({ signet }) => {
  const root = await signet.signedInUser({ role: 'admin' });
  const [puppet, user] = [await signet.signedInUser(), await signet.signedInUser()];
  const asPuppet = (method: string, path: string, body?: object) => sendAs(signet, puppet, method, path, body);
  const made = await sendAs(signet, root, 'PUT', `/users/${puppet.user_id}/role`, { role: 'admin' });
  assert.equal(made.status, 200, made.text);
  const { json } = await root.browser.get(`/v1/admin/users/${root.user_id}/sessions`);
  const [session] = (json?.sessions ?? []) as { session_id: string }[];
  const reason = 'Reported.';
  const acts: [method: string, path: string, body?: object][] = [
    ['PUT', 'role', { role: 'user' }],
    ['POST', 'disable', { reason }],
    ['POST', 'reset-factors', { reason }],
    ['POST', 'sign-out'],
    ['DELETE', `sessions/${session?.session_id}`],
    ['PATCH', '', { name: 'Somebody Else', reason }],
    ['POST', 'export', { reason }],
    ['DELETE', 'picture', { reason }],
  ];
  for (const [method, act, body] of acts) {
    const answer = await asPuppet(method, `/users/${root.user_id}/${act}`.replace(/\/$/, ''), body);
    assert.deepEqual([answer.status, answer.json?.error], [403, 'access_denied'], `${act}: ${answer.text}`);
    assert.match(
      String(answer.json?.error_description),
      sentence('users.new_administrator', { when: '2027-01-16 08:00 UTC' }),
      act,
    );
    assert.equal(answer.json?.allowed_at, signet.clock() / 1000 + 86_400);
  }
  assert.equal((await root.browser.get('/v1/admin/keys')).status, 200, 'nothing was taken');
  const page = (await puppet.browser.get(`/admin/users/${root.user_id}`)).text;
  assert.match(page, sentence('users.new_administrator'));
  assert.doesNotMatch(page, /action="[^"]*\/(?:role|disable|reset-factors|sign-out)"/, 'no form that could only fail');

  assert.equal((await asPuppet('POST', `/users/${user.user_id}/sign-out`)).status, 200, 'users are looked after');
  assert.equal((await asPuppet('POST', `/users/${puppet.user_id}/sign-out`)).status, 200, 'their own are theirs');
  signet.clock.advance(86_400);
  await puppet.signIn();
  assert.equal((await asPuppet('PUT', `/users/${root.user_id}/role`, { role: 'user' })).status, 200);
});

onBothEngines(
  'of several links for the first administrator that are used at once, one makes one',
  async (t, engine) => {
    const passwords = rememberingHasher();
    let waiting = 0;
    let letGo = () => {};
    const allHere = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    // All of them have been found good before the first one is used.
    const hash: typeof passwords.hash = async (...args) => {
      waiting += 1;
      if (waiting === 4) letGo();
      await allHere;
      return passwords.hash(...args);
    };
    const signet = await startSignet(t, { engine, env, passwords: { ...passwords, hash } });
    const invite = () => inviteAdministrator(signet.deps, 'system', 'first_administrator');
    const links = [await invite(), await invite(), await invite(), await invite()];
    const use = ({ url }: { url: string }, place: number) =>
      signet.newBrowser().post(new URL(url).pathname, {
        email: `first${place}@example.com`,
        name: 'First',
        password: 'ordinary words in a row',
      });
    const answers = await Promise.all(links.map(use));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400, 400]);
    const users = await plain(signet.deps.db).all<{ role: string }>('select role from users');
    assert.deepEqual(
      users.map(({ role }) => role),
      ['admin'],
    );
    const late = answers.find(({ status }) => status === 400);
    assert.match(late?.text ?? '', sentence('invitation.spent'));

    // Once no administrator can sign in, the link of the next start is good again.
    await plain(signet.deps.db).run('update users set disabled_at = 1');
    assert.equal((await use(await invite(), 9)).status, 303);
  },
);

testSignet('of the secrets of a back end two work, and a leaked one ends at once', { env }, async ({ signet }) => {
  const root = await signet.signedInUser({ role: 'admin' });
  const { user_id } = await signet.signedInUser();
  const { client_id, client_secret } = await signet.newService();
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
    (await plain(signet.deps.db).all('select secret_id from service_secrets where credential_id = $1', [client_id]))
      .length;
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

test('administrators edit a first-party client and change its secrets, and no other', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await signet.signedInUser({ role: 'admin' });
  const firstParty = await signet.registerClient();
  await plain(signet.deps.db).run('update clients set owner_user_id = null where client_id = $1', [
    firstParty.client_id,
  ]);
  const at = `/clients/${firstParty.client_id}`;
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

  const owned = await signet.registerClient({ owner: await signet.signedInUser() });
  const there = `/clients/${owned.client_id}`;
  assert.equal((await sendAs(signet, root, 'PATCH', there, { name: 'Desk' })).status, 403);
  assert.equal((await sendAs(signet, root, 'POST', `${there}/secrets`)).status, 403);
  assert.equal((await root.browser.get(`/v1/admin${there}/secrets`)).status, 403);
});
