import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { type ShapeError, shapeProblems } from '../platform/http/bodies.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { type ClientType, clientTypes, type ReviewedFields } from './client.ts';
import { homepageUrlProblem, logoUrlProblem } from './presentation.ts';
import { redirectUriProblem } from './redirect-uri.ts';
import { defaultScope, scopeNames } from './scopes.ts';
import { algorithms } from './signing-algorithm.ts';

/** Of any list. */
const maxEntries = 20;

/** What the owner may choose later on as well. Lengths and characters are judged below, with words of their own. */
const editable = {
  name: Type.String({ description: 'Shown to users when they sign in, 1 to 100 characters.' }),
  redirect_uris: Type.Array(Type.String({ format: 'uri' }), {
    minItems: 1,
    maxItems: maxEntries,
    uniqueItems: true,
    description: 'HTTPS, matched exactly; HTTP for localhost only. At most 8192 characters in total.',
  }),
  allowed_scopes: Type.Array(Type.Enum(scopeNames), { minItems: 1, uniqueItems: true }),
  logo_url: Type.Union([Type.String({ description: 'HTTPS, on a named host.' }), Type.Null()]),
  homepage_url: Type.Union([Type.String({ description: 'HTTPS.' }), Type.Null()]),
  id_token_signed_response_alg: Type.Enum([...algorithms]),
};

/**
 * Body of `POST /v1/oauth/clients`. Other members are refused rather than ignored: whoever sends `status`, `owner` or
 * `consent` believes that it did something.
 */
export const RegistrationBody = Type.Object(
  {
    name: editable.name,
    client_type: Type.Enum([...clientTypes]),
    redirect_uris: editable.redirect_uris,
    allowed_scopes: Type.Optional(editable.allowed_scopes),
    logo_url: Type.Optional(editable.logo_url),
    homepage_url: Type.Optional(editable.homepage_url),
    id_token_signed_response_alg: Type.Optional(editable.id_token_signed_response_alg),
  },
  { additionalProperties: false },
);

/** Body of `PATCH /v1/oauth/clients/:client_id`. With `revision`, the edit is refused if the client moved since. */
export const EditBody = Type.Object(
  {
    revision: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    name: Type.Optional(editable.name),
    redirect_uris: Type.Optional(editable.redirect_uris),
    allowed_scopes: Type.Optional(editable.allowed_scopes),
    logo_url: Type.Optional(editable.logo_url),
    homepage_url: Type.Optional(editable.homepage_url),
    id_token_signed_response_alg: Type.Optional(editable.id_token_signed_response_alg),
  },
  { additionalProperties: false },
);

/** Body of `POST /v1/oauth/clients/check`: as much of a registration as somebody has typed so far. */
export const CheckBody = Type.Partial(RegistrationBody, { additionalProperties: false });

const registrationShape = Compile(RegistrationBody);
const editShape = Compile(EditBody);
const checkShape = Compile(CheckBody);

export type Registration = ReviewedFields & { readonly client_type: ClientType };
export type ClientEdit = { readonly revision: number | undefined; readonly fields: Partial<ReviewedFields> };

/**
 * @returns the registration with its defaults (specification §2.2).
 * @throws invalidFields with every problem at once, in ASCII, and nothing of what was sent.
 */
export function readRegistration(sent: unknown): Registration {
  const body = withShortLists(sent);
  if (!registrationShape.Check(body)) throw invalidFields(allProblems(registrationShape.Errors(body), body));
  const problems = contentProblems(body);
  if (problems.length > 0) throw invalidFields(problems);
  return {
    name: normalizeName(body.name),
    client_type: body.client_type,
    redirect_uris: body.redirect_uris,
    allowed_scopes: body.allowed_scopes ?? [...defaultScope],
    logo_url: body.logo_url ?? null,
    homepage_url: body.homepage_url ?? null,
    id_token_signed_response_alg: body.id_token_signed_response_alg ?? 'EdDSA',
  };
}

/** The members that the body has, and no others. @throws as {@link readRegistration} does. */
export function readClientEdit(sent: unknown): ClientEdit {
  const body = withShortLists(sent);
  if (!editShape.Check(body)) throw invalidFields(allProblems(editShape.Errors(body), body));
  const problems = contentProblems(body);
  if (problems.length > 0) throw invalidFields(problems);
  const { revision, ...fields }: Static<typeof EditBody> = body;
  return { revision, fields: fields.name === undefined ? fields : { ...fields, name: normalizeName(fields.name) } };
}

/** What stands against the members that a draft has; a member that is missing may still come. Nothing is changed. */
export const checkDraft = (body: unknown): readonly FieldProblem[] =>
  checkShape.Check(body) ? contentProblems(body) : allProblems(checkShape.Errors(body), body);

/**
 * Lists cut to one entry more than any may have, which is a problem as well: to find two alike, the schema compares each
 * with each, and a body holds sixteen thousand.
 */
function withShortLists(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const short = (value: unknown) => (Array.isArray(value) ? value.slice(0, maxEntries + 1) : value);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, short(value)]));
}

/** Wrong shapes, and what is wrong with the members whose shape is right. */
const allProblems = (errors: ShapeError[], body: unknown): FieldProblem[] => [
  ...shapeProblems(errors).map(withUserMessages),
  ...(typeof body === 'object' && body !== null ? contentProblems(body) : []),
];

/** What a shape demands is written for programs; people are told the same by the field that it is about. */
function withUserMessages(problem: FieldProblem): FieldProblem {
  const field = formFields.find((name) => problem.path === name || problem.path.startsWith(`${name}/`));
  return field === undefined ? problem : { ...problem, userMessage: { key: `problem.client.${field}` } };
}

const formFields = ['name', 'client_type', 'redirect_uris', 'allowed_scopes', 'id_token_signed_response_alg'] as const;

/** @param body of any shape: a member of the wrong type has been named already and is passed over. */
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
