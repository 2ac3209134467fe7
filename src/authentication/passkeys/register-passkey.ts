import type { PublicKeyCredentialCreationOptionsJSON, VerifiedRegistrationResponse } from '@simplewebauthn/server';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange } from '../../platform/db/change.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import type { Deps, SecretDeps } from '../../platform/deps.ts';
import { refusal, tookTooLong } from '../../platform/errors.ts';
import {
  attachmentOf,
  claimOfPasskey,
  insertPasskey,
  isRegistered,
  listPasskeys,
  type Passkey,
} from '../credentials/passkeys.store.ts';
import { limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import {
  algorithms,
  maxPasskeys,
  passkeyId,
  readRegistration,
  relyingParty,
  userHandle,
} from '../credentials/webauthn.ts';
import { endSecondSteps } from '../sessions/second-steps.ts';
import { changeOwnClaims, type Owner } from '../sessions/session.ts';
import { type ChallengeUse, challengeSeconds, limitChallenges, newChallenge, openChallenge } from './challenge.ts';
import { readName } from './manage-passkeys.ts';

/** `browserToken`: the secret that identifies the browser. */
type Registrant = Owner & { browserToken: string };

const useOf = ({ session, browserToken: browser }: Registrant): ChallengeUse => ({
  purpose: 'register',
  browser,
  subject: session.user_id,
});

const tooMany = () =>
  refusal(
    'invalid_state',
    { key: 'passkey.problem.too_many', values: { max: maxPasskeys } },
    { details: { current_status: 'full' } },
  );
const notRegistered = (cause: unknown) => refusal('invalid_request', { key: 'passkey.problem.register' }, { cause });
const expired = () => refusal('invalid_request', { key: 'passkey.problem.expired' });

/**
 * Options for `navigator.credentials.create`: a discoverable passkey that verifies its user.
 * @throws {RequestError} `invalid_state` for a user who has twenty; `rate_limited`.
 */
export async function registrationOptions(
  deps: SecretDeps,
  registrant: Registrant,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { session, caller } = registrant;
  await limitChallenges(deps, caller.address);
  const own = await listPasskeys(deps.db, session.user_id);
  if (own.length >= maxPasskeys) throw tooMany();
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const { rpID, rpName } = relyingParty(deps.config);
  return generateRegistrationOptions({
    rpID,
    rpName,
    userID: new Uint8Array(userHandle(session.user_id)),
    userName: session.email,
    userDisplayName: session.name ?? session.email,
    challenge: new Uint8Array(Buffer.from(newChallenge(deps, useOf(registrant)), 'base64url')),
    timeout: challengeSeconds * 1000,
    attestationType: 'none', // any make of authenticator is accepted
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
    excludeCredentials: own.map(({ credential_id: id, transports }) => ({ id, transports })),
  });
}

/**
 * Registers a passkey (WebAuthn §7.1), notifies its user by mail, and uses up the challenge, in one change.
 * @throws {RequestError} `invalid_request` for what is not a registration, and for a challenge that is over, spent or
 * for something else; `invalid_state` when it is registered already, or the user has twenty;
 * `login_required` if the session has ended meanwhile; `temporarily_unavailable` if it took too long.
 */
export async function registerPasskey(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'mail' | 'claims'>,
  registrant: Registrant,
  { credential, name: typed }: { credential: unknown; name: string },
): Promise<Passkey> {
  const asked = readRegistration(credential);
  const name = readName(typed);
  const challenge = openChallenge(deps, asked.clientData.challenge, useOf(registrant));
  if (!challenge) throw expired();
  if (asked.clientData.isFramed) throw notRegistered('made in a frame');
  const { credential: made, credentialBackedUp } = await verify(deps, asked);
  const at = now(deps);
  const passkey: Passkey = {
    credential_id: made.id,
    user_id: registrant.session.user_id,
    public_key: Buffer.from(made.publicKey).toString('base64url'),
    sign_count: made.counter,
    transports: asked.credential.response.transports ?? [],
    backed_up_at: credentialBackedUp ? at : null,
    name,
    created_at: at,
    last_used_at: null,
    user_handle: null,
  };
  const { user_id } = registrant.session;
  await limitSecurityChanges(deps, user_id); // removing is not counted: there is never more to remove than was added
  const claims = { taken: [claimOfPasskey(deps.db, passkey.credential_id)] };
  const failed = await changeOwnClaims(deps, registrant, claims, {
    action: 'passkey.added',
    after: { passkey: passkeyId(passkey), name, attachment: attachmentOf(passkey) },
    mail: 'passkey_added',
    values: { passkey: name },
    run: {
      challenge: mayConflict(useOnce(challenge)),
      passkey: mustChange(mayConflict(insertPasskey(passkey, maxPasskeys))),
      secondSteps: endSecondSteps(user_id, at),
    },
  });
  if (!failed) return passkey;
  if (failed !== 'claim' && !(await isRegistered(deps.db.of(user_id), passkey.credential_id)))
    throw failed === 'ticket' ? tookTooLong() : failed === 'passkey' ? tooMany() : expired();
  throw refusal('invalid_state', { key: 'passkey.problem.known' }, { details: { current_status: 'registered' } });
}

type Verified = NonNullable<VerifiedRegistrationResponse['registrationInfo']>;
/** Bytes. An RSA key of 8192 bits fits; larger ones take long to verify. */
const longestKey = 1200;

async function verify(
  deps: Pick<Deps, 'config'>,
  { credential, clientData }: ReturnType<typeof readRegistration>,
): Promise<Verified> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { rpID, origin } = relyingParty(deps.config);
  try {
    await refuseForeignAttestation(credential.response.attestationObject);
    const { registrationInfo } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge: clientData.challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (!registrationInfo || registrationInfo.credential.id !== credential.id) throw new Error('not verified');
    if (registrationInfo.credential.publicKey.length > longestKey) throw new Error('key too long');
    return registrationInfo;
  } catch (error) {
    throw notRegistered(error);
  }
}

/**
 * Without a request for attestation a browser sends none, or a self attestation (WebAuthn §5.1.3). Certificates in any
 * other could make the verifier request addresses of their choice.
 */
async function refuseForeignAttestation(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const isOwn = attestation.get('fmt') === 'packed' && attestation.get('attStmt').get('x5c') === undefined;
  if (attestation.get('fmt') !== 'none' && !isOwn) throw new Error('attested although not asked to');
}
