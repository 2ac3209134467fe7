import type { User } from '../../accounts/statements.ts';
import type { Deps } from '../../platform/deps.ts';
import { newSecret } from '../../platform/ids.ts';
import { hidden } from '../../platform/pages/form.ts';
import { html, namedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Provider } from '../credentials/providers.ts';
import { continuesTo, type ForApp, type SignInRequest } from '../sessions/return-target.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

/** What a federated sign-in would do: use an account, link one that has the same address, or create one. */
export type AccountResolution = { action: 'enter' | 'link'; user: User } | { action: 'create'; email: string };

/** A question to the user before a sign-in does what they may not have intended. */
export type Confirmation = {
  kind: 'question';
  action: 'enter' | 'switch' | 'link' | 'create' | 'connect';
  /** The address of the account here. */
  email: string;
  /** The name or address of the account at the provider. */
  upstreamName: string;
  /** The address of the user who is signed in now and would be signed out. */
  replaces: string | undefined;
  /** Identifies the question: consent to one is not consent to another. */
  agreement: string;
};

/**
 * A link on any site can send a browser to a provider that knows it, and the provider sends it back to us without asking.
 * So the user confirms a sign-in that another site began (login CSRF, RFC 9700 §4.7), a link that rests on an address
 * alone, an account that is not created from our own page, and the end of another user's session.
 * @returns undefined if nothing is to be confirmed.
 */
export function confirmationFor(
  resolution: AccountResolution,
  { previous }: SignInRequest,
  authorization: UpstreamAuthorization,
  upstreamName: string,
): Confirmation | undefined {
  const user_id = resolution.action === 'create' ? undefined : resolution.user.user_id;
  const replaced = previous?.user_id === user_id ? undefined : previous;
  const isCreated = resolution.action === 'create' && !authorization.fromOurPage;
  if (!replaced && !isCreated && !authorization.fromElsewhere && resolution.action !== 'link') return undefined;
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

/** What the sign-in continues with once the user agrees. It is kept in the form of the page, sealed. */
type SealedConfirmation = {
  /** Of the authorization in the browser's cookie: the form works in that browser only. */
  state: string;
  account: UpstreamAccount;
  agreement: string;
  /** Spent by the first use. */
  once: string;
};

const purpose = 'federation-answer';

export const sealConfirmation = (
  { vault }: Pick<Deps, 'vault'>,
  { state }: UpstreamAuthorization,
  account: UpstreamAccount,
  { agreement }: Confirmation,
): string => {
  const content: SealedConfirmation = { state, account, agreement, once: newSecret() };
  return vault.browser.seal(purpose, JSON.stringify(content));
};

/** @returns undefined for one that is missing, altered, or of another authorization. */
export function openConfirmation(
  { vault }: Pick<Deps, 'vault'>,
  sealed: string | undefined,
  { state }: UpstreamAuthorization,
): SealedConfirmation | undefined {
  if (sealed === undefined) return undefined;
  try {
    const sealedConfirmation = JSON.parse(vault.browser.open(purpose, sealed)) as SealedConfirmation;
    return sealedConfirmation.state === state ? sealedConfirmation : undefined;
  } catch {
    return undefined;
  }
}

type ConfirmationForm = {
  provider: Provider;
  confirmation: Confirmation;
  sealed: string;
  back: string;
  endsAt: string | undefined;
  app: ForApp;
};

export function confirmationPage(
  view: View,
  { provider, confirmation, sealed, back, endsAt, app }: ConfirmationForm,
): Page {
  const { action, email, upstreamName, replaces } = confirmation;
  const values = { provider: provider.label, email: namedEmail(email), account: namedEmail(upstreamName) };
  const plain = { provider: provider.label };
  return {
    title: view.plain(`federation.ask.${action}.title`, plain),
    endsAt,
    content: html`<h1>${view.t(`federation.ask.${action}.title`, plain)}</h1>
${continuesTo(view, app)}
<p>${view.t(`federation.ask.${action}`, values)}</p>
${replaces !== undefined && html`<p>${view.t('federation.ask.replaces', { email: namedEmail(replaces) })}</p>`}
<form method="post" action="/auth/${provider.id}/continue">
${hidden('answer', sealed)}
<button type="submit" id="agree">${view.t(`federation.ask.${action}.submit`, plain)}</button>
</form>
<p><a href="${back}">${view.t('federation.ask.no')}</a></p>`,
  };
}
