import { type Locale, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { exampleMail, languagesOfLetter } from '../../platform/mail/examples.ts';
import type { Scheme } from '../../platform/mail/html.ts';
import { type LetterName, letterNames, readerOf } from '../../platform/mail/letters.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab } from '../components.ts';

export const mailsPath = '/admin/settings/mails';

type ExampleDeps = Parameters<typeof exampleMail>[0];

export const mailsPage = (view: View, deps: ExampleDeps): Page => ({
  title: view.plain('admin.mails.title'),
  tab: adminTab('admin_settings'),
  content: html`<h1>${view.t('admin.mails.title')}</h1>
<p class="soft">${view.t('admin.mails.intro')}</p>
<table class="list"><thead><tr><th scope="col">${view.t('admin.mails.subject')}</th><th scope="col">${view.t('admin.mails.to')}</th></tr></thead>
<tbody>${letterNames.map((name) => mailRow(view, deps, name))}</tbody></table>`,
});

const mailRow = (view: View, deps: ExampleDeps, name: LetterName): Html => {
  const { subject } = exampleMail(deps, name, view.locale);
  return html`<tr><th scope="row"><a href="${mailsPath}/${name}?language=${view.locale}">${subject}</a><span class="soft"><code>${name}</code></span></th>
<td>${view.t(`admin.mails.to.${readerOf(name)}`)}</td></tr>
`;
};

/** What a preview shows, by its name in the query. `isPhone`: as wide as one. */
const looks = {
  light: { scheme: 'light', isPhone: false },
  dark: { scheme: 'dark', isPhone: false },
  phone_light: { scheme: 'light', isPhone: true },
  phone_dark: { scheme: 'dark', isPhone: true },
  text: { scheme: 'light', isPhone: false },
} as const satisfies Readonly<Record<string, { scheme: Scheme; isPhone: boolean }>>;
type LookName = keyof typeof looks;
const lookNames = Object.keys(looks) as readonly LookName[];

type Chosen = { readonly language: Locale; readonly look: LookName };

/** What is not given, or is nothing that can be chosen, is the first that can. */
export const chosenIn = (
  { config }: ExampleDeps,
  name: LetterName,
  query: Readonly<Record<string, string | undefined>>,
): Chosen & { scheme: Scheme } => {
  const languages = languagesOfLetter(config, name);
  const look = lookNames.find((one) => one === query.look) ?? 'light';
  return { language: languages.find((one) => one === query.language) ?? languages[0]!, look, ...looks[look] };
};

export function previewPage(view: View, deps: ExampleDeps, name: LetterName, chosen: Chosen): Page {
  const { language, look } = chosen;
  const { subject, text } = exampleMail(deps, name, language);
  return {
    title: subject,
    tab: adminTab('admin_settings'),
    above: [{ path: mailsPath, label: view.t('admin.mails.title') }],
    hasFrame: true,
    content: html`<h1 lang="${language}">${subject}</h1>
<p class="soft"><code>${name}</code> · ${view.t(`admin.mails.to.${readerOf(name)}`)}. ${view.t('admin.mails.example')}</p>
${choiceForm(view, languagesOfLetter(deps.config, name), chosen)}
${look === 'text' ? html`<pre lang="${language}" dir="auto">${text}</pre>` : frame(view, name, chosen)}`,
  };
}

const choiceForm = (view: View, languages: readonly Locale[], { language, look }: Chosen): Html =>
  html`<form method="get" class="filters">
<div><label for="language">${view.t('admin.mails.language')}</label>
<select id="language" name="language">${languages.map((one) => option(one, nameOfLanguage(one), language))}</select></div>
<div><label for="look">${view.t('admin.mails.look')}</label>
<select id="look" name="look">${lookNames.map((one) => option(one, view.t(`admin.mails.look.${one}`), look))}</select></div>
<button type="submit" class="quiet" id="mail-show">${view.t('admin.mails.show')}</button>
</form>`;

const option = (value: string, label: Html | string, chosen: string): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`;

function frame(view: View, name: LetterName, { language, look }: Chosen): Html {
  const source = `${mailsPath}/${name}/html?${new URLSearchParams({ language, look })}`;
  const title = view.plain('admin.mails.frame');
  return html`<iframe class="${looks[look].isPhone ? 'preview phone' : 'preview'}" title="${title}" sandbox src="${source}"></iframe>`;
}
