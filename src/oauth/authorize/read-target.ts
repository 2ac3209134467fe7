import type { Client } from '../../clients/client.ts';
import { defaultScope, describeAllowed, isOwnScope, parseScope, usableScopes } from '../../clients/scopes.ts';
import { findResources, type ResourceDeps, type Resources } from '../token/resources.ts';
import { AuthorizationError, invalidScope } from './authorization-error.ts';

type Asked = { scope: string | undefined; resources: readonly string[] };

/**
 * What a client asks for, and where: the scope cut to what it is allowed (OIDC Core §3.1.2.1, RFC 6749 §3.3), and the APIs that the tokens
 * are for. With `resource` these are the ones that it names, and scopes of others are left out; without it, those of the scope.
 */
export async function readTarget(
  deps: ResourceDeps,
  client: Client,
  { scope, resources }: Asked,
): Promise<{ scope: string; apis?: string[] } | AuthorizationError> {
  const allowed = await usableScopes(deps, client.allowed_scopes);
  const named = await findResources(deps, resources);
  if (typeof named === 'string') return new AuthorizationError('invalid_target', named, 'resource');
  if (named?.apis.some((api) => !api.scopes.some(({ name }) => allowed.includes(name))))
    return new AuthorizationError(
      'invalid_target',
      'The client is allowed no scope of an API in resource.',
      'resource',
    );
  const wanted = scope === undefined ? defaultFor(named, allowed) : parseScope(scope);
  const { ofScope } = allowed.every(isOwnScope) ? noApis : await deps.apis.read();
  const isReached = (name: string) => {
    const api_id = ofScope(name)?.api_id;
    return api_id === undefined || named === undefined || named.apis.some((api) => api.api_id === api_id);
  };
  const granted = wanted.filter((name) => allowed.includes(name) && isReached(name));
  if (granted.length === 0) return invalidScope(describeAllowed(allowed));
  const apis = named?.apis ?? granted.flatMap((name) => ofScope(name) ?? []);
  const ids = [...new Set(apis.map(({ api_id }) => api_id))];
  return { scope: granted.join(' '), ...(ids.length > 0 && { apis: ids }) };
}

const noApis = { ofScope: () => undefined };

/** A client that names an API and no scope wants what it may have of it, as most clients of the Model Context Protocol do. */
const defaultFor = (named: Resources | undefined, allowed: readonly string[]): readonly string[] => [
  ...defaultScope,
  ...(named?.apis ?? []).flatMap(({ scopes }) => scopes.flatMap(({ name }) => (allowed.includes(name) ? [name] : []))),
];
