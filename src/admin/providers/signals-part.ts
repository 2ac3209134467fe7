import type { ListedProvider } from '../../authentication/federation/list-providers.ts';
import { isTokenProblem } from '../../authentication/upstream-events/provider-token.ts';
import type { Receipt } from '../../authentication/upstream-events/receipts.ts';
import { copyButton, describedField, problemAt } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { buttonForm, type Shown, secretOnce } from '../components.ts';

type Problems = NonNullable<Shown['refusal']>['problems'];

/** What a provider has to know to push security events. */
export const signalsPart = (
  view: View,
  one: ListedProvider,
  isChangeable: boolean,
  problems: Problems,
): Html => html`<h2 id="signals">${view.t('admin.providers.signals')}</h2>
<p class="soft">${view.t('admin.providers.signals.what')} ${view.t(one.has_signals_secret ? 'admin.providers.signals.on' : 'admin.providers.signals.off')}</p>
<dl>
<dt>${view.t('admin.providers.signals.uri')}</dt><dd><code id="signals-uri">${one.signals_uri}</code> ${copyButton(view, 'signals-uri')}</dd>
<dt>${view.t('admin.providers.signals_audience')}</dt><dd><code>${untrusted(one.signals_audience ?? one.client_id, 255)}</code></dd>
</dl>
${
  isChangeable &&
  buttonForm(view.t('admin.providers.signals.submit'), {
    path: `/admin/providers/${one.id}/signals-secret`,
    id: 'signals-secret',
    style: 'quiet',
    fields: html`<label for="signals_audience">${view.t('admin.providers.signals_audience')}</label>
<input id="signals_audience" name="audience" maxlength="255" autocomplete="off" spellcheck="false" value="${one.signals_audience ?? ''}"${describedField(problems, 'signals_audience', true)}>
<p class="hint" id="signals_audience-hint">${view.t('admin.providers.signals_audience.hint')} ${one.has_signals_secret && view.t('admin.providers.signals.before')}</p>${problemAt(view, problems, 'signals_audience')}
`,
  })
}`;

/** The new secret, once. */
export const secretOutcome = (
  view: View,
  { signals_uri, signals_secret }: { signals_uri: string; signals_secret: string },
): Html =>
  secretOnce(view, [
    { label: view.t('admin.providers.signals.uri'), value: signals_uri },
    { label: view.t('admin.providers.signals.secret'), value: signals_secret },
  ]);

export const receipts = (
  view: View,
  received: readonly Receipt[],
): Html => html`<h2>${view.t('admin.providers.received')}</h2>
${
  received.length === 0
    ? html`<p class="soft">${view.t('admin.providers.received.none')}</p>`
    : html`<p class="soft">${view.t('admin.providers.received.what')}</p>
<ul class="items">${received.map((one) => receipt(view, one))}</ul>`
}`;

function receipt(view: View, { kind, outcome, last_at, times }: Receipt): Html {
  const values = { times, ago: view.ago(last_at) };
  const said =
    outcome === 'accepted' || outcome === 'ignored'
      ? view.t(`admin.providers.received.${outcome}`, values)
      : view.t('admin.providers.received.refused', { ...values, problem: problemText(view, outcome) });
  return html`<li><div><h3>${view.t(`admin.providers.received.kind.${kind}`)}</h3>
<p>${said}</p></div></li>
`;
}

/** Of a reason that a later version has noted, its name. */
const problemText = (view: View, outcome: string): Html =>
  isTokenProblem(outcome) ? view.t(`admin.provider_token.${outcome}`) : html`<code>${outcome}</code>`;
