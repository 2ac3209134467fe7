import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { followProvider } from '../../src/groups/follow-provider.ts';
import { groupsOfUser } from '../../src/groups/statements.ts';
import type { UserId } from '../../src/platform/ids.ts';
import { preparedSettings, refused, runCommand, settingsOf, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import type { Settings } from '../support/server-process.ts';
import { startSignet } from '../support/signet.ts';

type Json = Record<string, unknown>;

function writer(settings: Settings) {
  const folder = join(String(settings.SIGNET_DATA_DIR), 'declared');
  mkdirSync(folder, { recursive: true });
  return (text: string, name = 'signet.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, `apiVersion: signet/v1\n${text}`);
    return path;
  };
}

const fieldsOf = (answer: Json) =>
  (answer.changes as { fields: { field: string }[] }[]).map(({ fields }) => fields.map(({ field }) => field).join(' '));

onBothEngines(
  'members of a group are declared where a file wants it, and left alone where it does not',
  async (t, engine) => {
    const env = await preparedSettings(t, engine);
    const make = (name: string) =>
      succeed(
        ['users', 'create', '--email', `${name}@example.com`, '--name', name, '--verified', '--password-stdin'],
        env,
        'ordinary words in a row',
      );
    const [ada, , eve] = [await make('ada'), await make('ben'), await make('eve')];
    const write = writer(env);
    const apply = (path: string) => succeed(['apply', '-f', path], env);
    const group = (members: string) => write(`groups:\n  team: { name: Team${members} }\n`);
    const members = async () => {
      const { groups } = (await succeed(['groups', 'list'], env)) as { groups: { group_id: string }[] };
      const found = await succeed(['groups', 'members', String(groups[0]?.group_id)], env);
      return (found.members as { email: string }[]).map(({ email }) => email.split('@')[0]).sort();
    };
    const made = await apply(group(`, members: [${ada.user_id}, Ben@Example.com, ben@example.com]`));
    assert.deepEqual([fieldsOf(made), await members()], [['name description external_id members'], ['ada', 'ben']]);
    assert.deepEqual((await apply(group(', members: [ada@example.com, ben@example.com]'))).changes, []);
    const changed = group(`, members: [${eve.user_id}, ada@example.com]`);
    const plan = await runCommand(['apply', '-f', changed, '--dry-run'], { env });
    assert.match(plan.stdout, /members: 1 to add, 1 to remove \["\+eve@example\.com","-ben@example\.com"\]/);
    assert.deepEqual(fieldsOf(await apply(changed)), ['members']);
    assert.deepEqual(await members(), ['ada', 'eve']);
    const { events } = (await succeed(['audit', 'list', '--action', 'group'], env)) as { events: Json[] };
    assert.deepEqual(events.filter(({ action }) => action !== 'group.created').length, 4, 'one event a member');

    assert.deepEqual((await apply(group(''))).changes, []);
    assert.deepEqual(await members(), ['ada', 'eve']);
    const { stdout } = await runCommand(['config', 'export'], { env });
    assert.doesNotMatch(stdout, /members|ada@/, 'an export names no people');

    const wrong = group(', members: [ada@example.com, nobody@example.com]');
    await refused(['apply', '-f', wrong], env, /groups\/team\/members\/1: There is no user/);
    assert.deepEqual(await members(), ['ada', 'eve']);
    const many = Array.from({ length: 1001 }, (_, place) => `x${place}@example.com`).join(', ');
    await refused(['apply', '-f', group(`, members: [${many}]`)], env, /groups\/team\/members/);
    assert.deepEqual(fieldsOf(await apply(group(', members: []'))), ['members']);
    assert.deepEqual(await members(), []);
  },
);

test('whom a provider has put into a group stays, whatever a file says', async (t) => {
  const signet = await startSignet(t);
  const { db } = signet.deps;
  const env = settingsOf(signet);
  const user_id = (await signet.newUser({ email: 'ann@example.com' })).user_id as UserId;
  const write = writer(env);
  const path = write('groups:\n  team: { name: Team, members: [] }\n');
  await succeed(['apply', '-f', path], env);
  await followProvider(signet.deps, user_id, 'acme', ['Team']);
  assert.deepEqual((await succeed(['apply', '-f', path], env)).changes, []);
  const named = write('groups:\n  team: { name: Team, members: [ann@example.com] }\n');
  assert.deepEqual((await succeed(['apply', '-f', named], env)).changes, []);
  const [group] = await groupsOfUser(db, user_id);
  assert.deepEqual([group?.name, group?.provider], ['Team', 'acme']);
});

onBothEngines('a client gets the client_id that a file chooses, once and for good', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  const write = writer(env);
  const client = (client_id: string, more = '') =>
    write(
      `clients:\n  shop: { name: Shop, client_type: public, redirect_uris: ["https://shop.example/cb"]${client_id}${more} }\n`,
    );
  const apply = (path: string) => succeed(['apply', '-f', path], env);
  const made = await apply(client(', client_id: shop.web-1'));
  assert.deepEqual(made.made, [{ of: 'clients/shop', client_id: 'shop.web-1' }]);
  const shown = await succeed(['clients', 'show', 'shop.web-1'], env);
  assert.deepEqual([shown.client_id, shown.status], ['shop.web-1', 'approved']);
  assert.deepEqual((await apply(client(', client_id: shop.web-1'))).changes, []);
  assert.deepEqual((await apply(client(''))).changes, [], 'left out, it stays');
  await refused(['apply', '-f', client(', client_id: another')], env, /clients\/shop\/client_id: Cannot be changed/);

  for (const wrong of [
    'https://shop.example/client.json',
    '.',
    '..',
    'a b',
    '"x\\0"',
    'a/b',
    'x'.repeat(65),
    'svc_AAAAAAAAAAAAAAAAAAAAAA',
    'cl_AAAAAAAAAAAAAAAAAAAAAA',
    'usr_AAAAAAAAAAAAAAAAAAAAAA',
    '7',
  ]) {
    const typed = /^["7]/.test(wrong) ? wrong : JSON.stringify(wrong);
    const path = write(
      `clients:\n  other: { name: Other, client_type: public, redirect_uris: ["https://o.example/cb"], client_id: ${typed} }\n`,
    );
    await refused(['apply', '-f', path, '--dry-run'], env, /clients\/other\/client_id/);
  }
  const taken = write(
    'clients:\n  other: { name: Other, client_type: public, redirect_uris: ["https://o.example/cb"], client_id: shop.web-1 }\n',
  );
  const { code, stdout } = await runCommand(['apply', '-f', taken], { env });
  assert.deepEqual([code, /clients\/other: .*Another client has this client_id/s.test(stdout)], [1, true], stdout);
  assert.equal(((await succeed(['clients', 'list'], env)).clients as Json[]).length, 1);

  // What was chosen is exported, what was made here is not: elsewhere it would be another one.
  await apply(write('clients:\n  own: { name: Own, client_type: public, redirect_uris: ["https://w.example/cb"] }\n'));
  const { clients } = (await succeed(['config', 'export'], env)) as { clients: Record<string, Json> };
  assert.deepEqual([clients.shop?.client_id, clients.own?.client_id], ['shop.web-1', undefined]);
});

onBothEngines('hosts whose clients are approved in advance are declared, changed and pruned', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  const write = writer(env);
  const apis =
    'apis:\n  files: { identifier: "https://files.example", name: Files, scopes: { "files:read": { en: Read your files } } }\n';
  const hosts = (scopes: string) =>
    write(
      `${apis}client_hosts:\n  app.example.com: { allowed_scopes: [${scopes}] }\n  local: { host: "dev.example:8443", allowed_scopes: [openid] }\n`,
    );
  const apply = async (path: string, ...options: string[]) =>
    ((await succeed(['apply', '-f', path, ...options], env)).changes as Json[]).map(
      ({ action, kind, key }) => `${action} ${kind}/${key}`,
    );
  const listed = async () =>
    ((await succeed(['clients', 'hosts', 'list'], env)).hosts as { host: string; allowed_scopes: string[] }[]).map(
      ({ host, allowed_scopes }) => `${host} ${[...allowed_scopes].sort()}`,
    );
  const both = ['create client_hosts/app.example.com', 'create client_hosts/local'];
  assert.deepEqual(await apply(hosts('openid, "files:read"')), ['create apis/files', ...both]);
  assert.deepEqual(await listed(), ['app.example.com files:read,openid', 'dev.example:8443 openid']);
  assert.deepEqual(await apply(hosts('"files:read", openid')), []);
  assert.deepEqual(await apply(hosts('openid')), ['change client_hosts/app.example.com']);
  const { client_hosts } = await succeed(['config', 'export'], env);
  assert.deepEqual(client_hosts, {
    'app.example.com': { allowed_scopes: ['openid'] },
    local: { host: 'dev.example:8443', allowed_scopes: ['openid'] },
  });
  for (const wrong of ['not a host', '127.0.0.1/x', 'https://a.example'])
    await refused(
      ['apply', '-f', write(`client_hosts: { one: { host: "${wrong}", allowed_scopes: [openid] } }\n`)],
      env,
      /client_hosts\/one\/host/,
    );
  const unknown = await runCommand(['apply', '-f', hosts('openid, nowhere')], { env });
  assert.deepEqual([unknown.code, /client_hosts\/app\.example\.com/.test(unknown.stdout)], [1, true]);
  assert.deepEqual(
    (await apply(write(apis), '--prune')).sort(),
    both.map((one) => one.replace('create', 'delete')),
  );
  assert.deepEqual(await listed(), []);
});
