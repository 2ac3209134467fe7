import { clientStatuses, clientTypes } from '../../clients/choices.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { membersOf } from '../../clients/fields.ts';
import { findOwnClient, listOwnClients } from '../../clients/find-clients.ts';
import { addSecret, listSecrets, overlaps, retireSecret } from '../../clients/manage-secrets.ts';
import { registerClient } from '../../clients/register-client.ts';
import {
  CheckBody,
  checkDraft,
  EditBody,
  readClientEdit,
  readRegistration,
  registrationBody,
} from '../../clients/registration.ts';
import { unknownScopes } from '../../clients/scopes.ts';
import type { Deps } from '../../oauth/deps.ts';
import { nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { chooseLocale, consoleLocales, translatePlain } from '../../platform/i18n/translate.ts';
import { Type } from '../../platform/schema.ts';
import { Activity, clientActivity } from '../activity/activity.ts';
import { alertsOfOwnClient, ClientAlert } from '../alerts/alerts.ts';
import { clientOwner, recentClientOwner } from '../owner.ts';

/** A client as its owner reads it (decisions §10). */
export const ClientRecord = Type.Object({
  client_id: Type.String(),
  client_type: Type.Enum([...clientTypes]),
  ...membersOf('record'),
  status: Type.Enum([...clientStatuses]),
  status_reason: nullable(Type.String({ description: "The reviewer's comment." })),
  note_to_reviewer: nullable(
    Type.String({ description: 'What its owner says about the revision that is pending review.' }),
  ),
  revision: Type.Integer({ minimum: 1 }),
  pending_change: nullable(
    Type.Object(
      {},
      { additionalProperties: true, description: 'Changes to an approved client that are pending review.' },
    ),
  ),
  created_at: Time,
  updated_at: Time,
});

export const SecretRecord = Type.Object({
  secret_id: Type.String(),
  created_at: Time,
  expires_at: nullable(Time),
  name: nullable(Type.String()),
  last_four: nullable(Type.String({ description: 'Its last four characters.' })),
  last_used_at: nullable(
    Type.Integer({ minimum: 0, description: 'Unix seconds, to the hour. Null if no use was recorded.' }),
  ),
});

export const SecretBody = Type.Object(
  { name: Type.Optional(Type.String({ description: 'What to call the secret.', ...nameInCode })) },
  { additionalProperties: false },
);

export const OverlapSeconds = Type.Integer({
  minimum: 0,
  maximum: overlaps.week,
  default: 0,
  description: 'Seconds for which the secret still works.',
});

const list = '/v1/oauth/clients';
const path = `${list}/:client_id` as const;
const shared = { tag: 'Clients', access: clientOwner } as const;
const one = { ...shared, path, parameters: { client_id: 'As issued at registration.' } } as const;

export const ownClientOperations = [
  operation({
    ...shared,
    id: 'listOwnClients',
    method: 'GET',
    path: list,
    summary: 'List your clients',
    description: 'With their status and a change that waits for review; never a secret.',
    answer: { description: 'Without their secrets.', schema: Type.Object({ clients: Type.Array(ClientRecord) }) },
    run: async (deps, { owner }) => ({ clients: await listOwnClients(deps, owner.owner_user_id) }),
  }),
  operation({
    ...shared,
    id: 'registerClient',
    method: 'POST',
    path: list,
    summary: 'Register a client',
    description: 'The client stays in `pending_review` until an administrator approves it.',
    ...registrationBody,
    answer: {
      description: '`client_secret` is returned only once; null for a public client.',
      schema: Type.Object({ client_id: Type.String(), client_secret: nullable(Type.String()) }),
    },
    refusals: ['rate_limited'],
    async run(deps, { owner, body }) {
      const { client, client_secret } = await registerClient(deps, owner, readRegistration(body));
      return { client_id: client.client_id, client_secret };
    },
  }),
  operation({
    ...shared,
    id: 'checkRegistration',
    method: 'POST',
    path: `${list}/check`,
    summary: 'Check a draft of a registration',
    description: 'Changes nothing. Missing members are not reported.',
    query: {
      ui_locales: Type.Optional(Type.String({ description: 'Language of the messages. Default: English.' })),
    },
    body: CheckBody,
    parsesBody: true,
    example: { redirect_uris: ['https://shop.example.com/callback'] },
    answer: {
      description: 'One entry for each problem; an empty list if the registration would be accepted.',
      schema: Type.Object({ fields: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })) }),
    },
    async run(deps, { body, query }) {
      const locale = chooseLocale(consoleLocales, query.ui_locales);
      return {
        fields: [...checkDraft(body), ...(await problemsOfScopes(deps, body))].map(
          ({ path, message, userMessage }) => ({
            path,
            message: userMessage ? translatePlain(locale, userMessage) : message,
          }),
        ),
      };
    },
  }),
  operation({
    ...one,
    id: 'readOwnClient',
    method: 'GET',
    summary: 'Read one of your clients',
    description: 'With its status and a change that waits for review; never a secret.',
    answer: { description: 'The client.', schema: ClientRecord },
    refusals: ['not_found'],
    run: (deps, { owner, client_id }) => findOwnClient(deps, client_id, owner.owner_user_id),
  }),
  operation({
    ...one,
    id: 'editOwnClient',
    method: 'PATCH',
    summary: 'Edit a client',
    description:
      'Changes to an approved client are kept in `pending_change`; the approved revision stays in effect until they are approved. ' +
      'Every edit of a rejected client submits it for review again, also one that changes nothing. `revision` stays as it was if nothing was changed.',
    body: EditBody,
    parsesBody: true,
    example: { revision: 1, name: 'Example shop' },
    answer: { description: 'The client after the change.', schema: ClientRecord },
    refusals: ['not_found', 'stale_revision', 'invalid_state', 'rate_limited'],
    async run(deps, { owner, client_id, body }) {
      await findOwnClient(deps, client_id, owner.owner_user_id); // refuses another user's client before the body
      return editClient(deps, { client_id, ...owner }, readClientEdit(body));
    },
  }),
  operation({
    ...one,
    access: recentClientOwner,
    id: 'deleteOwnClient',
    method: 'DELETE',
    summary: 'Delete a client and everything that was granted to it',
    description: 'A suspended client can be deleted by administrators only.',
    answer: { description: 'Deleted.' },
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { owner, client_id }) => deleteClient(deps, { client_id, ...owner }),
  }),
  operation({
    ...one,
    id: 'readClientActivity',
    method: 'GET',
    path: `${path}/activity`,
    summary: 'List recent sign-ins and failures of a client',
    description:
      'Each failure with its cause and what was sent, also those inside the app that are inferred from its requests.',
    answer: {
      description:
        'Newest first: the last 50 sign-ins, and the 10 most recent distinct failures of each kind. Users are identified by `sub`.',
      schema: Activity,
    },
    refusals: ['not_found'],
    run: async (deps, { owner, client_id }) =>
      clientActivity(deps, await findOwnClient(deps, client_id, owner.owner_user_id)),
  }),
  operation({
    ...one,
    id: 'listClientAlerts',
    method: 'GET',
    path: `${path}/alerts`,
    summary: 'List tokens of a client that came twice',
    description:
      'Both uses of each refresh token or code that was used again, and what was ended. Of a public client the addresses are those of networks, since it runs where its user is.',
    answer: {
      description: 'Newest first, of the last 90 days, 50 at most.',
      schema: Type.Object({ alerts: Type.Array(ClientAlert, { description: 'Users are identified by `sub`.' }) }),
    },
    refusals: ['not_found'],
    run: async (deps, { owner, client_id }) => ({
      alerts: await alertsOfOwnClient(deps, await findOwnClient(deps, client_id, owner.owner_user_id)),
    }),
  }),
  operation({
    ...one,
    id: 'listOwnClientSecrets',
    method: 'GET',
    path: `${path}/secrets`,
    summary: 'List the active secrets of a client',
    description:
      'When each was made and last used, and its last four characters; a secret itself is shown once, when it is added.',
    answer: {
      description: 'When the secrets were created and used and when they end, without the secrets themselves.',
      schema: Type.Object({ secrets: Type.Array(SecretRecord) }),
    },
    refusals: ['not_found'],
    run: async (deps, { owner, client_id }) => ({ secrets: await listSecrets(deps, client_id, owner.owner_user_id) }),
  }),
  operation({
    ...one,
    access: recentClientOwner,
    id: 'addOwnClientSecret',
    method: 'POST',
    path: `${path}/secrets`,
    summary: 'Add a secret to a client',
    description: 'The previous secret works until it is retired; up to two can be active.',
    body: SecretBody,
    bodyIsOptional: true,
    example: { name: 'Production' },
    answer: {
      description: '`client_secret` is returned only once.',
      schema: Type.Object({ ...SecretRecord.properties, client_secret: Type.String() }),
    },
    refusals: ['not_found', 'invalid_state'],
    async run(deps, { owner, client_id, body }) {
      const { secret, client_secret } = await addSecret(deps, { client_id, ...body, ...owner });
      return { ...secret, client_secret };
    },
  }),
  operation({
    ...one,
    access: recentClientOwner,
    id: 'retireOwnClientSecret',
    method: 'DELETE',
    path: `${path}/secrets/:secret_id`,
    summary: 'Retire a secret of a client',
    description: 'The last secret without an end date cannot be retired.',
    parameters: { ...one.parameters, secret_id: 'From the list.' },
    query: { overlap_seconds: OverlapSeconds },
    answer: { description: 'The secret after the change.', schema: SecretRecord },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    run: (deps, { owner, client_id, secret_id, query: { overlap_seconds: overlapSeconds } }) =>
      retireSecret(deps, { client_id, secret_id, overlapSeconds, ...owner }),
  }),
];

/** @param body of any shape: what is no list of texts, the check of the draft has reported. */
async function problemsOfScopes(deps: Pick<Deps, 'apis' | 'attributes'>, body: unknown) {
  const { allowed_scopes: wanted } = Object(body) as { allowed_scopes?: unknown };
  const isList =
    Array.isArray(wanted) && wanted.length <= maxDraftScopes && wanted.every((one) => typeof one === 'string');
  return isList ? unknownScopes(deps, wanted) : [];
}
const maxDraftScopes = 50;
