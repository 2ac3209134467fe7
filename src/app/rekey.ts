import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { stolenKeysReplacement } from '../oauth/signing-keys/signing-keys.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Part } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import { partsWith, type SealedColumn, sealedColumns } from '../platform/db/table-rows.ts';
import { ConfigError } from '../platform/errors.ts';
import { findRunning } from '../platform/processes.ts';
import {
  dropCredentialMacs,
  type NewestSealed,
  retireOtherKeys,
  type Vault,
  WrongMasterKey,
} from '../platform/vault.ts';

/** What verifies is kept of the replaced key instead of being sealed anew. */
const sealerOf = (vault: Vault, { table }: SealedColumn) => (table === 'outgoing_mails' ? vault.mail : vault);

/**
 * Seals under the master key what was sealed under the other one, slice by slice, while servers go on. Interrupted at any
 * point, it is repeated and does the rest. At the end the other key is retired: it opens nothing any more, and what is kept of
 * it verifies what it has authenticated.
 * @param isStolen then refresh tokens and backup codes that it or a key before it has authenticated are no longer accepted, and the
 * signing keys that it could open are withdrawn. Also when it was retired before anyone knew.
 * @throws {ConfigError}
 */
export async function rekey(deps: Deps, caller: Caller, isStolen: boolean) {
  if (deps.config.otherMasterKey === undefined) {
    throw new ConfigError(
      'Set the new master key as SIGNET_MASTER_KEY_FILE and the one of before as SIGNET_OTHER_MASTER_KEY_FILE, for the server, too, and restart it. Then run this again. Nothing was changed.',
    );
  }
  await refuseWhileOthersSeal(deps, 'Nothing was changed.');
  const resealed: Record<string, number> = {};
  let unreadable = 0;
  for (const column of sealedColumns) {
    const done = await resealColumn(deps, column);
    resealed[column.name] = done.resealed;
    unreadable += done.unreadable;
  }
  // Again, since a node that was forgotten may have started meanwhile.
  await refuseWhileOthersSeal(deps, 'The other master key is not retired yet.');
  const retirement = await retireOtherKeys(deps, await newestSealed(deps), isStolen);
  const done = { replaced: retirement !== undefined, resealed, unreadable };
  if (!retirement && !isStolen) return done;
  const after = { master_key: deps.vault.id, resealed, stolen: isStolen };
  const { statement } = auditEvent({ action: 'master_key.replaced', ...caller, after }, now(deps));
  const stolen = isStolen
    ? { macs: (await dropCredentialMacs(deps)).map(mustChange), signingKeys: await stolenKeysReplacement(deps) }
    : {};
  const changed = await deps.db.shared.change({
    run: { retirement: retirement?.map(mustChange), ...stolen, event: statement },
  });
  if (!changed.ok) throw new ConfigError('Another call has been faster. Run this again to make sure of the rest.');
  return done;
}

async function newestSealed({ auditLog }: Pick<Deps, 'auditLog'>): Promise<NewestSealed> {
  const [first, ...others] = await auditLog.states();
  const auditSeqs = Object.fromEntries(others.map(({ db, sealed }) => [db.schema!, sealed]));
  return { auditSeq: first!.sealed, ...(others.length > 0 && { auditSeqs }) };
}

/** A server with the other key in the first place would seal more under it, and one without the new key opens nothing. */
async function refuseWhileOthersSeal({ db, vault }: Pick<Deps, 'db' | 'vault'>, state: string): Promise<void> {
  const others = (await findRunning(db)).filter(({ master_key_id }) => master_key_id !== vault.id);
  if (others.length === 0) return;
  throw new ConfigError(
    `${others.length === 1 ? 'A server process still seals' : `${others.length} server processes still seal`} under another master key. Restart every server with the new one as SIGNET_MASTER_KEY_FILE and the one of before as SIGNET_OTHER_MASTER_KEY_FILE, then run this again. ${state}`,
  );
}

type Counts = { resealed: number; unreadable: number };

async function resealColumn({ db, vault }: Pick<Deps, 'db' | 'vault'>, column: SealedColumn): Promise<Counts> {
  const counts = { resealed: 0, unreadable: 0 };
  for (const part of partsWith(db, column.table)) await resealIn(part, vault, column, counts);
  return counts;
}

async function resealIn(part: Part, vault: Vault, column: SealedColumn, counts: Counts): Promise<void> {
  let after = '';
  await inSlices(async (limit) => {
    const rows = await column.after(part, after, limit);
    const run = rows.flatMap(({ row_key, sealed }) => {
      const to = resealedBy(sealerOf(vault, column), column.purposeOf(row_key), sealed);
      if (to === 'unreadable') counts.unreadable += 1;
      return to === undefined || to === 'unreadable' ? [] : [column.replace(row_key, sealed, to)];
    });
    if (run.length > 0) counts.resealed += (await part.change({ run: { run } })).results.run.changes;
    after = rows.at(-1)?.row_key ?? after;
    return rows.length;
  });
}

/** What neither key opens was lost before; it stays as it is. */
function resealedBy(sealer: Pick<Vault, 'reseal'>, purpose: string, sealed: string): string | 'unreadable' | undefined {
  try {
    return sealer.reseal(purpose, sealed);
  } catch (error) {
    if (error instanceof WrongMasterKey) return 'unreadable';
    throw error;
  }
}
