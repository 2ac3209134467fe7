import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import * as client from 'openid-client';
import { changePolicy } from '../../src/clients/review-client.ts';
import { addMember, removeMember } from '../../src/groups/change-members.ts';
import { deleteGroup, editGroup } from '../../src/groups/manage-groups.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { newGroup } from '../support/groups.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, claimsOf, type RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const caller = { actor: 'cli' } as const;
const restrict = ({ deps }: Signet, { client_id }: RegisteredClient, allowed_groups: string[] | null) =>
  changePolicy(deps, { client_id, caller }, { allowed_groups });

async function twoNodes(t: TestContext, engine: Engine) {
  const signet = await startSignet(t, { engine });
  const other = await startSignet(t, { engine, beside: signet });
  return { signet, other };
}

type Scene = { signet: Signet; user_id: string; group_id: string; client: RegisteredClient };
/** Each ends what the user may do with the client. */
const endings: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'the user is removed from the group': ({ signet, group_id, user_id }) =>
    removeMember(signet.deps, caller, group_id, user_id),
  'the group is deleted': ({ signet, group_id }) => deleteGroup(signet.deps, caller, group_id),
  'the client is restricted to another group': async ({ signet, client }) =>
    restrict(signet, client, [(await newGroup(signet, 'Others')).group_id]),
};

for (const [ending, end] of Object.entries(endings)) {
  onBothEngines(`GR-01: once ${ending}, every endpoint refuses on every node`, async (t, engine) => {
    const { signet, other } = await twoNodes(t, engine);
    const user = await signet.signedInUser();
    const { user_id } = user;
    const { group_id } = await newGroup(signet, 'Engineering');
    await addMember(signet.deps, caller, group_id, user_id);
    const client = await signet.registerClient();
    await restrict(signet, client, [group_id]);
    const held = await user.obtainTokens(client);
    const code = await user.authorize(client);
    for (const node of [signet, other]) {
      assert.equal((await node.userinfo(held.access_token)).status, 200);
      assert.equal((await client.at(node).introspect(held.access_token)).json?.active, true);
    }

    await end({ signet, user_id, group_id, client });
    for (const node of [other, signet]) {
      assertRefused(await node.userinfo(held.access_token), 401, 'invalid_token');
      for (const token of [held.access_token, held.refresh_token])
        assert.deepEqual((await client.at(node).introspect(token)).json, { active: false });
      assertRefused(await client.at(node).redeem(code), 400, 'invalid_grant');
      assertRefused(await client.at(node).refresh(held.refresh_token), 400, 'invalid_grant');
    }
    signet.clock.advance(1); // a client is read anew within a second
    const asked = await user.browser.get(client.authorizePath());
    assert.match(asked.location ?? '', /^\/signin\/no-access\?request=/);
    const silent = redirectedTo(await user.browser.get(client.authorizePath({ prompt: 'none' })));
    assert.equal(silent.get('error'), 'access_denied');
    assert.equal(silent.get('code'), null);
  });
}

onBothEngines('GR-02: nothing is lost: back in the group, the same refresh token goes on', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const user = await signet.signedInUser();
  const { group_id } = await newGroup(signet, 'Engineering');
  await addMember(signet.deps, caller, group_id, user.user_id);
  const client = await signet.registerClient();
  await restrict(signet, client, [group_id]);
  const held = await user.obtainTokens(client);
  await removeMember(signet.deps, caller, group_id, user.user_id);
  assertRefused(await client.refresh(held.refresh_token), 400, 'invalid_grant');
  await addMember(signet.deps, caller, group_id, user.user_id);
  const again = tokensOf(await client.refresh(held.refresh_token));
  assert.equal((await signet.userinfo(again.access_token)).status, 200);
});

testSignet('GR-03: who may not use a client reads so, and the client learns it', async ({ signet }) => {
  const user = await signet.signedInUser();
  const { group_id } = await newGroup(signet, 'Engineering');
  const client = await signet.registerClient();
  await restrict(signet, client, [group_id]);
  signet.clock.advance(1);
  const asked = await user.browser.get(client.authorizePath());
  const page = await user.browser.get(asked.location ?? '');
  assert.match(page.text, sentence('no_access.title'));
  assert.ok(page.text.includes('Test product') && page.text.includes(user.email.split('@')[0] ?? ''));
  assert.match(page.text, /ask an administrator of/);
  const request = new URLSearchParams(asked.location?.split('?')[1]).get('request') ?? '';
  const back = redirectedTo(await user.browser.post('/oauth/authorize/cancel', { request }));
  assert.equal(back.get('error'), 'access_denied');
  assert.equal(back.base, 'https://rp.test/cb');

  // Who is let in while the page is open goes on from it.
  const later = await user.browser.get(client.authorizePath());
  await addMember(signet.deps, caller, group_id, user.user_id);
  const onward = await user.browser.get(later.location ?? '');
  assert.match(onward.location ?? '', /^\/oauth\/authorize\/continue/);
  assert.ok(redirectedTo(await user.browser.get(onward.location ?? '')).get('code'));
});

testSignet(
  'GR-04: the claim has the names of the groups that the client may see, as they are now',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const groups = await Promise.all(['Zebra', 'apple', 'Élan'].map((name) => newGroup(signet, name, [user])));
    const [zebra, apple] = groups;
    await newGroup(signet, 'Not mine');
    const allowed_scopes = ['openid', 'groups', 'offline_access'];
    const client = await signet.registerClient({ allowed_scopes, claims_in_id_token: true });
    const held = await user.obtainTokens(client, { scope: 'openid groups offline_access' });
    assert.deepEqual(
      new Set((await signet.userinfo(held.access_token)).json?.groups as string[]),
      new Set(['apple', 'Zebra', 'Élan']),
    );
    assert.deepEqual(new Set(claimsOf(held.id_token).groups as string[]), new Set(['apple', 'Zebra', 'Élan']));

    await changePolicy(
      signet.deps,
      { client_id: client.client_id, caller },
      { visible_groups: ['ZEBRA', apple?.group_id ?? ''] },
    );
    assert.deepEqual((await signet.userinfo(held.access_token)).json?.groups, ['apple', 'Zebra']);
    await editGroup(signet.deps, caller, zebra?.group_id ?? '', { name: 'Zebras' });
    assert.deepEqual((await signet.userinfo(held.access_token)).json?.groups, ['apple', 'Zebras']);
    await removeMember(signet.deps, caller, apple?.group_id ?? '', user.user_id);
    const refreshed = tokensOf(await client.refresh(held.refresh_token));
    assert.deepEqual(claimsOf(refreshed.id_token).groups, ['Zebras']);

    const without = await signet.registerClient({ allowed_scopes: ['openid'] });
    const less = await user.obtainTokens(without, { scope: 'openid groups' });
    assert.equal(less.scope, 'openid', 'a scope that was not reviewed is left out');
    assert.equal((await signet.userinfo(less.access_token)).json?.groups, undefined);
  },
);

testSignet('GR-05: a group that is deleted gives nothing to another one of its name', async ({ signet }) => {
  const user = await signet.signedInUser();
  const first = await newGroup(signet, 'Engineering');
  const client = await signet.registerClient();
  await restrict(signet, client, [first.group_id]);
  await deleteGroup(signet.deps, caller, first.group_id);
  const second = await newGroup(signet, 'Engineering');
  await addMember(signet.deps, caller, second.group_id, user.user_id);
  signet.clock.advance(1);
  const asked = await user.browser.get(client.authorizePath());
  assert.match(asked.location ?? '', /^\/signin\/no-access/);
});

testSignet('GR-04: openid-client reads the groups of its user', async ({ signet }) => {
  const user = await signet.signedInUser();
  await newGroup(signet, 'Engineering', [user]);
  const registered = await signet.registerClient({ owner: user, allowed_scopes: ['openid', 'groups'] });
  const config = await client.discovery(
    new URL(signet.url),
    registered.client_id,
    undefined,
    client.ClientSecretBasic(registered.client_secret ?? ''),
    { execute: [client.allowInsecureRequests] },
  );
  const { access_token } = await user.obtainTokens(registered, { scope: 'openid groups' });
  const { groups } = await client.fetchUserInfo(config, access_token, user.user_id);
  assert.deepEqual(groups, ['Engineering']);
});
