import type { AuditLog } from '../audit/audit-log.ts';
import { type KeyRecord, rotationPeriodSeconds } from '../oauth/signing-keys/signing-keys.ts';
import type { FieldProblem } from '../platform/errors.ts';
import type { Parameters } from '../platform/http/parameters.ts';
import { fieldAlert, firstWrong, newPasswordField, passwordScripts } from '../platform/pages/form.ts';
import { type Html, html } from '../platform/pages/html.ts';
import { badge } from '../platform/pages/lists.ts';
import type { Page } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';
import { maxDeadCounted } from '../webhooks/list-webhooks.ts';
import { adminTab } from './components.ts';

type Dashboard = {
  /** For a review. */
  waiting: { pending: number; changes: number };
  /** Each with the number of its dead deliveries. */
  webhooks: readonly { dead: number; disabled_at: number | null }[];
  keys: readonly KeyRecord[];
  log: Awaited<ReturnType<AuditLog['state']>>;
  /** Unix seconds. */
  now: number;
};

/** What waits for an administrator, each with a word about whether it is well. */
export const dashboardPage = (view: View, { waiting, webhooks, keys, log, now }: Dashboard): Page => {
  const dead = webhooks.reduce((sum, one) => sum + one.dead, 0);
  const isMore = webhooks.some((one) => one.dead >= maxDeadCounted);
  const off = webhooks.filter(({ disabled_at }) => disabled_at !== null).length;
  const webhookWords = html`${view.t(dead === 0 ? 'admin.overview.webhooks.well' : isMore ? 'admin.overview.webhooks.dead_more' : 'admin.overview.webhooks.dead', { dead })}${off > 0 && html` ${view.t('admin.overview.webhooks.off', { off })}`}`;
  const { lost, ...counts } = log;
  const logWords = lost
    ? view.t('admin.overview.audit.stopped', { seq: lost.seq })
    : view.t('admin.overview.audit', counts);
  const oldest = Math.min(...keys.filter(({ status }) => status === 'active').map((key) => key.activated_at ?? now));
  const isLate = now - oldest > rotationPeriodSeconds + 86_400;
  const item = (path: string, title: Html, state: Html, detail: Html) => html`<li><div>
<h2><a href="${path}">${title}</a> ${state}</h2>
<p>${detail}</p>
</div></li>
`;
  const word = (isWell: boolean) =>
    isWell ? badge(view.t('admin.all_good')) : badge(view.t('admin.needs_attention'), 'warn');
  return {
    title: view.plain('admin.title'),
    tab: adminTab('admin'),
    content: html`<h1>${view.t('admin.title')}</h1>
<p class="soft">${view.t('admin.intro')}</p>
<ul class="items">
${item('/admin/clients', view.t('admin.tab.clients'), waiting.pending + waiting.changes === 0 ? badge(view.t('admin.all_good')) : badge(view.t('admin.review'), 'off'), view.t('admin.overview.clients', waiting))}
${item('/admin/webhooks', view.t('admin.tab.webhooks'), word(dead + off === 0), webhookWords)}
${item('/admin/keys', view.t('admin.tab.keys'), word(!isLate), view.t('admin.overview.keys', { age: view.ago(oldest), next: view.day(oldest + rotationPeriodSeconds) }))}
${item('/admin/audit', view.t('admin.tab.audit'), word(log.late === 0 && !log.lost), logWords)}
</ul>`,
  };
};

export const invitationPage = (
  view: View,
  token: string,
  { form, problems = [] }: { form?: Parameters; problems?: readonly FieldProblem[] } = {},
): Page => ({
  title: view.plain('invitation.title'),
  scripts: passwordScripts,
  content: html`<h1>${view.t('invitation.title')}</h1>
<p class="soft">${view.t('invitation.intro')}</p>
${fieldAlert(view, problems)}
<form method="post" action="/invite/${token}">
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"${!isAbout(problems, 'name', 'password') && html` autofocus`} value="${form?.email ?? ''}">
<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" autocomplete="name" required maxlength="100"${isAbout(problems, 'name') && html` autofocus`} value="${form?.name ?? ''}">
${newPasswordField(view, { label: 'field.password', problems })}
<button type="submit" id="invite-submit">${view.t('invitation.submit')}</button>
</form>`,
});

const isAbout = (problems: readonly FieldProblem[], ...names: string[]) => names.includes(firstWrong(problems) ?? '');
