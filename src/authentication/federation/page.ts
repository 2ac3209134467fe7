import { hidden } from '../../platform/pages/form.ts';
import { html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Confirmation } from './confirmation.ts';

type ConfirmationForm = {
  provider: Provider;
  confirmation: Confirmation;
  /** See sealed-confirmation.ts. */
  sealed: string;
  back: string;
  endsAt: string | undefined;
};

export const confirmationPage = (
  view: View,
  { provider, confirmation, sealed, back, endsAt }: ConfirmationForm,
): Page => {
  const { action, email, upstreamName, replaces } = confirmation;
  const strong = (text: string) => html`<strong><bdi>${text}</bdi></strong>`;
  const values = { provider: provider.label, email: strong(email), account: strong(upstreamName) };
  const plain = { provider: provider.label };
  return {
    title: view.plain(`federation.ask.${action}.title`, plain),
    endsAt,
    content: html`<h1>${view.t(`federation.ask.${action}.title`, plain)}</h1>
<p>${view.t(`federation.ask.${action}`, values)}</p>
${replaces !== undefined && html`<p>${view.t('federation.ask.replaces', { email: strong(replaces) })}</p>`}
<form method="post" action="/auth/${provider.id}/continue">
${hidden('answer', sealed)}
<button type="submit" id="agree">${view.t(`federation.ask.${action}.submit`, plain)}</button>
</form>
<p><a href="${back}">${view.t('federation.ask.no')}</a></p>`,
  };
};
