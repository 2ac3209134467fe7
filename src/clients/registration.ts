import Type, { type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { shapeProblems } from '../platform/http/bodies.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { algorithms, type Client, clientTypes, type ReviewedFields } from './client.ts';
import { homepageUrlProblem, logoUrlProblem } from './presentation.ts';
import { redirectUriProblem } from './redirect-uri.ts';
import { defaultScope, scopeNames } from './scopes.ts';

/** Of any list. */
const maxEntries = 20;

const fields = {
  name: Type.String({ description: 'Shown to users when they sign in, 1 to 100 characters.' }),
  redirect_uris: Type.Array(Type.String({ format: 'uri' }), {
    minItems: 1,
    maxItems: maxEntries,
    uniqueItems: true,
    description: 'HTTPS, matched exactly; HTTP for localhost only. At most 8192 characters in total.',
  }),
};
const optional = Type.Partial(
  Type.Object({
    allowed_scopes: Type.Array(Type.Enum(scopeNames), { minItems: 1, uniqueItems: true }),
    logo_url: Type.Union([Type.String({ description: 'HTTPS, on a named host.' }), Type.Null()]),
    homepage_url: Type.Union([Type.String({ description: 'HTTPS.' }), Type.Null()]),
    id_token_signed_response_alg: Type.Enum([...algorithms]),
  }),
).properties;

/**
 * Body of `POST /v1/oauth/clients`. Other members are refused rather than ignored: a caller who sends `status`, `owner` or
 * `consent` expects it to have an effect.
 */
export const RegistrationBody = Type.Object(
  { name: fields.name, client_type: Type.Enum([...clientTypes]), redirect_uris: fields.redirect_uris, ...optional },
  { additionalProperties: false },
);

/** Body of `PATCH /v1/oauth/clients/:client_id`. With `revision`, the edit is refused if the client has changed since. */
export const EditBody = Type.Object(
  {
    revision: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    ...Type.Partial(Type.Object(fields)).properties,
    ...optional,
  },
  { additionalProperties: false },
);

/** Body of `POST /v1/oauth/clients/check`: a registration that is not complete yet. */
export const CheckBody = Type.Partial(RegistrationBody, { additionalProperties: false });

const registrationShape = Compile(RegistrationBody);
const editShape = Compile(EditBody);
const checkShape = Compile(CheckBody);

export type Registration = ReviewedFields & Pick<Client, 'client_type'>;
export type ClientEdit = { readonly revision: number | undefined; readonly fields: Partial<ReviewedFields> };

/**
 * @returns the registration with its defaults (specification §2.2).
 * @throws invalidFields with every problem at once, in ASCII, and nothing of what was sent.
 */
export function readRegistration(sent: unknown): Registration {
  const {
    name,
    allowed_scopes = [...defaultScope],
    logo_url = null,
    homepage_url = null,
    id_token_signed_response_alg = 'EdDSA',
    ...required
  } = read(registrationShape, sent);
  return {
    ...required,
    name: normalizeName(name),
    allowed_scopes,
    logo_url,
    homepage_url,
    id_token_signed_response_alg,
  };
}

/** @returns the members that the body has. @throws as {@link readRegistration} does. */
export function readClientEdit(sent: unknown): ClientEdit {
  const { revision, ...fields } = read(editShape, sent);
  return { revision, fields: fields.name === undefined ? fields : { ...fields, name: normalizeName(fields.name) } };
}

/** The problems of the members that a draft has; a missing one is no problem. */
export const checkDraft = (body: unknown): readonly FieldProblem[] => problemsOf(checkShape, body);

function read<Body>(shape: Validator<Record<never, never>, TSchema, unknown, Body>, sent: unknown): Body {
  const body = withShortLists(sent);
  const problems = problemsOf(shape, body);
  if (problems.length > 0) throw invalidFields(problems);
  return body as Body;
}

/** Lists cut to one entry too many: `uniqueItems` compares each with each, and a body can hold sixteen thousand. */
function withShortLists(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const short = (value: unknown) => (Array.isArray(value) ? value.slice(0, maxEntries + 1) : value);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, short(value)]));
}

/** Wrong shapes, and the problems of members whose shape is right. */
const problemsOf = (shape: Pick<Validator, 'Check' | 'Errors'>, body: unknown): FieldProblem[] => [
  ...(shape.Check(body) ? [] : shapeProblems(shape.Errors(body)).map(withUserMessages)),
  ...(typeof body === 'object' && body !== null ? contentProblems(body) : []),
];

/** The message of a schema is for programs; users get one for the field. */
function withUserMessages(problem: FieldProblem): FieldProblem {
  const field = formFields.find((name) => problem.path === name || problem.path.startsWith(`${name}/`));
  return field === undefined ? problem : { ...problem, userMessage: { key: `problem.client.${field}` } };
}

const formFields = ['name', 'client_type', 'redirect_uris', 'allowed_scopes', 'id_token_signed_response_alg'] as const;

/** @param body of any shape: members of a wrong type are skipped, since the schema has reported them. */
function contentProblems(body: {
  name?: unknown;
  redirect_uris?: unknown;
  logo_url?: unknown;
  homepage_url?: unknown;
}): FieldProblem[] {
  const uris: unknown[] = Array.isArray(body.redirect_uris) ? body.redirect_uris.slice(0, maxEntries) : [];
  return [
    ...nameProblem(body.name),
    ...uris.flatMap((uri, place) => textProblem(`redirect_uris/${place}`, uri, redirectUriProblem)),
    ...togetherProblem(uris),
    ...textProblem('logo_url', body.logo_url, logoUrlProblem),
    ...textProblem('homepage_url', body.homepage_url, homepageUrlProblem),
  ];
}

/** Characters of all redirect URIs of a client. The audit log keeps each version for good. */
const maxTogether = 8192;

function togetherProblem(uris: readonly unknown[]): FieldProblem[] {
  const length = uris.reduce((sum: number, uri) => sum + (typeof uri === 'string' ? uri.length : 0), 0);
  if (length <= maxTogether) return [];
  return [fieldProblem('redirect_uris', { key: 'problem.redirect_uri.together', values: { most: maxTogether } })];
}

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
