import type { Caller } from '../audit/audit.ts';
import { recentlySignedIn, type SignedIn, signedIn } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Access } from '../platform/http/access.ts';

/** A user who acts on their own clients. */
export type Owner = { owner_user_id: string; caller: Caller };

/** An owner, or an administrator in place of one. */
export type ClientManager = { owner: { owner_user_id: string | null; caller: Caller } };

const ownerAccess = (access: Access<Deps, SignedIn>): Access<Deps, { owner: Owner }> => ({
  ...access,
  async authenticate(deps, request) {
    const { session, caller } = await access.authenticate(deps, request);
    return { owner: { owner_user_id: session.user_id, caller } };
  },
});

export const clientOwner = ownerAccess(signedIn);
/** For what needs a recent sign-in. */
export const recentClientOwner = ownerAccess(recentlySignedIn);
