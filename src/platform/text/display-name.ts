import { invisible } from './visible-text.ts';

const longestName = 100;
const unfit = `Must have 1 to ${longestName} characters, with something to see among them.`;

/**
 * What stands against the name of a person or a client, judged as it would be stored: without spaces around it. People
 * decide by names whom to trust, so a name must look like what it is.
 */
export function displayNameProblem(name: string): string | undefined {
  const trimmed = name.trim();
  // By its code units first, so that nothing longer is looked at.
  if (trimmed.length > 2 * longestName) return unfit;
  if (/\p{M}{4}/u.test(trimmed)) return 'Must not stack more than three marks on a letter.';
  if (invisible.test(trimmed)) return 'Must not hold control, invisible or text-direction characters.';
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(trimmed) || [...trimmed].length > longestName) {
    return unfit;
  }
  return undefined;
}

/**
 * The name as it is stored: in one composed form, so that two names that look the same are the same.
 * @param name one without a {@link displayNameProblem}; composing a text of any length would take its square in time.
 */
export const normalizeName = (name: string): string => name.trim().normalize('NFC');
