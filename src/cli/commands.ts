import { text } from 'node:stream/consumers';
import { listUsers, requireUser, requireUserByIdOrEmail, type User } from '../accounts/users.ts';
import { auditOperations } from '../admin/audit/operations.ts';
import { describeClient } from '../admin/clients/command-text.ts';
import { clientOperations } from '../admin/clients/operations.ts';
import { keyOperations } from '../admin/keys/operations.ts';
import { serviceCredentialOperations } from '../admin/service-credentials/operations.ts';
import { accessOperations } from '../admin/users/access-operations.ts';
import { describeOverview, describeUser, userOperations } from '../admin/users/operations.ts';
import { findUsers, overviewRecord, userOverview, userRecord } from '../admin/users/read-user.ts';
import { webhookOperations } from '../admin/webhooks/operations.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import { applicationTypes, authenticationMethods, type Client, reviewedRecord } from '../clients/client.ts';
import { editClient } from '../clients/edit-client.ts';
import { registerClient } from '../clients/register-client.ts';
import { readClientEdit, readRegistration } from '../clients/registration.ts';
import { approveClient } from '../clients/review-client.ts';
import { type Report, shownOnce, table, time } from '../platform/report.ts';
import { maxReplayed } from '../webhooks/manage-webhook.ts';
import { auditCommands } from './audit.ts';
import { type Command, command, UsageError } from './command.ts';
import { commandsOf, operationCommands } from './operation-command.ts';

const caller = { actor: 'cli' } as const;
const nothing = { body: undefined, query: {} };

const resent = (what: string | number) => `${what} will be resent within seconds if the server is running.`;

const webhookCommands = {
  ...commandsOf(webhookOperations),
  'webhooks replay': command({
    summary: 'Resend a failed delivery; with --all, every failed delivery of the webhook.',
    operands: { webhook_id: { value: 'webhook_id' }, delivery_id: { value: 'delivery_id', optional: true } },
    options: { all: { help: `all failed deliveries, oldest first, up to ${maxReplayed} at once` } },
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

const maxFound = 500;

const show = (user: User): Report => ({ json: userRecord(user), text: describeUser(userRecord(user)) });

function found(users: readonly User[]): Report {
  const records = users.map(userRecord);
  const rows = records.map((one) => [one.user_id, one.email, one.role, one.status, time(one.created_at)]);
  return { json: { users: records }, text: table([['USER', 'E-MAIL', 'ROLE', 'STATUS', 'CREATED'], ...rows]) };
}

/** Those that are no operation of the API. */
const userCommands = {
  'users create': command({
    summary: 'Create a user. The password is read from standard input, so that it stays out of the process list.',
    options: {
      email: { value: 'address', help: 'email address, used to sign in', required: true },
      name: { value: 'name', help: 'display name', required: true },
      'password-stdin': { help: 'read the password from standard input (required)' },
      admin: { help: 'give the user the administrator role' },
      verified: { help: 'mark the email address as verified' },
    },
    async run(deps, { email, name, admin, verified, ...given }, { stdin }) {
      if (!given['password-stdin'])
        throw new UsageError('--password-stdin is missing: pipe the password to standard input.');
      const password = (await text(stdin)).replace(/\r?\n$/, '');
      const account = { email, name, password, role: admin ? 'admin' : 'user', emailVerified: verified } as const;
      return show(await requireUser(deps, await createUser(deps, account, 'cli')));
    },
  }),
  'users list': command({
    summary: 'List all users, oldest first.',
    run: async (deps) => found(await listUsers(deps.db)),
  }),
  'users find': command({
    summary: `Find users by the beginning of the email address, part of the name, or the ID. Shows up to ${maxFound}, newest first.`,
    operands: { query: { value: 'query' } },
    run: async (deps, { query }) => found((await findUsers(deps, { query, limit: maxFound })).users),
  }),
  'users show': command({
    summary: 'Show a user; with --all, also their sign-in methods and access.',
    operands: { user_id: { value: 'user_id or email' } },
    options: { all: { help: 'include factors, wrong passwords, and the number of sessions, grants and clients' } },
    async run(deps, { user_id, all }) {
      const user = await requireUserByIdOrEmail(deps, user_id);
      if (!all) return show(user);
      const overview = overviewRecord(await userOverview(deps, user.user_id));
      return { json: overview, text: describeOverview(overview) };
    },
  }),
};

const report = (client: Client): Report => ({
  json: reviewedRecord(client),
  text: describeClient(reviewedRecord(client)),
});

/** What a relying party needs, beyond the specification's defaults. */
const relyingPartyOptions = {
  'application-type': { value: 'type', oneOf: applicationTypes, help: 'what runs it: a server, a browser, a device' },
  'post-logout-redirect-uri': { value: 'uri', separator: /\s+/, help: 'all URIs that a sign-out may redirect to' },
  'backchannel-logout-uri': { value: 'uri', help: 'where logout tokens are posted; empty to remove it' },
  'claims-in-id-token': { value: 'switch', oneOf: ['on', 'off'], help: "whether id tokens carry the user's claims" },
  'auth-method': { value: 'method', oneOf: authenticationMethods, help: 'the only accepted authentication method' },
  library: { value: 'library', help: 'the library that it uses, as docs/relying-parties names it; empty to remove it' },
} as const;

type RelyingPartyOptions = { readonly [Name in keyof typeof relyingPartyOptions]?: unknown };

const relyingPartyFields = (given: RelyingPartyOptions) => ({
  application_type: given['application-type'],
  post_logout_redirect_uris: given['post-logout-redirect-uri'],
  backchannel_logout_uri: given['backchannel-logout-uri'] === '' ? null : given['backchannel-logout-uri'],
  claims_in_id_token: given['claims-in-id-token'] && given['claims-in-id-token'] === 'on',
  token_endpoint_auth_method: given['auth-method'],
  library: given.library === '' ? null : given.library,
});

/** Those that are more than one operation of the API. */
const clientCommands = {
  'clients create': command({
    summary: 'Register a first-party client without an owner. Its secret is printed only once.',
    options: {
      name: { value: 'name', help: 'name shown on the sign-in page', required: true },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'where answers may go', required: true },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'allowed scopes; default openid profile email' },
      public: { help: 'for a native app that cannot keep a secret' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'signing algorithm of its tokens; default EdDSA' },
      ...relyingPartyOptions,
      approve: { help: 'approve the client immediately' },
    },
    async run(deps, given) {
      const registration = readRegistration({
        name: given.name,
        client_type: given.public ? 'public' : 'confidential',
        redirect_uris: given['redirect-uri'],
        allowed_scopes: given.scope,
        id_token_signed_response_alg: given.alg,
        ...relyingPartyFields(given),
      });
      const { client, client_secret } = await registerClient(deps, { owner_user_id: null, caller }, registration);
      const { client_id, revision } = client;
      const created = given.approve ? await approveClient(deps, { client_id, caller }, { revision }) : client;
      const { json, text } = report(created);
      const secret = client_secret === null ? '' : `\n\n${shownOnce({ client_secret })}`;
      return { json: { ...(json as object), client_secret }, text: text + secret };
    },
  }),
  'clients edit': command({
    summary: 'Edit a client without an owner. The approved revision stays in effect until the change is approved.',
    operands: { client_id: { value: 'client_id' } },
    options: {
      name: { value: 'name', help: 'name shown on the sign-in page' },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'all redirect URIs; replaces the current ones' },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'all allowed scopes; replaces the current ones' },
      'logo-url': { value: 'uri', help: 'empty: none' },
      'homepage-url': { value: 'uri', help: 'empty: none' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'signing algorithm of its tokens' },
      ...relyingPartyOptions,
      approve: { help: 'approve the change immediately' },
    },
    async run(deps, { client_id, ...given }) {
      const wanted = {
        name: given.name,
        redirect_uris: given['redirect-uri'],
        allowed_scopes: given.scope,
        logo_url: given['logo-url'] === '' ? null : given['logo-url'],
        homepage_url: given['homepage-url'] === '' ? null : given['homepage-url'],
        id_token_signed_response_alg: given.alg,
        ...relyingPartyFields(given),
      };
      const changes = Object.entries(wanted).filter(([, value]) => value !== undefined);
      if (changes.length === 0) throw new UsageError('Nothing to change: give at least one option.');
      const target = { client_id, owner_user_id: null, caller };
      const edited = await editClient(deps, target, readClientEdit(Object.fromEntries(changes)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!given.approve || !waits) return report(edited);
      return report(await approveClient(deps, { client_id, caller }, { revision: edited.revision }));
    },
  }),
};

/** Every command, in the order of the help. */
export const commandGroups: readonly (readonly [heading: string, commands: Readonly<Record<string, Command>>])[] = [
  ['People', { ...userCommands, ...commandsOf(userOperations) }],
  ['Access', commandsOf(accessOperations)],
  ['Clients', { ...clientCommands, ...commandsOf(clientOperations) }],
  ['Service credentials', commandsOf(serviceCredentialOperations)],
  ['Webhooks', webhookCommands],
  ['Audit log', { ...auditCommands, ...commandsOf(auditOperations) }],
  ['Operation', { ...operationCommands, ...commandsOf(keyOperations) }],
];

export const commands: ReadonlyMap<string, Command> = new Map(
  commandGroups.flatMap(([, group]) => Object.entries(group)),
);
