import type { Db } from '../db/db.ts';
import { cutPage, decodeCursor } from '../db/slices.ts';
import type { Sql } from '../db/sql.ts';
import { emailKey } from '../email-address.ts';
import { digest } from '../ids.ts';
import {
  findRefusedAddress,
  forgetRefusal,
  noteRefusal,
  type RefusedAddress,
  searchRefusedAddresses,
} from './refusals.store.ts';

const hashOf = (email: string): string => digest(emailKey(email));

/**
 * The step of a change that notes that a mail to an address was refused for good, or that one was taken. While the part with the row is
 * away another one stands in: that a mail was sent, or need not be, does not wait for it.
 * @param answer what the mail server said, as it is shown; undefined if it took the mail.
 */
export function outcomeOf(db: Db, email: string, answer: string | undefined, at: number) {
  const address_hash = hashOf(email);
  const outcome: Sql | Sql[] =
    answer === undefined ? forgetRefusal(address_hash) : noteRefusal({ address_hash, email, answer }, at);
  return { in: db.near(address_hash), run: { outcome } };
}

/** A refused address, as administrators see it. */
export type Refusal = Omit<RefusedAddress, 'address_hash'>;

const refusalOf = ({ address_hash: _, ...refusal }: RefusedAddress): Refusal => refusal;

/** Whether mail to this address was refused, and none was taken since. */
export async function findRefusal({ db }: { db: Db }, email: string): Promise<Refusal | undefined> {
  const address_hash = hashOf(email);
  const found = await findRefusedAddress(db.near(address_hash), address_hash);
  return found && refusalOf(found);
}

/**
 * Addresses to which mail was refused, the last one first.
 * @param page.before the `next` of the page before. @param page.limit 1 to 500.
 * @throws {RequestError} `invalid_request` for a `before` that no page has given.
 */
export async function listRefusals(
  { db }: { db: Db },
  { before, limit }: { before?: string; limit: number },
): Promise<{ refusals: Refusal[]; next: string | undefined }> {
  const place = decodeCursor('before', before);
  const found = await searchRefusedAddresses(db, {
    before: place && { last_at: place.at, address_hash: place.id },
    limit: limit + 1,
  });
  const { rows, next } = cutPage(found, limit, (last) => ({ at: last.last_at, id: last.address_hash }));
  return { refusals: rows.map(refusalOf), next };
}
