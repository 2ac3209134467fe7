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

type SetUpForm = ReturnTarget & {
  user_id: string;
  clientName: string | undefined;
  endsAt: string | undefined;
  /** The operator requires a second factor of every user, or of this administrator. */
  isRequired: boolean;
  /** The client requires it; otherwise it receives an error. */
  isEssential: boolean;
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
<p>${reason(view, form)} ${view.t('set_up.what')}</p>
${form.problem}
${form.enrollment ? appSteps(view, form, form.enrollment) : appChoice(view, form)}
${form.canHavePasskeys && passkeyChoice(view, form)}
${exit(view, form)}`,
});

function reason(view: View, { request_id, isRequired, isEssential, clientName = '' }: SetUpForm): Html {
  if (isRequired || request_id === undefined)
    return view.t(isRequired ? 'set_up.why' : 'set_up.why.soon', { service: view.branding.name });
  const client = html`<strong><bdi>${clientName}</bdi></strong>`;
  return view.t(isEssential ? 'set_up.why.client' : 'set_up.why.preferred', { client });
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
  const { request_id, user_id, isRequired, isEssential } = form;
  if (request_id === undefined) {
    if (isRequired) return signOutForm(view);
    return html`<p><a id="set-up-not" href="${form.next ?? '/account'}">${view.t('set_up.later')}</a></p>`;
  }
  const declined = `/oauth/authorize/continue?request=${request_id}&step_up=declined&user=${user_id}`;
  const label = view.t(isRequired || isEssential ? 'set_up.cancel' : 'set_up.decline');
  return html`<p><a id="set-up-not" href="${declined}">${label}</a></p>`;
}
