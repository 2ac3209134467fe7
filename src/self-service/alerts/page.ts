import { accountTab } from '../../authentication/account-tab.ts';
import { type AlertUse, natureOf } from '../../authentication/alerts/kinds.ts';
import { alertPath } from '../../authentication/alerts/raise-alert.ts';
import { betweenSentences } from '../../platform/i18n/formats.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { badge, exactTime } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { AlertRecord } from './alerts.ts';

/** The beginning of what pages say of a kind. */
const titles = {
  token: 'mail.grant_replayed.subject',
  device: 'mail.new_device.subject',
  passkey: 'mail.passkey_copied.subject',
} as const;

type Shown = {
  alert: AlertRecord;
  /** The account has one, which "not me" would take away. */
  losesPassword: boolean;
  /** It is about the session of the request, which cannot vouch for itself. */
  isCurrent: boolean;
};

/** What happened, in plain words, what was ended, and the question. */
export function alertPage(view: View, shown: Shown): Page {
  const { t } = view;
  const { alert } = shown;
  const { texts } = natureOf(alert.kind);
  const values = {
    service: view.branding.name,
    app: appName(view, alert),
    passkey: alert.passkey !== undefined && untrusted(alert.passkey, 80),
    security: security(view),
    sessions: link('/account/sessions', t('account.tab.sessions')),
  };
  return {
    title: view.plain(titles[texts], {
      service: view.branding.name,
      app: alert.app?.name ?? view.plain('activity.app_gone'),
    }),
    tab: accountTab('activity'),
    content: html`<h1>${t(titles[texts], values)}</h1>
${alert.answer !== null && notice(answered(view, alert))}
<p>${t(`alert.${texts}.what`, values)}</p>
<h2>${t('alert.uses')}</h2>
${useList(view, alert)}
<h2>${t('alert.ended')}</h2>
<p>${t(`alert.${texts}.ended`, values)}</p>
${untilWords(view, alert)}
${alert.answer === 'not_me' ? afterwards(view) : question(view, shown, t(`alert.${texts}.advice`, values))}`,
  };
}

export const untilWords = (
  view: View,
  { access_tokens_until: until }: Pick<AlertRecord, 'access_tokens_until'>,
): Html | false =>
  until !== null && html`<p class="soft">${view.t('alert.ended.until', { when: exactTime(until) })}</p>`;

const appName = (view: View, { app }: AlertRecord): Html | false =>
  app !== null && (app.name === null ? view.t('activity.app_gone') : untrusted(app.name, 80));

const answered = (view: View, { answer, answered_at, answered_from }: AlertRecord): Html =>
  view.t(`alert.answered.${answer ?? 'me'}`, {
    when: exactTime(answered_at ?? 0),
    address: ipAddress(answered_from ?? ''),
  });

/** What of an alert its uses are shown by. */
type Used = Pick<AlertRecord, 'kind' | 'uses'>;

/** @param showsProof whether a key was proven, for who knows what that is. */
export const useList = (view: View, { kind, uses }: Used, showsProof = false): Html =>
  html`<ol class="items" id="uses">${uses.map((use, place) => useItem(view, { kind, uses }, { use, place, showsProof }))}</ol>`;

type Placed = { use: AlertUse; place: number; showsProof: boolean };

/** One of two uses, or the only one: when, by what, and from where. */
function useItem(view: View, { kind, uses }: Used, { use, place, showsProof }: Placed): Html {
  const { t } = view;
  const isLast = place === uses.length - 1;
  const isRefused = isLast && natureOf(kind).isRefused;
  const facts: [Html, Html | undefined][] = [
    [t('mail.fact.time'), timeOf(view, use)],
    [t('alert.agent'), use.agent === null ? undefined : untrusted(use.agent, 80)],
    [t('mail.fact.address'), use.address === null ? undefined : ipAddress(use.address)],
  ];
  return html`<li><div>
<h3>${uses.length > 1 && html`${t(place === 0 ? 'alert.use.first' : 'alert.use.second')} `}${isRefused ? badge(t('alert.use.refused'), 'warn') : badge(t('alert.use.accepted'))}</h3>
<dl>${facts.map(([label, value]) => html`<dt>${label}</dt><dd>${value ?? t('alert.use.unknown')}</dd>`)}${
    showsProof && html`<dt>DPoP</dt><dd>${t(use.dpop ? 'value.yes' : 'value.no')}</dd>`
  }</dl>
</div></li>
`;
}

function timeOf(view: View, { at, not_after }: AlertUse): Html | undefined {
  if (at !== null) return exactTime(at);
  return not_after === null ? undefined : view.t('alert.use.until', { when: exactTime(not_after) });
}

const link = (path: string, text: Html): Html => html`<a href="${path}">${text}</a>`;
const security = (view: View) => link('/account/security', view.t('account.tab.security'));

const afterwards = (view: View): Html =>
  html`<p id="afterwards">${view.t('alert.afterwards', { security: security(view) })}</p>`;

function question(view: View, { alert, losesPassword, isCurrent }: Shown, advice: Html): Html {
  const { t } = view;
  const path = alertPath(alert.alert_id);
  return html`<h2>${t('alert.question')}</h2>
<p>${advice}</p>
${isCurrent && html`<p class="advice" id="current">${t('alert.current')}</p>`}${
  alert.answer === null &&
  !isCurrent &&
  html`<form method="post" action="${path}/me">
<p class="soft" id="me-what">${t('alert.me.what')}</p>
<button type="submit" class="quiet" id="me" aria-describedby="me-what">${t('alert.me')}</button>
</form>`
}
<form method="post" action="${path}/not-me">
<p class="soft" id="not-me-what">${t('alert.not_me.what')}${losesPassword && html`${betweenSentences(view.locale)}${t('alert.not_me.password')}`}</p>
<button type="submit" class="danger" id="not-me" aria-describedby="not-me-what">${t('alert.not_me')}</button>
</form>`;
}
