import { claimOfEmail, claimsOfHandles } from '../accounts/statements.ts';
import { claimOfIdentity, claimOfPasskey } from '../authentication/statements.ts';
import type { Claim } from '../platform/claims.ts';
import type { Part } from '../platform/db/db.ts';
import type { UserId } from '../platform/ids.ts';
import type { ImportDeps } from './deps.ts';
import type { CheckedUser } from './read-user.ts';

/** A user at a place of a batch. */
type Placed = { place: number; user: CheckedUser; user_id: UserId };

/** What a user takes in other parts of the store, with the names of the statements that would be refused in a store of one part. */
export function claimsOf({ db, placement }: ImportDeps, { place, user, user_id }: Placed, at: number) {
  const address = claimOfEmail({ db, placement }, user.email);
  const handles = claimsOfHandles(db, user_id, { from: null, to: user.preferred_username }, at);
  const named = new Map<Claim, string>([
    ...(address.part === db.of(user_id) ? [] : [[address, `user-${place}`] as const]),
    ...(handles.taken ?? []).map((claim) => [claim, `handle-${place}`] as const),
    ...user.identities.map(
      ({ issuer, subject }, index) => [claimOfIdentity(db, issuer, subject), `identity-${place}-${index}`] as const,
    ),
    ...user.passkeys.map(
      ({ credential_id }, index) => [claimOfPasskey(db, credential_id), `passkey-${place}-${index}`] as const,
    ),
  ]);
  return { user_id, named };
}

export type Unclaimed = Awaited<ReturnType<typeof unclaimedEmail>>;

/** Of a user whose address leads to their own part. */
export async function unclaimedEmail(deps: ImportDeps, part: Part, { user }: Pick<Placed, 'user'>) {
  const claim = claimOfEmail(deps, user.email);
  return claim.part === part ? deps.claims.unclaimed(claim) : [];
}
