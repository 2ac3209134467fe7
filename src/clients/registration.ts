import { readReason, reasonProblem } from '../audit/audit.ts';
import { acrs } from '../authentication/sessions/authentication.ts';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { inCode, nameInCode } from '../platform/http/operation.ts';
import { httpsUrlPattern, redirectUriPattern, serverUriPattern } from '../platform/http/url-patterns.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { Type } from '../platform/schema.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { compile, type Validator } from '../platform/validator.ts';
import {
  algorithms,
  applicationTypes,
  authenticationMethods,
  type Client,
  clientTypes,
  type ReviewedFields,
} from './client.ts';
import { libraryIds } from './libraries/catalogue.ts';
import { homepageUrlProblem, logoUrlProblem } from './presentation.ts';
import { backchannelUriProblem, isNativeUri, isPrivateUse, redirectUriProblem } from './redirect-uri.ts';
import { defaultAllowedScopes, scopeNames } from './scopes.ts';

/** Of any list. */
const maxEntries = 20;

const link = inCode({ format: 'uri', maxLength: 2048, pattern: httpsUrlPattern });

const fields = {
  name: Type.String({ description: 'Shown to users when they sign in, 1 to 100 characters.', ...nameInCode }),
  redirect_uris: Type.Array(
    Type.String({ format: 'uri', ...inCode({ maxLength: 2048, pattern: redirectUriPattern }) }),
    {
      minItems: 1,
      maxItems: maxEntries,
      uniqueItems: true,
      description:
        'HTTPS, matched exactly; HTTP for localhost only. A native app may use a scheme of its own, such as ' +
        '`com.example.app:/callback`. At most 8192 characters in total.',
    },
  ),
};
/** What the owner says to the reviewer. It is no part of what is registered. */
const note = Type.Optional(
  Type.Union([Type.String({ minLength: 1, ...inCode({ maxLength: 1000 }) }), Type.Null()], {
    description:
      'What the reviewer should know, 1 to 500 characters: an answer to a rejection, what the client is for. Shown to administrators ' +
      'with the revision until it is decided, and kept in the audit log. Left out: that of before stays.',
  }),
);

const optional = Type.Partial(
  Type.Object({
    application_type: Type.Enum([...applicationTypes], {
      description:
        '`web`: on a server. `spa`: in a browser; unused refresh tokens expire after 24 hours. `native`: on a device; any ' +
        'port of a loopback IP address matches, and private-use schemes may be registered (RFC 8252). Default: `native` ' +
        'for a public client with such a redirect URI, else `web`.',
    }),
    post_logout_redirect_uris: Type.Array(
      Type.String({ format: 'uri', ...inCode({ maxLength: 2048, pattern: redirectUriPattern }) }),
      {
        maxItems: maxEntries,
        uniqueItems: true,
        description: 'Where `/oauth/logout` may redirect to. The rules of redirect_uris apply.',
      },
    ),
    backchannel_logout_uri: Type.Union([
      Type.String({
        format: 'uri',
        description:
          'Where logout tokens are posted. HTTPS; HTTP for localhost only, if the operator lets them go there.',
        ...inCode({ maxLength: 2048, pattern: serverUriPattern }),
      }),
      Type.Null(),
    ]),
    backchannel_logout_session_required: Type.Boolean(),
    allowed_scopes: Type.Array(Type.Enum(scopeNames), {
      minItems: 1,
      uniqueItems: true,
      description: 'What it may request. At registration the default is `openid email profile`.',
    }),
    default_acr_values: Type.Array(Type.Enum([...acrs]), {
      maxItems: acrs.length,
      uniqueItems: true,
      description:
        'Authentication context classes that the client accepts, by preference. With `urn:signet:acr:2fa` alone, a second ' +
        'factor is required at every sign-in, whatever a request asks for. With `urn:signet:acr:1fa` behind it, it is ' +
        'preferred, unless a request says otherwise in `acr_values` or `claims`. Default: none.',
    }),
    logo_url: Type.Union([Type.String({ description: 'HTTPS, on a named host.', ...link }), Type.Null()]),
    homepage_url: Type.Union([Type.String({ description: 'HTTPS.', ...link }), Type.Null()]),
    policy_uri: Type.Union([Type.String({ description: 'The privacy policy. HTTPS.', ...link }), Type.Null()]),
    tos_uri: Type.Union([Type.String({ description: 'The terms of service. HTTPS.', ...link }), Type.Null()]),
    id_token_signed_response_alg: Type.Enum([...algorithms], {
      description: 'Of its ID tokens and access tokens. At registration the default is `EdDSA`.',
    }),
    claims_in_id_token: Type.Boolean({ description: 'Whether id tokens carry the claims of the granted scopes.' }),
    token_endpoint_auth_method: Type.Union([Type.Enum([...authenticationMethods]), Type.Null()], {
      description: 'The only accepted method; null accepts a secret in HTTP Basic and in the body.',
    }),
    library: Type.Union([
      Type.Enum([...libraryIds], {
        description: 'What it signs users in with; see docs/relying-parties. It changes no default.',
      }),
      Type.Null(),
    ]),
  }),
).properties;

/**
 * Body of `POST /v1/oauth/clients`. Other members are refused rather than ignored: a caller who sends `status`, `owner` or
 * `consent` expects it to have an effect.
 */
export const RegistrationBody = Type.Object(
  {
    name: fields.name,
    client_type: Type.Enum([...clientTypes]),
    redirect_uris: fields.redirect_uris,
    ...optional,
    note_to_reviewer: note,
  },
  { additionalProperties: false },
);

/** Body of `PATCH /v1/oauth/clients/:client_id`. With `revision`, the edit is refused if the client has changed since. */
export const EditBody = Type.Object(
  {
    revision: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    ...Type.Partial(Type.Object(fields)).properties,
    ...optional,
    note_to_reviewer: note,
  },
  { additionalProperties: false },
);

/** Of every operation that registers a client. */
export const registrationBody = {
  body: RegistrationBody,
  parsesBody: true as const,
  example: {
    name: 'Example shop',
    client_type: 'confidential' as const,
    redirect_uris: ['https://shop.example.com/callback'],
  },
};

/** Body of `POST /v1/oauth/clients/check`: a registration that is not complete yet. */
export const CheckBody = Type.Partial(RegistrationBody, { additionalProperties: false });

const registrationShape = compile(RegistrationBody);
const editShape = compile(EditBody);
const checkShape = compile(CheckBody);

export type Registration = ReviewedFields & Pick<Client, 'client_type' | 'note_to_reviewer'>;
export type ClientEdit = {
  readonly revision: number | undefined;
  readonly fields: Partial<ReviewedFields>;
  /** Undefined: that of before stays. */
  readonly note_to_reviewer?: string | null | undefined;
};

/**
 * @returns the registration with its defaults (specification §2.2).
 * @throws invalidFields with every problem at once, in ASCII, and nothing of what was sent.
 */
export function readRegistration(sent: unknown): Registration {
  const { name, note_to_reviewer = null, ...body } = read(registrationShape, sent);
  const isNative = body.client_type === 'public' && body.redirect_uris.some(isNativeUri);
  const registration: Registration = {
    ...defaults,
    application_type: isNative ? 'native' : 'web',
    ...body,
    name: normalizeName(name),
    note_to_reviewer: note_to_reviewer && readReason(note_to_reviewer),
  };
  requireConsistent(registration);
  return registration;
}

const defaults = {
  post_logout_redirect_uris: [],
  backchannel_logout_uri: null,
  backchannel_logout_session_required: false,
  allowed_scopes: [...defaultAllowedScopes],
  default_acr_values: [],
  logo_url: null,
  homepage_url: null,
  policy_uri: null,
  tos_uri: null,
  id_token_signed_response_alg: 'EdDSA',
  claims_in_id_token: false,
  token_endpoint_auth_method: null,
  library: null,
} as const satisfies Partial<ReviewedFields>;

/** @throws invalidFields */
export function requireConsistent(wanted: Omit<Registration, 'note_to_reviewer'>): void {
  const problems = inconsistencies(wanted);
  if (problems.length > 0) throw invalidFields(problems);
}

/** Problems of fields that are right by themselves, but not together. A missing one contradicts none. */
function inconsistencies(wanted: Partial<Registration>): FieldProblem[] {
  const { client_type, application_type, token_endpoint_auth_method: method = null } = wanted;
  const hasWebOrigin = application_type === 'web' || application_type === 'spa';
  const problems = uriLists.flatMap((field) =>
    (wanted[field] ?? []).flatMap((uri, place) =>
      hasWebOrigin && isPrivateUse(uri)
        ? [fieldProblem(`${field}/${place}`, { key: 'problem.redirect_uri.scheme' })]
        : [],
    ),
  );
  if (client_type === 'confidential' && (application_type === 'spa' || application_type === 'native')) {
    problems.push(fieldProblem('application_type', { key: 'problem.client.application_type.secret' }));
  }
  if (client_type && method !== null && (method === 'none') !== (client_type === 'public')) {
    problems.push(
      fieldProblem('token_endpoint_auth_method', { key: `problem.client.token_endpoint_auth_method.${client_type}` }),
    );
  }
  return problems;
}

/** @returns the members that the body has. @throws as {@link readRegistration} does. */
export function readClientEdit(sent: unknown): ClientEdit {
  const { revision, note_to_reviewer: note, ...fields } = read(editShape, sent);
  return {
    revision,
    fields: fields.name === undefined ? fields : { ...fields, name: normalizeName(fields.name) },
    note_to_reviewer: note && readReason(note),
  };
}

/** The problems of the members that a draft has; a missing one is no problem. */
export function checkDraft(sent: unknown): readonly FieldProblem[] {
  const body = withShortLists(sent);
  const problems = problemsOf(checkShape, body);
  if (!checkShape.check(body)) return problems;
  const isFine = ({ path }: FieldProblem) => !problems.some((problem) => problem.path === path);
  return [...problems, ...inconsistencies(body).filter(isFine)];
}

function read<Body>(shape: Validator<Body>, sent: unknown): Body {
  const body = withShortLists(sent);
  const problems = problemsOf(shape, body);
  if (problems.length > 0) throw invalidFields(problems);
  return body as Body;
}

/** Lists cut to one entry too many: `uniqueItems` compares each with each, and a body can hold sixteen thousand. */
function withShortLists(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const short = (value: unknown) => (Array.isArray(value) ? value.slice(0, maxEntries + 1) : value);
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [[name, short(value)]])),
  );
}

/** What is wrong with the content of a member says more than that its pattern does not match. */
function problemsOf(shape: Validator<unknown>, body: unknown): FieldProblem[] {
  const said = typeof body === 'object' && body !== null ? contentProblems(body) : [];
  const isNew = ({ path }: FieldProblem) => !said.some((problem) => problem.path === path);
  return [...shape.problems(body).filter(isNew).map(withUserMessages), ...said];
}

/** The message of a schema is for programs; users get one for the field. */
function withUserMessages(problem: FieldProblem): FieldProblem {
  const field = formFields.find((name) => problem.path === name || problem.path.startsWith(`${name}/`));
  return field === undefined ? problem : { ...problem, userMessage: { key: `problem.client.${field}` } };
}

const formFields = [
  'name',
  'client_type',
  'application_type',
  'redirect_uris',
  'post_logout_redirect_uris',
  'allowed_scopes',
  'default_acr_values',
  'id_token_signed_response_alg',
  'library',
  'note_to_reviewer',
] as const;

/** @param body of any shape: members of a wrong type are skipped, since the schema has reported them. */
function contentProblems(body: { readonly [Member in keyof Registration]?: unknown }): FieldProblem[] {
  return [
    ...nameProblem(body.name),
    ...textProblem('note_to_reviewer', body.note_to_reviewer, noteProblem),
    ...uriLists.flatMap((field) => uriListProblems(field, body[field])),
    ...textProblem('backchannel_logout_uri', body.backchannel_logout_uri, backchannelUriProblem),
    ...textProblem('logo_url', body.logo_url, logoUrlProblem),
    ...pageFields.flatMap((field) => textProblem(field, body[field], homepageUrlProblem)),
  ];
}

/** Pages of the client that users are shown a link to. */
const pageFields = ['homepage_url', 'policy_uri', 'tos_uri'] as const;

/** Characters of all URIs of a list. The audit log keeps each version for good. */
const maxTogether = 8192;

const uriLists = ['redirect_uris', 'post_logout_redirect_uris'] as const;

function uriListProblems(field: (typeof uriLists)[number], list: unknown): FieldProblem[] {
  const uris: unknown[] = Array.isArray(list) ? list.slice(0, maxEntries) : [];
  const problems = uris.flatMap((uri, place) => textProblem(`${field}/${place}`, uri, redirectUriProblem));
  const length = uris.reduce((sum: number, uri) => sum + (typeof uri === 'string' ? uri.length : 0), 0);
  if (length <= maxTogether) return problems;
  return [...problems, fieldProblem(field, { key: 'problem.redirect_uri.together', values: { max: maxTogether } })];
}

const noteProblem = (note: string): MessageDescriptor | undefined =>
  reasonProblem(note) && { key: 'problem.client.note_to_reviewer' };

function nameProblem(name: unknown): FieldProblem[] {
  const message = typeof name === 'string' ? displayNameProblem(name) : undefined;
  return message === undefined ? [] : [{ path: 'name', message, userMessage: { key: 'problem.client.name' } }];
}

function textProblem(
  path: string,
  value: unknown,
  problemOf: (text: string) => MessageDescriptor | undefined,
): FieldProblem[] {
  const userMessage = typeof value === 'string' ? problemOf(value) : undefined;
  return userMessage === undefined ? [] : [fieldProblem(path, userMessage)];
}
