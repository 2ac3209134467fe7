import { betweenSentences } from '../../platform/i18n/formats.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { passkeyForm, passkeyScripts } from '../passkeys/page.ts';
import { signOutForm } from '../sessions/page.ts';
import { type ReturnTarget, returnTargetFields } from '../sessions/return-target.ts';
import type { Enrollment } from './enroll-totp.ts';
import { enrollmentSteps } from './page.ts';

export const setUpPath = '/signin/set-up';

/** Who requires a second factor: the service, or the client of the pending request; `soon`: the service, from a later day. */
export type SetUpReason = 'service' | 'client' | 'soon';

type SetUpForm = ReturnTarget & {
  user_id: string;
  clientName?: string;
  endsAt: string | undefined;
  reason: SetUpReason;
  /** The secret that awaits its first code. */
  enrollment: Enrollment | undefined;
  canHavePasskeys: boolean;
  suggestedName: string;
  /** About the first code, and about anything else. */
  codeProblem: Renderable;
  problem: Html | false | undefined;
};

/** In the middle of a sign-in: a user whose account has no second factor sets one up. */
export const setUpPage = (view: View, form: SetUpForm): Page => ({
  title: view.plain('set_up.title'),
  endsAt: form.endsAt,
  scripts: passkeyScripts,
  content: html`<h1>${view.t('set_up.title')}</h1>
<p>${why(view, form)}${betweenSentences(view.locale)}${view.t('set_up.what')}</p>
${form.problem}
${form.enrollment ? appSteps(view, form, form.enrollment) : appChoice(view, form)}
${form.canHavePasskeys && passkeyChoice(view, form)}
${exit(view, form)}`,
});

function why(view: View, { reason, clientName = '' }: SetUpForm): Html {
  if (reason === 'client')
    return view.t('set_up.why.client', { client: html`<strong><bdi>${clientName}</bdi></strong>` });
  return view.t(reason === 'soon' ? 'set_up.why.soon' : 'set_up.why', { service: view.branding.name });
}

const appChoice = (view: View, form: SetUpForm): Html => html`<h2>${view.t('totp.title')}</h2>
<p class="soft">${view.t('set_up.app')}</p>
<form method="post" action="${setUpPath}/enroll">${returnTargetFields(form)}<button type="submit" id="totp-enroll">${view.t('totp.begin')}</button></form>`;

const appSteps = (view: View, form: SetUpForm, enrollment: Enrollment): Html =>
  enrollmentSteps(view, { enrollment, problem: form.codeProblem, path: setUpPath, fields: returnTargetFields(form) });

const passkeyChoice = (view: View, form: SetUpForm): Html => html`<h2>${view.t('set_up.passkey.title')}</h2>
<p class="soft">${view.t('set_up.passkey')}</p>
<p data-passkey-without data-unsupported="${view.t('passkey.add.unsupported')}">${view.t('passkey.add.script')}</p>
${passkeyForm(view, {
  action: `${setUpPath}/passkey`,
  ceremony: 'create',
  button: view.t('passkey.add'),
  quiet: true,
  fields: html`${returnTargetFields(form)}${hidden('name', form.suggestedName)}`,
})}`;

/** Back to the app, which learns that there is no second factor; from a page of our own, out, or back while there is time. */
function exit(view: View, form: SetUpForm): Html {
  const { request_id, user_id, reason } = form;
  if (request_id === undefined) {
    if (reason === 'service') return signOutForm(view);
    return html`<p><a id="set-up-not" href="${form.next ?? '/account'}">${view.t('set_up.later')}</a></p>`;
  }
  const declined = `/oauth/authorize/continue?request=${request_id}&step_up=declined&user=${user_id}`;
  return html`<p><a id="set-up-not" href="${declined}">${view.t('signin.cancel', { client: html`<bdi>${form.clientName}</bdi>` })}</a></p>`;
}
