import { type Html, html, namedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import { exactTime } from '../../platform/pages/times.ts';
import type { View } from '../../platform/pages/view.ts';
import { deviceName } from '../sessions/browser.ts';
import type { FactorRecovery } from '../sessions/factor-recoveries.store.ts';
import { cancelForm } from '../sessions/page.ts';
import { continuesTo, type ForApp } from '../sessions/return-target.ts';
import { recoveryRequestPath } from '../two-factor/second-step-routes.ts';
import { recoverPath, stopPath } from './recovery-mails.ts';
import type { RecoveryState } from './request-recovery.ts';

type Frame = ForApp & { request_id?: string; endsAt?: string };

/** Between the factors: how the removal works, and how far it is. */
export const requestPage = (view: View, state: RecoveryState, frame: Frame): Page => ({
  title: view.plain('recovery.title'),
  endsAt: frame.endsAt,
  content: html`<h1>${view.t('recovery.title')}</h1>
${continuesTo(view, frame)}
${contentOf(view, state)}
<p><a id="recovery-back" href="/signin/second-factor">${view.t('recovery.back')}</a></p>
${cancelForm(view, frame)}`,
});

function contentOf(view: View, state: RecoveryState): Html {
  if (state.kind === 'impossible') return html`<p>${view.t('recovery.impossible')}</p>`;
  if (state.kind === 'paused') {
    return html`<p id="recovery-paused">${view.t('recovery.paused', { from: view.day(state.from) })}</p>`;
  }
  if (state.kind === 'under_way') {
    const { email, requested_at: since, due_at: until } = state.recovery;
    const values = {
      since: view.day(since),
      until: view.until(until),
      email: namedEmail(email),
    };
    return html`<div class="notice" id="recovery-under-way"><p>${view.t('recovery.under_way', values)}</p></div>
<p>${view.t('recovery.how.found')}</p>`;
  }
  const { days, email } = state;
  return html`<p>${view.t('recovery.what', { days })}</p>
<ol>
<li>${view.t('recovery.how.mail')}</li>
<li>${view.t('recovery.how.wait', { days, email: namedEmail(email) })}</li>
<li>${view.t('recovery.how.found')}</li>
</ol>
<form method="post" action="${recoveryRequestPath}"><button type="submit" id="recovery-request">${view.t('recovery.submit')}</button></form>`;
}

/** When and where it was asked for: so readers know whether it was them. */
function askedFor(view: View, { requested_at, address, user_agent }: FactorRecovery): Html {
  return html`<dl>
<dt>${view.t('mail.fact.time')}</dt><dd>${exactTime(requested_at)}</dd>
<dt>${view.t('mail.fact.device')}</dt><dd>${deviceName(user_agent) ?? '?'}</dd>
<dt>${view.t('mail.fact.address')}</dt><dd>${address === null ? '?' : html`<bdi>${address}</bdi>`}</dd>
</dl>`;
}

/** Of the link in every mail about it. */
export const stopPage = (view: View, token: string, recovery: FactorRecovery): Page => ({
  title: view.plain('recovery.stop.title'),
  content: html`<h1>${view.t('recovery.stop.title')}</h1>
<p>${view.t('recovery.stop.what')}</p>
${askedFor(view, recovery)}
<form method="post" action="${stopPath}/${token}"><button type="submit" id="recovery-stop">${view.t('recovery.stop.submit')}</button></form>`,
});

/** Where its user stops it who is signed in. */
export const stopOwnPath = '/account/security/recovery/stop';

/** For its user who is signed in: mails may be read late, or by another person. */
export const recoveryNotice = (view: View, recovery: FactorRecovery): Html =>
  html`<div class="alert" id="factor-recovery"><p>${view.t('recovery.stop.what')}</p>
${askedFor(view, recovery)}
<form method="post" action="${stopOwnPath}"><button type="submit" id="recovery-stop">${view.t('recovery.stop.submit')}</button></form></div>
`;

export const stoppedPage = (view: View): Page => ({
  title: view.plain('recovery.stopped.title'),
  content: html`<h1>${view.t('recovery.stopped.title')}</h1>
<p>${view.t('recovery.stopped.what')}</p>
<p class="actions"><a class="button" id="recovery-new-password" href="/reset">${view.t('reset.link_title')}</a></p>`,
});

/** @param email of the account, for browsers that keep its password. */
export const completePage = (
  view: View,
  { token, email, problem }: { token: string; email: string; problem?: Html | false },
): Page => ({
  title: view.plain('recovery.title'),
  content: html`<h1>${view.t('recovery.title')}</h1>
<p>${view.t('recovery.complete.what', { email: namedEmail(email) })}</p>
${problem}
<form method="post" action="${recoverPath}/${token}">
<input type="hidden" name="username" autocomplete="username" value="${email}">
<label for="password">${view.t('field.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000" autofocus${problem && html` aria-describedby="problem"`}>
<button type="submit" id="recovery-complete" class="danger">${view.t('recovery.complete.submit')}</button>
</form>
<p><a id="recovery-stop-instead" href="${stopPath}/${token}">${view.t('recovery.stop.submit')}</a></p>`,
});
