/**
 * What may be done of administration, by area. `person`: by a person in their own session, never by a service credential, since it is
 * a way into accounts or to more power, or since it is for that person. `two_factors`: by one who has given a second factor.
 * `program`: by a service credential, never by a person.
 */
const administrative = {
  'users:read': 'anyone',
  'users:write': 'anyone',
  'users:export': 'anyone',
  'users:delete': 'anyone',
  'users:import': 'anyone',
  'users:recover': 'person',
  'administrators:write': 'person',
  'groups:read': 'anyone',
  'groups:write': 'anyone',
  'attributes:read': 'anyone',
  'attributes:write': 'anyone',
  'scim:write': 'program',
  'entitlements:read': 'anyone',
  'clients:read': 'anyone',
  'clients:write': 'anyone',
  'clients:approve': 'anyone',
  'brand:read': 'anyone',
  'brand:write': 'anyone',
  'apis:read': 'anyone',
  'apis:write': 'anyone',
  'service-credentials:read': 'anyone',
  'service-credentials:write': 'person',
  'service-credentials:grant': 'two_factors',
  'webhooks:read': 'anyone',
  'webhooks:write': 'anyone',
  'keys:read': 'anyone',
  'keys:write': 'person',
  'audit:read': 'anyone',
  'providers:read': 'anyone',
  'providers:write': 'two_factors',
  'settings:read': 'anyone',
  'settings:write': 'person',
} as const satisfies Record<`${string}:${string}`, 'anyone' | 'program' | 'person' | 'two_factors'>;

type Administrative = typeof administrative;
export type AdministrativePermission = keyof Administrative;
/** What a service credential may be given. */
export type DelegablePermission = {
  [Name in AdministrativePermission]: Administrative[Name] extends 'anyone' | 'program' ? Name : never;
}[AdministrativePermission];

export const administrativePermissions = Object.keys(administrative) as readonly AdministrativePermission[];

export const isDelegable = (permission: AdministrativePermission): permission is DelegablePermission =>
  administrative[permission] === 'anyone' || isForPrograms(permission);
/** No page and no operation of a person's session needs it. */
export const isForPrograms = (permission: AdministrativePermission): boolean =>
  administrative[permission] === 'program';
export const takesTwoFactors = (permission: AdministrativePermission): boolean =>
  administrative[permission] === 'two_factors';

export const delegablePermissions: readonly DelegablePermission[] = administrativePermissions.filter(isDelegable);
