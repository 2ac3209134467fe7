import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { refusal } from '../../platform/errors.ts';

/** WebAuthn §5.8.1, as far as we decide by it ourselves. */
type ClientData = { challenge: string; isFramed: boolean };

type Members = Readonly<Record<string, unknown>>;

/** Bytes; the longest parts of a credential are its attestation and a large RSA key. */
const longestPart = 8192;
/** A credential id has 1023 bytes at most (WebAuthn §7.1 step 25). */
const longestId = 1364;
const transports = ['usb', 'nfc', 'ble', 'smart-card', 'hybrid', 'cable', 'internal'] as const;

/** @throws {RequestError} `invalid_request` for what is not the JSON of a credential (WebAuthn §5.1.8). */
const unreadable = (cause?: unknown) => refusal('invalid_request', { key: 'passkey.problem.unreadable' }, { cause });

/** The text of a form field. */
export function parseCredential(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch (error) {
    throw unreadable(error);
  }
}

/** What `navigator.credentials.create` gave, as its `toJSON` writes it; what we have no use for is left behind. */
export function readRegistration(value: unknown): { credential: RegistrationResponseJSON; clientData: ClientData } {
  const { id, response } = readCommon(value);
  const known: readonly unknown[] = Array.isArray(response.transports) ? response.transports.slice(0, 20) : [];
  const clientDataJSON = readBytes(response.clientDataJSON);
  const credential: RegistrationResponseJSON = {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON,
      attestationObject: readBytes(response.attestationObject),
      transports: transports.filter((transport) => known.includes(transport)),
    },
  };
  return { credential, clientData: readClientData(clientDataJSON) };
}

/** What `navigator.credentials.get` gave. */
export function readAssertion(value: unknown): { credential: AuthenticationResponseJSON; clientData: ClientData } {
  const { id, response } = readCommon(value);
  const clientDataJSON = readBytes(response.clientDataJSON);
  const hasHandle = response.userHandle !== undefined && response.userHandle !== null && response.userHandle !== '';
  const credential: AuthenticationResponseJSON = {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON,
      authenticatorData: readBytes(response.authenticatorData),
      signature: readBytes(response.signature),
      userHandle: hasHandle ? readBytes(response.userHandle) : undefined,
    },
  };
  return { credential, clientData: readClientData(clientDataJSON) };
}

function readCommon(value: unknown): { id: string; response: Members } {
  const { id, rawId, type, response } = readObject(value);
  if (type !== 'public-key' || id !== rawId) throw unreadable();
  return { id: readBytes(id, longestId), response: readObject(response) };
}

function readClientData(clientDataJSON: string): ClientData {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
  } catch (error) {
    throw unreadable(error);
  }
  const { challenge, crossOrigin, topOrigin } = readObject(parsed);
  return { challenge: readBytes(challenge), isFramed: crossOrigin === true || topOrigin !== undefined };
}

function readObject(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable();
  return value as Members;
}

/** Base64url in its one canonical spelling: an id that can be written in two ways could be registered twice. */
function readBytes(value: unknown, longest = longestPart): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > longest) throw unreadable();
  if (Buffer.from(value, 'base64url').toString('base64url') !== value) throw unreadable();
  return value;
}
