import { headers } from '../../brand/brand-fields.ts';
import { longestBrandName, longestSide, picturesKb } from '../../brand/brand-rules.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { listInWords } from '../../platform/i18n/formats.ts';
import { byName, type Locale, nameOfLanguage } from '../../platform/i18n/translate.ts';
import {
  type BrandVersion,
  fontNames,
  isTitle,
  longestTitle,
  longestWords,
  type PictureName,
  type Place,
  pictureNames,
  places,
  radii,
} from '../../platform/pages/brand.ts';
import type { Logo } from '../../platform/pages/branding.ts';
import { alert, describedField, hidden, problemAt } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, buttonForm, doneNotice, type Shown } from '../components.ts';
import { type OpenField, type OtherWords, type Values, wordsField } from './form.ts';
import { type Chosen, factsOf, schemes, shownColour, subjects, widths } from './preview.ts';

export const brandPath = '/admin/brand';

export type BrandView = {
  /** What counts, and what the form is drawn of. */
  readonly newest: BrandVersion;
  readonly values: Values;
  readonly chosen: Chosen & { readonly width: string };
  /** The language of the words that the form shows, and what was typed in others. */
  readonly language: Locale;
  readonly otherWords: OtherWords;
  /** Members that others have changed since the form was drawn, in words. */
  readonly changedMeanwhile: readonly string[] | undefined;
  readonly isTyped: boolean;
  /** What is wrong with which field, and with which picture. */
  readonly problems: readonly FieldProblem[];
  readonly picture: PictureName | undefined;
};

export function brandPage(view: View, of: BrandView, shown: Shown): Page {
  const mayWrite = view.may('brand:write');
  return {
    title: view.plain('admin.brand.title'),
    tab: adminTab('admin_brand'),
    hasFrame: true,
    scripts: ['brand'],
    content: html`<h1>${view.t('admin.brand.title')}</h1>
<p class="soft">${view.t('admin.brand.intro')}</p>
${doneNotice(view, shown, 'brand', ['saved', 'unchanged', 'picture', 'picture_removed', 'restored'])}${messages(view, of, shown)}
<p class="actions"><a class="button quiet" href="${brandPath}/versions" id="brand-versions">${view.t('admin.brand.versions')}</a>${mayWrite && html` <a class="button quiet" href="#pictures">${view.t('admin.brand.pictures')}</a>`}</p>
<form ${mayWrite ? html`method="post" action="${brandPath}"` : html`method="get" action="${brandPath}/preview" target="brand-frame"`} id="brand" class="studio"${of.isTyped && html` data-typed`}>
<div>${mayWrite && html`${hidden('version', String(of.newest.version))}${hidden('words_shown', of.language)}${hidden('other_words', JSON.stringify(of.otherWords))}`}
${mayWrite ? fields(view, of) : html`<fieldset disabled><legend class="unseen">${view.t('admin.brand.title')}</legend>${fields(view, of)}</fieldset>`}
${mayWrite && html`<button type="submit" id="brand-save">${view.t('admin.brand.save')}</button>`}
</div>
${preview(view, of)}
</form>
${mayWrite && pictures(view, of)}`,
  };
}

function messages(view: View, { changedMeanwhile, problems, picture }: BrandView, { problem }: Shown) {
  if (changedMeanwhile !== undefined)
    return alert(view.t('admin.brand.changed_meanwhile', { fields: listInWords(view.locale, changedMeanwhile) }));
  return problems.length > 0 && picture === undefined ? alert(view.t('developer.form.problem')) : problem;
}

function fields(view: View, of: BrandView): Html {
  const facts = factsOf(view, view.branding);
  const colour = (field: keyof typeof facts) => colourField(view, of, field, facts[field]);
  return html`<h2>${view.t('admin.brand.part.name')}</h2>
${textField(view, of, 'name', { max: longestBrandName, placeholder: view.branding.brand.inSettings?.name })}
<label for="header">${view.t('admin.brand.field.header')}</label>
<select id="header" name="header">${headers.map((one) => option(one, view.t(`admin.brand.header.${one}`), of.values.header))}</select>
<h2>${view.t('admin.brand.part.colors')}</h2>
<p class="hint">${view.t('admin.brand.part.colors.hint')}</p>
<div class="fields">${colour('button')}${colour('button_dark')}${colour('link')}${colour('link_dark')}${colour('background')}${colour('background_dark')}</div>
<h2>${view.t('admin.brand.part.shape')}</h2>
<label for="radius">${view.t('admin.brand.field.radius')}</label>
<input id="radius" name="radius" type="number" required min="${radii.min}" max="${radii.max}" step="1" value="${of.values.radius}"${describedField(of.problems, 'radius', true)}>
<p class="hint" id="radius-hint">${view.t('admin.brand.field.radius.hint', radii)}</p>${problemAt(view, of.problems, 'radius')}
<label for="font">${view.t('admin.brand.field.font')}</label>
<select id="font" name="font"${describedField(of.problems, 'font', true)}>${fontNames.map((one) => option(one, view.t(`admin.brand.font.${one}`), of.values.font))}</select>
<p class="hint" id="font-hint">${view.t('admin.brand.field.font.hint')}</p>${problemAt(view, of.problems, 'font')}
<h2>${view.t('admin.brand.part.links')}</h2>
${url(view, of, 'terms_url')}${textField(view, of, 'terms_since', { type: 'date', hint: 'admin.brand.field.terms_since.hint' })}${url(view, of, 'privacy_url')}${url(view, of, 'help_url')}
${textField(view, of, 'support', { max: 300, hint: 'admin.brand.field.support.hint', placeholder: view.branding.brand.inSettings?.support })}
${words(view, of)}`;
}

type TextField = {
  type?: 'url' | 'date';
  max?: number;
  placeholder?: string | undefined;
  hint?: 'admin.brand.field.terms_since.hint' | 'admin.brand.field.support.hint';
};

const textField = (view: View, of: BrandView, field: OpenField, { type, max, placeholder, hint }: TextField): Html =>
  html`<label for="${field}">${view.t(`admin.brand.field.${field}`)}</label>
<input id="${field}" name="${field}"${type && html` type="${type}"`} autocomplete="off"${max && html` maxlength="${max}"`}${placeholder && html` placeholder="${placeholder}"`} value="${of.values[field] ?? ''}"${describedField(of.problems, field, hint !== undefined)}>
${hint && html`<p class="hint" id="${field}-hint">${view.t(hint)}</p>`}${problemAt(view, of.problems, field)}
`;

const url = (view: View, of: BrandView, field: 'terms_url' | 'privacy_url' | 'help_url') =>
  textField(view, of, field, { type: 'url', max: 300, placeholder: 'https://' });

/** Where nothing is said, what is shown instead stands in it. */
function colourField(view: View, of: BrandView, field: OpenField & keyof ReturnType<typeof factsOf>, fact: string) {
  const { newest, values, problems } = of;
  const placeholder = newest.settings[field] === null ? shownColour(view.branding, field) : '#rrggbb';
  const label = view.plain(`admin.brand.field.${field}`);
  const shape = html`maxlength="7" pattern="#?[0-9a-fA-F]{6}" title="${view.plain('problem.brand.colour')}"`;
  const plain = html`autocomplete="off" autocapitalize="none" spellcheck="false"`;
  const said = html`placeholder="${placeholder}" value="${values[field] ?? ''}"`;
  const picked = html`data-colour="${view.plain('admin.brand.pick', { label })}"${describedField(problems, field, true)}`;
  return html`<div><label for="${field}">${label}</label>
<div class="swatch"><input id="${field}" name="${field}" ${shape} ${plain} ${said} ${picked}></div>
<p class="hint" id="${field}-hint" data-fact="${field}">${fact}</p>${problemAt(view, problems, field)}</div>
`;
}

const option = (value: string, label: Html | string, chosen: string | undefined): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`;

function words(view: View, of: BrandView): Html {
  const { language, values, problems } = of;
  const isOpen = places.some((place) => values[wordsField(place)]) || Object.keys(of.otherWords).length > 0;
  const isWrong = problems.some(({ path }) => path.startsWith('words_'));
  return html`<details${(isOpen || isWrong) && html` open`}><summary>${view.t('admin.brand.part.words')}</summary>
<p class="hint">${view.t('admin.brand.part.words.hint')}</p>
${
  view.may('brand:write') &&
  html`<label for="words_language">${view.t('admin.brand.words_language')}</label>
<select id="words_language" name="words_language"${describedField(problems, 'words_language', false)}>${byName(view.languagesOfMail).map((one) => option(one, nameOfLanguage(one), language))}</select>${problemAt(view, problems, 'words_language')}
<button type="submit" class="quiet" id="brand-words" formaction="${brandPath}/draft" formnovalidate>${view.t('admin.brand.words_language.show')}</button>
`
}${places.map((place) => placeField(view, of, place))}</details>`;
}

function placeField(view: View, { language, values, problems }: BrandView, place: Place): Html {
  const field = wordsField(place);
  const rest = html`id="${field}" name="${field}" lang="${language}" dir="auto" maxlength="${isTitle(place) ? longestTitle : longestWords}"${describedField(problems, field, false)}`;
  const value = values[field] ?? '';
  return html`<label for="${field}">${view.t(`admin.brand.place.${place}`)} <span class="soft">(${nameOfLanguage(language)})</span></label>
${isTitle(place) ? html`<input ${rest} autocomplete="off" value="${value}">` : html`<textarea ${rest} rows="2">\n${value}</textarea>`}${problemAt(view, problems, field)}
`;
}

/** What is shown in it is chosen in the form, so that it is posted with the rest. The page shows a stored version until then. */
function preview(view: View, { chosen, isTyped }: BrandView): Html {
  const { subject, scheme, language, width } = chosen;
  const source = isTyped ? undefined : `${brandPath}/preview?${new URLSearchParams({ subject, scheme, language })}`;
  const choice = (name: 'subject' | 'scheme' | 'width', options: readonly string[], now: string) =>
    html`<div><label for="${name}">${view.t(`admin.brand.preview.${name}`)}</label>
<select id="${name}" name="${name}">${options.map((one) => option(one, view.t(`admin.brand.preview.${name}.${one}` as 'admin.brand.preview.width.320'), now))}</select></div>
`;
  return html`<div><h2 id="preview">${view.t('admin.brand.preview')}</h2>
<div class="fields">${choice('subject', subjects, subject)}${choice('scheme', schemes, scheme)}${choice('width', widths, width)}
<div><label for="language">${view.t('admin.brand.preview.language')}</label>
<select id="language" name="language">${byName([...new Set([view.locale, ...view.languagesOfMail])]).map((one) => option(one, nameOfLanguage(one), language))}</select></div></div>
<button type="submit" class="quiet" id="brand-preview" formaction="${brandPath}/preview" formtarget="brand-frame" formnovalidate>${view.t('admin.brand.preview.show')}</button>
<div class="stage"><iframe class="preview" name="brand-frame" title="${view.plain('admin.brand.preview.frame')}" sandbox="allow-same-origin"${source && html` src="${source}"`}></iframe></div>
<p class="hint">${view.t('admin.brand.preview.hint')}</p></div>`;
}

const pictures = (view: View, of: BrandView): Html => html`<h2 id="pictures">${view.t('admin.brand.pictures')}</h2>
<p class="soft">${view.t('admin.brand.pictures.hint')}</p>
<ul class="items">${pictureNames.map((name) => pictureItem(view, of, name))}</ul>`;

/** A picture as high as it is in a page, on what is behind it there: a drawing, since pages have no styles of their own. */
function onPaper({ path, width, height }: Logo, paper: string): Html {
  const [line, margin] = [28, 12];
  const long = Math.round(Math.min(Math.max((width / height) * line, 8), line * 12));
  const [w, h] = [long + 2 * margin, line + 2 * margin];
  return html`<svg viewBox="0 0 ${w} ${h}" width="${w}" class="picture" aria-hidden="true"><rect width="${w}" height="${h}" rx="6" fill="${paper}"/><image href="${path}" x="${margin}" y="${margin}" width="${long}" height="${line}"/></svg>`;
}

function pictureItem(view: View, { newest, picture, problems }: BrandView, name: PictureName): Html {
  const shown = newest.settings.pictures[name];
  const { logo, logoDark = logo, icon, touchIcon } = view.branding;
  const file = { logo, logo_dark: logoDark, icon, touch_icon: touchIcon }[name];
  const field = `content-${name}`;
  const its = picture === name ? problems.map((problem) => ({ ...problem, path: field })) : [];
  return html`<li><div><h3>${view.t(`admin.brand.picture.${name}`)}</h3>
${
  shown !== undefined && file !== undefined
    ? html`${onPaper(file, shownColour(view.branding, name === 'logo_dark' ? 'background_dark' : 'background'))}<p>${view.t('admin.brand.picture.size', { width: shown.width, height: shown.height })}</p>
${buttonForm(view.t('admin.brand.picture.remove'), { path: `${brandPath}/pictures/${name}/remove`, id: `${name}-remove`, style: 'quiet' })}`
    : html`<p>${view.t('admin.brand.picture.none')}</p>`
}</div>
<div><form method="post" action="${brandPath}/pictures/${name}" enctype="multipart/form-data">
<label for="${field}">${view.t('admin.brand.picture.file')}</label>
<input id="${field}" name="content" type="file" required accept="image/png${!name.endsWith('icon') && ',image/jpeg,image/webp'}"${describedField(its, field, true)}>
<p class="hint" id="${field}-hint">${view.t(`admin.brand.picture.${name}.hint`, { kb: picturesKb[name], side: longestSide })}</p>
${problemAt(view, its, field)}<button type="submit" class="quiet" id="${name}-upload" aria-describedby="${field}-hint">${view.t('account.upload.submit')}</button>
</form></div></li>
`;
}
