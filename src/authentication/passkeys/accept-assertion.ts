import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { mayMailAbout } from '../../accounts/mail-limits.ts';
import { findUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import { type SingleUse, useOnce } from '../../platform/db/used-once.ts';
import type { Deps, MailDeps, SecretDeps } from '../../platform/deps.ts';
import { RequestError, refusal } from '../../platform/errors.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { factsOf, raiseAlert, unknownUse } from '../alerts/raise-alert.ts';
import {
  findUsablePasskey,
  listPasskeys,
  type Passkey,
  type PasskeyUse,
  usePasskey,
} from '../credentials/passkeys.store.ts';
import { passkeyId, readAssertion, relyingParty, userHandle } from '../credentials/webauthn.ts';
import { agentName } from '../sessions/browser.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';
import { type ChallengeUse, challengeSeconds, limitChallenges, newChallenge, openChallenge } from './challenge.ts';

const expired = (cause?: unknown) => refusal('invalid_request', { key: 'passkey.problem.expired' }, { cause });
/** One error for all causes, to avoid disclosing whether the credential exists. */
const notAccepted = (cause?: unknown) => refusal('access_denied', { key: 'passkey.problem.refused' }, { cause });

/** @param user_id whose passkeys are accepted; left out, the passkey identifies the user. */
export type AssertionRequest = { use: ChallengeUse; user_id?: string; address: string; userAgent?: string | undefined };

/**
 * Options for `navigator.credentials.get`.
 * @throws {RequestError} `rate_limited`
 */
export async function assertionOptions(
  deps: SecretDeps,
  { use, user_id, address }: AssertionRequest,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  await limitChallenges(deps, address);
  const own = user_id === undefined ? [] : await listPasskeys(deps.db, user_id);
  return {
    challenge: newChallenge(deps, use),
    rpId: relyingParty(deps.config).rpID,
    timeout: challengeSeconds * 1000,
    userVerification: 'required',
    allowCredentials: own.map(({ credential_id: id, transports }) => ({ id, type: 'public-key', transports })),
  };
}

/**
 * Verifies an assertion (WebAuthn §7.2), with user verification by the authenticator, and uses up its challenge. The
 * caller may then sign in the passkey's user.
 * @throws {RequestError} `invalid_request` for what is not an assertion, and for a challenge that is over, spent or for
 * another use; `access_denied` for a passkey that is not accepted.
 */
export async function acceptAssertion(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'mail' | 'claims'>,
  credential: unknown,
  asked: AssertionRequest,
): Promise<Passkey> {
  const assertion = readAssertion(credential);
  const challenge = openChallenge(deps, assertion.clientData.challenge, asked.use);
  if (!challenge) throw expired();
  const passkey = await findUsablePasskey(deps, assertion.credential.id);
  try {
    if (!passkey || !isAllowedPasskey(passkey, assertion.credential, asked)) throw notAccepted('unknown passkey');
    if (assertion.clientData.isFramed) throw notAccepted('made in a frame');
    const use = await verify(deps, passkey, assertion);
    await spend(deps, { passkey, challenge, use, asked });
    return passkey;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'access_denied') {
      countSignIn(['hwk'], 'passkey_refused');
      const refused = { action: 'session.refused', target: passkey?.user_id, reason: 'passkey_refused' } as const;
      const event = unauthenticatedEvent(deps, { ...refused, address: asked.address });
      await deps.db.near(addressKey(asked.address)).change({ run: { event } });
    }
    throw error;
  }
}

/** A user handle must be that of the owner; without a list of credentials it is required (WebAuthn §7.2 step 6). */
function isAllowedPasskey(
  passkey: Passkey,
  { response }: AuthenticationResponseJSON,
  { user_id }: AssertionRequest,
): boolean {
  const named = response.userHandle;
  const known = passkey.user_handle ?? userHandle(passkey.user_id).toString('base64url');
  if (named !== undefined && named !== known) return false;
  return user_id === undefined ? named !== undefined : user_id === passkey.user_id;
}

async function verify(
  deps: Pick<Deps, 'clock' | 'config'>,
  passkey: Passkey,
  { credential, clientData }: ReturnType<typeof readAssertion>,
): Promise<PasskeyUse> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { rpID, origin } = relyingParty(deps.config);
  const answer = await verifyAuthenticationResponse({
    response: credential,
    expectedChallenge: clientData.challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
      counter: 0, // the statement that writes the counter judges it, so that two at once cannot both be newer
    },
  }).catch((error: unknown) => {
    throw notAccepted(error);
  });
  if (!answer.verified) throw notAccepted('wrong signature');
  const { newCounter, credentialBackedUp } = answer.authenticationInfo;
  return { sign_count: newCounter, backedUp: credentialBackedUp, at: now(deps) };
}

type Spending = { passkey: Passkey; challenge: SingleUse; use: PasskeyUse; asked: AssertionRequest };

/** First of all, so that of many answers to one challenge a single one is accepted. */
async function spend(
  deps: MailDeps & Pick<Deps, 'claims'>,
  { passkey, challenge, use, asked }: Spending,
): Promise<void> {
  const done = await deps.db.of(passkey.user_id).change({
    run: { challenge: mayConflict(useOnce(challenge)), passkey: usePasskey(passkey, use) },
  });
  if (!done.ok) throw expired(done.failed);
  if (done.results.passkey.changes === 1) return;
  const present = await findUsablePasskey(deps, passkey.credential_id);
  if (!present) throw notAccepted('removed meanwhile');
  await reportCopy(deps, { passkey: present, use, asked });
  throw refusal('access_denied', { key: 'passkey.problem.copied' }, { cause: 'signature counter' });
}

/** The holder of a copy can do it again and again. */
const maxReports = { limit: 5, windowSeconds: 3600 };

/** The counter of an authenticator only grows, so another one has signed with the same key. */
async function reportCopy(
  deps: MailDeps,
  { passkey, use, asked: { address, userAgent } }: Omit<Spending, 'challenge'>,
): Promise<void> {
  if (!(await mayMailAbout(deps, 'copy', passkey.user_id, maxReports))) return;
  const owner = await findUser(deps.db, passkey.user_id);
  const before = { passkey: passkeyId(passkey), sign_count: passkey.sign_count };
  const alert = raiseAlert(deps, {
    user_id: passkey.user_id,
    kind: 'passkey_copied',
    client_id: null,
    session_id: null,
    facts: factsOf(
      [
        { ...unknownUse(null), at: passkey.last_used_at },
        { at: use.at, not_after: null, address, agent: agentName(userAgent) ?? null, dpop: false },
      ],
      { passkey: passkey.name },
    ),
  });
  const after = { sign_count: use.sign_count, alert_id: alert.alert_id };
  const event = { actor: 'system', target: passkey.user_id, before, after, address } as const;
  const values = { passkey: passkey.name, address, url: alert.url };
  const mails = owner ? mailTo(deps, owner, 'passkey_copied', values) : [];
  const { statement } = auditEvent({ action: 'passkey.copy_suspected', ...event }, use.at);
  await deps.db.of(passkey.user_id).change({ run: { event: statement, alert: alert.statements, mails } });
}
