import { RequestError } from '../../platform/errors.ts';
import { authenticationMethods } from '../authentication-methods.ts';
import { fieldOf, linkFields, membersOf } from '../fields.ts';
import { destinationOf, isNativeUri, isPrivateUse } from '../redirect-uri.ts';
import { type Registration, readRegistration } from '../registration.ts';
import { defaultAllowedScopes, parseScope, type ScopeRegister } from '../scopes.ts';

/** Client metadata as it was sent (RFC 7591 §2): members that are not known are ignored. */
type Metadata = Readonly<Record<string, unknown>>;

/** What the metadata ask for, and whether they name the scopes themselves. */
export type FromOutside = { registration: Registration; namesScopes: boolean };

const invalid = (description: string) => new RequestError('invalid_client_metadata', description);
const invalidRedirect = (description: string) => new RequestError('invalid_redirect_uri', description);

/**
 * A registration by the rules of every client, of metadata that an unauthenticated requester has written. What may be left out or replaced (RFC 7591
 * §3.2.1) is: links that could not be registered, scopes that do not exist, grant types of others, and a secret, which it never gets.
 * @param documentUrl where the metadata were read, which then may hold no secret, and lead to no other host.
 * @throws {RequestError} `invalid_redirect_uri`, `invalid_client_metadata`: why not, for its developer, without a word of what was sent.
 */
export function readMetadata(sent: unknown, scopes: ScopeRegister, documentUrl?: string): FromOutside {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    throw invalid('The metadata must be a JSON object.');
  const metadata = sent as Metadata;
  if (documentUrl !== undefined) refuseForeignDocument(metadata, documentUrl);
  const redirect_uris = textsIn(metadata, 'redirect_uris');
  if (redirect_uris === undefined || redirect_uris.length === 0)
    throw invalidRedirect('redirect_uris must name at least one URI.');
  const elsewhere = documentUrl === undefined ? [] : redirect_uris.filter((uri) => leavesOrigin(uri, documentUrl));
  if (elsewhere.length > 0)
    throw invalidRedirect('Each https redirect URI must have the scheme, host and port of the client_id.');
  requireCodeFlow(metadata);
  const { client_name: name = nameAfter(redirect_uris[0]!), scope = '' } = metadata;
  if (typeof scope !== 'string') throw invalid('scope must be a text.');
  const wanted = parseScope(scope).filter((one) => scopes.find(one) !== undefined);
  const registration = registered({
    name,
    ...authenticationOf(metadata, redirect_uris),
    redirect_uris,
    ...linksIn(metadata),
    ...(metadata.id_token_signed_response_alg === 'RS256' && { id_token_signed_response_alg: 'RS256' }),
  });
  const lasting = grantTypesOf(metadata).includes('refresh_token') ? ['offline_access'] : [];
  const allowed_scopes = [...new Set([...(wanted.length > 0 ? wanted : defaultAllowedScopes), ...lasting])];
  return {
    registration: { ...registration, allowed_scopes: allowed_scopes as Registration['allowed_scopes'] },
    namesScopes: wanted.length > 0,
  };
}

/** Of what is no URI at all, its registration says what is wrong. */
const nameAfter = (uri: string): string => (isPrivateUse(uri) || URL.canParse(uri) ? destinationOf(uri) : 'App');

/** The draft, §4.1: the document is of this client, and there can be no shared secret. */
function refuseForeignDocument(metadata: Metadata, documentUrl: string): void {
  if (metadata.client_id !== documentUrl) throw invalid('client_id in the document must be the URL of the document.');
  if ('client_secret' in metadata || 'client_secret_expires_at' in metadata)
    throw invalid('The document must not contain a client secret.');
  const { token_endpoint_auth_method: method = 'none' } = metadata;
  if (method !== 'none' && method !== 'private_key_jwt') throw invalid(otherMethod);
}

const otherMethod = 'token_endpoint_auth_method must be none or private_key_jwt.';

/** Keys of its own make it confidential. Else it is public, whatever it asks for: a secret it never gets. */
function authenticationOf(metadata: Metadata, redirect_uris: readonly string[]) {
  const { token_endpoint_auth_method: method = 'none', jwks = null, jwks_uri = null } = metadata;
  if (typeof method !== 'string' || !Object.hasOwn(authenticationMethods, method)) throw invalid(otherMethod);
  if (method === 'private_key_jwt')
    return { client_type: 'confidential', application_type: 'web', token_endpoint_auth_method: method, jwks, jwks_uri };
  const application_type = isNative(metadata, redirect_uris) ? 'native' : 'web';
  return { client_type: 'public', application_type, token_endpoint_auth_method: 'none' };
}

function requireCodeFlow(metadata: Metadata): void {
  if (!grantTypesOf(metadata).includes('authorization_code'))
    throw invalid('grant_types must contain authorization_code.');
  if (!(textsIn(metadata, 'response_types') ?? ['code']).includes('code'))
    throw invalid('response_types must contain code.');
}

const grantTypesOf = (metadata: Metadata) => textsIn(metadata, 'grant_types') ?? ['authorization_code'];

/** @returns undefined if it is left out. @throws {RequestError} unless it is a list of texts. */
function textsIn(metadata: Metadata, member: 'redirect_uris' | 'grant_types' | 'response_types'): string[] | undefined {
  const value = metadata[member];
  if (value === undefined) return undefined;
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (!isList) throw (member === 'redirect_uris' ? invalidRedirect : invalid)(`${member} must be a list of texts.`);
  return value;
}

/** A web page elsewhere: what never leaves the machine of the user, and the app's own scheme, have no host to compare. */
const leavesOrigin = (uri: string, documentUrl: string): boolean =>
  !isPrivateUse(uri) && !isLoopbackUri(uri) && URL.parse(uri)?.origin !== new URL(documentUrl).origin;

const isLoopbackUri = (uri: string) => isNativeUri(uri) || /^http:\/\/localhost(?:[:/?]|$)/.test(uri);

const isNative = ({ application_type }: Metadata, redirect_uris: readonly string[]) =>
  application_type === 'native' || redirect_uris.some(isLoopbackUri);

/** The names of RFC 7591 §2 that are not ours. */
const standardNames: Readonly<Record<string, string>> = { logo_url: 'logo_uri', homepage_url: 'client_uri' };
export const standardNameOf = (field: string): string => standardNames[field] ?? field;

/** Links that may be shown; others are left out. */
export const linksIn = (metadata: Metadata) =>
  Object.fromEntries(
    linkFields.map((field) => {
      const url = metadata[standardNameOf(field)];
      return [field, typeof url === 'string' && fieldOf(field).problem?.(url) === undefined ? url : null];
    }),
  );

function registered(body: Readonly<Record<string, unknown>>): Registration {
  try {
    return { ...membersOf('initial'), ...readRegistration(body) };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const [problem] = error.problems;
    const isOfRedirects = problem?.path.startsWith('redirect_uris') === true;
    const member = isOfRedirects ? 'redirect_uris' : problem?.path === 'name' ? 'client_name' : problem?.path;
    const description = `${member}: ${problem?.message ?? error.message}`.replaceAll(/["\\]/g, "'");
    throw isOfRedirects ? invalidRedirect(description) : invalid(description);
  }
}
