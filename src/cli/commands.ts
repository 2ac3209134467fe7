import { readFileSync } from 'node:fs';
import { apiOperations } from '../admin/apis/operations.ts';
import { attributeOperations } from '../admin/attributes/operations.ts';
import { auditOperations } from '../admin/audit/operations.ts';
import { describeClient } from '../admin/clients/command-text.ts';
import { clientOperations } from '../admin/clients/operations.ts';
import { entitlementOperations } from '../admin/entitlements/operations.ts';
import { groupOperations } from '../admin/groups/operations.ts';
import { keyOperations } from '../admin/keys/operations.ts';
import { mailOperations } from '../admin/mails/operations.ts';
import { serviceCredentialOperations } from '../admin/service-credentials/operations.ts';
import { settingOperations } from '../admin/settings/operations.ts';
import { testMail } from '../admin/settings/test-mail.ts';
import { signalOperations } from '../admin/signals/operations.ts';
import { accessOperations } from '../admin/users/access-operations.ts';
import { accountOperations } from '../admin/users/account-operations.ts';
import { alertOperations } from '../admin/users/alert-operations.ts';
import { invitationOperations } from '../admin/users/invitation-operations.ts';
import { userOperations } from '../admin/users/operations.ts';
import { recoveryOperations } from '../admin/users/recovery-operations.ts';
import { webhookOperations } from '../admin/webhooks/operations.ts';
import { acrValuesFor, type SecondFactor, secondFactors } from '../clients/choices.ts';
import { type Client, reviewedRecord } from '../clients/client.ts';
import type { ClientField } from '../clients/client-field.ts';
import { editClient } from '../clients/edit-client.ts';
import { fieldNames, fieldOf } from '../clients/fields.ts';
import { findAnyClient } from '../clients/find-clients.ts';
import { findLibrary, proposedFor } from '../clients/libraries/catalogue.ts';
import { other } from '../clients/libraries/other.ts';
import { readClientEdit } from '../clients/registration.ts';
import { approveClient } from '../clients/review-client.ts';
import { defaultAllowedScopes } from '../clients/scopes.ts';
import { emailProblem } from '../platform/email-address.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import { type Report, shownOnce } from '../platform/report.ts';
import { maxReplayed } from '../webhooks/replay.ts';
import { auditCommands } from './audit.ts';
import { backupCommands } from './backup.ts';
import { brandCommands } from './brand.ts';
import { cellCommands } from './cells.ts';
import { type Command, command, commandWithoutStore, type Option, type Typed, UsageError } from './command.ts';
import { declaredCommands } from './declared.ts';
import { doctorCommand } from './doctor.ts';
import { exportCommand } from './export.ts';
import { healthcheckCommand } from './healthcheck.ts';
import { importStoreCommand } from './import.ts';
import { importClientsCommand } from './import-clients.ts';
import { importCommand } from './import-users.ts';
import { mailPreviewCommand } from './mail-preview.ts';
import { moveCommands } from './move.ts';
import { commandsOf, nothingChanged } from './operation-command.ts';
import { providerCommands } from './providers.ts';
import { exportCommands, invitationCommand, userCommands } from './users.ts';

const caller = { actor: 'cli' } as const;
const nothing = { body: undefined, query: {} };

const resent = (what: string | number) => `${what} will be resent within seconds if the server is running.`;

const serverCommands = {
  serve: command({
    summary: 'Start the server. Settings are SIGNET_* environment variables, all optional; see docs/configuration.md.',
    prepares: true,
    run: async () => undefined, // the command line starts the server instead
  }),
  migrate: command({
    prepares: true,
    summary:
      'Migrate the database to this version and create missing keys. `signet serve` does so, too; no other command does.',
    // Opening the store has migrated it.
    run: async () => ({ json: { migrated: true }, text: 'The database is up to date.' }),
  }),
};

const webhookCommands = {
  ...commandsOf(webhookOperations),
  ...commandsOf(signalOperations),
  'webhooks replay': command({
    summary: 'Resend a delivery. With --all, resends every failed delivery of the webhook.',
    operands: { webhook_id: { value: 'webhook_id' }, delivery_id: { value: 'delivery_id', optional: true } },
    options: { all: { help: `resend all failed deliveries, oldest first, up to ${maxReplayed} each time` } },
    async run(deps, { webhook_id, delivery_id, all }) {
      if (all === (delivery_id !== undefined)) throw new UsageError('Give either a <delivery_id> or --all.');
      if (delivery_id !== undefined) {
        await webhookOperations.replayDelivery.run(deps, { caller, webhook_id, delivery_id, ...nothing });
        return { json: { replayed: delivery_id }, text: resent(delivery_id) };
      }
      const counts = await webhookOperations.replayDead.run(deps, { caller, webhook_id, ...nothing });
      const left =
        counts.dead > 0 ? ` ${counts.dead} failed deliveries remain: repeat the command to resend them.` : '';
      return { json: counts, text: resent(counts.replayed) + left };
    },
  }),
};

const report = (client: Client): Report => ({
  json: reviewedRecord(client),
  text: describeClient(reviewedRecord(client)),
});

/** The options that set the fields of a client. */
const fieldOptions: Readonly<Record<string, Option>> = Object.fromEntries(
  fieldNames.map((name) => {
    const { control, initial, option } = fieldOf(name);
    const { name: option_name, value, help } = option;
    const canBeEmpty = initial === null && control.kind !== 'choice';
    return [
      option_name,
      { ...(value && { value }), help: canBeEmpty ? `${help}; "" for none` : help, ...argumentOf(control) },
    ];
  }),
);

function argumentOf(control: ClientField['control']): Partial<Option> {
  if (control.kind === 'lines') return { separator: /\s+/ };
  if (control.kind === 'scopes') return { separator: /[\s,]+/ };
  if (control.kind === 'switch') return { oneOf: ['on', 'off'] };
  if (control.kind === 'second_factor') return { oneOf: secondFactors };
  return control.kind === 'choice' ? { oneOf: control.values } : {};
}

/** The JSON of a file, or what was typed if it is JSON itself. */
function readJson(typed: string): unknown {
  if (typed === '') return null;
  let text = typed;
  try {
    if (!typed.trimStart().startsWith('{')) text = readFileSync(typed, 'utf8');
  } catch {
    throw new UsageError('The file of keys cannot be read. Nothing was changed.');
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const noteOption = { note: { value: 'text', help: 'what the reviewer should know; "" for nothing' } } as const;

/** Of the fields whose option was given; undefined for the others. */
const fieldsGiven = (given: Typed) => ({
  ...Object.fromEntries(
    fieldNames.map((name) => {
      const { control, option, initial } = fieldOf(name);
      const value = given[option.name];
      if (control.kind === 'switch') return [name, value && value === 'on'];
      if (control.kind === 'json') return [name, value === undefined ? undefined : readJson(String(value))];
      if (control.kind === 'second_factor') return [name, value && acrValuesFor(value as SecondFactor)];
      return [name, initial === null ? orNone(value) : value];
    }),
  ),
  note_to_reviewer: orNone(given.note),
});

/** With what its library needs, unless the options say otherwise; other software expects RS256 and reads the ID token. */
const registeredFor = (given: Typed) => ({
  ...proposedFor(findLibrary(String(given.library)) ?? other),
  ...Object.fromEntries(Object.entries(fieldsGiven(given)).filter(([, value]) => value !== undefined)),
});

const orNone = (value: unknown) => (value === '' ? null : value);

/** Those that are more than one operation of the API. */
const clientCommands = {
  'clients create': command({
    summary: 'Register a first-party client. It has no owner; prints its secret, which cannot be shown again.',
    options: {
      ...fieldOptions,
      name: { ...fieldOptions.name!, required: true },
      'redirect-uri': { ...fieldOptions['redirect-uri']!, required: true },
      scope: { ...fieldOptions.scope!, default: defaultAllowedScopes.join(' ') },
      alg: { ...fieldOptions.alg!, default: 'as the library needs; RS256 if it is not named' },
      public: { help: 'register a public client (native or browser app), which gets no secret' },
      ...noteOption,
      approve: { help: 'approve the client immediately' },
    },
    async run(deps, given) {
      const body = { client_type: given.public ? 'public' : 'confidential', ...registeredFor(given) };
      const registered = await clientOperations.register.run(deps, { caller, body, query: {} });
      const { client_id, revision, client_secret } = registered;
      const client = given.approve
        ? await approveClient(deps, { client_id, caller }, { revision })
        : await findAnyClient(deps, client_id);
      const { json, text } = report(client);
      const secret = client_secret === null ? '' : `\n\n${shownOnce({ client_secret })}`;
      return { json: { ...(json as object), client_secret }, text: text + secret };
    },
  }),
  'clients edit': command({
    summary:
      'Edit a first-party client. Lists are replaced as a whole; the approved revision stays in effect until the change is approved.',
    operands: { client_id: { value: 'client_id' } },
    options: {
      ...fieldOptions,
      ...noteOption,
      approve: { help: 'approve the change immediately' },
    },
    async run(deps, { client_id, ...given }) {
      const wanted = fieldsGiven(given);
      const changes = Object.entries(wanted).filter(([, value]) => value !== undefined);
      if (changes.length === 0) throw new UsageError('Nothing to change: give at least one option.');
      const { revision } = await findAnyClient(deps, client_id);
      const target = { client_id, owner_user_id: null, caller };
      const edited = await editClient(deps, target, readClientEdit(Object.fromEntries(changes)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!given.approve || !waits) {
        const reported = report(edited);
        return edited.revision === revision ? { ...reported, text: nothingChanged } : reported;
      }
      return report(await approveClient(deps, { client_id, caller }, { revision: edited.revision }));
    },
  }),
};

const mailCommand = {
  ...mailPreviewCommand,
  ...commandsOf(mailOperations),
  'mail test': command({
    summary: 'Send a test email. Uses the settings of this command, and prints what the mail server answered.',
    operands: { email: { value: 'email' } },
    async run(deps, { email }) {
      const key = emailProblem(email);
      if (key !== undefined) throw invalidFields([fieldProblem('email', { key })]);
      const result = await testMail(deps, caller, { email, name: null, locale: null });
      const said = result.answer === null ? '' : `: ${result.answer}`;
      const accepted =
        result.answer === null
          ? `Printed to the log instead of being sent to ${email}; set SIGNET_SMTP_URL to send it.`
          : `Accepted for ${email}${said}`;
      const text = result.is_accepted ? accepted : `Not accepted${said}`;
      return { json: result, text, failed: !result.is_accepted };
    },
  }),
};

const completionCommand = {
  completion: commandWithoutStore({
    summary: 'Print a completion script for a shell. Its first line says how to load it.',
    operands: { shell: { oneOf: ['bash', 'zsh', 'fish'] } },
    async runWithoutStore(_, { shell }) {
      const { completionFor } = await import('./completion.ts');
      const script = completionFor(shell, commands);
      return { json: { script }, text: script };
    },
  }),
};

/** Every command, in the order of the help. */
export const commandGroups: readonly (readonly [heading: string, commands: Readonly<Record<string, Command>>])[] = [
  [
    'Server',
    {
      ...serverCommands,
      ...healthcheckCommand,
      ...doctorCommand,
      ...backupCommands,
      ...moveCommands,
      ...cellCommands,
      ...exportCommand,
      ...importStoreCommand,
      ...commandsOf(settingOperations),
      ...providerCommands,
      ...mailCommand,
      ...completionCommand,
    },
  ],
  [
    'Users',
    {
      ...userCommands,
      ...commandsOf(accountOperations),
      ...commandsOf(invitationOperations),
      ...commandsOf(userOperations),
      ...exportCommands,
      ...importCommand,
      ...invitationCommand,
    },
  ],
  [
    'Sessions, grants and entitlements',
    {
      ...commandsOf(accessOperations),
      ...commandsOf(recoveryOperations),
      ...commandsOf(alertOperations),
      ...commandsOf(entitlementOperations),
    },
  ],
  ['Clients', { ...clientCommands, ...importClientsCommand, ...commandsOf(clientOperations) }],
  ['Groups', commandsOf(groupOperations)],
  ['Attributes', commandsOf(attributeOperations)],
  ['Brand', brandCommands],
  ['APIs', commandsOf(apiOperations)],
  ['Service credentials', commandsOf(serviceCredentialOperations)],
  ['Webhooks', webhookCommands],
  ['Configuration as code', declaredCommands],
  ['Audit log', { ...auditCommands, ...commandsOf(auditOperations) }],
  ['Signing keys', commandsOf(keyOperations)],
];

export const commands: ReadonlyMap<string, Command> = new Map(
  commandGroups.flatMap(([, group]) => Object.entries(group)),
);
