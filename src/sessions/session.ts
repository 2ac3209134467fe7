import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { loginRequired, reauthenticationRequired, refusal } from '../errors.ts';
import { cookie, cookieNames, setCookie } from '../http/cookies.ts';
import { digest } from '../lib/ids.ts';
import { listPasskeys } from '../passkeys/store.ts';
import { acrOf } from './authentication.ts';
import { findLiveSession, type SessionRow, touchSession } from './store.ts';

/** Three days without use, fourteen in all (decisions §3). */
export const sessionIdleSeconds = 3 * 86_400;
export const sessionSeconds = 14 * 86_400;
/** The idle end moves at most this often, so reading a page does not mean writing a row. */
const touchSeconds = 300;

export type Session = Omit<SessionRow, 'amr' | 'lacks_second_factor'> & {
  amr: string[];
  /** The person has a second factor that this session has not seen: it was there before, or a thief's. */
  lacksSecondFactor: boolean;
};

/** The live session that the request's cookie names, if any. One read; a write when it was last seen a while ago. */
export async function currentSession(deps: Deps, request: FastifyRequest): Promise<Session | undefined> {
  const token = cookie(request, cookieNames(deps.config).session);
  if (token === undefined || token.length > 200) return undefined;
  const at = now(deps);
  const row = await findLiveSession(deps.db, digest(token), at);
  if (!row) return undefined;
  if (at - row.last_seen_at >= touchSeconds) await touchSession(deps.db, row.session_id, at, at + sessionIdleSeconds);
  const { amr, lacks_second_factor, ...session } = row;
  return { ...session, amr: amr.split(' '), lacksSecondFactor: lacks_second_factor === 1 };
}

/** @throws {RequestError} `login_required`, never a redirect: the caller is a program. */
export async function requireSession(deps: Deps, request: FastifyRequest): Promise<Session> {
  const session = await currentSession(deps, request);
  if (!session) throw loginRequired();
  return session;
}

/** Changing how somebody signs in takes a sign-in that is at most this old (ASVS 7.5.1). */
const recentSeconds = 900;

/** @throws {RequestError} `login_required`; as {@link refuseUnlessRecent}. */
export async function requireRecentSession(deps: Deps, request: FastifyRequest): Promise<Session> {
  const session = await requireSession(deps, request);
  refuseUnlessRecent(deps, session);
  return session;
}

/**
 * @throws {RequestError} `reauthentication_required` when the last sign-in is older than that, or was by one factor and
 * the person has two by now: whoever came in by the first alone cannot take the second away.
 */
export function refuseUnlessRecent(deps: Deps, session: Session): void {
  const isOld = now(deps) - session.auth_time > recentSeconds;
  if (isOld || session.lacksSecondFactor) throw reauthenticationRequired(recentSeconds);
}

/** The same session goes on under a new secret, to the end that it had. */
export const keepSession = (deps: Deps, reply: FastifyReply, session: Session, token: string) =>
  setCookie(reply, deps.config, cookieNames(deps.config).session, token, session.expires_at - now(deps));

/** An administrator's sign-in counts this long for looking; changing takes a recent one. */
const administratorSeconds = 3600;

/**
 * For everything under /admin. Whoever has a second factor must have used it in this session: one from before TOTP was
 * on has not seen it, and with passkeys alone a password would be a way around.
 * @throws {RequestError} `login_required`; `access_denied` without the role; `reauthentication_required`.
 */
export async function requireAdministrator(deps: Deps, request: FastifyRequest): Promise<Session> {
  const session = await requireSession(deps, request);
  if (session.role !== 'admin') throw refusal('access_denied', { key: 'refusal.administrator' });
  const maxAge = request.method === 'GET' || request.method === 'HEAD' ? administratorSeconds : recentSeconds;
  if (now(deps) - session.auth_time > maxAge) throw reauthenticationRequired(maxAge);
  if (session.lacksSecondFactor || (await couldHaveUsedPasskey(deps, session))) throw reauthenticationRequired(maxAge);
  return session;
}

const couldHaveUsedPasskey = async ({ db }: Deps, { acr, user_id }: Session): Promise<boolean> =>
  acr === acrOf([]) && (await listPasskeys(db, user_id)).length > 0;

/** On whose behalf an administrator's request is done. @throws {RequestError} as {@link requireAdministrator} does. */
export async function administratorCaller(deps: Deps, request: FastifyRequest): Promise<Caller> {
  const { user_id } = await requireAdministrator(deps, request);
  return { actor: `user:${user_id}`, address: request.ip };
}
