import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { isSeen } from '../platform/text.ts';
import { type Attribute, defaultLength, maxBytesOfUser, maxStrings, type Rules, type Value } from './attribute.ts';
import { type AttributeRegister, attributeCalled } from './register.ts';

// The values of one user are a JSON text in the row of the user, by attribute_id: so one of a deleted attribute is never taken for one of
// another of its name, and no name that was chosen is the key of a stored object.

export type Values = ReadonlyMap<string, Value>;

/** @param stored `attributes` of the row of a user. */
export const parseValues = (stored: string | null): Values =>
  new Map(stored === null ? [] : Object.entries(JSON.parse(stored) as Readonly<Record<string, Value>>));

/** By name, those of which a reader may know, in the order of forms. */
export const valuesByName = (
  { all }: Pick<AttributeRegister, 'all'>,
  stored: string | null,
  { forPerson = false } = {},
): Record<string, Value> => {
  const values = parseValues(stored);
  return Object.fromEntries(
    all.flatMap(({ attribute_id, name, is_shown }) => {
      const value = values.get(attribute_id);
      return value === undefined || (forPerson && !is_shown) ? [] : [[name, value] as const];
    }),
  );
};

export const tidyString = (text: string): string => text.trim().normalize('NFC');

export function stringProblem(
  { max_length, choices }: Pick<Rules, 'max_length' | 'choices'>,
  text: string,
): MessageDescriptor | undefined {
  const max = max_length ?? defaultLength;
  if ([...text].length > max) return { key: 'problem.attribute.long', values: { max } };
  if (!isSeen(text)) return { key: 'problem.attribute.unseen' };
  return choices !== null && !choices.includes(text) ? { key: 'problem.attribute.no_choice' } : undefined;
}

function numberProblem({ minimum, maximum }: Rules, number: number): MessageDescriptor | undefined {
  if (minimum !== null && number < minimum) return { key: 'problem.attribute.minimum', values: { min: `${minimum}` } };
  if (maximum !== null && number > maximum) return { key: 'problem.attribute.maximum', values: { max: `${maximum}` } };
  return undefined;
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === undefined || year === '0000') return false;
  const date = new Date(`${text}T00:00:00Z`);
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
}

type Read = { value: Value | null } | { problem: MessageDescriptor };

/** @param given JSON, or the text of a form or of another product's export. Null, and what is empty: no value. */
export function readValue({ value_type, rules }: Pick<Attribute, 'value_type' | 'rules'>, given: unknown): Read {
  if (given === null || given === '') return { value: null };
  const judged = (value: Value, problem: MessageDescriptor | undefined): Read => (problem ? { problem } : { value });
  switch (value_type) {
    case 'string': {
      if (typeof given !== 'string' || given.length > 4 * (rules.max_length ?? defaultLength) + 100)
        return { problem: longOrNoText(rules, given) };
      const text = tidyString(given);
      return text === '' ? { value: null } : judged(text, stringProblem(rules, text));
    }
    case 'strings':
      return readStrings(rules, given);
    case 'integer':
      return typeof given === 'number' && Number.isSafeInteger(given)
        ? judged(given + 0, numberProblem(rules, given))
        : { problem: { key: 'problem.attribute.integer' } };
    case 'number':
      return typeof given === 'number' && Number.isFinite(given)
        ? judged(given + 0, numberProblem(rules, given))
        : { problem: { key: 'problem.attribute.number' } };
    case 'boolean':
      return typeof given === 'boolean' ? { value: given } : { problem: { key: 'problem.attribute.boolean' } };
    case 'date':
      return typeof given === 'string' && isDate(given)
        ? { value: given }
        : { problem: { key: 'problem.attribute.date' } };
  }
}

/** Normalizing takes quadratic time in the length of a text, so a long one is refused before. */
const longOrNoText = ({ max_length }: Rules, given: unknown): MessageDescriptor =>
  typeof given === 'string'
    ? { key: 'problem.attribute.long', values: { max: max_length ?? defaultLength } }
    : { key: 'problem.attribute.string' };

function readStrings(rules: Rules, given: unknown): Read {
  if (!Array.isArray(given) || given.length > maxStrings)
    return { problem: { key: 'problem.attribute.strings', values: { max: maxStrings } } };
  const values: string[] = [];
  for (const one of given) {
    const read = readValue({ value_type: 'string', rules }, one);
    if ('problem' in read) return read;
    if (typeof read.value === 'string' && !values.includes(read.value)) values.push(read.value);
  }
  return { value: values.length === 0 ? null : values };
}

/** What a text stands for: of a form, a command or an export without types. What does not read so stays a text, for {@link readValue} to refuse. */
export function valueInText({ value_type }: Pick<Attribute, 'value_type'>, text: string): unknown {
  const trimmed = text.trim();
  switch (value_type) {
    case 'integer':
      return /^[+-]?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
    case 'number':
      return numberInText(trimmed) ?? trimmed;
    case 'boolean':
      return trimmed === 'true' ? true : trimmed === 'false' ? false : trimmed;
    case 'strings':
      return text.split(/\r?\n/).filter((line) => line.trim() !== '');
    default:
      return trimmed;
  }
}

/** Also as JSON writes it. Three digits after a comma are thousands to some and thousandths to others. */
function numberInText(text: string): number | undefined {
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(text)) return undefined;
  const number = /^[+-]?\d+([.,]\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text.replace(',', '.')) : undefined;
  return Number.isFinite(number) ? number : undefined;
}

/** Who says it: a person of themselves, or one who administers users. */
export type By = 'person' | 'administrator';

export type ChangedValues = {
  from: string | null;
  to: string | null;
  /** Names of those that are others now. */
  fields: readonly string[];
};

/**
 * What is left out stays as it is; null removes. A value that is the same is neither checked nor refused: it may be older than the rules.
 * @param wanted by name.
 * @throws {RequestError} `invalid_request`, for `attributes/<name>`: with a value that does not fit, a name that is unknown or, to a person,
 * not shown, and one that is not theirs to change.
 */
export function changeValues(
  register: AttributeRegister,
  stored: string | null,
  wanted: Readonly<Record<string, unknown>>,
  by: By,
): ChangedValues {
  // Also those of attributes that this process does not know yet: another node may have defined them within the second.
  const values = new Map(parseValues(stored));
  const problems: FieldProblem[] = [];
  const fields: string[] = [];
  for (const [name, given] of Object.entries(wanted)) {
    const path = `attributes/${name.slice(0, 100)}`;
    const attribute = register.named(name);
    if (attribute === undefined || (by === 'person' && !attribute.is_shown)) {
      problems.push(fieldProblem(path, { key: 'problem.attribute.unknown' }));
      continue;
    }
    const before = values.get(attribute.attribute_id);
    const isSame = (value: unknown) => JSON.stringify(value) === JSON.stringify(before);
    if (isSame(given)) continue;
    const read = readValue(attribute, given);
    if (by === 'person' && attribute.editable_by !== 'person') {
      if ('problem' in read || !isSame(read.value ?? undefined))
        problems.push(fieldProblem(path, { key: 'problem.attribute.not_yours' }));
    } else if ('problem' in read) problems.push(fieldProblem(path, read.problem));
    else if (isSame(read.value ?? undefined)) continue;
    else if (read.value !== null) {
      values.set(attribute.attribute_id, read.value);
      fields.push(name);
    } else if (by === 'person' && attribute.sign_up === 'required')
      problems.push(fieldProblem(path, { key: 'problem.attribute.required' }));
    else {
      values.delete(attribute.attribute_id);
      fields.push(name);
    }
  }
  const to = values.size === 0 ? null : JSON.stringify(Object.fromEntries(values));
  if (problems.length === 0 && fields.length > 0 && to !== null && Buffer.byteLength(to) > maxBytesOfUser)
    problems.push(fieldProblem('attributes', { key: 'problem.attribute.too_much', values: { max: maxBytesOfUser } }));
  if (problems.length > 0) throw invalidFields(problems);
  return { from: stored, to, fields };
}

/**
 * Those of a person who signs up: only what the form asks for, whatever else is sent.
 * @param wanted by name. @throws {RequestError} as {@link changeValues}; for one that is required and missing.
 */
export function valuesOfSignUp(register: AttributeRegister, wanted: Readonly<Record<string, unknown>>): ChangedValues {
  const asked = attributesOfSignUp(register);
  const given = Object.fromEntries(asked.flatMap(({ name }) => (name in wanted ? [[name, wanted[name]]] : [])));
  requireValues(
    asked.filter(({ sign_up }) => sign_up === 'required'),
    given,
  );
  return changeValues(register, null, given, 'person');
}

/** @throws {RequestError} `invalid_request` for each that has no value. */
export function requireValues(required: readonly Attribute[], given: Readonly<Record<string, unknown>>): void {
  const problems = required.flatMap((attribute) => {
    const read = readValue(attribute, given[attribute.name] ?? null);
    const isMissing = 'value' in read && read.value === null;
    return isMissing ? [fieldProblem(`attributes/${attribute.name}`, { key: 'problem.attribute.required' })] : [];
  });
  if (problems.length > 0) throw invalidFields(problems);
}

export const attributesOfSignUp = ({ all }: Pick<AttributeRegister, 'all'>): readonly Attribute[] =>
  all.filter(({ sign_up, editable_by }) => sign_up !== 'no' && editable_by === 'person');

/** What a user has to say before anything else: required of everyone, and not said. @param stored `attributes` of the row of the user. */
export function missingOf(register: Pick<AttributeRegister, 'all'>, stored: string | null): readonly Attribute[] {
  const required = attributesOfSignUp(register).filter(({ sign_up }) => sign_up === 'required');
  if (required.length === 0) return [];
  const values = parseValues(stored);
  return required.filter(({ attribute_id }) => !values.has(attribute_id));
}

/** Of a user of another product, by name there: what the user could write there, and what only its operator could. */
export type ForeignValues = {
  readonly ofPerson?: Readonly<Record<string, unknown>>;
  readonly ofOperator?: Readonly<Record<string, unknown>>;
};

/**
 * Of an export of another product: what is called as an attribute is here, without regard to case. Lists of one are values, and texts are
 * read as what they stand for. What users could write there gives no value to what only administrators change here.
 * @returns by name as it is here what fits and what does not, and the names of all else.
 */
export function valuesOfExport(register: AttributeRegister, { ofPerson = {}, ofOperator = {} }: ForeignValues) {
  const values: Record<string, Value> = {};
  const unusable: Record<string, unknown> = {};
  const unknown: string[] = [];
  const notTheirs: string[] = [];
  const all = [
    ...Object.entries(ofPerson).map(([name, given]) => ({ name, given, by: 'person' as const })),
    ...Object.entries(ofOperator).map(([name, given]) => ({ name, given, by: 'administrator' as const })),
  ];
  for (const { name, given, by } of all) {
    if (isNothing(given)) continue;
    const attribute = attributeCalled(register, name);
    if (attribute === undefined) unknown.push(name);
    else if (by === 'person' && attribute.editable_by !== 'person') notTheirs.push(name);
    else {
      const typed = inType(attribute, given);
      const read = readValue(attribute, typed);
      if ('problem' in read) unusable[attribute.name] = typed;
      else if (read.value !== null) values[attribute.name] = read.value;
    }
  }
  return { values, unusable, unknown, notTheirs };
}

const isNothing = (given: unknown): boolean =>
  given === null || given === undefined || given === '' || (Array.isArray(given) && given.every(isNothing));

function inType(attribute: Attribute, given: unknown): unknown {
  const isList = attribute.value_type === 'strings';
  if (isList) return typeof given === 'string' ? valueInText(attribute, given) : given;
  const one = Array.isArray(given) && given.length === 1 ? given[0] : given;
  return typeof one === 'string' ? valueInText(attribute, one) : one;
}
