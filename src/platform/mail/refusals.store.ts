import type { Db, Part } from '../db/db.ts';
import { compareText, mergeAll } from '../db/parts.ts';
import { integer, type RowOf, row, text } from '../db/rows.ts';
import { asBigint, type Sql, sql } from '../db/sql.ts';

const RefusedAddress = row('refused_addresses', {
  address_hash: text,
  email: text,
  answer: text,
  first_at: integer,
  last_at: integer,
  count: integer,
});
/** `count` mails, of which the first and the last were refused at these times. */
export type RefusedAddress = RowOf<typeof RefusedAddress>;

/** In each part of the store: anyone can type any address. */
const mostKept = 10_000;

type Refusal = Pick<RefusedAddress, 'address_hash' | 'email' | 'answer'>;

export const noteRefusal = (refusal: Refusal, at: number): Sql[] => [
  sql`insert into refused_addresses ${RefusedAddress.select({ ...refusal, first_at: at, last_at: at, count: 1 })} where 1 = 1
      on conflict (address_hash) do update
        set email = excluded.email, answer = excluded.answer, last_at = excluded.last_at, count = refused_addresses.count + 1`,
  sql`delete from refused_addresses
       where last_at < (select last_at from refused_addresses order by last_at desc limit 1 offset ${mostKept})`,
];

export const forgetRefusal = (address_hash: string): Sql =>
  sql`delete from refused_addresses where address_hash = ${address_hash}`;

export const findRefusedAddress = (part: Part, address_hash: string) =>
  part.get(
    RefusedAddress,
    sql`select ${RefusedAddress.columns} from refused_addresses where address_hash = ${address_hash}`,
  );

type Place = Pick<RefusedAddress, 'last_at' | 'address_hash'>;

/** Newest first. @param page.before where the page before ended. */
export function searchRefusedAddresses(
  db: Db,
  { before, limit }: { before: Place | undefined; limit: number },
): Promise<RefusedAddress[]> {
  const { last_at, address_hash } = before ?? { last_at: Number.MAX_SAFE_INTEGER, address_hash: '' };
  const statement = sql`select ${RefusedAddress.columns} from refused_addresses
         where (last_at, address_hash) < (${asBigint(last_at)}, ${address_hash})
         order by last_at desc, address_hash desc limit ${limit}`;
  return mergeAll(
    db,
    (part) => part.all(RefusedAddress, statement),
    (one, other) => other.last_at - one.last_at || compareText(other.address_hash, one.address_hash),
    limit,
  );
}
