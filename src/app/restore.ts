import { auditEvent, type Caller, readReason } from '../audit/audit.ts';
import { endSessions } from '../authentication/statements.ts';
import { spendCodes } from '../authentication/two-factor/spend-codes.ts';
import { clientsAfter } from '../clients/statements.ts';
import type { Deps } from '../oauth/deps.ts';
import { replaceSigningKeys } from '../oauth/signing-keys/signing-keys.ts';
import { now } from '../platform/clock.ts';
import { findUnfinishedRestore, finishRestore, markCopy } from '../platform/copy-mark.ts';
import { inOrder } from '../platform/db/db.ts';
import { forgetMove } from '../platform/db/move/marks.ts';
import { sumOfAll } from '../platform/db/parts.ts';
import { sliceRows } from '../platform/db/slices.ts';
import { CopyRefused } from '../platform/db/sqlite-backup.ts';
import { deleteRows, partsWith } from '../platform/db/table-rows.ts';
import { allTables, type TableName } from '../platform/db/tables.ts';
import { newId } from '../platform/ids.ts';
import { findRunning } from '../platform/processes.ts';

/** Names by which the audit log has them. */
const namesInLog: Partial<Record<TableName, string>> = {
  authorization_requests: 'pending_requests',
  one_time_links: 'links',
  outgoing_mails: 'mails',
  sign_in_attempts: 'pending_sign_ins',
};

/** No pauses: nothing else uses the store. @returns how many rows it were. */
async function inEverySlice(slice: (rows: number) => Promise<number>): Promise<number> {
  for (let all = 0; ; ) {
    const changes = await slice(sliceRows);
    all += changes;
    if (changes < sliceRows) return all;
  }
}

/** Not for a copy made aside, which no server has open: it lists those of the store that it is a copy of. */
export async function refuseWhileRunning({ db }: Pick<Deps, 'db'>): Promise<void> {
  if ((await findRunning(db)).length === 0) return;
  throw new CopyRefused(
    'A server is running on this store, or is issuing tokens from the store that this one is a copy of. Stop it, then try again. Nothing was changed.',
  );
}

export type Restored = Awaited<ReturnType<typeof completeRestore>>;

/**
 * Makes the copy of a store safe to serve. What was valid when it was made may have ended since, which the copy does not know. So
 * all of it ends: sessions, grants with their codes and tokens, links, codes for a second factor, consents, what waits for a
 * user, and what browsers keep. Until that is done no server starts on the copy. An interrupted call is repeated.
 */
export async function completeRestore(deps: Deps, caller: Caller, text?: string) {
  const { db } = deps;
  const reason = text === undefined ? undefined : readReason(text);
  const at = now(deps);
  await markCopy(db, newId('rst'), null);
  await forgetMove(db);
  const ended = {
    sessions: await sumOfAll(db, (part) =>
      inEverySlice(async (rows) => (await endSessions(part, 'restored', at, rows)).changes),
    ),
    clients_revoked: await revokeAllGrants(deps, at),
    backup_codes: await sumOfAll(db, (part) => spendCodes(part, at, inEverySlice)),
    ...(await deleteWhole(db)),
  };
  await replaceSigningKeys(deps);
  const mark = await findUnfinishedRestore(db);
  const restored = { restore_id: newId('rst'), taken_at: mark?.taken_at ?? null, ended };
  const event = auditEvent({ action: 'store.restored', ...caller, reason, after: restored }, at);
  const [own, ...others] = await deps.auditLog.continueAfterRestore();
  for (const { db: part, log } of others) await part.change({ run: { log } });
  await db.shared.change({
    run: { log: own!.log, event: event.statement, mark: finishRestore(restored.restore_id, at) },
  });
  return restored;
}

/** @returns the counts that the audit log names; the processes are those of the store that it is a copy of. */
async function deleteWhole(db: Deps['db']): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [name, { restore }] of allTables) {
    if (restore !== 'delete') continue;
    let changes = 0;
    for (const part of partsWith(db, name))
      changes += await inEverySlice(async (rows) => (await deleteRows(part, name, rows)).changes);
    if (name !== 'issuing_runs') counts[namesInLog[name] ?? name] = changes;
  }
  return counts;
}

/** One client after the other: each by one row, whatever it has, and its sessions are reported to it. */
async function revokeAllGrants({ db, grants }: Pick<Deps, 'db' | 'grants'>, at: number): Promise<number> {
  let after = '';
  return inEverySlice(async (rows) => {
    const clients = await clientsAfter(db, after, rows);
    for (const { client_id } of clients) {
      const { inEachPart, shared } = grants.revokeOfClient(client_id, 'restored', at);
      await inOrder({ in: db.parts, run: { inEachPart } }, { in: db.shared, run: { shared } });
    }
    after = clients.at(-1)?.client_id ?? after;
    return clients.length;
  });
}
