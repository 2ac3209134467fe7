import type { ParsedParameters } from '../../platform/http/parameters.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { AuthorizationError, invalidScope, malformed } from './authorization-error.ts';
import { type Context, parameters } from './parameters.ts';

type Rows = typeof parameters;
type ParameterName = keyof Rows;
const parameterNames = Object.keys(parameters) as readonly ParameterName[];
const repeatable = parameterNames.filter((name) => (parameters[name] as { mayRepeat?: true }).mayRepeat === true);

/** Of one row, or of all together: what every one of them has. */
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (one: infer Each) => void
  ? Each
  : never;
type StoredProperties = All<Rows[ParameterName]['stores']>;

/** An authorization request that has passed every check, as it is stored while its user signs in. */
export const AuthorizationRequest = Type.Object({
  ...(Object.assign({}, ...Object.values(parameters).map(({ stores }) => stores)) as StoredProperties),
  /** Of a pushed request: the id in its request_uri, which is used up with the answer. */
  pushed_id: Type.Optional(Type.String()),
  /** Of a test from the console: the owner of the client, for whom alone a code may be issued. */
  test_owner: Type.Optional(Type.String()),
});
export type AuthorizationRequest = Static<typeof AuthorizationRequest>;

/**
 * Second phase of a request: everything but client and redirect_uri.
 * @returns the error of the first parameter that is wrong.
 */
export async function readAuthorizationRequest(
  deps: Context['deps'],
  { client, target }: Pick<Context, 'client' | 'target'>,
  { values, repeated, all }: ParsedParameters,
): Promise<AuthorizationRequest | AuthorizationError> {
  const twice = parameterNames.filter((name) => repeated.has(name) && !repeatable.includes(name));
  if (twice.includes('scope')) return invalidScope('scope was sent more than once.');
  if (twice.length > 0) return malformed(`Sent more than once: ${twice.join(', ')}.`);
  const request: Record<string, unknown> = {};
  for (const name of parameterNames) {
    const read = parameters[name].read(values[name], { deps, client, target, values, all });
    const members = read instanceof Promise ? await read : read;
    if (members instanceof AuthorizationError) return members;
    Object.assign(request, members);
  }
  return request as AuthorizationRequest;
}
