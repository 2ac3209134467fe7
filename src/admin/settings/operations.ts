import { requireUser } from '../../accounts/users.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, nullable, operation } from '../../platform/http/operation.ts';
import { list } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { findChangeableSetting } from '../../platform/settings/changeable-settings.ts';
import { changeSetting, isFixed, revisionOf, type SettingDeps } from '../../settings/change-setting.ts';
import { administration, optionalReason, strictBody } from '../operation-parts.ts';
import { readSettings, type Setting, settingGroups, settingIn } from './read-settings.ts';
import { testMail } from './test-mail.ts';

const SettingRecord = Type.Object({
  name: Type.String(),
  value: nullable(Type.String({ description: 'The value that is used; null if there is none, and for secrets.' })),
  source: Type.Enum(['default', 'environment', 'file', 'store'], {
    description: '`file`: a line of `.env`. `store`: it was changed while the server ran.',
  }),
  is_secret: Type.Boolean({ description: 'The value is never returned; `source` says whether it is set.' }),
  is_changeable: Type.Boolean({
    description: 'It can be changed while the server runs, since its environment does not set it.',
  }),
  revision: nullable(
    Type.Integer({
      description: 'Counts the changes of what can be changed while the server runs, from 1 on; null for the others.',
    }),
  ),
});

const record = (deps: SettingDeps, setting: Setting) => {
  const isChangeable = findChangeableSetting(setting.name) !== undefined;
  return {
    ...setting,
    is_changeable: isChangeable && !isFixed(deps, setting.name),
    revision: isChangeable ? revisionOf(deps, setting.name) : null,
  };
};

const printed = ({ value, is_secret, source }: Setting) =>
  is_secret ? (source === 'default' ? 'not set' : 'set') : (value ?? 'not set');

const MailTestRecord = Type.Object({
  to: Type.String(),
  is_accepted: Type.Boolean({ description: 'Whether the mail server took the email.' }),
  answer: nullable(
    Type.String({ description: 'What the mail server answered, or why it was not reached. Display it as plain text.' }),
  ),
});

export const settingOperations = {
  testMail: operation({
    ...administration('settings:write'),
    id: 'testMail',
    method: 'POST',
    path: '/v1/admin/settings/test-mail',
    summary: 'Send a test email to yourself',
    description: 'Sent at once, beside the queue. At most 10 per hour.',
    answer: { description: 'What the mail server said.', schema: MailTestRecord },
    refusals: ['invalid_state', 'rate_limited'],
    run: async (deps, { caller }) =>
      testMail(deps, caller, await requireUser(deps, caller.actor.replace(/^user:/, ''))),
  }),

  list: operation({
    ...administration('settings:read'),
    id: 'listSettings',
    method: 'GET',
    path: '/v1/admin/settings',
    summary: 'List the settings that are used, without secrets',
    description:
      'Those with `is_changeable` are changed by `changeSetting`, the others in the environment of the server.',
    answer: {
      description: 'Those of the process that answers.',
      schema: Type.Object({
        groups: Type.Array(Type.Object({ group: Type.Enum([...settingGroups]), settings: Type.Array(SettingRecord) })),
      }),
    },
    run: async (deps) => ({
      groups: readSettings(deps.config).map(({ group, settings }) => ({
        group,
        settings: settings.map((setting) => record(deps, setting)),
      })),
    }),
    command: {
      name: 'config',
      summary: 'List the settings in effect and where each comes from. Secrets are masked.',
      text: ({ groups }) =>
        list([
          ['SETTING', 'SOURCE', 'VALUE'],
          ...groups.flatMap(({ settings }) => settings.map((one) => [one.name, one.source, printed(one)])),
        ]),
    },
  }),

  change: operation({
    ...administration('settings:write'),
    id: 'changeSetting',
    method: 'PUT',
    path: '/v1/admin/settings/:name',
    parameters: { name: 'The name of a setting with `is_changeable`.' },
    summary: 'Change a setting while the server runs',
    description:
      'It is checked as at the start of a server, and counts on every node within seconds. What the environment of a node says wins there.',
    body: strictBody({
      value: nullable(
        Type.String({
          description: 'As it would be in the environment; null, or nothing but spaces: the default.',
          ...inCode({ maxLength: 2000 }),
        }),
      ),
      revision: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'As it was read: a change in the meantime is then refused. Left out: whatever it is.',
        }),
      ),
      ...optionalReason,
    }),
    example: { value: 'off', revision: 1 },
    answer: { description: 'The setting as it is now.', schema: SettingRecord },
    refusals: ['invalid_request', 'not_found', 'invalid_state', 'stale_revision'],
    run: async (deps, { caller, name, body }) =>
      answerOf(await changeSetting(deps, caller, name, body), () => record(deps, settingIn(deps.config, name))),
    command: {
      name: 'config set',
      summary: "Change a setting while the server runs, for all its nodes. An empty value ('') is the default.",
      operands: { name: {}, value: {} },
      text: (setting) =>
        `${setting.name}: ${printed(setting)}. It counts on every node within seconds, but where the environment of a node sets it.`,
    },
  }),
};
