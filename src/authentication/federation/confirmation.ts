import type { User } from '../../accounts/user.ts';
import type { SignInRequest } from '../sessions/complete-sign-in.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

/** What an arrival would do: enter an account, connect one by its address, or make one. */
export type AccountResolution = { action: 'enter' | 'link'; user: User } | { action: 'create'; email: string };

/** Asked before an arrival does what its person may not have meant. */
export type Confirmation = {
  kind: 'question';
  action: 'enter' | 'switch' | 'link' | 'create' | 'connect';
  /** The address of the account here. */
  email: string;
  /** What they are called at the provider. */
  upstreamName: string;
  /** The address of whoever is signed in now and would be no more. */
  replaces: string | undefined;
  /** Says all of this to ourselves: a yes to one question is none to another. */
  agreement: string;
};

type ConfirmationContext = {
  signInRequest: Pick<SignInRequest, 'previous'>;
  authorization: Pick<UpstreamAuthorization, 'fromOurPage' | 'fromElsewhere'>;
  upstreamName: string;
};

/**
 * A link anywhere can send a browser to a provider that knows it, and back to us without a word. So it is asked before
 * any sign-in that another site began (login CSRF, RFC 9700 §4.7), before a connection that an address alone makes, an
 * account that did not begin on our own page, and the end of another user's session.
 * @returns undefined where there is nothing to ask.
 */
export function confirmationFor(resolution: AccountResolution, context: ConfirmationContext): Confirmation | undefined {
  const { signInRequest, authorization, upstreamName } = context;
  const { previous } = signInRequest;
  const user_id = resolution.action === 'create' ? undefined : resolution.user.user_id;
  const replaced = previous?.user_id === user_id ? undefined : previous;
  const isMade = resolution.action === 'create' && !authorization.fromOurPage;
  if (!replaced && !isMade && !authorization.fromElsewhere && resolution.action !== 'link') return undefined;
  const email = resolution.action === 'create' ? resolution.email : resolution.user.email;
  return {
    kind: 'question',
    action: resolution.action === 'enter' && replaced ? 'switch' : resolution.action,
    email,
    upstreamName,
    replaces: replaced?.email,
    agreement: JSON.stringify([resolution.action, user_id ?? email, replaced?.user_id ?? null]),
  };
}

/** Before a signed-in person connects an account that they have elsewhere. */
export const linkConfirmation = (
  { user_id, email }: Pick<User, 'user_id' | 'email'>,
  upstreamName: string,
): Confirmation => ({
  kind: 'question',
  action: 'connect',
  email,
  upstreamName,
  replaces: undefined,
  agreement: JSON.stringify(['connect', user_id, null]),
});
