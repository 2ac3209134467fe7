import { readReason, reasonProblem } from '../audit/audit.ts';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { inCode } from '../platform/http/operation.ts';
import { isMessageKey, type MessageDescriptor } from '../platform/i18n/translate.ts';
import { Type } from '../platform/schema.ts';
import { displayNameProblem, normalizeName, textPatterns } from '../platform/text.ts';
import { compile, type Validator } from '../platform/validator.ts';
import { authenticationMethods } from './authentication-methods.ts';
import { clientTypes } from './choices.ts';
import type { Client, ReviewedFields } from './client.ts';
import { fieldOf, fieldsOf, maxEntries, membersOf } from './fields.ts';
import { type KeySet, readKeySet } from './keys/key-set.ts';
import { profileProblems } from './profile.ts';
import { isNativeUri, isPrivateUse } from './redirect-uri.ts';

/** What the owner says to the reviewer. It is no part of what is registered. */
const note = Type.Optional(
  Type.Union(
    [Type.String({ minLength: 1, ...inCode({ maxLength: 500, pattern: textPatterns.paragraph }) }), Type.Null()],
    {
      description:
        'What the reviewer should know, 1 to 500 characters: an answer to a rejection, what the client is for. Shown to administrators ' +
        'with the revision until it is decided, and kept in the audit log. Left out: that of before stays.',
    },
  ),
);

const { name, redirect_uris, ...others } = membersOf('body');
const optional = Type.Partial(Type.Object(others)).properties;

/**
 * Body of `POST /v1/oauth/clients`. Other members are refused rather than ignored: a caller who sends `status`, `owner` or
 * `consent` expects it to have an effect.
 */
export const RegistrationBody = Type.Object(
  {
    name,
    client_type: Type.Enum([...clientTypes]),
    redirect_uris,
    ...optional,
    note_to_reviewer: note,
  },
  { additionalProperties: false },
);

/** Body of `PATCH /v1/oauth/clients/:client_id`. With `revision`, the edit is refused if the client has changed since. */
export const EditBody = Type.Object(
  {
    revision: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    ...Type.Partial(Type.Object({ name, redirect_uris })).properties,
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
    ...membersOf('initial'),
    application_type: isNative ? 'native' : 'web',
    ...body,
    ...normalized(body),
    name: normalizeName(name),
    note_to_reviewer: note_to_reviewer && readReason(note_to_reviewer),
  };
  requireConsistent(registration);
  return registration;
}

/** A key set as it is stored. @param fields without a problem. */
function normalized({ jwks }: { jwks?: object | null | undefined }): { jwks?: KeySet } {
  const read = jwks && readKeySet(jwks);
  return read && 'keySet' in read ? { jwks: read.keySet } : {};
}

/** @throws invalidFields */
export function requireConsistent(
  wanted: Omit<Registration, 'note_to_reviewer'> & Partial<Pick<Client, 'profile'>>,
): void {
  const problems = inconsistencies(wanted);
  if (problems.length > 0) throw invalidFields(problems);
}

/** Problems of fields that are right by themselves, but not together. A missing one contradicts none. */
function inconsistencies(wanted: Partial<Registration & Pick<Client, 'profile'>>): FieldProblem[] {
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
  if (client_type && method !== null && authenticationMethods[method].of !== client_type) {
    problems.push(
      fieldProblem('token_endpoint_auth_method', { key: `problem.client.token_endpoint_auth_method.${client_type}` }),
    );
  }
  if (wanted.jwks && wanted.jwks_uri) problems.push(fieldProblem('jwks_uri', { key: 'problem.client.jwks_uri.both' }));
  if (method === 'private_key_jwt' && client_type !== 'public' && wanted.jwks === null && wanted.jwks_uri === null)
    problems.push(fieldProblem('jwks_uri', { key: 'problem.client.jwks_uri.missing' }));
  return [...problems, ...profileProblems(wanted)];
}

/** @returns the members that the body has. @throws as {@link readRegistration} does. */
export function readClientEdit(sent: unknown): ClientEdit {
  const { revision, note_to_reviewer: note, ...fields } = read(editShape, sent);
  return {
    revision,
    fields: {
      ...fields,
      ...normalized(fields),
      ...(fields.name !== undefined && { name: normalizeName(fields.name) }),
    },
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

/** The message of a schema is for programs; users get one for the field, where there is one. */
function withUserMessages(problem: FieldProblem): FieldProblem {
  const field = problem.path.split('/')[0]!;
  const key = `problem.client.${field}`;
  return isMessageKey(key) ? { ...problem, userMessage: { key } } : problem;
}

/** @param body of any shape: members of a wrong type are skipped, since the schema has reported them. */
function contentProblems(body: { readonly [Member in keyof Registration]?: unknown }): FieldProblem[] {
  return [
    ...nameProblem(body.name),
    ...textProblem('note_to_reviewer', body.note_to_reviewer, noteProblem),
    ...uriLists.flatMap((field) => uriListProblems(field, body[field])),
    ...fieldsOf('text').flatMap((field) => textProblem(field, body[field], fieldOf(field).problem)),
    ...keySetProblem(body.jwks),
  ];
}

/** Characters of all URIs of a list. The audit log keeps each version for good. */
const maxTogether = 8192;

const uriLists = fieldsOf('lines');

function uriListProblems(field: (typeof uriLists)[number], list: unknown): FieldProblem[] {
  const uris: unknown[] = Array.isArray(list) ? list.slice(0, maxEntries) : [];
  const problems = uris.flatMap((uri, place) => textProblem(`${field}/${place}`, uri, fieldOf(field).problem));
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

function keySetProblem(jwks: unknown): FieldProblem[] {
  const read = jwks === undefined || jwks === null ? undefined : readKeySet(jwks);
  return read && 'problem' in read ? [fieldProblem('jwks', read.problem)] : [];
}

function textProblem(
  path: string,
  value: unknown,
  problemOf: ((text: string) => MessageDescriptor | undefined) | undefined,
): FieldProblem[] {
  const userMessage = typeof value === 'string' ? problemOf?.(value) : undefined;
  return userMessage === undefined ? [] : [fieldProblem(path, userMessage)];
}
