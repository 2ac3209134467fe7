import { type Api, comparableIdentifier } from '../../apis/api.ts';
import type { ApiRegister } from '../../apis/register.ts';
import type { Client } from '../../clients/client.ts';
import { isOwnScope, parseScope, usableScopes, withinAllowed } from '../../clients/scopes.ts';
import type { ApiId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import type { IssuableGrant } from '../grants/grant.store.ts';
import { invalidTarget, nothingAllowed } from './token-refusal.ts';

// Which APIs a token is for: resource indicators (RFC 8707).

/** Those that a request names; the issuer stands for none. */
export type Resources = { readonly apis: readonly Api[] };

export type ResourceDeps = Pick<Deps, 'apis' | 'attributes'> & { readonly config: { readonly baseUrl: string } };

/** Of one request. */
const maxResources = 20;

/** @returns undefined if nothing is named; a sentence for the developer about what is wrong. */
export async function findResources(
  { apis, config }: ResourceDeps,
  resources: readonly string[],
): Promise<Resources | string | undefined> {
  if (resources.length === 0) return undefined;
  if (resources.length > maxResources) return `resource was sent more than ${maxResources} times.`;
  if (!resources.every((identifier) => URL.canParse(identifier) && !identifier.includes('#')))
    return 'resource must be an absolute URI without a fragment.';
  const issuer = comparableIdentifier(config.baseUrl);
  const { named } = await apis.read();
  const found = [...new Set(resources.map(comparableIdentifier))].filter((one) => one !== issuer).map(named);
  const known = found.filter((api) => api !== undefined);
  return known.length < found.length ? 'resource names no API that is registered here.' : { apis: known };
}

/** @throws {RequestError} `invalid_target`. */
export async function readResources(deps: ResourceDeps, resources: readonly string[]) {
  const found = await findResources(deps, resources);
  if (typeof found === 'string') throw invalidTarget(found, resources);
  return found;
}

/**
 * What an access token is for: `audience` has the identifiers of APIs, of which none may be left, and is null for Signet itself. A grant
 * for APIs never becomes one for Signet by what it loses: an API that has held its tokens would then read what only the client may.
 */
export type Target = { scope: string; audience: readonly string[] | null };

type Narrowed = {
  /** The scope of this token: the grant's or less. */
  asked: string;
  /** Of the token request; undefined: all of the grant but those of whose scopes a narrower one has left out every one. */
  resources?: Resources | undefined;
};

/** Those of a grant that are still there, and of which the client is still allowed a scope. @param allowed of those that there are. */
const apisLeft = ({ find }: ApiRegister, apis: readonly ApiId[] | null, allowed: readonly string[]): readonly Api[] =>
  (apis ?? []).flatMap((api_id) => {
    const api = find(api_id);
    return api?.scopes.some(({ name }) => allowed.includes(name)) ? [api] : [];
  });

/**
 * Narrows, and never widens. What the client, an API or one of its scopes has lost since the grant was made is left out.
 * @returns an empty scope if nothing is left.
 */
export async function targetOf(
  deps: Pick<Deps, 'apis' | 'attributes'>,
  client: Pick<Client, 'allowed_scopes'>,
  grant: Pick<IssuableGrant, 'scope' | 'apis'>,
  { asked, resources }: Narrowed,
): Promise<Target> {
  const allowed = await usableScopes(deps, client.allowed_scopes);
  const scope = withinAllowed(asked, allowed);
  if (grant.apis === null) return { scope, audience: null };
  const words = parseScope(scope);
  const granted = parseScope(grant.scope);
  const hasPart = (api: Api, of: readonly string[]) => api.scopes.some(({ name }) => of.includes(name));
  const isNamed = ({ api_id }: Api) => resources?.apis.some((one) => one.api_id === api_id) === true;
  const isKept = (api: Api) => hasPart(api, words) || !hasPart(api, granted);
  const left = apisLeft(await deps.apis.read(), grant.apis, allowed);
  const kept = left.filter(resources ? isNamed : isKept);
  const wanted = kept.length === 0 && resources === undefined ? left : kept;
  const isReached = (name: string) => wanted.some((api) => api.scopes.some((one) => one.name === name));
  return {
    scope: words.filter((name) => isOwnScope(name) || isReached(name)).join(' '),
    audience: resources?.apis.length === 0 ? null : wanted.map(({ identifier }) => identifier),
  };
}

/**
 * Before a code is redeemed or a refresh token rotated, since a refusal must leave it usable.
 * @throws {RequestError} `invalid_target` for an API that the grant is not for; `invalid_scope` if nothing is left.
 */
export async function requireTarget(
  deps: Pick<Deps, 'apis' | 'attributes'>,
  client: Client,
  grant: IssuableGrant,
  narrowed: Narrowed,
): Promise<void> {
  const named = narrowed.resources?.apis ?? [];
  const left = apisLeft(await deps.apis.read(), grant.apis, await usableScopes(deps, client.allowed_scopes));
  if (!named.every(({ api_id }) => left.some((api) => api.api_id === api_id)))
    throw invalidTarget(
      'resource names an API that was not granted, or of which the client is no longer allowed a scope.',
      named.map(({ identifier }) => identifier),
    );
  if ((await targetOf(deps, client, grant, narrowed)).scope === '') throw nothingAllowed(narrowed.asked);
}

/**
 * The identifiers in `aud` that it may still have.
 * @param apis of the grant, by id: another API may have the same identifier by now.
 * @param allowed what the client may have now, of the scopes that there are.
 */
export async function activeAudience(
  deps: Pick<Deps, 'apis' | 'attributes'>,
  aud: readonly string[],
  { apis, allowed }: { apis: readonly ApiId[] | null; allowed: readonly string[] },
): Promise<string[]> {
  const left = apisLeft(await deps.apis.read(), apis, allowed);
  return aud.filter((one) => left.some(({ identifier }) => identifier === one));
}
