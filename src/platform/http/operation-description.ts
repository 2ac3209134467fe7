import type { TSchema } from 'typebox';
import Type from 'typebox';
import type { ErrorCode } from '../errors.ts';
import type { AccessDescription } from './access.ts';

/** The endpoint groups of the specification (§1), in the order in which people read about them, and ours. */
export const tags = ['OIDC', 'Federated', 'Account', '2FA', 'Clients', 'Entitlements', 'Administration'] as const;

/** What a program may rely on at one route: the part of the API description that the route's own code cannot tell. */
export type OperationDescription = {
  /** `operationId` */
  id?: string;
  tag: (typeof tags)[number];
  summary: string;
  description?: string;
  /** Any of them will do; none: anyone may call. */
  access?: readonly AccessDescription[];
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
    operation?: OperationDescription;
  }
}

/** Unix seconds. */
export const Time = Type.Integer({ description: 'Unix seconds.', minimum: 0 });
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
