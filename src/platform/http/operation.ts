import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { withAbsent } from '../db/absent-parts.ts';
import type { ErrorCode } from '../errors.ts';
import {
  isOptional,
  type Static,
  type TObject,
  type TObjectOptions,
  type TProperties,
  type TSchema,
  type TUndefined,
  type TUnknown,
  Type,
} from '../schema.ts';
import { textPatterns } from '../text.ts';
import type { Access, AccessDescription } from './access.ts';
import { readNoBody } from './bodies.ts';
import { FormText, maxParameters, queryOf } from './parameters.ts';

/** The endpoint groups of the specification (§1), in the order in which people read about them, and ours. */
export const tags = {
  OIDC: 'OpenID Connect and OAuth: what relying parties and resource servers call.',
  Federated: 'Sign-in with an account at another provider.',
  Account: 'The data, sessions and connected apps of the signed-in user.',
  '2FA': 'Passkeys, authenticator apps and backup codes of the signed-in user.',
  Clients: 'Clients of the signed-in user.',
  Entitlements: 'What users have bought, across products.',
  Signals: 'Security events for other services (Shared Signals Framework).',
  Administration: 'For administrators only.',
} as const;
export type Tag = keyof typeof tags;

/** What a program may rely on at one route: the part of the API description that the route's own code cannot tell. */
export type OperationDescription = {
  /** `operationId` */
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** Any of them will do; none: anyone may call. */
  access?: readonly AccessDescription[];
  /** By name: parameters of path and query. */
  parameters?: Readonly<Record<string, { description: string; required?: boolean; schema?: TSchema }>>;
  /** By name: request headers that the route reads, and that the security schemes do not say. */
  headers?: Readonly<Record<string, { description: string }>>;
  /** The schema is the one that the route checks the body with. */
  body?: { schema: TSchema; form?: true; optional?: true | undefined; example?: unknown };
  /** What is answered when it goes well, by status. No schema: an empty body. */
  answers: Readonly<Record<number, OperationAnswer>>;
  /** Refusals besides those that any route may give (malformed HTTP, 405, 5xx). */
  refusals?: readonly ErrorCode[];
};

export type OperationAnswer = {
  description: string;
  schema?: TSchema;
  example?: unknown;
  html?: true;
  /** Media types of an answer that is neither JSON nor a page. */
  media?: readonly string[];
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In the API description; a route without one is a page for people. */
    operation?: OperationDescription;
  }
  interface FastifyRequest {
    /** What the access of an operation resolved to. */
    requester?: object;
  }
}

const checkedByCode = 'x-checked-by-code';
/**
 * Options of a schema: keywords that its code checks by itself, because its message explains more than that of a validator,
 * or because it accepts more in some configurations. They are in the API description; validators ignore them.
 */
export const inCode = (keywords: Record<string, unknown>) => ({ [checkedByCode]: keywords });

/** A form: each of its members may come once only, other parameters are ignored (OAuth 2.1 §3.2.2). */
export const form = (members: TProperties, options: TObjectOptions = {}) =>
  Type.Object(members, {
    maxProperties: maxParameters,
    propertyNames: { pattern: '^[^\\u0000]*$' },
    ...options,
    additionalProperties: Type.String(),
  });

/** Of what `displayNameProblem` checks: it also refuses marks without letters, and characters that are not assigned. */
export const nameInCode = inCode({ minLength: 1, maxLength: 100, pattern: textPatterns.name });

/** A schema as the API description has it. */
export function published<Value>(schema: Value): Value {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((one) => published(one)) as Value;
  const { [checkedByCode]: checked = {}, ...members } = schema as Record<string, unknown>;
  const all = Object.entries({ ...members, ...(checked as object) });
  return Object.fromEntries(all.map(([name, member]) => [name, published(member)])) as Value;
}

/** Unix seconds. */
export const Time = Type.Integer({ description: 'Unix seconds.', minimum: 0 });
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** `/users/:user_id` → `{ user_id: string }` */
export type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [Key in Name]: string } & PathParameters<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { [Key in Name]: string }
    : unknown;

type Input<Requester, Path extends string, Body extends TSchema, Query extends TProperties, Parses> = Requester &
  PathParameters<Path> & { body: Parses extends true ? unknown : Static<Body>; query: Static<TObject<Query>> };

type DeepReadonly<Value> = Value extends readonly (infer One)[]
  ? readonly DeepReadonly<One>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value;

/** The answer of an operation that names media types. */
export type FileAnswer = { name: string; type: string; content: AsyncIterable<string> };

/** Of a file: what stands before its first rows, and these. */
const piecesOfBeginning = 3;

/** Its beginning is read before the answer begins, so that what cannot be read at all is refused, and not cut off. */
export async function sendFile(reply: FastifyReply, { name, type, content }: FileAnswer): Promise<FastifyReply> {
  const pieces = content[Symbol.asyncIterator]();
  const beginning: string[] = [];
  while (beginning.length < piecesOfBeginning) {
    const piece = await pieces.next();
    if (piece.done) break;
    beginning.push(piece.value);
  }
  const whole = async function* () {
    yield* beginning;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  return reply.header('content-disposition', `attachment; filename="${name}"`).type(type).send(Readable.from(whole()));
}

type CommandOperand<Deps> = {
  /** What to type, as `<value>` in the help. */
  value?: string;
  oneOf?: readonly string[];
  /** @returns the id of what was typed. */
  resolve?(deps: Deps, typed: string): Promise<string>;
};

type Shape<Deps, Given, Result> = {
  /** `operationId` of the API description. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  access: Access<Deps, object>;
  tag: Tag;
  summary: string;
  description?: string;
  /** Descriptions of the path parameters. */
  parameters?: Readonly<Record<string, string>>;
  /** Members that are not in it are refused if it says `additionalProperties: false`. */
  body?: TSchema;
  /** No body is as good as an empty one. */
  bodyIsOptional?: true;
  /** `run` gets the body as it was sent and parses it; the schema only describes it. */
  parsesBody?: true;
  example?: unknown;
  /** Parameters that are not in it are ignored. */
  query?: TProperties;
  /** The members that the schema names, and no others; a file of one of `media`; or 204 with neither. */
  answer: { description: string; status?: 200 | 201 | 202; schema?: TSchema; media?: readonly string[] };
  /** The permission that some inputs need besides the one of the access, and for people: which inputs. */
  alsoNeeds?: { permission: string; words: string; when(deps: Deps, input: Given): boolean | Promise<boolean> };
  /** Besides those of the access and of malformed input. */
  refusals?: readonly ErrorCode[];
  /** @param input the requester, the path parameters by name, and the checked `body` and `query`. */
  run(deps: Deps, input: Given): Promise<Result>;
  /** Sets cookies and headers of the answer, after `run`. */
  setHeaders?(reply: FastifyReply, deps: Deps, context: { result: Result; input: Given }): void;
  /** The same on the command line. Its operands are the path parameters, its options the members of query and body. */
  command?: {
    name: string;
    /** Of the help; the summary of the operation without it. */
    summary?: string;
    /** The members of query and body whose options have other names: name of the option → name of the member. */
    options?: Readonly<Record<string, string>>;
    /** How path parameters are typed that are not ids, and which members are operands too. */
    operands?: Readonly<Record<string, CommandOperand<NoInfer<Deps>>>>;
    /** Members that the API requires and the command does not. */
    optional?: readonly string[];
    /** Where the default is not the one of the API. */
    defaults?: Readonly<Record<string, unknown>>;
    /** The member that no argument has: read from standard input, or asked for without being shown. */
    secret?: { member: string; words: string };
    /** Members that have no option. */
    fixed?: Readonly<Record<string, unknown>>;
    /** What is lost, for a question that a terminal is asked first, unless `--yes` is given. */
    confirm?: string | ((given: Readonly<Record<string, unknown>>) => string | undefined);
    /** Whether the exit code is 1. */
    failed?(result: Result): boolean;
    /** What a terminal shows. */
    text(result: Result, input: Given, deps: Deps): string | Promise<string>;
    /** What `--json` prints; the result itself without it. */
    json?(result: Result, input: Given, deps: Deps): unknown;
  };
};

/** An operation in a list of several: what it takes and gives is known to itself alone. */
export type Operation<Deps> = Shape<Deps, { body: unknown; query: unknown }, unknown>;

/** What the `run` of an operation takes and resolves to. */
export type RunOf<One> = One extends { run(deps: never, input: infer Input): Promise<infer Result> }
  ? { input: Input; result: Result }
  : never;

/** One operation of the API. Its route, its entry in the API description and its command are made from this definition. */
export const operation = <
  Deps,
  Requester extends object,
  const Path extends string,
  Body extends TSchema = TUndefined,
  Query extends TProperties = Record<never, never>,
  Answer extends TSchema = TUnknown,
  Parses extends true | undefined = undefined,
  const Media extends readonly string[] | undefined = undefined,
>(
  definition: Shape<
    Deps,
    Input<Requester, Path, Body, Query, Parses>,
    Media extends readonly string[] ? FileAnswer : DeepReadonly<Static<Answer>>
  > & {
    path: Path;
    access: Access<Deps, Requester>;
    body?: Body;
    parsesBody?: Parses;
    example?: Static<Body>;
    query?: Query;
    answer: { schema?: Answer; media?: Media };
  },
) => definition;

/** Adds the route of each operation. Who may call is decided first; for a back end before its body is read, too. */
export function addOperations<Deps>(app: FastifyInstance, deps: Deps, operations: readonly Operation<Deps>[]): void {
  for (const one of operations) {
    const { method, path: url, access, body, bodyIsOptional, parsesBody, query, answer } = one;
    const isForServices = access.scheme === 'ServiceCredential';
    const authenticated = async (request: FastifyRequest) => {
      request.requester = await access.authenticate(deps, request);
    };
    app.route({
      method,
      url,
      config: { operation: describe(one), anySite: isForServices }, // no cookie authenticates there
      exposeHeadRoute: answer.media === undefined, // the file would be made and thrown away
      schema: {
        ...(body && !parsesBody && { body }),
        ...(query && { querystring: query }),
        ...(answer.schema && { response: { [statusOf(answer)]: answer.schema } }),
      },
      // Of a service before its body is read, and after it, since that may take longer than a credential lasts.
      onRequest: isForServices ? authenticated : [],
      preValidation: async (request) => {
        await authenticated(request);
        if (bodyIsOptional && request.body === undefined) request.body = {};
        if (query) request.query = new FormText(queryOf(request.url));
      },
      handler: async (request, reply) => {
        if (refusesBody(one)) readNoBody(request.body);
        const { requester, params, query } = request;
        const input = { ...requester, ...(params as object), body: request.body, query };
        const run = () => runAuthorized(one, deps, input);
        const { result, absent } = await (mayGoWithout(one) ? withAbsent(run) : { result: await run(), absent: [] });
        if (absent.length > 0) reply.header(absentHeader, absent.join(' '));
        one.setHeaders?.(reply, deps, { result, input });
        if (answer.media) return sendFile(reply, result as FileAnswer);
        return reply.code(statusOf(answer)).send(answer.schema && result);
      },
    });
  }
}

/** Of an answer without the rows of parts of the store that are away: their names. */
export const absentHeader = 'signet-absent-parts';

/** A file is kept, so it has everything or is refused. */
export const mayGoWithout = ({ method, answer }: Pick<Operation<never>, 'method' | 'answer'>): boolean =>
  method === 'GET' && answer.media === undefined;

/** @param input with the requester in it, of whom it asks for the permissions of the operation. */
export async function runAuthorized<Deps, Given, Result>(
  { access: { permission }, alsoNeeds, run }: Pick<Shape<Deps, Given, Result>, 'access' | 'alsoNeeds' | 'run'>,
  deps: Deps,
  input: Given,
): Promise<Result> {
  const requester = input as { authorize?(permission: string): void };
  if (permission !== undefined) requester.authorize?.(permission);
  if (alsoNeeds && (await alsoNeeds.when(deps, input))) {
    if (!requester.authorize) throw new Error('This access asks for no permissions.');
    requester.authorize(alsoNeeds.permission);
  }
  return run(deps, input);
}

const statusOf = ({ status, schema, media }: Operation<never>['answer']) => status ?? (schema || media ? 200 : 204);

/** Writes refuse a body that would have no effect. Many clients send one with DELETE, and it is ignored. */
const refusesBody = ({ method, body }: Pick<Operation<never>, 'method' | 'body'>) =>
  body === undefined && !['GET', 'DELETE'].includes(method);

/** As the API description has it. */
const describe = <Deps>({
  access,
  parameters = {},
  query = {},
  body,
  example,
  answer,
  ...rest
}: Operation<Deps>): OperationDescription => ({
  ...rest,
  description: [rest.description, rest.alsoNeeds?.words].filter(Boolean).join(' ') || undefined,
  access: [...(access.alternatives ?? []), access],
  parameters: {
    ...Object.fromEntries(Object.entries(parameters).map(([name, description]) => [name, { description }])),
    ...Object.fromEntries(Object.entries(query).map(([name, schema]) => [name, describeParameter(schema)])),
  },
  body: body && { schema: body, optional: rest.bodyIsOptional, example },
  answers: { [statusOf(answer)]: answer },
  refusals: [...(rest.refusals ?? []), ...(refusesBody({ ...rest, body }) ? ['invalid_request' as const] : [])],
});

/** A parameter with a default may be left out. */
function describeParameter(parameter: TSchema & { description?: string }) {
  const { description = '', ...schema } = parameter;
  return { description, required: !isOptional(parameter) && !('default' in parameter), schema };
}
