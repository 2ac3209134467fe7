import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { type ErrorCode, statusOf } from '../errors.ts';
import { cookieNames } from '../http/cookies.ts';
import { type OperationAnswer, type OperationDescription, published, type Tag, tags } from '../http/operation.ts';
import { type TSchema, Type } from '../schema.ts';
import { conditions, errorExample } from './error-codes.ts';
import { exampleOf } from './example-of.ts';
import type { JsonSchema } from './json-schema.ts';
import { members } from './member-descriptions.ts';

export type DescribedRoute = {
  method: string;
  url: string;
  /** For people, so its refusals are pages unless JSON is asked for. */
  page: boolean;
  operation: OperationDescription;
};

const described = (name: string) => Type.String({ description: members[name]!.description });

/** The body of every refusal (decisions §1). */
const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'Machine-readable error code.' }),
    error_description: Type.String({ description: 'Human-readable description, in ASCII.' }),
    fields: Type.Optional(
      Type.Array(Type.Object({ path: described('path'), message: described('message') }), {
        description:
          'With `invalid_request` on /v1: what is wrong with which member. With `invalid_state`: which member has a value that is taken.',
      }),
    ),
    current_status: Type.Optional(
      Type.String({ description: 'With `invalid_state`: the state that does not allow it.' }),
    ),
    stored_revision: Type.Optional(
      Type.Integer({ minimum: 0, description: 'With `stale_revision`: the revision that is stored by now.' }),
    ),
    stored_version: Type.Optional(
      Type.Integer({ minimum: 0, description: 'With `stale_version`: the version that is stored already.' }),
    ),
    max_age: Type.Optional(
      Type.Integer({ description: 'With `reauthentication_required`: how old the sign-in may be, in seconds.' }),
    ),
    acr_values: Type.Optional(
      Type.String({ description: 'With `reauthentication_required`: the `acr` that the session lacks.' }),
    ),
  },
  { description: 'Additional members depend on the error code.' },
);

/** The version of the API as the specification describes it (9.1), not of the software. */
const apiVersion = '1.0.0';

/** OpenAPI 3.1: https://spec.openapis.org/oas/v3.1.1. */
export function describeApi(config: Config, routes: readonly DescribedRoute[]) {
  const paths: Record<string, Record<string, DescribedOperation>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: describeOperation(route) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: config.brand.name,
      version: apiVersion,
      description: `OpenID Connect 1.0 and OAuth 2.1, accounts and clients. Readable version: ${config.baseUrl}/reference`,
      contact: { name: config.brand.name, url: config.baseUrl },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The same reference as a web page.', url: `${config.baseUrl}/reference` },
    servers: [{ url: config.baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name: name as Tag, description })),
    paths: Object.fromEntries(Object.entries(paths).sort()),
    components: { schemas: { Error: ErrorBody }, securitySchemes: securitySchemes(config) },
  };
}

export type ApiDocument = ReturnType<typeof describeApi>;
export type DescribedOperation = ReturnType<typeof describeOperation>;

const securitySchemes = (config: Config) => ({
  BearerAuth: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token of a user, from `POST /oauth/token`.',
  },
  DPoPAuth: {
    type: 'http',
    scheme: 'DPoP',
    description:
      'An access token that is bound to a key: its `token_type` is `DPoP`. Each request has a new proof in the header `DPoP` beside it (RFC 9449 section 7).',
  },
  ClientSecret: {
    type: 'http',
    scheme: 'basic',
    description:
      'The `client_id` and a secret of an approved client, each form-encoded (RFC 6749 section 2.3.1). The credentials of a service are not accepted.',
  },
  ServiceCredential: {
    type: 'http',
    scheme: 'basic',
    description:
      "ID and secret of a service credential, which an administrator makes on the page *Service credentials*, by `POST /v1/admin/service-credentials` or with `signet service-credentials create`, with the permissions and products that it is to have. A client's secret is not accepted.",
  },
  SessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieNames(config).session,
    description: 'The session of a user who has signed in at `/signin`. Writes of a browser need its own `Origin`.',
  },
});

function describeOperation({ url, page, operation }: DescribedRoute) {
  const { access = [], body } = operation;
  const requirements = access.map(({ description }) => description);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [operation.description, ...requirements].filter(Boolean).join(' ') || undefined,
    security: [...new Map(access.map((one) => [one.scheme, one])).values()].map(
      // OpenAPI 3.1: of a scheme that is not OAuth, the names of roles that are required.
      ({ scheme, permission }): Record<string, string[]> =>
        scheme === undefined ? {} : { [scheme]: permission === undefined ? [] : [permission] },
    ),
    parameters: describeParameters(url, operation),
    requestBody: body && {
      required: !body.optional,
      content: {
        [body.form ? 'application/x-www-form-urlencoded' : 'application/json']: mediaType(
          withoutNul(published(body.schema)),
          body.example,
        ),
      },
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, one]) => [status, describeAnswer(Number(status), one)]),
      ),
      ...describeRefusals(operation, page),
    },
  };
}

function describeParameters(url: string, { parameters = {}, headers = {} }: OperationDescription) {
  const inPath = new Set([...url.matchAll(/:(\w+)/g)].map(([, name]) => name!));
  const missing = [...inPath.difference(new Set(Object.keys(parameters)))];
  const all: NonNullable<OperationDescription['parameters']> = {
    ...Object.fromEntries(missing.map((name) => [name, { description: 'Its id.' }])),
    ...parameters,
  };
  const inHeaders = Object.entries(headers).map(([name, { description }]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: Type.String(),
  }));
  const others = Object.entries(all).map(([name, parameter]) => ({
    name,
    in: inPath.has(name) ? 'path' : 'query',
    required: inPath.has(name) || parameter.required === true,
    description: parameter.description,
    schema: withoutNul(published(parameter.schema ?? Type.String(inPath.has(name) ? { minLength: 1 } : {}))),
  }));
  return [...others, ...inHeaders];
}

type MediaType = {
  schema?: TSchema | { $ref: string };
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
};
type Answer = { description: string; headers?: Record<string, Header>; content?: Record<string, MediaType> };
type Header = { description: string; schema: TSchema };

function describeAnswer(status: number, { description, schema, example, html, media = [] }: OperationAnswer): Answer {
  const content = {
    ...(schema ? { 'application/json': mediaType(schema, example ?? exampleOf(published(schema) as JsonSchema)) } : {}),
    ...(html ? { 'text/html': page } : {}),
    ...Object.fromEntries(media.map((type) => [type, type === 'application/json' ? anyObject : text])),
  };
  return {
    description,
    ...(status >= 300 && status < 400 ? { headers: { Location: location } } : {}),
    ...(Object.keys(content).length > 0 ? { content } : {}),
  };
}

const text: MediaType = { schema: Type.String() };
const anyObject: MediaType = { schema: Type.Object({}) };
const page = text;
const location: Header = { description: 'Where to.', schema: Type.String({ format: 'uri-reference' }) };

/** Besides those that any route may give. */
export const refusalsOf = ({ access = [], body, refusals = [] }: OperationDescription): ReadonlySet<ErrorCode> =>
  new Set([
    ...refusals,
    ...access.flatMap(({ refusals = [] }) => refusals),
    ...(body ? ofBodies : []),
    'temporarily_unavailable',
  ]);

const ofBodies = ['invalid_request', 'content_too_large', 'unsupported_media_type'] as const;

function describeRefusals(operation: OperationDescription, isPage: boolean): Record<string, Answer> {
  const codes = new Set<ErrorCode>(['invalid_request', ...refusalsOf(operation)]);
  const contentOf = (group: readonly ErrorCode[]) => ({
    ...(isPage ? { 'text/html': page } : {}),
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(group.map((code) => [code, { value: errorExample(code) }])),
    },
  });
  const byStatus = Map.groupBy(codes, (code) => statusOf[code]);
  const described = [...byStatus].map(([status, group]): [string, Answer] => [
    String(status),
    { description: group.map((code) => `\`${code}\`: ${conditions[code]}`).join(' '), content: contentOf(group) },
  ]);
  return {
    ...Object.fromEntries(described),
    ...(isPage
      ? { default: { description: 'A page that says what went wrong.', content: contentOf(['server_error']) } }
      : {}),
  };
}

const mediaType = (schema: TSchema, example: unknown): MediaType => ({
  schema: explained(published(schema)),
  ...(example === undefined ? {} : { example }),
});

/** With a description of each member. */
function explained<Schema>(schema: Schema, name = ''): Schema {
  const { properties, items, anyOf, description } = schema as JsonSchema;
  const isExplained = description !== undefined || anyOf?.some((one) => one.description !== undefined);
  const { description: known } = members[name] ?? {};
  return {
    ...schema,
    ...(!isExplained && known !== undefined && { description: known }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, explained(one, key)])),
    }),
    ...(items && { items: explained(items) }),
    ...(anyOf && { anyOf: anyOf.map((one) => explained(one)) }),
  };
}

/** Any text of a request is refused with a NUL character in it, which PostgreSQL cannot store. */
function withoutNul<Schema>(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((one) => withoutNul(one)) as Schema;
  const { type, ...members } = schema as Record<string, unknown>;
  const isFree = type === 'string' && ['enum', 'const', 'format', 'pattern'].every((name) => !(name in members));
  const rest = Object.entries(members).map(([name, member]) => [name, withoutNul(member)]);
  return {
    ...(type === undefined ? {} : { type }),
    ...(isFree ? { pattern: '^[^\\u0000]*$' } : {}),
    ...Object.fromEntries(rest),
  };
}

/** Collects the routes that are added after it and describe themselves. */
export function collectOperations(app: FastifyInstance): DescribedRoute[] {
  const described: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const operation = config?.operation;
    if (!operation) return;
    for (const one of [method].flat())
      if (one !== 'HEAD') described.push({ method: one.toLowerCase(), url, page: config.page === true, operation });
  });
  return described;
}
