import type { ForeignValues } from '../../attributes/values.ts';

/** How the users of a product become users of our own format, `format.ts`. */
export type Adapter = {
  /** Names of members that lead to the users, where a document is not a list of them. */
  paths: readonly (readonly string[])[];
  /** @returns what is checked as if it had been written by hand. */
  toUser(record: Members, settings: AdapterSettings): object;
  /** What the operator of the other product has added to its users, by name there; what `toUser` reads is left out. */
  attributesOf?(record: Members): ForeignValues;
};

/** What some exports need and do not say. */
export type AdapterSettings = {
  /** The RP ID of the passkeys. */
  rpId: string;
  /** Of the project whose hashes Firebase has made. */
  firebaseHash: FirebaseHash;
};
export type FirebaseHash = { n: string; r: string; ss: string };

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member that is a text, and not an empty one. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

export const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isMembers) : []);

/** Without some of them. */
export const membersBut = (value: unknown, ...names: readonly string[]): Members =>
  Object.fromEntries(Object.entries(membersOf(value)).filter(([name]) => !names.includes(name)));

export const membersOf = (value: unknown): Members => (isMembers(value) ? value : {});

/** Of a member that is true or false, in JSON or as a cell. */
export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.trim().toLowerCase() : '';
  return { true: true, t: true, yes: true, '1': true, false: false, f: false, no: false, '0': false }[word];
}

/** Unix seconds of a date as text, or of a number of seconds or milliseconds. */
export function secondsOf(value: unknown): number | undefined {
  const text = textOf(value)?.trim();
  if (text === undefined) return undefined;
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Date.parse(isoOf(text)) / 1000;
  if (!Number.isFinite(number) || number < 0) return undefined;
  // As seconds the year 5138, as milliseconds 1973.
  return Math.floor(number > 99_999_999_999 ? number / 1000 : number);
}

/** As PostgreSQL writes a time: `2026-01-31 12:00:00.5+00`. */
const isoOf = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\d) (?=\d)/, '$1T').replace(/(?<=:.*[+-]\d\d)$/, ':00');

/** Several texts in one, for a name of parts; undefined if there are none. */
export const joined = (...parts: unknown[]): string | undefined => {
  const texts = parts.flatMap((part) => textOf(part)?.trim() ?? []);
  return texts.length === 0 ? undefined : texts.join(' ');
};

/** A username that is the address is no name to show to others. */
export const usernameUnlessAddress = (username: unknown): string | undefined => {
  const text = textOf(username);
  return text?.includes('@') ? undefined : text;
};

/** JSON in a cell or in a member that is a text. */
export function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** As JSON would have it, since a member that an adapter found nothing for is none. */
export function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (!isMembers(value)) return value;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.map(([name, one]) => [name, withoutUndefined(one)]));
}
