import {
  type ClaimRow,
  findClaimRow,
  insertClaim,
  noClaim,
  settleClaim,
  unsettle,
  unsettledClaims,
} from './claims.store.ts';
import { type Clock, now } from './clock.ts';
import { mayConflict, type Write } from './db/change.ts';
import { type Db, type Part, StoreUnavailable } from './db/db.ts';
import { inSlices } from './db/slices.ts';
import { type Sql, sql } from './db/sql.ts';
import type { UserId } from './ids.ts';

/** What only one user may have in all parts of the store together, and the part that decides who. */
export type Claim = {
  readonly part: Part;
  /** Its kind, a colon, and what it is. */
  readonly key: string;
  /** A condition in that part: users who are placed there have it without a claim. */
  readonly isTaken?: Sql;
};

/** Whether a user has it, by the rows of that user. */
export type IsHeld = (user_id: UserId, of: string) => Promise<boolean>;

/** After so long an act that took a claim has ended, whatever became of it. */
const settledSeconds = 30;

export type Claims = ReturnType<typeof openClaims>;
type Taken<Done> = Done | { ok: false; failed: 'claim' };

/**
 * In a store of several parts, what a user takes elsewhere (an address after a change, an account at a provider) is claimed first, in the
 * part that decides about it; then the change of the user is made; then the claim is settled by what the user's rows say. So a crash
 * at any moment leaves at worst a claim that is not settled, which a job settles within a minute. A store in one part has unique
 * indexes, and no claims.
 * @param kinds by the first word of a key.
 */
export function openClaims({ db, clock }: { db: Db; clock: Clock }, kinds: Readonly<Record<string, IsHeld>>) {
  const isNeeded = db.parts.length > 1;

  const isHeld = ({ claim_key, user_id }: ClaimRow): Promise<boolean> => {
    const colon = claim_key.indexOf(':');
    const kind = kinds[claim_key.slice(0, colon)];
    if (kind === undefined) throw new TypeError(`Claims of ${claim_key} are unknown.`);
    return kind(user_id, claim_key.slice(colon + 1));
  };

  async function settleRow(part: Part, row: ClaimRow | undefined): Promise<void> {
    if (row !== undefined) await part.run(settleClaim(row, await isHeld(row)));
  }

  const settleOwn = async ({ part, key }: Claim, user_id: UserId): Promise<void> => {
    const row = await findClaimRow(part, key);
    if (row?.user_id === user_id) await settleRow(part, row);
  };

  /** Not the one of an act that may be under way. */
  async function settleOld({ part, key }: Claim): Promise<void> {
    const row = await findClaimRow(part, key);
    const isUnderWay = row && row.since !== null && row.since > now({ clock }) - settledSeconds;
    if (!isUnderWay) await settleRow(part, row);
  }

  /** Once more if it is another user's who does not have it any more. */
  async function take(claim: Claim, user_id: UserId, isRepeated = false): Promise<boolean> {
    const { part, key, isTaken } = claim;
    const done = await part.change({
      require: { free: isTaken && sql`not ${isTaken}` },
      run: { claim: insertClaim(key, user_id, now({ clock })) },
    });
    if (done.ok) return true;
    if (done.failed !== 'claim' || isRepeated) return false;
    await settleOld(claim);
    return take(claim, user_id, true);
  }

  /**
   * Makes a change by which a user takes and gives up what is claimed.
   * @returns what the change did, or that one of the claims is another user's; then nothing was changed.
   */
  async function holding<Done extends { ok: boolean }>(
    user_id: UserId,
    { taken = [], givenUp = [] }: { taken?: readonly Claim[]; givenUp?: readonly Claim[] },
    change: () => Promise<Done>,
  ): Promise<Taken<Done>> {
    if (!isNeeded) return change();
    const touched: Claim[] = [];
    let done: Taken<Done> = { ok: false, failed: 'claim' };
    let isFree = true;
    for (const claim of taken) {
      isFree &&= await take(claim, user_id);
      if (isFree) touched.push(claim);
    }
    if (isFree) {
      for (const { part, key } of givenUp) await part.run(unsettle(key, user_id, now({ clock })));
      touched.push(...givenUp);
      done = await change();
    }
    await Promise.all(touched.map((claim) => settleOwn(claim, user_id).catch(leaveToJob)));
    return done;
  }

  return {
    holding,

    /** Who has it by a claim, as far as is known: ask the rows of that user. */
    holderOf: async ({ part, key }: Claim): Promise<UserId | undefined> =>
      isNeeded ? (await findClaimRow(part, key))?.user_id : undefined,

    /**
     * For a change in the part of a claim by which a user has it without one: refused if another user has it by a claim. One whose user has
     * not got it any more is settled first.
     */
    async unclaimed(claim: Claim): Promise<readonly (Write<never, true> | Sql)[]> {
      if (!isNeeded) return [];
      await settleOld(claim);
      const [insert, remove] = noClaim(claim.key);
      return [mayConflict(insert), remove];
    },

    /** Settles what acts have left that were cut off, of one part. */
    settleAll: (part: Part, signal?: AbortSignal): Promise<boolean> =>
      inSlices(async (rows) => {
        const some = await unsettledClaims(part, now({ clock }) - settledSeconds, rows);
        let settled = 0;
        for (const one of some) await settleRow(part, one).then(() => (settled += 1), leaveToJob);
        return settled; // of those whose users are on a server that is away, none
      }, signal),
  };
}

function leaveToJob(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
