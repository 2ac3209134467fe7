import type { AttributeRegister } from '../../attributes/register.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { claimsWithin, scopeOfClaim } from './claims.ts';

const Names = Type.Array(Type.String());

/** The claims about the user that a request asked for by name, and for which answer (OIDC Core §5.5). */
export const RequestedClaims = Type.Object({ userinfo: Names, id_token: Names });
export type RequestedClaims = Static<typeof RequestedClaims>;

export type ClaimsParameter = {
  /** Undefined if none of them is ours, or none may be released to the client. */
  requested: RequestedClaims | undefined;
  /** Whom `sub` names; undefined without a value. */
  subjects: string[] | undefined;
  /** The values of `acr`, by preference, and whether one of them has to be reached (§5.5.1.1). */
  acr: { values: string[]; isEssential: boolean } | undefined;
};

/** What is wrong with the parameter, for the developer of the client. */
export class MalformedClaims extends Error {
  override name = 'MalformedClaims';
}

/** Bytes. It comes in a URL, and is kept while the user signs in. */
const longest = 4096;

type Members = Readonly<Record<string, unknown>>;
type Individual = { essential: boolean; values: unknown[] | undefined };

/**
 * Claims that are unknown are ignored (OIDC Core §5.5). `value` and `values` have a meaning for `sub` and `acr` alone: another
 * claim is what it is, and the client compares it.
 * @param allowed_scopes the client's: a claim is released only if its scope is among them.
 * @throws {MalformedClaims}
 */
export function parseClaimsParameter(
  text: string,
  allowed_scopes: readonly string[],
  attributes: AttributeRegister,
): ClaimsParameter {
  if (Buffer.byteLength(text) > longest) throw new MalformedClaims(`claims can have at most ${longest} bytes.`);
  const parameter = asObject(parseJson(text), 'claims must be a JSON object.');
  const [userinfo, id_token] = (['userinfo', 'id_token'] as const).map((answer) => individualsOf(parameter, answer));
  const released = (individuals: ReadonlyMap<string, Individual> | undefined) =>
    [...(individuals?.keys() ?? [])].filter((name) => allowed_scopes.includes(scopeOfClaim(attributes, name) ?? ''));
  const requested = { userinfo: released(userinfo), id_token: released(id_token) };
  const acr = id_token?.get('acr');
  return {
    requested: requested.userinfo.length + requested.id_token.length > 0 ? requested : undefined,
    subjects: subjectsOf(userinfo?.get('sub'), id_token?.get('sub')),
    acr: acr?.values && { values: textsIn(acr.values, 'acr'), isEssential: acr.essential },
  };
}

function individualsOf(parameter: Members, answer: 'userinfo' | 'id_token'): Map<string, Individual> {
  if (!Object.hasOwn(parameter, answer)) return new Map();
  const members = asObject(parameter[answer], `claims: ${answer} must be a JSON object.`);
  return new Map(Object.entries(members).map(([name, member]) => [name, readIndividual(member, answer)]));
}

/** The description names no claim: names come from the request, and answers do not repeat what was sent. */
function readIndividual(member: unknown, answer: string): Individual {
  if (member === null) return { essential: false, values: undefined };
  const malformed = `claims: a member of ${answer} must be null or an object with essential, value or values.`;
  const { essential = false, value, values } = asObject(member, malformed);
  if (typeof essential !== 'boolean') throw new MalformedClaims('claims: essential must be true or false.');
  const isList = Array.isArray(values) && values.length > 0;
  if (values !== undefined && !isList) throw new MalformedClaims('claims: values must be a list that is not empty.');
  if (values !== undefined && value !== undefined)
    throw new MalformedClaims('claims: value and values exclude each other.');
  return { essential, values: value === undefined ? values : [value] };
}

/** Requested for both answers, it must be what both say. */
function subjectsOf(...individuals: (Individual | undefined)[]): string[] | undefined {
  const lists = individuals.flatMap((one) => (one?.values ? [textsIn(one.values, 'sub')] : []));
  return lists.length === 0 ? undefined : lists[0]!.filter((sub) => lists.every((list) => list.includes(sub)));
}

function textsIn(values: readonly unknown[], claim: 'sub' | 'acr'): string[] {
  if (values.every((value): value is string => typeof value === 'string')) return [...values];
  throw new MalformedClaims(`claims: the values of ${claim} must be strings.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown, problem: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw new MalformedClaims(problem);
}

/** The requested claims that the scope of the request does not give already: what its user is asked for beside it. */
export function claimsBeyondScope(
  { scope, claims }: { scope: string; claims?: RequestedClaims },
  attributes: AttributeRegister,
): string[] {
  const given = claimsWithin(attributes, scope);
  return [...new Set([...(claims?.userinfo ?? []), ...(claims?.id_token ?? [])])].filter(
    (name) => !given.includes(name),
  );
}
