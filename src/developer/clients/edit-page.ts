import type { Client } from '../../clients/client.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import {
  addressField,
  algorithmField,
  formAlert,
  nameField,
  redirectField,
  scopeFields,
} from '../registration/fields.ts';
import type { Typed } from '../registration/typed.ts';
import { clientPath, wayBack } from '../state.ts';
import { values } from './page.ts';

export type EditForm = { client: Client; typed: Typed; problems?: readonly FieldProblem[]; refusal?: Renderable };

export function editPage(view: View, { client, typed, problems = [], refusal }: EditForm): Page {
  const drawn = { view, typed, problems };
  const isStaged = client.status === 'approved' || client.status === 'suspended';
  return {
    title: view.plain('developer.edit.title'),
    tab: 'developer',
    scripts: ['developer'],
    content: html`${wayBack(view, client)}
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
${nameField(drawn)}
${redirectField(drawn)}
${scopeFields(drawn)}
${algorithmField(drawn)}
${addressField(drawn, 'homepage_url')}
${addressField(drawn, 'logo_url')}
<button type="submit" id="edit-submit">${view.t(isStaged ? 'developer.edit.submit.staged' : 'developer.edit.submit')}</button>
</form>`,
  };
}
