import { type FieldProblem, fieldProblem } from '../platform/errors.ts';
import { locales } from '../platform/i18n/translate.ts';
import { isSeen } from '../platform/text.ts';
import {
  type Attribute,
  defaultLength,
  isReservedClaim,
  longestLabel,
  longestName,
  longestScope,
  longestValue,
  maxBytesOfChoices,
  maxChoices,
  namePattern,
  ownScopePattern,
  type Rules,
  sharedScopes,
} from './attribute.ts';
import { stringProblem, tidyString } from './values.ts';

/** What an administrator says of one. Of the rules, what is left out or null does not bound; a string then has at most {@link defaultLength} characters. */
export type WantedAttribute = Pick<
  Attribute,
  'name' | 'labels' | 'value_type' | 'scope' | 'editable_by' | 'is_shown' | 'sign_up'
> & { [Rule in keyof Rules]?: Rules[Rule] | undefined };

const hasStrings = ({ value_type }: Pick<Attribute, 'value_type'>) =>
  value_type === 'string' || value_type === 'strings';
const isNumeric = ({ value_type }: Pick<Attribute, 'value_type'>) =>
  value_type === 'integer' || value_type === 'number';

/** As they are stored. @param wanted without {@link attributeProblems}. */
export const rulesOf = (wanted: WantedAttribute): Rules => ({
  max_length: hasStrings(wanted) ? (wanted.max_length ?? defaultLength) : null,
  minimum: wanted.minimum ?? null,
  maximum: wanted.maximum ?? null,
  choices: wanted.choices && wanted.choices.length > 0 ? wanted.choices.map(tidyString) : null,
});

export function attributeProblems(wanted: WantedAttribute): FieldProblem[] {
  return [
    ...nameProblems(wanted),
    ...labelProblems(wanted),
    ...lengthProblems(wanted),
    ...boundProblems(wanted),
    ...choiceProblems(wanted),
    ...scopeProblems(wanted),
    ...accessProblems(wanted),
  ];
}

function nameProblems({ name }: WantedAttribute): FieldProblem[] {
  if (name.length > longestName || !new RegExp(namePattern).test(name))
    return [fieldProblem('name', { key: 'problem.attribute.name', values: { max: longestName } })];
  return isReservedClaim(name) ? [fieldProblem('name', { key: 'problem.attribute.reserved' })] : [];
}

function labelProblems({ labels }: WantedAttribute): FieldProblem[] {
  const entries = Object.entries(labels);
  const isLabel = ([locale, text]: [string, string]) =>
    locales.includes(locale) && [...text].length <= longestLabel && /\S/.test(text) && isSeen(text);
  if (entries.length > 0 && entries.every(isLabel)) return [];
  const values = { max: longestLabel, languages: locales.join(', ') };
  return [fieldProblem('labels', { key: 'problem.attribute.label', values })];
}

const unfit = (rule: keyof Rules) => fieldProblem(rule, { key: 'problem.attribute.unfit_rule' });

function lengthProblems(wanted: WantedAttribute): FieldProblem[] {
  const { max_length } = wanted;
  if (max_length == null) return [];
  if (!hasStrings(wanted)) return [unfit('max_length')];
  const isLength = Number.isInteger(max_length) && max_length >= 1 && max_length <= longestValue;
  return isLength
    ? []
    : [fieldProblem('max_length', { key: 'problem.attribute.max_length', values: { max: longestValue } })];
}

function boundProblems(wanted: WantedAttribute): FieldProblem[] {
  const { minimum, maximum, value_type } = wanted;
  const problems = (['minimum', 'maximum'] as const).flatMap((rule) => {
    const bound = wanted[rule];
    if (bound == null) return [];
    if (!isNumeric(wanted)) return [unfit(rule)];
    const isBound = value_type === 'integer' ? Number.isSafeInteger(bound) : Number.isFinite(bound);
    return isBound ? [] : [fieldProblem(rule, { key: 'problem.attribute.bound' })];
  });
  if (problems.length === 0 && minimum != null && maximum != null && minimum > maximum)
    problems.push(fieldProblem('maximum', { key: 'problem.attribute.bounds' }));
  return problems;
}

function choiceProblems(wanted: WantedAttribute): FieldProblem[] {
  const { choices, max_length } = wanted;
  if (choices == null || choices.length === 0) return [];
  if (!hasStrings(wanted)) return [unfit('choices')];
  if (choices.length > maxChoices || Buffer.byteLength(choices.join('')) > maxBytesOfChoices) {
    const values = { max: maxChoices, bytes: maxBytesOfChoices };
    return [fieldProblem('choices', { key: 'problem.attribute.many_choices', values })];
  }
  const rules = { max_length: max_length ?? defaultLength, choices: null };
  const tidy = choices.map(tidyString);
  return tidy.flatMap((choice, place) => {
    const problem = choice === '' ? { key: 'problem.attribute.choice' as const } : stringProblem(rules, choice);
    if (problem) return [fieldProblem(`choices/${place}`, problem)];
    return tidy.indexOf(choice) < place
      ? [fieldProblem(`choices/${place}`, { key: 'problem.attribute.choice_twice' })]
      : [];
  });
}

function scopeProblems({ scope }: WantedAttribute): FieldProblem[] {
  if (sharedScopes.some((one) => one === scope)) return [];
  if (scope.length <= longestScope && new RegExp(ownScopePattern).test(scope)) return [];
  return [fieldProblem('scope', { key: 'problem.attribute.scope', values: { max: longestScope } })];
}

function accessProblems({ editable_by, is_shown, sign_up }: WantedAttribute): FieldProblem[] {
  if (editable_by === 'person')
    return is_shown ? [] : [fieldProblem('visible_to', { key: 'problem.attribute.hidden_field' })];
  return sign_up === 'no' ? [] : [fieldProblem('sign_up', { key: 'problem.attribute.sign_up' })];
}
