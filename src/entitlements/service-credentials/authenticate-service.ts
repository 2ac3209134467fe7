import { now } from '../../platform/clock.ts';
import { accessDenied, invalidClient } from '../../platform/errors.ts';
import type { BasicCredentials } from '../../platform/http/access.ts';
import { findActiveSecret } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { isCredentialId, type Permission, type ServiceCredential } from './service-credential.ts';

/**
 * A back end by HTTP Basic.
 * @throws {RequestError} `invalid_client` for anything but an active service credential, also for a client's secret;
 * `access_denied` without the permission; `rate_limited`.
 */
export async function authenticateService(
  deps: Pick<Deps, 'clock' | 'clientSecretLimits' | 'services' | 'serviceSecretUses'>,
  { client_id, client_secret, address }: BasicCredentials & { address: string },
  permission: Permission,
): Promise<ServiceCredential> {
  if (!isCredentialId(client_id))
    throw invalidClient(
      'not a service credential',
      "This endpoint takes a service credential, which an administrator makes. A client's ID and secret are not accepted.",
    );
  deps.clientSecretLimits.check(client_id, address);
  const credential = await deps.services.find(client_id);
  if (!credential) throw invalidClient('unknown service credential');
  const secret = findActiveSecret(credential.secrets, client_secret, now(deps));
  if (secret === undefined) {
    await deps.clientSecretLimits.failed(client_id, address);
    throw invalidClient('wrong secret');
  }
  if (credential.retired_at !== null) throw invalidClient('service credential is retired');
  if (!credential.permissions.includes(permission))
    throw accessDenied(`This credential does not have the permission ${permission}.`);
  deps.serviceSecretUses.note(secret.secret_id);
  return credential;
}
