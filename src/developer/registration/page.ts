import type { FieldProblem } from '../../errors.ts';
import { alert } from '../../http/form.ts';
import { html, type Renderable } from '../../http/html.ts';
import type { Page } from '../../http/page.ts';
import type { View } from '../../http/view.ts';
import { addressField, algorithmField, formAlert, nameField, redirectField, scopeFields, typeField } from './fields.ts';
import type { Typed } from './typed.ts';

export type RegistrationForm = {
  typed: Typed;
  problems?: readonly FieldProblem[];
  /** What stands against registering anything right now. */
  refusal?: Renderable;
};

export function registrationPage(view: View, { typed, problems = [], refusal }: RegistrationForm): Page {
  const drawn = { view, typed, problems };
  return {
    title: view.plain('developer.register.title'),
    tab: 'developer_register',
    scripts: ['developer'],
    content: html`<h1>${view.t('developer.register.title')}</h1>
<p class="soft">${view.t('developer.register.intro')}</p>
${alert(refusal)}${formAlert(view, problems)}
<form method="post" action="/developer/register" id="client-form" data-check="/v1/oauth/clients/check">
${nameField(drawn)}
${typeField(drawn)}
${redirectField(drawn)}
${scopeFields(drawn)}
${algorithmField(drawn)}
${addressField(drawn, 'homepage_url')}
${addressField(drawn, 'logo_url')}
<button type="submit" id="register-submit">${view.t('developer.register.submit')}</button>
</form>`,
  };
}
