import type { Role } from '../../src/accounts/roles.ts';
import { changeRole } from '../../src/admin/users/administer-user.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

/** A user who has any role, signed in. */
export async function withRole(signet: Signet, role: Role): Promise<TestUser> {
  const user = await signet.signedInUser();
  await changeRole(signet.deps, { actor: 'cli' }, user.user_id, role);
  return user;
}
