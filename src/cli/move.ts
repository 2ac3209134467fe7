import { readFileSync } from 'node:fs';
import type { Config } from '../app/config.ts';
import type { Moved } from '../app/move.ts';
import type { OnMoveProgress } from '../platform/db/move/ends.ts';
import { ConfigError } from '../platform/errors.ts';
import { namedFileProblem } from '../platform/named-files.ts';
import { table } from '../platform/report.ts';
import { commandWithoutStore, type Terminal, UsageError } from './command.ts';

const caller = { actor: 'cli' } as const;

export const moveCommands = {
  move: commandWithoutStore({
    summary:
      'Move the whole store to PostgreSQL, from there to SQLite, or into the cells that SIGNET_MOVE_TO_CELLS names. Copies while servers run; once they are stopped, --finish copies the rest, compares both stores, and closes the old one. Run it again if it was interrupted.',
    confirm: ({ abandon, force }) =>
      abandon === true && force === true ? 'What was written to the other store is given up.' : undefined,
    options: {
      to: {
        value: 'url or folder',
        help: 'postgres://user@host/database, or the folder for SQLite; a URL with a password belongs into the file that SIGNET_MOVE_TO_FILE names',
      },
      finish: { help: 'the last pass: no server may run on the store, which is closed for good' },
      deep: { help: 'with --finish: compare every row of both stores instead of counts and what has changed' },
      abandon: { help: 'use this store again: gives up a move that has begun, or that nothing was written after' },
      force: { help: 'with --abandon: even if the other store cannot be asked, or was used' },
    },
    async runWithoutStore(config, { to: typed, finish, deep, abandon, force }, { stderr }) {
      if (abandon && (finish || deep)) throw new UsageError('Give either --abandon or --finish.');
      if ((deep && !finish) || (force && !abandon)) {
        throw new UsageError('--deep belongs to --finish, and --force to --abandon.');
      }
      const to = await readTarget(config, typed);
      if (abandon) {
        const { abandonMove } = await import('../app/abandon-move.ts');
        const { other } = await abandonMove(config, to, force);
        const text = `This store is used again. Remove ${other}: no server starts on it. A new move begins with an empty one.`;
        return { json: { state: 'abandoned', other }, text };
      }
      if (to === undefined) throw new UsageError('Say where to: --to, SIGNET_MOVE_TO or SIGNET_MOVE_TO_FILE.');
      const { moveStore } = await import('../app/move.ts');
      const { openLog } = await import('../app/open-deps.ts');
      const outside = { clock: Date.now, log: openLog(config.logLevel) };
      const progress = progressOn(stderr);
      const moving = { to, caller, isLast: finish, isDeep: deep, onProgress: progress.show };
      const moved = await moveStore(config, outside, moving).finally(progress.end);
      return { json: moved, text: describe(moved, config) };
    },
  }),
};

async function readTarget({ moveTo, moveToFile }: Config, typed: string | undefined): Promise<string | undefined> {
  const { hasPassword } = await import('../platform/db/postgres-address.ts');
  if (typed !== undefined && hasPassword(typed)) {
    throw new UsageError(
      'Others see a password on the command line: write the URL into the file that SIGNET_MOVE_TO_FILE names.',
    );
  }
  if (typed !== undefined) return typed;
  if (moveToFile === undefined) return moveTo;
  if (moveTo !== undefined) throw new ConfigError('SIGNET_MOVE_TO and SIGNET_MOVE_TO_FILE are both set. Set only one.');
  try {
    return readFileSync(moveToFile, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(namedFileProblem('SIGNET_MOVE_TO_FILE', error));
  }
}

const quoted = (text: string): string => (/\s/.test(text) ? `"${text}"` : text);

function describe(moved: Moved, config: Config): string {
  if (moved.state === 'copied') {
    return `Copied to ${moved.to}; ${moved.changes_left} rows have changed since, and more will. Stop every server, then run: signet move --finish`;
  }
  const { tables, audit_log } = moved;
  const rows = Object.entries(tables).filter(([, count]) => count > 0);
  const key = config.masterKey.from === 'file' ? ` (now in ${config.masterKey.path})` : '';
  const cells = config.moveToCells === undefined ? '' : `, SIGNET_CELLS=${quoted(config.moveToCells)}`;
  const servers =
    config.moveToCellServers === undefined ? '' : ', SIGNET_CELL_SERVERS as SIGNET_MOVE_TO_CELL_SERVERS is now';
  const next =
    config.databaseUrl === undefined || config.moveToCells !== undefined
      ? `Give every server SIGNET_DATABASE_URL with the address of ${moved.to}${cells}${servers}, and the same master key${key} as SIGNET_MASTER_KEY_FILE`
      : `Give the server SIGNET_DATA_DIR=${moved.to} instead of SIGNET_DATABASE_URL, and the same master key${key}`;
  const broken =
    audit_log.broken === null
      ? `the audit log is verified up to event ${audit_log.verified}`
      : `the audit log is broken at event ${audit_log.broken}, as it was before`;
  return [
    table(rows),
    `Moved to ${moved.to}. Both stores have the same rows; ${broken}. The old store was closed for ${moved.closed_seconds} s.`,
    `${next}. Then start.`,
    `No server starts on ${moved.from} any more. Keep it until the new one has its first backup.`,
  ].join('\n\n');
}

/** On a terminal only, in one line. */
function progressOn(stderr: Terminal['stderr']): { show: OnMoveProgress; end: () => void } {
  if (!('isTTY' in stderr) || !stderr.isTTY) return { show: () => undefined, end: () => undefined };
  let shown = '';
  const write = (line: string) => {
    if (line !== shown) stderr.write(`\r\u001b[K${line}`);
    shown = line;
  };
  return {
    show: ({ doing, table: name, done, of }) =>
      write(`${doing} ${name}: ${of === 0 ? 100 : Math.floor((done * 100) / of)} %`),
    end: () => write(''),
  };
}
