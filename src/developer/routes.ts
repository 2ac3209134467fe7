import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { addOperations } from '../platform/http/operation.ts';
import { developerActivityRoutes } from './activity/routes.ts';
import { ownClientOperations } from './api/operations.ts';
import { developerClientRoutes } from './clients/routes.ts';
import { developerRegistrationRoutes } from './registration/routes.ts';
import { developerSecretRoutes } from './secrets/routes.ts';

/** The console of people who build on this service, and the same as `/v1/oauth/clients` (specification §4.16, §4.17). */
export async function developerRoutes(app: FastifyInstance, deps: Deps) {
  await developerRegistrationRoutes(app, deps);
  await developerClientRoutes(app, deps);
  await developerSecretRoutes(app, deps);
  await developerActivityRoutes(app, deps);
  addOperations(app, deps, ownClientOperations);
}
