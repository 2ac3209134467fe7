import type { User } from '../../accounts/statements.ts';
import type { Deps } from '../../platform/deps.ts';
import { dateFormat } from '../../platform/i18n/formats.ts';
import { chooseLocale, translatePlain } from '../../platform/i18n/translate.ts';
import type { AlertUse } from './kinds.ts';
import type { RaisedAlert } from './raise-alert.ts';

/** Both uses in a line each, as their reader compares them with what they remember, and where to say whose they were. */
export function valuesForMail(
  { config }: Pick<Deps, 'config'>,
  { locale }: Pick<User, 'locale'>,
  { facts, url }: RaisedAlert,
): { url: string; first: string; second: string } {
  const reader = chooseLocale(config.languages, locale);
  const format = dateFormat(reader, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const inWords = (at: number) => `${format.format(at * 1000)} UTC`;
  const line = (use: AlertUse | undefined): string => {
    const { at = null, not_after = null, address = null, agent = null } = use ?? {};
    const until =
      not_after === null ? null : ({ key: 'alert.use.until', values: { when: inWords(not_after) } } as const);
    const when = at !== null ? inWords(at) : until && translatePlain(reader, until);
    const known = [when, address, agent].filter((fact) => fact !== null);
    return known.length === 0 ? translatePlain(reader, { key: 'alert.use.unknown' }) : known.join(' · ');
  };
  return { url, first: line(facts.uses[0]), second: line(facts.uses[1]) };
}
