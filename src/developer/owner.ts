import type { Caller } from '../audit/audit.ts';
import { recentlySignedIn, type SignedIn, signedIn } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import type { Access } from '../platform/http/access.ts';

/** A user who acts on their own clients. */
export type Owner = { owner_user_id: string; caller: Caller };

const ownerOf = ({ session, caller }: SignedIn) => ({
  owner: { owner_user_id: session.user_id, caller },
});

export const clientOwner: Access<Deps, { owner: Owner }> = {
  ...signedIn,
  authenticate: async (deps, request) => ownerOf(await signedIn.authenticate(deps, request)),
};

/** For what needs a recent sign-in. */
export const recentClientOwner: Access<Deps, { owner: Owner }> = {
  ...recentlySignedIn,
  authenticate: async (deps, request) => ownerOf(await recentlySignedIn.authenticate(deps, request)),
};
