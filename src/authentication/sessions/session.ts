import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AdministrativePermission, takesTwoFactors } from '../../accounts/permissions.ts';
import { permissionsOfRole } from '../../accounts/roles.ts';
import { lockUser, noteSecondFactor } from '../../accounts/statements.ts';
import type { AuditAction } from '../../audit/actions.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { type Claimed, evenIfOvertaken, wasOvertaken } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { mustChange, type Requirements, type Writes } from '../../platform/db/change.ts';
import type { Deps, MailDeps, SessionDeps, StoreDeps } from '../../platform/deps.ts';
import { loginRequired, type RequestError, reauthenticationRequired, refusal } from '../../platform/errors.ts';
import type { Access } from '../../platform/http/access.ts';
import { cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { bucketOf, digest, newSecretIn } from '../../platform/ids.ts';
import { type LetterName, mailTo } from '../../platform/mail/letters.ts';
import { refuseFormOfAnother } from '../../platform/pages/form.ts';
import type { SecondFactorDue } from '../../platform/pages/page.ts';
import { hasSecondFactor } from '../credentials/factors.store.ts';
import { twoFactors } from './authentication.ts';
import {
  administratorFactorDue,
  hasNoSecondFactor,
  requiresSecondFactor,
  requireTwoFactors,
} from './second-factor-policy.ts';
import {
  expireSession,
  findSession,
  isActiveSession,
  isCurrentSession,
  replaceSessionSecret,
  type Session,
  type SessionRef,
  touchSession,
} from './store.ts';
import { trustTime } from './trust-cookie.ts';

/** Three days without use, fourteen in all (decisions §3). */
export const sessionIdleSeconds = 3 * 86_400;
export const sessionSeconds = 14 * 86_400;
/** The idle end moves at most this often, so reading a page does not mean writing a row. */
const touchSeconds = 300;

/** The active session of the request's cookie. One read; one write if it was last seen more than five minutes ago. */
export async function currentSession(deps: SessionDeps, request: FastifyRequest): Promise<Session | undefined> {
  const token = cookie(request, cookieNames(deps.config).session);
  if (token === undefined || token.length > 200) return undefined;
  const at = now(deps);
  const session = await findSession(deps.db.of(token), digest(token), at);
  if (session?.has_expired) {
    // While the clock is not settled, this may be wrong, and the session may be active again later.
    if (deps.timekeeper.isSettled()) await expireSession(deps.db, session.session_id, at);
    return undefined;
  }
  if (session && at - session.last_seen_at >= touchSeconds)
    await touchSession(deps.db, session.session_id, at, at + sessionIdleSeconds);
  // The operator may have ended trust for all since.
  return session?.rests_on_trust && trustTime(deps) === undefined
    ? { ...session, rests_on_trust: false, lacks_second_factor: true }
    : session;
}

/**
 * The session of a user who may have given one factor only, where the operator requires two: for setting the second one up,
 * for confirming with it, and for signing out.
 * @throws {RequestError} `login_required`; as {@link refuseFormOfAnother}.
 */
export async function requireFirstFactor(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await currentSession(deps, request);
  if (!session) throw loginRequired();
  refuseFormOfAnother(request, session.user_id);
  request.signedInUser = session;
  return session;
}

/** @throws {RequestError} as {@link requireFirstFactor}; `reauthentication_required` where the operator requires two factors. */
export async function requireSession(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await requireFirstFactor(deps, request);
  if (requiresSecondFactor(deps) && !session.rests_on_trust) requireTwoFactors(session, recentSeconds);
  else if (hasNoSecondFactor(session)) noteDue(request, deps.config.secondFactorFrom, 'layout.second_factor_due');
  return session;
}

/** The pages say until when there is time: until the first of several days. */
function noteDue(request: FastifyRequest, from: number | undefined, notice: SecondFactorDue['notice']): void {
  if (from !== undefined && from < (request.secondFactorDue?.from ?? Infinity))
    request.secondFactorDue = { from, notice };
}

/** To change how they sign in, users need a sign-in of at most this age (ASVS 7.5.1). */
const recentSeconds = 900;

/** @throws {RequestError} `login_required`; as {@link requireRecentSignIn}. */
export async function requireRecentSession(deps: SessionDeps, request: FastifyRequest): Promise<Session> {
  const session = await requireSession(deps, request);
  requireRecentSignIn(deps, session);
  return session;
}

/**
 * @throws {RequestError} `reauthentication_required` when the last sign-in is older than that, or was without the strongest
 * factor of the user: a sign-in by a password, a reset link or a provider alone neither removes a factor nor adds one.
 */
export function requireRecentSignIn(
  deps: Pick<Deps, 'clock'>,
  { auth_time, lacks_strongest_factor }: Session,
  maxAge = recentSeconds,
): void {
  if (lacks_strongest_factor) throw reauthenticationRequired(maxAge, twoFactors);
  if (now(deps) - auth_time > maxAge) throw reauthenticationRequired(maxAge);
}

/** Sets the new secret of the same session. When the session expires does not change. */
export const setSessionCookie = (
  deps: Pick<Deps, 'clock' | 'config'>,
  reply: FastifyReply,
  session: Session,
  token: string,
) => setCookie(reply, deps.config, cookieNames(deps.config).session, token, session.expires_at - now(deps));

const callerOf = ({ user_id }: Session, request: FastifyRequest): Required<Caller> => ({
  actor: `user:${user_id}`,
  address: request.ip,
});

/** What a browser sends besides its session. */
export type BrowserContext = {
  /** The secret by which a browser that has signed in before is recognised. */
  readonly deviceToken: string | undefined;
  readonly userAgent: string | undefined;
  /** The language of the pages and mails that the request leads to. */
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

export const signedIn: Access<Deps, SignedIn> = {
  scheme: 'SessionCookie',
  refusals: ['login_required', 'reauthentication_required'],
  authenticate: async (deps, request) => signedInAs(deps, request, await requireSession(deps, request)),
};

/** A user whose last sign-in is recent enough for a change of how they sign in. */
export const recentlySignedIn: Access<Deps, SignedIn> = {
  scheme: 'SessionCookie',
  description: 'The sign-in must be at most 15 minutes old.',
  refusals: ['login_required', 'reauthentication_required'],
  authenticate: async (deps, request) => signedInAs(deps, request, await requireRecentSession(deps, request)),
};

/** As {@link recentlySignedIn}, also of a user who has given one factor where the operator requires two. */
export const enrolling: Access<Deps, SignedIn> = {
  ...recentlySignedIn,
  async authenticate(deps, request) {
    const session = await requireFirstFactor(deps, request);
    requireRecentSignIn(deps, session);
    return signedInAs(deps, request, session);
  },
};

/** The age of an administrator's sign-in for reading; changes need a recent one. */
const administratorSeconds = 3600;

/** A person who administers, with a role that has a part of it or all. */
export type Administrator = {
  caller: Caller;
  administrator_id: string;
  /** @throws {RequestError} `access_denied` of another role; `reauthentication_required` without a second factor, for what takes one. */
  authorize(permission: AdministrativePermission): void;
};

/** An administrator at a page. One with a second factor must have used it in this session. */
export const administratorPage: Access<Deps, Administrator> = {
  scheme: 'SessionCookie',
  description: 'Requires an administrator who signed in at most an hour ago, or 15 minutes ago for changes.',
  refusals: ['login_required', 'access_denied', 'reauthentication_required'],
  async authenticate(deps, request) {
    const session = await requireSession(deps, request);
    const permissions = permissionsOfRole[session.role];
    if (permissions.size === 0)
      throw refusal('access_denied', { key: 'refusal.administrator' }, { title: { key: 'error.administrators' } });
    const due = await administratorFactorDue(deps, session);
    if (due !== undefined && now(deps) >= due) requireTwoFactors(session, recentSeconds);
    noteDue(request, due, 'layout.admin_factor_due');
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    requireRecentSignIn(deps, session, isReading ? administratorSeconds : recentSeconds);
    request.permissions = permissions;
    return {
      caller: callerOf(session, request),
      administrator_id: session.user_id,
      authorize(permission) {
        if (!permissions.has(permission))
          throw refusal('access_denied', { key: 'refusal.role' }, { title: { key: 'error.role' } });
        if (takesTwoFactors(permission)) requireTwoFactors(session, recentSeconds);
      },
    };
  },
};

/** @returns `login_required` or `reauthentication_required`: why {@link isCurrentSession} was not true. */
export async function sessionRefusal(deps: StoreDeps, session: SessionRef): Promise<RequestError> {
  return (await deps.db.of(session.session_id).holds(isActiveSession(session)))
    ? reauthenticationRequired(recentSeconds, twoFactors)
    : loginRequired();
}

/** A user who changes their own account. */
export type Owner = Pick<SignedIn, 'session' | 'caller'>;

/** An audit event about the account, by its user. */
export const ownEvent = (
  { session, caller }: Owner,
  event: Pick<Parameters<typeof auditEvent>[0], 'action' | 'reason' | 'before' | 'after' | 'onlyIf'>,
  at: number,
) => auditEvent({ ...event, ...caller, target: session.user_id }, at).statement;

type OwnChange = {
  /** For the audit event. */
  action: AuditAction;
  before?: Readonly<Record<string, unknown>>;
  after?: Readonly<Record<string, unknown>>;
  /** The mail to the user, with values besides `{address}`. */
  mail?: LetterName;
  values?: Readonly<Record<string, string>>;
  require?: Requirements;
  run: Writes;
};

/**
 * Changes how a user signs in, with the audit event and the mail, in a session that is still current. The lock of the
 * user's row orders such changes: otherwise two could each count the sign-in method that the other removes.
 * @returns the name of the requirement or statement that refused the change; undefined if it was made.
 * @throws {RequestError} as {@link sessionRefusal}.
 */
export async function changeOwnAccount(
  deps: MailDeps,
  owner: Owner,
  { mail, values, require, run, ...event }: OwnChange,
): Promise<string | undefined> {
  const { session, caller } = owner;
  const done = await deps.db.of(session.user_id).change({
    lock: lockUser(session.user_id),
    require: { session: isCurrentSession(session), ...require },
    run: {
      ...run,
      secondFactor: noteSecondFactor(session.user_id, hasSecondFactor(session.user_id)),
      mails: mail && mailTo(deps, session, mail, { address: caller.address, ...values }),
      event: ownEvent(owner, event, now(deps)),
    },
  });
  if (done.ok) return undefined;
  if (done.failed === 'session') throw await sessionRefusal(deps, session);
  return done.failed;
}

/**
 * {@link changeOwnAccount}, of a user who takes or gives up what is claimed.
 * @returns what has refused it: `claim` if another user has it, `ticket` if it took too long.
 */
export async function changeOwnClaims(
  deps: MailDeps & Pick<Deps, 'claims'>,
  owner: Owner,
  claimed: Claimed,
  change: OwnChange,
): Promise<string | undefined> {
  const done = await evenIfOvertaken(() =>
    deps.claims.holding(owner.session.user_id, claimed, async (claim) => {
      const failed = await changeOwnAccount(deps, owner, { ...change, run: { claim, ...change.run } });
      return { ok: failed === undefined, failed };
    }),
  );
  if (wasOvertaken(done)) return 'ticket';
  return done.failed;
}

/**
 * Puts a session under a new secret, so that a copy of the cookie from before the change is invalid (ASVS 7.2.4). It stays
 * the same sign-in, of the same time. For a change that requires {@link isCurrentSession}.
 * @returns the new secret, and the statement, which fails if another request has rotated the secret meanwhile.
 */
export function rotateSessionSecret({ session_id, user_id, token_hash }: SessionRef & Pick<Session, 'user_id'>) {
  const token = newSecretIn(bucketOf(user_id), 'st_');
  return { token, statement: mustChange(replaceSessionSecret(session_id, { from: token_hash, to: digest(token) })) };
}
