import type { Client } from '../../clients/client.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink, clientPath } from '../client-status.ts';
import { developerTab } from '../developer-tabs.ts';
import {
  addressField,
  algorithmField,
  formAlert,
  nameField,
  redirectField,
  scopeFields,
} from '../registration/fields.ts';
import type { FormValues } from '../registration/form-values.ts';
import { values } from './page.ts';

export type EditForm = {
  client: Client;
  formValues: FormValues;
  problems?: readonly FieldProblem[];
  refusal?: Renderable;
};

export function editPage(view: View, { client, formValues, problems = [], refusal }: EditForm): Page {
  const context = { view, formValues, problems };
  const isStaged = client.status === 'approved' || client.status === 'suspended';
  return {
    title: view.plain('developer.edit.title'),
    tab: developerTab('developer'),
    scripts: ['developer'],
    content: html`${backLink(view, client)}
<h1>${view.t('developer.edit.title')}</h1>
<p class="soft">${view.t(isStaged ? 'developer.edit.staged' : 'developer.edit.direct')}</p>
${alert(refusal)}${formAlert(view, problems)}
${
  client.pending_change !== null &&
  html`<h2>${view.t('developer.edit.compare')}</h2>
${values(view, client)}
<form method="post" action="${clientPath(client)}/withdraw"><button type="submit" class="quiet" id="withdraw">${view.t('developer.edit.withdraw')}</button></form>`
}
<form method="post" action="${clientPath(client)}/edit" id="client-form" data-check="/v1/oauth/clients/check">
${hidden('revision', String(client.revision))}
${nameField(context)}
${redirectField(context)}
${scopeFields(context)}
${algorithmField(context)}
${addressField(context, 'homepage_url')}
${addressField(context, 'logo_url')}
<button type="submit" id="edit-submit">${view.t(isStaged ? 'developer.edit.submit.staged' : 'developer.edit.submit')}</button>
</form>`,
  };
}
