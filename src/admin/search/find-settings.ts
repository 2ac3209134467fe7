import type { Deps } from '../../oauth/deps.ts';
import type { View } from '../../platform/pages/view.ts';
import { matcherOf } from '../../platform/search-terms.ts';
import { readSettings, type Setting } from '../settings/read-settings.ts';
import { settingText } from '../settings/setting-text.ts';

/**
 * Found are those that have all words of the query in their name, or in what is said of them in the language of the reader. What all names begin
 * with is no word of any: who looks for `sign` means sign-ups.
 */
export function settingsNamed(
  view: View,
  { config }: Pick<Deps, 'config'>,
  query: string,
  limit: number,
): { settings: readonly Setting[]; hasMore: boolean } {
  const isFound = matcherOf(withoutPrefix(query));
  const all = readSettings(config).flatMap(({ settings }) => settings);
  const found = all.filter(({ name }) => isFound(`${withoutPrefix(name)} ${view.plain(settingText(name))}`));
  return { settings: found.slice(0, limit), hasMore: found.length > limit };
}

const withoutPrefix = (text: string): string => text.replaceAll(/\bSIGNET_/gi, '');
