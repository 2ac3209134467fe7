import type { Client } from '../../clients/client.ts';
import { leftOutOf } from '../../clients/failures.ts';
import { isFapi } from '../../clients/profile.ts';
import { now } from '../../platform/clock.ts';
import { underNewKey } from '../../platform/db/parts.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { RequestError, refusal } from '../../platform/errors.ts';
import type { ParsedParameters } from '../../platform/http/parameters.ts';
import { digest, newIdAt, newSecret } from '../../platform/ids.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import type { Deps } from '../deps.ts';
import { invalidProof } from '../dpop/proof.ts';
import { AuthorizationError, errorCodeOf, failureOf } from './authorization-error.ts';
import { type AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts';
import { authorizeClient } from './authorize-client.ts';
import { findPushedRequest, insertPushedRequest } from './pushed-requests.store.ts';
import { readRequestObject } from './request-object.ts';

/** Ours are of this form (RFC 9126 §2.2); what else comes in `request_uri` is the address of a request object, which is not supported. */
const requestUriPrefix = 'urn:ietf:params:oauth:request_uri:';
export const isPushed = (request_uri: string | undefined): boolean =>
  request_uri?.startsWith(requestUriPrefix) === true;

/** In which a sign-in may begin with a pushed request (FAPI 2.0 Security Profile §5.3.2.2: less than 600). */
export const pushedSeconds = 60;

/** Whether a request that comes through the browser is refused (RFC 9126 §6). */
export const mustPush = (
  client: Pick<Client, 'profile' | 'require_pushed_authorization_requests' | 'require_signed_request_object'>,
): boolean => isFapi(client) || client.require_pushed_authorization_requests || client.require_signed_request_object;

type Pushing = {
  client: Client;
  parsed: ParsedParameters;
  address: string;
  /** The thumbprint of the key of its DPoP proof, which is then that of the code (RFC 9449 §10.1). */
  jkt?: string | undefined;
};

/**
 * Checks a whole authorization request as the authorization endpoint would, and keeps it (RFC 9126 §2.1).
 * @param client authenticated, if it is confidential.
 * @throws {RequestError} with the code that the authorization endpoint would answer; `invalid_request_object`; `rate_limited`.
 */
export async function pushRequest(
  deps: LimitDeps &
    Pick<Deps, 'clients' | 'clientFailures' | 'metadataDocuments' | 'keys' | 'apis' | 'attributes' | 'keySets'>,
  { client, parsed: sent, address, jkt }: Pushing,
): Promise<{ request_uri: string; expires_in: number }> {
  const { client_id } = client;
  const place = { client_id, stage: 'authorize', address } as const;
  const inside = await noting(deps, place, readSent(deps, client, sent));
  const parsed = { ...inside, values: { ...inside.values, client_id, request: undefined } };
  const { target } = await authorizeClient(deps, parsed, address);
  const wanted = await readAuthorizationRequest(deps, { client, target }, parsed);
  if (wanted instanceof AuthorizationError) {
    deps.clientFailures.record(place, failureOf(wanted, parsed));
    throw new RequestError(errorCodeOf(wanted), wanted.description);
  }
  const leftOut = leftOutOf(client.allowed_scopes, inside.values.scope, wanted.scope);
  if (leftOut) deps.clientFailures.record(place, leftOut);
  if (jkt !== undefined && wanted.dpop_jkt !== undefined && wanted.dpop_jkt !== jkt)
    throw invalidProof('The DPoP proof is by another key than dpop_jkt names.');
  const secret = newSecret();
  const at = now(deps);
  const parameters = { ...wanted, dpop_jkt: wanted.dpop_jkt ?? jkt };
  const stored = { secret_hash: digest(secret), client_id, created_at: at, expires_at: at + pushedSeconds };
  const pushed_id = await underNewKey(
    deps.db,
    () => newIdAt('par', deps.clock()),
    (id) => insertPushedRequest(deps.db, { ...stored, pushed_id: id, parameters: { ...parameters, pushed_id: id } }),
  );
  return { request_uri: `${requestUriPrefix}${pushed_id}.${secret}`, expires_in: pushedSeconds };
}

/** What is checked: the form, or what the client has signed in it. @throws {RequestError} */
async function readSent(
  deps: Parameters<typeof readRequestObject>[0],
  client: Client,
  sent: ParsedParameters,
): Promise<ParsedParameters> {
  if (sent.values.request_uri !== undefined || sent.repeated.has('request_uri'))
    throw new RequestError('request_uri_not_supported', 'Push the request itself, and no request_uri.');
  const object = sent.values.request;
  if (object !== undefined) return readRequestObject(deps, client, object);
  if (client.require_signed_request_object)
    throw new RequestError('invalid_request', 'This client must send its request as a signed request object.');
  return sent;
}

/** The refusal of a check, for the owner of the client to read as well. */
export async function noting<Result>(
  { clientFailures }: Pick<Deps, 'clientFailures'>,
  place: Parameters<Deps['clientFailures']['record']>[0],
  check: Promise<Result>,
): Promise<Result> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof RequestError && error.status < 500)
      clientFailures.record(place, { code: 'request', detail: () => ({ description: error.message }) });
    throw error;
  }
}

/** Anyone can push for a public client, and every push, and every proof with it, is a row. @throws {RequestError} `rate_limited`. */
export async function takePush(deps: LimitDeps, { client_type }: Client, address: string): Promise<void> {
  if (client_type === 'public') await addressLimit(deps, pushedRequests(deps)).take(address);
}

const pushedRequests = ({ config: { limits } }: Pick<LimitDeps, 'config'>) => ({
  name: 'pushed-requests',
  limit: limits.waitingRequests,
  windowSeconds: 600,
});

/**
 * The request that a client has pushed. Nothing else in the URL counts (RFC 9126 §4).
 * @throws {RequestError} `invalid_request` for one that is unknown, expired, answered or of another client, all alike.
 */
export async function findPushed(
  deps: Pick<Deps, 'db' | 'clock'>,
  { values: { client_id = '', request_uri = '' }, repeated }: Pick<ParsedParameters, 'values' | 'repeated'>,
): Promise<AuthorizationRequest> {
  const isOnce = !repeated.has('client_id') && !repeated.has('request_uri');
  const [pushed_id = '', secret = ''] = request_uri.slice(requestUriPrefix.length).split('.', 2);
  const pushed = isOnce
    ? await findPushedRequest(deps.db, { pushed_id, secret_hash: digest(secret), client_id }, now(deps))
    : undefined;
  if (pushed) return pushed.parameters;
  throw pushedIsOver();
}

/** Nothing is lost: the app can begin anew. */
export const pushedIsOver = () =>
  refusal('invalid_request', { key: 'authorize.pushed_over' }, { title: { key: 'error.sign_in_over' } });
