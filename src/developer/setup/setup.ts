import { usesSecret } from '../../clients/authentication-methods.ts';
import type { Client } from '../../clients/client.ts';
import { gapsOf, proposedRetryWindow, snippetValuesOf, symptomsFor } from '../../clients/libraries/advice.ts';
import { findLibrary, libraries, snippetOf } from '../../clients/libraries/catalogue.ts';
import { ecosystems, type Library, type Symptom } from '../../clients/libraries/library.ts';
import { reasonForNone } from '../../clients/manage-secrets.ts';
import { guidesPath } from '../../platform/guides/guides.ts';
import { copyButton } from '../../platform/pages/form.ts';
import { type Html, html, untrustedUrl } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { type ClientArea, clientPath } from '../navigation.ts';

export const libraryName = (view: View, { id, name }: Library): string =>
  id === 'other' ? view.plain('developer.library.other') : name;

/** In a sentence about the client: "Another library" would be one that it does not use. */
export const libraryInSentence = (view: View, library: Library): string =>
  library.id === 'other' ? view.plain('developer.library.yours') : library.name;

/** @param chosen id of the selected one. */
export const libraryOptions = (view: View, chosen: string | null): Html =>
  html`${ecosystems.map((ecosystem) => {
    const options = libraries
      .filter((library) => library.ecosystem === ecosystem)
      .map(
        (library) =>
          html`<option value="${library.id}"${library.id === chosen && html` selected`}>${libraryName(view, library)}</option>`,
      );
    return ecosystem === 'Other' ? options : html`<optgroup label="${ecosystem}">${options}</optgroup>`;
  })}`;

type Setup = {
  client: Client;
  issuer: string;
  /** As the query has it: the snippets of another library than the client's. */
  library?: string | undefined;
  area?: ClientArea;
};

/** Ready to paste, without the secret. */
export function setup(view: View, { client, issuer, library: asked, area }: Setup): Html {
  const library = findLibrary(asked) ?? findLibrary(client.library) ?? findLibrary('other')!;
  return html`${gapList(view, library, client, area)}
<p class="soft">${usesSecret(client) ? view.t('developer.setup.intro') : view.t(`developer.setup.intro.${reasonForNone(client)}`, { guide: keyGuide(view) })}</p>
${snippetOf(library.id, snippetValuesOf(client, issuer)).map(
  // A text field selects, scrolls and copies by itself, without a script.
  ({ file, text }, place) => html`<label for="snippet-${place}">${file}</label>
<textarea id="snippet-${place}" class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off">
${text}</textarea>
${copyButton(view, `snippet-${place}`)}
`,
)}
${backchannelAdvice(view, library, client)}
${symptomDetails(view, library, client)}
<p id="guides">${view.t('developer.setup.guides', {
    library: html`<a href="${guidesPath}/relying-parties/${library.id}">${libraryName(view, library)}</a>`,
    apis: html`<a href="${guidesPath}/resource-servers">${view.t('developer.setup.guides.apis')}</a>`,
  })}</p>
${library.versions !== '' && html`<p class="hint">${view.t('developer.setup.versions', { versions: library.versions })}</p>`}`;
}

/** For a page of the client: a form that changes nothing, so it works by GET and without a script. */
export const librarySelect = (view: View, client: Client, asked: string | undefined): Html => {
  const library = findLibrary(asked) ?? findLibrary(client.library);
  return html`<form method="get" action="${clientPath(client)}#setup">
<label for="library">${view.t('developer.setup.library')}</label>
<select id="library" name="library">${libraryOptions(view, library?.id ?? 'other')}</select>
<button type="submit" class="quiet" id="library-show">${view.t('developer.setup.show')}</button>
</form>`;
};

/** What would not work, and the setting of the client that mends it. */
const keyGuide = (view: View): Html =>
  html`<a href="${guidesPath}/relying-parties/client-keys">${view.t('developer.setup.guides.keys')}</a>`;

function gapList(view: View, library: Library, client: Client, area?: ClientArea): Html | false {
  const name = libraryInSentence(view, library);
  const missing = gapsOf(library, client).map((gap) =>
    view.t(`developer.gap.${gap}`, {
      library: name,
      algorithm: client.id_token_signed_response_alg,
      wanted: gap === 'authentication' ? library.authentication : library.algorithms[0],
      seconds: proposedRetryWindow({ ...client, library: library.id }),
    }),
  );
  const { callback } = library;
  const isElsewhere = callback !== null && !client.redirect_uris.some((uri) => uri.split('?')[0]?.endsWith(callback));
  const all = isElsewhere
    ? [...missing, view.t('developer.gap.callback', { library: name, callback: html`<code>${callback}</code>` })]
    : missing;
  return (
    all.length > 0 &&
    html`<div class="advice" id="gaps"><ul>${all.map((one) => html`<li>${one}</li>`)}</ul>
<p><a href="${clientPath(client, area)}/edit">${view.t('developer.gap.edit')}</a></p></div>`
  );
}

/** How the client receives what it has asked for. */
function backchannelAdvice(view: View, library: Library, { backchannel_logout_uri: uri }: Client): Html | false {
  if (uri === null) return false;
  const { backchannel_logout: received } = library;
  const text = received
    ? view.t('developer.setup.backchannel', {
        library: libraryName(view, library),
        setting: html`<code>${received.setting}</code>`,
        path: html`<code>${received.path}</code>`,
      })
    : view.t('developer.setup.backchannel.other', { uri: untrustedUrl(uri) });
  return html`<p id="backchannel">${text}</p>`;
}

function symptomDetails(view: View, library: Library, client: Client): Html | false {
  const table = symptomTable(view, library, client);
  return table && html`<details id="symptoms"><summary>${view.t('developer.symptoms')}</summary>${table}</details>`;
}

/** What one sees in the app when a setting is missing. */
export function symptomTable(view: View, library: Library, client: Client): Html | false {
  const symptoms = symptomsFor(library, client);
  return (
    symptoms.length > 0 &&
    html`<table>
<thead><tr><th scope="col">${view.t('developer.symptoms.without')}</th><th scope="col">${view.t('developer.symptoms.seen')}</th><th scope="col">${view.t('developer.symptoms.setting')}</th></tr></thead>
<tbody>${symptoms.map(
      ({ without, seen, setting }) => html`<tr>
<td data-label="${view.plain('developer.symptoms.without')}">${view.t(`developer.lack.${without}`)}</td>
<td data-label="${view.plain('developer.symptoms.seen')}"><span lang="en">${seen}</span></td>
<td data-label="${view.plain('developer.symptoms.setting')}">${settingOf(view, { without, setting })}</td>
</tr>
`,
    )}</tbody>
</table>`
  );
}

export const settingOf = (view: View, { without, setting }: Pick<Symptom, 'without' | 'setting'>): Html =>
  setting === null
    ? view.t('developer.symptoms.client', { field: view.t(`developer.lack.${without}`) })
    : html`<code>${setting}</code>`;
