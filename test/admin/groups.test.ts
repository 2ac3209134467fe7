import assert from 'node:assert/strict';
import { addMember } from '../../src/groups/change-members.ts';
import { maxGroupsOfUser } from '../../src/groups/group.ts';
import { createGroup, deleteGroup } from '../../src/groups/manage-groups.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet, testSignet } from '../support/signet.ts';

const caller = { actor: 'cli' } as const;

onBothEngines('groups are created, filled, renamed and deleted by API, and the log says who', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.newUser({ email: 'ada@example.com' });
  const send = (path: string, body: object) => admin.browser.postJson(`/v1/admin/groups${path}`, body);
  const read = async (path: string) =>
    (await admin.browser.get(`/v1/admin/groups${path}`, { accept: 'application/json' })).json as Record<
      string,
      unknown
    >;

  const made = await send('', { name: 'Engineering', description: 'Who builds it', external_id: 'x-1' });
  assert.equal(made.status, 200, made.text);
  const group_id = String(made.json?.group_id);
  assert.deepEqual((await send(`/${group_id}/members`, { user: 'Ada@Example.com' })).json, { changed: true });
  assert.deepEqual((await send(`/${group_id}/members`, { user: user.user_id })).json, { changed: false });
  const { members } = (await read(`/${group_id}/members`)) as { members: { email: string; provider: null }[] };
  assert.deepEqual(
    members.map((one) => [one.email, one.provider]),
    [['ada@example.com', null]],
  );
  assert.equal((await read(`/${group_id}`)).member_count, 1);
  const renamed = await admin.browser.patch(`/v1/admin/groups/${group_id}`, { name: 'Engineers' });
  assert.equal(renamed.json?.name, 'Engineers', renamed.text);
  for (const name of ['Alpha', 'Beta', 'Engraving']) await send('', { name });
  const first = (await read('?limit=2')) as { groups: { name: string }[]; next: string };
  const second = (await read(`?limit=2&after=${first.next}`)) as { groups: { name: string }[]; next: null };
  assert.deepEqual(
    [...first.groups, ...second.groups].map(({ name }) => name),
    ['Alpha', 'Beta', 'Engineers', 'Engraving'],
  );
  assert.equal(second.next, null);
  const found = (await read('?query=ENG')) as { groups: { name: string }[] };
  assert.deepEqual(
    found.groups.map(({ name }) => name),
    ['Engineers', 'Engraving'],
  );

  assert.deepEqual((await send(`/${group_id}/remove-member`, { user: user.user_id })).json, { changed: true });
  assert.deepEqual((await send(`/${group_id}/remove-member`, { user: user.user_id })).json, { changed: false });
  assert.equal(
    (await admin.browser.send(`/v1/admin/groups/${group_id}`, { method: 'DELETE', headers: { origin: signet.url } }))
      .status,
    204,
  );
  assert.equal((await admin.browser.get(`/v1/admin/groups/${group_id}`, { accept: 'application/json' })).status, 404);
  assert.deepEqual(
    (await signet.auditLog({ target: group_id })).map(({ action }) => action),
    ['group.deleted', 'group.member_removed', 'group.edited', 'group.member_added', 'group.created'],
  );
});

testSignet('what a group cannot be is refused, and changes nothing', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const send = (path: string, body: object) => admin.browser.postJson(`/v1/admin/groups${path}`, body);
  const group_id = String((await send('', { name: 'Engineering' })).json?.group_id);
  const refusals: [string, object, number, string?][] = [
    ['', { name: 'ENGINEERING' }, 400, 'name'],
    ['', { name: ' ' }, 400, 'name'],
    ['', { name: 'a\u202eb' }, 400, 'name'],
    ['', { name: 'x'.repeat(101) }, 400, 'name'],
    ['', { name: '\ufdfa'.repeat(100) }, 400, 'name'],
    ['', { name: 'Other', description: 'x'.repeat(501) }, 400, 'description'],
    ['', { name: 'Other', description: 'a\u202eb' }, 400, 'description'],
    ['', { name: 'Other', external_id: 'a\u0007b' }, 400, 'external_id'],
    [`/${group_id}/members`, { user: 'nobody@example.com' }, 400, 'user'],
    ['/grp_unknown/members', { user: admin.user_id }, 404],
  ];
  for (const [path, body, status, field] of refusals) {
    const answer = await send(path, body);
    const fields = (answer.json?.fields ?? []) as { path: string }[];
    assert.deepEqual(
      [answer.status, fields[0]?.path],
      [status, field],
      `${path} ${JSON.stringify(body)} ${answer.text}`,
    );
  }
  const user = await signet.signedInUser();
  assert.equal((await user.browser.postJson('/v1/admin/groups', { name: 'Mine' })).status, 403);
  assert.equal((await signet.auditLog({ action: 'group.created' })).length, 1);
});

onBothEngines(
  'one user is in a bounded number of groups, and a deleted group goes with its members',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const user = await signet.newUser();
    const ids: string[] = [];
    for (let number = 0; number <= maxGroupsOfUser; number += 1)
      ids.push((await createGroup(signet.deps, caller, { name: `Group ${number}` })).group_id);
    for (const id of ids.slice(0, -1)) await addMember(signet.deps, caller, id, user.user_id);
    await assert.rejects(
      addMember(signet.deps, caller, ids.at(-1) ?? '', user.user_id),
      /as many as one user may be in/,
    );
    await deleteGroup(signet.deps, caller, ids[0] ?? '');
    await signet.runJobs();
    const rows = await plain(signet.deps.db).all<{ group_id: string }>(
      `select group_id from groups where group_id = '${ids[0]}' union all
     select group_id from group_members where group_id = '${ids[0]}'`,
    );
    assert.deepEqual(rows, []);
    assert.equal(await addMember(signet.deps, caller, ids.at(-1) ?? '', user.user_id), true);
  },
);

testSignet('the pages of groups and of clients say who may use what', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const member = await signet.newUser({ email: 'ada@example.com', name: 'Ada' });
  const list = '/admin/groups';
  assert.match((await admin.browser.get(list)).text, sentence('admin.groups.none'));
  const made = await admin.browser.post(list, { name: 'Engineering', description: 'Who builds\r\nit\r\n' });
  const page = made.location?.split('?')[0] ?? '';
  assert.match(page, /^\/admin\/groups\/grp_[\w-]{22}$/);
  const taken = await admin.browser.post(list, { name: 'engineering' });
  assert.match(taken.text, sentence('problem.group.taken'));
  for (const [path, fields, done] of [
    ['/members', { user: 'ada@example.com' }, 'added'],
    ['/members', { user: 'ada@example.com' }, 'unchanged'],
    ['/edit', { name: 'Engineers', description: '' }, 'saved'],
    ['/edit', { name: 'Engineers', description: '' }, 'unchanged'],
  ] as const) {
    const answer = await admin.browser.post(page + path, fields);
    assert.equal(answer.location, `${page}?done=${done}`, `${path} ${answer.status} ${answer.text.slice(0, 400)}`);
  }
  assert.match((await admin.browser.get(page)).text, /Ada/);
  assert.match((await admin.browser.get(`/admin/users/${member.user_id}`)).text, /Engineers<\/bdi><\/a>/);
  const unknown = await admin.browser.post(`${page}/members`, { user: 'nobody@example.com' });
  assert.match(unknown.text, sentence('problem.group.user'));

  const { client_id } = await signet.registerClient({ allowed_scopes: ['openid', 'groups'] });
  const policy = (fields: Record<string, string>) =>
    admin.browser.post(`/admin/clients/${client_id}/policy`, { consent: 'skip', refresh_retry_window: '0', ...fields });
  const named = {
    allowed_groups: 'named',
    allowed_groups_named: 'engineers\r\n',
    visible_groups: 'named',
    visible_groups_named: 'Engineers',
  };
  assert.match((await policy(named)).location ?? '', /done=policy/);
  const client = (await admin.browser.get(`/admin/clients/${client_id}`)).text;
  assert.equal(client.split(page).length, 3, 'the page leads to the group, once for each');
  assert.match(
    (await policy({ allowed_groups: 'named', allowed_groups_named: 'Nobody' })).text,
    sentence('problem.group.unknown'),
  );
  assert.match(
    (await policy({ allowed_groups: 'named', allowed_groups_named: ' ' })).text,
    sentence('problem.client.allowed_groups', { max: 50 }),
  );
  assert.match(
    (await policy({ allowed_groups: 'all', allowed_groups_named: 'Engineers' })).location ?? '',
    /done=policy/,
  );
  const record = (await admin.browser.get(`/v1/admin/clients/${client_id}`, { accept: 'application/json' })).json;
  assert.equal(record?.allowed_groups, null);
  assert.equal((record?.visible_groups as string[] | undefined)?.length, 1);

  assert.equal(
    (await admin.browser.post(`${page}/remove-member`, { user: member.user_id })).location,
    `${page}?done=removed`,
  );
  assert.equal((await admin.browser.post(`${page}/delete`, {})).location, `${list}?done=deleted`);
});
