import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { QueuedDelivery } from '../platform/db/delivery-queue.ts';
import { request as requestHttp } from '../platform/http/node-http.ts';
import { isIpAddress, subnetList } from '../platform/ip-address.ts';
import { hostResolver } from './resolve-host.ts';
import { forbiddenTarget, guardedLookup, InternalTarget, mayDeliver } from './target.ts';

/** How long a target may take for its answer. */
const deliveryTimeoutMs = 10_000;

/** Seconds until the next attempt, by attempts made: three days in all, then the delivery is dead until it is replayed. */
const retryAfterSeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];
/** No other node tries within the time that an attempt may take; one does if this node dies. */
const claimSeconds = deliveryTimeoutMs / 1000 + 20;
/** Concurrent deliveries to one target. */
const maxConcurrent = 5;
/** Responses of the class 1xx before the answer (RFC 9110 §15.2). A target that sends nothing else would stop the event loop. */
const maxInterim = 10;
/** This node leaves a target alone for this long after no answer at all. */
const backoffSeconds = 30;

/**
 * A failed delivery, in words for those who run the target.
 * `isSilent`: there was no answer, and another delivery would get none. `isFinal`: another attempt would fail alike.
 */
export type Problem = { message: string; isSilent: boolean; isFinal?: boolean };

export type DeliverySender = {
  /**
   * Posts what is due, to each target in a lane of its own, so that a slow or dead one delays no other. Any node may do so at
   * any time; one that dies after posting posts again. A lane that is still running is not started twice.
   * @returns when every lane that it started has ended. It waits for no other: a call each second would otherwise pile up
   * behind a target that keeps its lane busy for days.
   */
  deliver(): Promise<void>;
  /** Resolves when every delivery under way has ended. Call after the last {@link deliver}. */
  close(): Promise<void>;
};

/** Deliveries of one kind: who receives them, what is posted, and what is kept of it. */
export type Outgoing<Due extends QueuedDelivery> = {
  /** For the log. */
  kind: string;
  /** Those with a delivery that is due. */
  targets(now: number): Promise<readonly string[]>;
  /** The most overdue first. */
  due(target: string, now: number, limit: number): Promise<readonly Due[]>;
  claim(delivery: Due, claim: { now: number; until: number }): Promise<boolean>;
  /** @returns undefined if it was taken. */
  post(delivery: Due): Promise<Problem | undefined>;
  delivered(delivery: Due, now: number): Promise<unknown>;
  failed(delivery: Due, problem: string, nextAttemptAt: number): Promise<unknown>;
  /** No attempt follows. */
  giveUp(delivery: Due, problem: string): Promise<unknown>;
};

export function openDeliveryLanes<Due extends QueuedDelivery>(
  deps: Pick<Deps, 'clock' | 'log'>,
  outgoing: Outgoing<Due>,
): DeliverySender {
  const lanes = new Map<string, Promise<void>>();
  const restUntil = new Map<string, number>();
  const delivering = new Set<Promise<void>>();

  async function attempt(delivery: Due): Promise<'silent' | 'answered' | 'not ours'> {
    const claimed = await outgoing.claim(delivery, { now: now(deps), until: now(deps) + claimSeconds });
    if (!claimed) return 'not ours';
    const problem = await outgoing.post(delivery);
    const retryAfter = problem?.isFinal ? undefined : retryAfterSeconds[delivery.attempts];
    if (problem === undefined) await outgoing.delivered(delivery, now(deps));
    else if (retryAfter === undefined) await outgoing.giveUp(delivery, problem.message);
    else await outgoing.failed(delivery, problem.message, now(deps) + retryAfter);
    return problem?.isSilent ? 'silent' : 'answered';
  }

  /** A few at a time until nothing is due. @returns true if the target does not answer. */
  async function deliverTo(target: string): Promise<boolean> {
    for (;;) {
      const due = await outgoing.due(target, now(deps), maxConcurrent);
      const outcomes = await Promise.all(due.map(attempt));
      if (outcomes.includes('silent')) return true;
      if (outcomes.every((outcome) => outcome === 'not ours')) return false; // also when nothing was due
    }
  }

  async function deliver(): Promise<void> {
    for (const [target, until] of restUntil) if (until <= now(deps)) restUntil.delete(target);
    const started: Promise<void>[] = [];
    for (const target of await outgoing.targets(now(deps))) {
      if (lanes.has(target) || restUntil.has(target)) continue;
      const lane = deliverTo(target)
        .then((isSilent) => {
          if (isSilent) restUntil.set(target, now(deps) + backoffSeconds);
        })
        .catch((error: unknown) => deps.log.error({ err: error, target }, `${outgoing.kind} failed`))
        .finally(() => lanes.delete(target));
      lanes.set(target, lane);
      started.push(lane);
    }
    await Promise.all(started);
  }

  return {
    deliver() {
      const delivery = deliver().finally(() => delivering.delete(delivery));
      delivering.add(delivery);
      return delivery;
    },
    close: async () => void (await Promise.allSettled(delivering)),
  };
}

type Message = { url: string; headers: Readonly<Record<string, string>>; body: string };

/**
 * Posts to a target that users name, so it reaches no internal address that the operator does not allow.
 * @param judge what the status of the answer means.
 */
export function openPoster(deps: Pick<Deps, 'clock' | 'config'>) {
  const resolveHost = hostResolver(deps);

  /** @returns the status. Redirects are not followed, and of the body nothing is read. */
  async function send({ url: target, headers, body }: Message): Promise<number> {
    const url = new URL(target);
    const allowed = subnetList(deps.config.webhookInternal);
    if (isIpAddress(url.hostname) && !mayDeliver(url.protocol, url.hostname, allowed))
      throw forbiddenTarget(url.protocol);
    const lookup = guardedLookup(resolveHost, url.protocol, allowed);
    const request = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
    const sized = { ...headers, 'content-length': String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(deliveryTimeoutMs);
      const sent = request(url, { method: 'POST', headers: sized, signal, lookup, agent: false }, (answer) => {
        answer.resume();
        answer.destroy();
        resolve(answer.statusCode ?? 0);
      });
      sent.on('error', reject);
      let interim = 0;
      sent.on('information', () => {
        interim += 1;
        if (interim > maxInterim) sent.destroy(Object.assign(new Error(), { code: 'too many interim responses' }));
      });
      sent.on('upgrade', (answer, socket) => {
        socket.destroy();
        resolve(answer.statusCode ?? 0);
      });
      sent.on('close', () => reject(new Error('The connection was closed without a response.'))); // after all else
      sent.end(body);
    });
  }

  return async (message: Message, judge: (status: number) => Problem | undefined): Promise<Problem | undefined> => {
    try {
      return judge(await send(message));
    } catch (error) {
      if (error instanceof InternalTarget) return { message: error.message, isSilent: true };
      const { code = 'no response' } = error as NodeJS.ErrnoException;
      return { message: `The receiver could not be reached: ${code}.`, isSilent: true };
    }
  };
}

export const unexpectedStatus = (status: number): Problem => ({
  message: `The receiver responded with ${status}.`,
  isSilent: false,
});
