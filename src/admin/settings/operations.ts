import { nullable, operation } from '../../platform/http/operation.ts';
import { table } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';
import { readSettings, type Setting, settingGroups } from './read-settings.ts';

const SettingRecord = Type.Object({
  name: Type.String(),
  value: nullable(Type.String({ description: 'The value that is used; null if there is none, and for secrets.' })),
  source: Type.Enum(['default', 'environment', 'file'], { description: '`file`: a line of `.env`.' }),
  is_secret: Type.Boolean({ description: 'The value is never returned; `source` says whether it is set.' }),
});

const printed = ({ value, is_secret, source }: Setting) =>
  is_secret ? (source === 'default' ? 'not set' : 'set') : (value ?? 'not set');

export const settingOperations = {
  list: operation({
    ...administration,
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
      summary: 'List the settings that this command uses and where they come from, without secrets.',
      text: ({ groups }) =>
        table([
          ['SETTING', 'SOURCE', 'VALUE'],
          ...groups.flatMap(({ settings }) => settings.map((one) => [one.name, one.source, printed(one)])),
        ]),
    },
  }),
};
