import { type Client, consentPolicies, reviewedRecord } from '../clients/client.ts';
import { deleteClient } from '../clients/delete-client.ts';
import { findAnyClient, listClients, listings } from '../clients/list-clients.ts';
import { type ClientReview, clientReview } from '../clients/read-review.ts';
import { registerClient } from '../clients/register-client.ts';
import { readRegistration } from '../clients/registration.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from '../clients/review-client.ts';
import { type Command, type Report, readNumber, table, time, UsageError, words } from './command.ts';

const describe = (client: Client) =>
  table([
    ['Client', client.client_id],
    ['Name', client.name],
    ['Type', client.client_type],
    ['Status', client.status + (client.status_reason ? ` (${client.status_reason})` : '')],
    ['Revision', String(client.revision)],
    ['Redirect URIs', client.redirect_uris.join(' ')],
    ['Scopes', client.allowed_scopes.join(' ')],
    ['Algorithm', client.id_token_signed_response_alg],
    ['Consent', client.consent],
    ['Retry window', `${client.refresh_retry_window} s`],
    ['Owner', client.owner_user_id ?? '-'],
    ['Pending change', client.pending_change ? JSON.stringify(client.pending_change) : '-'],
    ['Registered', time(client.created_at)],
  ]);

export const report = (client: Client): Report => ({ json: reviewedRecord(client), text: describe(client) });
/** What strangers have chosen is printed as JSON: no character of it reaches the terminal as a command. */
function reviewReport({ client, owner, changes, risks }: ClientReview): Report {
  const lines = [
    ...changes.map(({ field, before, after }) => [`  ${field}`, `    - ${printed(before)}`, `    + ${printed(after)}`]),
    ...risks.map(({ code, severity, detail }) => [`  ${severity}  ${code}  ${printed(detail)}`]),
  ].flat();
  const ownerRecord = owner ? { user_id: owner.user_id, email: owner.email, name: owner.name } : null;
  return {
    json: { ...reviewedRecord(client), owner: ownerRecord, changes, risks },
    text: [describe(client), ...(lines.length > 0 ? ['', ...lines] : [])].join('\n'),
  };
}
const printed = (value: unknown) => JSON.stringify(value);

export const target = (client_id: string) => ({ client_id, caller: { actor: 'cli' } as const });

const reason = {
  reason: { type: 'string', help: 'shown to the owner and kept in the audit log', required: true },
} as const;
const operands = ['client_id'];

const statusOf = (client: Client) => client.status + (client.pending_change ? ', change waits' : '');

export const clientCommands: Record<string, Command> = {
  'clients create': {
    usage:
      'clients create --name <name> --redirect-uri "<uri> ..." [--scope "<scope> ..."] [--public] [--alg RS256] [--approve]',
    begins: true,
    summary: 'Registers a client of the house, which no account owns. A secret is printed this once.',
    options: {
      name: { type: 'string', help: 'what people read on the sign-in page', required: true },
      'redirect-uri': { type: 'string', help: 'where answers may go; several between spaces', required: true },
      scope: { type: 'string', help: 'what it may ask for; without it: openid profile email' },
      public: { type: 'boolean', help: 'it cannot keep a secret: a single-page or native application' },
      alg: { type: 'string', help: 'EdDSA (default) or RS256: what its tokens are signed with' },
      approve: { type: 'boolean', help: 'you have reviewed it: it may start sign-ins at once' },
    },
    async run(deps, values) {
      const registration = readRegistration({
        name: values.name,
        client_type: values.public ? 'public' : 'confidential',
        redirect_uris: words(values['redirect-uri']),
        allowed_scopes: values.scope === undefined ? undefined : words(values.scope),
        id_token_signed_response_alg: values.alg,
      });
      const { client, client_secret } = await registerClient(
        deps,
        { owner_user_id: null, caller: { actor: 'cli' } },
        registration,
      );
      const { client_id, revision } = client;
      const created = values.approve ? await approveClient(deps, target(client_id), { revision }) : client;
      const secretLine = client_secret === null ? '' : `\n\nThe secret, shown this once:\n  ${client_secret}`;
      return { json: { ...reviewedRecord(created), client_secret }, text: describe(created) + secretLine };
    },
  },
  'clients list': {
    usage: 'clients list [--status <status>]',
    summary: 'Lists registered clients; those that wait for review first.',
    options: { status: { type: 'string', help: listings.join(', ') } },
    async run(deps, values) {
      const wanted = listings.filter((listing) => values.status === undefined || listing === values.status);
      if (wanted.length === 0) throw new UsageError(`--status takes one of: ${listings.join(', ')}.`);
      const found = new Map<string, Client>();
      for (const listing of wanted) {
        for (const client of await listClients(deps, listing)) found.set(client.client_id, client);
      }
      const clients = [...found.values()];
      const rows = clients.map((one) => [one.client_id, statusOf(one), `r${one.revision}`, one.client_type, one.name]);
      return {
        json: { clients: clients.map(reviewedRecord) },
        text: table([['CLIENT', 'STATUS', 'REVISION', 'TYPE', 'NAME'], ...rows]),
      };
    },
  },
  'clients show': {
    usage: 'clients show <client_id>',
    summary: 'Shows one client as it is registered, what would change, and what a reviewer should look at twice.',
    operands,
    run: async (deps, _values, [client_id = '']) => reviewReport(await clientReview(deps, client_id)),
  },
  'clients approve': {
    usage:
      'clients approve <client_id> [--revision <n>] [--consent skip|required] [--retry-window <seconds>] [--scope "<scope> ..."]',
    summary: 'Lets a reviewed client start sign-ins, or puts its pending change into force.',
    operands,
    options: {
      revision: { type: 'string', help: 'approve only if this is still the revision; without it, the present one' },
      consent: { type: 'string', help: 'skip (default) or required: ask each person first' },
      scope: { type: 'string', help: 'only these of the scopes that it asks for' },
      'retry-window': { type: 'string', help: '0 to 60: seconds in which a lost refresh may be asked for again' },
    },
    async run(deps, values, [client_id = '']) {
      const consent = consentPolicies.find((policy) => policy === values.consent);
      if (values.consent !== undefined && !consent) throw new UsageError('--consent takes skip or required.');
      return report(
        await approveClient(deps, target(client_id), {
          revision: readNumber('revision', values.revision) ?? (await findAnyClient(deps, client_id)).revision,
          consent,
          refresh_retry_window: readNumber('retry-window', values['retry-window']),
          allowed_scopes: values.scope === undefined ? undefined : words(values.scope),
        }),
      );
    },
  },
  'clients reject': {
    usage: 'clients reject <client_id> --reason <text> [--revision <n>]',
    summary: 'Turns a waiting client or change down. Its owner may edit it, and then it waits again.',
    operands,
    options: { ...reason, revision: { type: 'string', help: 'reject only if this is still the revision' } },
    run: async (deps, values, [client_id = '']) => {
      const revision = readNumber('revision', values.revision);
      return report(await rejectClient(deps, target(client_id), String(values.reason), revision));
    },
  },
  'clients suspend': {
    usage: 'clients suspend <client_id> --reason <text>',
    summary: 'Stops a client at once and everywhere: every grant is revoked, no sign-in, no token.',
    operands,
    options: reason,
    run: async (deps, values, [client_id = '']) =>
      report(await suspendClient(deps, target(client_id), String(values.reason))),
  },
  'clients reinstate': {
    usage: 'clients reinstate <client_id>',
    summary: 'Lets a suspended client start sign-ins again. Tokens from before stay dead.',
    operands,
    run: async (deps, _values, [client_id = '']) => report(await reinstateClient(deps, target(client_id))),
  },
  'clients delete': {
    usage: 'clients delete <client_id>',
    summary: 'Removes a client with its secrets, grants and consents. There is no way back.',
    operands,
    async run(deps, _values, [client_id = '']) {
      await deleteClient(deps, target(client_id));
      return { json: { deleted: client_id }, text: `${client_id} is gone, and every token of it is dead.` };
    },
  },
};
