import { reviewedRecord } from '../../clients/client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { addSecret, listSecrets, retireSecret } from '../../clients/manage-secrets.ts';
import { registerClient } from '../../clients/register-client.ts';
import { EditBody, readClientEdit, readRegistration, registrationBody } from '../../clients/registration.ts';
import { OverlapSeconds, SecretBody, SecretRecord } from '../../developer/api/operations.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { list, shownOnce, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, anyClient } from '../operation-parts.ts';
import { changed, one, ReviewedRecord } from './operation-parts.ts';

const onlyOwnerless = 'For clients without an owner only.';
const ownerless = <Target extends { client_id: string }>(target: Target) => ({ ...target, owner_user_id: null });

/** What administrators do in place of an owner. */
export const ownerlessOperations = {
  register: operation({
    ...administration('clients:write'),
    id: 'registerFirstPartyClient',
    method: 'POST',
    path: '/v1/admin/clients',
    summary: 'Register a first-party client, which has no owner',
    description:
      'The client stays in `pending_review` until another administrator approves it, or the same one if the service is configured to allow that.',
    ...registrationBody,
    answer: {
      description: '`client_secret` is returned only once; null for a public client.',
      schema: Type.Object({ ...ReviewedRecord.properties, client_secret: nullable(Type.String()) }),
    },
    async run(deps, { caller, body }) {
      const of = { owner_user_id: null, caller };
      const { client, client_secret } = await registerClient(deps, of, readRegistration(body));
      return { ...reviewedRecord(client), client_secret };
    },
  }),

  edit: operation({
    ...one('clients:write'),
    id: 'editClient',
    method: 'PATCH',
    path: '/v1/admin/clients/:client_id',
    summary: 'Edit a client without an owner',
    description: 'As for clients with an owner, the change must be approved.',
    body: EditBody,
    parsesBody: true,
    example: { revision: 1, name: 'Example shop' },
    answer: changed,
    refusals: ['not_found', 'stale_revision', 'access_denied'],
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await editClient(deps, ownerless({ client_id, caller }), readClientEdit(body))),
  }),

  listSecrets: operation({
    ...one('clients:read'),
    id: 'listClientSecrets',
    method: 'GET',
    path: '/v1/admin/clients/:client_id/secrets',
    summary: 'List the active secrets of a client without an owner',
    answer: {
      description: 'When the secrets were created and used and when they end, without the secrets themselves.',
      schema: Type.Object({ secrets: Type.Array(SecretRecord) }),
    },
    refusals: ['not_found', 'access_denied'],
    run: async (deps, { client_id }) => ({ secrets: await listSecrets(deps, client_id, null) }),
    command: {
      name: 'clients secrets list',
      summary: 'List the active secrets of a first-party client.',
      text: ({ secrets }) =>
        list([
          ['SECRET', 'CREATED', 'EXPIRES', 'LAST USED', 'ENDS IN', 'NAME'],
          ...secrets.map((each) => [
            each.secret_id,
            time(each.created_at),
            time(each.expires_at),
            time(each.last_used_at),
            each.last_four,
            each.name,
          ]),
        ]),
    },
  }),

  addSecret: operation({
    ...one('clients:write'),
    id: 'addClientSecret',
    method: 'POST',
    path: '/v1/admin/clients/:client_id/secrets',
    summary: 'Add a secret to a client without an owner',
    description: `${onlyOwnerless} The previous secret works until it is retired; up to two can be active.`,
    body: SecretBody,
    bodyIsOptional: true,
    example: { name: 'Production' },
    answer: {
      description: '`client_secret` is returned only once.',
      schema: Type.Object({ ...SecretRecord.properties, client_secret: Type.String() }),
    },
    refusals: ['not_found', 'invalid_state', 'access_denied'],
    async run(deps, { caller, client_id, body }) {
      const { secret, client_secret } = await addSecret(deps, ownerless({ client_id, caller, ...body }));
      return { ...secret, client_secret };
    },
    command: {
      name: 'clients secrets add',
      summary:
        'Add a secret to a first-party client. Prints the secret, which cannot be shown again; earlier ones keep working.',
      text: ({ secret_id, client_secret }) => shownOnce({ secret_id, client_secret }),
    },
  }),

  retireSecret: operation({
    ...one('clients:write'),
    id: 'retireClientSecret',
    method: 'DELETE',
    path: '/v1/admin/clients/:client_id/secrets/:secret_id',
    summary: 'Retire a secret of a client without an owner',
    description: `${onlyOwnerless} The last secret without an end date cannot be retired.`,
    parameters: { ...anyClient, secret_id: 'From the list.' },
    query: { overlap_seconds: OverlapSeconds },
    answer: { description: 'The secret after the change.', schema: SecretRecord },
    refusals: ['not_found', 'invalid_state', 'invalid_request', 'access_denied'],
    run: (deps, { caller, client_id, secret_id, query: { overlap_seconds: overlapSeconds } }) =>
      retireSecret(deps, ownerless({ client_id, secret_id, caller, overlapSeconds })),
    command: {
      name: 'clients secrets retire',
      confirm: 'The secret stops working. It cannot be restored.',
      summary: 'Retire a secret of a first-party client.',
      options: { overlap: 'overlap_seconds' },
      text: ({ secret_id, expires_at }) => `${secret_id} works until ${time(expires_at)}.`,
    },
  }),
};
