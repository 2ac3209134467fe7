/**
 * What was told to clients, and what follows from it. It knows nothing of how Signet works: facts with the moments at which
 * they began and became known, and rules about answers that must not be given, or must.
 */

/** A moment is a number that rises with each event of a simulation. */
export type Moment = number;

/** Something that ends tokens. `end`: when it was acknowledged; undefined while that, or whether it happened, is not known. */
export type End = { what: string; began: Moment; acknowledged: Moment | undefined };

/** A use of a code (place 0) or of the refresh token at this place of its sequence. */
export type Attempt = {
  place: number;
  began: Moment;
  /** Seconds. */
  beganAt: number;
  ended?: Moment;
  /** A call of the store failed meanwhile, or its process was killed. */
  isTroubled: boolean;
  run_id: string;
  /** With the secret that was the newest when it began. */
  hasNewestSecret: boolean;
  outcome?: 'tokens' | 'refused' | 'unauthenticated' | 'unknown';
  /** Of the answer. */
  refresh_token?: string;
};

/** A code and all that was issued for it. */
export type Family = {
  number: number;
  client: ClientFacts;
  user: UserFacts;
  session: SessionFacts;
  began: Moment;
  issued: Moment;
  /** Seconds. */
  issuedAt: number;
  code: string;
  /** By place: 1 is the answer to the code. */
  refreshTokens: string[];
  accessTokens: { token: string; issued: Moment; issuedAt: number }[];
  attempts: Attempt[];
  ends: End[];
};

/** Began and, once that is known, happened. */
export type Change = { began: Moment; ended: Moment | undefined; endedAt: number | undefined };

export type UserFacts = { user_id: string; isDisabled: boolean | undefined; changes: Change[] };
export type ClientFacts = {
  client_id: string;
  retry_window: number;
  /** Undefined while it is not known. */
  isSuspended: boolean | undefined;
  /** The newest that was acknowledged, and those before it, which must not be accepted any more. */
  secret: string;
  replaced: { secret: string; began: Moment; acknowledged: Moment; acknowledgedAt: number }[];
  /** Of status or secrets. */
  changes: Change[];
};
export type SessionFacts = { cookie: string; user: UserFacts; began: Moment; ends: End[] };

export class Violation extends Error {
  override name = 'Violation';
}

const broken = (rule: string, about: string): never => {
  throw new Violation(`${rule}: ${about}`);
};

/** How long clients may be kept in memory. Seconds. */
const cached = 1;
const codeSeconds = 60;
const repeatableSeconds = 300;

const isSure = ({ acknowledged }: End, before: Moment) => acknowledged !== undefined && acknowledged < before;
const sureEnd = (ends: readonly End[], before: Moment) => ends.find((end) => isSure(end, before));
const nameOf = (family: Family) => `code ${family.number} of ${family.client.client_id}`;

/** The highest place whose token was in an answer before this moment; 0 is the code. */
const highestPlace = ({ attempts }: Family, before: Moment): number =>
  Math.max(0, ...attempts.flatMap((one) => (one.outcome === 'tokens' && one.ended! < before ? [one.place + 1] : [])));

/** Nothing that is known, or not known, could have ended it before this moment. */
const hasNoEnd = ({ ends }: Family, until: Moment) => !ends.some((end) => end.began < until);

const isUnchanged = (
  { changes }: { changes: Change[] },
  attempt: Pick<Attempt, 'began' | 'beganAt' | 'ended'>,
): boolean =>
  changes.every(
    ({ began, ended, endedAt }) =>
      began > attempt.ended! || (ended !== undefined && ended < attempt.began && attempt.beganAt > endedAt! + cached),
  );

/** A token was accepted: by a request that began at this moment. */
export function checkAccepted(family: Family, began: Moment, what: string): void {
  const end = sureEnd(family.ends, began);
  if (end) broken('nothing that ended is accepted', `${what} of ${nameOf(family)} after ${end.what}`);
}

/** A token that is the newest of its family, and that nothing has ended, was not accepted by a request without trouble. */
export function checkNotAccepted(family: Family, began: Moment, ended: Moment, what: string): void {
  const isAlone = family.attempts.every((one) => one.outcome === 'tokens' && one.ended! < began && !one.isTroubled);
  if (isAlone && hasNoEnd(family, ended))
    broken('nothing that was acknowledged is lost', `${what} of ${nameOf(family)}`);
}

/** Judges a use of a code or refresh token once it has ended, and derives what it has ended. */
export function judge(family: Family, attempt: Attempt, nowSeconds: number): void {
  const { client, attempts } = family;
  const { place, began, ended } = attempt;
  const about = place === 0 ? nameOf(family) : `refresh token ${place} of ${nameOf(family)}`;
  const others = attempts.filter((one) => one !== attempt);
  const highest = highestPlace({ ...family, attempts: others }, began);
  const samePlace = others.filter((one) => one.place === place);
  /** The first answer may have been lost, so that it may be asked for again. */
  const mayRepeat = samePlace.some((one) => one.isTroubled || one.outcome === 'unknown' || one.outcome === undefined);
  const isInWindow = place > 0 && client.retry_window > 0;

  if (attempt.outcome === 'tokens') {
    checkAccepted(family, began, place === 0 ? 'a code' : `refresh token ${place}`);
    const known = family.refreshTokens[place + 1];
    if (known !== undefined && known !== attempt.refresh_token) {
      broken('a repeated request gets the same successor', about);
    }
    family.refreshTokens[place + 1] = attempt.refresh_token!;
    if (highest > place + 1) broken('a token whose successor was used is refused', about);
    const successes = samePlace.filter((one) => one.outcome === 'tokens');
    if (successes.length > 0 && !isInWindow && !mayRepeat && !attempt.isTroubled) {
      broken(place === 0 ? 'a code works once' : 'a refresh token works once', about);
    }
    return;
  }

  if (attempt.outcome === 'unauthenticated') {
    if (attempt.hasNewestSecret && client.isSuspended === false && isUnchanged(client, attempt)) {
      broken('a client with its secret is recognized', client.client_id);
    }
    return;
  }

  // The newest token that there is, which no one else uses: new, or once more after a request whose outcome is unknown.
  const isAlone = others.every((one) => one.ended !== undefined && one.ended < began && one.place <= place);
  const isNewest = highest === place && samePlace.every((one) => one.outcome === 'unknown');
  const isInTime =
    (place > 0 || nowSeconds < family.issuedAt + codeSeconds - 1) &&
    samePlace.every(({ beganAt }) => nowSeconds < beganAt + repeatableSeconds - 10);
  if (isAlone && isNewest) {
    const mustSucceed = isInTime && hasNoEnd(family, ended!) && isUnchanged(client, attempt);
    if (attempt.outcome === 'refused' && !attempt.isTroubled && mustSucceed) {
      const isRepeated = samePlace.length > 0;
      const rule = isRepeated
        ? 'a request whose outcome is unknown may be repeated'
        : 'nothing that was acknowledged is lost';
      broken(rule, about);
    }
    if (attempt.outcome === 'unknown') return;
  }

  // It presents what was replaced, or may have been: the grant ends, for certain if nothing excuses it.
  const isReplay = highest > place;
  const isExcused =
    attempt.isTroubled ||
    others.some((one) => one.isTroubled || one.outcome === 'unknown' || one.outcome === undefined);
  const isFarBack = highest > place + 1;
  const isCertain = attempt.outcome === 'refused' && isReplay && !isExcused && (isFarBack || !isInWindow);
  family.ends.push({ what: `a replay of ${about}`, began, acknowledged: isCertain ? ended : undefined });
}

/** A request was authenticated with this secret. */
export function checkSecret(client: ClientFacts, secret: string, began: Moment, beganAt: number): void {
  const replaced = client.replaced.find((one) => one.secret === secret);
  if (replaced && replaced.acknowledged < began && beganAt > replaced.acknowledgedAt + cached) {
    broken('a secret that was replaced is refused', client.client_id);
  }
}

/** A code was issued. */
export function checkIssued({
  session,
  user,
  client,
  began,
}: Pick<Family, 'session' | 'user' | 'client' | 'began'>): void {
  const end = sureEnd(session.ends, began);
  if (end) broken('a session that ended gets no code', `${user.user_id} after ${end.what}`);
  if (client.isSuspended && isSettled(client, began)) broken('a suspended client gets no code', client.client_id);
  if (user.isDisabled && isSettled(user, began)) broken('a disabled user gets no code', user.user_id);
}

const isSettled = ({ changes }: { changes: Change[] }, before: Moment) =>
  changes.every(({ ended }) => ended !== undefined && ended < before);
