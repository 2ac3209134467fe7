import type { Client } from '../../clients/client.ts';
import { copyButton, copyScripts } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink } from '../client-status.ts';
import { developerTab } from '../developer-tabs.ts';
import { type Library, type Snippet, settingsFor } from './settings.ts';

export const settingsPage = (view: View, client: Client, issuer: string): Page => ({
  title: view.plain('developer.settings.title'),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`${backLink(view, client)}
<h1>${view.t('developer.settings.title')}</h1>
${settings(view, client, issuer)}`,
});

/** Ready to paste. The secret is in none of them, so they may be shown again. */
export const settings = (view: View, client: Client, issuer: string): Html => html`<p class="soft">${view.t(
  client.client_type === 'public' ? 'developer.settings.intro.public' : 'developer.settings.intro',
)}</p>
${settingsFor(client, issuer).map((library) => libraryDetails(view, library))}`;

const libraryDetails = (
  view: View,
  { id, name, snippets, advice }: Library,
): Html => html`<details${id === 'env' && html` open`}>
<summary>${name}</summary>
${advice && html`<p class="hint">${view.t(`developer.settings.${advice}`)}</p>`}
${snippets.map((snippet) => snippetField(view, snippet))}</details>
`;

/** A text field selects, scrolls and copies by itself, without a script. */
const snippetField = (view: View, { id, file, text }: Snippet): Html => html`<label for="settings-${id}">${file}</label>
<textarea id="settings-${id}" class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off">
${text}</textarea>
${copyButton(view, `settings-${id}`)}
`;
