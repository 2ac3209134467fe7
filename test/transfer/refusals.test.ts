import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateX25519Identity } from 'age-encryption';
import { misunderstood, preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { openServer } from '../support/open-server.ts';
import { plain } from '../support/plain-sql.ts';
import type { Settings } from '../support/server-process.ts';
import { newExportKey, sealedAnew } from '../support/transfers.ts';

type Records = Record<string, unknown>;

const password = 'ordinary words in a row';
const ada = ['users', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--verified', '--password-stdin'];
const app = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.test/cb', '--approve'];

const lineOf = (kind: string, record: Records) => JSON.stringify({ kind, record });
const header = (more: Records = {}) =>
  JSON.stringify({ format: 'signet-export', version: 1, issuer: 'https://old.test', exported_at: 1, ...more });

async function counted(settings: Settings): Promise<number[]> {
  const lists = ['users', 'clients', 'groups'] as const;
  const found = await Promise.all(lists.map(async (name) => (await succeed([name, 'list'], settings))[name]));
  return found.map((list) => (list as unknown[]).length);
}

onBothEngines('a file that is not what was exported is refused before anything is changed', async (t, engine) => {
  const { folder, recipient, identityFile, read } = await newExportKey();
  const [from, to] = [await preparedSettings(t, engine), await preparedSettings(t, engine)];
  await succeed(ada, from, password);
  await succeed(app, from);
  await succeed(['groups', 'create', '--name', 'Staff'], from);
  const file = join(folder, 'all.age');
  await succeed(['export', file, '--recipient', recipient], from);
  const text = await read(file);
  const lines = text.trim().split('\n');
  const named = async (name: string, content: string | Uint8Array) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const key = ['--identity', identityFile];
  const sealed = await readFile(file);
  const others = await named('others.txt', await generateX25519Identity());
  const flipped = Buffer.from(sealed);
  flipped.writeUInt8(flipped.readUInt8(sealed.length - 100) ^ 1, sealed.length - 100);
  const refusals: [args: string[], sentence: RegExp][] = [
    [[file], /encrypted\. Give the file of the key with --identity/],
    [[file, '--identity', others], /another key than that of --identity.*Nothing was changed/],
    [[file, '--identity', file], /no secret key of age.*Nothing was changed/],
    [[file, '--identity', join(folder, 'none')], /file of --identity cannot be read/],
    [[join(folder, 'none')], /no such file/],
    [[await named('cut.age', sealed.subarray(0, -40)), ...key], /cut or damaged.*Nothing was changed/],
    [[await named('flipped.age', flipped), ...key], /cut or damaged.*Nothing was changed/],
    [[await named('cut.jsonl', lines.slice(0, -1).join('\n'))], /The file is cut.*Nothing was changed/],
    [[await named('within.jsonl', text.slice(0, -200))], /not valid JSON.*Nothing was changed/],
    [[await named('altered.jsonl', text.replace('"App"', '"Bad"'))], /not what was exported.*--edited.*Nothing was/],
    [[await named('less.jsonl', [...lines.slice(0, 1), ...lines.slice(2)].join('\n'))], /not what was exported/],
    [[await named('more.jsonl', `${text}${lines[1]}\n`)], /after the end of the export/],
    [[await named('newer.jsonl', sealedAnew([header({ version: 2 })]))], /version 2 .* newer Signet\. Update this one/],
    [[await named('alien.jsonl', sealedAnew([header(), lineOf('spaceship', {})]))], /does not know: "spaceship"/],
    [[await named('none.jsonl', '{"external_id":"1","email":"a@example.com"}\n')], /no export of Signet/],
    [[await named('empty.jsonl', '')], /no export of Signet/],
  ];
  for (const [args, sentence] of refusals) await refused(['import', ...args], to, sentence);
  assert.deepEqual(await counted(to), [0, 0, 0]);

  const streamed = await runCommand(['import', '-', '--report', join(folder, 'r')], {
    env: to,
    input: lines.slice(0, -1).join('\n'),
  });
  assert.equal(streamed.code, 1);
  assert.match(streamed.stderr, /cut.*What was read before is imported; repeat the command/);
  assert.deepEqual(await counted(to), [1, 1, 1]);
  const whole = await succeed(['import', '-', '--report', join(folder, 'r')], to, text);
  assert.deepEqual([whole.imported, whole.unchanged, whole.refused], [0, lines.length - 2, 0]);

  const edited = lines.filter((line) => !line.includes('"kind":"client"')).join('\n');
  const other = await preparedSettings(t, engine);
  await succeed(['import', await named('edited.jsonl', edited), '--edited'], other);
  assert.deepEqual(await counted(other), [1, 0, 1]);
});

/** One line each, but for the end. */
const client = {
  client_id: 'grafana',
  is_first_party: false,
  client_type: 'confidential',
  name: 'Grafana',
  application_type: 'web',
  redirect_uris: ['https://grafana.test/cb'],
  post_logout_redirect_uris: [],
  backchannel_logout_session_required: false,
  allowed_scopes: ['openid'],
  default_acr_values: [],
  id_token_signed_response_alg: 'EdDSA',
  claims_in_id_token: false,
  dpop_bound_access_tokens: false,
  require_pushed_authorization_requests: false,
  require_signed_request_object: false,
  refresh_retry_window: 0,
  consent: 'required',
  status: 'approved',
  revision: 1,
  created_at: 1_700_000_000,
  updated_at: 1_700_000_000,
  secrets: [],
};
const group = { group_id: `grp_${'a'.repeat(22)}`, name: 'Staff', created_at: 1, updated_at: 1 };
const user = (id: string, email: string, more: Records = {}) => ({ external_id: id, sub: id, email, ...more });
const entitlement = (user_id: string) => ({
  user_id,
  product: 'editor',
  plan: 'pro',
  status: 'active',
  source: 'billing',
  version: 1,
  updated_at: 1,
});

onBothEngines('a record that does not fit is refused with its reason, and what depends on it', async (t, engine) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t, engine);
  const here = join(folder, 'here.jsonl');
  await writeFile(here, `${JSON.stringify(user('old|1', 'mary@example.com'))}\n`);
  await succeed(['users', 'import', here], to);
  await succeed(ada, to, password);
  await succeed(['groups', 'create', '--name', 'staff'], to);
  await succeed(['import', await write(folder, 'first', [lineOf('client', client)])], to);

  const picture = { picture_id: `pic_${'a'.repeat(22)}`, media_type: 'text/html', created_at: 1 };
  const expected: [kind: string, record: Records, path: string, reason: RegExp][] = [
    ['group', group, '', /of this ID or name here already/],
    ['group', { ...group, group_id: 'grp_a', name: 'Short' }, 'group_id', /no ID of this kind/],
    ['group', { ...group, group_id: `grp_${'b'.repeat(22)}`, name: 'A\0B' }, '', /NUL/],
    ['group', { ...group, is_admin: true }, '', /unknown member/],
    ['service_credential', { credential_id: 'svc_1', name: 'X' }, 'permissions', /required/],
    ['user', user('old|1', 'someone.else@example.com'), 'sub', /Another account has this subject/],
    ['user', user('old|2', 'ADA@example.com'), 'email', /./],
    ['user', { ...user('old|3', 'new@example.com'), sub: 'old|4' }, 'sub', /Must be the external_id/],
    ['role', { user_id: 'old|1', role: 'admin' }, 'user_id', /Its user was not imported/],
    ['picture', { ...picture, user_id: 'old|5', content: btoa('<script>') }, 'content', /no picture/],
    ['client', { ...client, name: 'Other' }, '', /another client of this client_id/],
    ['client', { ...client, client_id: 'kibana', owner_user_id: 'old|2' }, 'owner_user_id', /Its user was not/],
    ['client', { ...client, client_id: 'loki', allowed_groups: [group.group_id] }, 'allowed_groups', /Its group was/],
    ['client', { ...client, client_id: 'x', redirect_uris: ['javascript:alert(1)'] }, 'redirect_uris/0', /./],
    ['client', { ...client, client_id: 'y', homepage_url: 'javascript:alert(1)' }, 'homepage_url', /./],
    [
      'client',
      { ...client, client_id: 'z', pending_change: { status: 'approved' } },
      'pending_change',
      /no reviewed field/,
    ],
    [
      'client',
      { ...client, client_id: 'w', secrets: [{ secret_id: 's', secret_hash: 'x', created_at: 1 }] },
      'secrets/0/secret_hash',
      /SHA-256/,
    ],
    ['entitlement', entitlement('old|1'), 'user_id', /Its user was not imported from this file/],
    ['entitlement', { ...entitlement('old|5'), status: 'golden' }, 'status', /Must be one of/],
    ['consent', { user_id: 'old|5', client_id: 'nothing', scope: 'openid', granted_at: 1 }, 'client_id', /Its client/],
    [
      'webhook',
      {
        webhook_id: `wh_${'a'.repeat(22)}`,
        url: 'file:///etc/passwd',
        event_types: [],
        created_at: 1,
        failure_notified: 0,
        secret: 'x',
      },
      'url',
      /./,
    ],
  ];
  const fine = [lineOf('user', user('old|5', 'fine@example.com')), lineOf('entitlement', entitlement('old|5'))];
  const inOrder = [...expected.map(([kind, record]) => lineOf(kind, record)), ...fine];
  const order = [
    'group',
    'service_credential',
    'user',
    'role',
    'picture',
    'client',
    'entitlement',
    'consent',
    'webhook',
  ];
  const kindIn = (line: string) => order.indexOf(JSON.parse(line).kind);
  const file = await write(
    folder,
    'second',
    inOrder.toSorted((one, other) => kindIn(one) - kindIn(other)),
    'https://other.test',
  );
  for (const dryRun of [['--dry-run'], []]) {
    const { code, stdout } = await runCommand(['import', file, '--roles', '--json', ...dryRun], { env: to });
    const done = JSON.parse(stdout);
    assert.deepEqual([code, done.imported, done.refused], [1, 2, expected.length], stdout);
    const report = (await readFile(`${file}.report.jsonl`, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const sorted = expected.toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
    for (const [place, [kind, record, path, reason]] of sorted.entries()) {
      const said = report[place];
      assert.deepEqual(
        [said.kind, said.outcome, said.problems[0].path],
        [kind, 'refused', path],
        JSON.stringify(record),
      );
      assert.match(said.problems[0].message, reason);
    }
  }
  const shown = await succeed(['entitlements', 'show', 'old|1'], to);
  assert.deepEqual(shown.entitlements, [], 'who has an id by chance gets nothing of whom it belonged to');
  const byHand = await succeed(['users', 'show', 'old|1'], to);
  assert.deepEqual([byHand.email, byHand.role], ['mary@example.com', 'user']);
});

async function write(folder: string, name: string, lines: string[], issuer = 'https://old.test'): Promise<string> {
  const path = join(folder, `${name}.jsonl`);
  await writeFile(path, sealedAnew([header({ issuer }), ...lines]));
  return path;
}

onBothEngines(
  'what was imported and is changed or gone since stays so when the import is repeated',
  async (t, engine) => {
    const { folder } = await newExportKey();
    const to = await preparedSettings(t, engine);
    const lines = [
      lineOf('group', group),
      lineOf('user', user('old|1', 'mary@example.com')),
      lineOf('user', user('old|2', 'kim@example.com')),
      lineOf('client', client),
      lineOf('entitlement', entitlement('old|1')),
      lineOf('entitlement', entitlement('old|2')),
    ];
    const file = await write(folder, 'all', lines);
    await succeed(['import', file], to);
    await succeed(['groups', 'edit', group.group_id, '--name', 'Crew'], to);
    await succeed(['clients', 'delete', 'grafana'], to);
    await succeed(['users', 'delete', 'old|2', '--email', 'kim@example.com', '--reason', 'asked'], to);
    const again = await succeed(['import', file], to);
    assert.deepEqual([again.imported, again.unchanged, again.refused], [0, lines.length, 0]);
    assert.deepEqual(await counted(to), [1, 0, 1]);
    assert.equal(((await succeed(['groups', 'list'], to)).groups as { name: string }[])[0]?.name, 'Crew');
  },
);

test('an export that cannot be made leaves no file, and takes no name that is taken', async (t) => {
  const { folder, recipient } = await newExportKey();
  const settings = await preparedSettings(t);
  await succeed(ada, settings, password);
  const file = join(folder, 'all.age');
  const to = ['--recipient', recipient];
  await misunderstood(['export', file, '--recipient', 'age1nonsense'], settings, /must be a public key of age/);
  await misunderstood(['export', file], settings, /--recipient is missing/);
  await refused(['export', join(folder, 'no/such/folder'), ...to], settings, /cannot be made there. Nothing was/);
  await writeFile(`${file}.partial`, 'begun');
  await refused(['export', file, ...to], settings, /another export is under way, or one was interrupted/);
  assert.equal(await readFile(`${file}.partial`, 'utf8'), 'begun');
  await writeFile(file, 'precious');
  await refused(['export', file, ...to], settings, /is there already/);
  assert.equal(await readFile(file, 'utf8'), 'precious');

  const { deps, close } = await openServer(t, settings);
  await plain(deps.db).run(
    `insert into totp (user_id, secret_sealed, confirmed_at, last_step) select user_id, 'damaged', 1, 1 from users`,
  );
  await close();
  const other = join(folder, 'other.age');
  const failed = await runCommand(['export', other, ...to], { env: settings });
  assert.equal(failed.code, 1);
  assert.equal(existsSync(other), false);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('other')),
    [],
  );
});
