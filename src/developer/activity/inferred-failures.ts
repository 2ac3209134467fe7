import type { RecentCode } from '../../oauth/statements.ts';

/**
 * Failures in the app itself. Signet answered and saw nothing wrong; what is inferred comes from what the app did with its
 * codes (decision 26).
 */
export const inferredCodes = ['signed_in_again', 'code_not_redeemed'] as const;

export type Inference = {
  code: (typeof inferredCodes)[number];
  /** When the first and the last of the codes were issued. */
  at: number;
  last_at: number;
  redirect_uri: string;
  /** The newest first. */
  codes: readonly [RecentCode, ...RecentCode[]];
};

/** Seconds from the exchange of a code until its user begins again. Who has seen an error seldom waits longer. */
export const againSeconds = 30;
/** Seconds in which codes are one attempt: a browser that restores its tabs signs in with each of them. */
const togetherSeconds = 4;
/** In a row. Two may be a user who signs in twice. */
const minAttempts = 3;

/**
 * A healthy client must never be reported, so each inference needs several attempts, and one sign of success is enough to
 * drop it.
 * @param codes of one client, and not of its test.
 * @param refusedAt when its last token request was refused, which explains a code that was not redeemed; 0 for never.
 */
export function inferFailures(codes: readonly RecentCode[], now: number, refusedAt: number): Inference[] {
  const byRedirectUri = Map.groupBy(codes, ({ redirect_uri }) => redirect_uri);
  return [...byRedirectUri.values()].flatMap((some) => {
    const newestFirst = some.toSorted((one, other) => other.created_at - one.created_at);
    return [
      ...inference('signed_in_again', repeatedSignIns(newestFirst)),
      ...inference('code_not_redeemed', unredeemedCodes(newestFirst, now, refusedAt)),
    ];
  });
}

function inference(code: Inference['code'], [latest, ...others]: readonly RecentCode[]): Inference[] {
  if (latest === undefined) return [];
  const { created_at: last_at, redirect_uri } = latest;
  return [{ code, at: (others.at(-1) ?? latest).created_at, last_at, redirect_uri, codes: [latest, ...others] }];
}

/**
 * Exchanged codes of users who began again each time, if they are at least half of all: a user of a healthy client may well
 * sign in over and over.
 */
function repeatedSignIns(newestFirst: readonly RecentCode[]): readonly RecentCode[] {
  const exchanged = newestFirst.filter(({ redeemed_at }) => redeemed_at !== null);
  const inChains = new Set(attemptsOf(exchanged).flatMap(chainsOf).flat(2));
  const repeated = exchanged.filter((code) => inChains.has(code));
  const first = repeated.at(-1);
  if (first === undefined || repeated.length * 2 < exchanged.length) return [];
  return exchanged.some((code) => code.created_at >= first.created_at && isUsed(code)) ? [] : repeated;
}

/** A library that refreshes or revokes tokens has accepted them. */
const isUsed = ({ refresh_seq, revoked_reason }: RecentCode): boolean => refresh_seq > 1 || revoked_reason === 'client';

type Attempt = readonly RecentCode[];

/** For each user, session and scope, the oldest first. */
function attemptsOf(codes: readonly RecentCode[]): Attempt[][] {
  const byPlace = Map.groupBy(codes, ({ user_id, session_id, scope }) => `${user_id} ${session_id} ${scope}`);
  return [...byPlace.values()].map((some) => {
    const attempts: RecentCode[][] = [];
    for (const code of some.toReversed()) {
      const [first] = attempts.at(-1) ?? [];
      if (first && code.created_at - first.created_at < togetherSeconds) attempts.at(-1)!.push(code);
      else attempts.push([code]);
    }
    return attempts;
  });
}

/** Attempts of which each began soon after the one before, if there are enough. */
function chainsOf(attempts: readonly Attempt[]): Attempt[][] {
  const chains: Attempt[][] = [];
  for (const attempt of attempts) {
    const isActive = attempt.every((code) => code.revoked_at === null && !isUsed(code));
    const exchanges =
      chains
        .at(-1)
        ?.at(-1)
        ?.map(({ redeemed_at }) => redeemed_at ?? 0) ?? [];
    const isAgain = attempt[0]!.created_at - Math.max(0, ...exchanges) <= againSeconds;
    if (!isActive) chains.push([]);
    else if (isAgain) chains.at(-1)!.push(attempt);
    else chains.push([attempt]);
  }
  return chains.filter((chain) => chain.length >= minAttempts);
}

/** The newest codes, if none of them was redeemed in time. One that its user's sign-out has ended says nothing. */
function unredeemedCodes(newestFirst: readonly RecentCode[], now: number, refusedAt: number): readonly RecentCode[] {
  const redeemedAt = newestFirst.find(({ redeemed_at }) => redeemed_at !== null)?.created_at ?? 0;
  const unredeemed = newestFirst.filter(
    ({ created_at, code_expires_at, revoked_at, revoked_reason }) =>
      created_at > redeemedAt && code_expires_at <= now && (revoked_at === null || revoked_reason === 'expired'),
  );
  const isExplained = unredeemed.some(({ created_at }) => created_at <= refusedAt);
  return isExplained || attemptsOf(unredeemed).flat().length < minAttempts ? [] : unredeemed;
}
