import { type AdministrativePermission, administrativePermissions } from './permissions.ts';

/** What a user may be, besides the owner of an account. In the order in which forms offer them. */
export const roles = ['user', 'support', 'reviewer', 'auditor', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Roles of which each has a part of what administrators have. */
export const lesserRoles = ['support', 'reviewer', 'auditor'] as const satisfies readonly Role[];

/** What each role may do of administration. Only administrators have what makes administrators. */
export const permissionsOfRole: Readonly<Record<Role, ReadonlySet<AdministrativePermission>>> = {
  user: new Set(),
  support: new Set(['users:read', 'users:write', 'users:recover', 'groups:read', 'entitlements:read']),
  reviewer: new Set(['clients:read', 'clients:approve', 'groups:read', 'apis:read']),
  auditor: new Set(administrativePermissions.filter((one) => one.endsWith(':read'))),
  admin: new Set(administrativePermissions),
};

export const isPrivileged = (role: Role): boolean => permissionsOfRole[role].size > 0;
