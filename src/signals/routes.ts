import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { addOperations, type OperationDescription, operation } from '../platform/http/operation.ts';
import { publicDocument } from '../platform/http/representations.ts';
import { Type } from '../platform/schema.ts';
import { countAct, createStream, deleteStream, replaceOwnStream, setStatus, updateOwnStream } from './manage-stream.ts';
import { transmitterMetadata } from './metadata.ts';
import { PollAnswer, PollBody, pollStream } from './poll.ts';
import { receiver } from './receiver.ts';
import { streamOf } from './store.ts';
import {
  ChangedStream,
  methodUrns,
  NewStream,
  requireStreamOf,
  StreamIdText,
  StreamRecord,
  signalsPath,
  streamRecord,
  streamsPath,
} from './stream.ts';
import { streamStatuses } from './stream-status.ts';
import { addSubject, removeSubject, SubjectBody } from './subjects.ts';
import { sendVerification } from './verify-stream.ts';

const ofReceiver = { tag: 'Signals', access: receiver } as const;
const streamExample = {
  delivery: { method: methodUrns.push, endpoint_url: 'https://receiver.example.com/events' },
  events_requested: ['https://schemas.openid.net/secevent/caep/event-type/session-revoked'],
  description: 'Sessions of the shop',
};
const changedExample = { stream_id: 'sst_0000000000000000000000', ...streamExample };

const Status = Type.Object({
  stream_id: Type.String({ description: 'ID of the stream.' }),
  status: Type.Enum([...streamStatuses], { description: 'Whether tokens are sent, held or dropped.' }),
  reason: Type.Optional(Type.String({ description: 'Why, as the one who set it said.' })),
});

const operations = [
  operation({
    ...ofReceiver,
    id: 'createSignalStream',
    method: 'POST',
    path: streamsPath,
    summary: 'Create the event stream of a receiver',
    description:
      'Shared Signals Framework 1.0 section 8.1.1.1. A service credential or client has one stream at most; that of a client is about its own users alone.',
    body: NewStream,
    example: streamExample,
    answer: { status: 201, description: 'The stream.', schema: StreamRecord },
    refusals: ['invalid_state'],
    run: async (deps, { by, body }) => streamRecord(deps, await createStream(deps, by, body)),
  }),
  operation({
    ...ofReceiver,
    id: 'readSignalStreams',
    method: 'GET',
    path: streamsPath,
    summary: 'Read the event stream of a receiver',
    description: 'With `stream_id` the stream; without it a list, which is empty if there is none.',
    query: { stream_id: Type.Optional(StreamIdText) },
    answer: {
      description: 'The stream, or the list.',
      schema: Type.Union([StreamRecord, Type.Array(StreamRecord)]),
    },
    refusals: ['not_found', 'invalid_request'],
    async run(deps, { by, query: { stream_id } }) {
      if (stream_id !== undefined) return streamRecord(deps, await requireStreamOf(deps, by.id, stream_id));
      const stream = await streamOf(deps.db, by.id);
      return stream ? [streamRecord(deps, stream)] : [];
    },
  }),
  operation({
    ...ofReceiver,
    id: 'updateSignalStream',
    method: 'PATCH',
    path: streamsPath,
    summary: 'Change members of an event stream',
    description:
      'Members that are left out stay as they are; `delivery` is replaced as a whole, and keeps its `authorization_header` while its URL stays.',
    body: ChangedStream,
    example: changedExample,
    answer: { description: 'The stream.', schema: StreamRecord },
    refusals: ['not_found'],
    run: async (deps, { by, body }) => streamRecord(deps, await updateOwnStream(deps, by, body)),
  }),
  operation({
    ...ofReceiver,
    id: 'replaceSignalStream',
    method: 'PUT',
    path: streamsPath,
    summary: 'Replace an event stream',
    description: 'Members that are left out are as in a new stream.',
    body: ChangedStream,
    example: changedExample,
    answer: { description: 'The stream.', schema: StreamRecord },
    refusals: ['not_found'],
    run: async (deps, { by, body }) => streamRecord(deps, await replaceOwnStream(deps, by, body)),
  }),
  operation({
    ...ofReceiver,
    id: 'deleteSignalStream',
    method: 'DELETE',
    path: streamsPath,
    summary: 'Delete an event stream, and what waits in it',
    description: 'Takes effect at once. The receiver may make another one.',
    query: { stream_id: StreamIdText },
    answer: { description: 'Deleted.' },
    refusals: ['not_found', 'invalid_request'],
    async run(deps, { by, query: { stream_id } }) {
      const stream = await requireStreamOf(deps, by.id, stream_id);
      await countAct(deps, by);
      return deleteStream(deps, by.caller, stream);
    },
  }),
  operation({
    ...ofReceiver,
    id: 'pollSignals',
    method: 'POST',
    path: `${streamsPath}/:stream_id/poll`,
    summary: 'Poll the security event tokens of a stream, and acknowledge them',
    description: 'RFC 8936. Only of a stream whose delivery method is poll.',
    parameters: { stream_id: 'As in the answer that created it.' },
    body: PollBody,
    bodyIsOptional: true,
    example: { maxEvents: 10, returnImmediately: true, ack: ['msg_0000000000000000000000.sst_0000000000000000000000'] },
    answer: { description: 'What waits, oldest first.', schema: PollAnswer },
    refusals: ['not_found', 'invalid_request'],
    run: (deps, { by, stream_id, body }) => pollStream(deps, by, stream_id, body),
  }),
  operation({
    ...ofReceiver,
    id: 'readSignalStreamStatus',
    method: 'GET',
    path: `${signalsPath}/status`,
    summary: 'Read the status of an event stream',
    description: 'A stream that the server has paused by itself says why.',
    query: { stream_id: StreamIdText },
    answer: { description: 'The status, and why if that is known.', schema: Status },
    refusals: ['not_found', 'invalid_request'],
    async run(deps, { by, query: { stream_id } }) {
      const { status, reason } = await requireStreamOf(deps, by.id, stream_id);
      return { stream_id, status, ...(reason !== null && { reason }) };
    },
  }),
  operation({
    ...ofReceiver,
    id: 'setSignalStreamStatus',
    method: 'POST',
    path: `${signalsPath}/status`,
    summary: 'Enable, pause or disable an event stream',
    description:
      'A paused stream holds up to 10000 tokens until it is enabled. A disabled one gets none, and loses those that wait.',
    body: Type.Object({
      stream_id: StreamIdText,
      status: Type.Enum([...streamStatuses], { description: 'Whether tokens are sent, held or dropped.' }),
      reason: Type.Optional(Type.String({ maxLength: 500, description: 'Why; whoever reads the status reads it.' })),
    }),
    example: { stream_id: 'sst_0000000000000000000000', status: 'paused', reason: 'Maintenance' },
    answer: { description: 'The status.', schema: Status },
    refusals: ['not_found'],
    async run(deps, { by, body: { stream_id, status, reason } }) {
      const stream = await requireStreamOf(deps, by.id, stream_id);
      await countAct(deps, by);
      await setStatus(deps, by.caller, stream, { status, reason: reason || null });
      return { stream_id, status, ...(reason && { reason }) };
    },
  }),
  operation({
    ...ofReceiver,
    id: 'verifySignalStream',
    method: 'POST',
    path: `${signalsPath}/verification`,
    summary: 'Ask for a verification event',
    description: 'It comes with the same `state`, within seconds if the stream is pushed.',
    body: Type.Object({
      stream_id: StreamIdText,
      state: Type.Optional(Type.String({ maxLength: 1000, description: 'Comes back in the event.' })),
    }),
    example: { stream_id: 'sst_0000000000000000000000', state: 'VGhpcyBpcyBhbiBleGFtcGxl' },
    answer: { description: 'Queued.' },
    refusals: ['not_found'],
    async run(deps, { by, body: { stream_id, state } }) {
      const stream = await requireStreamOf(deps, by.id, stream_id);
      await countAct(deps, by);
      return sendVerification(deps, stream, state);
    },
  }),
  operation({
    ...ofReceiver,
    id: 'addSignalSubject',
    method: 'POST',
    path: `${signalsPath}/subjects/add`,
    summary: 'Receive signals about a user again',
    description: 'A stream has all users, that of a client its own. This takes back that one was removed.',
    body: SubjectBody,
    example: {
      stream_id: 'sst_0000000000000000000000',
      subject: { format: 'iss_sub', iss: 'https://id.example.com', sub: 'usr_0000000000000000000000' },
    },
    answer: { status: 200, description: 'Added.' },
    refusals: ['not_found'],
    run: (deps, { by, body }) => addSubject(deps, by, body),
  }),
  operation({
    ...ofReceiver,
    id: 'removeSignalSubject',
    method: 'POST',
    path: `${signalsPath}/subjects/remove`,
    summary: 'Receive no more signals about a user',
    description: 'Tokens that wait already are still sent.',
    body: SubjectBody,
    example: {
      stream_id: 'sst_0000000000000000000000',
      subject: { format: 'iss_sub', iss: 'https://id.example.com', sub: 'usr_0000000000000000000000' },
    },
    answer: { description: 'Removed.' },
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { by, body }) => removeSubject(deps, by, body),
  }),
];

/** The Shared Signals Framework 1.0, for receivers. */
export async function signalRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  const metadata = transmitterMetadata(deps);
  const document = publicDocument(metadata);
  const described: OperationDescription = {
    id: 'readTransmitterMetadata',
    tag: 'Signals',
    summary: 'Read the configuration of the transmitter of security events',
    description: 'Shared Signals Framework 1.0 section 7.1.',
    answers: {
      200: {
        description: 'Where streams are made, and what they can be.',
        schema: Type.Object({}, { additionalProperties: true }),
        example: metadata,
      },
    },
  };
  app.serving.publish(app, '/.well-known/ssf-configuration', described, () => document);
  addOperations(app, deps, operations);
}
