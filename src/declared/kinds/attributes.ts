import {
  type Attribute,
  attributeNameKey,
  defaultLength,
  editors,
  longestName,
  longestScope,
  signUps,
  valueTypes,
} from '../../attributes/attribute.ts';
import { attributeProblems, rulesOf, type WantedAttribute } from '../../attributes/attribute-rules.ts';
import { defineAttribute, deleteAttribute, editAttribute } from '../../attributes/manage-attributes.ts';
import { invalidFields } from '../../platform/errors.ts';
import { nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type Kind, type State, without } from '../kind.ts';

const viewers = ['person', 'administrators'] as const;

export const AttributeEntry = Type.Object(
  {
    name: Type.String({ maxLength: longestName, description: 'The name of the claim. It cannot be changed.' }),
    labels: Type.Record(Type.String(), Type.String(), {
      description: 'What people read, by language, such as `en: Department`.',
    }),
    type: Type.Enum([...valueTypes], { description: 'It cannot be changed.' }),
    max_length: Type.Optional(nullable(Type.Integer({ description: 'Characters of a text; 200 if left out.' }))),
    choices: Type.Optional(nullable(Type.Array(Type.String(), { description: 'What a text may be.' }))),
    minimum: Type.Optional(nullable(Type.Number())),
    maximum: Type.Optional(nullable(Type.Number())),
    scope: Type.String({
      maxLength: longestScope,
      description: 'Which scope releases it: profile, email, or one that begins with userinfo:.',
    }),
    editable_by: Type.Optional(Type.Enum([...editors], { description: 'administrator if left out.' })),
    visible_to: Type.Optional(Type.Enum([...viewers], { description: 'person if left out.' })),
    sign_up: Type.Optional(Type.Enum([...signUps], { description: 'no if left out.' })),
  },
  { additionalProperties: false },
);

const stateOf = (wanted: Omit<WantedAttribute, 'value_type'> & { value_type: Attribute['value_type'] }): State => {
  const { name, labels, value_type: type, scope, editable_by, is_shown, sign_up } = wanted;
  const { max_length, choices, minimum, maximum } = rulesOf(wanted);
  return {
    name,
    labels: Object.fromEntries(
      Object.entries(labels)
        .map(([locale, text]) => [locale, text.trim()] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
    type,
    ...{ max_length, choices, minimum, maximum, scope, editable_by },
    visible_to: is_shown ? 'person' : 'administrators',
    sign_up,
  };
};

function wanted(state: State): WantedAttribute {
  const {
    type: value_type,
    visible_to,
    ...stated
  } = state as Omit<WantedAttribute, 'value_type' | 'is_shown'> & {
    type: Attribute['value_type'];
    visible_to: (typeof viewers)[number];
  };
  return { ...stated, value_type, is_shown: visible_to === 'person' };
}

export const attributes: Kind = {
  name: 'attributes',
  fixed: ['name', 'type'],
  isUnique: true,
  recognizedBy: ({ name }) => attributeNameKey(String(name)),
  members: Object.keys(AttributeEntry.properties),
  async list(deps) {
    deps.attributes.forget();
    const { all } = await deps.attributes.read();
    return all.map((attribute) => ({
      id: attribute.attribute_id,
      state: stateOf({ ...attribute, ...attribute.rules }),
    }));
  },
  read(_, entry) {
    const { type: value_type, visible_to = 'person', ...stated } = entry as Static<typeof AttributeEntry>;
    const { editable_by = 'administrator', sign_up = 'no' } = stated;
    const one = { ...stated, value_type, editable_by, sign_up, is_shown: visible_to === 'person' };
    const problems = attributeProblems(one);
    if (problems.length > 0) throw invalidFields(problems);
    return stateOf(one);
  },
  usesSecret: () => false,
  async create({ deps, caller }, state, made) {
    await made((await defineAttribute(deps, caller, wanted(state))).attribute_id);
    return undefined;
  },
  async change({ deps, caller }, { id }, state) {
    const { name: _, value_type: __, ...edit } = wanted(state);
    await editAttribute(deps, caller, id, edit);
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => deleteAttribute(deps, caller, id),
  write: (state) =>
    without(state, {
      max_length: hasStrings(state) ? defaultLength : null,
      choices: null,
      minimum: null,
      maximum: null,
      editable_by: 'administrator',
      visible_to: 'person',
      sign_up: 'no',
    }),
};

const hasStrings = ({ type }: State): boolean => type === 'string' || type === 'strings';
