import { originHostOf } from '../../clients/presentation.ts';
import { rotationPeriodSeconds } from '../../oauth/signing-keys/signing-keys.ts';
import { numberFormat } from '../../platform/i18n/formats.ts';
import { dayChart, figures, periodLinks } from '../../platform/pages/chart.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { periods } from '../../statistics/periods.ts';
import { isFailing } from '../../webhooks/list-webhooks.ts';
import { maxDeadCounted } from '../../webhooks/statements.ts';
import { byAdministrators } from '../audit/filter.ts';
import { eventList } from '../audit/page.ts';
import { entityName } from '../audit/sentence.ts';
import { riskBadge } from '../clients/list-page.ts';
import { adminTab, buttonForm, clientPath } from '../components.ts';
import type { Overview } from './read-overview.ts';
import { type Setup, steps } from './setup.ts';

/** What waits for an administrator, what happened lately, and whether all is well. */
export const overviewPage = (view: View, overview: Overview): Page => {
  const { statistics, shares, setup } = overview;
  const { signIns, refused, signUps, clients, users, days } = statistics;
  return {
    title: view.plain('admin.title'),
    tab: adminTab('admin'),
    content: html`<h1>${view.t('admin.title')}</h1>
${view.may('settings:write') && checklist(view, setup)}
${periodLinks(view, '/admin', statistics, periods)}${figures(
  view,
  [
    { change: users.all, label: view.t('admin.overview.users'), days },
    ...users.active.map((one) => ({
      change: one,
      label: view.t('admin.overview.active', { days: one.days }),
      days: one.days,
    })),
  ],
  shares && [
    { share: shares.secondFactor, label: view.t('admin.overview.second_factor'), days },
    { share: shares.passkeys, label: view.t('admin.overview.passkeys'), days },
  ],
)}
${statistics.countedUntil !== undefined && html`<p class="soft" id="counted-until">${view.t('admin.overview.counted_until', { time: exactTime(statistics.countedUntil) })}</p>`}
${reviews(view, overview)}
<h2>${view.t('chart.last', { days })}</h2>
<div class="charts">
${dayChart(view, 'admin.overview.sign_ins', signIns)}${dayChart(view, 'admin.overview.refused', refused, 'bad')}${dayChart(view, 'admin.overview.sign_ups', signUps)}${dayChart(view, 'admin.overview.new_clients', clients)}</div>
${busiestTable(view, overview)}
<h2>${view.t('admin.overview.latest')}</h2>
${eventList(view, overview.names, overview.latest)}
<p class="actions"><a class="button quiet" id="overview-audit" href="/admin/audit">${view.t('admin.overview.latest.all')}</a>
<a href="/admin/audit?by=${byAdministrators}" id="overview-changes">${view.t('admin.overview.latest.changes')}</a></p>
<h2>${view.t('admin.overview.health')}</h2>
${health(view, overview)}
${view.may('settings:write') && hiddenChecklist(view, setup)}`,
  };
};

function busiestTable(view: View, { busiest, names, statistics: { days } }: Overview): Html {
  const heading = html`<h2 id="busiest">${view.t('admin.overview.busiest')}</h2>`;
  const known = busiest.clients.filter(({ client_id }) => names.has(client_id));
  if (known.length === 0) return html`${heading}\n${emptyList(view.t('admin.overview.busiest.none', { days }))}`;
  const number = numberFormat(view.region);
  return html`${heading}
<table><thead><tr><th scope="col">${view.t('admin.overview.busiest.client')}</th><th scope="col">${view.t('admin.overview.busiest.sign_ins', { days })}</th></tr></thead>
<tbody>${known.map(
    ({ client_id, signIns }) => html`<tr><th scope="row">${entityName(view, names, client_id)}</th>
<td data-label="${view.plain('admin.overview.busiest.sign_ins', { days })}">${number.format(signIns)}</td></tr>
`,
  )}</tbody></table>
${busiest.countedAt !== undefined && busiest.countedAt > 0 && html`<p class="soft">${view.t('admin.overview.counted_until', { time: exactTime(busiest.countedAt) })}</p>`}`;
}

function reviews(view: View, { reviews, waiting }: Overview): Html {
  const more = waiting.pending + waiting.changes - reviews.length;
  return html`<h2>${view.t('admin.overview.reviews')}</h2>
${
  reviews.length === 0
    ? emptyList(view.t('admin.overview.reviews.none'), {
        path: '/admin/clients?state=all',
        label: view.t('admin.clients.none.all'),
      })
    : html`<p class="soft">${view.t('admin.overview.clients', waiting)}</p>
<ul class="items">${reviews.map(
        ({ client, owner, risks }) => html`<li><div>
<h3><a href="${clientPath(client)}">${untrusted(client.name)}</a> ${badge(view.t(client.status === 'pending_review' ? 'admin.overview.reviews.new' : 'admin.overview.reviews.change'), 'off')}</h3>
<p>${owner ? html`${untrustedEmail(owner.email)} · ` : client.origin !== null && html`<code>${untrusted(originHostOf(client) ?? '')}</code> · `}${view.ago(client.updated_at)}</p>
${risks.length > 0 && html`<p>${risks.map((risk) => html`${riskBadge(view, risk)} `)}</p>`}
</div></li>
`,
      )}</ul>
${more > 0 && html`<p><a href="/admin/clients">${view.t('admin.overview.reviews.more', { count: more })}</a></p>`}`
}`;
}

const pageOfStep = {
  email: '/account/email',
  second_factor: '/account/security',
  client: '/admin/clients',
  administrator: '/admin/users/invite',
} as const;

/** Of a new installation, until all of it is done, or its reader has put it away. */
function checklist(view: View, { open, isHidden }: Setup): Html | false {
  if (isHidden) return false;
  const done = steps.length - open.length;
  return html`<section class="checklist" aria-labelledby="checklist">
<h2 id="checklist">${view.t('admin.checklist')} <span class="soft">${view.t('admin.checklist.done', { done, all: steps.length })}</span></h2>
<ol>${steps.map((step) => {
    const title = view.t(`admin.checklist.${step}`);
    if (!open.includes(step))
      return html`<li class="done"><div>${title} <span class="unseen">${view.t('admin.checklist.is_done')}</span></div></li>\n`;
    const path = step in pageOfStep ? pageOfStep[step as keyof typeof pageOfStep] : undefined;
    return html`<li><div>${path ? html`<a href="${path}">${title}</a>` : title}
<p class="hint">${view.t(`admin.checklist.${step}.what`)}</p>
${step === 'master_key' && buttonForm(view.t('admin.checklist.master_key.submit'), { path: '/admin/master-key-backup', id: 'master-key-backed-up', style: 'quiet' })}</div></li>\n`;
  })}</ol>
${buttonForm(view.t('admin.checklist.hide'), { path: '/admin/checklist/hide', id: 'checklist-hide', style: 'link' })}
<p class="hint">${view.t('admin.checklist.hide.what')}</p></section>`;
}

/** At the end of the page, where it reminds of nothing. */
const hiddenChecklist = (view: View, { open, isHidden }: Setup): Html | false =>
  isHidden &&
  open.length > 0 &&
  buttonForm(view.t('admin.checklist.show', { open: open.length }), {
    path: '/admin/checklist/show',
    id: 'checklist-show',
    style: 'link',
  });

function health(view: View, { webhooks, keys, log, mail, isClockSteady, now }: Overview): Html {
  const dead = webhooks.reduce((sum, one) => sum + one.dead, 0);
  const isMore = webhooks.some((one) => one.dead >= maxDeadCounted);
  const off = webhooks.filter(
    ({ disabled_at, disabled_reason }) => disabled_at !== null && disabled_reason !== null,
  ).length;
  const failing = webhooks.filter(isFailing).length;
  const deadWords = isMore ? 'admin.overview.webhooks.dead_more' : 'admin.overview.webhooks.dead';
  const webhookWords = html`${view.t(dead === 0 ? 'admin.overview.webhooks.well' : deadWords, { dead })}${
    failing > 0 && html` ${view.t('admin.overview.webhooks.failing', { failing })}`
  }${off > 0 && html` ${view.t('admin.overview.webhooks.off', { off })}`}`;
  const { lost, ...counts } = log;
  const logWords = lost
    ? view.t('admin.overview.audit.stopped', { seq: lost.seq })
    : view.t('admin.overview.audit', counts);
  const oldest = Math.min(...keys.filter(({ status }) => status === 'active').map((key) => key.activated_at ?? now));
  const isLate = now - oldest > rotationPeriodSeconds + 86_400;
  const state = (isWell: boolean) =>
    isWell ? badge(view.t('admin.all_good')) : badge(view.t('admin.needs_attention'), 'warn');
  const item = (title: Html, isWell: boolean, detail: Html) => html`<li><div>
<h3>${title} ${state(isWell)}</h3>
<p>${detail}</p>
</div></li>
`;
  const linked = (path: string, key: 'admin.tab.webhooks' | 'admin.tab.keys' | 'admin.tab.audit') =>
    html`<a href="${path}">${view.t(key)}</a>`;
  return html`<ul class="items health">
${item(view.t('admin.overview.mail'), mail === 'smtp', view.t(`admin.overview.mail.${mail}`))}
${item(linked('/admin/webhooks', 'admin.tab.webhooks'), dead + off + failing === 0, webhookWords)}
${item(linked('/admin/keys', 'admin.tab.keys'), !isLate, view.t('admin.overview.keys', { age: view.ago(oldest), next: view.day(oldest + rotationPeriodSeconds) }))}
${item(linked('/admin/audit', 'admin.tab.audit'), !log.lost, logWords)}
${item(view.t('admin.overview.store'), isClockSteady, view.t(isClockSteady ? 'admin.overview.store.well' : 'admin.overview.store.clock'))}
</ul>`;
}
