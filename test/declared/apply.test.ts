import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import type { Engine } from '../support/databases.ts';
import type { Settings } from '../support/server-process.ts';

type Json = Record<string, unknown>;

const engines: readonly Engine[] = ['sqlite', 'postgres'];

const folderOf = (settings: Settings) => {
  const folder = join(String(settings.SIGNET_DATA_DIR), 'declared');
  mkdirSync(folder, { recursive: true });
  return folder;
};

function writer(settings: Settings) {
  const folder = folderOf(settings);
  return (text: string, name = 'signet.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
}

const changesOf = (answer: Json) =>
  (answer.changes as { action: string; kind: string; key: string; fields: { field: string }[] }[]).map(
    ({ action, kind, key, fields }) =>
      `${action} ${kind}/${key}${action === 'change' ? ` ${fields.map(({ field }) => field).join(' ')}` : ''}`,
  );

const everything = `
apiVersion: signet/v1
groups:
  engineering: { name: Engineering, description: Who builds the product }
attributes:
  department: { name: department, labels: { en: Department }, type: string, choices: [Sales, Service], scope: "userinfo:work" }
apis:
  files:
    identifier: https://files.example.com
    name: Files
    scopes:
      files:read: { en: Read your files }
clients:
  intranet:
    name: Intranet
    client_type: confidential
    redirect_uris: [https://intranet.example.com/callback]
    allowed_scopes: [openid, email, "userinfo:work", files:read]
    policy: { consent: required, allowed_groups: [engineering] }
  app:
    name: App
    client_type: public
    redirect_uris: ["com.example.app:/callback"]
service_credentials:
  files: { name: Files, permissions: ["tokens:introspect"], api: files }
  leavers: { name: Leavers, permissions: ["users:read"], expires_on: "2027-06-30", addresses: [203.0.113.0/24] }
webhooks:
  crm: { name: CRM, url: https://crm.example.com/hooks/password, event_types: [user.deleted, user.created] }
`;

const all = [
  'create groups/engineering',
  'create attributes/department',
  'create apis/files',
  'create clients/intranet',
  'create clients/app',
  'create service_credentials/files',
  'create service_credentials/leavers',
  'create webhooks/crm',
];

for (const engine of engines) {
  test(`files are applied, changed and pruned (${engine})`, async (t) => {
    const env = await preparedSettings(t, engine);
    const write = writer(env);
    const file = write(everything);
    const apply = (...options: string[]) => succeed(['apply', '-f', file, ...options], env);

    const dry = await apply('--dry-run');
    assert.deepEqual([changesOf(dry), dry.applied], [all, false]);
    assert.deepEqual((await succeed(['groups', 'list'], env)).groups, []);
    assert.deepEqual((await succeed(['clients', 'list'], env)).clients, []);

    const first = await apply();
    assert.deepEqual([changesOf(first), first.done], [all, all.length]);
    const made = first.made as Json[];
    const client_id = String(made.find((one) => one.of === 'clients/intranet' && one.client_id)?.client_id);
    assert.ok(made.some((one) => one.of === 'clients/intranet' && /^cs_/.test(String(one.client_secret))));
    assert.ok(!made.some((one) => one.of === 'clients/app' && one.client_secret));
    assert.ok(made.some((one) => one.of === 'webhooks/crm' && /^whsec_/.test(String(one.secret))));
    const client = await succeed(['clients', 'show', client_id], env);
    assert.deepEqual([client.status, client.consent, client.owner], ['approved', 'required', null]);
    const { events } = (await succeed(['audit', 'list', '--action', 'client'], env)) as { events: Json[] };
    const ofClient = events.filter(({ target }) => target === client_id);
    assert.deepEqual(ofClient.map(({ action, actor }) => `${action} ${actor}`).sort(), [
      'client.approved cli',
      'client.registered cli',
    ]);

    const second = await apply();
    assert.deepEqual([changesOf(second), second.unchanged], [[], all.length]);
    assert.match((await runCommand(['apply', '-f', file], { env })).stdout, /^Nothing to change/);

    write(
      everything
        .replace('name: Engineering', 'name: Builders')
        .replace('[Sales, Service]', '[Sales]')
        .replace('name: Intranet', 'name: Inside')
        .replace('consent: required, ', '')
        .replace('[user.deleted, user.created]', '[user.created]')
        .replace('203.0.113.0/24', '203.0.113.7')
        .replace('Read your files }', 'Read your files }\n      files:write: { en: Change your files }'),
    );
    assert.deepEqual(changesOf(await apply()), [
      'change groups/engineering name',
      'change attributes/department choices',
      'change apis/files scope files:write',
      'change clients/intranet name consent',
      'change service_credentials/leavers addresses',
      'change webhooks/crm event_types',
    ]);
    const after = await succeed(['clients', 'show', client_id], env);
    assert.deepEqual(
      [after.name, after.consent, after.status, after.pending_change],
      ['Inside', 'skip', 'approved', null],
    );
    assert.deepEqual(changesOf(await apply()), []);

    write('apiVersion: signet/v1\ngroups:\n  engineering: { name: Builders }\n');
    assert.deepEqual(changesOf(await apply()), ['change groups/engineering description']);
    const gone = [
      'apis/files',
      'attributes/department',
      'clients/app',
      'clients/intranet',
      'service_credentials/files',
    ];
    assert.deepEqual(changesOf(await apply('--prune')).sort(), [
      ...gone.map((name) => `delete ${name}`),
      'delete service_credentials/leavers',
      'delete webhooks/crm',
    ]);
    assert.deepEqual((await succeed(['clients', 'list'], env)).clients, []);
    assert.deepEqual(changesOf(await apply('--prune')), []);
  });

  test(`what is exported changes nothing where it comes from, and makes the same elsewhere (${engine})`, async (t) => {
    const env = await preparedSettings(t, engine);
    const write = writer(env);
    await succeed(['apply', '-f', write(everything)], env);
    const by = (...args: string[]) => succeed(args, env);
    await by('groups', 'create', '--name', 'engineering staff');
    await by('clients', 'create', '--name', 'By hand', '--redirect-uri', 'https://hand.example/cb', '--approve');
    const { stdout } = await runCommand(['config', 'export'], { env });
    assert.match(stdout, /^# yaml-language-server: \$schema=/);
    assert.doesNotMatch(stdout, /whsec_|cs_|ss_/);
    const again = write(stdout, 'exported.yaml');
    assert.deepEqual(changesOf(await by('apply', '-f', again)), []);
    const json = write(JSON.stringify(await by('config', 'export')), 'exported.json');
    assert.deepEqual(changesOf(await by('apply', '-f', json)), []);

    const other = await preparedSettings(t);
    await succeed(['apply', '-f', again], other);
    assert.deepEqual(changesOf(await succeed(['apply', '-f', again], other)), []);
    assert.equal((await runCommand(['config', 'export'], { env: other })).stdout, stdout);

    // What was made by hand is declared now, and stays when it is not any more.
    write('apiVersion: signet/v1\n');
    const pruned = changesOf(await by('apply', '-f', join(folderOf(env), 'signet.yaml'), '--prune'));
    assert.deepEqual(pruned.filter((one) => one.startsWith('forget')).sort(), [
      'forget clients/by-hand',
      'forget groups/engineering-staff',
    ]);
    const { clients } = (await by('clients', 'list')) as { clients: Json[] };
    assert.deepEqual(
      clients.map(({ name }) => name),
      ['By hand'],
    );
  });
}

test('secrets come by reference, are compared, and are never printed', async (t) => {
  const settings = await preparedSettings(t);
  const write = writer(settings);
  const secret = (letter: string) => letter.repeat(40);
  const signing = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
  const file = write(`
apiVersion: signet/v1
clients:
  shop:
    name: Shop
    client_type: confidential
    redirect_uris: [https://shop.example.com/callback]
    secret: { env: SHOP_SECRET }
service_credentials:
  billing: { name: Billing, permissions: ["entitlements:write"], products: [editor], secret: { file: billing.secret } }
webhooks:
  crm: { name: CRM, url: https://crm.example.com/hooks/password, event_types: [user.created], secret: { env: CRM_SECRET } }
`);
  write(`${secret('b')}\n`, 'billing.secret');
  const env = { ...settings, SHOP_SECRET: secret('a'), CRM_SECRET: signing('c') };
  const said: string[] = [];
  const apply = async (with_: Settings) => {
    for (const options of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await runCommand(['apply', '-f', file, ...options], { env: with_ });
      assert.equal(code, 0, stderr);
      said.push(stdout);
    }
    return said.at(-1) ?? '';
  };
  assert.match(await apply(env), /3 of 3 changes were made/);
  assert.match(await apply(env), /^Nothing to change/);
  write(secret('d'), 'billing.secret');
  const rotated = await apply({ ...env, SHOP_SECRET: secret('e'), CRM_SECRET: signing('f') });
  assert.match(rotated, /secret: "\(hidden\)" -> "\(hidden\)"[\s\S]*3 of 3/);
  assert.match(await apply({ ...env, SHOP_SECRET: secret('e'), CRM_SECRET: signing('f') }), /^Nothing to change/);
  assert.doesNotMatch(said.join(''), /([a-f])\1{30}|whsec_|hooks\/password/);
  const log = JSON.stringify(await succeed(['audit', 'list'], env));
  assert.doesNotMatch(log, /([a-f])\1{30}|whsec_/);
});

test('what is wrong is refused at its line, all of it at once, and nothing is done', async (t) => {
  const env = await preparedSettings(t);
  const file = writer(env)(`apiVersion: signet/v1
required_providers: [nowhere]
groups:
  engineering:
    name: ""
    colour: red
teams: {}
clients:
  shop:
    name: Shop
    client_type: confidential
    redirect_uris:
      - https://shop.example.com/callback
      - http://shop.example.com/callback
    secret: in-the-clear-in-the-clear-in-the-clear
    policy:
      refresh_retry_window: 90
      allowed_groups: [nobody]
  other:
    name: Other
    client_type: confidential
    redirect_uris: [https://other.example.com/callback]
    secret: in-the-clear-in-the-clear-in-the-clear
    policy: { allowed_groups: [nobody] }
  Bad Key: {}
`);
  const said = await refused(['apply', '-f', file], env, /Nothing was changed/);
  const at = (line: number, path: string) => said.includes(`${file}:${line} ${path}: `);
  for (const [line, path] of [
    [2, 'required_providers/0'],
    [5, 'groups/engineering/name'],
    [6, 'groups/engineering/colour'],
    [7, 'teams'],
    [14, 'clients/shop/redirect_uris/1'],
    [17, 'clients/shop/policy/refresh_retry_window'],
    [24, 'clients/other/policy/allowed_groups/0'],
    [25, 'clients/Bad Key'],
  ] as const)
    assert.ok(at(line, path), `${line} ${path}\n${said}`);
  assert.doesNotMatch(said, /in-the-clear/);
  assert.deepEqual((await succeed(['groups', 'list'], env)).groups, []);

  const write = writer(env);
  const plain = (secret: string) =>
    `apiVersion: signet/v1\nclients:\n  shop:\n    name: Shop\n    client_type: confidential\n    redirect_uris: [https://s.example/cb]\n    secret: ${secret}\n`;
  const cases = [
    ['in-the-clear-in-the-clear-in-the-clear', /:7 clients\/shop\/secret: Must be \{ env: NAME \}/],
    ['{ env: NOT_SET }', /:7 clients\/shop\/secret: The variable is not set/],
    ['{ file: nowhere }', /:7 clients\/shop\/secret: The file of the secret cannot be read/],
  ] as const;
  for (const [secret, sentence] of cases) {
    const text = await refused(['apply', '-f', write(plain(secret))], env, sentence);
    assert.doesNotMatch(text, /in-the-clear/);
  }
  await refused(['apply', '-f', write('a: [1')], env, /signet\.yaml:1: /);
  await refused(['apply', '-f', write('apiVersion: signet/v2')], env, /:1 apiVersion: apiVersion must be signet\/v1/);
  const twice = 'apiVersion: signet/v1\ngroups:\n  one: { name: One }\n  two: { name: ONE }\n';
  await refused(['apply', '-f', write(twice)], env, /:4 groups\/two: Is the same as .*:3 groups\/one/);
  const folder = folderOf(env);
  write('apiVersion: signet/v1\ngroups:\n  one: { name: One }\n', 'a.yaml');
  write('apiVersion: signet/v1\ngroups:\n  one: { name: Two }\n', 'b.yaml');
  write('apiVersion: signet/v1\n');
  await refused(['apply', '-f', folder], env, /b\.yaml:3 groups\/one: Is declared in .*a\.yaml:3 groups\/one, too/);
});

test('what cannot be changed or is ambiguous is refused, and a suspended client stays so', async (t) => {
  const env = await preparedSettings(t);
  const write = writer(env);
  const client = (more: string) =>
    write(
      `apiVersion: signet/v1\nclients:\n  shop:\n    name: Shop\n    redirect_uris: [https://s.example/cb]\n    ${more}\n`,
    );
  const { made } = await succeed(['apply', '-f', client('client_type: confidential')], env);
  const client_id = String((made as Json[]).find((one) => one.client_id)?.client_id);
  await refused(
    ['apply', '-f', client('client_type: public')],
    env,
    /:6 clients\/shop\/client_type: Cannot be changed/,
  );
  await succeed(['clients', 'suspend', client_id, '--reason', 'its tokens have leaked'], env);
  const edited = client('client_type: confidential\n    homepage_url: https://s.example/');
  assert.deepEqual(changesOf(await succeed(['apply', '-f', edited], env)), ['change clients/shop homepage_url']);
  assert.equal((await succeed(['clients', 'show', client_id], env)).status, 'suspended');
  assert.deepEqual(changesOf(await succeed(['apply', '-f', edited], env)), []);
});
