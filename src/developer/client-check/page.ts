import type { Client } from '../../clients/client.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import { alert, copyScripts, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { aboveClient, clientPath, developerTab } from '../navigation.ts';
import { libraryInSentence, symptomTable } from '../setup/setup.ts';
import type { Step } from './flow.ts';
import type { Check, InspectedToken } from './inspect-token.ts';

export const testPage = (view: View, client: Client): Page => ({
  title: view.plain('developer.test'),
  tab: developerTab('developer'),
  above: aboveClient(client),
  content: html`<h1>${view.t('developer.test')}</h1>
<p>${view.t('developer.test.intro')}</p>
<p class="soft">${view.t('developer.test.safety')}</p>
${client.status === 'approved' ? startForm(view, client) : notice(view.t('developer.test.not_approved'))}`,
});

const startForm = (view: View, client: Client): Html =>
  html`<form method="post" action="${clientPath(client)}/test"><button type="submit" id="test-start">${view.t('developer.test.start')}</button></form>`;

/** The answer to the redirect URI: its address is that of the test, so that a reload starts no other one. */
export function testResultPage(view: View, client: Client, steps: readonly Step[]): Page {
  const failed = steps.find((step) => !hasPassed(step));
  return {
    title: view.plain('developer.test'),
    tab: developerTab('developer'),
    scripts: copyScripts,
    above: aboveClient(client),
    content: html`<h1 data-address="${clientPath(client)}/test">${view.t('developer.test')}</h1>
${failed ? alert(view.t('developer.test.failed', { step: view.t(`developer.test.step.${failed.name}`) })) : notice(view.t('developer.test.passed'))}
${steps.map((step, place) => stepPart(view, step, place + 1))}
${libraryPart(view, client)}
${startForm(view, client)}`,
  };
}

const hasPassed = ({ failure, checks, tokens }: Step): boolean =>
  failure === undefined && [...checks, ...tokens.flatMap((token) => token.checks)].every(({ passed }) => passed);

const stepPart = (view: View, step: Step, number: number): Html => html`<section id="step-${step.name}">
<h2>${number}. ${view.t(`developer.test.step.${step.name}`)}</h2>
<p><code>${step.request}</code></p>
${values(view, 'developer.test.sent', step.sent)}
${step.received && values(view, 'developer.test.received', step.received)}
${
  step.failure &&
  html`<p><strong>${step.failure.error}</strong> <q lang="en">${untrusted(step.failure.description, 300)}</q></p>
${step.failure.diagnosis !== undefined && html`<p>${view.t(`failure.${step.failure.diagnosis}`)}</p>`}`
}
${checkList(view, step.checks)}
${step.tokens.map((token) => tokenPart(view, token))}
</section>
`;

const values = (view: View, caption: 'developer.test.sent' | 'developer.test.received', shown: object): Html | false =>
  Object.keys(shown).length > 0 &&
  html`<table class="compare"><caption>${view.t(caption)}</caption>
<tbody>${Object.entries(shown).map(
    ([name, value]) => html`<tr><th scope="row"><code>${untrusted(name, 100)}</code></th><td>${textOf(value)}</td></tr>
`,
  )}</tbody></table>`;

const textOf = (value: unknown): Html =>
  html`<code>${untrusted(typeof value === 'string' ? value : JSON.stringify(value), 1000)}</code>`;

const checkList = (view: View, checks: readonly Check[]): Html | false =>
  checks.length > 0 &&
  html`<ul>${checks.map(
    ({ name, passed }) =>
      html`<li><span class="badge${!passed && ' warn'}">${view.t(passed ? 'developer.test.check.passed' : 'developer.test.check.failed')}</span> ${view.t(`developer.test.check.${name}`)}</li>
`,
  )}</ul>`;

const tokenPart = (view: View, { name, header, claims, checks }: InspectedToken): Html =>
  html`<h3>${view.t(`developer.test.${name}`)}</h3>
${checkList(view, checks)}
<table class="compare">
<thead><tr><th scope="col">${view.t('developer.test.member')}</th><th scope="col">${view.t('developer.test.value')}</th><th scope="col">${view.t('developer.test.meaning')}</th></tr></thead>
<tbody>${[...Object.entries(header), ...Object.entries(claims)].map(([member, value]) => memberRow(view, member, value))}</tbody>
</table>`;

const memberRow = (view: View, member: string, value: unknown): Html => {
  const known = explained.find((name) => name === member);
  const time = times.includes(member) && view.ago(Number(value));
  return html`<tr><th scope="row"><code>${untrusted(member, 100)}</code></th>
<td data-label="${view.plain('developer.test.value')}">${textOf(value)}${time && html` (${time})`}</td>
<td data-label="${view.plain('developer.test.meaning')}">${view.t(`developer.test.member.${known ?? 'other'}`)}</td></tr>
`;
};

const times: readonly string[] = ['iat', 'exp', 'auth_time'];
/** Members of header and claims that mean the same in each token. Others are about the user. */
const explained = [
  'alg',
  'kid',
  'typ',
  'iss',
  'sub',
  'aud',
  'azp',
  'iat',
  'exp',
  'auth_time',
  'nonce',
  'at_hash',
  'sid',
  'acr',
  'amr',
  'client_id',
  'scope',
  'jti',
] as const;

/** Here the flow works, so what still fails in the app is a setting of its library. */
function libraryPart(view: View, client: Client): Html | false {
  const library = findLibrary(client.library);
  const table = library !== undefined && symptomTable(view, library, client);
  return (
    library !== undefined &&
    table !== false &&
    html`<h2>${view.t('developer.test.library', { library: libraryInSentence(view, library) })}</h2>${table}`
  );
}
