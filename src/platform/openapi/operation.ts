import type { TSchema } from 'typebox';
import Type from 'typebox';
import type { ErrorCode } from '../errors.ts';

/** The endpoint groups of the specification (§1), in the order in which people read about them, and ours. */
export const tags = ['OIDC', 'Federated', 'Account', '2FA', 'Clients', 'Entitlements', 'Administration'] as const;

/**
 * How a caller proves who it is (specification §5). `client` and `service` are HTTP Basic; `public_client` proves nothing
 * and gives its client_id, so where it may call, nobody is stopped for want of credentials.
 */
export type Authentication =
  | 'session'
  | 'recent_session'
  | 'administrator'
  | 'bearer'
  | 'client'
  | 'public_client'
  | 'service';

/** What a program may rely on at one route: the part of the API description that the route's own code cannot tell. */
export type Operation = {
  tag: (typeof tags)[number];
  summary: string;
  description?: string;
  /** Any of them will do; none: anybody may call. */
  authentication?: readonly Authentication[];
  /** By name: parameters of path and query. */
  parameters?: Readonly<Record<string, { description: string; required?: boolean; schema?: TSchema }>>;
  /** The schema is the one that the route checks the body with. */
  body?: { schema: TSchema; form?: true; example?: unknown };
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
    operation?: Operation;
  }
}

/** Unix seconds. */
export const Time = Type.Integer({ description: 'Unix seconds.', minimum: 0 });
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
