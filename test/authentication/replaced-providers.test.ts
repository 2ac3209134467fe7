import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import {
  deleteProvider,
  findStoredProvider,
  insertProvider,
} from '../../src/authentication/credentials/providers.store.ts';
import { editProvider, removeProvider, turnOff, turnOn } from '../../src/authentication/federation/manage-provider.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { startSignet } from '../support/signet.ts';
import {
  client_id,
  client_secret,
  confirmationForm,
  signInUpstream,
  startUpstream,
  startUpstreamSignIn,
} from '../support/upstream.ts';

const path = '/v1/admin/providers';
const internal = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };

/** An administrator, a provider `acme`, and how it gives way to another issuer of this ID. */
async function world(t: TestContext, engine: Engine) {
  let clock = () => 0;
  const [first, second] = [await startUpstream(t, () => clock()), await startUpstream(t, () => clock())];
  const signet = await startSignet(t, { engine, env: internal });
  clock = () => Math.floor(signet.clock() / 1000);
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  const add = async (issuer: string) => {
    const added = await admin.browser.postJson(path, { id: 'acme', issuer, label: 'Acme', client_id, client_secret });
    assert.equal(added.status, 200, added.text);
  };
  await add(first.issuer);
  const replace = async () => {
    assert.equal((await admin.browser.delete(`${path}/acme`)).status, 200);
    await add(second.issuer);
  };
  return { signet, first, second, admin, replace };
}

onBothEngines('a sign-in that began at one issuer does not end at another one of the same ID', async (t, engine) => {
  const { signet, first, second, replace } = await world(t, engine);
  const victim = await signet.newUser();
  first.account = { sub: 'attacker', email: victim.email, email_verified: true };
  const [returning, asked] = [signet.newBrowser(), signet.newBrowser()];
  const callback = await startUpstreamSignIn(returning);
  const question = confirmationForm(await asked.get(await startUpstreamSignIn(asked)));
  assert.ok(question, 'whether the account is to be connected');
  await replace();
  const agreed = await asked.post(question.action, { answer: question.answer });
  assert.equal(agreed.status, 400, agreed.text);
  const before = second.requests.length;
  const late = await returning.get(callback);
  assert.equal(late.status, 400, late.text);
  assert.equal(second.requests.length, before, 'the code of one issuer is not sent to the other');
  for (const browser of [returning, asked]) assert.equal((await browser.get('/v1/me')).status, 401);
  assert.equal((await signet.auditLog({ action: 'identity.linked' })).length, 0);
});

onBothEngines('a link with an issuer that is gone is removed, also if its ID means another now', async (t, engine) => {
  const { signet, first, second, replace } = await world(t, engine);
  const user = await signet.signedInUser();
  const account = { email: user.email, email_verified: true };
  const link = async () => assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303);
  const count = async () => ((await user.browser.get('/v1/me')).json?.identities as unknown[] | undefined)?.length;
  first.account = { sub: 'there', ...account };
  await link();
  await replace();
  second.account = { sub: 'here', ...account };
  await link();
  assert.equal(await count(), 2);

  const page = '/account/security/providers';
  const remove = async () => {
    const shown = await user.browser.get(page);
    assert.equal(shown.text.split('/acme/remove').length, 2, 'a button for one, not two that mean the same');
    const removed = await user.browser.post(`${page}/acme/remove`, {});
    assert.equal(removed.location, `${page}?done=unlinked`, removed.text);
    return { wasGone: shown.text.includes('no longer offered here') };
  };
  assert.deepEqual(await remove(), { wasGone: false });
  assert.deepEqual(await remove(), { wasGone: true });
  const unlinked = await signet.auditLog({ action: 'identity.unlinked' });
  const issuers = unlinked.map(({ before_state }) => (JSON.parse(before_state ?? '') as { issuer: string }).issuer);
  assert.deepEqual(issuers.sort(), [first.issuer, second.issuer].sort());
  assert.equal(await count(), 0);
  assert.doesNotMatch((await user.browser.get(page)).text, /no longer offered here/);
});

onBothEngines('a new administrator cannot edit a provider, and can disable one', async (t, engine) => {
  const { signet, admin } = await world(t, engine);
  const accomplice = await signet.signedInUser();
  await admin.browser.put(`/v1/admin/users/${accomplice.user_id}/role`, { role: 'admin', reason: 'Joins.' });
  const fresh = await accomplice.signedInElsewhere();
  await fresh.enableTotp();
  const refused = await fresh.browser.patch(`${path}/acme`, { groups_claim: 'nickname' });
  assert.deepEqual([refused.status, refused.json?.error], [403, 'access_denied'], refused.text);
  assert.equal((await fresh.browser.get(`${path}/acme`)).json?.groups_claim, null);
  assert.equal((await fresh.browser.postEmpty(`${path}/acme/disable`)).status, 200, 'in an emergency');
});

onBothEngines(
  'what is done to a provider is not done to another one that has got its ID meanwhile',
  async (t, engine) => {
    const { signet, second, admin, replace } = await world(t, engine);
    const { db } = signet.deps;
    const first = await findStoredProvider(db, 'acme');
    assert.ok(first);
    const caller = { actor: 'cli' } as const;
    const acts: Readonly<Record<string, (deps: typeof signet.deps) => Promise<unknown>>> = {
      edit: (deps) => editProvider(deps, caller, 'acme', { client_secret: 'that of the first one' }),
      disable: (deps) => turnOff(deps, caller, 'acme'),
      enable: (deps) => turnOn(deps, caller, 'acme'),
      remove: (deps) => removeProvider(deps, caller, 'acme'),
    };
    for (const [name, act] of Object.entries(acts)) {
      await db.shared.change({ run: { gone: deleteProvider(first), first: insertProvider(first) } });
      if (name === 'enable') await turnOff(signet.deps, caller, 'acme');
      let after: unknown;
      const shared = Object.assign(Object.create(db.shared) as typeof db.shared, {
        change: async (...wanted: Parameters<typeof db.shared.change>) => {
          await replace();
          if (name === 'enable') await turnOff(signet.deps, caller, 'acme');
          after = await findStoredProvider(db, 'acme');
          return db.shared.change(...wanted);
        },
      });
      const between = Object.assign(Object.create(db) as typeof db, { shared });
      const log = (await signet.auditLog({ target: 'provider:acme' })).length;
      await assert.rejects(act({ ...signet.deps, db: between }), RequestError, name);
      const stored = await findStoredProvider(db, 'acme');
      assert.equal(stored?.issuer, second.issuer, name);
      assert.deepEqual(stored, after, name);
      const events = (await signet.auditLog({ target: 'provider:acme' })).length - log;
      assert.equal(events, name === 'enable' ? 3 : 2, 'of what was really done');
      assert.equal((await admin.browser.delete(`${path}/acme`)).status, 200);
    }
  },
);
