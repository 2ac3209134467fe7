import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { describeDeliveries } from '../../deliveries/operation-parts.ts';
import { signalList, signalMembers, streamMembers } from '../../developer/signals/operations.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import {
  findSignals,
  removeStream,
  resendSignal,
  setStreamStatus,
  verifyStream,
  watchedStream,
  watchedStreams,
} from '../../signals/watch-stream.ts';
import { administration } from '../operation-parts.ts';

const endpoint = '/v1/admin/signal-streams';
const anyStream = { stream_id: 'As in the list.' };
const oneStream = (permission: AdministrativePermission) => ({ ...administration(permission), parameters: anyStream });
const changeOfStream = {
  ...oneStream('webhooks:write'),
  method: 'POST',
  refusals: ['not_found', 'invalid_state'],
} as const;

const onlyId = (description: string) => ({
  description,
  schema: Type.Object({ stream_id: Type.String({ description: 'ID of the stream.' }) }),
});

/** Of the streams of receivers, who make them by themselves. */
export const signalOperations = {
  list: operation({
    ...administration('webhooks:read'),
    id: 'listSignalStreams',
    method: 'GET',
    path: endpoint,
    summary: 'List the event streams of all receivers',
    answer: {
      description: 'Oldest first.',
      schema: Type.Object({ streams: Type.Array(Type.Object(streamMembers), { description: 'All of them.' }) }),
    },
    run: async (deps) => ({ streams: await watchedStreams(deps) }),
    command: {
      name: 'signals list',
      text: ({ streams }) =>
        list([
          ['STREAM', 'RECEIVER', 'STATUS', 'METHOD', 'WAITING', 'FAILED', 'LAST DELIVERY'],
          ...streams.map((one) => [
            one.stream_id,
            one.receiver,
            one.status,
            one.method,
            one.waiting,
            one.dead,
            time(one.last_delivered_at),
          ]),
        ]),
    },
  }),

  get: operation({
    ...oneStream('webhooks:read'),
    id: 'getSignalStream',
    method: 'GET',
    path: `${endpoint}/:stream_id`,
    summary: 'Read the event stream of a receiver',
    answer: { description: 'The stream.', schema: Type.Object(streamMembers) },
    refusals: ['not_found'],
    run: (deps, { stream_id }) => watchedStream(deps, stream_id),
  }),

  deliveries: operation({
    ...oneStream('webhooks:read'),
    id: 'listSignals',
    method: 'GET',
    path: `${endpoint}/:stream_id/deliveries`,
    summary: 'List the tokens of an event stream',
    ...signalList,
    answer: {
      ...signalList.answer,
      schema: Type.Object({
        deliveries: Type.Array(
          Type.Object({ ...signalMembers, event_id: Type.String({ description: 'Of the audit log.' }) }),
        ),
        next: nullable(Type.String()),
      }),
    },
    run: (deps, { stream_id, query }) => findSignals(deps, stream_id, query),
    command: {
      name: 'signals deliveries',
      summary: 'List the tokens of an event stream, newest first.',
      text: (found) => describeDeliveries(found, 'EVENT', ({ event_type }) => event_type.split('/').at(-1) ?? ''),
    },
  }),

  pause: operation({
    ...changeOfStream,
    id: 'pauseSignalStream',
    path: `${endpoint}/:stream_id/pause`,
    summary: 'Pause an event stream',
    description: 'Its tokens are held, up to 10000, until it is enabled. Its receiver is told.',
    answer: onlyId('Paused.'),
    run: (deps, { caller, stream_id }) => setStreamStatus(deps, caller, stream_id, 'paused'),
    command: {
      name: 'signals pause',
      summary: 'Pause an event stream. Its tokens are held until it is enabled.',
      json: ({ stream_id }) => ({ paused: stream_id }),
      text: ({ stream_id }) => `${stream_id} is paused.`,
    },
  }),

  enable: operation({
    ...changeOfStream,
    id: 'enableSignalStream',
    path: `${endpoint}/:stream_id/enable`,
    summary: 'Enable an event stream',
    description: 'What was held is sent. Its receiver is told.',
    answer: onlyId('Enabled.'),
    run: (deps, { caller, stream_id }) => setStreamStatus(deps, caller, stream_id, 'enabled'),
    command: {
      name: 'signals enable',
      summary: 'Enable an event stream. Sends what was held.',
      json: ({ stream_id }) => ({ enabled: stream_id }),
      text: ({ stream_id }) => `${stream_id} is enabled.`,
    },
  }),

  verify: operation({
    ...changeOfStream,
    id: 'sendSignalVerification',
    path: `${endpoint}/:stream_id/send-verification`,
    summary: 'Send a verification event to a receiver',
    answer: onlyId('Queued.'),
    refusals: ['not_found', 'rate_limited'],
    run: (deps, { stream_id }) => verifyStream(deps, stream_id),
    command: {
      name: 'signals verify',
      summary: 'Send a verification event to a receiver. `signet signals deliveries` shows the result.',
      json: ({ stream_id }) => ({ verified: stream_id }),
      text: ({ stream_id }) =>
        `A verification event will be sent to ${stream_id} within seconds if the server is running.`,
    },
  }),

  resend: operation({
    ...changeOfStream,
    id: 'resendSignal',
    path: `${endpoint}/:stream_id/deliveries/:delivery_id/replay`,
    summary: 'Send a token now that was given up',
    description: 'It has the same `jti`. One that waits after a failure is tried at once.',
    parameters: { ...anyStream, delivery_id: 'As in the list.' },
    answer: { description: 'Accepted for delivery.', schema: Type.Object({ delivery_id: Type.String() }) },
    run: (deps, { caller, stream_id, delivery_id }) => resendSignal(deps, caller, { stream_id, delivery_id }),
    command: {
      name: 'signals replay',
      summary: 'Send a token now that was given up.',
      json: ({ delivery_id }) => ({ replayed: delivery_id }),
      text: ({ delivery_id }) => `${delivery_id} will be sent within seconds if the server is running.`,
    },
  }),

  delete: operation({
    ...oneStream('webhooks:write'),
    id: 'removeSignalStream',
    method: 'DELETE',
    path: `${endpoint}/:stream_id`,
    summary: 'Delete the event stream of a receiver',
    description: 'The receiver may make another one, unless its service credential is retired.',
    answer: { description: 'Deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, stream_id }) => removeStream(deps, caller, stream_id),
    command: {
      name: 'signals delete',
      confirm: 'This deletes the stream and what waits in it. It cannot be undone.',
      summary: 'Delete the event stream of a receiver, and what waits in it.',
      json: (_, { stream_id }) => ({ deleted: stream_id }),
      text: (_, { stream_id }) => `${stream_id} has been deleted.`,
    },
  }),
};
