import type { Deps } from '../oauth/deps.ts';
import { type FieldProblem, invalidFields, notFound } from '../platform/errors.ts';
import { inEnglish } from '../platform/i18n/translate.ts';
import { type Static, Type } from '../platform/schema.ts';
import { isSeen } from '../platform/text.ts';
import { targetProblem } from '../webhooks/terms.ts';
import { signalUris } from './events.ts';
import { findStream, type StoredStream, type Stream } from './store.ts';

/** RFC 8935 and RFC 8936, as SSF 1.0 §6.1 names them. */
export const methodUrns = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;

export const signalsPath = '/v1/signals';
export const streamsPath = `${signalsPath}/streams`;

const Uri = Type.String({ maxLength: 255 });
export const StreamIdText = Type.String({ maxLength: 100, description: 'As in the answer that created it.' });

const received = {
  description: Type.Optional(Type.String({ maxLength: 200, description: 'For people: which stream it is.' })),
  events_requested: Type.Optional(
    Type.Array(Uri, {
      maxItems: 100,
      description: 'URIs of event types; unknown ones are ignored. Left out: all that are supported.',
    }),
  ),
  delivery: Type.Optional(
    Type.Object(
      {
        method: Type.Enum(Object.values(methodUrns), { description: 'RFC 8935 (push) or RFC 8936 (poll).' }),
        endpoint_url: Type.Optional(Type.String({ maxLength: 2000, description: 'Of push: where tokens are posted.' })),
        authorization_header: Type.Optional(
          Type.String({
            maxLength: 4096,
            description: 'Of push: the header `Authorization` that each request carries.',
          }),
        ),
      },
      { description: 'How tokens get to the receiver; left out: it polls.' },
    ),
  ),
};

/** What a receiver sends. Members that we supply may be there, and must be as they are. */
export const NewStream = Type.Object(received);
export const ChangedStream = Type.Object({ stream_id: StreamIdText, ...received });
export type WantedStream = Static<typeof NewStream>;

/** As its receiver reads it (SSF 1.0 §8.1.1). */
export const StreamRecord = Type.Object(
  {
    stream_id: Type.String({ description: 'ID of the stream.' }),
    iss: Type.String({ description: '`iss` of every token.' }),
    aud: Type.String({ description: '`aud` of every token: the ID of the service credential or client.' }),
    events_supported: Type.Array(Type.String(), { description: 'URIs of all event types that there are.' }),
    events_requested: Type.Array(Type.String(), { description: 'As the receiver asked for them.' }),
    events_delivered: Type.Array(Type.String(), { description: 'What is requested and supported.' }),
    delivery: Type.Object(
      {
        method: Type.Enum(Object.values(methodUrns), { description: 'Of RFC 8935 or RFC 8936.' }),
        endpoint_url: Type.String({ description: 'Of the receiver, if it is pushed to; else of this server.' }),
      },
      { description: 'Where tokens are posted, or where the receiver polls.' },
    ),
    description: Type.Optional(Type.String({ description: 'As the receiver gave it.' })),
  },
  { additionalProperties: true },
);

type RecordDeps = Pick<Deps, 'config'>;

export const pollUrl = ({ config }: RecordDeps, { stream_id }: Pick<Stream, 'stream_id'>): string =>
  `${config.baseUrl}${streamsPath}/${stream_id}/poll`;

export function streamRecord(deps: RecordDeps, stream: Stream): Static<typeof StreamRecord> {
  const { stream_id, credential_id, description, method, endpoint_url, events_requested } = stream;
  return {
    stream_id,
    iss: deps.config.baseUrl,
    aud: credential_id,
    events_supported: [...signalUris],
    events_requested: [...events_requested],
    events_delivered: deliveredTo(stream),
    delivery: { method: methodUrns[method], endpoint_url: endpoint_url ?? pollUrl(deps, stream) },
    ...(description !== null && { description }),
  };
}

/** The URIs of events that a stream gets. */
export const deliveredTo = ({ events_requested }: Pick<Stream, 'events_requested'>): string[] =>
  signalUris.filter((uri) => events_requested.includes(uri));

/** @throws {RequestError} `not_found`, also for a stream of another receiver. */
export async function requireStreamOf(
  { db }: Pick<Deps, 'db'>,
  receiver_id: string,
  stream_id: string,
): Promise<StoredStream> {
  const stream = await findStream(db, stream_id);
  if (stream?.credential_id !== receiver_id) throw notFound();
  return stream;
}

/** @throws {RequestError} `not_found`. */
export async function requireStream({ db }: Pick<Deps, 'db'>, stream_id: string): Promise<StoredStream> {
  const stream = await findStream(db, stream_id);
  if (!stream) throw notFound();
  return stream;
}

export type Terms = Pick<Stream, 'description' | 'events_requested' | 'method' | 'endpoint_url'> & {
  /** Undefined: as it was. */
  authorization: string | null | undefined;
};

/**
 * The terms of a stream that a receiver asks for. What is left out has the value of a new stream.
 * @throws {RequestError} `invalid_request` with a problem for each member.
 */
export function readStream(deps: RecordDeps, wanted: WantedStream): Terms {
  const problems: FieldProblem[] = [];
  const add = (path: string, message: string) => problems.push({ path, message });
  const { description = '', events_requested = signalUris, delivery = { method: methodUrns.poll } } = wanted;
  if (description !== '' && !isSeen(description)) add('description', 'Has characters that are not seen.');
  const method = (['push', 'poll'] as const).find((one) => methodUrns[one] === delivery.method);
  if (method === undefined) add('delivery/method', `Must be ${methodUrns.push} or ${methodUrns.poll}.`);
  const isPush = method === 'push';
  if (isPush) {
    const problem = targetProblem(deps, delivery.endpoint_url ?? '');
    if (problem) add('delivery/endpoint_url', inEnglish({ key: problem }));
    const { authorization_header } = delivery;
    if (authorization_header !== undefined && !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(authorization_header))
      add('delivery/authorization_header', 'Must be printable ASCII, without a space at its ends.');
  }
  if (problems.length > 0) throw invalidFields(problems);
  return {
    description: description === '' ? null : description,
    events_requested: [...new Set(events_requested)],
    method: isPush ? 'push' : 'poll',
    endpoint_url: isPush ? delivery.endpoint_url! : null,
    authorization: isPush ? delivery.authorization_header : null,
  };
}
