import type { User } from '../../accounts/users.ts';
import { usesSecret } from '../../clients/authentication-methods.ts';
import {
  consentPolicies,
  type SecondFactor,
  secondFactorOf,
  secondFactors,
  signingAlgorithms,
} from '../../clients/choices.ts';
import { type Client, needsConsentChoice, needsReview, proposalOf } from '../../clients/client.ts';
import { linkFields } from '../../clients/fields.ts';
import { countedAtMost } from '../../clients/find-clients.ts';
import { proposedRetryWindow } from '../../clients/libraries/advice.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import { homepageUrlProblem } from '../../clients/page-url.ts';
import type { clientReview, LastRejection } from '../../clients/read-review.ts';
import type { ReviewerProblem } from '../../clients/reviewer.ts';
import type { Risk, RiskCode } from '../../clients/risk-signals.ts';
import { type Scope, scopeNames } from '../../clients/scopes.ts';
import type { ClientUsage } from '../../oauth/grants/grants.ts';
import { isMessageKey } from '../../platform/i18n/translate.ts';
import { copyButton, copyScripts, hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { clientInitials, visibleText } from '../../platform/text.ts';
import { adminTab, buttonForm, choices, doneNotice, reasonField, type Shown, step } from '../components.ts';
import { differenceTable } from './comparison.ts';
import { riskBadge, statusBadge } from './list-page.ts';

export type ClientView = Awaited<ReturnType<typeof clientReview>> & {
  /** Of its last days. */
  charts: Html;
  /** Why the administrator may not approve this client, nor change its policy. */
  reviewerProblem: ReviewerProblem | undefined;
  usage: ClientUsage;
  /** After a decision: what is to be reviewed next, and how many wait besides. */
  next: { client: Client; more: number } | undefined;
};

/** Reasons for a rejection that need not be written each time. */
export const readyReasons = ['name', 'redirects', 'home_page', 'policy', 'scopes', 'purpose'] as const;

const done = [
  'approved',
  'rejected',
  'suspended',
  'reinstated',
  'policy',
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
    content: html`<div class="person"><span class="initials" aria-hidden="true">${clientInitials(client.name)}</span>
<div><h1>${untrusted(client.name)}</h1><p>${statusBadge(view, client)}</p></div></div>
${shown.problem}${doneNotice(view, shown, 'clients', done)}
${next && nextLink(view, next)}
${needsReview(client) && html`<p class="to-decision"><a href="#decision">${view.t('admin.clients.to_decision')}</a></p>`}
${client.owner_user_id === null && ownerActions(view, client)}
<div class="review"><div>
${facts(view, of)}
${lastRejection ? rejectionNote(view, lastRejection) : client.status_reason !== null && html`<p>${view.t('admin.clients.reason', { reason: untrusted(client.status_reason, 500) })}</p>`}
${risks.length > 0 && riskList(view, risks, owner)}
<h2>${view.t(client.pending_change === null ? 'admin.clients.registered' : 'admin.clients.change')}</h2>
${links(view, proposalOf(client))}
${client.note_to_reviewer !== null && needsReview(client) && html`<div class="advice" id="client-note"><p>${view.t('admin.clients.note', { note: html`<q>${untrusted(client.note_to_reviewer, 500)}</q>` })}</p></div>`}
${differenceTable(view, client, lastRejection)}
${charts}
<p><a href="${path(client)}/logout-deliveries">${view.t('logouts.title')}</a></p>
<p><a href="/admin/audit?who=${client.client_id}">${view.t('admin.history')}</a></p>
</div>
<div class="decision" id="decision" role="region" aria-label="${view.t('admin.clients.decision')}">
${decisions(view, client, reviewerProblem, usage)}
${deletion(view, client, usage)}
</div></div>`,
  };
};

const nextLink = (view: View, { client, more }: NonNullable<ClientView['next']>): Html =>
  html`<p class="actions"><a class="button" id="client-next" href="${path(client)}">${view.t('admin.clients.next', { client: untrusted(client.name) })}</a>${
    more > 0 &&
    html` <span class="soft">${view.t('admin.clients.next.more', { more: more > countedAtMost ? `${countedAtMost}+` : more })}</span>`
  }</p>`;

/** What an owner would do. */
const ownerActions = (view: View, client: Client): Html => html`<p class="actions">
<a class="button quiet" id="client-edit" href="${path(client)}/edit">${view.t('developer.edit')}</a>
${usesSecret(client) && html`<a class="button quiet" id="client-secrets" href="${path(client)}/secrets">${view.t('developer.secrets')}</a>`}
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

/** Whom it concerns when a client stops. */
const usageWords = (view: View, { users, users_is_minimum, last_sign_in_at }: ClientUsage): Html =>
  html`${view.t(users_is_minimum ? 'admin.clients.usage.at_least' : 'admin.clients.usage', { users })} ${
    last_sign_in_at === null
      ? view.t('admin.clients.usage.no_sign_in')
      : view.t('admin.clients.usage.last_sign_in', { when: view.ago(last_sign_in_at) })
  }`;

/** Why the previous revision was rejected, and what its owner has changed since. */
const rejectionNote = (view: View, { at, revision, reason, changes }: LastRejection): Html =>
  html`<div class="advice"><p>${view.t('admin.clients.rejected_before', {
    when: view.ago(at),
    revision,
    reason: html`<q>${untrusted(reason ?? '', 500)}</q>`,
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

const facts = (view: View, { client, owner, usage }: ClientView) => html`<dl>
<dt>${view.t('admin.clients.owner')}</dt><dd>${
  owner
    ? html`<a href="/admin/users/${owner.user_id}">${untrusted(owner.name ?? owner.email)}</a> ${untrustedEmail(owner.email)}`
    : view.t('admin.clients.ownerless')
}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${client.client_id}</code></dd>
<dt>${view.t('admin.clients.type')}</dt><dd>${view.t(`admin.clients.type.${client.client_type}`)}</dd>
<dt>${view.t('admin.clients.revision')}</dt><dd>${client.revision}</dd>
${wasApproved(client) && policyFacts(view, client)}
<dt>${view.t('admin.clients.usage.title')}</dt><dd>${usageWords(view, usage)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.day(client.created_at)}</dd>
<dt>${view.t('admin.changed')}</dt><dd>${view.ago(client.updated_at)}</dd>
</dl>`;

/** Before that nothing is decided: what is stored is a default. */
const wasApproved = ({ status }: Client) => status === 'approved' || status === 'suspended';

const policyFacts = (view: View, { consent, refresh_retry_window: seconds }: Client) =>
  html`<dt>${view.t('admin.clients.consent')}</dt><dd>${view.t(`admin.clients.consent.${consent}`)}</dd>
<dt>${view.t('admin.clients.retry.window')}</dt><dd>${seconds === 0 ? view.t('admin.clients.retry.strict') : view.duration(seconds)}</dd>`;

const path = ({ client_id }: Client) => `/admin/clients/${client_id}`;

/** The decisions that the client's state allows. */
function decisions(view: View, client: Client, reviewerProblem: ReviewerProblem | undefined, usage: ClientUsage): Html {
  const waits = needsReview(client);
  const needsReviewer = waits || wasApproved(client);
  const mayDecide = reviewerProblem === undefined;
  return html`${!mayDecide && needsReviewer && unavailableDecision(view, client, reviewerProblem)}
${waits && mayDecide && approval(view, client)}${waits && rejection(view, client)}
${client.status === 'suspended' && mayDecide && reinstatement(view, client)}
${wasApproved(client) && mayDecide && (waits ? foldedPolicy(view, client) : policy(view, client))}
${client.status === 'approved' && suspension(view, client, usage)}`;
}

/** In place of forms that would be refused: why, and what to do instead. */
function unavailableDecision(view: View, client: Client, { userMessage, isOnlyAdministrator }: ReviewerProblem): Html {
  return html`<h2>${view.t('admin.clients.cannot_approve')}</h2>
<div class="advice"><p>${view.t(userMessage.key, userMessage.values)}</p>
${
  isOnlyAdministrator &&
  html`<p>${view.t('admin.clients.cannot_approve.only_administrator', {
    invite: html`<code>signet admin invite</code>`,
    setting: html`<code>SIGNET_SELF_APPROVAL=on</code>`,
  })}</p>
<p><code id="client-command">${commandFor(client)}</code> ${copyButton(view, 'client-command')}</p>`
}</div>`;
}

function commandFor(client: Client): string {
  const { client_id, revision, status } = client;
  if (needsReview(client)) return `signet clients approve ${client_id} --revision ${revision}${consentOption(client)}`;
  return status === 'suspended'
    ? `signet clients reinstate ${client_id}`
    : `signet clients policy ${client_id} --consent ${client.consent}`;
}

/** As in the form, the reviewer has to choose; asking users for consent is recommended. */
const consentOption = (client: Client) => (needsConsentChoice(client) ? ' --consent required' : '');

function approval(view: View, client: Client): Html {
  const wanted: readonly Scope[] = client.pending_change?.allowed_scopes ?? client.allowed_scopes;
  return html`<h2>${view.t('admin.clients.approve')}</h2>
<p class="soft">${view.t('admin.clients.approve.what', { revision: client.revision })}</p>
<form method="post" action="${path(client)}/approve">
${hidden('revision', String(client.revision))}
${choices(
  view.t('admin.clients.scopes'),
  'scope:',
  scopeNames
    .filter((name) => wanted.includes(name))
    .map((name) => ({ name, label: html`${view.t(`scope.${name}`)} <code>${name}</code>`, isChosen: true })),
)}
${factorField(view, secondFactorOf(proposalOf(client).default_acr_values))}
${policyFields(view, client, 'approve', needsConsentChoice(client) ? undefined : client.consent)}
<button type="submit" id="client-approve">${view.t('admin.clients.approve.submit', { revision: client.revision })}</button>
</form>`;
}

/** A reviewer may ask more of the users of a client than its owner does, or less. */
const factorField = (
  view: View,
  requested: SecondFactor,
): Html => html`<label for="second_factor">${view.t('clients.field.default_acr_values')}</label>
<select id="second_factor" name="second_factor" aria-describedby="second_factor-hint">${secondFactors.map(
  (one) =>
    html`<option value="${one}"${one === requested && html` selected`}>${view.t(`developer.second_factor.${one}`)}</option>`,
)}</select>
<p class="hint" id="second_factor-hint">${view.t('admin.clients.second_factor.hint', { requested: view.t(`developer.second_factor.${requested}`) })}</p>`;

/** @param selected which consent policy is selected; undefined: the reviewer has to choose (decisions §9). */
const policyFields = (
  view: View,
  client: Client,
  form: 'approve' | 'policy',
  selected: Client['consent'] | undefined,
): Html => html`<fieldset aria-describedby="${form}-consent-hint"><legend>${view.t('admin.clients.consent')}</legend>
${[...consentPolicies]
  .reverse()
  .map(
    (one) =>
      html`<label><input type="radio" name="consent" value="${one}" required${one === selected && html` checked`}> ${view.t(`admin.clients.consent.${one}`)}${
        one === client.consent &&
        client.status !== 'pending_review' &&
        html` ${view.t('admin.clients.consent.current')}`
      }</label>\n`,
  )}</fieldset>
<p class="hint" id="${form}-consent-hint">${view.t('admin.clients.consent.hint')}</p>
<label for="${form}-retry">${view.t('admin.clients.retry')}</label>
<input id="${form}-retry" name="refresh_retry_window" type="number" min="0" max="60" step="1" required value="${retryWindow(client, form)}" aria-describedby="${form}-retry-hint">
<p class="hint" id="${form}-retry-hint">${view.t('admin.clients.retry.hint')}</p>
${form === 'approve' && proposal(view, client)}`;

/** What the library calls for is filled in while it is undecided: before the first approval, or with a new library. */
function retryWindow(client: Client, form: 'approve' | 'policy'): number {
  const { status, refresh_retry_window, library } = client;
  const isUndecided =
    refresh_retry_window === 0 && (status === 'pending_review' || proposalOf(client).library !== library);
  const proposed = form === 'approve' && isUndecided ? proposedRetryWindow(proposalOf(client)) : undefined;
  return proposed ?? refresh_retry_window;
}

function proposal(view: View, client: Client): Html | false {
  const wanted = proposalOf(client);
  const [seconds, library] = [proposedRetryWindow(wanted), findLibrary(wanted.library)];
  if (seconds === undefined || library === undefined) return false;
  return html`<div class="advice" id="retry-proposed"><p>${view.t('admin.clients.retry.proposed', { library: library.name, seconds })}</p></div>`;
}

const reinstatement = (view: View, client: Client): Html => html`<h2>${view.t('admin.clients.reinstate')}</h2>
<p class="soft">${view.t('admin.clients.reinstate.what')}</p>
${buttonForm(view.t('admin.clients.reinstate.submit'), formOf(client, 'reinstate'))}`;

const formOf = (client: Client, name: string) => ({ path: `${path(client)}/${name}`, id: `client-${name}` });

const policy = (view: View, client: Client): Html => html`<h2>${view.t('admin.clients.policy')}</h2>
${policyForm(view, client)}`;

/** Beside a review, which decides the same. */
const foldedPolicy = (view: View, client: Client): Html =>
  html`<details><summary>${view.t('admin.clients.policy')}</summary>
${policyForm(view, client)}</details>`;

const policyForm = (view: View, client: Client): Html => html`<p class="soft">${view.t('admin.clients.policy.what')}</p>
<form method="post" action="${path(client)}/policy">
${policyFields(view, client, 'policy', client.consent)}
<fieldset aria-describedby="policy-alg-hint"><legend>${view.t('developer.algorithm')}</legend>
${signingAlgorithms.map(
  (one) =>
    html`<label><input type="radio" name="id_token_signed_response_alg" value="${one}" required${one === client.id_token_signed_response_alg && html` checked`}> ${view.t(`developer.algorithm.${one}`)}</label>\n`,
)}</fieldset>
<p class="hint" id="policy-alg-hint">${view.t('admin.clients.policy.algorithm.hint')}</p>
<button type="submit" class="quiet" id="client-policy">${view.t('admin.clients.policy.submit')}</button>
</form>`;

const rejection = (view: View, client: Client): Html => html`<h2>${view.t('admin.clients.reject')}</h2>
<p class="soft">${view.t('admin.clients.reject.what')}</p>
<form method="post" action="${path(client)}/reject">
${hidden('revision', String(client.revision))}
<label for="reject-ready">${view.t('admin.reason')}</label>
<select id="reject-ready" name="ready">
<option value="">${view.t('admin.clients.reject.own_words')}</option>
${readyReasons.map((name) => html`<option value="${name}">${view.t(`admin.clients.reject.ready.${name}`)}</option>\n`)}</select>
<label for="reject-reason">${view.t('admin.clients.reject.in_words')}</label>
<textarea id="reject-reason" name="reason" rows="2" maxlength="300" aria-describedby="reject-reason-hint"></textarea>
<p class="hint" id="reject-reason-hint">${view.t('admin.clients.reject.hint')}</p>
<button type="submit" class="danger" id="client-reject">${view.t('admin.clients.reject.submit')}</button>
</form>`;

const suspension = (view: View, client: Client, usage: ClientUsage): Html =>
  step(view, 'admin.clients.suspend', {
    ...formOf(client, 'suspend'),
    style: 'danger',
    fields: [html`<p>${usageWords(view, usage)}</p>`, reasonField(view, 'suspend-reason')],
  });

/** The name is typed, so that a slip does not delete a client that people use. */
const deletion = (view: View, client: Client, usage: ClientUsage): Html =>
  step(view, 'admin.clients.delete', {
    ...formOf(client, 'delete'),
    style: 'danger',
    fields: html`<p>${usageWords(view, usage)}</p>
<label for="confirmation">${view.t('admin.clients.delete.type', { client: untrusted(client.name) })}</label>
<input id="confirmation" name="confirmation" required autocomplete="off" autocapitalize="none" spellcheck="false">
`,
  });
