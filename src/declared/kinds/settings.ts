import { type FieldProblem, invalidFields } from '../../platform/errors.ts';
import { inCode } from '../../platform/http/operation.ts';
import { type TSchema, Type } from '../../platform/schema.ts';
import { type ChangeableSetting, changeableSettings } from '../../platform/settings/changeable-settings.ts';
import { changeSetting, isFixed } from '../../settings/change-setting.ts';
import type { Kind, State } from '../kind.ts';

type Said = string | number | null;

function schemaOf({ control }: ChangeableSetting): TSchema {
  if (control.kind === 'switch') return orDefault(Type.Enum(['on', 'off']));
  if (control.kind === 'number') return orDefault(Type.Integer({ minimum: control.min, maximum: control.max }));
  return orDefault(Type.String({ description: 'As it would be in the environment.', ...inCode({ maxLength: 2000 }) }));
}

const orDefault = (schema: TSchema) => Type.Union([schema, Type.Null()], { description: 'Null: the default.' });

export const SettingsEntry = Type.Object(
  Object.fromEntries(changeableSettings.map((setting) => [setting.name, Type.Optional(schemaOf(setting))])),
  { additionalProperties: false },
);

const storedForm = (said: Said): string | null => (said === null ? null : String(said).trim() || null);

/**
 * Settings that are changed while the server runs. There is always one of each, so that no file makes or deletes it, and what a file does
 * not say of them stays: those of the environment are said elsewhere, too.
 */
export const settings: Kind = {
  name: 'settings',
  fixed: [],
  isUnique: true,
  recognizedBy: () => 'settings',
  nameOf: () => 'those that are changed while the server runs',
  keyFor: () => 'settings',
  members: changeableSettings.map(({ name }) => name),
  memberProblem: (member) =>
    /^(?:SIGNET|OTEL)_/.test(member)
      ? `Cannot be changed while the server runs, and so not by a file: if it is a setting, it belongs into the environment of the server. These can be: ${settings.members.join(', ')}.`
      : undefined,
  async list(deps) {
    await deps.settings.refresh();
    const changed = changeableSettings.map(({ name }): [string, string | null] => [
      name,
      deps.settings.stored(name)?.value ?? null,
    ]);
    // What is of the environment, or was written by a version that knows more, could not be applied.
    const own = changed.filter(
      ([name, value]) => !isFixed(deps, name) && (value === null || deps.settings.problemOf(name, value) === undefined),
    );
    return [{ id: 'settings', state: Object.fromEntries(own) }];
  },
  read(deps, entry) {
    const wanted = Object.entries(entry).map(([name, said]): [string, string | null] => [
      name,
      storedForm(said as Said),
    ]);
    const problems = wanted.flatMap(([path, value]): FieldProblem[] => {
      if (isFixed(deps, path))
        return [
          {
            path,
            message:
              'Is set in the environment of this server, which wins. Remove it there and restart the server to declare it here, or remove it here.',
          },
        ];
      const message = value === null ? undefined : deps.settings.problemOf(path, value);
      return message === undefined ? [] : [{ path, message }];
    });
    if (problems.length > 0) throw invalidFields(problems);
    return Object.fromEntries(wanted);
  },
  usesSecret: () => false,
  create: () => Promise.reject(new TypeError('Settings are there already.')),
  async change({ deps, caller }, _existing, state, fields) {
    for (const name of fields) await changeSetting(deps, caller, name, { value: state[name] as string | null });
    return undefined;
  },
  remove: async () => undefined,
  write: (state: State) =>
    Object.fromEntries(
      Object.entries(state)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, isNumber(name) ? Number(value) : value]),
    ),
};

const isNumber = (name: string): boolean =>
  changeableSettings.some((one) => one.name === name && one.control.kind === 'number');
