import { alert, hidden } from '../../../platform/pages/form.ts';
import { html, type Renderable } from '../../../platform/pages/html.ts';
import type { Page } from '../../../platform/pages/page.ts';
import type { View } from '../../../platform/pages/view.ts';
import { passkeyForm, passkeyScripts } from '../../passkeys/page.ts';
import { type ReturnTarget, returnTargetQuery } from '../../sessions/return-target.ts';

export type SecondFactorForm = ReturnTarget & {
  problem?: Renderable;
  endsAt?: string;
  /** Whether the person could give a passkey instead of a code. */
  passkeys: boolean;
  /** The form asks for a backup code, which has letters; else for the digits of the app. Either is taken in both. */
  backup?: boolean;
};

const path = '/signin/second-factor';

export const secondFactorPage = (view: View, form: SecondFactorForm): Page => ({
  title: view.plain('second_factor.title'),
  endsAt: form.endsAt,
  scripts: form.passkeys ? passkeyScripts : [],
  content: html`<h1>${view.t('second_factor.title')}</h1>
<p class="soft">${view.t('second_factor.why')}</p>
${alert(form.problem)}
<form method="post" action="${path}">
${form.backup && hidden('backup', '1')}
<label for="code">${view.t(form.backup ? 'field.backup_code' : 'field.code')}</label>
<input id="code" name="code" type="text" ${
    form.backup
      ? html`autocomplete="off" inputmode="text" autocapitalize="none"`
      : html`autocomplete="one-time-code" inputmode="numeric"`
  }
 autocorrect="off" spellcheck="false" required maxlength="100" autofocus
 aria-describedby="code-hint${form.problem ? ' problem' : ''}">
<p class="hint" id="code-hint">${view.t(form.backup ? 'second_factor.hint.backup' : 'second_factor.hint')}</p>
<button id="second-factor-submit" type="submit">${view.t('second_factor.submit')}</button>
</form>
<p><a id="second-factor-other" href="${form.backup ? path : `${path}?backup=1`}">${view.t(
    form.backup ? 'second_factor.use_app' : 'second_factor.use_backup',
  )}</a></p>
${
  form.passkeys &&
  passkeyForm(view, {
    action: '/signin/second-factor/passkey',
    ceremony: 'get',
    quiet: true,
    button: view.t('passkey.button.second_factor'),
  })
}
<p><a href="/signin${returnTargetQuery(form)}">${view.t('second_factor.start_over')}</a></p>`,
});

/** After the last wrong code: nothing more can be tried here. @param most codes that one sign-in may try. */
export const signInEndedPage = (view: View, returnTarget: ReturnTarget, most: number): Page => ({
  title: view.plain('second_factor.over.title'),
  content: html`<h1>${view.t('second_factor.over.title')}</h1>
${alert(view.t('second_factor.over', { most }))}
<p class="actions"><a class="button" href="/signin${returnTargetQuery(returnTarget)}">${view.t('second_factor.over.again')}</a></p>`,
});
