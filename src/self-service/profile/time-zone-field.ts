import type { Parameters } from '../../platform/http/parameters.ts';
import { isMessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

/** Zones that have been renamed, and keep their old name where ICU lists them: in this process, and in browsers. */
const renamed: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Etc/UTC': 'UTC',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};
const oldNames = new Map(Object.entries(renamed).map(([old, name]) => [name, old]));

const placeOf = (name: string): string => name.slice(name.indexOf('/') + 1).replaceAll('_', ' ');

const names = [...new Set(Intl.supportedValuesOf('timeZone').map((name) => renamed[name] ?? name))]
  .filter((name) => name.includes('/') && !name.startsWith('Etc/'))
  .sort();
const places = Map.groupBy(names, placeOf);

/**
 * What the page has for a name: its place, if there is no other one of that name. Hundreds of names beside their places would
 * be a third of what a page may weigh.
 */
const labelOf = (name: string): string => (places.get(placeOf(name))?.length === 1 ? placeOf(name) : name);
const byLabel = new Map(names.map((name) => [labelOf(name), name]));

const regions = Map.groupBy(names, (name) => name.split('/', 1)[0]!);
const listed = new Set(['UTC', ...byLabel.keys()]);

/** The name that was chosen on the page, or that a program sends. */
export function zoneIn({ zoneinfo = '' }: Parameters): string | null {
  const text = zoneinfo.trim();
  return (byLabel.get(text) ?? text) || null;
}

/** For pages with a {@link timeZoneField}. */
export const timeZoneScripts = ['time-zone'];

/** @param name one that is not in the list, such as an old one, stays what it is. @param attributes of the `select`. */
export function timeZoneField(view: View, name: string | null, attributes: Html): Html {
  const chosen = name === null ? '' : names.includes(name) ? labelOf(name) : name;
  const option = (label: string, old?: string) =>
    html`<option${old !== undefined && html` data-old="${old}"`}${label === chosen && html` selected`}>${label}\n`;
  const groups = [...regions]
    .map(([region, names]) => ({ label: nameOf(view, region), names }))
    .sort((one, other) => one.label.localeCompare(other.label, view.locale));
  return html`<select id="zoneinfo" name="zoneinfo"${attributes}>
<option value="">–
${chosen !== '' && !listed.has(chosen) && option(chosen)}${option('UTC', oldNames.get('UTC'))}${groups.map(
  ({ label, names }) => html`<optgroup label="${label}">
${names.map((name) => option(labelOf(name), oldNames.get(name)))}</optgroup>
`,
)}</select>
<p class="hint" id="zoneinfo-hint">${view.t('account.zone.hint')}</p>
<button type="button" class="link" data-zone="${view.plain('account.zone.own', { zone: '{zone}' })}" hidden></button>`;
}

function nameOf({ plain }: View, region: string): string {
  const key = `account.zone.${region}`;
  return isMessageKey(key) ? plain(key) : region;
}
