import type { Logger } from 'pino';
import type { Config } from '../../platform/config.ts';
import { counter } from '../../platform/metrics.ts';
import { passwordHashProblem } from './password-formats.ts';

const unreadable = counter(
  'signet_password_hashes_unreadable_total',
  'Sign-ins with a password of which no hash can be checked: of an unknown format, damaged, too costly, or of a secret that is not set.',
  'reason',
);

/**
 * Accounts that the log has named. They belong to the process, as its counters do: nothing that Signet decides depends on them.
 * Beyond these the counter alone goes on, so that a wrong import fills neither memory nor log.
 */
const named = new Set<string>();
const maxNamed = 1000;

type Noting = { log: Logger; config: Pick<Config, 'importedSecrets'> };

/** Tells the operator of a password that cannot be right, once an account; the user reads that it is wrong. */
export function noteIfUnreadable({ log, config }: Noting, user_id: string, stored: string): void {
  const reason = passwordHashProblem(stored, config.importedSecrets);
  if (reason === undefined) return;
  unreadable.count(reason);
  if (named.has(user_id) || named.size >= maxNamed) return;
  named.add(user_id);
  log.error(
    { user_id, reason },
    'a stored password cannot be checked, so no password is right for this account; nothing was changed, and resetting the password mends it',
  );
}
