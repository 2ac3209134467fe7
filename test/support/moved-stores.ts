import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseFile } from '../../src/platform/db/open.ts';
import type { FreshStore } from './databases.ts';
import { everyRow } from './every-table.ts';
import { asAdmin } from './postgres-admin.ts';
import { type Settings, signetCommand } from './server-process.ts';

/** SQL of both engines, as a server runs it. */
export async function change({ url, dataDir }: FreshStore, ...statements: string[]): Promise<void> {
  if (url !== undefined) {
    await asAdmin(url, async (client) => void (await client.query(statements.join(';'))));
    return;
  }
  const db = new DatabaseSync(join(dataDir, databaseFile), { timeout: 5_000 });
  for (const statement of statements) db.exec(statement);
  db.close();
}

/** Rows that are new, gone with what refers to them, under another key, or have exchanged what no two may have. */
export const changesOf = (round: number): string[] => [
  `update users set name = 'renamed ${round}'`,
  `update users set email_key = 'aside' where user_id = 'users-2'`,
  `update users set email_key = 'first' where user_id = 'users-1'`,
  `update users set email_key = 'second' where user_id = 'users-2'`,
  `delete from users where user_id = 'users-${10 + round}'`,
  `delete from clients where client_id = 'clients-${20 + round}'`,
  `update one_time_links set token_hash = 'another ${round}' where user_id = 'users-3'`,
  `insert into users (user_id, email, email_key, role, created_at, updated_at)
     values ('new ${round}', 'new', 'new ${round}', 'user', 1, 1) on conflict do nothing`,
  `insert into passwords (user_id, password_hash, changed_at) values ('new ${round}', 'x', 0) on conflict (user_id) do update set changed_at = passwords.changed_at + 1`,
  `update clients set owner_user_id = 'new ${round}' where client_id = 'clients-4'`,
];

/** So that neither can be written before the other; and one who is gone after every row was copied. */
export const exchange = [
  `update users set email_key = 'aside' where user_id = 'users-1'`,
  `update users set email_key = 'first' where user_id = 'users-2'`,
  `update users set email_key = 'second' where user_id = 'users-1'`,
  `delete from users where user_id = 'users-30'`,
];

/** @returns whether it was killed before its end. */
export async function killAfter(ms: number, args: string[], env: Settings): Promise<boolean> {
  const child = spawn(signetCommand, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  const ended = once(child, 'exit');
  await Promise.race([ended, sleep(ms)]);
  child.kill('SIGKILL');
  const [code, signal] = await ended;
  assert.ok(signal === 'SIGKILL' || code === 0, `signet ${args} exited with ${code}`);
  return signal === 'SIGKILL';
}

/** Without the events of the moves themselves. */
export async function rowsWithoutMoves(store: FreshStore): Promise<Record<string, string[]>> {
  const rows = await everyRow(store);
  return { ...rows, audit_log: rows.audit_log!.filter((line) => !line.includes('store.moved')) };
}
