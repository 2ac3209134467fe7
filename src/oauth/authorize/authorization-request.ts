import { acrs } from '../../authentication/sessions/authentication.ts';
import type { ClientStatus } from '../../clients/choices.ts';
import { type Client, isClientId } from '../../clients/client.ts';
import { closestMatch, type Failure, failuresPathOf } from '../../clients/failures.ts';
import { matchesRegistered } from '../../clients/redirect-uri.ts';
import { defaultScope, describeAllowed, isMalformedScope, withinAllowed } from '../../clients/scopes.ts';
import { RequestError } from '../../platform/errors.ts';
import type { parseParameters } from '../../platform/http/parameters.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { type Static, Type } from '../../platform/schema.ts';
import {
  type ClaimsParameter,
  MalformedClaims,
  parseClaimsParameter,
  RequestedClaims,
} from '../claims/claims-parameter.ts';
import type { Deps } from '../deps.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';
import { isCodeChallenge } from '../token/authorization-code-grant.ts';
import { requestedAcrs } from './requested-acrs.ts';
import { canReceivePost, longestEcho, otherMode, readRefusedObject, responseModes } from './response-mode.ts';

type ClientDeps = Pick<Deps, 'clients' | 'clientFailures'>;

export const prompts = ['none', 'login', 'consent', 'select_account'] as const;
type Prompt = (typeof prompts)[number];

/** An authorization request that has passed every check, as it is stored while its user signs in. */
export const AuthorizationRequest = Type.Object({
  client_id: Type.String(),
  redirect_uri: Type.String(),
  state: Type.Optional(Type.String()),
  /** Left out: the query of the redirect URI. */
  response_mode: Type.Optional(Type.Enum(['fragment', 'form_post'])),
  scope: Type.String(),
  nonce: Type.Optional(Type.String()),
  code_challenge: Type.String(),
  prompt: Type.Array(Type.Enum(prompts)),
  /** Seconds. */
  max_age: Type.Optional(Type.Integer()),
  /** The first class that exists here of those that the client prefers (OIDC Core §5.5.1.1). */
  acr: Type.Optional(Type.Enum(acrs)),
  login_hint: Type.Optional(Type.String()),
  ui_locales: Type.Optional(Type.String()),
  /** The subject of a genuine `id_token_hint`. */
  hint_sub: Type.Optional(Type.String()),
  /** Of a test from the console: the owner of the client, for whom alone a code may be issued. */
  test_owner: Type.Optional(Type.String()),
  /** Whom `sub` in the parameter `claims` names. */
  subjects: Type.Optional(Type.Array(Type.String())),
  /** Classes of which one has to be reached, by an essential `acr` in `claims` (OIDC Core §5.5.1.1). */
  essential_acrs: Type.Optional(Type.Array(Type.Enum(acrs))),
  claims: Type.Optional(RequestedClaims),
});
export type AuthorizationRequest = Static<typeof AuthorizationRequest>;

/** What an authorization response may say in `error` (RFC 6749 §4.1.2.1, OIDC Core §3.1.2.6). */
type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'account_selection_required'
  | 'unmet_authentication_requirements'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported';

/** Thrown once client and redirect_uri are known to be good: the browser takes the error to the client. */
export class AuthorizationError extends Error {
  override name = 'AuthorizationError';
  readonly code: AuthorizationErrorCode;
  /** The part of the request, for the diagnosis that the owner of the client reads. */
  readonly about: 'scope' | 'pkce' | undefined;
  constructor(code: AuthorizationErrorCode, description: string, about?: 'scope' | 'pkce') {
    super(description);
    this.code = code;
    this.about = about;
  }
}

const malformed = (description: string, about?: 'pkce') =>
  new AuthorizationError('invalid_request', description, about);

const invalidScope = (description: string) => new AuthorizationError('invalid_scope', description, 'scope');

/** Those that mean something here (RFC 6749 §4.1.1, RFC 7636 §4.3, OIDC Core §3.1.2.1). */
const parameterNames: readonly string[] = [
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
  'acr_values',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'claims',
  'request',
  'request_uri',
  'registration',
];

type Parsed = ReturnType<typeof parseParameters>;
/** Where the authorization response goes. */
type RedirectTarget = { client: Client } & Pick<AuthorizationRequest, 'redirect_uri' | 'state' | 'response_mode'>;

/** Why a client may not start a sign-in. */
const refusalByStatus = {
  pending_review: 'is pending review, so it cannot start a sign-in yet.',
  rejected: 'was rejected in review, so it cannot start a sign-in.',
  suspended: 'is suspended, so it cannot start a sign-in.',
} as const satisfies Record<Exclude<ClientStatus, 'approved'>, string>;

type Sent = Readonly<Record<string, string | undefined>>;

/** For the page, as far as it is what its parameter should be: what is not would be text that the link's author chose. */
const legible = ({ client_id = '', redirect_uri = '' }: Sent): Sent => ({
  client_id: isClientId(client_id) ? client_id : undefined,
  redirect_uri: URL.canParse(redirect_uri) ? redirect_uri : undefined,
});

/** `description` is for the developer of the client, `userMessage` for the user. */
const invalidLink = (
  { client_id, redirect_uri }: Sent,
  description: string,
  userMessage: MessageDescriptor,
  client?: Client,
) =>
  new RequestError('invalid_request', description, {
    userMessage,
    title: { key: 'error.app_misconfigured' },
    sent: legible({ client_id, redirect_uri }),
    developerPath: client && failuresPathOf(client),
  });
const missing = (sent: Sent, parameter: 'client_id' | 'redirect_uri', client?: Client) =>
  invalidLink(sent, `${parameter} is missing.`, { key: 'authorize.missing' }, client);

/**
 * First phase: the client and the redirect_uri. Until both are known, a refusal is a page and never a redirect, which
 * would make this an open redirector (OAuth 2.1 §7.13.2). That includes clients that were never reviewed.
 * @param address of the requester.
 * @param test_owner of a stored request; while the client is theirs, its redirect URI is ours and not registered.
 * @throws {RequestError} `invalid_request` naming the parameter; `unauthorized_client`.
 */
export async function authorizeClient(
  deps: ClientDeps,
  { values, repeated }: Parsed,
  address: string,
  test_owner?: string,
): Promise<RedirectTarget> {
  const { client_id, redirect_uri } = values;
  for (const parameter of ['client_id', 'redirect_uri']) {
    if (repeated.has(parameter))
      throw invalidLink({}, `${parameter} was sent more than once.`, { key: 'authorize.repeated' });
  }
  if (client_id === undefined) throw missing(values, 'client_id');
  const client = isClientId(client_id) ? await deps.clients.find(client_id) : undefined;
  if (!client)
    throw invalidLink(values, 'client_id does not name a registered client.', { key: 'authorize.unknown_client' });
  const note = (failure: Failure) => {
    if (test_owner === undefined) deps.clientFailures.record({ client_id, stage: 'authorize', address }, failure);
  };
  if (redirect_uri === undefined) {
    note({ code: 'redirect_uri_missing' });
    throw missing(values, 'redirect_uri', client);
  }
  const isOwnTest = test_owner !== undefined && test_owner === client.owner_user_id;
  if (!isOwnTest && !matchesRegistered(client, redirect_uri)) {
    note({
      code: 'redirect_uri_differs',
      detail: () => ({ sent: redirect_uri, registered: closestMatch(client.redirect_uris, redirect_uri) }),
    });
    throw invalidLink(
      values,
      'redirect_uri does not match a registered redirect URI of this client, character for character.',
      { key: 'authorize.redirect_uri' },
      client,
    );
  }
  if (client.status !== 'approved') {
    note({ code: 'client_not_approved' });
    // The messages name the client only where its name was reviewed: it may be a sentence.
    const userMessage = { key: `authorize.${client.status}`, values: { client: client.name } } as const;
    throw new RequestError('unauthorized_client', `This client ${refusalByStatus[client.status]}`, {
      userMessage,
      title: { key: client.status === 'suspended' ? 'error.app_suspended' : 'error.app_not_approved' },
      sent: legible({ client_id, redirect_uri }),
      developerPath: failuresPathOf(client),
    });
  }
  const object = values.request === undefined ? {} : readRefusedObject(values.request);
  const { state = object.state, response_mode = object.response_mode } = values;
  return {
    client,
    redirect_uri,
    state: repeated.has('state') ? undefined : state,
    response_mode: repeated.has('response_mode') ? undefined : otherMode(response_mode, redirect_uri),
  };
}

/** The first phase again, for a pending request: meanwhile its client may have been suspended, its redirect_uri removed. */
export const recheckClient = (
  deps: ClientDeps,
  { client_id, redirect_uri, test_owner }: AuthorizationRequest,
  address: string,
) => authorizeClient(deps, { values: { client_id, redirect_uri }, repeated: new Set() }, address, test_owner);

/**
 * Second phase: the rest of the request.
 * @throws {AuthorizationError} to be sent to the client's redirect_uri.
 */
export async function readAuthorizationRequest(
  deps: Pick<Deps, 'keys'>,
  { client, redirect_uri, state, response_mode }: RedirectTarget,
  { values, repeated }: Parsed,
): Promise<AuthorizationRequest> {
  const twice = parameterNames.filter((name) => repeated.has(name));
  if (twice.includes('scope')) throw invalidScope('scope was sent more than once.');
  if (twice.length > 0) throw malformed(`Sent more than once: ${twice.join(', ')}.`);
  for (const value of [values.state, values.nonce]) {
    if (Buffer.byteLength(value ?? '') > longestEcho) throw malformed('state and nonce can have at most 4096 bytes.');
  }
  refuseUnsupported(values, redirect_uri);
  const { requested, subjects, acr } = readClaims(values.claims, client);
  const classes = requestedAcrs(values.acr_values, acr, client);
  if (classes.essential_acrs?.length === 0) throw unmet('claims');
  return {
    client_id: client.client_id,
    redirect_uri,
    state,
    response_mode,
    scope: readScope(client, values.scope),
    nonce: values.nonce,
    code_challenge: readCodeChallenge(values.code_challenge, values.code_challenge_method),
    prompt: readPrompt(values.prompt),
    max_age: readMaxAge(values.max_age),
    ...classes,
    subjects,
    claims: requested,
    login_hint: values.login_hint?.slice(0, 254),
    ui_locales: values.ui_locales?.slice(0, 100),
    hint_sub: values.id_token_hint === undefined ? undefined : await subjectOfHint(deps, values.id_token_hint),
  };
}

const unsupported = {
  request: 'Request objects are not supported.',
  request_uri: 'request_uri is not supported.',
  registration: 'The parameter registration is not supported.',
};

function refuseUnsupported(values: Parsed['values'], redirect_uri: string): void {
  for (const name of ['request', 'request_uri', 'registration'] as const) {
    if (values[name] !== undefined) throw new AuthorizationError(`${name}_not_supported`, unsupported[name]);
  }
  if (values.response_type === undefined) throw malformed('response_type is missing. It must be code.');
  if (values.response_type !== 'code') {
    throw new AuthorizationError('unsupported_response_type', 'The only supported response_type is code.');
  }
  const { response_mode = 'query' } = values;
  if (!responseModes.some((mode) => mode === response_mode)) {
    throw malformed(`response_mode must be one of: ${responseModes.join(', ')}.`);
  }
  if (response_mode === 'form_post' && !canReceivePost(redirect_uri)) {
    throw malformed('response_mode form_post needs an https or http redirect_uri; use query.');
  }
}

/** What is unknown here, or not allowed to the client, is left out (OIDC Core §3.1.2.1, RFC 6749 §3.3). */
function readScope({ allowed_scopes }: Client, scope = defaultScope.join(' ')): string {
  if (isMalformedScope(scope)) throw invalidScope('scope has a character that no scope has.');
  const granted = withinAllowed(scope, allowed_scopes);
  if (granted === '') throw invalidScope(describeAllowed(allowed_scopes));
  return granted;
}

/** PKCE for every client, by S256 alone; an absent method would mean `plain` (RFC 7636 §4.3). */
function readCodeChallenge(challenge: string | undefined, method: string | undefined): string {
  if (challenge === undefined)
    throw malformed(
      'code_challenge is missing. PKCE is required of every client: send code_challenge and code_challenge_method=S256.',
      'pkce',
    );
  if (method !== 'S256') {
    const sent = method === undefined ? 'is missing, which means plain' : 'is not S256';
    throw malformed(`code_challenge_method ${sent}. It must be S256.`, 'pkce');
  }
  if (!isCodeChallenge(challenge)) {
    throw malformed('code_challenge must be a base64url-encoded SHA-256 hash.', 'pkce');
  }
  return challenge;
}

function readPrompt(text: string | undefined): Prompt[] {
  const values = text === undefined ? [] : text.split(' ').filter((value) => value !== '');
  const known = values.filter((value): value is Prompt => prompts.some((prompt) => prompt === value));
  if (known.length < values.length) throw malformed(`prompt has an unknown value. Known are: ${prompts.join(', ')}.`);
  if (known.includes('none') && known.length > 1) {
    throw malformed('prompt=none cannot be combined with other values.');
  }
  return known;
}

function readMaxAge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text)) throw malformed('max_age must be a number of seconds.');
  return Number(text);
}

/**
 * OpenID Connect Core Error Code UNMET_AUTHENTICATION_REQUIREMENTS §2.
 * @param requiredBy where the client requires it: the parameter `claims`, or its registration.
 */
export const unmet = (requiredBy: 'claims' | 'default_acr_values') =>
  new AuthorizationError(
    'unmet_authentication_requirements',
    `${requiredBy} requires a value of acr that this sign-in does not reach.`,
  );

function readClaims(text: string | undefined, { allowed_scopes }: Client): Partial<ClaimsParameter> {
  if (text === undefined) return {};
  try {
    return parseClaimsParameter(text, allowed_scopes);
  } catch (error) {
    if (error instanceof MalformedClaims) throw malformed(error.message);
    throw error;
  }
}

/** A hint that is no id token of ours is ignored; an expired one still names the user. */
async function subjectOfHint(deps: Pick<Deps, 'keys'>, id_token_hint: string): Promise<string | undefined> {
  const claims = await undefinedIfInvalid(deps.keys.verify('JWT', id_token_hint));
  return typeof claims?.sub === 'string' ? claims.sub : undefined;
}
