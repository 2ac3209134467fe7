import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClaimOfAct,
  type ClaimRow,
  deleteTicket,
  findClaimRow,
  insertClaim,
  insertTicket,
  isClaimed,
  isTicket,
  keepClaim,
  noClaim,
  settleClaim,
  takeTicketBack,
  unsettle,
  unsettledClaims,
  useTicket,
} from './claims.store.ts';
import { type Clock, now } from './clock.ts';
import { mayConflict, type Requirements, type Write } from './db/change.ts';
import { type Db, type Part, StoreUnavailable } from './db/db.ts';
import { findInAll } from './db/parts.ts';
import { inSlices } from './db/slices.ts';
import { type Sql, sql } from './db/sql.ts';
import { newSuffix, type UserId } from './ids.ts';

/** What only one user may have in all parts of the store together, and the part that decides who. */
export type Claim = {
  readonly part: Part;
  /** Its kind, a colon, and what it is. */
  readonly key: string;
  /** A condition in that part: users who are placed there have it without a claim. */
  readonly isTaken?: Sql;
};

export type ClaimKind = {
  /** Whether a user has it, by the rows of that user. */
  isHeld(user_id: UserId, of: string): Promise<boolean>;
  /** Whether the claim stays for as long as its user has it; else for as long as the act takes. */
  isKept: boolean;
  /** What else is written in the part that decides, when the claim is settled. @param at Unix seconds. */
  settled?(user_id: UserId, of: string, isHeld: boolean, at: number): Sql;
};

export type Claimed = { readonly taken?: readonly Claim[]; readonly givenUp?: readonly Claim[] };
export type ClaimedBy = Claimed & { readonly user_id: UserId };

/** Of several changes that are one act. */
export const allOfClaimed = (...all: readonly Claimed[]): Claimed => ({
  taken: all.flatMap(({ taken = [] }) => taken),
  givenUp: all.flatMap(({ givenUp = [] }) => givenUp),
});

/** For the change of a user, which is refused once the act has been given up for lost; undefined where there are no claims. */
export type Ticket = readonly Write<never, true>[] | undefined;

/** `claim`: which is another user's; undefined if the act took so long that it was given up. */
export type ClaimRefused = { ok: false; failed: 'claim'; claim?: Claim };

/** Whether another user has one of some claims; not, if the act was given up. */
export const isTakenClaim = (done: { ok: boolean; claim?: unknown } | { ok: false }, among?: Claimed): boolean =>
  'claim' in done &&
  done.claim !== undefined &&
  (among === undefined || (among.taken ?? []).includes(done.claim as Claim));

/**
 * Whether an act came too late: it stood still until it was given up, or a later one of the same user for the same claim took its place.
 * Nothing was changed, and what it was for may be free. The change has its ticket by the name `claim`.
 */
export const wasOvertaken = (done: { ok: boolean; failed?: unknown; claim?: unknown }): boolean =>
  !done.ok && done.failed === 'claim' && done.claim === undefined;

/** How often an act is tried that others of the same user overtake, and the pause in between, which makes one of them the first. */
const mostAttempts = 10;
const longestPauseMs = 50;

/** Makes an act anew that was overtaken, as by a second click: it finds what the other one has done. */
export async function evenIfOvertaken<Done extends { ok: boolean }>(attempt: () => Promise<Done>): Promise<Done> {
  let done = await attempt();
  for (let attempts = 1; wasOvertaken(done) && attempts < mostAttempts; attempts += 1) {
    await sleep(randomInt(longestPauseMs) * attempts);
    done = await attempt();
  }
  return done;
}

type One = { claim: Claim; row: ClaimOfAct; hasTicket: boolean };
type Act = { act: string; taken: readonly One[]; givenUp: readonly One[] };

/** After so long others do not wait for an act. */
const settledSeconds = 30;
/** For which one waits for that of another, which may give up what it has claimed. */
const longestWaitMs = 2_000;
const pollMs = 50;

export type Claims = ReturnType<typeof openClaims>;

const kindOf = (key: string): string => key.slice(0, key.indexOf(':'));

/**
 * In a store of several parts, what a user takes elsewhere (an address after a change, an account at a provider) is claimed first, in the
 * part that decides about it; then the change of the user is made; then the claim is settled by what the user's rows say. So a crash
 * at any moment leaves at worst a claim that is not settled, which a job settles within a minute. A store in one part has unique
 * indexes, and no claims.
 *
 * Nothing depends on how long an act takes. It leaves a ticket with the user before it claims anything, and the change needs that
 * ticket; settling the claim takes the ticket away before it reads what the user has. So a process that was stopped for an hour
 * in between changes nothing when it goes on. To give up what is kept needs none: late, it leaves a claim that its user does not have
 * any more, which the next one settles.
 * @param kinds by the first word of a key.
 */
export function openClaims({ db, clock }: { db: Db; clock: Clock }, kinds: Readonly<Record<string, ClaimKind>>) {
  const isNeeded = db.parts.length > 1;

  function readKind({ claim_key }: ClaimRow): [kind: ClaimKind, of: string] {
    const name = kindOf(claim_key);
    const kind = kinds[name];
    if (kind === undefined) throw new TypeError(`Claims of ${claim_key} are unknown.`);
    return [kind, claim_key.slice(name.length + 1)];
  }

  /** @returns whether its user has it. */
  async function settleRow(part: Part, row: ClaimRow): Promise<boolean> {
    const [{ isHeld, isKept, settled }, of] = readKind(row);
    if (row.act !== null) await db.of(row.user_id).run(takeTicketBack(row));
    const held = await isHeld(row.user_id, of);
    await part.change({
      run: {
        claim: settleClaim(row, held && isKept),
        settled: settled?.(row.user_id, of, held, now({ clock })),
      },
    });
    return held;
  }

  /** Not the one of an act that may be under way. @returns whether a user has it, or an act is under way. */
  async function settleOld({ part, key }: Claim): Promise<'free' | 'held' | 'under way'> {
    const row = await findClaimRow(part, key);
    if (row === undefined) return 'free';
    if (row.since !== null && row.since > now({ clock }) - settledSeconds) return 'under way';
    return (await settleRow(part, row)) ? 'held' : 'free';
  }

  /** Claims of one part, all or none. @returns the one that is another user's. */
  async function take(part: Part, claims: readonly One[]): Promise<Claim | undefined> {
    for (let waited = 0, stale = 0; ; ) {
      const requirements = claims.flatMap(({ claim: { isTaken }, row }, place) => [
        [`${place} claim`, isClaimed(row)],
        [`${place} free`, isTaken && sql`not ${isTaken}`],
      ]);
      const lock = claims.map(({ row }) => insertClaim(row));
      const done = await part.change({ lock, require: Object.fromEntries(requirements) as Requirements, run: {} });
      if (done.ok) return undefined;
      const [place, problem] = done.failed.split(' ');
      const { claim } = claims[Number(place)]!;
      const state = problem === 'free' ? 'held' : await settleOld(claim);
      if (state === 'held' || waited >= longestWaitMs || stale > claims.length) return claim;
      if (state === 'free') stale += 1;
      else {
        waited += pollMs;
        await sleep(pollMs);
      }
    }
  }

  /** @param isDone whether the change was made, as far as is known: then what was to be taken is held. */
  async function end({ act, taken, givenUp }: Act, isDone: boolean): Promise<void> {
    const all = [...taken, ...givenUp];
    if (!isDone) await Promise.all(inParts(all.filter(hasTicket), byUser, (one) => takeTicketBack(one.row)));
    const kept = isDone ? taken.filter(({ row }) => readKind(row)[0].isKept) : [];
    const settleOwn = async ({ claim: { part, key } }: One): Promise<void> => {
      const row = await findClaimRow(part, key);
      if (row?.act === act) await settleRow(part, row);
    };
    await Promise.all([
      ...inParts(kept, byClaim, ({ row }) => keepClaim(row)),
      ...all.filter((one) => !kept.includes(one)).map(settleOwn),
    ]);
  }

  /** @returns the claim that is another user's; undefined if all is claimed. */
  async function begin({ taken, givenUp }: Act): Promise<Claim | undefined> {
    const first = new Map(taken.toReversed().map((one) => [one.claim.key, one]));
    const second = taken.find((one) => first.get(one.claim.key) !== one);
    if (second) return second.claim;
    await Promise.all(inParts([...taken, ...givenUp].filter(hasTicket), byUser, ({ row }) => insertTicket(row)));
    for (const part of db.parts) {
      const some = taken.filter((one) => one.claim.part === part);
      const refused = some.length === 0 ? undefined : await take(part, some);
      if (refused !== undefined) return refused;
    }
    await Promise.all(
      inParts(givenUp, byClaim, ({ row }) => (readKind(row)[0].isKept ? unsettle(row) : insertClaim(row))),
    );
    return undefined;
  }

  const hasTicket = (one: One): boolean => one.hasTicket;
  const byUser = ({ row }: One): Part => db.of(row.user_id);
  const byClaim = ({ claim }: One): Part => claim.part;
  const inParts = (some: readonly One[], partOf: (one: One) => Part, statement: (one: One) => Sql) =>
    [...Map.groupBy(some, partOf)].map(([part, those]) => part.change({ run: { those: those.map(statement) } }));

  /**
   * Makes a change by which users take and give up what is claimed.
   * @param wanted an entry for each user.
   * @returns what the change did, or that one of the claims is another user's; then nothing was changed.
   */
  async function holdingAll<Done extends { ok: boolean }>(
    wanted: readonly ClaimedBy[],
    change: (ticketOf: (user_id: UserId) => Ticket) => Promise<Done>,
  ): Promise<Done | ClaimRefused> {
    if (!isNeeded) return change(() => undefined);
    const own = { since: now({ clock }), act: newSuffix() };
    const claimsOf = (which: 'taken' | 'givenUp') =>
      wanted.flatMap(({ user_id, [which]: claims = [] }) =>
        claims.map((claim): One => {
          const row = { claim_key: claim.key, user_id, ...own };
          return { claim, row, hasTicket: which === 'taken' || !readKind(row)[0].isKept };
        }),
      );
    const act = { act: own.act, taken: claimsOf('taken'), givenUp: claimsOf('givenUp') };
    const tickets = Map.groupBy([...act.taken, ...act.givenUp].filter(hasTicket), ({ row }) => row.user_id);
    let isDone = false;
    try {
      const refused = await begin(act);
      if (refused) return { ok: false, failed: 'claim', claim: refused };
      const done = await change((user_id) => tickets.get(user_id)?.map(({ row }) => useTicket(row)));
      isDone = done.ok;
      return done;
    } finally {
      await end(act, isDone).catch(leaveToJob);
    }
  }

  return {
    holdingAll,

    /** {@link holdingAll} for one user. */
    holding: <Done extends { ok: boolean }>(
      user_id: UserId,
      claimed: Claimed,
      change: (ticket: Ticket) => Promise<Done>,
    ): Promise<Done | ClaimRefused> => holdingAll([{ user_id, ...claimed }], (ticketOf) => change(ticketOf(user_id))),

    /** Who has it by a claim, as far as is known: ask the rows of that user. */
    holderOf: async ({ part, key }: Claim): Promise<UserId | undefined> =>
      isNeeded ? (await findClaimRow(part, key))?.user_id : undefined,

    /**
     * What is claimed, of whichever user has it.
     * @param ask for it in a part. While the one that decides is away, all others are asked.
     */
    async find<Row>({ part, key }: Claim, ask: (part: Part) => Promise<Row | undefined>): Promise<Row | undefined> {
      if (!isNeeded) return ask(part);
      try {
        const row = await findClaimRow(part, key);
        return row && ask(db.of(row.user_id));
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        return findInAll(db, ask);
      }
    },

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
        for (const one of some) {
          const settling = isTicket(one) ? part.run(deleteTicket(one)) : settleRow(part, one);
          await settling.then(() => (settled += 1), leaveToJob);
        }
        return settled; // of those whose users are on a server that is away, none
      }, signal),
  };
}

function leaveToJob(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
