import type { AdministrativePermission } from '../accounts/permissions.ts';
import type { Caller } from '../audit/audit.ts';
import { authenticateService } from '../entitlements/service-credentials/authenticate-service.ts';
import type { Deps } from '../oauth/deps.ts';
import { readBasicOrToken } from '../platform/http/access.ts';

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
  const { credential_id } = await authenticateService(
    deps,
    { ...readBasicOrToken(authorization), address },
    permission,
  );
  return { actor: `service:${credential_id}`, address };
}
