import { type AdministrativePermission, isDelegable, takesTwoFactors } from '../accounts/permissions.ts';
import type { Caller } from '../audit/audit.ts';
import { administratorPage } from '../authentication/sessions/session.ts';
import { identifyService, requirePermission } from '../entitlements/service-credentials/authenticate-service.ts';
import type { Deps } from '../oauth/deps.ts';
import { refusal } from '../platform/errors.ts';
import { type Access, readBasic, serviceCredential } from '../platform/http/access.ts';

/** Who administers: a person in their session, or a program by a service credential. The command line is not asked. */
export type Administering = {
  caller: Caller;
  /** @throws {RequestError} `access_denied`, or `reauthentication_required` of a person who lacks a factor for it. */
  authorize(permission: AdministrativePermission): void;
};

const isBasic = (authorization: string | undefined): authorization is string => /^basic\b/i.test(authorization ?? '');

/**
 * A request with HTTP Basic is that credential's, whatever cookie is beside it: nothing of a session is read. Other schemes are
 * ignored, so that an access token opens nothing.
 */
export const administrator = (permission: AdministrativePermission): Access<Deps, Administering> => ({
  ...administratorPage,
  permission,
  description: [administratorPage.description, personal(permission)].filter(Boolean).join(' '),
  refusals: [...(administratorPage.refusals ?? []), 'invalid_client', 'rate_limited'],
  alternatives: isDelegable(permission) ? [serviceCredential(permission)] : [],
  async authenticate(deps, request) {
    const { authorization } = request.headers;
    const requester = isBasic(authorization)
      ? await serviceThatAdministers(deps, authorization, request.ip)
      : await administratorPage.authenticate(deps, request);
    requester.authorize(permission);
    return requester;
  },
});

function personal(permission: AdministrativePermission): string | undefined {
  if (isDelegable(permission)) return undefined;
  return `It takes a person with the permission \`${permission}\`${takesTwoFactors(permission) ? ' and a second factor' : ''}: service credentials are refused.`;
}

async function serviceThatAdministers(deps: Deps, authorization: string, address: string): Promise<Administering> {
  const credential = await identifyService(deps, { ...readBasic(authorization), address });
  return {
    caller: { actor: `service:${credential.credential_id}`, address },
    authorize(permission) {
      if (!isDelegable(permission)) throw refusal('access_denied', { key: 'refusal.person' });
      requirePermission(credential, permission);
    },
  };
}
