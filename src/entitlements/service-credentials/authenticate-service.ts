import { now } from '../../platform/clock.ts';
import { accessDenied, invalidClient } from '../../platform/errors.ts';
import type { BasicCredentials } from '../../platform/http/access.ts';
import { findActiveSecret } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import {
  hasExpired,
  isCredentialId,
  isTakenFrom,
  type Permission,
  type ServiceCredential,
} from './service-credential.ts';

type ServiceDeps = Pick<Deps, 'clock' | 'clientSecretLimits' | 'services' | 'serviceSecretUses'>;
type Presented = BasicCredentials & { address: string };

/**
 * A back end by HTTP Basic. What is wrong with a credential is said only to a requester that has its secret.
 * @throws {RequestError} `invalid_client` for anything but an active service credential, also for a client's secret;
 * `access_denied` from an address that it is not taken from; `rate_limited`.
 */
export async function identifyService(
  deps: ServiceDeps,
  { client_id, client_secret, address }: Presented,
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
  if (hasExpired(credential, now(deps)))
    throw invalidClient(
      'service credential has expired',
      'This service credential has expired. An administrator can extend it.',
    );
  if (!isTakenFrom(credential, address))
    throw accessDenied(`This service credential is not accepted from the address ${address}.`);
  deps.serviceSecretUses.note(secret.secret_id);
  return credential;
}

/** @throws {RequestError} `access_denied`. */
export function requirePermission({ permissions }: ServiceCredential, permission: Permission): void {
  if (!permissions.includes(permission))
    throw accessDenied(`This credential does not have the permission ${permission}.`);
}

/** @throws {RequestError} as {@link identifyService} does; `access_denied` without the permission. */
export async function authenticateService(
  deps: ServiceDeps,
  presented: Presented,
  permission: Permission,
): Promise<ServiceCredential> {
  const credential = await identifyService(deps, presented);
  requirePermission(credential, permission);
  return credential;
}
