import { requireUser } from '../../accounts/users.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { list } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';
import { readSettings, type Setting, settingGroups } from './read-settings.ts';
import { testMail } from './test-mail.ts';

const SettingRecord = Type.Object({
  name: Type.String(),
  value: nullable(Type.String({ description: 'The value that is used; null if there is none, and for secrets.' })),
  source: Type.Enum(['default', 'environment', 'file'], { description: '`file`: a line of `.env`.' }),
  is_secret: Type.Boolean({ description: 'The value is never returned; `source` says whether it is set.' }),
});

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
    description: 'Settings are changed in the environment of the server, never through the API.',
    answer: {
      description: 'Those of the process that answers.',
      schema: Type.Object({
        groups: Type.Array(Type.Object({ group: Type.Enum([...settingGroups]), settings: Type.Array(SettingRecord) })),
      }),
    },
    run: async ({ config }) => ({ groups: readSettings(config) }),
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
};
