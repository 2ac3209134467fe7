import type { DeliveryKind } from '../deliveries/kind.ts';
import { type Answer, type Attempt, openPoster, unexpectedStatus } from '../deliveries/poster.ts';
import { isResent } from '../deliveries/queue.ts';
import { type DeliverySender, openDeliverySender } from '../deliveries/sender.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { tables } from '../platform/db/tables.ts';
import { signSignal } from './sign-signal.ts';
import { type Stopped, stopStream } from './stop-stream.ts';
import {
  claimSignal,
  type DueSignal,
  dueSignals,
  dueStreams,
  fullStreams,
  hasOnlyFailed,
  pauseStream,
  signalDeliveries,
} from './store.ts';
import { pauseReasons } from './stream-status.ts';

type SendDeps = Pick<Deps, 'db' | 'clients' | 'clock' | 'config' | 'keys' | 'log' | 'outbound' | 'tracer' | 'vault'>;

export const signalKind: DeliveryKind<SendDeps, 'deliver signals'> = {
  kind: 'signal',
  job: 'deliver signals',
  queue: signalDeliveries,
  open: openSignalSender,
};

/** Posts security event tokens to the receivers of streams (RFC 8935). */
function openSignalSender(deps: SendDeps): DeliverySender {
  const post = openPoster(deps, 'signal', { readsBody: true });
  return openDeliverySender<DueSignal>(deps, {
    kind: 'signal',
    targets: dueStreams,
    due: (part, stream_id, ...page) => dueSignals(part, stream_id, ...page),
    claim: claimSignal,
    post: (signal) => postSignal(deps, post, signal),
    delivered: (part, { delivery_id }, at) => signalDeliveries.markDelivered(part, delivery_id, at),
    failed: (part, signal, problem, nextAttemptAt, answer) =>
      signalDeliveries.markFailed(part, signal, withWords(problem, answer), nextAttemptAt),
    giveUp: (part, signal, problem, answer) => giveUp(deps, part, signal, withWords(problem, answer)),
  });
}

/** A receiver says in the body what it could not use (RFC 8935 §2.3). */
const withWords = (problem: string, { body }: Answer): string =>
  body === null || body === '' ? problem : `${problem} ${body.slice(0, 500)}`;

/** It was taken when the answer is a 2xx: 202 as RFC 8935 §2.2 has it, and what frameworks make of it. */
async function postSignal(deps: SendDeps, post: ReturnType<typeof openPoster>, signal: DueSignal): Promise<Attempt> {
  const authorization = authorizationOf(deps, signal);
  if (authorization === undefined) {
    const message = 'Its authorization header cannot be decrypted: let the receiver set it again.';
    return { problem: { message, isSilent: true }, answer: { status: null, body: null, milliseconds: 0 } };
  }
  const headers = {
    'content-type': 'application/secevent+jwt',
    accept: 'application/json',
    'user-agent': 'Signet-Signals/1',
    ...(authorization !== null && { authorization }),
  };
  const body = await signSignal(deps, signal, signal);
  return post({ url: signal.endpoint_url!, headers, body }, (status) =>
    status >= 200 && status < 300 ? undefined : unexpectedStatus(status),
  );
}

function authorizationOf(deps: SendDeps, { stream_id, authorization_sealed }: DueSignal): string | null | undefined {
  if (authorization_sealed === null) return null;
  try {
    return deps.vault.open(tables.signal_streams.sealed.authorization_sealed(stream_id), authorization_sealed);
  } catch (error) {
    deps.log.error({ err: error, stream_id }, 'the authorization header of a signal stream cannot be decrypted');
    return undefined;
  }
}

/** Marks the signal dead. A stream for which none has succeeded since it was queued, days ago, is paused. */
async function giveUp(deps: SendDeps, part: Part, signal: DueSignal, problem: string): Promise<void> {
  const { stream_id, delivery_id, created_at } = signal;
  await part.run(signalDeliveries.markDead(delivery_id, problem, now(deps)));
  deps.log.warn({ stream_id, delivery_id, problem }, 'a signal was not accepted; an administrator can resend it');
  if (isResent(signal)) return;
  const areFailing = await Promise.all(deps.db.parts.map((one) => one.holds(hasOnlyFailed(stream_id, created_at))));
  if (areFailing.every((isFailing) => isFailing)) {
    await pause(deps, { stream_id, status: 'enabled' }, pauseReasons.failing);
  }
}

type PauseDeps = Pick<Deps, 'db' | 'clock' | 'log'>;

/** Changes nothing if the stream has another status by now, or is paused for this reason. */
async function pause(deps: PauseDeps, stream: Stopped, reason: string): Promise<void> {
  const isPaused = await stopStream(deps, stream, { status: 'paused', reason }, pauseStream(stream, reason));
  if (isPaused) deps.log.error({ stream_id: stream.stream_id, reason }, 'a signal stream was paused');
}

/** Pauses streams whose queue is full, so that their receivers learn that they miss something, also those who had paused them. */
export async function pauseFullStreams(deps: PauseDeps): Promise<void> {
  for (const stream of await fullStreams(deps.db, pauseReasons.full)) await pause(deps, stream, pauseReasons.full);
}
