import { createPublicKey, verify, type webcrypto } from 'node:crypto';
import type { Client } from '../../clients/client.ts';
import type { Deps } from '../../oauth/deps.ts';
import { accessTokenHash } from '../../oauth/token/tokens.ts';
import { now } from '../../platform/clock.ts';

export type Check = { name: (typeof checkNames)[number]; passed: boolean };
export const checkNames = ['state', 'iss', 'signature', 'aud', 'exp', 'nonce', 'at_hash', 'sub', 'revoked'] as const;

export type InspectedToken = {
  name: 'id_token' | 'access_token';
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  checks: readonly Check[];
};

/** What a relying party checks (OIDC Core §3.1.3.7, RFC 9068 §4), with nothing but the published key set. */
export function inspectToken(
  deps: Pick<Deps, 'clock' | 'config' | 'keys'>,
  { client_id, id_token_signed_response_alg: algorithm }: Client,
  name: InspectedToken['name'],
  token: string,
  expected: { nonce?: string; access_token?: string } = {},
): InspectedToken {
  const [encodedHeader = '', encodedClaims = '', signature = ''] = token.split('.');
  const [header, claims] = [decode(encodedHeader), decode(encodedClaims)];
  const { keys } = JSON.parse(deps.keys.published.body) as { keys: (webcrypto.JsonWebKey & { kid: string })[] };
  const key = keys.find(({ kid }) => kid === header.kid);
  const input = Buffer.from(`${encodedHeader}.${encodedClaims}`);
  const isGenuine =
    key !== undefined &&
    header.alg === algorithm &&
    verify(
      algorithm === 'EdDSA' ? null : 'sha256',
      input,
      createPublicKey({ key, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    );
  const checks: Check[] = [
    { name: 'signature', passed: isGenuine },
    { name: 'iss', passed: claims.iss === deps.config.baseUrl },
    { name: 'aud', passed: claims.aud === client_id },
    { name: 'exp', passed: Number(claims.exp) > now(deps) },
  ];
  const { nonce, access_token } = expected;
  if (nonce !== undefined) checks.push({ name: 'nonce', passed: claims.nonce === nonce });
  if (access_token !== undefined) {
    checks.push({ name: 'at_hash', passed: claims.at_hash === accessTokenHash(algorithm, access_token) });
  }
  return { name, header, claims, checks };
}

const decode = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());
