import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { type Bucket, bucketOf } from '../../platform/ids.ts';
import type { TrustTime } from './trusted-browsers.store.ts';

const day = 86_400;

/** Of all users who trust this browser: one entry each. */
const maxEntries = 4;

/** What a cookie has for one user. `series` stays for as long as the trust, `secret` is another one after each sign-in. */
export type TrustEntry = { series: string; secret: string };

/** What a browser is given: the whole cookie, and for how many seconds. */
export type TrustCookie = { value: string; maxAge: number };

/** When trust that counts now was given. @returns undefined where the operator does not allow it. */
export function trustTime(deps: Pick<Deps, 'config' | 'clock'>): TrustTime | undefined {
  const { trustedBrowserDays } = deps.config;
  const at = now(deps);
  return trustedBrowserDays === undefined ? undefined : { at, since: at - trustedBrowserDays * day };
}

const entriesIn = (cookie: string | undefined): TrustEntry[] =>
  (cookie ?? '').split('~', maxEntries).flatMap((entry) => {
    const [, series, secret] = /^(tb_[\w-]{43})\.([\w-]{43})$/.exec(entry) ?? [];
    return series === undefined || secret === undefined ? [] : [{ series, secret }];
  });

const isOf = (bucket: Bucket) => (entry: TrustEntry) => bucketOf(entry.series) === bucket;

/** The entry of that user, if the browser has one. Whether it is genuine only the store knows. */
export const entryFor = (user_id: string, cookie: string | undefined): TrustEntry | undefined =>
  entriesIn(cookie).find(isOf(bucketOf(user_id)));

/** The cookie with another entry of the user, and those of others as they are. */
export function cookieWith(deps: Pick<Deps, 'config'>, cookie: string | undefined, entry: TrustEntry): TrustCookie {
  const bucket = bucketOf(entry.series);
  const others = entriesIn(cookie).filter((one) => !isOf(bucket)(one));
  const entries = [entry, ...others].slice(0, maxEntries);
  const value = entries.map(({ series, secret }) => `${series}.${secret}`).join('~');
  return { value, maxAge: (deps.config.trustedBrowserDays ?? 0) * day };
}
