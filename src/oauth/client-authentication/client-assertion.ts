import type { Client } from '../../clients/client.ts';
import { clientAlgorithms } from '../../clients/keys/public-key.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import { invalidClient, invalidRequest } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { Type } from '../../platform/schema.ts';
import { findClientKey } from '../client-keys/find-client-key.ts';
import { isSignedBy, type Jws, parseJws } from '../client-keys/jws.ts';
import type { Method, ProofDeps, Refusal } from './method.ts';

/** RFC 7523 §2.2 */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Seconds. How far ahead an assertion may end, and how far behind ours the clock of a client's server may find us. */
const longestLife = 3600;
const clockTolerance = 30;
const longestId = 256;

/** That of a proof or of a request object makes it none of an assertion (RFC 8725 §3.11). */
const types: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** OpenID Connect Core §9: a JWT that the client has signed, for one request. */
export const privateKeyJwt: Method = {
  presents({ form: { client_id, client_assertion, client_assertion_type } }) {
    if (client_assertion === undefined && client_assertion_type === undefined) return undefined;
    if (client_assertion_type !== assertionType)
      throw invalidRequest(`client_assertion_type must be ${assertionType}.`);
    if (client_assertion === undefined) throw invalidRequest('client_assertion is missing.');
    const named = client_id ?? parseJws(client_assertion)?.claims.sub;
    if (typeof named !== 'string') throw invalidClient('no client_id', malformed);
    return { client_id: named, proof: client_assertion };
  },
  async prove(deps, client, { proof = '', address }) {
    const refusal = await refusalOf(deps, client, proof);
    if (refusal !== undefined) await deps.clientSecretLimits.failed(client.client_id, address);
    return refusal;
  },
  parameters: {
    client_assertion_type: Type.Optional(
      Type.Enum([assertionType], { description: 'Of a client that authenticates by `private_key_jwt`.' }),
    ),
    client_assertion: Type.Optional(
      Type.String({
        description:
          'A JWT signed with its key (RFC 7523): `iss` and `sub` are its client_id, `aud` is exactly the issuer, `exp` at most ' +
          'an hour ahead, `jti` new for each request.',
      }),
    ),
  },
  words: 'with a `client_assertion` that it has signed (`private_key_jwt`)',
};

/** Of a client that has a key and no secret. */
export const assertionMissing: Refusal = {
  code: 'assertion_missing',
  description: 'This client authenticates by a client_assertion (private_key_jwt).',
};

const malformed = `client_assertion must be a JWT of at most 8 KB, signed by ${clientAlgorithms.join(', ')}.`;

/** What needs no key is checked first: an assertion that is not about this client causes no request to the address of its keys. */
async function refusalOf(deps: ProofDeps, client: Client, assertion: string): Promise<Refusal | undefined> {
  if (!mayAssert(client))
    return { code: 'authentication_method', description: 'This client is not registered for private_key_jwt.' };
  const jws = parseJws(assertion);
  const type = jws?.header.typ;
  if (!jws || !types.includes(typeof type === 'string' ? type.toLowerCase() : type))
    return { code: 'assertion_malformed', description: malformed };
  const refusal = claimsRefusal(deps, client, jws);
  if (refusal !== undefined) return refusal;
  const found = await findClientKey(deps, client, jws);
  if (!('key' in found)) return keyRefusals(found, jws);
  if (!(await isSignedBy(jws, found.key)))
    return { code: 'assertion_signature', description: 'The signature of the client_assertion is wrong.' };
  return (await isFirstUse(deps, client, jws)) ? undefined : used;
}

/** One that is bound to no method has registered keys beside its secret, and may be on its way from one to the other. */
const mayAssert = ({ client_type, token_endpoint_auth_method: method, jwks, jwks_uri }: Client): boolean =>
  method === 'private_key_jwt' ||
  (method === null && client_type === 'confidential' && (jwks !== null || jwks_uri !== null));

/** RFC 7523 §3; the audience as FAPI 2.0 Security Profile §5.3.2.1 has it, so that no other server's assertion is good here. */
function claimsRefusal(deps: ProofDeps, { client_id }: Client, { claims }: Jws): Refusal | undefined {
  const { iss, sub, aud, jti } = claims;
  if (iss !== client_id || sub !== client_id)
    return { code: 'assertion_subject', description: 'iss and sub of the client_assertion must be the client_id.' };
  const { baseUrl: issuer } = deps.config;
  if (aud !== issuer)
    return {
      code: 'assertion_audience',
      description: `aud of the client_assertion must be exactly ${issuer}, as a string.`,
      detail: () => ({ sent: JSON.stringify(aud) ?? 'no aud', registered: JSON.stringify(issuer) }),
    };
  const problem = timeProblem(claims, now(deps));
  const description = `client_assertion: ${problem}`;
  if (problem !== undefined)
    return {
      code: 'assertion_expired',
      description,
      detail: () => ({ description }),
    };
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId) return used;
  return undefined;
}

/** What is wrong with its time. @param at Unix seconds. */
function timeProblem({ exp, nbf, iat }: Jws['claims'], at: number): string | undefined {
  if (typeof exp !== 'number') return 'exp is missing.';
  if (exp <= at) return `exp was ${Math.ceil(at - exp)} seconds ago.`;
  if (exp > at + longestLife + clockTolerance) return 'exp is more than an hour ahead.';
  for (const [name, time] of Object.entries({ nbf, iat })) {
    if (time === undefined) continue;
    if (typeof time !== 'number') return `${name} is no number.`;
    if (time > at + clockTolerance) return `${name} is ${Math.ceil(time - at)} seconds ahead.`;
  }
  return undefined;
}

const used: Refusal = {
  code: 'assertion_used',
  description: `client_assertion was used before, or has no jti of 1 to ${longestId} characters. Send a new one with each request.`,
};

function keyRefusals(
  found: Exclude<Awaited<ReturnType<typeof findClientKey>>, { key: unknown }>,
  { header }: Jws,
): Refusal {
  const { code } = found;
  if (code === 'keys_unavailable')
    return {
      code,
      description: 'The public keys of the client cannot be read now. Try again later.',
      detail: () => ({ sent: found.problem }),
    };
  if (code === 'client_not_approved') return { code };
  const { kid, alg } = header;
  return {
    code,
    description: 'The client has no key with the kid and alg of this client_assertion, or several without a kid.',
    detail: () => ({ sent: JSON.stringify({ kid, alg }) }),
  };
}

/** Decided by the store, for every node. Only what the client has signed gets here, so no other can make rows. */
async function isFirstUse({ db }: ProofDeps, { client_id }: Client, { claims }: Jws): Promise<boolean> {
  const token_hash = digest(JSON.stringify(['client_assertion', client_id, claims.jti]));
  const use = useOnce({ token_hash, expires_at: Math.ceil(claims.exp as number) });
  return (await db.of(token_hash).change({ run: { used: mayConflict(use) } })).ok;
}
