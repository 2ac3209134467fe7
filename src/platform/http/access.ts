import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../errors.ts';

/** How a caller authenticates, as the API description shows it. */
export type AccessDescription = {
  /** The name of the security scheme; without one, credentials are optional. */
  readonly scheme?: 'SessionCookie' | 'BearerAuth' | 'BasicAuth';
  readonly description?: string;
  readonly refusals?: readonly ErrorCode[];
};

/** Who may call a route. What `authenticate` resolves to is handed to the route. */
export type Access<Deps, Requester> = AccessDescription & {
  /** @throws {RequestError} one of `refusals`. */
  authenticate(deps: Deps, request: FastifyRequest): Promise<Requester>;
};

/** For routes that read the credentials themselves. */
export const accessToken: AccessDescription = { scheme: 'BearerAuth' };
export const basicCredentials: AccessDescription = { scheme: 'BasicAuth' };
/** A public client sends its `client_id` and nothing else. */
export const noCredentials: AccessDescription = {};
