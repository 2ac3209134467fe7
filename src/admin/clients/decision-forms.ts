import {
  consentPolicies,
  profiles,
  type SecondFactor,
  secondFactorOf,
  secondFactors,
  signingAlgorithms,
} from '../../clients/choices.ts';
import { type Client, needsConsentChoice, needsReview, proposalOf } from '../../clients/client.ts';
import { proposedRetryWindow } from '../../clients/libraries/advice.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import type { LogoState } from '../../clients/logos.ts';
import type { ReviewerProblem } from '../../clients/reviewer.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import type { ClientUsage } from '../../oauth/grants/grants.ts';
import { copyButton, hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { buttonForm, choices, clientPath, reasonField, step } from '../components.ts';
import { type GroupNames, groupFields } from './group-fields.ts';

/** Reasons for a rejection that need not be written each time. */
export const readyReasons = ['name', 'redirects', 'home_page', 'policy', 'scopes', 'purpose'] as const;

/** Whom it concerns when a client stops. */
export const usageWords = (view: View, { users, users_is_minimum, last_sign_in_at }: ClientUsage): Html =>
  html`${view.t(users_is_minimum ? 'admin.clients.usage.at_least' : 'admin.clients.usage', { users })} ${
    last_sign_in_at === null
      ? view.t('admin.clients.usage.no_sign_in')
      : view.t('admin.clients.usage.last_sign_in', { when: view.ago(last_sign_in_at) })
  }`;

/** Before that nothing is decided: what is stored is a default. */
export const wasApproved = ({ status }: Client) => status === 'approved' || status === 'suspended';

type Decided = {
  usage: ClientUsage;
  scopes: ScopeRegister;
  groupNames: GroupNames;
  /** As the page shows it. */
  logo: LogoState | undefined;
};

/** The decisions that the client's state allows. */
export function decisions(
  view: View,
  client: Client,
  reviewerProblem: ReviewerProblem | undefined,
  { usage, scopes, groupNames: names, logo }: Decided,
): Html {
  const waits = needsReview(client);
  const needsReviewer = waits || wasApproved(client);
  if (!view.may('clients:approve')) return html``;
  const mayDecide = reviewerProblem === undefined;
  return html`${!mayDecide && needsReviewer && unavailableDecision(view, client, reviewerProblem)}
${waits && mayDecide && approval(view, client, { scopes, names, logo })}${waits && rejection(view, client)}
${client.status === 'suspended' && mayDecide && reinstatement(view, client)}
${wasApproved(client) && mayDecide && (waits ? foldedPolicy(view, client, names) : policy(view, client, names))}
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

function approval(
  view: View,
  client: Client,
  { scopes, names, logo }: Pick<Decided, 'scopes' | 'logo'> & { names: GroupNames },
): Html {
  const wanted = proposalOf(client).allowed_scopes;
  return html`<h2>${view.t('admin.clients.approve')}</h2>
<p class="soft">${view.t('admin.clients.approve.what', { revision: client.revision })}</p>
<form method="post" action="${clientPath(client)}/approve">
${hidden('revision', String(client.revision))}${hidden('logo_id', logo?.picture_id ?? '')}
${choices(
  view.t('admin.clients.scopes'),
  'scope:',
  scopes
    .list()
    .filter(({ name }) => client.origin !== null || wanted.includes(name))
    .map(({ name, api, describe }) => ({
      name,
      label: html`${api && html`${untrusted(api.name)}: `}${api ? untrusted(describe(view.locale)) : describe(view.locale)} <code>${name}</code>`,
      isChosen: wanted.includes(name),
    })),
)}
${factorField(view, secondFactorOf(proposalOf(client).default_acr_values))}
${policyFields(view, client, 'approve', needsConsentChoice(client) && client.origin === null ? undefined : client.consent)}
${groupFields(view, { client, names, form: 'approve' }, client.origin !== null || wanted.includes('groups'))}<button type="submit" id="client-approve">${view.t('admin.clients.approve.submit', { revision: client.revision })}</button>
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
  .filter((one) => client.origin === null || one === 'required')
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
${form === 'approve' && proposal(view, client)}
${profileField(view, client, form)}`;

/** A public client can never have one. */
const profileField = (view: View, client: Client, form: 'approve' | 'policy'): Html | false =>
  client.client_type === 'confidential' &&
  html`<label for="${form}-profile">${view.t('admin.clients.profile')}</label>
<select id="${form}-profile" name="profile" aria-describedby="${form}-profile-hint">${(
    ['none', ...profiles] as const
  ).map(
    (one) =>
      html`<option value="${one}"${one === (client.profile ?? 'none') && html` selected`}>${view.t(`admin.clients.profile.${one}`)}</option>`,
  )}</select>
<p class="hint" id="${form}-profile-hint">${view.t('admin.clients.profile.hint')}</p>`;

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

const formOf = (client: Client, name: string) => ({ path: `${clientPath(client)}/${name}`, id: `client-${name}` });

const policy = (view: View, client: Client, names: GroupNames): Html => html`<h2>${view.t('admin.clients.policy')}</h2>
${policyForm(view, client, names)}`;

/** Beside a review, which decides the same. */
const foldedPolicy = (view: View, client: Client, names: GroupNames): Html =>
  html`<details><summary>${view.t('admin.clients.policy')}</summary>
${policyForm(view, client, names)}</details>`;

const policyForm = (
  view: View,
  client: Client,
  names: GroupNames,
): Html => html`<p class="soft">${view.t('admin.clients.policy.what')}</p>
<form method="post" action="${clientPath(client)}/policy">
${policyFields(view, client, 'policy', client.consent)}
<fieldset aria-describedby="policy-alg-hint"><legend>${view.t('developer.algorithm')}</legend>
${signingAlgorithms.map(
  (one) =>
    html`<label><input type="radio" name="id_token_signed_response_alg" value="${one}" required${one === client.id_token_signed_response_alg && html` checked`}> ${view.t(`developer.algorithm.${one}`)}</label>\n`,
)}</fieldset>
<p class="hint" id="policy-alg-hint">${view.t('admin.clients.policy.algorithm.hint')}</p>
${groupFields(view, { client, names, form: 'policy' }, proposalOf(client).allowed_scopes.includes('groups'))}<button type="submit" class="quiet" id="client-policy">${view.t('admin.clients.policy.submit')}</button>
</form>`;

const rejection = (view: View, client: Client): Html => html`<h2>${view.t('admin.clients.reject')}</h2>
<p class="soft">${view.t('admin.clients.reject.what')}</p>
<form method="post" action="${clientPath(client)}/reject">
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
export const deletion = (view: View, client: Client, usage: ClientUsage): Html =>
  step(view, 'admin.clients.delete', {
    ...formOf(client, 'delete'),
    style: 'danger',
    fields: html`<p>${usageWords(view, usage)}</p>
<label for="confirmation">${view.t('admin.clients.delete.type', { client: untrusted(client.name) })}</label>
<input id="confirmation" name="confirmation" required autocomplete="off" autocapitalize="none" spellcheck="false">
`,
  });
