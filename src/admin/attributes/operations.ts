import type { AdministrativePermission } from '../../accounts/permissions.ts';
import {
  type Attribute,
  defaultLength,
  editors,
  longestLabel,
  longestName,
  longestScope,
  longestValue,
  maxChoices,
  namePattern,
  ownScopePattern,
  sharedScopes,
  signUps,
  valueTypes,
} from '../../attributes/attribute.ts';
import {
  defineAttribute,
  deleteAttribute,
  editAttribute,
  requireAttribute,
} from '../../attributes/manage-attributes.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { list, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { administration, strictBody } from '../operation-parts.ts';

const viewers = ['person', 'administrators'] as const;

const AttributeRecord = Type.Object({
  attribute_id: Type.String({ description: '`atr_...`' }),
  name: Type.String({ description: 'Of the claim, and of the member of `attributes`.' }),
  labels: Type.Record(Type.String(), Type.String(), { description: 'What people read, by language.' }),
  type: Type.Enum([...valueTypes], { description: 'Of the values.' }),
  max_length: nullable(Type.Integer({ description: 'Characters of a string, or of each of several.' })),
  choices: nullable(Type.Array(Type.String(), { description: 'What a string, or each of several, may be.' })),
  minimum: nullable(Type.Number({ description: 'The smallest number.' })),
  maximum: nullable(Type.Number({ description: 'The largest number.' })),
  scope: Type.String({ description: 'Which scope releases it.' }),
  editable_by: Type.Enum([...editors], {
    description: 'Who changes the value: its person too, or administrators alone.',
  }),
  visible_to: Type.Enum([...viewers], {
    description: 'Who sees the value: its person too, or administrators alone.',
  }),
  sign_up: Type.Enum([...signUps], { description: 'Whether sign-up asks for it.' }),
  created_at: Time,
  updated_at: Time,
});

const record = ({ value_type: type, rules, is_shown, event_id: _, ...attribute }: Attribute) => ({
  ...attribute,
  type,
  ...rules,
  visible_to: is_shown ? ('person' as const) : ('administrators' as const),
});

/** The member of the label in one language. */
export const labelMember = (locale: string) => `label_${locale.toLowerCase().replaceAll('-', '_')}` as const;

const label = (locale: string) =>
  Type.Optional(
    Type.String({
      description: `What people read, in ${nameOfLanguage(locale)}.`,
      ...inCode({ minLength: 1, maxLength: longestLabel, pattern: textPatterns.visible }),
    }),
  );
/** At least one. */
const labels: Readonly<Record<`label_${string}`, ReturnType<typeof label>>> = Object.fromEntries(
  locales.map((locale) => [labelMember(locale), label(locale)]),
);
const labelEdits: Readonly<Record<`label_${string}`, ReturnType<typeof labelEdit>>> = Object.fromEntries(
  locales.map((locale) => [labelMember(locale), labelEdit(locale)]),
);
function labelEdit(locale: string) {
  const pattern = textPatterns.visible;
  const description = `What people read, in ${nameOfLanguage(locale)}; null: nothing of its own.`;
  return Type.Optional(
    nullable(Type.String({ description, ...inCode({ minLength: 1, maxLength: longestLabel, pattern }) })),
  );
}
const labelsIn = (body: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    locales.flatMap((locale) => {
      const text = body[labelMember(locale)];
      return typeof text === 'string' && text.trim() !== '' ? [[locale, text]] : [];
    }),
  );

/** By language; null removes. */
const labelEditsIn = (body: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    locales.flatMap((locale) => {
      const text = body[labelMember(locale)] as string | null | undefined;
      return text === undefined ? [] : [[locale, text]];
    }),
  );

const bound = (description: string) =>
  Type.Optional(nullable(Type.Number({ description, minimum: -Number.MAX_SAFE_INTEGER })));

/** @param leftOut what a definition is that does not say; an edit leaves it as it is. */
const said = (leftOut: {
  max_length: string;
  choices: string;
  editable_by: string;
  visible_to: string;
  sign_up: string;
}) => ({
  max_length: Type.Optional(
    nullable(
      Type.Integer({
        description: `Characters of a string, or of each of several: up to ${longestValue}${leftOut.max_length}.`,
        ...inCode({ minimum: 1, maximum: longestValue }),
      }),
    ),
  ),
  choices: Type.Optional(
    nullable(
      Type.Array(Type.String(), {
        description: `What a string, or each of several, may be; ${leftOut.choices}: anything.`,
        ...inCode({ maxItems: maxChoices }),
      }),
    ),
  ),
  minimum: bound('The smallest number.'),
  maximum: bound('The largest number.'),
  editable_by: Type.Optional(
    Type.Enum([...editors], {
      description: `Who changes the value: its person too, or administrators alone${leftOut.editable_by}.`,
    }),
  ),
  visible_to: Type.Optional(
    Type.Enum([...viewers], {
      description: `Who sees the value: its person too${leftOut.visible_to}, or administrators alone.`,
    }),
  ),
  sign_up: Type.Optional(
    Type.Enum([...signUps], {
      description: `Whether sign-up asks for what the person may change${leftOut.sign_up}.`,
    }),
  ),
});
const ofNew = said({
  max_length: `; ${defaultLength} if left out`,
  choices: 'null or left out',
  editable_by: ', which is so if left out',
  visible_to: ', which is so if left out',
  sign_up: '; no if left out',
});
const ofEdit = said({ max_length: '', choices: 'null', editable_by: '', visible_to: '', sign_up: '' });
const scopePattern = `^(${sharedScopes.join('|')})$|${ownScopePattern}`;
const scope = (description = '') =>
  Type.String({
    description: `${description}\`profile\`, \`email\`, or one of its own that begins with \`userinfo:\`.`,
    ...inCode({ maxLength: longestScope, pattern: scopePattern }),
  });

const anyAttribute = { attribute_id: 'ID of an attribute, `atr_...`.' };
const one = (permission: AdministrativePermission) =>
  ({
    ...administration(permission),
    parameters: anyAttribute,
    answer: { description: 'The attribute.', schema: AttributeRecord },
    refusals: ['not_found'],
  }) as const;

const describe = (attribute: ReturnType<typeof record>) =>
  table([
    ['Attribute', attribute.attribute_id],
    ['Name', attribute.name],
    ...Object.entries(attribute.labels).map(([locale, text]) => [`Label (${locale})`, text]),
    ['Type', attribute.type],
    ...(['max_length', 'choices', 'minimum', 'maximum'] as const).flatMap((rule) => {
      const value = attribute[rule];
      return value === null ? [] : [[rule, typeof value === 'number' ? String(value) : value]];
    }),
    ['Scope', attribute.scope],
    ['Changed by', attribute.editable_by],
    ['Visible to', attribute.visible_to],
    ['At sign-up', attribute.sign_up],
    ['Defined', time(attribute.created_at)],
  ]);

// Of a member that the type does not name: there is one for each language.
const inEnglish = { label_en: 'Department' };

export const attributeOperations = {
  list: operation({
    ...administration('attributes:read'),
    id: 'listAttributes',
    method: 'GET',
    path: '/v1/admin/attributes',
    summary: 'List the attributes of users that are defined here',
    answer: {
      description: 'In the order of forms.',
      schema: Type.Object({ attributes: Type.Array(AttributeRecord, { description: 'The attributes.' }) }),
    },
    run: async (deps) => ({ attributes: (await deps.attributes.read()).all.map(record) }),
    command: {
      name: 'attributes list',
      text: ({ attributes }) =>
        list([
          ['ATTRIBUTE', 'NAME', 'TYPE', 'SCOPE', 'CHANGED BY', 'SIGN-UP'],
          ...attributes.map((each) => [
            each.attribute_id,
            each.name,
            each.type,
            each.scope,
            each.editable_by,
            each.sign_up,
          ]),
        ]),
    },
  }),

  define: operation({
    ...administration('attributes:write'),
    id: 'defineAttribute',
    method: 'POST',
    path: '/v1/admin/attributes',
    summary: 'Define an attribute of users',
    description: 'Apps that have the scope already receive it at once, without asking their users again.',
    body: strictBody({
      name: Type.String({
        minLength: 1,
        description: 'Of the claim. It cannot be changed, and is none that has a meaning of its own in tokens.',
        ...inCode({ maxLength: longestName, pattern: namePattern }),
      }),
      ...labels,
      type: Type.Enum([...valueTypes], { description: 'Of the values. It cannot be changed.' }),
      scope: scope('Which scope releases it: '),
      ...ofNew,
    }),
    example: { name: 'department', ...inEnglish, type: 'string', scope: 'userinfo:work' },
    answer: { description: 'The attribute.', schema: AttributeRecord },
    refusals: ['invalid_state'],
    async run(deps, { caller, body }) {
      const { name, type: value_type, max_length, choices, minimum, maximum, scope: released } = body;
      const { editable_by: editor = 'administrator', visible_to: viewer = 'person', sign_up: signUp = 'no' } = body;
      const attribute = await defineAttribute(deps, caller, {
        ...{ name, labels: labelsIn(body), value_type, max_length, choices, minimum, maximum, scope: released },
        ...{ editable_by: editor, is_shown: viewer === 'person', sign_up: signUp },
      });
      return record(attribute);
    },
    command: { name: 'attributes define', text: describe },
  }),

  read: operation({
    ...one('attributes:read'),
    id: 'readAttribute',
    method: 'GET',
    path: '/v1/admin/attributes/:attribute_id',
    summary: 'Read an attribute',
    run: async (deps, { attribute_id }) => record(await requireAttribute(deps, attribute_id)),
    command: { name: 'attributes show', text: describe },
  }),

  edit: operation({
    ...one('attributes:write'),
    id: 'editAttribute',
    method: 'PATCH',
    path: '/v1/admin/attributes/:attribute_id',
    summary: 'Change an attribute',
    description:
      'Values that do not fit a narrower rule stay, and are released, until they are changed, and so do those that people have given themselves. Another scope releases it at once.',
    body: strictBody({ ...labelEdits, scope: Type.Optional(scope()), ...ofEdit }, { minProperties: 1 }),
    example: { choices: ['Sales', 'Engineering'] },
    refusals: ['not_found', 'invalid_state'],
    async run(deps, { caller, attribute_id, body }) {
      const { max_length, choices, minimum, maximum, scope: released } = body;
      const { editable_by: editor, visible_to: viewer, sign_up: signUp } = body;
      const edit = {
        label_edits: labelEditsIn(body),
        ...{ max_length, choices, minimum, maximum, scope: released },
        ...{ editable_by: editor, sign_up: signUp, is_shown: viewer && viewer === 'person' },
      };
      return answerOf(await editAttribute(deps, caller, attribute_id, edit), record);
    },
    command: { name: 'attributes edit', text: describe },
  }),

  delete: operation({
    ...administration('attributes:write'),
    parameters: anyAttribute,
    id: 'deleteAttribute',
    method: 'DELETE',
    path: '/v1/admin/attributes/:attribute_id',
    summary: 'Delete an attribute and its values',
    description: 'Nothing releases it any more within a second. The values of all users are then removed.',
    answer: { description: 'The attribute is deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, attribute_id }) => deleteAttribute(deps, caller, attribute_id),
    command: {
      name: 'attributes delete',
      confirm: 'The values of all users are deleted. They cannot be restored.',
      summary: 'Delete an attribute and its values. They cannot be restored.',
      json: (_, { attribute_id }) => ({ deleted: attribute_id }),
      text: (_, { attribute_id }) => `${attribute_id} has been deleted.`,
    },
  }),
};
