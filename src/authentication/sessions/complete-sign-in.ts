import { mayMailTo } from '../../accounts/mail-limits.ts';
import { findUser, lockUser } from '../../accounts/users.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange, type Requirements } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { digest, newId, newSecret } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { isTotpActive } from '../credentials/two-factor.store.ts';
import type { Deps, SignInDeps } from '../deps.ts';
import { acrOf, type Method } from './authentication.ts';
import { deviceName } from './browser.ts';
import { insertPendingSignIn } from './pending-sign-ins.store.ts';
import type { Outcome, SignInRequest } from './return-target.ts';
import { type Session, sessionIdleSeconds, sessionSeconds } from './session.ts';
import { signOutStatements } from './sessions.ts';
import {
  deleteSurplusDevices,
  endSurplusSessions,
  findDevice,
  insertSession,
  rememberDevice,
  renewSession,
} from './store.ts';

/** What a user has proved, by any method. */
export type Proof = {
  user_id: string;
  methods: readonly Method[];
  /** A second factor was requested and given in this sign-in. */
  secondStep: boolean;
  /** When it was proved, if not now: an upstream may have asked for it days ago. Unix seconds. */
  authTime?: number;
  /**
   * Checked behind the lock of the user's row: a password may be changed while the old one is being verified, and a
   * session by the old one must not outlive the change.
   */
  preconditions?: Requirements;
};

/**
 * The only path from a first factor to a session, for password, passkey, provider, reset link, sign-up and invitation.
 * With TOTP active none of them leads to a session before the second step.
 * @param also statements that commit with the session.
 * @returns undefined if the user was disabled or got a second factor meanwhile, or a precondition became false. Then
 * nothing is committed.
 */
export async function completeSignIn(
  deps: SignInDeps,
  proof: Proof,
  signInRequest: SignInRequest,
  also: readonly Sql[] = [],
): Promise<Outcome | undefined> {
  if (!proof.secondStep && (await isTotpActive(deps.db, proof.user_id)))
    return startPendingSignIn(deps, proof, signInRequest);
  const { previous, address, userAgent, request_id } = signInRequest;
  const device = await deviceStatements(deps, proof.user_id, signInRequest);
  const context = { ...proof, previous, address, userAgent };
  const started = await startSession(deps, context, ({ session_id, token }) => [
    ...also,
    ...device,
    ...(request_id === undefined
      ? []
      : [deps.authorizationRequests.markAuthenticated(request_id, session_id, digest(token))]),
  ]);
  return started && { kind: 'session', token: started.token };
}

async function startPendingSignIn(
  deps: StoreDeps,
  { user_id, methods, preconditions }: Proof,
  signInRequest: SignInRequest,
): Promise<Outcome | undefined> {
  const token = newSecret('at_');
  const attempt = {
    user_id,
    methods: [...methods],
    request_id: signInRequest.request_id ?? null,
    next: signInRequest.next ?? null,
  };
  const { statement } = auditEvent(
    {
      action: 'session.second_factor_asked',
      actor: `user:${user_id}`,
      target: user_id,
      after: { amr: methods.join(' ') },
      address: signInRequest.address,
    },
    now(deps),
  );
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: preconditions,
    run: { attempt: insertPendingSignIn(digest(token), attempt, now(deps)), event: statement },
  });
  return done.ok ? { kind: 'second_factor', token } : undefined;
}

/** Remembers the device. The user gets a mail about a device that is new to the account, except the very first. */
async function deviceStatements(deps: MailDeps, user_id: string, signInRequest: SignInRequest): Promise<Sql[]> {
  const device_hash = digest(signInRequest.deviceToken);
  const { isKnown, isFirst } = await findDevice(deps.db, user_id, device_hash);
  const user = isKnown || isFirst ? undefined : await findUser(deps.db, user_id);
  // An attacker with the password could otherwise fill the mailbox and hide the one mail that matters.
  const sendsMail = user !== undefined && (await mayMailTo(deps, 'new_device', user.email));
  const values = { device: deviceName(signInRequest.userAgent) ?? '?', address: signInRequest.address };
  return [
    rememberDevice(user_id, device_hash, now(deps)),
    ...(isKnown ? [] : [deleteSurplusDevices(user_id, device_hash)]),
    ...(user && sendsMail ? mailTo(deps, user, 'new_device', values) : []),
  ];
}

type SignInContext = {
  user_id: string;
  /** All that the user has proved: a session exists only after every factor. */
  methods: readonly Method[];
  /** The active session that the browser came with. */
  previous: Session | undefined;
  /** A second factor was requested and given. Without it, a user with TOTP gets no session. */
  secondStep: boolean;
  /** When it was proved, if not now. Unix seconds. */
  authTime?: number;
  /** Checked behind the lock of the user's row. */
  preconditions?: Requirements;
  address: string;
  userAgent: string | undefined;
};

/**
 * Starts a session after all factors. The cookie value is new each time, so that one that an attacker planted or kept is
 * invalid (ASVS 7.2.4). A previous session of the same user keeps its id, so that their applications stay signed in; one
 * of another user ends with all its grants, as by a sign-out.
 * @param also statements to commit with it, given the session's id and secret.
 * @returns the secret for the cookie; undefined if a precondition is no longer true, or the user was disabled or got a
 * second factor meanwhile.
 */
async function startSession(
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
    // On PostgreSQL a sign-in commits before a change of password or factors, which then ends it, or after the change.
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
