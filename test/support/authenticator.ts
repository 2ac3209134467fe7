import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What an authenticator and a browser could be made to say that is not so. */
export type Lies = {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  crossOrigin?: boolean;
  /** Whether the user was verified, by finger or PIN. */
  verified?: boolean;
  present?: boolean;
  signCount?: number;
  /** Attestation statement format and statement. */
  attestation?: { fmt: string; attStmt: Map<unknown, unknown> };
  userHandle?: string | null;
  /** The new key vouches for itself, which is allowed without a request for it (WebAuthn §5.1.3). */
  selfAttested?: boolean;
};

export type Options = Record<string, unknown> & { challenge: string };
export type Credential = { id: string; rawId: string; type: string; response: Record<string, unknown> };

/** An authenticator with one key, as small as the standard lets it be: WebAuthn §6, without a browser. */
export type Authenticator = {
  readonly credential_id: string;
  /** What it has counted. A synced passkey counts nothing. */
  signCount: number;
  counts: boolean;
  synced: boolean;
  create(options: Options, lies?: Lies): Credential;
  get(options: Options, lies?: Lies): Credential;
};

const algorithms = {
  ES256: { alg: -7, hash: 'sha256', pair: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }) },
  EdDSA: { alg: -8, hash: null, pair: () => generateKeyPairSync('ed25519') },
  RS256: { alg: -257, hash: 'sha256', pair: () => generateKeyPairSync('rsa', { modulusLength: 2048 }) },
} as const;

/** @param origin of the relying party; its host is the RP ID. */
export function newAuthenticator(origin: string, algorithm: keyof typeof algorithms = 'ES256'): Authenticator {
  const { alg, hash: digestName, pair } = algorithms[algorithm];
  const { publicKey, privateKey } = pair() as { publicKey: KeyObject; privateKey: KeyObject };
  const id = randomBytes(32);
  let userHandle: string | undefined;

  const clientData = (type: string, { challenge }: Options, lies: Lies): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: lies.crossOrigin ?? false,
      }),
    );

  function authenticatorData(lies: Lies, attested: Buffer = Buffer.alloc(0)): Buffer {
    if (authenticator.counts) authenticator.signCount += 1;
    const flags =
      (lies.present === false ? 0 : 0x01) |
      (lies.verified === false ? 0 : 0x04) |
      (authenticator.synced ? 0x18 : 0) |
      (attested.length > 0 ? 0x40 : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(lies.signCount ?? authenticator.signCount);
    return Buffer.concat([sha256(lies.rpId ?? new URL(origin).hostname), Buffer.from([flags]), counter, attested]);
  }

  const signed = (authData: Buffer, clientDataJSON: Buffer): Buffer =>
    sign(digestName, Buffer.concat([authData, sha256(clientDataJSON)]), privateKey);
  const unattested = { fmt: 'none', attStmt: new Map<unknown, unknown>() };
  const vouch = (authData: Buffer, clientDataJSON: Buffer) => ({
    fmt: 'packed',
    attStmt: new Map<unknown, unknown>([
      ['alg', alg],
      ['sig', signed(authData, clientDataJSON)],
    ]),
  });

  const credential = (response: Record<string, unknown>): Credential => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    response,
  });

  const authenticator: Authenticator = {
    credential_id: id.toString('base64url'),
    signCount: 0,
    counts: false,
    synced: false,
    create(options, lies = {}) {
      userHandle = (options.user as { id: string }).id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const aaguid = Buffer.alloc(16);
      const attested = Buffer.concat([aaguid, length, id, cbor(coseKey(publicKey, alg))]);
      const authData = authenticatorData(lies, attested);
      const clientDataJSON = clientData('webauthn.create', options, lies);
      const { fmt, attStmt } = lies.attestation ?? (lies.selfAttested ? vouch(authData, clientDataJSON) : unattested);
      return credential({
        clientDataJSON: clientDataJSON.toString('base64url'),
        attestationObject: cbor(
          new Map<unknown, unknown>([
            ['fmt', fmt],
            ['attStmt', attStmt],
            ['authData', authData],
          ]),
        ).toString('base64url'),
        transports: ['internal', 'hybrid', 'carrier-pigeon'],
      });
    },
    get(options, lies = {}) {
      const clientDataJSON = clientData('webauthn.get', options, lies);
      const authData = authenticatorData(lies);
      const signature = signed(authData, clientDataJSON);
      return credential({
        clientDataJSON: clientDataJSON.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: lies.userHandle === undefined ? userHandle : lies.userHandle,
      });
    },
  };
  return authenticator;
}

const sha256 = (content: string | Buffer): Buffer => hash('sha256', content, 'buffer');

/** RFC 9053 §7, RFC 8230 §4. */
function coseKey(key: KeyObject, alg: number): Map<unknown, unknown> {
  const jwk = key.export({ format: 'jwk' });
  const bytes = (member: string | undefined) => Buffer.from(member ?? '', 'base64url');
  const entries: Record<number, [unknown, unknown][]> = {
    [-7]: [
      [1, 2],
      [3, alg],
      [-1, 1],
      [-2, bytes(jwk.x)],
      [-3, bytes(jwk.y)],
    ],
    [-8]: [
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, bytes(jwk.x)],
    ],
    [-257]: [
      [1, 3],
      [3, alg],
      [-1, bytes(jwk.n)],
      [-2, bytes(jwk.e)],
    ],
  };
  return new Map(entries[alg]);
}

/** RFC 8949, as far as integers, bytes, text, arrays and maps go. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  if (value instanceof Map) {
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, item]) => [cbor(key), cbor(item)])]);
  }
  throw new TypeError('no CBOR for this');
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff]);
}
