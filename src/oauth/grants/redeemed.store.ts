import { sql } from '../../platform/db/sql.ts';

// As the index `grants_of_user` has it, in which the client and the expiry follow. Neither engine would use that for any other
// words.
const isCode = sql`case when redeemed_at is null then 1 else 0 end`;

/** A condition on grants. With the user, and `revoked_at is null`, it is found without reading codes that were not redeemed. */
export const isRedeemed = sql`${isCode} = 0`;
export const isUnredeemed = sql`${isCode} = 1`;
/** Always true: for finding the grants of a user to one client. */
export const isRedeemedOrNot = sql`${isCode} in (0, 1)`;
