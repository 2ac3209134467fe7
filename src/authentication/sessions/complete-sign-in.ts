import { takeMailTo } from '../../accounts/mail-limits.ts';
import { findUser, lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import type { Condition } from '../../audit/store.ts';
import { now } from '../../platform/clock.ts';
import { type Statement, UniqueViolation } from '../../platform/db/db.ts';
import type { Deps, MailDeps, StoreDeps } from '../../platform/deps.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { findTotp } from '../credentials/two-factor.store.ts';
import type { SignInDeps } from '../deps.ts';
import type { Method } from './authentication.ts';
import { deviceName } from './device.ts';
import type { LocalPath } from './local-path.ts';
import { insertAttempt } from './pending-sign-ins.store.ts';
import type { Session } from './session.ts';
import { startSession } from './start-session.ts';
import { findDevice, forgetSurplusDevices, rememberDevice, sessionCarries } from './store.ts';

/** What somebody has shown to be true, by whichever path they came. */
export type Proof = {
  user_id: string;
  methods: readonly Method[];
  /** True once a second factor was asked for and given. */
  secondStep: boolean;
  /** When it was proved, if not now: an upstream may have asked days ago. Unix seconds. */
  authTime?: number;
  /**
   * Statements that fail their batch, with a unique violation, unless what was proved is true at that very moment: a
   * password may be changed while the old one is being verified, and what it opens must not outlive the change.
   */
  stillTrue?: readonly Statement[];
};

/** Where a sign-in comes from and where it leads. */
export type Visit = {
  /** The session that the browser came with, if it lives. */
  previous: Session | undefined;
  /** The authorization request that waits for this sign-in. */
  request_id: string | undefined;
  /** Where to go if none waits. */
  next: LocalPath | undefined;
  /** The secret of this browser; it opens nothing. */
  deviceToken: string;
  address: string;
  userAgent: string | undefined;
};

/** A session, or a sign-in that waits for its second factor. Each comes with the secret for its cookie. */
export type Outcome = { kind: 'session'; token: string } | { kind: 'second_factor'; token: string };

/**
 * The one gate between "who are you?" and a session. Password, passkey, provider, reset link, sign-up and invitation all
 * end here, and with TOTP active none of them ends in a session before the second step.
 * @param also commits with the session.
 * @returns undefined if the person was disabled, or got a second factor, or their proof lost its truth this very moment.
 */
export async function completeSignIn(
  deps: SignInDeps,
  proof: Proof,
  visit: Visit,
  also: readonly Statement[] = [],
): Promise<Outcome | undefined> {
  try {
    return await proceed(deps, proof, visit, also);
  } catch (error) {
    if (proof.stillTrue && error instanceof UniqueViolation) return undefined;
    throw error;
  }
}

async function proceed(
  deps: SignInDeps,
  proof: Proof,
  visit: Visit,
  also: readonly Statement[],
): Promise<Outcome | undefined> {
  if (!proof.secondStep && (await asksSecondFactor(deps, proof.user_id))) return beginAttempt(deps, proof, visit);
  const { previous, address, userAgent, request_id } = visit;
  const arrivedOn = await deviceStatements(deps, proof.user_id, visit);
  const arrival = { ...proof, previous, address, userAgent };
  const started = await startSession(deps, arrival, ({ session_id, token }) => [
    ...also,
    ...arrivedOn(sessionCarries(session_id, digest(token))),
    ...(request_id === undefined
      ? []
      : [deps.authorizationRequests.markAuthenticated(request_id, session_id, digest(token))]),
  ]);
  return started && { kind: 'session', token: started.token };
}

async function asksSecondFactor(deps: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const totp = await findTotp(deps.db, user_id);
  return totp !== undefined && totp.confirmed_at !== null;
}

async function beginAttempt(
  deps: StoreDeps,
  { user_id, methods, stillTrue = [] }: Proof,
  visit: Visit,
): Promise<Outcome> {
  const token = newSecret('at_');
  const attempt = { user_id, methods: [...methods], request_id: visit.request_id ?? null, next: visit.next ?? null };
  const { statement } = auditEvent(
    {
      action: 'session.second_factor_asked',
      actor: `user:${user_id}`,
      target: user_id,
      after: { amr: methods.join(' ') },
      address: visit.address,
    },
    now(deps),
  );
  await deps.db.batch([lockUser(user_id), ...stillTrue, insertAttempt(digest(token), attempt, now(deps)), statement]);
  return { kind: 'second_factor', token };
}

/**
 * Remembers the browser; one that a person has not used before is told to them, except the very first.
 * @returns the statements, given the condition that there is a session.
 */
async function deviceStatements(
  deps: MailDeps,
  user_id: string,
  visit: Visit,
): Promise<(hasSession: Condition) => Statement[]> {
  const device_hash = digest(visit.deviceToken);
  const { isKnown, isFirst } = await findDevice(deps.db, user_id, device_hash);
  const user = isKnown || isFirst ? undefined : await findUser(deps.db, user_id);
  // Whoever knows the password could else fill the mailbox, and the one mail that matters would be lost in it.
  const tells = user !== undefined && (await takeMailTo(deps, 'new_device', user.email));
  const values = { device: deviceName(visit.userAgent) ?? '?', address: visit.address };
  return (hasSession) => [
    rememberDevice(user_id, device_hash, now(deps)),
    ...(isKnown ? [] : [forgetSurplusDevices(user_id, device_hash)]),
    ...(user && tells ? mailTo(deps, user, 'new_device', values, hasSession) : []),
  ];
}
