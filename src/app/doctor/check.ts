import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable, storeReason } from '../../platform/db/db.ts';
import type { Config } from '../config.ts';

export type State = 'ok' | 'warning' | 'problem' | 'skipped';

/** `found`: one sentence. `remedy`: what to do; null if nothing is to be done. Neither has a secret in it. */
export type Check = { check: string; state: State; found: string; remedy: string | null };

export type CheckDeps = {
  config: Config;
  clock: () => number;
  /** For each request or connection to another machine, in milliseconds. */
  timeoutMs: number;
  /** Whether to read the whole of the database, too. */
  isDeep: boolean;
};

export const ok = (check: string, found: string): Check => ({ check, state: 'ok', found, remedy: null });
export const skipped = (check: string, found: string): Check => ({ check, state: 'skipped', found, remedy: null });
export const warning = (check: string, found: string, remedy: string): Check => ({
  check,
  state: 'warning',
  found,
  remedy,
});
export const problem = (check: string, found: string, remedy: string): Check => ({
  check,
  state: 'problem',
  found,
  remedy,
});

/** An error for operators says what is wrong and then, in most cases, what to do. @param remedy where it does not. */
export function problemOf(check: string, error: unknown, remedy: string): Check {
  const message = error instanceof StoreUnavailable ? storeReason(error) : (error as Error).message;
  const [, found, rest] = /^(.+?\.) (?=[A-Z])(.+)$/s.exec(message) ?? [];
  return problem(check, found ?? message, rest ?? remedy);
}

/** What goes on afterwards has a limit of its own. */
export const within = <Result>(ms: number, work: Promise<Result>, late: Result): Promise<Result> =>
  Promise.race([work, sleep(ms, late, { ref: false })]);
