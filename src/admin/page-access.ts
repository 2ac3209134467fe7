import type { AdministrativePermission } from '../accounts/permissions.ts';
import { administratorPage } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import { pagesFor } from '../platform/pages/page-routes.ts';

// Apart from access.ts, which commands load as well: pages need a router.

/** A person at the pages of an area, which needs the permission to read it; each form asks for that of its operation. */
export const pagesOf = (app: Parameters<typeof pagesFor>[0], deps: Deps, permission: AdministrativePermission) =>
  pagesFor(app, deps, personWith(permission));

export const personWith = (permission: AdministrativePermission): typeof administratorPage => ({
  ...administratorPage,
  async authenticate(deps, request) {
    const person = await administratorPage.authenticate(deps, request);
    person.authorize(permission);
    return person;
  },
});
