import { longestScope, scopePattern } from '../apis/api-rules.ts';
import { type Acr, acrs } from '../authentication/sessions/authentication.ts';
import { choice, flag, jsonObject, jsonTexts, nullable, text } from '../platform/db/rows.ts';
import { inCode, nameInCode, nullable as orNull } from '../platform/http/operation.ts';
import { httpsUrlPattern, redirectUriPattern, serverUriPattern } from '../platform/http/url-patterns.ts';
import { Type } from '../platform/schema.ts';
import { methodNames } from './authentication-methods.ts';
import { applicationTypes, signingAlgorithms } from './choices.ts';
import type { ClientField, Control } from './client-field.ts';
import { type KeySet, keySetSchema } from './keys/key-set.ts';
import { libraryIds } from './libraries/catalogue.ts';
import { homepageUrlProblem, logoUrlProblem, startUrlProblem } from './page-url.ts';
import { redirectUriProblem, serverUriProblem } from './redirect-uri.ts';
import { defaultAllowedScopes, scopeNames } from './scopes.ts';

// The fields of a client that an administrator reviews. Row, bodies, record, form, command options, comparison and log are made
// of this table: another field is one entry here, a migration, and its texts, as docs/architecture.md lists them.

/** Of any list, but for the scopes. */
export const maxEntries = 20;
/** Ours, and those of a few APIs: each is a question to the users. */
const maxAllowedScopes = 50;

const uri = (pattern: string) => ({ format: 'uri', ...inCode({ maxLength: 2048, pattern }) });
/** In the API description alone: the message of {@link homepageUrlProblem} says more. */
const linkInCode = inCode({ format: 'uri', maxLength: 2048, pattern: httpsUrlPattern });

const redirectUris = { column: jsonTexts(), control: { kind: 'lines' }, problem: redirectUriProblem } as const;
const linesOf = (options: object) =>
  Type.Array(Type.String(uri(redirectUriPattern)), { maxItems: maxEntries, uniqueItems: true, ...options });

const linkColumn = {
  column: nullable(text),
  control: { kind: 'text' },
  initial: null,
  part: 'more',
  isLink: true,
} as const;
const linkBody = (description: string) => ({
  body: orNull(Type.String({ description, ...linkInCode })),
  record: orNull(Type.String({ description })),
});

/** In the order in which a reviewer reads them. */
export const clientFields = {
  name: {
    column: text,
    control: { kind: 'text' },
    part: 'main',
    body: Type.String({ description: 'Shown to users when they sign in, 1 to 100 characters.', ...nameInCode }),
    record: Type.String(),
    option: { name: 'name', value: 'name', help: 'name that users see' },
  },
  application_type: {
    column: choice(...applicationTypes),
    part: 'technical',
    control: { kind: 'choice', values: applicationTypes, as: 'radio', texts: 'application_type' },
    body: Type.Enum([...applicationTypes], {
      description:
        '`web`: on a server. `spa`: in a browser; unused refresh tokens expire after 24 hours. `native`: on a device; any ' +
        'port of a loopback IP address matches, and of a `localhost` without a port; private-use schemes may be registered ' +
        '(RFC 8252). Default: `native` for a public client with such a scheme or IP address, else `web`.',
    }),
    record: Type.Enum([...applicationTypes]),
    option: { name: 'application-type', value: 'type', help: 'where it runs: server, browser or device' },
  },
  redirect_uris: {
    ...redirectUris,
    part: 'main',
    body: linesOf({
      minItems: 1,
      description:
        'HTTPS, matched exactly; HTTP for localhost only. A native app may use a scheme of its own, such as ' +
        '`com.example.app:/callback`. At most 8192 characters in total.',
    }),
    record: Type.Array(Type.String()),
    option: { name: 'redirect-uri', value: 'uri', help: 'all redirect URIs' },
  },
  post_logout_redirect_uris: {
    ...redirectUris,
    initial: [],
    part: 'more',
    body: linesOf({ description: 'Where `/oauth/logout` may redirect to. The rules of redirect_uris apply.' }),
    record: Type.Array(Type.String()),
    option: { name: 'post-logout-redirect-uri', value: 'uri', help: 'all URIs to redirect to after sign-out' },
  },
  backchannel_logout_uri: {
    ...{
      column: nullable(text),
      control: { kind: 'text' },
      initial: null,
      part: 'more',
      problem: serverUriProblem,
    },
    body: orNull(
      Type.String({
        description:
          'Where logout tokens are posted. HTTPS; HTTP for localhost only, if the operator lets them go there.',
        ...uri(serverUriPattern),
      }),
    ),
    record: orNull(Type.String()),
    option: { name: 'backchannel-logout-uri', value: 'uri', help: 'URI that logout tokens are sent to' },
  },
  /** Logout tokens without `sid` are of no use to it (Back-Channel Logout 1.0 §2.2). */
  backchannel_logout_session_required: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'more',
    body: Type.Boolean(),
    record: Type.Boolean(),
    option: { name: 'backchannel-logout-session-required', help: 'whether logout tokens have to carry sid' },
  },
  allowed_scopes: {
    column: jsonTexts(),
    control: { kind: 'scopes' },
    initial: defaultAllowedScopes,
    part: 'main',
    body: Type.Array(Type.String({ minLength: 1, maxLength: longestScope, pattern: scopePattern }), {
      minItems: 1,
      maxItems: maxAllowedScopes,
      uniqueItems: true,
      description: `What it may request: ${scopeNames.map((name) => `\`${name}\``).join(', ')}, and scopes of registered APIs. At registration the default is \`openid email profile\`.`,
    }),
    record: Type.Array(Type.String()),
    option: { name: 'scope', value: 'scope', help: 'all allowed scopes' },
  },
  /** See `secondFactorOf`. */
  default_acr_values: {
    column: jsonTexts<Acr>(),
    control: { kind: 'second_factor' },
    initial: [],
    part: 'more',
    body: Type.Array(Type.Enum([...acrs]), {
      maxItems: acrs.length,
      uniqueItems: true,
      description:
        'Authentication context classes that the client accepts, by preference. With `urn:signet:acr:2fa` alone, a second ' +
        'factor is required at every sign-in, whatever a request asks for. With `urn:signet:acr:1fa` behind it, it is ' +
        'preferred, unless a request says otherwise in `acr_values` or `claims`. Default: none.',
    }),
    record: Type.Array(Type.Enum([...acrs])),
    option: { name: 'second-factor', value: 'choice', help: 'whether users need a second factor' },
  },
  logo_url: {
    ...linkColumn,
    ...linkBody('A PNG, JPEG or WebP file of at most 32 KB, fetched once for the review. HTTPS, on a named host.'),
    option: { name: 'logo-url', value: 'url', help: 'URL of its logo' },
    problem: logoUrlProblem,
  },
  homepage_url: {
    ...linkColumn,
    ...linkBody('HTTPS.'),
    option: { name: 'homepage-url', value: 'url', help: 'URL of its homepage' },
    problem: homepageUrlProblem,
  },
  /** Where its users start it (OpenID Connect Core §4), from the page of their apps. */
  initiate_login_uri: {
    ...linkColumn,
    ...linkBody(
      'Where a sign-in at the app begins (OpenID Connect Core section 4): *My apps* sends its users there, with `iss`. HTTPS, without a fragment.',
    ),
    option: { name: 'initiate-login-uri', value: 'uri', help: 'URI at which a sign-in at it begins' },
    problem: startUrlProblem,
  },
  /** Links of the consent page (RFC 7591 §2): how the client uses data of its users, and its terms of service. */
  policy_uri: {
    ...linkColumn,
    ...linkBody('The privacy policy. HTTPS.'),
    option: { name: 'policy-uri', value: 'url', help: 'URL of its privacy policy' },
    problem: homepageUrlProblem,
  },
  tos_uri: {
    ...linkColumn,
    ...linkBody('The terms of service. HTTPS.'),
    option: { name: 'tos-uri', value: 'url', help: 'URL of its terms of service' },
    problem: homepageUrlProblem,
  },
  /** Access tokens follow it, for libraries without EdDSA (decisions §4). */
  id_token_signed_response_alg: {
    column: choice(...signingAlgorithms),
    initial: 'EdDSA',
    part: 'technical',
    control: { kind: 'choice', values: signingAlgorithms, as: 'radio', texts: 'algorithm' },
    body: Type.Enum([...signingAlgorithms], {
      description: 'Of its ID tokens and access tokens. At registration the default is `EdDSA`.',
    }),
    record: Type.Enum([...signingAlgorithms]),
    option: { name: 'alg', value: 'algorithm', help: 'algorithm for signing its tokens' },
  },
  /** Id tokens carry the claims of the granted scopes, for libraries that do not read userinfo. */
  claims_in_id_token: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'technical',
    body: Type.Boolean({ description: 'Whether id tokens carry the claims of the granted scopes.' }),
    record: Type.Boolean(),
    option: { name: 'claims-in-id-token', help: "whether ID tokens contain the user's claims" },
  },
  /** See `statusOf`. */
  status_in_access_token: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'more',
    body: Type.Boolean({
      description:
        'Whether its access tokens carry a status, by which whoever checks them without asking knows revoked ones. Those for an API that asks for it carry one anyway.',
    }),
    record: Type.Boolean(),
    option: { name: 'status-in-access-token', help: 'whether access tokens carry a status' },
  },
  /** The only method that the token endpoint accepts; null for either way to send a secret. */
  token_endpoint_auth_method: {
    column: nullable(choice(...methodNames)),
    initial: null,
    part: 'technical',
    control: { kind: 'choice', values: methodNames, as: 'select', texts: 'authentication', unset: 'any' },
    body: Type.Union([Type.Enum([...methodNames]), Type.Null()], {
      description:
        'The only accepted method; null accepts a secret in HTTP Basic and in the body, and of a client with keys an assertion.',
    }),
    record: orNull(Type.Enum([...methodNames])),
    option: { name: 'auth-method', value: 'method', help: 'the only authentication method to accept' },
  },
  /** Where it publishes the keys that it signs with (RFC 7591 §2), which are then its own to replace. */
  jwks_uri: {
    ...{
      column: nullable(text),
      control: { kind: 'text' },
      initial: null,
      part: 'technical',
      problem: serverUriProblem,
    },
    body: orNull(
      Type.String({
        description:
          'Where its public keys are published as a JSON Web Key Set. HTTPS; HTTP for localhost only, if the operator lets ' +
          'requests go there. Instead of `jwks`.',
        ...uri(serverUriPattern),
      }),
    ),
    record: orNull(Type.String({ description: 'Where its public keys are published.' })),
    option: { name: 'jwks-uri', value: 'uri', help: 'URI that its public keys are published at' },
  },
  /** Those keys themselves, each of which is then reviewed. */
  jwks: {
    column: nullable(jsonObject<KeySet>()),
    initial: null,
    part: 'technical',
    control: { kind: 'json' },
    body: orNull(
      keySetSchema(
        'Its public keys (RFC 7517 §5), of EC P-256, Ed25519 or RSA; never a private one. Instead of `jwks_uri`.',
      ),
    ),
    record: orNull(keySetSchema('Its public keys.')),
    option: { name: 'jwks', value: 'file', help: 'file of its public keys as a JSON Web Key Set' },
  },
  dpop_bound_access_tokens: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'more',
    body: Type.Boolean({ description: 'Whether its access tokens have to be bound to a key (RFC 9449 section 5.2).' }),
    record: Type.Boolean(),
    option: { name: 'dpop-bound-tokens', help: 'whether its access tokens have to be bound to a key' },
  },
  require_pushed_authorization_requests: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'more',
    body: Type.Boolean({ description: 'Whether its authorization requests have to be pushed (RFC 9126).' }),
    record: Type.Boolean(),
    option: { name: 'require-pushed-requests', help: 'whether its authorization requests have to be pushed' },
  },
  require_signed_request_object: {
    column: flag,
    control: { kind: 'switch' },
    initial: false,
    part: 'more',
    body: Type.Boolean({ description: 'Whether what it pushes has to be a signed request object (RFC 9101).' }),
    record: Type.Boolean(),
    option: { name: 'require-signed-requests', help: 'whether what it pushes has to be signed' },
  },
  /** What it uses to sign users in: an id of the catalogue. */
  library: {
    column: nullable(text),
    control: { kind: 'library' },
    initial: null,
    part: 'technical',
    body: orNull(
      Type.Enum([...libraryIds], {
        description: 'What it signs users in with, as named under `/docs/relying-parties`. It changes no default.',
      }),
    ),
    record: orNull(Type.String()),
    option: { name: 'library', value: 'library', help: 'library that it uses, named as in docs/relying-parties' },
  },
} as const satisfies Record<string, ClientField>;

type Fields = typeof clientFields;
export type FieldName = keyof Fields;
export const fieldNames = Object.keys(clientFields) as readonly FieldName[];

/** The fields whose control is of these kinds. */
export type FieldsOf<Kind extends Control['kind']> = {
  [Name in FieldName]: Fields[Name]['control']['kind'] extends Kind ? Name : never;
}[FieldName];

/** An entry by the type that all of them have, where its own does not matter. */
export const fieldOf = (name: FieldName): ClientField => clientFields[name];

export const fieldsOf = <Kind extends Control['kind']>(kind: Kind) =>
  fieldNames.filter((name): name is FieldsOf<Kind> => fieldOf(name).control.kind === kind);

/** One member of every entry that has it, by the name of the field. */
export const membersOf = <Member extends 'column' | 'body' | 'record' | 'initial'>(member: Member) =>
  Object.fromEntries(
    fieldNames.flatMap((name) => (member in clientFields[name] ? [[name, fieldOf(name)[member]]] : [])),
  ) as {
    [Name in FieldName as Member extends keyof Fields[Name] ? Name : never]: Fields[Name][Member & keyof Fields[Name]];
  };

type LinkField = { [Name in FieldName]: Fields[Name] extends { isLink: true } ? Name : never }[FieldName];
export const linkFields = fieldNames.filter((name): name is LinkField => fieldOf(name).isLink === true);
