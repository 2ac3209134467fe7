import assert from 'node:assert/strict';
import { addMember } from '../../src/groups/change-members.ts';
import { groupsOfUser } from '../../src/groups/statements.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { newGroup } from '../support/groups.ts';
import { signInUpstream } from '../support/upstream.ts';

const env = { SIGNET_PROVIDER_ACME_GROUPS_CLAIM: 'roles', SIGNET_PROVIDER_ACME_SCOPE: 'roles offline' };

onBothEngines('GR-06: groups that a provider names are followed at each sign-in', async (t, engine) => {
  const { signet, upstream } = await startFederatedSignet(t, { engine, env });
  const { group_id: kept } = await newGroup(signet, 'Given here');
  for (const name of ['Engineering', 'Support']) await newGroup(signet, name);
  const groupsAfter = async (roles: unknown) => {
    upstream.account = { ...upstream.account, roles };
    const browser = signet.newBrowser();
    await signInUpstream(browser);
    const { user_id } = (await browser.get('/v1/me', { accept: 'application/json' })).json as { user_id: string };
    return { user_id, names: (await groupsOfUser(signet.deps.db, user_id)).map(({ name }) => name) };
  };
  const first = await groupsAfter(['ENGINEERING', 'unknown', 7, '', { a: 1 }]);
  assert.deepEqual(first.names, ['Engineering']);
  assert.equal(upstream.asked.get('scope'), 'openid email profile roles offline');
  await addMember(signet.deps, { actor: 'cli' }, kept, first.user_id);
  assert.deepEqual((await groupsAfter(['Support'])).names, ['Given here', 'Support']);
  assert.deepEqual((await groupsAfter('Engineering')).names, ['Engineering', 'Given here'], 'one name without a list');
  assert.deepEqual((await groupsAfter(undefined)).names, ['Given here'], 'a missing claim names none');
  const events = await signet.auditLog({ action: 'group.member_removed' });
  assert.deepEqual(
    events.map(({ actor }) => actor),
    Array(3).fill(`user:${first.user_id}`),
  );
});
