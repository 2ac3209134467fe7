import type { Client } from '../../clients/client.ts';
import { now } from '../../platform/clock.ts';
import { RequestError } from '../../platform/errors.ts';
import type { ParsedParameters } from '../../platform/http/parameters.ts';
import { findClientKey } from '../client-keys/find-client-key.ts';
import { isSignedBy, type Jws, parseJws } from '../client-keys/jws.ts';
import type { Deps } from '../deps.ts';

/** Seconds: how long a request object may last, how old it may be, and how far ahead of ours its clock (FAPI 2.0 Message Signing §5.3.1). */
const longestLife = 3600;
const clockTolerance = 30;

type ObjectDeps = Pick<Deps, 'clock' | 'keySets'> & { readonly config: { readonly baseUrl: string } };

/** Of the JWT itself (RFC 7519 §4.1): none of these is a parameter. */
const registered = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/**
 * The parameters in a request object that the client has signed (RFC 9101 §6). It is taken at the pushed endpoint alone: what passes
 * through a browser can be as long as a URL, and the keys of a client may have to be asked for.
 * @throws {RequestError} `invalid_request_object`.
 */
export async function readRequestObject(deps: ObjectDeps, client: Client, text: string): Promise<ParsedParameters> {
  const jws = parseJws(text);
  if (!jws) throw refused('is no JWT of at most 8 KB that is signed by ES256, PS256 or EdDSA');
  const problem = claimsProblem(deps, client, jws);
  if (problem !== undefined) throw refused(problem);
  const found = await findClientKey(deps, client, jws);
  if (!('key' in found)) throw refused('is signed with a key that the client has not registered');
  if (!(await isSignedBy(jws, found.key))) throw refused('has a wrong signature');
  const parameters = parametersOf(jws.claims);
  // As in a form; a store would refuse them later (PostgreSQL takes no NUL).
  const isText = (text = '') => !text.includes('\0') && text.isWellFormed();
  if (!Object.values(parameters.values).every(isText)) throw refused('has a NUL or half a letter in a parameter');
  return parameters;
}

const types: readonly unknown[] = [undefined, 'jwt', 'oauth-authz-req+jwt'];

function claimsProblem({ clock, config }: ObjectDeps, { client_id }: Client, { header, claims }: Jws) {
  const { iss, aud, exp, nbf } = claims;
  if (!types.includes(typeof header.typ === 'string' ? header.typ.toLowerCase() : header.typ))
    return 'has the typ of something else';
  if (iss !== client_id) return 'must have the client_id as iss';
  if (claims.client_id !== undefined && claims.client_id !== client_id) return 'is of another client';
  if (![aud].flat().includes(config.baseUrl)) return 'must have the issuer as aud';
  if ('request' in claims || 'request_uri' in claims) return 'must not have request or request_uri in it';
  const at = now({ clock });
  if (typeof exp !== 'number' || exp <= at) return 'must have an exp that is ahead';
  if (typeof nbf !== 'number' || nbf > at + clockTolerance) return 'must have an nbf that is not ahead';
  if (exp - nbf > longestLife) return 'must end at most 60 minutes after nbf';
  if (nbf < at - longestLife) return 'must have an nbf of the last 60 minutes';
  return undefined;
}

/** Numbers, lists and objects as a query would have them; empty texts are absent ones, as there. */
function parametersOf(claims: Jws['claims']): ParsedParameters {
  const entries = Object.entries(claims).filter(([name, value]) => !registered.has(name) && value !== null);
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const all = (name: string) =>
    entries
      .flatMap(([other, value]) => (other === name ? [value].flat().map(textOf) : []))
      .filter((text) => text !== '');
  const values: Record<string, string | undefined> = Object.create(null);
  for (const [name, value] of entries) values[name] = textOf(value) || undefined;
  return { values, repeated: new Set(), all };
}

const refused = (why: string) => new RequestError('invalid_request_object', `The request object ${why}.`);
