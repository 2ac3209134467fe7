import { type Client, needsReview } from '../../clients/client.ts';
import { isUnseen, type LogoState, logoProblemText } from '../../clients/logos.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrustedUrl } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { buttonForm, clientPath } from '../components.ts';
import { wasApproved } from './decision-forms.ts';

/**
 * The very bytes that users would see, where they come from, and what a reviewer can do about them.
 * @param isReviewer whether the reader may decide about this client.
 */
export function logoSection(view: View, client: Client, logo: LogoState, isReviewer: boolean): Html {
  const { t } = view;
  const path = `${clientPath(client)}/logo`;
  const mayDecide = view.may('clients:approve');
  return html`<h2 id="logo">${t('admin.clients.logo')}</h2>
<p>${untrustedUrl(logo.url)}</p>
${logo.picture_id !== null && picture(view, `${clientPath(client)}/logos`, logo)}
${(logo.picture_id === null || logo.problem !== null) && html`<p>${missing(view, logo)}</p>`}
${
  mayDecide &&
  html`<div class="actions">${buttonForm(t(logo.fetched_at === null ? 'admin.clients.logo.fetch' : 'admin.clients.logo.fetch_again'), { path, id: 'client-logo-fetch', style: 'quiet' })}
${isReviewer && wasApproved(client) && !needsReview(client) && changes(view, client, logo)}</div>`
}`;
}

const picture = (
  view: View,
  path: string,
  { picture_id, width, height, bytes, fetched_at, is_shown }: LogoState,
): Html =>
  html`<div class="who"><img class="app-logo" src="${path}/${picture_id}" alt="${view.plain('admin.clients.logo.alt')}" width="56" height="56">
<div><p>${view.t('admin.clients.logo.found', { width: width ?? 0, height: height ?? 0, kb: Math.ceil((bytes ?? 0) / 1024), when: view.ago(fetched_at ?? 0) })}</p>
<p class="soft">${view.t(is_shown ? 'admin.clients.logo.shown' : 'admin.clients.logo.not_shown')}</p></div></div>`;

function missing(view: View, { problem, detail, is_waiting }: LogoState): Html {
  if (problem === null) return view.t(is_waiting ? 'admin.clients.logo.waiting' : 'admin.clients.logo.not_fetched');
  const { key, values } = logoProblemText({ problem, detail });
  return html`${view.t(key, values)} ${is_waiting && view.t('admin.clients.logo.retried')}`;
}

/** Of an approved client. While a change waits, its approval decides. */
function changes(view: View, client: Client, logo: LogoState): Html {
  const { picture_id, is_shown } = logo;
  const path = `${clientPath(client)}/logo/shown`;
  const form = (text: Html, id: string, logo_id: string) =>
    buttonForm(text, { path, id, style: 'quiet', fields: hidden('logo_id', logo_id) });
  return html`${picture_id !== null && !is_shown && form(view.t('admin.clients.logo.show'), 'client-logo-show', picture_id)}
${(client.logo_id !== null || isUnseen(client, logo)) && form(view.t('admin.clients.logo.remove'), 'client-logo-remove', '')}`;
}
