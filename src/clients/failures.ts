import { setImmediate } from 'node:timers/promises';
import { now } from '../platform/clock.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { digest } from '../platform/ids.ts';
import { countFailure, trimFailures } from './failures.store.ts';

export { type FailureRow, failuresOf, purgeFailures } from './failures.store.ts';

/** Where a sign-in stopped. */
export const failureStages = ['authorize', 'client_authentication', 'token'] as const;
export type FailureStage = (typeof failureStages)[number];

/** In more detail than the caller gets: the owner of a client may know. */
export const failureCodes = [
  'redirect_uri_missing',
  'redirect_uri_differs',
  'client_not_approved',
  'invalid_scope',
  'pkce',
  'request',
  'secret_missing',
  'secret_wrong',
  'secret_ended',
  'secret_of_public',
  'code_unknown',
  'code_expired',
  'code_replayed',
  'code_redirect_uri',
  'code_verifier',
  'grant_ended',
  'refresh_token',
  'refresh_replayed',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** Nothing here is a secret; each is cut to 300 characters. */
export type FailureDetail = {
  /** The redirect_uri or scope that came. */
  sent?: string;
  /** What it was compared with. */
  registered?: string;
  /** The `error_description` that the caller got. */
  description?: string;
};

/** `detail` is called only if there is room for one more. */
export type Failure = { code: FailureCode; detail?: () => FailureDetail };

/**
 * Anyone can make a client's requests fail, so few are kept: this many different ones of each kind, which is a stage and a
 * code, and of a kind this many are written in a minute. Each kind has room of its own, or an attacker could hide one
 * failure by causing many of another.
 */
const maxKept = 10;
const maxPerMinute = 5;
/** Four weeks after it happened last. */
export const failureKeptSeconds = 28 * 86_400;
/** Kinds of clients whose minute is remembered; beyond it the oldest is forgotten, which costs a few writes more. */
const maxRemembered = 10_000;

/** Waiting writes; beyond it a failure is dropped. */
const maxWaiting = 1000;

type RecorderDeps = StoreDeps & Pick<Deps, 'log'>;
type Minute = { startedAt: number; failures: number };
type Place = { client_id: string; stage: FailureStage };

/** Keeps the failures of clients for their owners to read. */
export type FailureRecorder = {
  /**
   * One that is there already counts up. The request that failed neither waits for the write nor learns of it: when it
   * does not work, only the owner misses an entry.
   */
  record(place: Place, failure: Failure): void;
  /** Resolves when all that was recorded has been written. */
  close(): Promise<void>;
};

export function openFailureRecorder(deps: RecorderDeps): FailureRecorder {
  const minutes = new Map<string, Minute>();
  /** One write at a time: a flood takes one connection at most, and each trim sees the rows before it. */
  let lastWrite: Promise<void> = Promise.resolve();
  let waiting = 0;

  function hasRoom(key: string): boolean {
    const known = minutes.get(key);
    const age = known === undefined ? Number.POSITIVE_INFINITY : now(deps) - known.startedAt;
    if (known && age >= 0 && age < 60) {
      known.failures += 1;
      return known.failures <= maxPerMinute;
    }
    minutes.delete(key); // a key set again would keep its old place; the newest belongs last
    minutes.set(key, { startedAt: now(deps), failures: 1 });
    const [oldest] = minutes.keys();
    if (minutes.size > maxRemembered && oldest !== undefined) minutes.delete(oldest);
    return true;
  }

  return {
    record(place, failure) {
      const kind = `${place.client_id} ${place.stage} ${failure.code}`;
      if (waiting >= maxWaiting || !hasRoom(kind)) return;
      waiting += 1;
      lastWrite = lastWrite
        .then(() => setImmediate())
        .then(() => writeFailure(deps, place, failure))
        .catch((error: unknown) => deps.log.debug({ err: error }, 'a client failure was not recorded'))
        .finally(() => {
          waiting -= 1;
        });
    },
    close: () => lastWrite,
  };
}

async function writeFailure(deps: StoreDeps, place: Place, { code, detail: describe }: Failure): Promise<void> {
  const detail = describe ? JSON.stringify(truncateDetail(describe())) : null;
  const { client_id, stage } = place;
  const failure_id = `fail_${digest(JSON.stringify([client_id, stage, code, detail]))}`;
  await deps.db.change({
    run: {
      failure: countFailure({ failure_id, ...place, code, detail, at: now(deps) }),
      trimmed: trimFailures({ ...place, code }, maxKept),
    },
  });
}

const longest = 300;

/** Our codes, tokens and secrets, and any JWT: a redirect URI may carry one by mistake, also escaped (`%3Dac_…`). */
const confidential =
  /(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))(?:(?:ac|rt|cs|ss|st|bt)_[\w-]{16,}|eyJ[\w-]+(?:\.[\w-]*)*)/g;

/** Received text without credentials that may still be valid. */
export const withoutSecrets = (text: string): string => text.replace(confidential, '[removed]');

const truncateDetail = (detail: FailureDetail): FailureDetail =>
  Object.fromEntries(
    Object.entries(detail)
      .filter(([, text]) => text !== undefined)
      .map(([name, text]) => [name, withoutSecrets(text).slice(0, longest)]),
  );

/** The registered URI that was probably meant: with the longest beginning and end in common. */
export function closestMatch(registered: readonly string[], sent: string): string | undefined {
  const likeness = (uri: string) => {
    const start = commonStart(uri, sent);
    return start + commonEnd(uri.slice(start), sent.slice(start));
  };
  return registered.toSorted((one, other) => likeness(other) - likeness(one))[0];
}

/** Characters that two texts begin with in common, never half of one. */
export function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return /[\ud800-\udbff]/.test(one[length - 1] ?? '') ? length - 1 : length;
}

export function commonEnd(one: string, other: string): number {
  let length = 0;
  const most = Math.min(one.length, other.length);
  while (length < most && one.at(-1 - length) === other.at(-1 - length)) length += 1;
  return /[\udc00-\udfff]/.test(one.at(-length) ?? '') && length > 0 ? length - 1 : length;
}
