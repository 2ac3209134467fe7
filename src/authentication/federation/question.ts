import type { User } from '../../accounts/user.ts';
import type { Visit } from '../sessions/complete-sign-in.ts';
import type { Detour } from './detour.ts';

/** What an arrival would do: enter an account, connect one by its address, or make one. */
export type Arriving = { does: 'enter' | 'link'; user: User } | { does: 'create'; email: string };

/** Asked before an arrival does what its person may not have meant. */
export type Question = {
  kind: 'question';
  does: 'enter' | 'switch' | 'link' | 'create' | 'connect';
  /** The address of the account here. */
  email: string;
  /** What they are called at the provider. */
  upstreamName: string;
  /** The address of whoever is signed in now and would be no more. */
  replaces: string | undefined;
  /** Says all of this to ourselves: a yes to one question is none to another. */
  agreement: string;
};

type Circumstances = {
  visit: Pick<Visit, 'previous'>;
  detour: Pick<Detour, 'fromOurPage' | 'fromElsewhere'>;
  upstreamName: string;
};

/**
 * A link anywhere can send a browser to a provider that knows it, and back to us without a word. So it is asked before
 * any sign-in that another site began (login CSRF, RFC 9700 §4.7), before a connection that an address alone makes, an
 * account that did not begin on our own page, and the end of another user's session.
 * @returns undefined where there is nothing to ask.
 */
export function questionOf(arriving: Arriving, circumstances: Circumstances): Question | undefined {
  const { visit, detour, upstreamName } = circumstances;
  const { previous } = visit;
  const user_id = arriving.does === 'create' ? undefined : arriving.user.user_id;
  const replaced = previous?.user_id === user_id ? undefined : previous;
  const isMade = arriving.does === 'create' && !detour.fromOurPage;
  if (!replaced && !isMade && !detour.fromElsewhere && arriving.does !== 'link') return undefined;
  const email = arriving.does === 'create' ? arriving.email : arriving.user.email;
  return {
    kind: 'question',
    does: arriving.does === 'enter' && replaced ? 'switch' : arriving.does,
    email,
    upstreamName,
    replaces: replaced?.email,
    agreement: JSON.stringify([arriving.does, user_id ?? email, replaced?.user_id ?? null]),
  };
}

/** Before a signed-in person connects an account that they have elsewhere. */
export const connectQuestion = (
  { user_id, email }: Pick<User, 'user_id' | 'email'>,
  upstreamName: string,
): Question => ({
  kind: 'question',
  does: 'connect',
  email,
  upstreamName,
  replaces: undefined,
  agreement: JSON.stringify(['connect', user_id, null]),
});
