import { alert, notice } from '../../platform/pages/form.ts';
import { Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { accountTab } from '../account-tab.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import type { Enrollment } from './enroll-totp.ts';
import type { TwoFactorState } from './factors.ts';

type TotpForm = {
  state: TwoFactorState;
  /** The pending secret, if there is one. */
  enrollment?: Enrollment;
  problem?: Renderable;
  notice?: Renderable;
};

/** Where the pages about its codes stand. */
const aboveTotp = (view: View) => [{ path: '/account/security/totp', label: view.t('totp.title') }];

/** The authenticator app: not set up, pending, or active. */
export const totpPage = (view: View, form: TotpForm): Page => ({
  title: view.plain('totp.title'),
  tab: accountTab('security'),
  content: html`<h1>${view.t('totp.title')}${form.state.enabled && html` <span class="badge">${view.t('totp.badge.on')}</span>`}</h1>
${notice(form.notice)}
${form.state.enabled ? activeTotpSection(view, form) : html`<p>${view.t('totp.why')}</p>`}
${form.enrollment ? enrollmentSteps(view, { ...form, enrollment: form.enrollment, path: '/account/security/totp' }) : begin(view, form)}`,
});

function begin(view: View, { state, problem }: TotpForm): Html {
  const label = view.t(state.enabled ? 'totp.replace' : 'totp.begin');
  const button = html`<form method="post" action="/account/security/totp/enroll"><button type="submit" id="totp-enroll"${state.enabled && html` class="quiet"`}>${label}</button></form>`;
  if (!state.enabled) return html`${alert(problem)}<div class="actions">${button}</div>`;
  return html`${alert(problem)}<div class="actions">
<a class="button quiet" href="/account/security/backup-codes">${view.t('backup_codes.title')}</a>
${button}
<a class="button danger" href="/account/security/totp/disable">${view.t('totp.disable')}</a>
</div>`;
}

function activeTotpSection(view: View, { state: { totp } }: TotpForm): Html {
  const { confirmed_at, last_used_at } = totp;
  return html`<p>${view.t('totp.active')}</p>
<dl>
<dt>${view.t('totp.since')}</dt><dd>${confirmed_at !== null && view.day(confirmed_at)}</dd>
<dt>${view.t('totp.last_used')}</dt><dd>${last_used_at !== null && view.ago(last_used_at)}</dd>
</dl>`;
}

type EnrollmentSteps = {
  enrollment: Enrollment;
  problem?: Renderable;
  /** Below it, `/enroll` makes another secret and `/confirm` takes the first code. */
  path: string;
  /** Posted with both. */
  fields?: Renderable;
  /** Left out at a sign-in, which is no time for further questions. */
  state?: TwoFactorState;
};

/** The pending secret, and the form for its first code. */
export function enrollmentSteps(view: View, { state, enrollment, problem, path, fields }: EnrollmentSteps): Html {
  const { otpauth_uri, secret_base32, qr_svg } = enrollment;
  const groups = secret_base32.replace(/.{4}(?=.)/g, '$& ');
  return html`<h2>${view.t('totp.scan.title')}</h2>
<p>${view.t('totp.scan')} ${state?.enabled && view.t('totp.scan.beside')}</p>
<div class="qr">${Html.trusted(qr_svg)}</div>
<p><a href="${otpauth_uri}">${view.t('totp.open_app')}</a></p>
<details>
<summary>${view.t('totp.type')}</summary>
<p>${view.t('totp.type.how')}</p>
<p><code id="totp-secret">${groups}</code></p>
</details>
<h2>${view.t('totp.confirm.title')}</h2>
${alert(problem)}
<form method="post" action="${path}/confirm">
${fields}<label for="code">${view.t('field.code')}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" inputmode="numeric" spellcheck="false" required
 maxlength="100" aria-describedby="code-hint${problem ? ' problem' : ''}">
<p class="hint" id="code-hint">${view.t('totp.confirm.hint')}</p>
${
  state &&
  html`<label class="check" for="end_other_sessions"><input id="end_other_sessions" name="end_other_sessions" type="checkbox" value="yes">
 ${view.t('totp.end_other_sessions')}</label>
`
}<button id="totp-confirm" type="submit">${view.t('totp.confirm.submit')}</button>
</form>
<form method="post" action="${path}/enroll">${fields}<button type="submit" class="quiet">${view.t('totp.another_secret')}</button></form>`;
}

/** @param isShort of the password, if there is one; it remains alone. */
export const disableTotpPage = (view: View, isShort: boolean): Page => ({
  title: view.plain('totp.disable.title'),
  tab: accountTab('security'),
  above: aboveTotp(view),
  content: html`<h1>${view.t('totp.disable.title')}</h1>
<p>${view.t('totp.disable.what')}</p>
${isShort && html`<p class="soft">${view.t('totp.disable.short_password', { min: minCharacters() })}</p>`}
<div class="actions">
<form method="post" action="/account/security/totp/disable"><button type="submit" id="totp-disable" class="danger">${view.t('totp.disable')}</button></form>
<a class="button quiet" href="/account/security/totp">${view.t('totp.disable.keep')}</a>
</div>`,
});

/** The codes are shown on this page only. @param next where it leads; without one it is a page of the account. */
export const newBackupCodesPage = (view: View, codes: readonly string[], next?: string): Page => ({
  title: view.plain('backup_codes.new.title'),
  tab: next === undefined ? accountTab('security') : undefined,
  scripts: ['backup-codes'],
  content: html`<h1>${view.t('backup_codes.new.title')}</h1>
<p>${view.t('backup_codes.new.what')}</p>
<div class="notice"><p>${view.t('backup_codes.new.once')}</p></div>
<ul class="code-list" id="backup-codes" data-file="${view.branding.name.replace(/[^\w-]+/g, '-')}-backup-codes.txt">${codes.map(
    (code) => html`<li><code>${code}</code></li>`,
  )}</ul>
<div class="actions" id="backup-codes-actions" hidden>
<button type="button" class="quiet" data-action="copy">${view.t('backup_codes.copy')}</button>
<button type="button" class="quiet" data-action="download">${view.t('backup_codes.download')}</button>
<button type="button" class="quiet" data-action="print">${view.t('backup_codes.print')}</button>
<span role="status" data-copied="${view.plain('backup_codes.copied')}"></span>
</div>
<p class="actions"><a class="button" id="backup-codes-done" href="${next ?? '/account/security/totp'}">${view.t('backup_codes.new.done')}</a></p>`,
});

export const backupCodesPage = (
  view: View,
  { backup_codes: { total, remaining, generated_at } }: TwoFactorState,
): Page => ({
  title: view.plain('backup_codes.title'),
  tab: accountTab('security'),
  above: aboveTotp(view),
  content: html`<h1>${view.t('backup_codes.title')}</h1>
<p>${view.t('backup_codes.what')}</p>
<dl>
<dt>${view.t('backup_codes.remaining')}</dt><dd>${view.t('backup_codes.remaining.of', { remaining, total })}</dd>
${generated_at !== null && html`<dt>${view.t('backup_codes.generated')}</dt><dd>${view.day(generated_at)}</dd>`}
</dl>
<p class="soft">${view.t('backup_codes.regenerate.what')}</p>
<form method="post" action="/account/security/backup-codes"><button type="submit" id="backup-codes-regenerate">${view.t('backup_codes.regenerate')}</button></form>`,
});
