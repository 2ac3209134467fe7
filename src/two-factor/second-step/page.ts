import { alert } from '../../http/form.ts';
import { html, type Renderable } from '../../http/html.ts';
import type { Page } from '../../http/page.ts';
import type { View } from '../../http/view.ts';
import { passkeyForm, passkeyScripts } from '../../passkeys/passkey-form.ts';
import { type Goal, goalQuery } from '../../signin/page.ts';

export type SecondFactorForm = Goal & {
  problem?: Renderable;
  endsAt?: string;
  /** Whether the person could give a passkey instead of a code. */
  passkeys: boolean;
};

export const secondFactorPage = (view: View, form: SecondFactorForm): Page => ({
  title: view.plain('second_factor.title'),
  endsAt: form.endsAt,
  scripts: form.passkeys ? passkeyScripts : [],
  content: html`<h1>${view.t('second_factor.title')}</h1>
<p class="soft">${view.t('second_factor.why')}</p>
${alert(form.problem)}
<form method="post" action="/signin/second-factor">
<label for="code">${view.t('field.code')}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" inputmode="text" autocapitalize="none"
 autocorrect="off" spellcheck="false" required maxlength="100" autofocus
 aria-describedby="code-hint${form.problem ? ' problem' : ''}">
<p class="hint" id="code-hint">${view.t('second_factor.hint')}</p>
<button id="second-factor-submit" type="submit">${view.t('second_factor.submit')}</button>
</form>
${
  form.passkeys &&
  passkeyForm(view, {
    action: '/signin/second-factor/passkey',
    ceremony: 'get',
    quiet: true,
    button: view.t('passkey.button.second_factor'),
  })
}
<p><a href="/signin${goalQuery(form)}">${view.t('second_factor.start_over')}</a></p>`,
});

/** After the last wrong code: nothing more can be tried here. */
export const signInOverPage = (view: View, goal: Goal): Page => ({
  title: view.plain('second_factor.over.title'),
  content: html`<h1>${view.t('second_factor.over.title')}</h1>
${alert(view.t('second_factor.over'))}
<p class="actions"><a class="button" href="/signin${goalQuery(goal)}">${view.t('second_factor.over.again')}</a></p>`,
});
