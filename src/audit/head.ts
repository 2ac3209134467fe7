import type { Db, Statement } from '../db/db.ts';
import { type Vault, WrongMasterKey } from '../vault/vault.ts';
import { findHead, keepHead } from './store.ts';

type Head = { seq: number; seal: string };
const purpose = 'audit-head';

/** What this process has seen, which no change of the database takes back. */
const seen = new WeakMap<Db, Head>();

/**
 * The newest place of the chain, in a second place. It is sealed as a whole: whoever can write the database may take it
 * away or put an older one back, which a process that has seen a newer one does not believe.
 */
export function rememberHead(vault: Vault, { seq, seal }: Head): Statement {
  return keepHead(seq, vault.seal(purpose, JSON.stringify({ seq, seal })));
}

/** @returns undefined if there is none; `forged` if it is not ours. */
export async function readHead(db: Db, vault: Vault): Promise<Head | 'forged' | undefined> {
  const kept = await findHead(db);
  const known = seen.get(db);
  if (!kept) return known;
  try {
    const head = JSON.parse(vault.open(purpose, kept.sealed)) as Head;
    if (head.seq !== kept.seq) return 'forged';
    if (known && known.seq > head.seq) return known;
    seen.set(db, head);
    return head;
  } catch (error) {
    if (error instanceof WrongMasterKey) return 'forged';
    throw error;
  }
}
