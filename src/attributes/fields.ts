import type { FieldProblem } from '../platform/errors.ts';
import type { Parameters } from '../platform/http/parameters.ts';
import { listInWords } from '../platform/i18n/formats.ts';
import { describedField, hidden } from '../platform/pages/form.ts';
import { type Html, html, untrusted } from '../platform/pages/html.ts';
import type { View } from '../platform/pages/view.ts';
import { type Attribute, labelOf, type Value } from './attribute.ts';
import type { AttributeEdits } from './schema.ts';
import { parseValues, valueInText } from './values.ts';

// The fields of forms, of the person and of administrators alike. A field is called by the id of its attribute, so none is ever taken for
// another one of the form.

type Fields = {
  /** `attributes` of the row of the user. */
  stored: string | null;
  /** What was entered, if it was refused. */
  typed?: Parameters | undefined;
  problems?: readonly FieldProblem[];
  /** Says of each whether it may be left empty. */
  signsUp?: true;
};

/** For people. Dates and numbers are written as forms and programs write them, which is how they were entered. */
export function inWords(view: View, value: Value): string {
  if (typeof value === 'boolean') return view.plain(value ? 'attribute.yes' : 'attribute.no');
  return typeof value === 'object' ? listInWords(view.locale, value) : String(value);
}

export function attributeFields(view: View, attributes: readonly Attribute[], fields: Fields): Html {
  const values = parseValues(fields.stored);
  return html`${attributes.map((attribute) => {
    const value = values.get(attribute.attribute_id);
    const label = labelOf(attribute, view.locale);
    const isOffered = fields.signsUp && attribute.sign_up !== 'required';
    return attributeField(view, attribute, {
      value: fields.typed ? (fields.typed[attribute.attribute_id] ?? '') : textOf(value),
      label: isOffered ? view.plain('attribute.offered', { label }) : label,
      problems: fields.problems ?? [],
      isRequired: attribute.sign_up === 'required' && attribute.editable_by === 'person',
    });
  })}`;
}

const textOf = (value: Value | undefined): string =>
  value === undefined ? '' : typeof value === 'object' ? value.join('\n') : String(value);

type Field = { value: string; label: string; problems: readonly FieldProblem[]; isRequired: boolean };

function attributeField(view: View, attribute: Attribute, { value, label, problems, isRequired }: Field): Html {
  const { attribute_id: id, value_type, rules } = attribute;
  const hint = hintOf(view, attribute);
  const hintText = hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>\n`;
  const described = describedField(problems, id, hint !== undefined);
  const required = isRequired && html` required`;
  const select = (options: readonly { value: string; text: string }[]) => html`<label for="${id}">${label}</label>
<select id="${id}" name="${id}"${required}${described}>
<option value="">${view.t('attribute.choose')}</option>
${options.map((one) => html`<option value="${one.value}"${one.value === value && html` selected`}>${one.text}</option>\n`)}</select>
${hintText}`;
  if (value_type === 'boolean')
    return select([
      { value: 'true', text: view.plain('attribute.yes') },
      { value: 'false', text: view.plain('attribute.no') },
    ]);
  if (value_type === 'string' && rules.choices !== null) {
    // One from before the rule stays what it is.
    const isOlder = value !== '' && !rules.choices.includes(value);
    return select((isOlder ? [value, ...rules.choices] : rules.choices).map((one) => ({ value: one, text: one })));
  }
  if (value_type === 'strings')
    return html`<label for="${id}">${label}</label>
<textarea id="${id}" name="${id}" rows="3"${required}${described}>
${value}</textarea>
${hintText}`;
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${id}"${inputOf(attribute)} autocomplete="off" value="${value}"${required}${described}>
${hintText}`;
}

function inputOf({ value_type, rules }: Attribute): Html {
  if (value_type === 'date') return html` type="date"`;
  if (value_type === 'integer')
    return html` inputmode="${rules.minimum !== null && rules.minimum >= 0 ? 'numeric' : 'text'}" maxlength="20"`;
  if (value_type === 'number')
    return html` inputmode="${rules.minimum !== null && rules.minimum >= 0 ? 'decimal' : 'text'}" maxlength="30"`;
  return html` maxlength="${rules.max_length ?? ''}"`;
}

function hintOf(view: View, { value_type, rules: { minimum, maximum, choices } }: Attribute): Html | undefined {
  if (value_type === 'strings' && choices !== null)
    return view.t('attribute.lines_of', { choices: listInWords(view.locale, choices) });
  if (value_type === 'strings') return view.t('attribute.lines');
  const [min, max] = [`${minimum}`, `${maximum}`];
  if (minimum !== null && maximum !== null) return view.t('attribute.between', { min, max });
  if (minimum !== null) return view.t('attribute.from', { min });
  return maximum === null ? undefined : view.t('attribute.to', { max });
}

const drawnName = 'drawn_attributes';

/** What the fields had when they were drawn: see {@link changedAttributesIn}. */
export const drawnAttributes = (
  attributes: readonly Attribute[],
  { stored, typed }: Pick<Fields, 'stored' | 'typed'>,
): Html | false => {
  const values = parseValues(stored);
  const drawn = attributes.map(({ attribute_id }) => [attribute_id, textOf(values.get(attribute_id))]);
  return attributes.length > 0 && hidden(drawnName, typed?.[drawnName] ?? JSON.stringify(Object.fromEntries(drawn)));
};

/** {@link attributesIn}, without what was not touched: it would undo what its person has changed since the page was drawn. */
export function changedAttributesIn(attributes: readonly Attribute[], form: Parameters): AttributeEdits {
  const drawn = readDrawn(form[drawnName] ?? '');
  const isTouched = ({ attribute_id }: Attribute) =>
    form[attribute_id]?.replaceAll('\r\n', '\n') !== drawn.get(attribute_id);
  return attributesIn(attributes.filter(isTouched), form);
}

function readDrawn(text: string): ReadonlyMap<string, unknown> {
  try {
    return new Map(Object.entries(JSON.parse(text) as object));
  } catch {
    return new Map();
  }
}

/** By name, of those whose field the form has: one that was drawn before an attribute was defined changes nothing of it. */
export const attributesIn = (attributes: readonly Attribute[], form: Parameters): AttributeEdits =>
  Object.fromEntries(
    attributes.flatMap((attribute) => {
      const text = form[attribute.attribute_id];
      if (text === undefined) return [];
      return [[attribute.name, text.trim() === '' ? null : orNull(valueInText(attribute, text))]];
    }),
  );

const orNull = (value: unknown) =>
  (Array.isArray(value) && value.length === 0 ? null : value) as AttributeEdits[string];

/** Where the form has them, each with the label of its field, since an alert has those of several fields. */
export const problemsInFields = (
  view: View,
  attributes: readonly Attribute[],
  problems: readonly FieldProblem[],
): FieldProblem[] =>
  problems.map((problem) => {
    const name = /^attributes\/(.+)$/s.exec(problem.path)?.[1];
    const attribute = attributes.find((one) => one.name === name);
    if (attribute === undefined) return problem;
    const { userMessage, message } = problem;
    const text = userMessage ? view.plain(userMessage.key, userMessage.values) : message;
    return {
      path: attribute.attribute_id,
      message: view.plain('consent.entry', { label: labelOf(attribute, view.locale), value: text }),
    };
  });

export const editableByPerson = (attributes: readonly Attribute[]): readonly Attribute[] =>
  attributes.filter(({ editable_by }) => editable_by === 'person');

/** Those that have a value, for a list of terms. */
export function attributeList(view: View, attributes: readonly Attribute[], stored: string | null): Html {
  const values = parseValues(stored);
  return html`${attributes.map((attribute) => {
    const value = values.get(attribute.attribute_id);
    return (
      value !== undefined &&
      html`<dt>${untrusted(labelOf(attribute, view.locale))}</dt><dd>${untrusted(inWords(view, value), 1000)}</dd>\n`
    );
  })}`;
}
