import type { User } from '../../accounts/statements.ts';
import { type Client, needsReview, proposalOf } from '../../clients/client.ts';
import { linkFields } from '../../clients/fields.ts';
import { countedAtMost } from '../../clients/find-clients.ts';
import { logoOf } from '../../clients/logos.ts';
import { hasSecrets } from '../../clients/manage-secrets.ts';
import { homepageUrlProblem } from '../../clients/page-url.ts';
import { originHostOf } from '../../clients/presentation.ts';
import type { clientReview, LastRejection } from '../../clients/read-review.ts';
import type { ReviewerProblem } from '../../clients/reviewer.ts';
import type { Risk, RiskCode } from '../../clients/risk-signals.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import type { ClientUsage } from '../../oauth/grants/grants.ts';
import { isMessageKey } from '../../platform/i18n/translate.ts';
import { copyScripts } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { appMark } from '../../platform/pages/initials.ts';
import { counted, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, clientPath, doneNotice, type Shown } from '../components.ts';
import { differenceTable } from './comparison.ts';
import { decisions, deletion, usageWords, wasApproved } from './decision-forms.ts';
import { type GroupNames, groupFacts } from './group-fields.ts';
import { riskBadge, statusBadge } from './list-page.ts';
import { logoSection } from './logo-section.ts';

export type ClientView = Awaited<ReturnType<typeof clientReview>> & {
  /** Of its last days. */
  charts: Html;
  /** Why the administrator may not approve this client, nor change its policy. */
  reviewerProblem: ReviewerProblem | undefined;
  usage: ClientUsage;
  /** That there are. */
  scopes: ScopeRegister;
  /** Of the groups that it is for, and that it sees. */
  groupNames: GroupNames;
  /** After a decision: what is to be reviewed next, and how many wait besides. */
  next: { client: Client; more: number } | undefined;
};

const done = [
  'approved',
  'rejected',
  'suspended',
  'reinstated',
  'policy',
  'logo',
  'registered',
  'saved',
  'resubmitted',
  'staged',
  'withdrawn',
  'unchanged',
] as const;

export const clientPage = (view: View, of: ClientView, shown: Shown): Page => {
  const { client, owner, risks, lastRejection, reviewerProblem, usage, next, charts } = of;
  return {
    title: visibleText(client.name),
    tab: adminTab('admin_clients'),
    ...(reviewerProblem?.isOnlyAdministrator && { scripts: copyScripts }),
    content: html`<div class="person">${appMark(client.name, logoOf(client))}
<div><h1>${untrusted(client.name)}</h1><p>${statusBadge(view, client)}</p></div></div>
${shown.problem}${doneNotice(view, shown, 'clients', done)}
${next && nextLink(view, next)}
${needsReview(client) && view.may('clients:approve') && html`<p class="to-decision"><a href="#decision">${view.t('admin.clients.to_decision')}</a></p>`}
${client.owner_user_id === null && view.may('clients:write') && ownerActions(view, client)}
<div class="review"><div>
${facts(view, of)}
${lastRejection ? rejectionNote(view, lastRejection) : statusReason(view, client)}
${risks.length > 0 && riskList(view, risks, owner)}
${of.logo && logoSection(view, client, of.logo, reviewerProblem === undefined)}
<h2>${view.t(client.pending_change === null ? 'admin.clients.registered' : 'admin.clients.change')}</h2>
${links(view, proposalOf(client))}
${needsReview(client) && ownersNote(view, client)}
${differenceTable(view, client, lastRejection)}
${charts}
<p><a href="${clientPath(client)}/logout-deliveries">${view.t('logouts.title')}</a></p>
${view.may('audit:read') && html`<p><a href="${pathWith('/admin/audit', { who: client.client_id })}">${view.t('admin.history')}</a></p>`}
</div>
<div class="decision" id="decision" role="region" aria-label="${view.t('admin.clients.decision')}">
${decisions(view, client, reviewerProblem, of)}
${view.may('clients:write') && deletion(view, client, usage)}
</div></div>`,
  };
};

/** What an administrator has written about its state. */
const statusReason = (view: View, { status_reason: words }: Client): Html | false =>
  words !== null && html`<p>${view.t('admin.clients.reason', { reason: untrusted(words, 500) })}</p>`;

const ownersNote = (view: View, { note_to_reviewer: words }: Client): Html | false =>
  words !== null &&
  html`<div class="advice" id="client-note"><p>${view.t('admin.clients.note', { note: quoted(words) })}</p></div>`;

const quoted = (words: string): Html => html`<q>${untrusted(words, 500)}</q>`;

const nextLink = (view: View, { client, more }: NonNullable<ClientView['next']>): Html =>
  html`<p class="actions"><a class="button" id="client-next" href="${clientPath(client)}">${view.t('admin.clients.next', { client: untrusted(client.name) })}</a>${
    more > 0 &&
    html` <span class="soft">${view.t('admin.clients.next.more', { more: counted(view, more, countedAtMost) })}</span>`
  }</p>`;

/** What an owner would do. */
const ownerActions = (view: View, client: Client): Html => html`<p class="actions">
<a class="button quiet" id="client-edit" href="${clientPath(client)}/edit">${view.t('developer.edit')}</a>
${hasSecrets(client) && html`<a class="button quiet" id="client-secrets" href="${clientPath(client)}/secrets">${view.t('developer.secrets')}</a>`}
</p>`;

/** To look at them: a new page, which learns nothing of this one. */
function links(view: View, client: Client): Html | false {
  const given = linkFields.flatMap((field) => {
    const url = client[field];
    const key = `admin.clients.open.${field}`;
    return url !== null && isMessageKey(key) && homepageUrlProblem(url) === undefined
      ? [html`<a href="${url}" target="_blank" rel="noopener noreferrer">${view.t(key)}</a>`]
      : [];
  });
  return given.length > 0 && html`<p class="actions">${given}</p>`;
}

/** Why the previous revision was rejected, and what its owner has changed since. */
const rejectionNote = (view: View, { at, revision, reason, changes }: LastRejection): Html =>
  html`<div class="advice"><p>${view.t('admin.clients.rejected_before', {
    when: view.ago(at),
    revision,
    reason: quoted(reason ?? ''),
  })}</p>
<p>${
    changes.length === 0
      ? view.t('admin.clients.rejected_before.same')
      : view.t('admin.clients.rejected_before.changed', {
          fields: html`${changes.map(({ field }, place) => html`${place > 0 && ', '}${view.t(`clients.field.${field}`)}`)}`,
        })
  }</p></div>`;

const riskList = (
  view: View,
  risks: readonly Risk[],
  owner: User | undefined,
) => html`<h2>${view.t('admin.risk.title')}</h2>
<ul class="items">${risks.map(
  (risk) => html`<li><div><h3>${riskBadge(view, risk)}</h3>
<p>${view.t(`risk.${risk.code}`, { detail: riskDetail(view, risk, owner) })}</p></div></li>\n`,
)}</ul>`;

/** Risks whose detail is names of other clients. */
const naming: ReadonlySet<RiskCode> = new Set([
  'name_resembles_client',
  'owner_has_suspended_client',
  'suspended_client_name',
]);

/** What the risk is about: the owner by name, other clients with a link to them. */
function riskDetail(view: View, { code, detail, more }: Risk, owner: User | undefined): Html {
  if (code === 'first_client' && owner) return untrusted(owner.name ?? owner.email);
  const address = (name: string) => `/admin/clients?${new URLSearchParams({ q: name })}`;
  const one = (text: string) =>
    naming.has(code) ? html`<a href="${address(text)}">${untrusted(text)}</a>` : untrusted(text, 500);
  return html`${detail.map((text, place) => html`${place > 0 && ', '}${one(text)}`)}${more !== undefined && html` ${view.t('admin.risk.more', { more })}`}`;
}

function facts(view: View, { client, owner, usage, groupNames }: ClientView): Html {
  const host = originHostOf(client);
  return html`<dl>
<dt>${view.t('admin.clients.owner')}</dt><dd>${
    owner
      ? html`${view.may('users:read') ? html`<a href="/admin/users/${owner.user_id}">${untrusted(owner.name ?? owner.email)}</a>` : untrusted(owner.name ?? owner.email)} ${untrustedEmail(owner.email)}`
      : host === undefined
        ? view.t('admin.clients.ownerless')
        : view.t(`admin.clients.origin.${client.origin!}`, { host: html`<code>${untrusted(host)}</code>` })
  }</dd>
${host !== undefined && client.status === 'pending_review' && html`<dt>${view.t('admin.clients.review_asked')}</dt><dd>${client.review_asked_at === null ? view.t('admin.clients.review_asked.not') : view.ago(client.review_asked_at)}</dd>`}
<dt>${view.t('admin.id')}</dt><dd><code>${client.client_id}</code></dd>
<dt>${view.t('admin.clients.type')}</dt><dd>${view.t(`admin.clients.type.${client.client_type}`)}</dd>
<dt>${view.t('admin.clients.revision')}</dt><dd>${client.revision}</dd>
${wasApproved(client) && html`${policyFacts(view, client)}${groupFacts(view, client, groupNames)}`}
<dt>${view.t('admin.clients.usage.title')}</dt><dd>${usageWords(view, usage)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.day(client.created_at)}</dd>
<dt>${view.t('admin.changed')}</dt><dd>${view.ago(client.updated_at)}</dd>
</dl>`;
}

const policyFacts = (view: View, { consent, profile, refresh_retry_window: seconds }: Client) =>
  html`<dt>${view.t('admin.clients.consent')}</dt><dd>${view.t(`admin.clients.consent.${consent}`)}</dd>
<dt>${view.t('admin.clients.retry.window')}</dt><dd>${seconds === 0 ? view.t('admin.clients.retry.strict') : view.duration(seconds)}</dd>
${profile !== null && html`<dt>${view.t('admin.clients.profile')}</dt><dd>${view.t(`admin.clients.profile.${profile}`)}</dd>`}`;
