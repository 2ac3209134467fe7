/**
 * `npm run count:touches`: in how many files and lines one thing of each kind is named, which is what the next of its kind
 * will touch. With commits, the same for each of them, to compare: `npm run count:touches -- b629f06c HEAD`.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

type Kind = { kind: string; example: string; pattern: string };

/** Of each kind one that little else depends on: what a page or a check does with it comes on top for any. */
const kinds: readonly Kind[] = [
  { kind: 'field of a client', example: 'policy_uri', pattern: 'policy_uri' },
  { kind: 'setting', example: 'SIGNET_DRAIN_SECONDS', pattern: 'SIGNET_DRAIN_SECONDS|drainSeconds' },
  { kind: 'event', example: 'user.picture_removed', pattern: 'user.picture_removed' },
  { kind: 'authorization parameter', example: 'login_hint', pattern: 'login_hint' },
  { kind: 'client authentication method', example: 'client_secret_post', pattern: 'client_secret_post' },
  { kind: 'scope', example: 'entitlements:read', pattern: 'entitlements:read' },
  {
    kind: 'table with expiry',
    example: 'revoked_access_tokens',
    pattern: 'revoked_access_tokens|purgeRevokedAccessTokens',
  },
];

/** Where it is named: a migration is the one file that each new column or table needs, and is never edited. */
const groups = {
  code: (file: string) => file.startsWith('src/') && file.endsWith('.ts') && !file.endsWith('.test.ts'),
  texts: (file: string) => /^src\/.*\.json$/.test(file),
  migrations: (file: string) => file.endsWith('.sql') && file.startsWith('src/'),
  tests: (file: string) => file.endsWith('.test.ts') || (file.startsWith('test/') && file.endsWith('.ts')),
  documents: (file: string) => file.endsWith('.md') && !file.startsWith('docs/spec/'),
};
type Group = keyof typeof groups;

const folders = ['src', 'test', 'docs', 'README.md'];

let read: { file: string; source: string }[] | undefined;
/** Every file of the groups as it is. */
const sources = () =>
  (read ??= [...globSync('{src,test,docs}/**/*.{ts,json,sql,md}'), 'README.md'].map((file) => ({
    file: file.replaceAll('\\', '/'),
    source: readFileSync(file, 'utf8'),
  })));

function linesIn(commit: string | undefined, pattern: string): Map<string, number> {
  if (commit !== undefined) return linesInCommit(commit, pattern);
  const named = new RegExp(`\\b(?:${pattern})\\b`);
  const files = sources().filter(({ source }) => named.test(source));
  return new Map(files.map(({ file, source }) => [file, source.split('\n').filter((line) => named.test(line)).length]));
}

function linesInCommit(commit: string, pattern: string): Map<string, number> {
  const counted = execFileSync('git', ['grep', '-c', '-E', `\\b(${pattern})\\b`, commit, '--', ...folders], {
    encoding: 'utf8',
  });
  return new Map(
    counted
      .trim()
      .split('\n')
      .map((line): [string, number] => {
        const [, file = '', count = ''] = line.split(':');
        return [file, Number(count)];
      }),
  );
}

export type Touches = { kind: string; example: string } & Record<Group, { files: number; lines: number }>;

export function countTouches(commit?: string): Touches[] {
  return kinds.map(({ kind, example, pattern }) => {
    const named = [...linesIn(commit, pattern)];
    const counts = Object.entries(groups).map(([group, belongs]) => {
      const of = named.filter(([file]) => belongs(file));
      return [group, { files: of.length, lines: of.reduce((sum, [, lines]) => sum + lines, 0) }];
    });
    return { kind, example, ...(Object.fromEntries(counts) as Record<Group, { files: number; lines: number }>) };
  });
}

const groupNames = Object.keys(groups) as Group[];

function tableOf(touches: readonly Touches[]): string {
  const head = ['one more', 'counted by', ...groupNames];
  const rows = touches.map((counts) => [
    counts.kind,
    counts.example,
    ...groupNames.map((group) => `${counts[group].files} (${counts[group].lines})`),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean' } } });
  const commits = positionals.length > 0 ? positionals : [undefined];
  const counted = commits.map((commit) => ({
    commit: commit ?? 'the files as they are',
    touches: countTouches(commit),
  }));
  if (values.json) console.log(JSON.stringify(counted));
  else {
    for (const { commit, touches } of counted) {
      console.log(`${commit}: files (and lines in them) that name one`);
      console.log(`${tableOf(touches)}\n`);
    }
  }
}
