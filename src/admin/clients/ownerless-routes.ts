import type { FastifyInstance } from 'fastify';
import { clientFormRoutes } from '../../developer/clients/form-routes.ts';
import type { ClientArea } from '../../developer/navigation.ts';
import type { ClientManager } from '../../developer/owner.ts';
import { clientSecretRoutes } from '../../developer/secrets/routes.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Access } from '../../platform/http/access.ts';
import { adminTab } from '../components.ts';
import { personWith } from '../page-access.ts';

const tab = adminTab('admin_clients');

const area: ClientArea = {
  tab,
  registerTab: tab,
  registerPath: '/admin/clients/register',
  clientPath: '/admin/clients/:client_id',
  intro: 'admin.clients.register.intro',
};

const registrar = personWith('clients:write');

/** Of clients without an owner; those of a user are refused. */
const inPlaceOfOwner: Access<Deps, ClientManager> = {
  ...registrar,
  async authenticate(deps, request) {
    const { caller } = await registrar.authenticate(deps, request);
    return { owner: { owner_user_id: null, caller } };
  },
};

/** What administrators do in place of an owner, with an owner's forms: register, edit, and manage secrets. */
export async function ownerlessClientRoutes(app: FastifyInstance, deps: Deps) {
  await clientFormRoutes(app, deps, inPlaceOfOwner, area);
  await clientSecretRoutes(app, deps, inPlaceOfOwner, area);
}
