import type { FieldProblem } from '../../platform/errors.ts';
import { alert } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { developerTab } from '../developer-tabs.ts';
import { addressField, algorithmField, formAlert, nameField, redirectField, scopeFields, typeField } from './fields.ts';
import type { FormValues } from './form-values.ts';

export type RegistrationForm = {
  formValues: FormValues;
  problems?: readonly FieldProblem[];
  /** What stands against registering anything right now. */
  refusal?: Renderable;
};

export function registrationPage(view: View, { formValues, problems = [], refusal }: RegistrationForm): Page {
  const context = { view, formValues, problems };
  return {
    title: view.plain('developer.register.title'),
    tab: developerTab('developer_register'),
    scripts: ['developer'],
    content: html`<h1>${view.t('developer.register.title')}</h1>
<p class="soft">${view.t('developer.register.intro')}</p>
${alert(refusal)}${formAlert(view, problems)}
<form method="post" action="/developer/register" id="client-form" data-check="/v1/oauth/clients/check">
${nameField(context)}
${typeField(context)}
${redirectField(context)}
${scopeFields(context)}
${algorithmField(context)}
${addressField(context, 'homepage_url')}
${addressField(context, 'logo_url')}
<button type="submit" id="register-submit">${view.t('developer.register.submit')}</button>
</form>`,
  };
}
