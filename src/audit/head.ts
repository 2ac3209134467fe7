import type { Db } from '../platform/db/db.ts';
import type { Sql } from '../platform/db/sql.ts';
import { type Vault, WrongMasterKey } from '../platform/vault/vault.ts';
import { findHeads, replaceHead, storeAcceptance, storeHead } from './store.ts';
import type { Head, WitnessedHead } from './witness.ts';

const purpose = 'audit-head';
const acceptancePurpose = 'audit-loss-accepted';

/**
 * The newest place of the chain, a second time in the database. It is sealed as a whole: whoever can write there may take
 * it away or put an older one back, and cannot make one.
 */
export const recordHead = (vault: Vault, { seq, seal }: Head): Sql =>
  storeHead({ seq, seal }, vault.seal(purpose, JSON.stringify({ seq, seal })));

/**
 * What the database vouches for, in one look, since every node asks each second. `recorded` is the newest place: undefined
 * if there is none, `forged` if it is not ours. `accepted` is the last loss that an operator has acknowledged: up to its
 * `seq` and `seal` the chain is what there is. Losses are counted, so that an old acknowledgement put back excuses none.
 */
export async function readHeads(
  db: Db,
  vault: Vault,
): Promise<{ recorded: Head | 'forged' | undefined; accepted: WitnessedHead | undefined }> {
  const kept = await findHeads(db);
  const head = kept.find(({ name }) => name === 'head');
  const recorded = head && unseal<Head>(vault, purpose, head.sealed);
  const acceptance = kept.find(({ name }) => name === 'accepted');
  return {
    recorded: head && (recorded?.seq === head.seq ? recorded : 'forged'),
    accepted: acceptance && unseal<WitnessedHead>(vault, acceptancePurpose, acceptance.sealed),
  };
}

/** For the batch of an acknowledgement: the record of the newest place is set back, too. */
export const recordAcceptedLoss = (vault: Vault, { seq, seal, accepted }: WitnessedHead): Sql[] => [
  storeAcceptance(accepted, vault.seal(acceptancePurpose, JSON.stringify({ seq, seal, accepted }))),
  replaceHead(seq, vault.seal(purpose, JSON.stringify({ seq, seal }))),
];

function unseal<T>(vault: Vault, sealedFor: string, sealed: string): T | undefined {
  try {
    return JSON.parse(vault.open(sealedFor, sealed)) as T;
  } catch (error) {
    if (error instanceof WrongMasterKey) return undefined;
    throw error;
  }
}
