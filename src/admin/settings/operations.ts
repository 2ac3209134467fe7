import { requireUser } from '../../accounts/users.ts';
import { checkProvider } from '../../authentication/federation/check-provider.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { list, table } from '../../platform/report.ts';
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

const ProviderCheckRecord = Type.Object({
  provider: Type.String(),
  label: Type.String(),
  issuer: Type.String(),
  redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
  checked_at: Time,
  found: nullable(Type.Object({ authorization_endpoint: Type.String(), keys: Type.Integer({ minimum: 1 }) })),
  problem: nullable(Type.String({ description: 'A code, such as `enotfound` or `discovery_issuer`.' })),
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

  checkProvider: operation({
    ...administration('settings:read'),
    id: 'checkProvider',
    method: 'POST',
    path: '/v1/admin/settings/providers/:provider/check',
    summary: 'Check a sign-in provider',
    description: 'Reads its discovery document and its keys anew. At most 30 per hour.',
    parameters: { provider: 'As in `/auth/{provider}/login`.' },
    answer: { description: 'What was found, or what is wrong.', schema: ProviderCheckRecord },
    refusals: ['not_found', 'rate_limited'],
    async run(deps, { caller, provider }) {
      await windowLimit(deps, { name: 'provider-check', limit: 30, windowSeconds: 3600 }).take(caller.actor);
      return checkProvider(deps, provider);
    },
    command: {
      name: 'providers check',
      summary: 'Check a sign-in provider. Exits with 1 if it cannot be used.',
      failed: ({ problem }) => problem !== null,
      text: ({ issuer, redirect_uri, found, problem }) =>
        table([
          ['Issuer', issuer],
          ['Redirect URI', redirect_uri],
          ['Sign-in page', found?.authorization_endpoint ?? null],
          ['Keys', found?.keys ?? null],
          ['Problem', problem],
        ]),
    },
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
