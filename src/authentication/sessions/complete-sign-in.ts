import { mayMailTo } from '../../accounts/mail-limits.ts';
import { findUser, lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Requirements } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { isTotpActive } from '../credentials/two-factor.store.ts';
import type { SignInDeps } from '../deps.ts';
import type { Method } from './authentication.ts';
import { deviceName } from './device.ts';
import type { LocalPath } from './local-path.ts';
import { insertPendingSignIn } from './pending-sign-ins.store.ts';
import type { Session } from './session.ts';
import { startSession } from './start-session.ts';
import { deleteSurplusDevices, findDevice, rememberDevice } from './store.ts';

/** What somebody has shown to be true, by whichever path they came. */
export type Proof = {
  user_id: string;
  methods: readonly Method[];
  /** True once a second factor was asked for and given. */
  secondStep: boolean;
  /** When it was proved, if not now: an upstream may have asked days ago. Unix seconds. */
  authTime?: number;
  /**
   * What has to be true still when the session is made: a password may be changed while the old one is being verified,
   * and a session by the old one must not outlive the change.
   */
  preconditions?: Requirements;
};

/** Where a sign-in comes from and where it leads. */
export type SignInRequest = {
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
 * @returns undefined if the user was disabled or got a second factor, or a precondition became untrue, at this very
 * moment. Then nothing of it is committed.
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

/** Remembers the device; a mail tells the user of one that is new to the account, except the very first. */
async function deviceStatements(deps: MailDeps, user_id: string, signInRequest: SignInRequest): Promise<Sql[]> {
  const device_hash = digest(signInRequest.deviceToken);
  const { isKnown, isFirst } = await findDevice(deps.db, user_id, device_hash);
  const user = isKnown || isFirst ? undefined : await findUser(deps.db, user_id);
  // Whoever knows the password could else fill the mailbox, and the one mail that matters would be lost in it.
  const sendsMail = user !== undefined && (await mayMailTo(deps, 'new_device', user.email));
  const values = { device: deviceName(signInRequest.userAgent) ?? '?', address: signInRequest.address };
  return [
    rememberDevice(user_id, device_hash, now(deps)),
    ...(isKnown ? [] : [deleteSurplusDevices(user_id, device_hash)]),
    ...(user && sendsMail ? mailTo(deps, user, 'new_device', values) : []),
  ];
}
