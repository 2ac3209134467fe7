import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Config } from '../../platform/config.ts';
import { refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { isIpAddress } from '../../platform/ip-address.ts';
import type { Passkey } from './passkeys.store.ts';

/** Per user. */
export const maxPasskeys = 20;
/** COSE algorithms: EdDSA, ES256, RS256 (RFC 9053, RFC 8812), best first. */
export const algorithms = [-8, -7, -257];

/** The party that authenticators make keys for: our host, on our origin only (WebAuthn §5.1.4, §13.4.9). */
export const relyingParty = ({ baseUrl, brand }: Pick<Config, 'baseUrl' | 'brand'>) => ({
  rpID: new URL(baseUrl).hostname,
  rpName: brand.name,
  origin: baseUrl,
});

/** Browsers make passkeys for host names, never for an IP address (WebAuthn §5.1.3 step 7). */
export const canHavePasskeys = ({ baseUrl }: Pick<Config, 'baseUrl'>): boolean =>
  !isIpAddress(new URL(baseUrl).hostname);

/** WebAuthn §5.4.3; an id that another product has given may be longer. */
const longestHandle = 64;

/** The authenticator's id of the user; it must not contain personal data (WebAuthn §14.6.1). */
export const userHandle = (user_id: string) => Buffer.from(user_id.length <= longestHandle ? user_id : digest(user_id));

/** The id in paths and in the log. A credential id has up to 1364 characters, and authenticators answer to it. */
export const passkeyId = ({ credential_id }: Pick<Passkey, 'credential_id'>): string =>
  `pk_${digest(credential_id).slice(0, 22)}`;

/** What is read of the client data of WebAuthn §5.8.1. */
type ClientData = { challenge: string; isFramed: boolean };

type Members = Readonly<Record<string, unknown>>;

/** Characters; the longest parts of a credential are its attestation and a large RSA key. */
const longestPart = 8192;
/** A credential id has 1023 bytes at most (WebAuthn §7.1 step 25). */
const longestId = 1364;
const transports = ['usb', 'nfc', 'ble', 'smart-card', 'hybrid', 'cable', 'internal'] as const;

/** @throws {RequestError} `invalid_request` for what is not the JSON of a credential (WebAuthn §5.1.8). */
const unreadable = (cause?: unknown) => refusal('invalid_request', { key: 'passkey.problem.unreadable' }, { cause });

export function parseCredential(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch (error) {
    throw unreadable(error);
  }
}

/** Reads the `toJSON` of what `navigator.credentials.create` gives, without the members that we do not use. */
export function readRegistration(value: unknown): { credential: RegistrationResponseJSON; clientData: ClientData } {
  const { common, response, clientDataJSON, clientData } = readCommon(value);
  const known: readonly unknown[] = Array.isArray(response.transports) ? response.transports.slice(0, 20) : [];
  const attestationObject = readBytes(response.attestationObject);
  const reported = transports.filter((transport) => known.includes(transport));
  return {
    credential: { ...common, response: { clientDataJSON, attestationObject, transports: reported } },
    clientData,
  };
}

/** The same for `navigator.credentials.get`. */
export function readAssertion(value: unknown): { credential: AuthenticationResponseJSON; clientData: ClientData } {
  const { common, response, clientDataJSON, clientData } = readCommon(value);
  const hasHandle = response.userHandle !== undefined && response.userHandle !== null && response.userHandle !== '';
  const authenticatorData = readBytes(response.authenticatorData);
  const signature = readBytes(response.signature);
  const userHandle = hasHandle ? readBytes(response.userHandle) : undefined;
  return {
    credential: { ...common, response: { clientDataJSON, authenticatorData, signature, userHandle } },
    clientData,
  };
}

function readCommon(value: unknown) {
  const { id, rawId, type, response: members } = readObject(value);
  if (type !== 'public-key' || id !== rawId) throw unreadable();
  const known = readBytes(id, longestId);
  const response = readObject(members);
  const clientDataJSON = readBytes(response.clientDataJSON);
  return {
    common: { id: known, rawId: known, type: 'public-key' as const, clientExtensionResults: {} },
    response,
    clientDataJSON,
    clientData: readClientData(clientDataJSON),
  };
}

function readClientData(clientDataJSON: string): ClientData {
  const parsed = parseCredential(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
  const { challenge, crossOrigin, topOrigin } = readObject(parsed);
  return { challenge: readBytes(challenge), isFramed: crossOrigin === true || topOrigin !== undefined };
}

function readObject(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable();
  return value as Members;
}

/** Only canonical base64url: an id that can be written in two ways could be registered twice. */
function readBytes(value: unknown, longest = longestPart): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > longest) throw unreadable();
  if (Buffer.from(value, 'base64url').toString('base64url') !== value) throw unreadable();
  return value;
}
