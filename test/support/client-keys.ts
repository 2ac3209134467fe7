import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import type { PublicJwk } from '../../src/clients/keys/key-set.ts';
import type { Answer } from './browser.ts';
import { assertRefused, type Fields, type RegisteredClient } from './relying-party.ts';
import type { Signet } from './signet.ts';

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** A key pair of a client, with the JWK that it registers or publishes. */
export type KeyPair = { alg: string; kid: string; privateKey: KeyObject; jwk: PublicJwk };

export function newKeyPair(alg: 'ES256' | 'EdDSA' | 'PS256' | 'RS256' = 'ES256', kid: string = randomUUID()): KeyPair {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } as PublicJwk };
}

/** A key set as a client registers it. */
export const keySetOf = (...pairs: readonly KeyPair[]) => ({ keys: pairs.map(({ jwk }) => jwk) });

/** What differs from the assertion that is right; undefined leaves a member out. */
export type Changes = { claims?: Record<string, unknown>; header?: Record<string, unknown> };

/** An assertion for one request (RFC 7523 §3), which the client has signed just now. */
export function assertionOf(
  { clock, deps }: Pick<Signet, 'clock' | 'deps'>,
  { client_id }: { client_id: string },
  { alg, kid, privateKey }: KeyPair,
  { claims = {}, header = {} }: Changes = {},
): Promise<string> {
  const at = Math.floor(clock() / 1000);
  const payload = {
    iss: client_id,
    sub: client_id,
    aud: deps.config.baseUrl,
    iat: at,
    exp: at + 60,
    jti: randomUUID(),
    ...claims,
  };
  return new SignJWT(payload as JWTPayload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

/** The parameters by which the client authenticates with it. */
export const asserted = (client_assertion: string) => ({ client_assertion_type: assertionType, client_assertion });

/** Anything that only an authenticated client is told. */
export const asksWith = (client: RegisteredClient, fields: Fields): Promise<Answer> =>
  client.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: 'rt_x', ...fields });

export const assertAuthenticated = async (client: RegisteredClient, fields: Fields): Promise<void> =>
  assertRefused(await asksWith(client, fields), 400, 'invalid_grant');
