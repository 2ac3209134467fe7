import { now } from '../platform/clock.ts';
import { workIn } from '../platform/db/parts.ts';
import { notFound, rateLimited } from '../platform/errors.ts';
import { type Static, Type } from '../platform/schema.ts';
import type { Receiver } from './manage-stream.ts';
import { type SignDeps, signSignal } from './sign-signal.ts';
import { acknowledge, refuseSignal, type StoredStream, waitingSignals } from './store.ts';
import { requireStreamOf } from './stream.ts';

/** Tokens in one answer. */
const maxEvents = 100;
/** Tokens that one request may acknowledge or refuse. */
const maxEnded = 500;
/**
 * Threads that sign also flush the store. So of one stream so many polls, each with so many tokens, are signed at the same time in a process:
 * others are not held up by a receiver that asks as often as it can.
 */
export const polling = { polls: 2, tokens: 4 } as const;

const Jti = Type.String({ maxLength: 100 });

/** RFC 8936 §2.2. */
export const PollBody = Type.Object({
  maxEvents: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `At most so many tokens; 0: none, only acknowledge. Never more than ${maxEvents}.`,
    }),
  ),
  returnImmediately: Type.Optional(
    Type.Boolean({ description: 'Without effect: the answer always comes at once, with what there is.' }),
  ),
  ack: Type.Optional(
    Type.Array(Jti, {
      maxItems: maxEnded,
      description: 'The `jti` of tokens that were received. They do not come again.',
    }),
  ),
  setErrs: Type.Optional(
    Type.Record(Type.String(), Type.Object({ err: Type.String(), description: Type.Optional(Type.String()) }), {
      maxProperties: maxEnded,
      description: 'By `jti`: tokens that the receiver cannot use, and why. They do not come again.',
    }),
  ),
});

/** RFC 8936 §2.3. */
export const PollAnswer = Type.Object({
  sets: Type.Record(Type.String(), Type.String(), {
    description: 'Tokens by their `jti`. Each comes again until it is acknowledged.',
  }),
  moreAvailable: Type.Optional(Type.Boolean({ description: 'More are waiting.' })),
});

/**
 * Ends what the receiver has taken or refused, and gives it what waits, oldest first. It asks again after a pause of its own: no
 * request waits for an event.
 * @throws {RequestError} `not_found` for a stream that is not the receiver's, or is pushed; `rate_limited` while others of it are under way.
 */
export async function pollStream(
  deps: SignDeps,
  by: Receiver,
  stream_id: string,
  body: Static<typeof PollBody>,
): Promise<Static<typeof PollAnswer>> {
  const stream = await requireStreamOf(deps, by.id, stream_id);
  if (stream.method !== 'poll') throw notFound();
  const others = underWay.get(stream.stream_id) ?? 0;
  if (others >= polling.polls) throw rateLimited(1);
  underWay.set(stream.stream_id, others + 1);
  try {
    return await answerPoll(deps, stream, body);
  } finally {
    const left = underWay.get(stream.stream_id)! - 1;
    if (left > 0) underWay.set(stream.stream_id, left);
    else underWay.delete(stream.stream_id);
  }
}

/** Polls of a stream in this process. */
const underWay = new Map<string, number>();

async function answerPoll(
  deps: SignDeps,
  stream: StoredStream,
  { maxEvents: wanted = maxEvents, ack = [], setErrs = {} }: Static<typeof PollBody>,
): Promise<Static<typeof PollAnswer>> {
  const at = now(deps);
  const ended = [
    ...ack.map((jti) => acknowledge(stream.stream_id, jti, at)),
    ...Object.entries(setErrs).map(([jti, { err, description = '' }]) =>
      refuseSignal(
        stream.stream_id,
        jti,
        `The receiver refused it: ${`${err} ${description}`.trim().slice(0, 500)}`,
        at,
      ),
    ),
  ];
  // A jti does not say in which part of the store it is.
  if (ended.length > 0) await workIn(deps.db.parts, (part) => part.change({ run: { ended } }));
  const limit = Math.min(wanted, maxEvents);
  const waiting =
    limit === 0 ? [] : await waitingSignals(deps.db, stream.stream_id, stream.status === 'enabled', limit + 1);
  const sets: [string, string][] = [];
  for (let at = 0; at < Math.min(waiting.length, limit); at += polling.tokens) {
    const some = waiting.slice(at, Math.min(at + polling.tokens, limit));
    const signed = some.map(
      async (one): Promise<[string, string]> => [one.delivery_id, await signSignal(deps, one, stream)],
    );
    sets.push(...(await Promise.all(signed)));
  }
  return { sets: Object.fromEntries(sets), ...(waiting.length > limit && { moreAvailable: true }) };
}
