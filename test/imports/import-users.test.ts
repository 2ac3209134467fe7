import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { importedHashes } from '../support/imported-hashes.ts';
import { cellCount } from '../support/postgres-server.ts';
import type { Settings } from '../support/server-process.ts';

/** A made hash of another program; the others are in imported-passwords.test.ts. */
const { stored: password_hash } = importedHashes.find(({ stored }) => stored.startsWith('$2b$'))!;

const ada = {
  external_id: '5f7c8ec7-c33c',
  email: 'ada@example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  given_name: 'Ada',
  family_name: 'Lovelace',
  preferred_username: 'Ada.L',
  locale: 'de',
  created_at: 1_600_000_000,
  password_hash,
  totp: { secret: 'JBSW Y3DP EHPK 3PXP' },
};
const grace = { external_id: 'auth0|42', email: 'grace@example.com', disabled: true };

type Result = {
  imported: number;
  unchanged: number;
  refused: number;
  reduced: number;
  reasons: Record<string, number>;
};
type Row = Record<string, unknown>;

async function file(settings: Settings, lines: readonly (object | string)[]): Promise<string> {
  await mkdir(settings.SIGNET_DATA_DIR!, { recursive: true });
  const path = join(settings.SIGNET_DATA_DIR!, 'users.jsonl');
  await writeFile(path, lines.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n'));
  return path;
}

async function importing(settings: Settings, lines: readonly (object | string)[], ...options: string[]) {
  const path = await file(settings, lines);
  const { code, stdout, stderr } = await runCommand(['users', 'import', path, '--json', ...options], { env: settings });
  assert.ok(stdout, stderr);
  const report = (await readFile(`${path}.report.jsonl`, 'utf8')).split('\n').filter(Boolean);
  return { code, result: JSON.parse(stdout) as Result, report: report.map((line) => JSON.parse(line) as Row) };
}

const found = async (settings: Settings, query: string) => {
  const { users } = (await succeed(['users', 'find', query], settings)) as { users: Row[] };
  return users;
};

const counts = ({ imported, unchanged, refused }: Result) => [imported, unchanged, refused];

function onImport(name: string, run: (settings: Settings, t: TestContext) => Promise<void>): void {
  onBothEngines(name, async (t, engine) => run(await preparedSettings(t, engine), t));
}

onImport('a user of the file is an account as it was, and the same file again changes nothing', async (settings) => {
  const first = await importing(settings, [ada, '', grace]);
  assert.deepEqual([first.code, ...counts(first.result)], [0, 2, 0, 0]);
  assert.deepEqual(first.report, []);

  const [user] = await found(settings, 'lovel ad');
  const overview = (await succeed(['users', 'show', String(user?.user_id), '--all'], settings)) as {
    factors: Row;
    profile: Row;
  } & Row;
  assert.match(String(user?.user_id), /^usr_[\w-]{22}$/);
  assert.deepEqual(
    [overview.email, overview.email_verified, overview.role, overview.created_at, overview.preferred_username],
    ['ada@example.com', true, 'user', 1_600_000_000, 'ada.l'],
  );
  assert.deepEqual([overview.factors.password, overview.factors.totp], [true, 'active']);
  assert.equal(overview.profile.family_name, 'Lovelace');
  assert.equal((await found(settings, 'grace'))[0]?.status, 'disabled');

  const again = await importing(settings, [{ ...ada, name: 'Another' }, grace]);
  assert.deepEqual([again.code, ...counts(again.result)], [0, 0, 2, 0]);
  assert.equal((await found(settings, 'ada'))[0]?.name, 'Ada Lovelace');

  const { events } = (await succeed(['audit', 'list', '--action', 'user.list_imported'], settings)) as {
    events: { after: { source: string; users: number } }[];
  };
  assert.deepEqual(
    events.map(({ after }) => after),
    events.length === 2 && cellCount > 0
      ? Array(2).fill({ source: 'signet', users: 1 })
      : [{ source: 'signet', users: 2 }],
  );
});

onImport('a user who was deleted here is not imported again', async (settings) => {
  await importing(settings, [ada]);
  await succeed(['users', 'delete', ada.email, '--email', ada.email], settings);
  const again = await importing(settings, [ada]);
  assert.deepEqual(counts(again.result), [0, 1, 0]);
  assert.deepEqual(await found(settings, 'ada'), []);
});

onImport('a dry run finds what an import would, and changes nothing', async (settings) => {
  await importing(settings, [grace]);
  const lines = [ada, { ...grace, external_id: 'other' }, { ...ada, external_id: 'x', email: 'x@example.com' }];
  const tried = await importing(settings, lines, '--dry-run');
  assert.deepEqual([tried.code, ...counts(tried.result)], [1, 1, 0, 2]);
  assert.deepEqual(await found(settings, 'ada'), []);
  const done = await importing(settings, lines);
  assert.deepEqual(done.report, tried.report);
  assert.deepEqual(counts(done.result), [1, 0, 2]);
});

onImport('who cannot be imported is refused with every reason, and leaves nothing behind', async (settings) => {
  await succeed(
    ['users', 'create', '--email', 'taken@example.com', '--name', 'T', '--username', 'taken', '--password-stdin'],
    settings,
    'ordinary words in a row',
  );
  const refused: readonly (readonly [object | string, ...string[]])[] = [
    ['{"external_id":', ''],
    ['[1]', ''],
    [{ external_id: 'a' }, 'email'],
    [{ external_id: 'b', email: 'nowhere', password_hash: 'md5', name: 'A\u202eB' }, 'email', 'name', 'password_hash'],
    [{ external_id: 'c', email: 'c@example.com', role: 'admin' }, ''],
    [{ external_id: 'd', email: ' Taken@EXAMPLE.com' }, 'email'],
    [{ external_id: 'e', email: 'e@example.com', preferred_username: 'taken' }, 'preferred_username'],
    [{ external_id: 'f', email: 'f@example.com', totp: { secret: 'JBSWY3DPEHPK3PXP', digits: 8 } }, 'totp'],
    [{ external_id: 'g', email: 'g@example.com', identities: [{ provider: 'acme', subject: '1' }] }, 'identities/0'],
    [{ external_id: 'h', email: 'h@example.com', sub: 'cl_0000000000000000000000' }, 'sub'],
    [{ external_id: 'i', email: 'i@example.com', sub: 'a/b' }, 'sub'],
    [
      {
        external_id: 'j',
        email: 'j@example.com',
        passkeys: [{ rp_id: 'x.example', credential_id: 'AA', public_key: 'AA' }],
      },
      'passkeys/0/rp_id',
      'passkeys/0/public_key',
    ],
  ];
  const lines = [...refused.map(([line]) => line), ada];
  const { code, result, report } = await importing(settings, lines);
  assert.deepEqual([code, ...counts(result)], [1, 1, 0, refused.length]);
  const pathsAt = (line: number) =>
    report.flatMap(({ at, problems }) => (at === line ? (problems as Row[]).map(({ path }) => path) : [])).sort();
  for (const [index, [, ...paths]] of refused.entries()) assert.deepEqual(pathsAt(index + 1), paths.sort());
  assert.equal((await found(settings, 'example.com'))?.length, 2);

  const omitting = await importing(
    settings,
    lines,
    '--drop-unusable',
    'preferred_username,totp identities',
    '--without',
    'passkeys,sub',
  );
  assert.deepEqual(counts(omitting.result), [6, 1, 6]);
  assert.equal(omitting.result.reduced, 3);
  assert.deepEqual(
    omitting.report.filter(({ outcome }) => outcome === 'imported_without').map(({ external_id }) => external_id),
    ['e', 'f', 'g'],
  );
});

onImport('two lines with one address are one account, whichever comes first', async (settings) => {
  const many = Array.from({ length: 300 }, (_, n) => ({ external_id: `x${n}`, email: `same${n % 50}@example.com` }));
  const { result } = await importing(settings, many);
  assert.deepEqual(counts(result), [50, 0, 250]);
  assert.deepEqual(result.reasons, { 'email: An account with this email address already exists.': 250 });
});

onImport('users are in the groups of this name that there are, and who is in another is refused', async (settings) => {
  await succeed(['groups', 'create', '--name', 'Staff'], settings);
  const inGroups = (id: string, groups: string[]) => ({ external_id: id, email: `${id}@example.com`, groups });
  const lines = [inGroups('a', ['staff', 'STAFF']), inGroups('b', ['Staff', 'Unknown'])];
  const { result, report } = await importing(settings, lines);
  assert.deepEqual(counts(result), [1, 0, 1]);
  assert.deepEqual(report[0]?.problems, [{ path: 'groups/1', message: 'There is no group of this name here.' }]);
  const lesser = await importing(settings, lines, '--drop-unusable', 'groups');
  assert.deepEqual([...counts(lesser.result), lesser.result.reduced], [1, 1, 0, 1]);
  const { groups } = (await succeed(['groups', 'list'], settings)) as { groups: { group_id: string }[] };
  const { members } = (await succeed(['groups', 'members', groups[0]!.group_id], settings)) as { members: Row[] };
  assert.deepEqual(members.map(({ email }) => email).sort(), ['a@example.com', 'b@example.com']);
});
