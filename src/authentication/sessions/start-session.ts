import { lockUser } from '../../accounts/store.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange, type Requirements } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { digest, newId, newSecret } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { acrOf, type Method } from './authentication.ts';
import { type Session, sessionIdleSeconds, sessionSeconds } from './session.ts';
import { endSession, endSurplusSessions, insertSession, isActiveSessionOf, renewSession } from './store.ts';

type SignInContext = {
  user_id: string;
  /** What the person has proved, all of it: a session exists only after every factor. */
  methods: readonly Method[];
  /** The session that the browser came with, if it lives. */
  previous: Session | undefined;
  /** True once a second factor was asked for and given in this sign-in. Without it nobody who has TOTP gets in. */
  secondStep: boolean;
  /** When it was proved, if not now. Unix seconds. */
  authTime?: number;
  /** What has to be true still, behind the lock of the user's row. */
  preconditions?: Requirements;
  address: string;
  userAgent: string | undefined;
};

/**
 * Starts a session after all factors. The cookie value is new each time: what an attacker planted or kept from before
 * is worth nothing (ASVS 7.2.4). The same person's session goes on under its id, so that their apps stay signed in;
 * another person's ends with all its grants, as a sign-out would.
 * @param also statements to commit with it, given the session's id and secret.
 * @returns the secret for the cookie; undefined if a precondition is no longer true, or the user was disabled or got a
 * second factor at this very moment.
 */
export async function startSession(
  deps: StoreDeps & Pick<Deps, 'grants'>,
  context: SignInContext,
  also: (session: { session_id: string; token: string }) => readonly Sql[] = () => [],
): Promise<{ session_id: string; token: string } | undefined> {
  const at = now(deps);
  const continues = context.previous?.user_id === context.user_id ? context.previous : undefined;
  const replaced = continues ? undefined : context.previous;
  const token = newSecret('st_');
  const session = {
    session_id: continues?.session_id ?? newId('ses'),
    token_hash: digest(token),
    user_id: context.user_id,
    auth_time: context.authTime ?? at,
    amr: context.methods.join(' '),
    acr: acrOf(context.methods),
    idle_expires_at: at + sessionIdleSeconds,
    expires_at: at + sessionSeconds,
    address: context.address,
    user_agent: context.userAgent?.slice(0, 300) ?? null,
    second_step: context.secondStep,
  };
  const { statement } = auditEvent(
    {
      action: 'session.started',
      actor: `user:${context.user_id}`,
      target: session.session_id,
      after: { user_id: context.user_id, amr: session.amr },
      address: context.address,
    },
    at,
  );
  const caller = { actor: `user:${context.user_id}`, address: context.address } as const;
  const done = await deps.db.change({
    // On PostgreSQL a sign-in comes before a change of password or factors, which then sees and ends it, or after.
    lock: lockUser(context.user_id),
    require: context.preconditions,
    run: {
      session: mustChange(continues ? renewSession(session, at) : insertSession(session, at)),
      surplus: continues ? undefined : endSurplusSessions(context.user_id, session.session_id, at),
      replaced: replaced && signOutStatements(deps, replaced, caller, at),
      also: also({ session_id: session.session_id, token }),
      event: statement,
    },
  });
  return done.ok ? { session_id: session.session_id, token } : undefined;
}

/** Ends the session and every grant that came from it, at once and everywhere. */
export async function signOut(deps: StoreDeps & Pick<Deps, 'grants'>, session: Session): Promise<void> {
  const ended = signOutStatements(deps, session, { actor: `user:${session.user_id}` }, now(deps));
  await deps.db.change({ run: { ended } });
}

/** The event comes first: it is written only if there is a session to end. */
function signOutStatements(
  { grants }: Pick<Deps, 'grants'>,
  { user_id, session_id }: Session,
  caller: Caller,
  at: number,
): Sql[] {
  const event = { action: 'session.ended', ...caller, target: session_id, reason: 'sign_out', after: { user_id } };
  return [
    auditEvent({ ...event, onlyIf: isActiveSessionOf(user_id, session_id, at) }, at).statement,
    endSession(session_id, 'sign_out', at),
    ...grants.revokeOfSession({ user_id, session_id }, 'sign_out', at),
  ];
}
