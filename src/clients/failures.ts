import { setImmediate } from 'node:timers/promises';
import { now } from '../platform/clock.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { digest } from '../platform/ids.ts';
import { addressKey, networkKey } from '../platform/ip-address.ts';
import { countFailureOf } from '../statistics/daily-counts.ts';
import { authenticationFailures } from './authentication-methods.ts';
import type { Client } from './client.ts';
import { countFailure, trimFailures } from './failures.store.ts';
import { leftOut } from './scopes.ts';

/** Where a sign-in or a sign-out stopped. */
export const failureStages = ['authorize', 'client_authentication', 'token', 'logout'] as const;

/** In more detail than the caller gets, for the owner of the client. */
export const failureCodes = [
  'redirect_uri_missing',
  'redirect_uri_differs',
  'client_not_approved',
  'invalid_scope',
  'scope_left_out',
  'invalid_target',
  'dpop_key',
  'dpop_proof',
  'pkce',
  'request',
  ...authenticationFailures,
  'authentication_method',
  'code_unknown',
  'code_expired',
  'code_replayed',
  'code_redirect_uri',
  'code_verifier',
  'grant_ended',
  'refresh_token',
  'refresh_replayed',
  'refresh_parallel',
  'id_token_hint',
  'post_logout_redirect_uri_differs',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** Where the owner of a client reads them: what a page for its users does not say. */
export const failuresPathOf = ({ client_id, owner_user_id }: Client): string | undefined =>
  owner_user_id === null ? undefined : `/developer/clients/${client_id}/activity`;

/** No secrets; each is cut to 300 characters. */
export type FailureDetail = {
  /** The received redirect_uri or scope. */
  sent?: string;
  /** What it was compared with; of a scope, what is allowed. */
  registered?: string;
  /** The `error_description` of the answer. */
  description?: string;
};

/** `detail` is called only if the failure is kept. */
export type Failure = { code: FailureCode; detail?: () => FailureDetail };

/**
 * Anyone can make a client's requests fail, so few are kept of each kind, which is a stage and a code. The limits are per
 * kind, or an attacker could hide one failure by causing many of another; and per address and network, or those of an
 * attacker would take the places of a kind from the app's own.
 */
const maxKept = { latest: 5, mostFrequent: 5 };
const maxPerMinute = { address: 5, network: 20, kind: 60 };
/** Beyond it the oldest minute is dropped, which costs a few writes more. */
const maxRemembered = 10_000;

/** Waiting writes; beyond it a failure is dropped. */
const maxWaiting = { client: 50, all: 1000 };

/** Part of a scope that was not granted; nothing fails by that, but the developer may miss it. */
export function leftOutOf(
  allowed: readonly string[],
  requested: string | undefined,
  granted: string,
): Failure | undefined {
  const names = leftOut(requested ?? '', granted);
  if (names.length === 0) return undefined;
  return { code: 'scope_left_out', detail: () => ({ sent: names.join(' '), registered: allowed.join(' ') }) };
}

/** `address`: IP address of the requester. It is not kept. */
type Place = { client_id: string; stage: (typeof failureStages)[number]; address: string };

/** Keeps the failures of clients for their owners to read. */
export type FailureRecorder = ReturnType<typeof openFailureRecorder>;

export function openFailureRecorder(deps: StoreDeps & Pick<Deps, 'log'>) {
  const minutes = new Map<string, { startedAt: number; failures: number }>();
  /** One write at a time: a flood takes one connection at most, and each trim sees the rows before it. */
  let lastWrite: Promise<void> = Promise.resolve();
  let waiting = 0;
  const waitingOf = new Map<string, number>();
  const wait = (client_id: string, more: 1 | -1) => {
    waiting += more;
    const count = (waitingOf.get(client_id) ?? 0) + more;
    if (count > 0) waitingOf.set(client_id, count);
    else waitingOf.delete(client_id);
  };

  function hasRoom(key: string, max: number): boolean {
    const known = minutes.get(key);
    const age = known === undefined ? Number.POSITIVE_INFINITY : now(deps) - known.startedAt;
    if (known && age >= 0 && age < 60) {
      known.failures += 1;
      return known.failures <= max;
    }
    minutes.delete(key); // a key that is set again would keep its place in the order
    minutes.set(key, { startedAt: now(deps), failures: 1 });
    const [oldest] = minutes.keys();
    if (minutes.size > maxRemembered && oldest !== undefined) minutes.delete(oldest);
    return true;
  }

  return {
    /** Counts up one that is kept already. The failed request does not wait for the write, which may fail. */
    record(place: Place, failure: Failure): void {
      const kind = `${place.client_id} ${place.stage} ${failure.code}`;
      const isFull = waiting >= maxWaiting.all || (waitingOf.get(place.client_id) ?? 0) >= maxWaiting.client;
      if (isFull || !hasRoom(`${kind} ${addressKey(place.address)}`, maxPerMinute.address)) return;
      if (!hasRoom(`${kind} in ${networkKey(place.address)}`, maxPerMinute.network)) return;
      if (!hasRoom(kind, maxPerMinute.kind)) return;
      wait(place.client_id, 1);
      lastWrite = lastWrite
        .then(() => setImmediate())
        .then(() => writeFailure(deps, place, failure))
        .catch((error: unknown) => deps.log.debug({ err: error }, 'a client failure was not recorded'))
        .finally(() => wait(place.client_id, -1));
    },
    /** Resolves when all that was recorded has been written. */
    close: () => lastWrite,
  };
}

async function writeFailure(deps: StoreDeps, place: Place, { code, detail: describe }: Failure): Promise<void> {
  const detail = describe ? JSON.stringify(truncateDetail(describe())) : null;
  const { client_id, stage } = place;
  const kind = { client_id, stage, code };
  const failure_id = `fail_${digest(JSON.stringify([client_id, stage, code, detail]))}`;
  const at = now(deps);
  await deps.db.of(client_id).change({
    run: {
      failure: countFailure({ failure_id, ...kind, detail, at }),
      trimmed: trimFailures(kind, maxKept),
      day: code === 'scope_left_out' ? undefined : countFailureOf(client_id, at), // the request went on
    },
  });
}

const longest = 300;

/** Our codes, tokens and secrets, and any JWT: a redirect URI may carry one by mistake, also escaped (`%3Dac_…`). */
const confidential =
  /(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))(?:(?:ac|rt|cs|ss|st|bt)_[\w-]{16,}|eyJ[\w-]+(?:\.[\w-]*)*)/g;

/** Without credentials that may still be valid. */
export const withoutSecrets = (text: string): string => text.replace(confidential, '[removed]');

const truncateDetail = (detail: FailureDetail): FailureDetail =>
  Object.fromEntries(
    Object.entries(detail)
      .filter(([, text]) => text !== undefined)
      .map(([name, text]) => [name, withoutSecrets(text).slice(0, longest)]),
  );

/** The registered URI with the longest beginning and end in common, which was probably meant. */
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
  const max = Math.min(one.length, other.length);
  while (length < max && one.at(-1 - length) === other.at(-1 - length)) length += 1;
  return /[\udc00-\udfff]/.test(one.at(-length) ?? '') && length > 0 ? length - 1 : length;
}
