import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { mayMailAbout } from '../../accounts/mail-limits.ts';
import { findUser, lockUser } from '../../accounts/statements.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps, Deps as PlatformDeps } from '../../platform/deps.ts';
import { notFound } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { bucketOf, digest, newSecret, newSecretIn } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { Type } from '../../platform/schema.ts';
import type { RevocationDeps } from '../deps.ts';
import { deviceName } from './browser.ts';
import { signOutStatements } from './sessions.ts';
import { sessionsTrustedBy } from './store.ts';
import { cookieWith, entryFor, type TrustCookie, type TrustEntry, trustTime } from './trust-cookie.ts';
import {
  deleteReplayed,
  deleteSurplusTrustedBrowsers,
  deleteTrustedBrowser,
  insertTrustedBrowser,
  type TrustedBrowser,
  type TrustTime,
  trustedBrowsersOf,
  useTrustedBrowser,
} from './trusted-browsers.store.ts';

/** What signing in with a trusted browser, or trusting one, adds to the change that makes the session. */
type TrustChange = { series_hash: string; run: Sql | readonly Sql[]; cookie: TrustCookie };

/** Shows the secret, which is thereby used up. The statement changes nothing if the browser is not trusted, or not by that user. */
export function useTrust(
  deps: Pick<PlatformDeps, 'config'>,
  { user_id, cookie, time }: { user_id: string; cookie: string | undefined; time: TrustTime },
  { series, secret }: TrustEntry,
) {
  const next = newSecret();
  const series_hash = digest(series);
  const use = { series_hash, user_id, secret_hash: digest(secret), next_hash: digest(next) };
  return {
    series_hash,
    statement: mustChange(useTrustedBrowser(use, time)),
    cookie: cookieWith(deps, cookie, { series, secret: next }),
  };
}

type Trusting = {
  user_id: string;
  cookie: string | undefined;
  address: string;
  userAgent: string | undefined;
};

/** Trusts the browser in place of the second factor that was just given in it. Undefined where the operator does not allow it. */
export function beginTrust(
  deps: Pick<PlatformDeps, 'config' | 'clock'>,
  { user_id, cookie, address, userAgent }: Trusting,
): TrustChange | undefined {
  const time = trustTime(deps);
  if (!time) return undefined;
  const entry = { series: newSecretIn(bucketOf(user_id), 'tb_'), secret: newSecret() };
  const series_hash = digest(entry.series);
  const replaced = entryFor(user_id, cookie);
  const browser = {
    series_hash,
    user_id,
    secret_hash: digest(entry.secret),
    created_at: time.at,
    last_used_at: time.at,
    expires_at: time.at + (time.at - time.since),
    address,
    user_agent: userAgent?.slice(0, 300) ?? null,
  };
  const event = { action: 'trusted_browser.added', actor: `user:${user_id}`, target: user_id, address } as const;
  return {
    series_hash,
    cookie: cookieWith(deps, cookie, entry),
    run: [
      ...(replaced ? [deleteTrustedBrowser({ series_hash: digest(replaced.series), user_id })] : []),
      insertTrustedBrowser(browser),
      deleteSurplusTrustedBrowsers(user_id, series_hash),
      auditEvent({ ...event, after: { expires_at: browser.expires_at } }, time.at).statement,
    ],
  };
}

/** Names it in paths and lists; the secret that its browser has does not follow from it. */
export const trustedBrowserId = ({ series_hash }: Pick<TrustedBrowser, 'series_hash'>): string =>
  `trb_${series_hash.slice(0, 22)}`;

export const TrustedBrowserRecord = Type.Object({
  browser_id: Type.String({ description: 'Identifies it in requests; no secret.' }),
  device: nullable(Type.String({ description: 'Browser and operating system, from the User-Agent header.' })),
  address: nullable(Type.String({ description: 'Where the second factor was given.' })),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
});

export const trustedBrowserRecord = (browser: TrustedBrowser) => ({
  browser_id: trustedBrowserId(browser),
  device: deviceName(browser.user_agent) ?? null,
  address: browser.address,
  created_at: browser.created_at,
  last_used_at: browser.last_used_at,
  expires_at: browser.expires_at,
});

/** Those that stand in for the second factor of a user now, twenty at most, last used first. */
export async function listTrustedBrowsers(
  deps: Pick<PlatformDeps, 'db' | 'config' | 'clock'>,
  user_id: string,
): Promise<TrustedBrowser[]> {
  const time = trustTime(deps);
  if (!time) return [];
  const kept = time.at - time.since; // the operator may have shortened it
  const browsers = await trustedBrowsersOf(deps.db, user_id, time);
  return browsers.map((one) => ({ ...one, expires_at: Math.min(one.expires_at, one.created_at + kept) }));
}

/**
 * Its next sign-in asks for the second factor again, and so does every application, of a session that rests on it.
 * @param words the reason of an administrator, for the log.
 * @throws {RequestError} `not_found` for one that is over, unknown or of another user, all alike; `access_denied` as
 * {@link refuseAgainstAdministrator} says; `invalid_request` for words that are no reason.
 */
export async function endTrustedBrowser(
  deps: LimitDeps,
  caller: Caller,
  { user_id, browser_id }: { user_id: string; browser_id: string },
  words?: string,
): Promise<void> {
  const reason = words === undefined ? undefined : readReason(words);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const browser = (await listTrustedBrowsers(deps, user_id)).find((one) => trustedBrowserId(one) === browser_id);
  if (!browser) throw notFound();
  const event = { action: 'trusted_browser.ended', ...caller, target: browser_id, reason, after: { user_id } } as const;
  const done = await deps.db.of(user_id).change({
    run: { trust: mustChange(deleteTrustedBrowser(browser)), event: auditEvent(event, now(deps)).statement },
  });
  if (!done.ok) throw notFound();
}

/** The holder of a copy can do it once for each time that the browser is trusted. */
const maxReports = { limit: 5, windowSeconds: 3600 };

/**
 * An older secret of a browser that is trusted still: an attacker has used the newer one, or has come with the older one now.
 * Which of the two is the user nothing here tells, and both know the first factor. So the trust ends, with the sessions that
 * rest on it and their grants, and both are asked for the second factor.
 */
export async function endIfReplayed(
  deps: RevocationDeps,
  user_id: string,
  { series, secret }: TrustEntry,
  address: string,
): Promise<void> {
  const at = now(deps);
  const series_hash = digest(series);
  const event = { action: 'trusted_browser.replayed', actor: 'system', target: user_id, address } as const;
  // Trust first: no session begins on it any more, so the list below is complete.
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: {
      trust: mustChange(deleteReplayed({ series_hash, user_id, secret_hash: digest(secret) })),
      event: auditEvent(event, at).statement,
    },
  });
  if (!done.ok) return;
  const sessions = await sessionsTrustedBy(deps.db, user_id, series_hash);
  const user = await findUser(deps.db, user_id);
  const sendsMail = user !== undefined && (await mayMailAbout(deps, 'trusted-browser', user_id, maxReports));
  await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: {
      ended: sessions.flatMap((session) =>
        signOutStatements(deps, session, { actor: 'system', address }, at, { reason: 'replay' }),
      ),
      mails: sendsMail ? mailTo(deps, user, 'trusted_browser_replayed', { address }) : undefined,
    },
  });
}
