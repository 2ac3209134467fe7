import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { newExportKey, sealedAnew } from '../support/transfers.ts';

const header = JSON.stringify({ format: 'signet-export', version: 1, issuer: 'https://old.test', exported_at: 1 });
const lineOf = (kind: string, record: Record<string, unknown>) => JSON.stringify({ kind, record });

const suffix = 'a'.repeat(22);
/** What `String()` cannot make a text of. */
const noText = { toString: 1, valueOf: 1 };
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const yearsAhead = Math.floor(Date.now() / 1000) + 5 * 366 * 86_400;

const user = { external_id: 'old|1', sub: 'old|1', email: 'mary@example.com' };
const group = { group_id: `grp_${suffix}`, name: 'Staff', created_at: 1, updated_at: 1 };
const scope = { name: 'files:read', descriptions: { en: 'Read files' }, created_at: 1 };
const api = { api_id: `api_${suffix}`, identifier: 'https://api.test', name: 'Files', created_at: 1, scopes: [scope] };
const secret = { secret_id: 's', secret_hash: 'a'.repeat(43), created_at: 1 };
const rules = { max_length: 20, minimum: null, maximum: null, choices: null };
const attribute = {
  ...{ attribute_id: `atr_${suffix}`, name: 'department', labels: { en: 'Department' }, value_type: 'string', rules },
  ...{ scope: 'userinfo:work', editable_by: 'person', is_shown: true, sign_up: 'no' },
  ...{ created_at: 1, updated_at: 1, place: 1 },
};
const otherAttribute = { ...attribute, name: 'badge', attribute_id: `atr_${'b'.repeat(22)}` };
const credential = {
  ...{ credential_id: `svc_${suffix}`, name: 'Back end', permissions: ['tokens:introspect'] },
  ...{ products: [], addresses: [], created_at: 1, secrets: [secret] },
};
const provider = {
  ...{ provider_id: 'acme', issuer: 'https://id.acme.example', label: 'Acme', upstream_client_id: 'signet' },
  ...{ created_at: 1, client_secret: 'x' },
};
const entitlement = {
  ...{ user_id: 'old|1', product: 'editor', plan: 'pro', status: 'active', source: 'billing' },
  ...{ version: 1, updated_at: 1 },
};
const version = { ...entitlement, updated_at: undefined, credential_id: 'svc_old', written_at: 1 };
const host = { host: 'apps.example', allowed_scopes: ['openid'], created_at: 1, updated_at: 1 };
const declared = { kind: 'groups', resource_key: 'staff', resource_id: group.group_id, made_by_apply: true };

/** By kind, in the order of a file. `path`: of the first problem. */
const hostile: [kind: string, record: Record<string, unknown>, path: string, reason: RegExp][] = [
  ['group', { ...group, group_id: noText }, 'group_id', /Must be string/],
  ['group', { ...group, created_at: -1 }, 'created_at', /Must be >= 0/],
  ['group', { ...group, updated_at: Number.MAX_SAFE_INTEGER }, 'updated_at', /Must be <=/],
  ['api', { ...api, scopes: [{ ...scope, name: 'openid' }] }, 'scopes/0/name', /meaning of its own/],
  ['api', { ...api, scopes: [{ ...scope, name: 'a b' }] }, 'scopes/0/name', /without spaces/],
  ['api', { ...api, scopes: [{ ...scope, name: 'openid', retired_at: 2 }] }, 'scopes/0/name', /meaning of its own/],
  ['api', { ...api, scopes: [{ ...scope, descriptions: { en: 'Read\u202e' } }] }, 'scopes/0/descriptions', /./],
  ['attribute', { ...otherAttribute, name: 'Email_Verified' }, 'name', /meaning of its own/],
  ['attribute', { ...otherAttribute, name: '__proto__' }, 'name', /begins with a letter/],
  ['attribute', { ...otherAttribute, scope: 'openid' }, 'scope', /userinfo:/],
  ['attribute', { ...otherAttribute, labels: { en: 'Half \ud800' } }, 'labels', /visible/],
  ['attribute', { ...otherAttribute, labels: { xx: 'Department' } }, 'labels', /de, en/],
  ['attribute', { ...otherAttribute, labels: { en: ' Department' } }, 'labels', /spaces/],
  ['attribute', { ...otherAttribute, rules: { ...rules, max_length: 1e9 } }, 'max_length', /1 to 1000/],
  ['attribute', { ...otherAttribute, rules: { ...rules, max_length: null } }, 'rules', /./],
  ['attribute', { ...otherAttribute, rules: { ...rules, minimum: 1 } }, 'minimum', /does not apply/],
  ['attribute', { ...otherAttribute, rules: { ...rules, choices: [] } }, 'rules', /./],
  ['attribute', { ...otherAttribute, rules: { ...rules, choices: ['Sales '] } }, 'rules', /./],
  ['attribute', { ...otherAttribute, rules: { ...rules, choices: ['Half \ud800'] } }, 'choices/0', /visible/],
  ['attribute', { ...otherAttribute, is_shown: false }, 'visible_to', /able to see/],
  ['service_credential', { ...credential, addresses: ['nowhere'] }, 'addresses', /addresses or subnets/],
  ['service_credential', { ...credential, permissions: ['everything'] }, 'permissions', /./],
  ['service_credential', { ...credential, permissions: ['users:write'] }, 'expires_at', /must expire/],
  [
    'service_credential',
    { ...credential, permissions: ['users:write'], expires_at: yearsAhead },
    'expires_at',
    /must expire/,
  ],
  ['service_credential', { ...credential, name: '\u202e' }, 'name', /visible/],
  ['provider', { ...provider, issuer: 'https://ID.acme.example/' }, 'issuer', /spelled https:\/\/id\.acme\.example$/],
  ['provider', { ...provider, label: ' Acme ' }, 'label', /spelled/],
  ['user', { external_id: noText, sub: 'old|2', email: 'kim@example.com' }, 'external_id', /Must be string/],
  [
    'user',
    { external_id: 'old|3', sub: 'old|3', email: 'lou@example.com', attributes: { department: 'Half \ud800' } },
    'attributes/department',
    /visible/,
  ],
  ['backup_code_key', { key: noText }, 'key', /Must be string/],
  ['approved_host', { ...host, host: 'apps.example/path' }, 'host', /no host/],
  ['approved_host', { ...host, allowed_scopes: ['openid', 'a "'] }, 'allowed_scopes/1', /no scope/],
  ['entitlement', { ...entitlement, product: '\u202e' }, 'product', /./],
  ['entitlement', { ...entitlement, plan: 'x'.repeat(200) }, 'plan', /more than 100/],
  ['entitlement', { ...entitlement, metadata: { a: 'DEEP' } }, 'metadata', /8 KB/],
  ['entitlement_version', { ...version, version: 0 }, 'version', /Must be >= 1/],
  ['declared_resource', { ...declared, kind: 'constructor', declared_at: 1 }, 'kind', /no kind of resource/],
  ['declared_resource', { ...declared, kind: '__proto__', declared_at: 1 }, 'kind', /no kind of resource/],
];

const problemsIn = async (path: string) =>
  (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as { kind: string; outcome: string; problems: { path: string; message: string }[] },
    );

onBothEngines('what no page or command would have made is refused, whatever a file is made of', async (t, engine) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t, engine);
  const lines = hostile.map(([kind, record]) => lineOf(kind, record).replace('"DEEP"', () => deep));
  const firstUser = hostile.findIndex(([kind]) => kind === 'user');
  lines.splice(firstUser, 0, lineOf('user', user));
  const firstAttribute = hostile.findIndex(([kind]) => kind === 'attribute');
  lines.splice(firstAttribute, 0, lineOf('attribute', attribute));
  const file = join(folder, 'crafted.jsonl');
  await writeFile(file, sealedAnew([header, ...lines]));
  for (const dryRun of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await runCommand(['import', file, '--roles', '--json', ...dryRun], { env: to });
    assert.equal(stderr, '');
    const done = JSON.parse(stdout);
    assert.deepEqual([code, done.imported, done.refused], [1, 2, hostile.length], stdout);
    const report = await problemsIn(`${file}.report.jsonl`);
    for (const [place, [kind, record, path, reason]] of hostile.entries()) {
      const said = report[place]!;
      const [first] = said.problems;
      assert.deepEqual([said.kind, said.outcome, first?.path], [kind, 'refused', path], JSON.stringify(record));
      assert.match(first!.message, reason);
    }
  }
});

onBothEngines('the same without what is wrong with it is imported', async (t, engine) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t, engine);
  const ended = { ...credential, credential_id: `svc_${'b'.repeat(22)}`, permissions: ['users:write'], secrets: [] };
  const lines = [
    lineOf('group', group),
    lineOf('api', { ...api, scopes: [scope, { ...scope, name: 'files:old', retired_at: 2 }] }),
    lineOf('attribute', { ...attribute, rules: { ...rules, choices: ['Sales'] } }),
    lineOf('service_credential', credential),
    lineOf('service_credential', { ...ended, expires_at: 2 }),
    lineOf('service_credential', { ...ended, credential_id: `svc_${'c'.repeat(22)}`, retired_at: 2 }),
    lineOf('provider', provider),
    lineOf('user', user),
    lineOf('approved_host', host),
    lineOf('entitlement', { ...entitlement, metadata: { seats: [1, { of: 'two' }] } }),
    lineOf('entitlement_version', { ...version, event_id: 'evt 1' }),
    lineOf('declared_resource', { ...declared, declared_at: 1 }),
  ];
  const file = join(folder, 'fine.jsonl');
  await writeFile(file, sealedAnew([header, ...lines]));
  const done = await succeed(['import', file, '--roles'], to);
  assert.deepEqual([done.imported, done.refused], [lines.length, 0], JSON.stringify(done));
});

test('lines without a header are no export, also behind an empty line of standard input', async (t) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t);
  const report = ['--report', join(folder, 'r')];
  const { code, stderr } = await runCommand(['import', '-', ...report], {
    env: to,
    input: `\n${lineOf('group', group)}\n`,
  });
  assert.equal(code, 1);
  assert.match(stderr, /The file is no export of Signet/);
  assert.deepEqual((await succeed(['groups', 'list'], to)).groups, []);
});
