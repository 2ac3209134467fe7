import type { Profile } from '../../accounts/statements.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { dateFormat } from '../../platform/i18n/formats.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { birthdateProblem } from './profile-rules.ts';

/** A date of birth may be without its year, or nothing else (OIDC Core §5.1), which a field of the type `date` cannot hold. */
const partNames = ['day', 'month', 'year'] as const;
type Part = (typeof partNames)[number];
type Parts = Readonly<Record<Part, string>>;

const fieldOf = (part: Part) => `birth_${part}`;

function partsOf(birthdate: string): Parts {
  const [year = '', month = '', day = ''] = birthdate.split('-');
  return { year: year === '0000' ? '' : year, month: month.replace(/^0/, ''), day: day.replace(/^0/, '') };
}

/** @returns undefined if the form has none of the fields. */
function typedParts(form: Parameters): Parts | undefined {
  const [day, month, year] = partNames.map((part) => form[fieldOf(part)]?.trim());
  if (day === undefined && month === undefined && year === undefined) return undefined;
  return { day: day ?? '', month: month ?? '', year: year ?? '' };
}

const written = ({ day, month, year }: Parts): string =>
  day + month === '' ? year : `${year || '0000'}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;

/** What a form says, as {@link Profile} has it; an impossible date is for `changeProfile` to refuse. */
export function birthdateIn(form: Parameters): string | null {
  const typed = typedParts(form);
  return (typed === undefined ? form.birthdate?.trim() : written(typed)) || null;
}

/** Where a refused date is mended: what is missing, else the day if no year has it, else the year. */
function wrongPart({ day, month }: Parts): Part {
  if (day === '' && month !== '') return 'day';
  if (month === '' && day !== '') return 'month';
  const hasNoSuchDay = day !== '' && birthdateProblem(written({ day, month, year: '' }), 0) !== undefined;
  return hasNoSuchDay ? 'day' : 'year';
}

/** @param typed a form that was refused. @param isWrong whether its date was. */
export function birthdateFields(view: View, user: Profile, typed: Parameters | undefined, isWrong: boolean): Html {
  const parts = (typed && typedParts(typed)) ?? partsOf(typed?.birthdate ?? user.birthdate ?? '');
  const wrong = isWrong ? wrongPart(parts) : undefined;
  const attributes = (part: Part) =>
    html` id="${fieldOf(part)}" name="${fieldOf(part)}" autocomplete="bday-${part}"${wrong === part && html` aria-invalid="true" aria-describedby="problem"`}`;
  const number = (part: 'day' | 'year') =>
    html`<input${attributes(part)} inputmode="numeric" maxlength="${part === 'day' ? 2 : 4}" value="${parts[part]}">`;
  const fields: Readonly<Record<Part, Html>> = {
    day: number('day'),
    month: html`<select${attributes('month')}>
<option value="">–</option>
${monthNames(view).map(
  (name, place) =>
    html`<option value="${place + 1}"${parts.month === `${place + 1}` && html` selected`}>${name}</option>`,
)}</select>`,
    year: number('year'),
  };
  // Hidden: what the version before reads, which would take a form without it for one that removes the date.
  return html`<fieldset id="birthdate" tabindex="-1" aria-describedby="birthdate-hint"><legend>${view.t('claim.birthdate')}</legend>
<div class="date">${orderOf(view).map(
    (part) =>
      html`<div><label for="${fieldOf(part)}">${view.t(`account.birthdate.${part}`)}</label>${fields[part]}</div>`,
  )}</div>
<p class="hint" id="birthdate-hint">${view.t('account.birthdate.hint')}</p>
${hidden('birthdate', user.birthdate ?? '')}</fieldset>
`;
}

const monthNames = ({ locale }: View): string[] => {
  const format = dateFormat(locale, { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => format.format(Date.UTC(2000, month)));
};

/** As dates are written in the reader's region. */
const orderOf = ({ region }: View): Part[] =>
  dateFormat(region, { dateStyle: 'long', timeZone: 'UTC' })
    .formatToParts(0)
    .map(({ type }) => type)
    .filter((type): type is Part => partNames.some((part) => part === type));
