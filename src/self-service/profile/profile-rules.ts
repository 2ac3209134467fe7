import { handlePattern, handleProblem, normalizeHandle } from '../../accounts/handles.ts';
import type { StandardClaim } from '../../accounts/statements.ts';
import { homepageUrlProblem } from '../../clients/page-url.ts';
import { inCode, nameInCode } from '../../platform/http/operation.ts';
import { httpOrHttpsUrlPattern } from '../../platform/http/url-patterns.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';

const nameProblem = (text: string): MessageDescriptor | undefined =>
  displayNameProblem(text) === undefined ? undefined : { key: 'problem.profile.text' };

/** Also http, unlike addresses that we show ourselves: these are passed on. */
const urlProblem = (text: string): MessageDescriptor | undefined =>
  homepageUrlProblem(text.replace(/^http:/, 'https:')) === undefined ? undefined : { key: 'problem.profile.url' };

/** `YYYY-MM-DD`, `0000-MM-DD` without the year, or `YYYY` alone (OIDC Core §5.1). @param now Unix seconds. */
export function birthdateProblem(text: string, now: number): MessageDescriptor | undefined {
  const [, year, hasDay, month, day] = /^(\d{4})(-(\d\d)-(\d\d))?$/.exec(text) ?? [];
  const isYearless = year === '0000' && hasDay !== undefined;
  // A leap year, so that a user without a year may be born on 29 February.
  const date = new Date(Date.UTC(isYearless ? 2000 : Number(year), Number(month ?? 1) - 1, Number(day ?? 1)));
  const isInMonth =
    hasDay === undefined || (date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day));
  const isPast = isYearless || (Number(year) >= 1900 && date.getTime() <= now * 1000);
  return isInMonth && isPast ? undefined : { key: 'problem.profile.birthdate' };
}

/** A name of the IANA database, no offset. */
function zoneProblem(text: string): MessageDescriptor | undefined {
  try {
    if (
      /^(?:UTC|[A-Z][A-Za-z]+(?:\/[A-Za-z0-9_+-]+){1,2})$/.test(text) &&
      new Intl.DateTimeFormat('en', { timeZone: text })
    )
      return undefined;
  } catch {
    // RangeError: no such zone
  }
  return { key: 'problem.profile.zoneinfo' };
}

type Rule = {
  /** What a schema can say of it, for the API description. */
  keywords: ReturnType<typeof inCode>;
  problem(text: string, context: { now: number; service: string }): MessageDescriptor | undefined;
  /** As it is stored. @param text without a problem. */
  normalize?(text: string): string;
};

const asName: Rule = { keywords: nameInCode, problem: nameProblem, normalize: normalizeName };
const asUrl: Rule = {
  keywords: inCode({ format: 'uri', maxLength: 2048, pattern: httpOrHttpsUrlPattern }),
  problem: urlProblem,
};

const day = '(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9])';

export const profileRules: Readonly<Record<StandardClaim, Rule>> = {
  given_name: asName,
  middle_name: asName,
  family_name: asName,
  nickname: asName,
  preferred_username: {
    keywords: inCode({ pattern: handlePattern }),
    problem: (text, { service }) => handleProblem(text, service),
    normalize: normalizeHandle,
  },
  profile: asUrl,
  website: asUrl,
  gender: asName,
  birthdate: {
    keywords: inCode({ pattern: `^((19|[2-9][0-9])[0-9]{2}(-(${day}))?|0000-(${day}))$` }),
    problem: (text, { now }) => birthdateProblem(text, now),
  },
  zoneinfo: { keywords: inCode({ pattern: '^(UTC|[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+){1,2})$' }), problem: zoneProblem },
};
