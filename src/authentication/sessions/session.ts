import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Deps, SessionDeps } from '../../platform/deps.ts';
import { loginRequired, reauthenticationRequired, refusal } from '../../platform/errors.ts';
import type { Access } from '../../platform/http/access.ts';
import { cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { digest } from '../../platform/ids.ts';
import { refuseFormOfAnother } from '../../platform/pages/form.ts';
import { twoFactors } from './authentication.ts';
import { expireSession, findSession, type SessionRow, touchSession } from './store.ts';

/** For statements of other rooms that depend on a session. */
export { hasEveryFactor } from './store.ts';

/** Three days without use, fourteen in all (decisions §3). */
export const sessionIdleSeconds = 3 * 86_400;
export const sessionSeconds = 14 * 86_400;
/** The idle end moves at most this often, so reading a page does not mean writing a row. */
const touchSeconds = 300;

export type Session = Omit<SessionRow, 'has_expired' | 'amr' | 'lacks_second_factor' | 'lacks_strongest_factor'> & {
  amr: string[];
  /** TOTP is on and this session has not seen it: it was there before, or a thief's. It gets no codes. */
  lacksSecondFactor: boolean;
  /** The person has TOTP or a passkey, and has shown neither in this session. It changes no way in. */
  lacksStrongestFactor: boolean;
};

/** The live session that the request's cookie names, if any. One read; a write when it was last seen a while ago. */
export async function currentSession(deps: SessionDeps, request: FastifyRequest): Promise<Session | undefined> {
  const token = cookie(request, cookieNames(deps.config).session);
  if (token === undefined || token.length > 200) return undefined;
  const at = now(deps);
  const row = await findSession(deps.db, digest(token), at);
  if (!row) return undefined;
  if (row.has_expired) {
    // By a clock that was just set it may be over by mistake, and is asked for again when the clock is right.
    if (deps.timekeeper.isSettled()) await expireSession(deps.db, row.session_id, at);
    return undefined;
  }
  if (at - row.last_seen_at >= touchSeconds) await touchSession(deps.db, row.session_id, at, at + sessionIdleSeconds);
  const { amr, has_expired, lacks_second_factor, lacks_strongest_factor, ...session } = row;
  return {
    ...session,
    amr: amr.split(' '),
    lacksSecondFactor: lacks_second_factor,
    lacksStrongestFactor: lacks_strongest_factor,
  };
}

/**
 * @throws {RequestError} `login_required`, never a redirect: the caller is a program; as {@link refuseFormOfAnother}.
 */
export async function requireSession(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await currentSession(deps, request);
  if (!session) throw loginRequired();
  refuseFormOfAnother(request, session.user_id);
  request.signedInUser = session;
  return session;
}

/** Changing how somebody signs in takes a sign-in that is at most this old (ASVS 7.5.1). */
const recentSeconds = 900;

/** @throws {RequestError} `login_required`; as {@link requireRecentSignIn}. */
export async function requireRecentSession(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await requireSession(deps, request);
  requireRecentSignIn(deps, session);
  return session;
}

/**
 * @throws {RequestError} `reauthentication_required` when the last sign-in is older than that, or was by less than the
 * person has: whoever came by a password, a reset link or a provider alone neither takes a factor away nor adds one of
 * their own.
 */
export const requireRecentSignIn = (deps: Pick<Deps, 'clock'>, session: Session): void =>
  requireConfirmation(deps, session, recentSeconds);

function requireConfirmation(
  deps: Pick<Deps, 'clock'>,
  { auth_time, lacksStrongestFactor }: Session,
  maxAge: number,
): void {
  if (lacksStrongestFactor) throw strongestFactorRequired(maxAge);
  if (now(deps) - auth_time > maxAge) throw reauthenticationRequired(maxAge);
}

/** What a session is answered that {@link Session.lacksStrongestFactor}. */
export const strongestFactorRequired = (maxAge = recentSeconds) => reauthenticationRequired(maxAge, twoFactors);

/** The same session goes on under a new secret, to the end that it had. */
export const setSessionCookie = (
  deps: Pick<Deps, 'clock' | 'config'>,
  reply: FastifyReply,
  session: Session,
  token: string,
) => setCookie(reply, deps.config, cookieNames(deps.config).session, token, session.expires_at - now(deps));

/** An administrator's sign-in counts this long for looking; changing takes a recent one. */
const administratorSeconds = 3600;

/**
 * For everything under /admin. Whoever has a second factor must have used it in this session, as for a change of factors.
 * @throws {RequestError} `login_required`; `access_denied` without the role; `reauthentication_required`.
 */
export async function requireAdministrator(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await requireSession(deps, request);
  if (session.role !== 'admin') throw refusal('access_denied', { key: 'refusal.administrator' });
  const maxAge = request.method === 'GET' || request.method === 'HEAD' ? administratorSeconds : recentSeconds;
  requireConfirmation(deps, session, maxAge);
  return session;
}

const callerOf = ({ user_id }: Session, request: FastifyRequest): Required<Caller> => ({
  actor: `user:${user_id}`,
  address: request.ip,
});

/** What a browser sends beside its session. */
export type BrowserContext = {
  /** The secret by which a browser that has signed in before is recognised. */
  readonly deviceToken: string | undefined;
  readonly userAgent: string | undefined;
  /** Of the pages and mails that the request leads to. */
  readonly locale: Locale;
};

export type SignedIn = { session: Session; caller: Required<Caller>; browser: BrowserContext };

const signedInAs = (deps: Deps, request: FastifyRequest, session: Session): SignedIn => ({
  session,
  caller: callerOf(session, request),
  browser: {
    deviceToken: cookie(request, cookieNames(deps.config).device),
    userAgent: request.headers['user-agent'],
    get locale() {
      return request.view.locale;
    },
  },
});

/** A user, for their own account. */
export const signedIn: Access<Deps, SignedIn> = {
  scheme: 'SessionCookie',
  refusals: ['login_required'],
  authenticate: async (deps, request) => signedInAs(deps, request, await requireSession(deps, request)),
};

/** A user whose last sign-in is recent enough to change how they sign in. */
export const recentlySignedIn: Access<Deps, SignedIn> = {
  scheme: 'SessionCookie',
  description: 'The sign-in must be at most 15 minutes old.',
  refusals: ['login_required', 'reauthentication_required'],
  authenticate: async (deps, request) => signedInAs(deps, request, await requireRecentSession(deps, request)),
};

/** An administrator at a page. */
export const administratorPage: Access<Deps, { caller: Caller; administrator_id: string }> = {
  scheme: 'SessionCookie',
  description: 'Requires an administrator who signed in at most an hour ago, or 15 minutes ago for changes.',
  refusals: ['login_required', 'access_denied', 'reauthentication_required'],
  async authenticate(deps, request) {
    const session = await requireAdministrator(deps, request);
    return { caller: callerOf(session, request), administrator_id: session.user_id };
  },
};

/** An administrator. The command line runs the same operations, with a caller and without a user. */
export const administrator: Access<Deps, { caller: Caller }> = administratorPage;
