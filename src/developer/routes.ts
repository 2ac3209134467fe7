import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { developerActivityRoutes } from './activity/routes.ts';
import { developerClientRoutes } from './clients/routes.ts';
import { developerRegistrationRoutes } from './registration/routes.ts';
import { developerSecretRoutes } from './secrets/routes.ts';

/** The console of people who build on this service: the pages beside `/v1/oauth/clients`. */
export async function developerRoutes(app: FastifyInstance, deps: Deps) {
  await developerRegistrationRoutes(app, deps);
  await developerClientRoutes(app, deps);
  await developerSecretRoutes(app, deps);
  await developerActivityRoutes(app, deps);
}
