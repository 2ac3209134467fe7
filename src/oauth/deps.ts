import type { Deps as ClientDeps } from '../clients/deps.ts';
import type { SignInCounter } from '../statistics/sign-in-counter.ts';
import type { KeySets } from './client-keys/key-sets.ts';
import type { Issuances } from './grants/issuances.ts';
import type { KeyRing } from './signing-keys/key-ring.ts';
import type { StatusLists } from './status-lists/status-lists.ts';

export type Deps = ClientDeps & {
  /** Signs tokens and verifies our own. */
  readonly keys: KeyRing;
  /** Keys that clients publish. */
  readonly keySets: KeySets;
  /** Distinguishes a lost answer of the token endpoint from a replay. */
  readonly issuances: Issuances;
  /** Says of access tokens for APIs that want it whether they are revoked. */
  readonly statusLists: StatusLists;
  /** Counts sign-ins at clients. */
  readonly signInCounter: SignInCounter;
};
