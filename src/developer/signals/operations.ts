import type { Client } from '../../clients/client.ts';
import { findOwnClient } from '../../clients/find-clients.ts';
import { deliveryMembers, deliveryQuery } from '../../deliveries/operation-parts.ts';
import type { Deps } from '../../oauth/deps.ts';
import { invalidState } from '../../platform/errors.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { countOwnerAct } from '../../signals/manage-stream.ts';
import { streamStatuses } from '../../signals/statements.ts';
import {
  findSignals,
  removeStream,
  requireStreamOfClient,
  resendSignal,
  setStreamStatus,
  verifyStream,
  watchedStream,
} from '../../signals/watch-stream.ts';
import { clientOwner, type Owner } from '../owner.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });

/** For owners and for administrators. */
export const streamMembers = {
  stream_id: Type.String({ description: 'ID of the stream.' }),
  credential_id: Type.String({ description: 'The service credential or client of the receiver: `aud` of its tokens.' }),
  client_id: nullable(
    Type.String({ description: 'The client about whose users alone it is. Null: a service credential, all users.' }),
  ),
  receiver: Type.String({ description: 'Name of the service credential or client.' }),
  credential_active: Type.Boolean({
    description:
      'False: it is retired, has expired or has lost the permission `signals:manage`, or is a client that is not approved, and nothing is sent.',
  }),
  description: nullable(Type.String()),
  method: Type.Enum(['push', 'poll'], { description: 'How tokens get to the receiver.' }),
  endpoint_url: nullable(Type.String({ description: 'Null of a stream that is polled.' })),
  events: Type.Array(Type.String(), { description: 'The URIs of what is sent.' }),
  status: Type.Enum([...streamStatuses]),
  reason: nullable(Type.String({ description: 'Why it has this status.' })),
  created_at: Time,
  waiting: Count('Tokens that wait; at most 501 are counted in each part of the store.'),
  delivered: Count('Tokens that were accepted in the last week, counted alike.'),
  dead: Count('Tokens that were given up or refused in the last 30 days, counted alike.'),
  last_delivered_at: nullable(Time),
};

/** For owners and for administrators. */
export const signalMembers = {
  ...deliveryMembers,
  txn: Type.String({ description: 'Of the token: the same of all tokens about one event.' }),
  event_type: Type.String({ description: 'URI of the event.' }),
  user_id: nullable(Type.String({ description: 'Null: it is about the stream itself.' })),
};

/** For owners and for administrators. */
export const signalList = {
  query: deliveryQuery,
  answer: {
    description: 'Newest first. `delivery_id` is the `jti`.',
    schema: Type.Object({
      deliveries: Type.Array(Type.Object(signalMembers)),
      next: nullable(Type.String()),
    }),
  },
  refusals: ['not_found', 'invalid_request'],
} as const;

const path = '/v1/oauth/clients/:client_id/signal-stream' as const;
const shared = {
  tag: 'Clients',
  access: clientOwner,
  parameters: { client_id: 'As issued at registration.' },
} as const;
const change = { ...shared, method: 'POST' } as const;
const refusals = ['not_found', 'invalid_state', 'rate_limited'] as const;
const onlyId = (description: string) => ({
  description,
  schema: Type.Object({ stream_id: Type.String({ description: 'ID of the stream.' }) }),
});

type Of = { owner: Owner; client_id: string };

/** @throws {RequestError} `not_found` without a stream, and for another user's client as for one that does not exist. */
async function ownStream(deps: Deps, { owner, client_id }: Of): Promise<{ client: Client; stream_id: string }> {
  const client = await findOwnClient(deps, client_id, owner.owner_user_id);
  const { stream_id } = await requireStreamOfClient(deps, client_id);
  return { client, stream_id };
}

/**
 * For what sends something, or is a row of the audit log for good.
 * @throws {RequestError} as {@link ownStream}; `invalid_state` of a client that is not approved; `rate_limited`.
 */
async function changedStream(deps: Deps, of: Of): Promise<string> {
  const { client, stream_id } = await ownStream(deps, of);
  if (client.status !== 'approved') throw invalidState(client.status);
  await countOwnerAct(deps, of.owner.owner_user_id);
  return stream_id;
}

const ownerPauses = 'Paused by the owner of the app.';

/** What the owner of a client does with its stream of security events, which the client makes and changes by itself. */
export const ownSignals = {
  get: operation({
    ...shared,
    id: 'getOwnSignalStream',
    method: 'GET',
    path,
    summary: 'Read the event stream of a client',
    description: 'The stream of security events that the client has made. 404 if it has none.',
    answer: { description: 'The stream.', schema: Type.Object(streamMembers) },
    refusals: ['not_found'],
    run: async (deps: Deps, of) => watchedStream(deps, (await ownStream(deps, of)).stream_id),
  }),
  deliveries: operation({
    ...shared,
    ...signalList,
    id: 'listOwnSignals',
    method: 'GET',
    path: `${path}/deliveries`,
    summary: 'List the tokens of the event stream of a client',
    description: 'Newest first, with how often each was tried and the last answer.',
    async run(deps: Deps, { query, ...of }) {
      const { deliveries, next } = await findSignals(deps, (await ownStream(deps, of)).stream_id, query);
      return { deliveries: deliveries.map(({ event_id: _, ...one }) => one), next };
    },
  }),
  pause: operation({
    ...change,
    id: 'pauseOwnSignalStream',
    path: `${path}/pause`,
    summary: 'Pause the event stream of a client',
    description:
      'Its tokens are held, up to 10000, until it is enabled. The client is told, and may enable it by itself.',
    answer: onlyId('Paused.'),
    refusals,
    run: async (deps: Deps, of) =>
      setStreamStatus(deps, of.owner.caller, await changedStream(deps, of), 'paused', ownerPauses),
  }),
  enable: operation({
    ...change,
    id: 'enableOwnSignalStream',
    path: `${path}/enable`,
    summary: 'Enable the event stream of a client',
    description: 'What was held is sent. The client is told.',
    answer: onlyId('Enabled.'),
    refusals,
    run: async (deps: Deps, of) => setStreamStatus(deps, of.owner.caller, await changedStream(deps, of), 'enabled'),
  }),
  verify: operation({
    ...change,
    id: 'sendOwnSignalVerification',
    path: `${path}/send-verification`,
    summary: 'Send a verification event to a client',
    description: 'To see that its receiver takes tokens.',
    answer: onlyId('Queued.'),
    refusals,
    run: async (deps: Deps, of) => verifyStream(deps, await changedStream(deps, of)),
  }),
  resend: operation({
    ...change,
    id: 'resendOwnSignal',
    path: `${path}/deliveries/:delivery_id/replay`,
    summary: 'Send a token of a client now that was given up',
    description: 'It has the same `jti`. One that waits after a failure is tried at once.',
    parameters: { ...shared.parameters, delivery_id: 'As in the list.' },
    answer: { description: 'Accepted for delivery.', schema: Type.Object({ delivery_id: Type.String() }) },
    refusals,
    run: async (deps: Deps, { delivery_id, ...of }) =>
      resendSignal(deps, of.owner.caller, { stream_id: await changedStream(deps, of), delivery_id }),
  }),
  delete: operation({
    ...shared,
    id: 'removeOwnSignalStream',
    method: 'DELETE',
    path,
    summary: 'Delete the event stream of a client',
    description: 'With what waits in it. The client can make another one while it is approved.',
    answer: { description: 'Deleted.' },
    refusals: ['not_found', 'rate_limited'],
    async run(deps: Deps, of) {
      const { stream_id } = await ownStream(deps, of);
      await countOwnerAct(deps, of.owner.owner_user_id);
      await removeStream(deps, of.owner.caller, stream_id);
    },
  }),
};

export const ownSignalOperations = Object.values(ownSignals);
