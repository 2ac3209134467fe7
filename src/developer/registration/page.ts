import type { FieldProblem } from '../../platform/errors.ts';
import { alert } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
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
