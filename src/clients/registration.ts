import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { invalidFields } from '../errors.ts';
import { algorithms } from '../keys/signing-key.ts';
import { displayNameProblem, tidyName } from '../lib/display-name.ts';
import { defaultScope, scopeNames } from '../oauth/scopes.ts';
import { type ClientType, clientTypes, type ReviewedFields } from './client.ts';
import { type Problem, type ShapeError, shapeProblems } from './field-problems.ts';
import { homepageUrlProblem, logoUrlProblem } from './presentation.ts';
import { redirectUriProblem } from './redirect-uri.ts';

/** Of any list. */
const mostEntries = 20;

/** What the owner may choose later on as well. Lengths and characters are judged below, with words of their own. */
const editable = {
  name: Type.String({ description: 'Application name, 1 to 100 characters.' }),
  redirect_uris: Type.Array(Type.String({ format: 'uri' }), {
    minItems: 1,
    maxItems: mostEntries,
    uniqueItems: true,
    description: 'HTTPS, matched exactly; HTTP for localhost only.',
  }),
  allowed_scopes: Type.Array(Type.Enum(scopeNames), { minItems: 1, uniqueItems: true }),
  logo_url: Type.Union([Type.String({ description: 'HTTPS, on a host with a name.' }), Type.Null()]),
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

const registrationShape = Compile(RegistrationBody);
const editShape = Compile(EditBody);

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
    name: tidyName(body.name),
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
  return { revision, fields: fields.name === undefined ? fields : { ...fields, name: tidyName(fields.name) } };
}

/**
 * Lists cut to one entry more than any may have, which is a problem as well: to find two alike, the schema compares each
 * with each, and a body holds sixteen thousand.
 */
function withShortLists(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const short = (value: unknown) => (Array.isArray(value) ? value.slice(0, mostEntries + 1) : value);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, short(value)]));
}

/** Wrong shapes, and what is wrong with the members whose shape is right. */
const allProblems = (errors: ShapeError[], body: unknown): Problem[] => [
  ...shapeProblems(errors),
  ...(typeof body === 'object' && body !== null ? contentProblems(body) : []),
];

/** @param body of any shape: a member of the wrong type has been named already and is passed over. */
function contentProblems(body: {
  name?: unknown;
  redirect_uris?: unknown;
  logo_url?: unknown;
  homepage_url?: unknown;
}): Problem[] {
  const uris: unknown[] = Array.isArray(body.redirect_uris) ? body.redirect_uris.slice(0, mostEntries) : [];
  return [
    ...textProblem('name', body.name, displayNameProblem),
    ...uris.flatMap((uri, place) => textProblem(`redirect_uris/${place}`, uri, redirectUriProblem)),
    ...textProblem('logo_url', body.logo_url, logoUrlProblem),
    ...textProblem('homepage_url', body.homepage_url, homepageUrlProblem),
  ];
}

function textProblem(path: string, value: unknown, problemOf: (text: string) => string | undefined): Problem[] {
  const message = typeof value === 'string' ? problemOf(value) : undefined;
  return message === undefined ? [] : [{ path, message }];
}
