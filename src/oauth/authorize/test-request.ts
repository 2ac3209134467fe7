import type { Client } from '../../clients/client.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { parseParameters } from '../../platform/http/parameters.ts';
import type { UserId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { testRedirectUri } from '../grants/test-grants.store.ts';
import { AuthorizationError, errorCodeOf } from './authorization-error.ts';
import { readAuthorizationRequest } from './authorization-request.ts';
import { storeRequest } from './authorize.ts';

export { testRedirectUri };

/**
 * Starts the flow as a client, for its owner and in this browser. The stored request is all that allows the redirect URI
 * of the test: it cannot be sent by anyone, is used up by its code, and lasts ten minutes. Everything after this is the
 * ordinary flow, which checks client and owner again.
 * @param query as a relying party would send it.
 * @returns the path where the browser continues.
 */
export async function startTestRequest(
  deps: LimitDeps & Pick<Deps, 'keys' | 'apis' | 'attributes'>,
  { client, test_owner, query }: { client: Client; test_owner: UserId; query: string },
  browser: { browserToken: () => string; address: string },
): Promise<string> {
  const parsed = parseParameters(query);
  const target = { redirect_uri: testRedirectUri(deps.config, client.client_id), state: parsed.values.state };
  const request = await readAuthorizationRequest(deps, { client, target }, parsed);
  // All scopes of the client may have been retired since it was registered.
  if (request instanceof AuthorizationError) throw new RequestError(errorCodeOf(request), request.description);
  return `/oauth/authorize/continue?request=${await storeRequest(deps, { ...request, test_owner }, browser)}`;
}
