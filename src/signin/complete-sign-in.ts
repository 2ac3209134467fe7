import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Statement } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { digest, newSecret } from '../lib/ids.ts';
import { mailTo } from '../mail/mail-to.ts';
import { markAuthenticated } from '../oauth/authorize/store.ts';
import type { Method } from '../sessions/authentication.ts';
import { deviceName } from '../sessions/device.ts';
import type { Session } from '../sessions/session.ts';
import { startSession } from '../sessions/start-session.ts';
import { findDevice, rememberDevice } from '../sessions/store.ts';
import { findTotp } from '../two-factor/store.ts';
import { findUser } from '../users/store.ts';
import { insertAttempt } from './store.ts';

/** What somebody has shown to be true, by whichever path they came. */
export type Proof = {
  user_id: string;
  methods: readonly Method[];
  /** True once a second factor was asked for and given. */
  secondStep: boolean;
};

/** Where a sign-in comes from and where it leads. */
export type Visit = {
  /** The session that the browser came with, if it lives. */
  previous: Session | undefined;
  /** The authorization request that waits for this sign-in. */
  request_id: string | undefined;
  /** Where to go if none waits. */
  next: string | undefined;
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
 * @returns undefined if the person was disabled, or got a second factor, this very moment.
 */
export async function completeSignIn(
  deps: Deps,
  proof: Proof,
  visit: Visit,
  also: readonly Statement[] = [],
): Promise<Outcome | undefined> {
  if (!proof.secondStep && (await asksSecondFactor(deps, proof.user_id))) return beginAttempt(deps, proof, visit);
  const { previous, address, userAgent, request_id } = visit;
  const device = await deviceStatements(deps, proof.user_id, visit);
  const arrival = { ...proof, previous, address, userAgent };
  const started = await startSession(deps, arrival, ({ session_id, token }) => [
    ...also,
    ...device,
    ...(request_id === undefined ? [] : [markAuthenticated(request_id, session_id, digest(token))]),
  ]);
  return started && { kind: 'session', token: started.token };
}

async function asksSecondFactor(deps: Deps, user_id: string): Promise<boolean> {
  const totp = await findTotp(deps.db, user_id);
  return totp !== undefined && totp.confirmed_at !== null;
}

async function beginAttempt(deps: Deps, { user_id, methods }: Proof, visit: Visit): Promise<Outcome> {
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
  await deps.db.batch([insertAttempt(digest(token), attempt, now(deps)), statement]);
  return { kind: 'second_factor', token };
}

/** Remembers the browser; one that a person has not used before is told to them, except the very first. */
async function deviceStatements(deps: Deps, user_id: string, visit: Visit): Promise<Statement[]> {
  const device_hash = digest(visit.deviceToken);
  const { isKnown, isFirst } = await findDevice(deps.db, user_id, device_hash);
  const remember = rememberDevice(user_id, device_hash, now(deps));
  const user = isKnown || isFirst ? undefined : await findUser(deps.db, user_id);
  if (!user) return [remember];
  const device = deviceName(visit.userAgent) ?? '?';
  return [remember, ...mailTo(deps, user, 'new_device', { device, address: visit.address })];
}
