import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { addOperations } from '../platform/http/operation.ts';
import { ownClientOperations } from './api/operations.ts';
import { clientTestRoutes } from './client-check/routes.ts';
import { clientFormRoutes } from './clients/form-routes.ts';
import { developerClientRoutes } from './clients/routes.ts';
import { logoutOperations } from './logout/operations.ts';
import { ownClients } from './navigation.ts';
import { clientOwner, recentClientOwner } from './owner.ts';
import { clientSecretRoutes } from './secrets/routes.ts';
import { ownSignalOperations } from './signals/operations.ts';

/** The developer console, and the same as `/v1/oauth/clients` (specification §4.16, §4.17). */
export async function developerRoutes(app: FastifyInstance, deps: Deps) {
  await developerClientRoutes(app, deps);
  await clientFormRoutes(app, deps, clientOwner, ownClients);
  await clientSecretRoutes(app, deps, recentClientOwner, ownClients);
  await clientTestRoutes(app, deps);
  addOperations(app, deps, [...ownClientOperations, ...logoutOperations, ...ownSignalOperations]);
}
