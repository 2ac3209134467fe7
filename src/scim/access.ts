import type { AdministrativePermission } from '../accounts/permissions.ts';
import type { Caller } from '../audit/audit.ts';
import { authenticateService } from '../entitlements/service-credentials/authenticate-service.ts';
import type { Deps } from '../oauth/deps.ts';
import { invalidClient } from '../platform/errors.ts';
import { type BasicCredentials, readBasic } from '../platform/http/access.ts';

const permission = 'scim:write' satisfies AdministrativePermission;

export type ScimCaller = Caller & { readonly actor: `service:${string}` };

/**
 * A directory by HTTP Basic, or by `Bearer SERVICE_ID.SECRET` where it has one field for a token.
 * @throws {RequestError} as {@link authenticateService}.
 */
export async function authenticateDirectory(
  deps: Deps,
  { authorization, address }: { authorization: string | undefined; address: string },
): Promise<ScimCaller> {
  const { credential_id } = await authenticateService(deps, { ...readCredentials(authorization), address }, permission);
  return { actor: `service:${credential_id}`, address };
}

function readCredentials(authorization: string | undefined): BasicCredentials {
  if (authorization === undefined || !/^bearer\b/i.test(authorization)) return readBasic(authorization);
  const [, client_id, client_secret] = /^bearer +([\w-]{1,100})\.([\w-]{1,200})$/i.exec(authorization) ?? [];
  if (client_id === undefined || client_secret === undefined) throw invalidClient('not SERVICE_ID.SECRET');
  return { client_id, client_secret };
}
