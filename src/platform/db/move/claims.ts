import { workIn } from '../parts.ts';
import { type End, type Key, keyOf, type MovedTable, type OwnClaim, type Target, textOf } from './ends.ts';

// Claims follow from the rows of their users, which a store in one part has no claims for (platform/claims.ts). They are written before
// the row, and removed before it is: whatever a killed move leaves is what the next attempt writes again.

const inEachPart = (claims: readonly OwnClaim[], work: (part: End, claims: readonly OwnClaim[]) => Promise<void>) =>
  workIn([...Map.groupBy(claims, ({ part }) => part)], ([part, some]) => part.transaction(() => work(part, some)));

/** Of two users who have had the same thing, one after the other, the last one has it. */
export const keepClaims = (claims: readonly OwnClaim[]) =>
  inEachPart(claims, async (part, some) => {
    const rows = new Map(some.map(({ claim_key, user_id }) => [claim_key, [claim_key, user_id]]));
    await part.upsert(claimsTable, [...rows.values()]);
  });

/** What the rows with some keys claim in the target, as they are there now, is free. */
export async function dropClaims(target: Target, table: MovedTable, keys: readonly Key[]): Promise<void> {
  const claimsOf = target.claimsOf(table);
  if (!claimsOf) return;
  const rows = await workIn(target.partsOf(table), (part) => part.rowsOf(table, keys));
  await inEachPart(rows.flat().flatMap(claimsOf), async (part, some) => {
    const own = new Set(some.map(({ claim_key, user_id }) => textOf([claim_key, user_id])));
    const found = await part.rowsOf(
      claimsTable,
      [...new Set(some.map(({ claim_key }) => claim_key))].map((key) => [key]),
    );
    const left = found.filter((row) => own.has(textOf(row)));
    if (left.length > 0)
      await part.remove(
        claimsTable,
        left.map((row) => keyOf(claimsTable, row)),
      );
  });
}

/** What is written of it. */
const claimsTable: MovedTable = {
  name: 'claims',
  columns: [
    { name: 'claim_key', isInteger: false },
    { name: 'user_id', isInteger: false },
  ],
  key: [0],
  unique: [],
};
