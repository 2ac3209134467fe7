import { mayMailTo } from '../../accounts/mail-limits.ts';
import { findUser, lockUser, recordSignIn } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange, type Requirements } from '../../platform/db/change.ts';
import { inOrder } from '../../platform/db/db.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps, MailDeps, StoreDeps } from '../../platform/deps.ts';
import { bucketOf, digest, newIdOf, newSecretIn, type UserId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { factsOf, raiseAlert } from '../alerts/raise-alert.ts';
import { hasSecondFactor } from '../credentials/factors.store.ts';
import { lastsUpstream, type UpstreamSession } from '../credentials/identities.store.ts';
import { isTotpActive } from '../credentials/two-factor.store.ts';
import type { SignInDeps } from '../deps.ts';
import { acrOf, type Method } from './authentication.ts';
import { agentName, deviceName } from './browser.ts';
import { insertPendingSignIn } from './pending-sign-ins.store.ts';
import type { Outcome, SignInRequest } from './return-target.ts';
import { endRecovery } from './second-steps.ts';
import { sessionIdleSeconds, sessionSeconds } from './session.ts';
import { signOutStatements } from './sessions.ts';
import { countSignIn } from './sign-in-count.ts';
import {
  deleteSurplusDevices,
  endSurplusSessions,
  findDevice,
  insertSession,
  rememberDevice,
  renewSession,
} from './store.ts';
import { entryFor, trustTime } from './trust-cookie.ts';
import { beginTrust, endIfReplayed, useTrust } from './trusted-browsers.ts';

export type Proof = {
  user_id: string;
  methods: readonly Method[];
  /** A second factor was requested and given in this sign-in. */
  secondStep: boolean;
  /** Of a sign-in by a provider. */
  upstream?: UpstreamSession | undefined;
  /** The user wants this browser to be trusted in its place from now on. */
  trusts?: boolean;
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
 * With TOTP active none of them leads to a session before the second step, for which a browser may stand in that the user trusts.
 *
 * The cookie value is new each time, so that one that an attacker planted or kept is invalid (ASVS 7.2.4). A previous
 * session of the same user keeps its id, so that their applications stay signed in; one of another user ends with all its
 * grants, as by a sign-out.
 * @param also statements that commit with the session.
 * @returns undefined if the user was disabled or got a second factor meanwhile, was signed out at the provider, or a precondition became false. Then
 * nothing is committed.
 * @throws {RequestError} `rate_limited`.
 */
export async function completeSignIn(
  deps: SignInDeps,
  proof: Proof,
  signInRequest: SignInRequest,
  also: readonly Sql[] = [],
): Promise<Outcome | undefined> {
  const { user_id, secondStep } = proof;
  if (secondStep || !(await isTotpActive(deps.db, user_id))) {
    const outcome = await startSession(deps, proof, signInRequest, also);
    return outcome === 'not_trusted' ? undefined : outcome;
  }
  const { trustedBrowsers, asksSecondFactor, address } = signInRequest;
  const entry = asksSecondFactor ? undefined : entryFor(user_id, trustedBrowsers);
  const time = trustTime(deps);
  if (entry && time) {
    const trust = useTrust(deps, { user_id, cookie: trustedBrowsers, time }, entry);
    const methods: Method[] = [...proof.methods, 'rba'];
    const outcome = await startSession(deps, { ...proof, methods }, signInRequest, also, trust);
    if (outcome !== 'not_trusted') return outcome;
    await endIfReplayed(deps, user_id, entry, address);
  }
  return startPendingSignIn(deps, proof, signInRequest);
}

/** @param trust of the browser that stands in for the second step. */
async function startSession(
  deps: SignInDeps,
  proof: Proof,
  signInRequest: SignInRequest,
  also: readonly Sql[],
  trust?: ReturnType<typeof useTrust>,
): Promise<Outcome | 'not_trusted' | undefined> {
  const { user_id, methods, secondStep, upstream } = proof;
  const { previous, address, userAgent, request_id } = signInRequest;
  const continues = previous?.user_id === user_id;
  const session_id = continues ? previous.session_id : newIdOf(user_id, 'ses');
  const device = await deviceStatements(deps, { user_id, session_id }, signInRequest);
  const limit = signInLimit(deps, user_id);
  const at = now(deps);
  const token = newSecretIn(bucketOf(user_id), 'st_');
  const begun = proof.trusts
    ? beginTrust(deps, { ...signInRequest, user_id, cookie: signInRequest.trustedBrowsers })
    : undefined;
  const trusted = trust ?? begun;
  const session = {
    session_id,
    token_hash: digest(token),
    user_id,
    auth_time: proof.authTime ?? at,
    amr: [...methods],
    acr: acrOf(methods),
    idle_expires_at: at + sessionIdleSeconds,
    expires_at: at + sessionSeconds,
    address,
    user_agent: userAgent?.slice(0, 300) ?? null,
    trusted_by: trusted?.series_hash ?? null,
    second_step: secondStep || trust !== undefined,
    upstream,
  };
  const caller = { actor: `user:${user_id}`, address } as const;
  const after = { user_id, amr: methods.join(' '), alert_id: device.alert_id };
  const done = await inOrder(
    {
      in: deps.db.of(user_id),
      // On PostgreSQL a sign-in commits before a change of password or factors, which then ends it, or after the change.
      lock: recordSignIn(user_id, hasSecondFactor(user_id), at),
      require: { ...proof.preconditions, upstream: upstream && lastsUpstream(user_id, upstream) },
      run: {
        limit: limit.taken(device.limitKey),
        trust: trust?.statement,
        session: mustChange(continues ? renewSession(session, at) : insertSession(session, at)),
        surplus: continues ? undefined : endSurplusSessions(user_id, session_id, at),
        also,
        // What was said to be lost was there after all. A browser that is trusted is not what was lost.
        recovery: secondStep ? endRecovery(user_id, caller, 'signed_in', at) : undefined,
        device: device.statements,
        begun: begun?.run,
        event: auditEvent({ action: 'session.started', ...caller, target: session_id, after }, at).statement,
      },
    },
    {
      in: deps.db.of(previous?.user_id ?? user_id),
      run: { replaced: previous && !continues ? signOutStatements(deps, previous, caller, at) : undefined },
    },
    {
      in: deps.db.of(request_id ?? user_id),
      run: {
        request:
          request_id === undefined ? undefined : deps.authorizationRequests.markAuthenticated(request_id, session_id),
      },
    },
  );
  if (!done.ok && done.failed === 'limit') throw await limit.refusal(device.limitKey);
  if (!done.ok) return done.failed === 'trust' ? 'not_trusted' : undefined;
  countSignIn(methods, 'succeeded');
  return { kind: 'session', token, trustCookie: trusted?.cookie };
}

async function startPendingSignIn(
  deps: LimitDeps,
  { user_id, methods, preconditions, upstream }: Proof,
  { request_id, next, address, deviceToken }: SignInRequest,
): Promise<Outcome | undefined> {
  const limit = signInLimit(deps, user_id);
  const { limitKey } = await deviceOf(deps, user_id, deviceToken);
  const token = newSecretIn(bucketOf(user_id), 'at_');
  const attempt = { user_id, methods: [...methods], request_id: request_id ?? null, next: next ?? null };
  const pending = { ...attempt, upstream: upstream ?? null };
  const after = { amr: methods.join(' ') };
  const caller = { actor: `user:${user_id}`, address } as const;
  const event = { action: 'session.second_factor_asked', ...caller, target: user_id, after } as const;
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: preconditions,
    run: {
      limit: limit.taken(limitKey),
      attempt: insertPendingSignIn(digest(token), pending, now(deps)),
      event: auditEvent(event, now(deps)).statement,
    },
  });
  if (!done.ok && done.failed === 'limit') throw await limit.refusal(limitKey);
  if (!done.ok) return undefined;
  countSignIn(methods, 'second_factor_asked');
  return { kind: 'second_factor', token };
}

/** Each sign-in is a row of the audit log for good. */
export const signInLimit = (deps: LimitDeps, user_id: UserId) =>
  windowLimit(deps, { name: 'sign-in', limit: deps.config.limits.signInsPerHour, windowSeconds: 3600 }, () =>
    deps.db.of(user_id),
  );

/** Known devices count by themselves: an attacker who knows the password cannot use up the owner's sign-ins on them. */
async function deviceOf(deps: StoreDeps, user_id: string, deviceToken: string) {
  const device_hash = digest(deviceToken);
  const device = await findDevice(deps.db, user_id, device_hash);
  return { ...device, device_hash, limitKey: device.isKnown ? `${user_id}:${device_hash}` : user_id };
}

/** Remembers the device. The user is asked about one that is new to the account, and gets a mail, except about the very first. */
async function deviceStatements(
  deps: MailDeps,
  { user_id, session_id }: { user_id: string; session_id: string },
  signInRequest: SignInRequest,
) {
  const { isKnown, isFirst, device_hash, limitKey } = await deviceOf(deps, user_id, signInRequest.deviceToken);
  const user = isKnown || isFirst ? undefined : await findUser(deps.db, user_id);
  // An attacker with the password could otherwise fill the mailbox and hide the one mail that matters.
  const sendsMail = user !== undefined && (await mayMailTo(deps, 'new_device', user.email));
  const alert = user && newDeviceAlert(deps, { user_id, session_id }, signInRequest);
  const values = {
    device: deviceName(signInRequest.userAgent) ?? '?',
    address: signInRequest.address,
    url: alert?.url ?? '',
  };
  const statements = [
    rememberDevice(user_id, device_hash, now(deps)),
    ...(isKnown ? [] : [deleteSurplusDevices(user_id, device_hash)]),
    ...(alert?.statements ?? []),
    ...(user && sendsMail ? mailTo(deps, user, 'new_device', values) : []),
  ];
  return { statements, limitKey, alert_id: alert?.alert_id };
}

function newDeviceAlert(
  deps: MailDeps,
  of: { user_id: string; session_id: string },
  { address, userAgent }: SignInRequest,
) {
  const use = { at: now(deps), not_after: null, address, agent: agentName(userAgent) ?? null, dpop: false };
  return raiseAlert(deps, { ...of, kind: 'new_device', client_id: null, facts: factsOf([use]) });
}
