import type { Claim, Claimed, ClaimKind } from '../platform/claims.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { digest, type UserId } from '../platform/ids.ts';
import { isTakenByOthers, keepHandle, partOfHandle, releaseHandle, releaseHash, takeHandle } from './handles.store.ts';
import { findUser } from './store.ts';

type Change = {
  from: string | null;
  /** Null: none from now on; undefined: as it is. */
  to: string | null | undefined;
  /** Whose invitations may have reserved it. */
  invited?: string | undefined;
};

/** {@link partOfHandle} decides, and has the row of it once the claim is settled. */
export const claimOfHandle = (db: Db, handle: string): Claim => ({
  part: partOfHandle(db, handle),
  key: `handle:${digest(handle)}`,
});

/** What a user claims and gives up who changes from one handle to another. @param now Unix seconds. */
export const claimsOfHandles = (db: Db, user_id: UserId, { from, to, invited }: Change, now: number): Claimed => {
  if (to === undefined || from === to) return {};
  const isTaken = to === null ? undefined : isTakenByOthers(user_id, to, { now, invited });
  return {
    taken: to === null ? [] : [{ ...claimOfHandle(db, to), ...(isTaken && { isTaken }) }],
    givenUp: from === null ? [] : [claimOfHandle(db, from)],
  };
};

/** What stands in the change of the user itself, in a store of one part. In several, {@link claimsOfHandles} does it. */
export const handleWrites = (db: Db, user_id: UserId, to: string | null | undefined, now: number) =>
  to === undefined || db.parts.length > 1
    ? {}
    : {
        taken: to === null ? undefined : mustChange(takeHandle(user_id, to, now)),
        released: releaseHandle(user_id, now, to),
      };

/** See {@link openClaims}: of the digest of a handle. */
export const handleClaims = (db: Db): ClaimKind => ({
  isKept: false,
  async isHeld(user_id, of) {
    const handle = (await findUser(db, user_id))?.preferred_username ?? null;
    return handle !== null && digest(handle) === of;
  },
  settled: (user_id, of, isHeld, at) => (isHeld ? keepHandle(of, user_id) : releaseHash(of, user_id, at)),
});
