import { createHmac, randomFillSync } from 'node:crypto';
import type { Db } from './db/db.ts';
import { tables } from './db/tables.ts';
import { emailKey } from './email-address.ts';
import type { Bucket } from './ids.ts';
import { findPlacementKey, keepPlacementKey } from './store.ts';
import type { Vault } from './vault.ts';

/** Where a new account is, and what is sent to an address that has none. */
export type Placement = {
  /** The same for all spellings of one mailbox. */
  bucketOfEmail(email: string): Bucket;
};

const name = 'placement';
const purpose = tables.placement_keys.sealed.sealed(name);

/**
 * Makes the key at the first start. It is sealed, so that a bucket, which is a part of every `sub`, says nothing of an address to those
 * who have no key; and it is never replaced, since the accounts that it has placed stay where they are.
 */
export async function openPlacement(db: Db, vault: Vault): Promise<Placement> {
  const sealed = (await findPlacementKey(db, name)) ?? (await makeKey(db, vault));
  const key = Buffer.from(vault.open(purpose, sealed), 'base64');
  return {
    bucketOfEmail: (email) => createHmac('sha256', key).update(emailKey(email)).digest('base64url').slice(0, 2),
  };
}

async function makeKey(db: Db, vault: Vault): Promise<string> {
  await keepPlacementKey(db, name, vault.seal(purpose, randomFillSync(Buffer.alloc(32)).toString('base64')));
  return (await findPlacementKey(db, name))!; // another node may have been faster
}
