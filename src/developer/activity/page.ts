import type { Client } from '../../clients/client.ts';
import { commonEnd, commonStart } from '../../clients/failures.ts';
import { proposedRetryWindow } from '../../clients/libraries/advice.ts';
import { findLibrary, symptomOf } from '../../clients/libraries/catalogue.ts';
import type { Symptom } from '../../clients/libraries/library.ts';
import { maxNewestGrants } from '../../oauth/statements.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { emptyList } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { aboveClient, clientPath, developerTab } from '../navigation.ts';
import { libraryInSentence, settingOf } from '../setup/setup.ts';
import type { Activity, ListedFailure, ListedSignIn } from './activity.ts';
import { causeList } from './cause-list.ts';
import { againSeconds } from './inferred-failures.ts';

/** @param shown.charts of the last days. @param shown.issuer of this server. @param shown.outcome of the form before. @param shown.logouts what the client was notified of. @param shown.signals its stream of security events. */
export const activityPage = (
  view: View,
  client: Client,
  { sign_ins, sign_ins_complete, failures }: Activity,
  {
    issuer,
    charts,
    outcome,
    logouts,
    signals,
  }: { issuer: string } & Record<'charts' | 'outcome' | 'logouts' | 'signals', Html | false>,
): Page => ({
  title: view.plain('developer.activity.title'),
  tab: developerTab('developer'),
  above: aboveClient(client),
  content: html`<h1>${view.t('developer.activity.title')}</h1>
${outcome}
<p><a href="${clientPath(client)}/alerts" id="client-alerts">${view.t('developer.alerts')}</a></p>
${charts}
<h2>${view.t('developer.failures')}</h2>
<p class="soft">${view.t('developer.failures.intro')}</p>
${
  failures.length === 0
    ? emptyList(view.t('developer.failures.none'))
    : html`<table id="failures">
<thead><tr><th scope="col">${view.t('developer.when')}</th><th scope="col">${view.t('developer.stage')}</th><th scope="col">${view.t('developer.why')}</th></tr></thead>
<tbody>${failures.map((failure) => failureRow(view, client, failure, issuer))}</tbody>
</table>`
}
<h2>${view.t('developer.sign_ins')}</h2>
<p class="soft">${view.t('developer.sign_ins.intro')}</p>
${
  sign_ins.length === 0 && sign_ins_complete
    ? emptyList(view.t('developer.sign_ins.none'), {
        path: `${clientPath(client)}#setup`,
        label: view.t('developer.setup'),
      })
    : sign_ins.length > 0 &&
      html`<table id="sign-ins">
<thead><tr><th scope="col">${view.t('developer.when')}</th><th scope="col">${view.t('developer.user')}</th><th scope="col">${view.t('clients.field.allowed_scopes')}</th><th scope="col">${view.t('developer.connected')}</th></tr></thead>
<tbody>${sign_ins.map((signIn) => signInRow(view, signIn))}</tbody>
</table>`
}
${!sign_ins_complete && html`<p class="advice" id="sign-ins-incomplete">${view.t('developer.sign_ins.incomplete', { codes: maxNewestGrants })}</p>`}
${logouts}
${signals}`,
});

const signInRow = (view: View, signIn: ListedSignIn): Html => html`<tr>
<td data-label="${view.plain('developer.when')}">${view.ago(signIn.at)}</td>
<td data-label="${view.plain('developer.user')}"><code>${signIn.sub}</code></td>
<td data-label="${view.plain('clients.field.allowed_scopes')}">${signIn.scope.split(' ').map((scope) => html`<code>${scope}</code> `)}</td>
<td data-label="${view.plain('developer.connected')}">${
  signIn.ended_because === null
    ? html`<span class="badge">${view.t('developer.connected.yes')}</span> ${view.t('developer.connected.used', { when: view.ago(signIn.last_used_at) })}`
    : html`<span class="badge off">${view.t('developer.connected.no')}</span> ${view.t(`developer.ended.${signIn.ended_because}`)}`
}</td>
</tr>
`;

const failureRow = (view: View, client: Client, failure: ListedFailure, issuer: string): Html => html`<tr>
<td data-label="${view.plain('developer.when')}">${whenOf(view, failure)}</td>
<td data-label="${view.plain('developer.stage')}">${view.t(`developer.stage.${failure.stage}`)}</td>
<td data-label="${view.plain('developer.why')}"><p>${whatOf(view, failure)}</p>${detailOf(view, failure)}${mendOf(view, client, failure)}${causeList(view, client, failure, issuer)}</td>
</tr>
`;

const whatOf = (view: View, { code, count, redirect_uri = '' }: ListedFailure): Html => {
  const place = html`<code>${untrusted(redirect_uri, 300)}</code>`;
  return view.t(`failure.${code}`, { count, seconds: againSeconds, redirect_uri: place });
};

/** Failures that a setting of the library mends. */
const lackOf: Partial<Record<ListedFailure['code'], Symptom['without']>> = {
  pkce: 'pkce',
  refresh_replayed: 'retry_window',
};

function mendOf(view: View, client: Client, { code }: ListedFailure): Html | false {
  const lack = lackOf[code];
  const library = findLibrary(client.library);
  if (lack === undefined) return false;
  if (library === undefined) return lack === 'pkce' && html`<p>${view.t('developer.mend.choose')}</p>`;
  const symptom = symptomOf(library, lack);
  const name = libraryInSentence(view, library);
  if (symptom === undefined) return false;
  if (lack === 'retry_window')
    return html`<p>${view.t('developer.gap.retry_window', { library: name, seconds: proposedRetryWindow(client) })}</p>`;
  return html`<p>${view.t('developer.mend', { library: name, setting: settingOf(view, symptom) })}</p>`;
}

const whenOf = (view: View, { count, at, last_at }: ListedFailure): Html =>
  count === 1
    ? view.ago(at)
    : view.t('developer.failures.repeated', { count, last: view.ago(last_at), first: view.ago(at) });

function detailOf(view: View, { code, sent, registered, description }: ListedFailure): Html | false {
  if (code === 'scope_left_out')
    return html`<p>${view.t('developer.scope.left_out')} <code>${untrusted(sent ?? '', 300)}</code></p>
<p>${view.t('developer.scope.allowed')} <code>${untrusted(registered ?? '', 300)}</code></p>`;
  if (sent !== undefined && registered !== undefined) return comparison(view, sent, registered);
  if (sent !== undefined) return html`<p>${view.t('developer.sent')} <code>${untrusted(sent, 300)}</code></p>`;
  return (
    description !== undefined &&
    html`<p>${view.t('developer.error_returned')} <q lang="en">${untrusted(description, 300)}</q></p>`
  );
}

/** Both, with the difference marked: an extra slash is easily overlooked. */
function comparison(view: View, sent: string, registered: string): Html {
  const start = commonStart(sent, registered);
  const end = commonEnd(sent.slice(start), registered.slice(start));
  const place = [...sent.slice(0, start)].length + 1;
  return html`<p>${view.t('developer.registered.here')} ${marked(registered, start, end)}</p>
<p>${view.t('developer.sent')} ${marked(sent, start, end)}</p>
<p>${view.t('developer.differs', { place })}</p>`;
}

function marked(text: string, start: number, end: number): Html {
  const [before, difference, after] = [
    text.slice(0, start),
    text.slice(start, text.length - end),
    text.slice(text.length - end),
  ].map((part) => visibleText(part, 300));
  return html`<code><bdi dir="ltr">${before}${difference && html`<mark>${difference}</mark>`}${after}</bdi></code>`;
}
