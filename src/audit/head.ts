import type { Db, Statement } from '../db/db.ts';
import { type Vault, WrongMasterKey } from '../vault/vault.ts';
import { findHead, keepAcceptance, keepHead, replaceHead } from './store.ts';
import type { Head, Seen } from './witness.ts';

const purpose = 'audit-head';
const acceptancePurpose = 'audit-loss-accepted';

/**
 * The newest place of the chain, a second time in the database. It is sealed as a whole: whoever can write there may take
 * it away or put an older one back, and cannot make one.
 */
export const rememberHead = (vault: Vault, { seq, seal }: Head): Statement =>
  keepHead(seq, vault.seal(purpose, JSON.stringify({ seq, seal })));

/** @returns undefined if there is none; `forged` if it is not ours. */
export async function readHead(db: Db, vault: Vault): Promise<Head | 'forged' | undefined> {
  const kept = await findHead(db, 'head');
  if (!kept) return undefined;
  const head = unseal<Head>(vault, purpose, kept.sealed);
  return head?.seq === kept.seq ? head : 'forged';
}

/**
 * The last loss that an operator has acknowledged: up to `seq` and `seal` the chain is what there is. `accepted` counts
 * them, so that an old acknowledgement put back excuses no new loss.
 */
export async function readAcceptance(db: Db, vault: Vault): Promise<Seen | undefined> {
  const kept = await findHead(db, 'accepted');
  return kept && unseal<Seen>(vault, acceptancePurpose, kept.sealed);
}

/** For the batch of an acknowledgement: the record of the newest place is set back, too. */
export const acceptHead = (vault: Vault, { seq, seal, accepted }: Seen): Statement[] => [
  keepAcceptance(accepted, vault.seal(acceptancePurpose, JSON.stringify({ seq, seal, accepted }))),
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
