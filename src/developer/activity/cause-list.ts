import type { Client } from '../../clients/client.ts';
import { symptomOf } from '../../clients/libraries/catalogue.ts';
import type { Symptom } from '../../clients/libraries/library.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { clientPath } from '../navigation.ts';
import { settingOf } from '../setup/setup.ts';
import type { ListedFailure } from './activity.ts';
import { type Cause, signInLibrary } from './probable-causes.ts';

/** Causes that the catalogue of libraries knows by what is seen. */
const lackOf: Partial<Record<Cause['cause'], Symptom['without']>> = {
  algorithm: 'algorithm',
  claims: 'claims',
  state: 'state',
};

/** Of an inferred failure, each with the setting that mends it. @param issuer of this server. */
export function causeList(view: View, client: Client, { causes }: ListedFailure, issuer: string): Html | false {
  if (causes === undefined) return false;
  const library = signInLibrary(client);
  const name = library?.name ?? view.plain('developer.cause.library');
  const values = {
    library: name,
    algorithm: client.id_token_signed_response_alg,
    wanted: library?.algorithms[0] ?? 'RS256',
    callback: html`<code>${library?.callback}</code>`,
    issuer: html`<code>${issuer}</code>`,
  };
  const item = ({ cause, library_setting, client_setting }: Cause): Html => {
    const lack = lackOf[cause];
    const symptom = lack && symptomOf(library, lack);
    const setting = html`<code>${library_setting}</code>`;
    return html`<li>${view.t(`developer.cause.${cause}`, values)}
${symptom && html`<p>${view.t('developer.cause.seen', { seen: html`<q lang="en">${symptom.seen}</q>` })}</p>`}
${library_setting !== null && html`<p>${view.t('developer.mend', { library: name, setting })} <a href="${clientPath(client)}#setup">${view.t('developer.setup')}</a></p>`}
${client_setting !== null && html`<p>${lack && html`${settingOf(view, { without: lack, setting: null })}. `}<a href="${clientPath(client)}/edit">${view.t('developer.gap.edit')}</a></p>`}</li>
`;
  };
  return html`<p>${view.t('developer.causes')}</p>
<ol>${causes.map(item)}</ol>
${library === undefined && html`<p>${view.t('developer.mend.choose')}</p>`}`;
}
