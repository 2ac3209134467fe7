import { acrs } from '../../authentication/sessions/authentication.ts';
import type { Client } from '../../clients/client.ts';
import { defaultScope, isMalformedScope } from '../../clients/scopes.ts';
import type { ParsedParameters } from '../../platform/http/parameters.ts';
import { type Static, type TObject, type TProperties, type TSchema, Type } from '../../platform/schema.ts';
import { MalformedClaims, parseClaimsParameter, RequestedClaims } from '../claims/claims-parameter.ts';
import type { Deps } from '../deps.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';
import { isCodeChallenge } from '../token/authorization-code-grant.ts';
import type { ResourceDeps } from '../token/resources.ts';
import { AuthorizationError, invalidScope, malformed, unmet } from './authorization-error.ts';
import { readTarget } from './read-target.ts';
import { requestedAcrs } from './requested-acrs.ts';
import { canReceivePost, longestEcho, type OtherMode, responseModes } from './response-mode.ts';

// The parameters of an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, OIDC Core §3.1.2.1): what each is, what is made of
// it, and what of that is stored while the user signs in. The stored type and the API description are made of this table.

/** Where the authorization response goes. */
export type ResponseTarget = { redirect_uri: string; state?: string | undefined; response_mode?: OtherMode };

/** What else there is to know when a parameter is read. */
export type Context = {
  deps: Pick<Deps, 'keys' | 'attributes'> & ResourceDeps;
  client: Client;
  target: ResponseTarget;
  values: ParsedParameters['values'];
  all: ParsedParameters['all'];
};

type Parameter<Stored extends TProperties> = {
  /** In the API description; left out of a parameter that is refused. */
  description?: string;
  schema?: TSchema;
  required?: true;
  /** It may come several times (RFC 8707 §2). */
  mayRepeat?: true;
  /** What is made of it, by the names under which it is stored. */
  stores: Stored;
  /** @param text undefined if it was not sent. */
  read(
    text: string | undefined,
    context: Context,
  ): Static<TObject<Stored>> | AuthorizationError | Promise<Static<TObject<Stored>> | AuthorizationError>;
};
const parameter = <Stored extends TProperties>(one: Parameter<Stored>) => one;

/** Read with another one. */
const readElsewhere = { stores: {}, read: () => ({}) };

const refused = (code: AuthorizationError['code'], description: string) =>
  parameter({ stores: {}, read: (text) => (text === undefined ? {} : new AuthorizationError(code, description)) });

const isTooLong = (echoed = '') => Buffer.byteLength(echoed) > longestEcho;
const tooLong = malformed('state and nonce can have at most 4096 bytes.');

export const prompts = ['none', 'login', 'consent', 'select_account'] as const;
type Prompt = (typeof prompts)[number];

/** In the order in which they are read, so that the first of several errors is the answer. */
export const parameters = {
  request: refused('request_not_supported', 'Request objects are not supported.'),
  request_uri: refused('request_uri_not_supported', 'request_uri is not supported.'),
  registration: refused('registration_not_supported', 'The parameter registration is not supported.'),
  response_type: parameter({
    description: '`code`',
    schema: Type.Enum(['code']),
    required: true,
    stores: {},
    read(text) {
      if (text === undefined) return malformed('response_type is missing. It must be code.');
      if (text === 'code') return {};
      return new AuthorizationError('unsupported_response_type', 'The only supported response_type is code.');
    },
  }),
  client_id: parameter({
    description: 'As issued at registration.',
    required: true,
    stores: { client_id: Type.String() },
    read: (_, { client }) => ({ client_id: client.client_id }),
  }),
  redirect_uri: parameter({
    description: 'A registered redirect URI, character for character.',
    required: true,
    stores: { redirect_uri: Type.String() },
    read: (_, { target }) => ({ redirect_uri: target.redirect_uri }),
  }),
  scope: parameter({
    description: `Separated by spaces. Default: \`${defaultScope.join(' ')}\`.`,
    /** `apis`: ids of those that the tokens are for; left out for none. */
    stores: { scope: Type.String(), apis: Type.Optional(Type.Array(Type.String())) },
    read(scope, { deps, client, all }) {
      if (scope !== undefined && isMalformedScope(scope))
        return invalidScope('scope has a character that no scope has.');
      return readTarget(deps, client, { scope, resources: all('resource') });
    },
  }),
  resource: parameter({
    description:
      'The identifier of an API that the tokens are for (RFC 8707), of which the client is allowed a scope. May be sent several times; scopes of ' +
      'other APIs are left out then. Without it, the APIs of the granted scopes. The issuer itself: no API.',
    schema: Type.String({ format: 'uri' }),
    mayRepeat: true,
    ...readElsewhere,
  }),
  state: parameter({
    description: `Returned unchanged; up to ${longestEcho} bytes.`,
    stores: { state: Type.Optional(Type.String()) },
    read: (text, { target }) => (isTooLong(text) ? tooLong : { state: target.state }),
  }),
  nonce: parameter({
    description: 'Returned in the ID token.',
    stores: { nonce: Type.Optional(Type.String()) },
    read: (nonce) => (isTooLong(nonce) ? tooLong : { nonce }),
  }),
  code_challenge: parameter({
    description: 'base64url-encoded SHA-256 hash of the code verifier.',
    required: true,
    stores: { code_challenge: Type.String() },
    /** PKCE for every client, by S256 alone; an absent method would mean `plain` (RFC 7636 §4.3). */
    read(challenge, { values: { code_challenge_method: method } }) {
      if (challenge === undefined)
        return malformed(
          'code_challenge is missing. PKCE is required of every client: send code_challenge and code_challenge_method=S256.',
          'pkce',
        );
      if (method !== 'S256') {
        const sent = method === undefined ? 'is missing, which means plain' : 'is not S256';
        return malformed(`code_challenge_method ${sent}. It must be S256.`, 'pkce');
      }
      if (isCodeChallenge(challenge)) return { code_challenge: challenge };
      return malformed('code_challenge must be a base64url-encoded SHA-256 hash.', 'pkce');
    },
  }),
  code_challenge_method: parameter({
    description: '`S256`',
    schema: Type.Enum(['S256']),
    required: true,
    ...readElsewhere,
  }),
  dpop_jkt: parameter({
    description: 'The thumbprint of the key (RFC 7638) with which the code will be redeemed (RFC 9449 section 10).',
    stores: { dpop_jkt: Type.Optional(Type.String()) },
    read(text) {
      if (text === undefined || /^[A-Za-z0-9_-]{43}$/.test(text)) return { dpop_jkt: text };
      return malformed('dpop_jkt must be the SHA-256 thumbprint of a JWK, in base64url.');
    },
  }),
  response_mode: parameter({
    description:
      '`form_post`: a page posts the answer to the redirect URI; `fragment`: it follows `#`. Default: `query`.',
    schema: Type.Enum([...responseModes]),
    /** Left out: the query of the redirect URI. */
    stores: { response_mode: Type.Optional(Type.Enum(['fragment', 'form_post'])) },
    read(mode = 'query', { target: { redirect_uri, response_mode } }) {
      if (!responseModes.some((known) => known === mode))
        return malformed(`response_mode must be one of: ${responseModes.join(', ')}.`);
      if (mode === 'form_post' && !canReceivePost(redirect_uri))
        return malformed('response_mode form_post needs an https or http redirect_uri; use query.');
      return { response_mode };
    },
  }),
  prompt: parameter({
    description: `${prompts.join(', ')}; separated by spaces.`,
    stores: { prompt: Type.Array(Type.Enum(prompts)) },
    read(text = '') {
      const values = text.split(' ').filter((value) => value !== '');
      const prompt = values.filter((value): value is Prompt => prompts.some((known) => known === value));
      if (prompt.length < values.length)
        return malformed(`prompt has an unknown value. Known are: ${prompts.join(', ')}.`);
      if (prompt.includes('none') && prompt.length > 1)
        return malformed('prompt=none cannot be combined with other values.');
      return { prompt };
    },
  }),
  max_age: parameter({
    description: 'Maximum age of the sign-in, in seconds.',
    stores: { max_age: Type.Optional(Type.Integer()) },
    read(text) {
      if (text === undefined) return {};
      return /^\d{1,10}$/.test(text) ? { max_age: Number(text) } : malformed('max_age must be a number of seconds.');
    },
  }),
  login_hint: parameter({
    description: 'An email address.',
    stores: { login_hint: Type.Optional(Type.String()) },
    read: (text) => ({ login_hint: text?.slice(0, 254) }),
  }),
  id_token_hint: parameter({
    description: 'An ID token from this issuer that identifies the expected user.',
    /** The subject of a genuine one. One that is no ID token of ours is ignored; an expired one still names the user. */
    stores: { hint_sub: Type.Optional(Type.String()) },
    async read(hint, { deps }) {
      const claims = hint === undefined ? undefined : await undefinedIfInvalid(deps.keys.verify('JWT', hint));
      return typeof claims?.sub === 'string' ? { hint_sub: claims.sub } : {};
    },
  }),
  ui_locales: parameter({
    description: 'Page languages, in order of preference.',
    stores: { ui_locales: Type.Optional(Type.String()) },
    read: (text) => ({ ui_locales: text?.slice(0, 100) }),
  }),
  claims: parameter({
    description:
      'Claims by name, as JSON with the members `userinfo` and `id_token` (OIDC Core section 5.5); up to 4096 bytes. ' +
      'A claim is released if its scope is among those that the client is allowed. `sub` selects the user, an essential ' +
      '`acr` has to be reached.',
    stores: {
      claims: Type.Optional(RequestedClaims),
      /** Whom `sub` names. */
      subjects: Type.Optional(Type.Array(Type.String())),
      /** The first class that exists here of those that the client prefers (OIDC Core §5.5.1.1). */
      acr: Type.Optional(Type.Enum(acrs)),
      /** Classes of which one has to be reached, by an essential `acr` (OIDC Core §5.5.1.1). */
      essential_acrs: Type.Optional(Type.Array(Type.Enum(acrs))),
    },
    async read(text, { deps, client, values }) {
      const asked = await readClaims(deps, text, client);
      if (asked instanceof AuthorizationError) return asked;
      const classes = requestedAcrs(values.acr_values, asked.acr, client);
      if (classes.essential_acrs?.length === 0) return unmet('claims');
      return { claims: asked.requested, subjects: asked.subjects, ...classes };
    },
  }),
  acr_values: parameter({
    description:
      'Authentication context classes, in order of preference, as a voluntary claim: with `urn:signet:acr:2fa` first, a ' +
      'user who has a passkey and has not used it is asked for it and may decline. Without it, `default_acr_values` of ' +
      'the client apply; a second factor that they require is required in any case. `acr` in the ID token states the ' +
      'class that was reached.',
    ...readElsewhere,
  }),
};

async function readClaims({ attributes }: Context['deps'], text: string | undefined, { allowed_scopes }: Client) {
  if (text === undefined) return { requested: undefined, subjects: undefined, acr: undefined };
  try {
    return parseClaimsParameter(text, allowed_scopes, await attributes.read());
  } catch (error) {
    if (error instanceof MalformedClaims) return malformed(error.message);
    throw error;
  }
}

/** For the API description. */
export const describedParameters: Readonly<
  Record<string, { description: string; schema: TSchema; required: boolean }>
> = Object.fromEntries(
  Object.entries<Parameter<TProperties>>(parameters).flatMap(([name, { description, schema, required = false }]) =>
    description === undefined ? [] : [[name, { description, schema: schema ?? Type.String(), required }]],
  ),
);
