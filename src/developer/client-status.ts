import type { Client, ClientStatus } from '../clients/client.ts';
import { type Html, html, untrusted } from '../platform/pages/html.ts';
import type { View } from '../platform/pages/view.ts';

const classOf: Readonly<Record<ClientStatus, string>> = {
  pending_review: 'badge off',
  approved: 'badge',
  rejected: 'badge warn',
  suspended: 'badge warn',
};

/** In words, so that the colour only underlines them. */
export const statusBadges = ({ t }: View, client: Client): Html =>
  html`<span class="${classOf[client.status]}">${t(`developer.state.${client.status}`)}</span>${
    client.pending_change !== null && html` <span class="badge off">${t('developer.state.change')}</span>`
  }`;

/** Where a client stands, and what its reviewer wrote. */
export function statusDescription(view: View, client: Client): Html {
  const { status, status_reason, pending_change } = client;
  const when = view.ago(client.updated_at);
  const reason = status_reason === null ? undefined : html`<q>${untrusted(status_reason, 500)}</q>`;
  const isTurnedDown = status === 'approved' && reason !== undefined;
  return html`<p>${view.t(`developer.state.${status}.what`, { when })}${
    reason && !isTurnedDown && html` ${view.t('developer.state.reason', { reason })}`
  }</p>
${isTurnedDown && html`<p>${view.t('developer.state.turned_down', { reason })}</p>`}
${pending_change !== null && html`<p>${view.t('developer.state.change.what', { when })}</p>`}`;
}

export const clientPath = ({ client_id }: Pick<Client, 'client_id'>): string => `/developer/clients/${client_id}`;

/** For pages about one part of a client: which client, and the way back to it. */
export const backLink = (view: View, client: Client): Html =>
  html`<p><a href="${clientPath(client)}">${view.t('developer.back', { client: untrusted(client.name) })}</a></p>`;
