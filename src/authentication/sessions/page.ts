import { listInWords } from '../../platform/i18n/formats.ts';
import { hidden, notice } from '../../platform/pages/form.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { accountTab } from '../account-tab.ts';
import type { Method } from './authentication.ts';
import { deviceName } from './browser.ts';
import type { ListedSession } from './store.ts';
import type { TrustedBrowser } from './trusted-browsers.store.ts';
import { trustedBrowserId } from './trusted-browsers.ts';

export const sessionNotices = ['one', 'others', 'named', 'unchanged', 'untrusted'] as const;

type SessionsList = {
  sessions: readonly ListedSession[];
  trustedBrowsers: readonly TrustedBrowser[];
  /** The one in which the session of the request began. */
  trustedBy: string | null;
  /** The session of the request, and its IP address. */
  current: string;
  address: string;
  /** What was just done. */
  done?: (typeof sessionNotices)[number];
  /** The name that was refused, and why. */
  refused?: { problem: Html | false; session_id?: string; name?: string };
};

/** Returns to the app that has sent the user, which learns of it. Nothing where no app waits. */
export const cancelForm = (
  view: View,
  { request_id, clientName }: { request_id?: string; clientName?: string },
): Html | false =>
  request_id !== undefined &&
  clientName !== undefined &&
  html`<form method="post" action="/oauth/authorize/cancel">${hidden('request', request_id)}
<button type="submit" id="cancel-sign-in" class="link">${view.t('signin.cancel', { client: html`<bdi>${clientName}</bdi>` })}</button></form>`;

/** On a page without a navigation. */
export const signOutForm = (view: View): Html =>
  html`<form method="post" action="/signout"><button type="submit" id="signout-submit" class="quiet">${view.t('account.sign_out')}</button></form>`;

export const sessionsPage = (view: View, list: SessionsList): Page => ({
  title: view.plain('sessions.title'),
  tab: accountTab('sessions'),
  content: html`<h1>${view.t('sessions.title')}</h1>
<p class="soft">${view.t('sessions.intro')}</p>
${notice(list.done && view.t(`sessions.done.${list.done}`))}
${list.refused?.problem}
<ul class="items">${list.sessions.map((session) => sessionItem(view, session, list))}</ul>
${
  list.sessions.length > 1 &&
  html`<form method="post" action="/account/sessions/end-others">
<button type="submit" id="end-others" class="danger">${view.t('sessions.end_others')}</button>
</form>`
}${
  list.trustedBrowsers.length > 0 &&
  html`<h2>${view.t('sessions.trusted.title')}</h2>
<p class="soft">${view.t('sessions.trusted.intro')}</p>
<ul class="items">${list.trustedBrowsers.map((browser) => trustedItem(view, browser, list))}</ul>`
}`,
});

/** A browser that the user trusts. The heading is one level below that of the list. */
function trustedItem(view: View, browser: TrustedBrowser, { trustedBy, address }: SessionsList): Html {
  const { t } = view;
  const id = trustedBrowserId(browser);
  return html`<li>
<div>
<h3 id="${id}">${deviceName(browser.user_agent) ?? t('sessions.unknown_device')}${browser.series_hash === trustedBy && html` <span class="badge">${t('sessions.trusted.this_one')}</span>`}</h3>
<p id="${id}-until">${trustedInWords(view, browser)}${
    browser.address &&
    html` · ${t(browser.address === address ? 'sessions.same_address' : 'sessions.address', { address: ipAddress(browser.address) })}`
  }</p>
</div>
<form method="post" action="/account/sessions/end-trust">
${hidden('browser_id', id)}<button type="submit" class="quiet" id="${id}-end" aria-labelledby="${id}-end ${id} ${id}-until">${t('sessions.trusted.end')}</button>
</form>
</li>`;
}

/** "trusted since 3 May until 2 June, last used yesterday" */
export const trustedInWords = (view: View, { created_at, expires_at, last_used_at }: TrustedBrowser): Html =>
  view.t('sessions.trusted.since', {
    since: view.day(created_at),
    until: view.day(expires_at),
    used: view.ago(last_used_at),
  });

function sessionItem(view: View, session: ListedSession, { current, address, refused }: SessionsList): Html {
  const { t } = view;
  const isCurrent = session.session_id === current;
  const device = deviceName(session.user_agent) ?? view.plain('sessions.unknown_device');
  const id = `session-${session.session_id}`;
  return html`<li>
<div>
<h2 id="${id}">${session.name === null ? device : untrusted(session.name)}${isCurrent && html` <span class="badge">${t('sessions.this_one')}</span>`}</h2>
${session.name !== null && html`<p>${device}</p>\n`}<p>${t('sessions.signed_in', { when: view.ago(session.auth_time), how: methodsInWords(view, session.amr) })}</p>
<p id="${id}-seen">${isCurrent ? t('sessions.seen_now') : t('sessions.seen', { when: view.ago(session.last_seen_at) })}${
    session.address &&
    html` · ${t(session.address === address ? 'sessions.same_address' : 'sessions.address', { address: ipAddress(session.address) })}`
  }</p>
</div>
${naming(view, session, device, refused?.session_id === session.session_id ? refused : undefined)}
${
  !isCurrent &&
  html`<form method="post" action="/account/sessions/end">
<input type="hidden" name="session_id" value="${session.session_id}">
<button type="submit" class="quiet" id="${id}-end" aria-labelledby="${id}-end ${id} ${id}-seen">${t('sessions.end')}</button>
</form>`
}
</li>`;
}

function naming(
  view: View,
  { session_id, name }: ListedSession,
  device: string,
  refused: SessionsList['refused'],
): Html {
  const id = `name-${session_id}`;
  return html`<details${refused && html` open`}>
<summary aria-label="${view.t('sessions.name.which', { device: name ?? device })}">${view.t('sessions.name')}</summary>
<form method="post" action="/account/sessions/name">
${hidden('session_id', session_id)}<label for="${id}">${view.t('sessions.name.label')}</label>
<input id="${id}" name="name" value="${refused ? refused.name : name}" maxlength="100" autocomplete="off" aria-describedby="${id}-hint${refused && ' problem'}"${
    refused && html` aria-invalid="true"`
  }>
<p class="hint" id="${id}-hint">${view.t('sessions.name.hint')}</p>
<button type="submit" class="quiet">${view.t('sessions.name.submit')}</button>
</form></details>`;
}

/** "password and one-time code". */
export function methodsInWords({ locale, plain }: View, amr: readonly Method[]): string {
  const spoken = (['pwd', 'otp', 'fed', 'hwk', 'rba'] as const).filter((method) => amr.includes(method));
  const names = spoken.map((method) => plain(`sessions.how.${method}`));
  return listInWords(locale, names);
}
