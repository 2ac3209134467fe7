import { listedRecords } from '../clients/assess-risks.ts';
import { type Client, consentPolicies, hasPendingChange, needsReview, reviewedRecord } from '../clients/client.ts';
import { changePolicy } from '../clients/client-policy.ts';
import { deleteClient } from '../clients/delete-client.ts';
import { findClients, listings } from '../clients/find-clients.ts';
import {
  type ClientReview,
  clientReview,
  type FieldChange,
  type LastRejection,
  reviewRecord,
} from '../clients/read-review.ts';
import { registerClient } from '../clients/register-client.ts';
import { readRegistration } from '../clients/registration.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from '../clients/review-client.ts';
import type { Risk } from '../clients/risk-signals.ts';
import { done, type Report, shownOnce, table, time } from '../platform/cli/report.ts';
import { command, UsageError } from './command.ts';

const describe = (client: Client) =>
  table([
    ['Client', client.client_id],
    ['Name', client.name],
    ['Type', client.client_type],
    ['Status', client.status],
    ['Last reason', client.status_reason ?? '-'],
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

const policyText = ({ consent, refresh_retry_window }: Client) =>
  `Policy in force: ${consent === 'skip' ? 'people are not asked' : 'each person is asked once'} (consent ${consent}), refresh retry window ${refresh_retry_window} s.`;

/** After a decision about the policy: which one holds now, whether it was named or not. */
const policyReport = (client: Client): Report => ({
  json: reviewedRecord(client),
  text: `${describe(client)}\n\n${policyText(client)}`,
});

export const report = (client: Client): Report => ({ json: reviewedRecord(client), text: describe(client) });

/** What strangers have chosen is printed as JSON: no character of it reaches the terminal as a command. */
function reviewReport(review: ClientReview): Report {
  const { client, changes, risks, lastRejection } = review;
  const lines = [
    ...changes.flatMap(changeLines),
    ...risks.map(({ code, severity, detail }) => `  ${severity}  ${code}  ${detail.map(printed).join(', ')}`),
    ...(lastRejection ? rejectionLines(lastRejection) : []),
    ...(needsReview(client)
      ? ['', `Approve just this: signet clients approve ${client.client_id} --revision ${client.revision}`]
      : []),
  ];
  return {
    json: reviewRecord(review),
    text: [describe(client), ...(lines.length > 0 ? ['', ...lines] : [])].join('\n'),
  };
}

const changeLines = ({ field, before, after }: FieldChange) => [
  `  ${field}`,
  `    - ${printed(before)}`,
  `    + ${printed(after)}`,
];

const rejectionLines = ({ at, revision, reason, changes }: LastRejection) => [
  `  Revision ${revision} was rejected ${time(at)}: ${printed(reason)}`,
  ...(changes.length > 0 ? ['  Changed since:', ...changes.flatMap(changeLines)] : ['  Nothing has changed since.']),
];

const printed = (value: unknown) => JSON.stringify(value);

export const target = (client_id: string) => ({ client_id, caller: { actor: 'cli' } as const });

/** The operand of everything about one client. */
export const client = { client_id: { value: 'client_id' } } as const;
const reason = { value: 'text', help: 'shown to the owner and kept in the audit log', required: true } as const;
const revision = { value: 'n', whole: [1, Number.MAX_SAFE_INTEGER] } as const;

/** What they are is told by `clients show`. Nothing was weighed of what does not wait. */
function riskCount(risks: readonly Risk[] | undefined): string {
  if (risks === undefined) return '-';
  const warnings = risks.filter(({ severity }) => severity === 'warning').length;
  const notices = risks.length - warnings;
  const counted = [warnings > 0 && counting(warnings, 'warning'), notices > 0 && counting(notices, 'notice')];
  return counted.filter(Boolean).join(', ') || 'none';
}
const counting = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

const nothingFound = (query: string, status: string) =>
  `No client ${status === 'all' ? 'in any state' : `listed as ${status}`} has ${printed(query)} in its name, its owner's name or e-mail address, or as an id.`;

const statusOf = (one: Client) => one.status + (hasPendingChange(one) ? ', change waits' : '');

export const clientCommands = {
  'clients create': command({
    summary: 'Register a first-party client, which no account owns. Its secret is printed once.',
    options: {
      name: { value: 'name', help: 'what people read on the sign-in page', required: true },
      'redirect-uri': { value: 'uri', between: /\s+/, help: 'where answers may go', required: true },
      scope: { value: 'scope', between: /[\s,]+/, help: 'what it may ask for; openid profile email without it' },
      public: { help: 'it cannot keep a secret: a native app' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'what its tokens are signed with; EdDSA without it' },
      approve: { help: 'you have reviewed it: it may start sign-ins at once' },
    },
    async run(deps, given) {
      const registration = readRegistration({
        name: given.name,
        client_type: given.public ? 'public' : 'confidential',
        redirect_uris: given['redirect-uri'],
        allowed_scopes: given.scope,
        id_token_signed_response_alg: given.alg,
      });
      const firstParty = { owner_user_id: null, caller: { actor: 'cli' } } as const;
      const { client: made, client_secret } = await registerClient(deps, firstParty, registration);
      const { client_id, revision } = made;
      const created = given.approve ? await approveClient(deps, target(client_id), { revision }) : made;
      const secret = client_secret === null ? '' : `\n\n${shownOnce({ client_secret })}`;
      return { json: { ...reviewedRecord(created), client_secret }, text: describe(created) + secret };
    },
  }),
  'clients list': command({
    summary: 'Lists registered clients, oldest first; with --status waiting, what there is to review.',
    options: {
      status: { value: 'status', oneOf: listings, help: 'only these' },
      query: { value: 'text', help: "a part of the name, of the owner's name or e-mail address, or the id of either" },
      limit: { value: 'n', whole: [1, 500], help: 'how many at most; 50 without it' },
      after: { value: 'place', help: 'where the list before ended, as it said' },
    },
    async run(deps, { status = 'all', ...search }) {
      const { clients, next = null } = await findClients(deps, { listing: status, ...search });
      const records = await listedRecords(deps, clients);
      const rows = clients.map((one, place) => [
        one.client_id,
        statusOf(one),
        `r${one.revision}`,
        one.client_type,
        riskCount(records[place]?.risks),
        one.name,
      ]);
      const list = table([['CLIENT', 'STATUS', 'REVISION', 'TYPE', 'RISKS', 'NAME'], ...rows]);
      return {
        json: { clients: records, next },
        text:
          clients.length === 0 && search.query
            ? nothingFound(search.query, status)
            : next === null
              ? list
              : `${list}\n\nThere are more: --after ${next}`,
      };
    },
  }),
  'clients show': command({
    summary: 'Shows one client as it is registered, what would change, and what a reviewer should look at twice.',
    operands: client,
    run: async (deps, { client_id }) => reviewReport(await clientReview(deps, client_id)),
  }),
  'clients approve': command({
    summary: 'Lets a reviewed client start sign-ins, or puts its pending change into force.',
    operands: client,
    options: {
      revision: { ...revision, required: true, help: 'the revision that you have read, as `clients show` gave it' },
      consent: {
        oneOf: consentPolicies,
        help: 'whether each person is asked first; without it as before, skip for a new client',
      },
      scope: { value: 'scope', between: /[\s,]+/, help: 'only these of the scopes that it asks for' },
      'retry-window': {
        value: 'seconds',
        whole: [0, 60],
        help: 'how long a lost refresh may be asked for again; as before without it',
      },
    },
    async run(deps, { client_id, revision, consent, scope, ...given }) {
      const approval = {
        revision,
        consent,
        refresh_retry_window: given['retry-window'],
        allowed_scopes: scope,
      };
      return policyReport(await approveClient(deps, target(client_id), approval));
    },
  }),
  'clients policy': command({
    summary: 'Changes the policy of a client that has been approved: consent, and the refresh retry window.',
    operands: client,
    options: {
      consent: { oneOf: consentPolicies, help: 'whether each person is asked first; as before without it' },
      'retry-window': {
        value: 'seconds',
        whole: [0, 60],
        help: 'how long a lost refresh may be asked for again; as before without it',
      },
    },
    async run(deps, { client_id, consent, ...given }) {
      const refresh_retry_window = given['retry-window'];
      if (consent === undefined && refresh_retry_window === undefined) {
        throw new UsageError('Nothing to change: name --consent, --retry-window or both.');
      }
      return policyReport(await changePolicy(deps, target(client_id), { consent, refresh_retry_window }));
    },
  }),
  'clients reject': command({
    summary: 'Turns a waiting client or change down. Its owner may edit it, and then it waits again.',
    operands: client,
    options: { reason, revision: { ...revision, help: 'reject only if this is still the revision' } },
    run: async (deps, { client_id, reason, revision }) =>
      report(await rejectClient(deps, target(client_id), reason, revision)),
  }),
  'clients suspend': command({
    summary: 'Stops a client at once and everywhere: every grant is revoked, no sign-in, no token.',
    operands: client,
    options: { reason },
    run: async (deps, { client_id, reason }) => report(await suspendClient(deps, target(client_id), reason)),
  }),
  'clients reinstate': command({
    summary: 'Lets a suspended client start sign-ins again. Tokens from before stay dead.',
    operands: client,
    run: async (deps, { client_id }) => report(await reinstateClient(deps, target(client_id))),
  }),
  'clients delete': command({
    summary: 'Removes a client with its secrets, grants and consents. There is no way back.',
    operands: client,
    run: (deps, { client_id }) =>
      done(
        deleteClient(deps, target(client_id)),
        { deleted: client_id },
        `${client_id} is gone, and every token of it is dead.`,
      ),
  }),
};
