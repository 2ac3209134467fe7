import type { Client } from '../../clients/client.ts';
import type { Deps } from '../../oauth/deps.ts';
import { undefinedIfInvalid } from '../../oauth/signing-keys/key-ring.ts';
import { accessTokenHash } from '../../oauth/signing-keys/token-signer.ts';
import { now } from '../../platform/clock.ts';

export type Check = { name: (typeof checkNames)[number]; passed: boolean };
export const checkNames = ['state', 'iss', 'signature', 'aud', 'exp', 'nonce', 'at_hash', 'sub', 'revoked'] as const;

export type InspectedToken = {
  name: 'id_token' | 'access_token';
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  checks: readonly Check[];
};

const types = { id_token: 'JWT', access_token: 'at+jwt' } as const;

/** What a relying party checks (OIDC Core §3.1.3.7, RFC 9068 §4). */
export async function inspectToken(
  deps: Pick<Deps, 'clock' | 'config' | 'keys'>,
  { client_id, id_token_signed_response_alg: algorithm }: Client,
  name: InspectedToken['name'],
  token: string,
  expected: { nonce?: string; access_token?: string } = {},
): Promise<InspectedToken> {
  const [header = {}, claims = {}] = token.split('.', 2).map(decode);
  const verified = await undefinedIfInvalid(deps.keys.verifySignature(types[name], token));
  const checks: Check[] = [
    { name: 'signature', passed: verified?.algorithm === algorithm },
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
