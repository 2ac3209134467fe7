import { now } from '../platform/clock.ts';
import { ConfigError } from '../platform/errors.ts';
import { findHeartbeat } from '../platform/processes.ts';
import { table, time } from '../platform/report.ts';
import { command, commandWithoutStore, type Terminal, UsageError } from './command.ts';

const caller = { actor: 'cli' } as const;

/** Without a server for so long, the clock of a machine may have been set meanwhile. */
const longSilenceSeconds = 3600;

export const backupCommands = {
  purge: command({
    summary:
      'Delete expired data now. The server does so by itself, mostly within a minute or two; prints how many rows were deleted.',
    options: {
      force: { help: 'do so even if no server has run in the last hour, so that the clock cannot be checked' },
    },
    async run(deps, { force }) {
      const last = await findHeartbeat(deps.db);
      const differs = last === undefined ? undefined : Math.abs(now(deps) - last.at);
      if (!force && (differs === undefined || differs > longSilenceSeconds)) {
        throw new ConfigError(
          'No server has used this store in the last hour, or the clock of this machine is wrong; what only seems to have expired would be lost. Check the clock, then add --force. Nothing was deleted.',
        );
      }
      const { purgeNow } = await import('../app/jobs.ts');
      const purged = await purgeNow(deps);
      return { json: { purged }, text: table(Object.entries(purged).map(([name, rows]) => [name, rows])) };
    },
  }),
  backup: command({
    summary:
      'Back up the SQLite database to a new file. Works while the server runs, and checks the copy; the master key is not in it.',
    operands: { file: { value: 'file' } },
    async run(deps, { file }, { stderr }) {
      const { backUp } = await import('../app/backup.ts');
      const backup = await backUp(deps, caller, file, showProgress(stderr));
      const { file: path, bytes, taken_at } = backup;
      return { json: backup, text: `Backed up to ${path}: ${bytes} bytes, as of ${time(taken_at)}, checked.` };
    },
  }),
  rekey: command({
    confirm: ({ stolen }) =>
      stolen === true
        ? 'This withdraws the signing keys, and ends refresh tokens and backup codes. It cannot be undone.'
        : undefined,
    summary:
      'Replace the master key by the one in the settings. Seals everything anew while servers run with both keys; run it again if it was interrupted.',
    options: {
      stolen: {
        help: 'the replaced key may be known to others: withdraw the signing keys, and end refresh tokens and backup codes made until now; also after the replacement',
      },
    },
    async run(deps, { stolen }) {
      const { rekey } = await import('../app/rekey.ts');
      const done = await rekey(deps, caller, stolen);
      const { replaced, resealed, unreadable } = done;
      const rows = Object.values(resealed).reduce((sum, one) => sum + one, 0);
      const text = replaced
        ? `The master key is replaced; ${rows} values were sealed anew. Remove SIGNET_OTHER_MASTER_KEY_FILE from the settings, and keep the replaced key as long as you keep backups from its time.`
        : `The store is under the master key of the settings already; ${rows} values were sealed anew.`;
      const theft = stolen
        ? '\n\nThe signing keys are withdrawn. Restart every server without SIGNET_OTHER_MASTER_KEY_FILE: then refresh tokens and backup codes of replaced keys are refused, too.'
        : '';
      const lost =
        unreadable > 0 ? `\n\n${unreadable} values can be opened with neither key; they were left as they are.` : '';
      return { json: done, text: text + theft + lost };
    },
  }),
  restore: commandWithoutStore({
    summary:
      'Restore the SQLite database from a backup. No server may run. Everything that may have ended since the backup ends: everyone is signed out, and tokens and links stop working. With --after-copy, does the same for a database that its own tools have restored.',
    confirm: ({ file, 'after-copy': isCopied }) =>
      isCopied === (file !== undefined)
        ? undefined
        : 'This signs everyone out, and ends all tokens and links. It cannot be undone.',
    operands: { file: { value: 'file', optional: true } },
    options: {
      'after-copy': { help: 'the database in the settings, such as PostgreSQL, has been restored by its own tools' },
      force: { help: 'replace an existing database; it is kept under another name' },
      reason: { value: 'text', help: 'what happened; recorded in the audit log' },
    },
    async runWithoutStore(config, { file, force, reason, 'after-copy': isCopied }) {
      if (isCopied === (file !== undefined)) throw new UsageError('Give either a <file> or --after-copy.');
      const { restoreBackup, restoreInPlace } = await import('../app/backup.ts');
      const { openLog } = await import('../app/open-deps.ts');
      const outside = { clock: Date.now, log: openLog(config.logLevel) };
      const restoring = { caller, reason };
      if (file === undefined) {
        const restored = await restoreInPlace(config, outside, restoring);
        return { json: restored, text: describe(restored, null) };
      }
      const restored = await restoreBackup(config, outside, { ...restoring, path: file, force });
      return { json: restored, text: describe(restored, restored.replaced) };
    },
  }),
};

function describe({ taken_at }: { taken_at: number | null }, replaced: string | null): string {
  const lines = [
    `The store is restored${taken_at === null ? '' : ` as of ${time(taken_at)}`}. Everyone has to sign in again.`,
    'No one knows what was changed after the backup. Before you start the server, read in docs/backup.md what to check: deleted and disabled users, suspended clients, rotated secrets, changed passwords.',
  ];
  if (replaced !== null) lines.push(`The database of before is in ${replaced}. Delete it when you no longer need it.`);
  return lines.join('\n\n');
}

/** On a terminal only, in one line. */
function showProgress(stderr: Terminal['stderr']): (done: number) => void {
  if (!('isTTY' in stderr) || !stderr.isTTY) return () => undefined;
  let shown = -1;
  return (done) => {
    const percent = Math.floor(done * 100);
    if (percent === shown) return;
    shown = percent;
    stderr.write(percent < 100 ? `\rCopying: ${percent} %` : '\rCopied; checking the copy.\n');
  };
}
