import type { IncomingMessage } from 'node:http';
import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { QueuedDelivery } from '../platform/db/delivery-queue.ts';
import { deliveryAttempts, deliveryDelays } from '../platform/delivery-metrics.ts';
import { request as requestHttp } from '../platform/http/node-http.ts';
import { isIpAddress, subnetList } from '../platform/ip-address.ts';
import { type SendingSpan, serverOf } from '../platform/tracing.ts';
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
/** Targets that are delivered to at the same time; any number may wait for their turn. */
const maxLanes = 20;
/** Of these, targets that were slow or silent lately: the others always find a lane. */
const maxSlowLanes = 10;
const slowMs = 2000;
/** A target is taken for slow for so long after it was. */
const slowSeconds = 3600;
/** Targets that are read, and that wait, at most. */
const maxWaiting = 500;
/** Responses of the class 1xx before the answer (RFC 9110 §15.2). A target that sends nothing else would stop the event loop. */
const maxInterim = 10;
/** What is kept of an answer. */
const maxBodyBytes = 1024;
/** How long the body of an answer may take: a target that sends it byte by byte delays only itself, and not for long. */
const bodyTimeoutMs = 1000;
/** This node leaves a target alone for this long after no answer at all. */
const backoffSeconds = 30;

/**
 * A failed delivery, in words for those who run the target.
 * `isSilent`: there was no answer, and another delivery would get none. `isFinal`: another attempt would fail alike.
 */
export type Problem = { message: string; isSilent: boolean; isFinal?: boolean };

/** What a target has answered, and after how long. */
export type Answer = {
  /** Null: there was no answer. */
  status: number | null;
  /** The beginning of its body; null if that was not read, or is no text. */
  body: string | null;
  milliseconds: number;
};

/** Without a problem it was taken. */
export type Attempt = { problem?: Problem; answer: Answer };

export type DeliverySender = {
  /**
   * Posts what is due, a few deliveries to one target and then to the next whose turn it is. Lanes are kept for targets that
   * answer promptly, so that slow and silent ones, however many, delay only each other. Any node may do so at any time; one
   * that dies after posting posts again.
   * @returns when nothing is due any more to the targets that it found. It waits for no others: a call each second would
   * otherwise pile up behind a target that keeps its lane busy for days.
   */
  deliver(): Promise<void>;
  /** Begins no further delivery, and resolves when those under way have ended. Call after the last {@link deliver}. */
  close(): Promise<void>;
};

/** Deliveries of one kind: who receives them, what is posted, and what is kept of it. */
export type Outgoing<Due extends QueuedDelivery> = {
  /** For the log and the metrics. */
  kind: 'webhook' | 'logout';
  /** Those with a delivery that is due, in the order of their ids. */
  targets(now: number, after: string, limit: number): Promise<readonly string[]>;
  /** The most overdue first. */
  due(target: string, now: number, limit: number): Promise<readonly Due[]>;
  claim(delivery: Due, claim: { now: number; until: number }): Promise<boolean>;
  post(delivery: Due): Promise<Attempt>;
  delivered(delivery: Due, now: number, answer: Answer): Promise<unknown>;
  failed(delivery: Due, problem: string, nextAttemptAt: number, answer: Answer): Promise<unknown>;
  /** No attempt follows. */
  giveUp(delivery: Due, problem: string, answer: Answer): Promise<unknown>;
};

export function openDeliveryLanes<Due extends QueuedDelivery>(
  deps: Pick<Deps, 'clock' | 'log'>,
  outgoing: Outgoing<Due>,
): DeliverySender {
  /** Targets that wait for a turn, in order. */
  const waiting = new Set<string>();
  const running = new Set<string>();
  /** For each target that waits or has its turn. */
  const ended = new Map<string, PromiseWithResolvers<void>>();
  const restUntil = new Map<string, number>();
  const slowUntil = new Map<string, number>();
  const delivering = new Set<Promise<void>>();
  let lastRead = '';
  let isClosed = false;

  async function attempt(delivery: Due): Promise<'silent' | 'answered' | 'not ours'> {
    const claimed = await outgoing.claim(delivery, { now: now(deps), until: now(deps) + claimSeconds });
    if (!claimed) return 'not ours';
    const { next_attempt_at } = delivery;
    if (next_attempt_at !== null) deliveryDelays.observe(Math.max(0, now(deps) - next_attempt_at), outgoing.kind);
    const { problem, answer } = await outgoing.post(delivery);
    const retryAfter = problem?.isFinal ? undefined : retryAfterSeconds[delivery.attempts];
    const refused = retryAfter === undefined ? 'dead' : 'failed';
    deliveryAttempts.count(outgoing.kind, problem === undefined ? 'delivered' : refused);
    if (problem === undefined) await outgoing.delivered(delivery, now(deps), answer);
    else if (retryAfter === undefined) await outgoing.giveUp(delivery, problem.message, answer);
    else await outgoing.failed(delivery, problem.message, now(deps) + retryAfter, answer);
    return problem?.isSilent ? 'silent' : 'answered';
  }

  /** @returns whether more may be due. */
  async function takeTurn(target: string): Promise<boolean> {
    const startedAt = deps.clock();
    const due = await outgoing.due(target, now(deps), maxConcurrent);
    const outcomes = await Promise.all(due.map(attempt));
    const isSilent = outcomes.includes('silent');
    if (isSilent || deps.clock() - startedAt > slowMs) slowUntil.set(target, now(deps) + slowSeconds);
    else if (outcomes.includes('answered')) slowUntil.delete(target);
    if (isSilent) restUntil.set(target, now(deps) + backoffSeconds);
    return !isSilent && outcomes.includes('answered');
  }

  const end = (target: string) => {
    ended.get(target)?.resolve();
    ended.delete(target);
  };

  function startTurns(): void {
    const isSlow = (target: string) => slowUntil.has(target);
    let slow = [...running].filter(isSlow).length;
    for (const target of waiting) {
      if (running.size >= maxLanes) return;
      if (isSlow(target) && slow >= maxSlowLanes) continue;
      if (isSlow(target)) slow += 1;
      waiting.delete(target);
      running.add(target);
      void takeTurn(target)
        .catch((error: unknown) => {
          deps.log.error({ err: error, target }, `${outgoing.kind} deliveries failed`);
          return false;
        })
        .then((hasMore) => {
          running.delete(target);
          if (hasMore && !isClosed) waiting.add(target);
          else end(target);
          startTurns();
        });
    }
  }

  async function deliver(): Promise<void> {
    for (const untils of [restUntil, slowUntil]) {
      for (const [target, until] of untils) if (until <= now(deps)) untils.delete(target);
    }
    const room = maxWaiting - waiting.size;
    if (isClosed || room <= 0) return;
    const found = await outgoing.targets(now(deps), lastRead, room);
    lastRead = found.length < room ? '' : found.at(-1)!;
    const started: Promise<void>[] = [];
    for (const target of found) {
      if (isClosed || ended.has(target) || restUntil.has(target)) continue;
      const whenEnded = Promise.withResolvers<void>();
      ended.set(target, whenEnded);
      started.push(whenEnded.promise);
      waiting.add(target);
    }
    startTurns();
    await Promise.all(started);
  }

  return {
    deliver() {
      const delivery = deliver().finally(() => delivering.delete(delivery));
      delivering.add(delivery);
      return delivery;
    },
    async close() {
      isClosed = true;
      for (const target of waiting) end(target);
      waiting.clear();
      await Promise.allSettled(delivering);
    },
  };
}

type Message = {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Whose trace goes on with it. */
  request_id?: string | null;
};

/**
 * Posts to a target that users name, so it reaches no internal address that the operator does not allow.
 * @param options.readsBody keeps the beginning of an answer. Without it nothing of the body is read.
 */
export function openPoster(
  deps: Pick<Deps, 'clock' | 'config' | 'tracer'>,
  kind: Outgoing<never>['kind'],
  { readsBody = false } = {},
) {
  const resolveHost = hostResolver(deps);

  /** Redirects are not followed. */
  async function send({ url: target, headers, body }: Message, traceparent: string | undefined) {
    const url = new URL(target);
    const allowed = subnetList(deps.config.webhookInternal);
    if (isIpAddress(url.hostname) && !mayDeliver(url.protocol, url.hostname, allowed))
      throw forbiddenTarget(url.protocol);
    const lookup = guardedLookup(resolveHost, url.protocol, allowed);
    const request = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
    const sized = {
      ...headers,
      ...(traceparent && { traceparent }),
      'content-length': String(Buffer.byteLength(body)),
    };
    return new Promise<Omit<Answer, 'milliseconds'>>((resolve, reject) => {
      let isAnswered = false;
      const fail = (error: Error) => {
        if (!isAnswered) reject(error); // else the answer counts, whatever becomes of its body
      };
      const signal = AbortSignal.timeout(deliveryTimeoutMs);
      const sent = request(url, { method: 'POST', headers: sized, signal, lookup, agent: false }, (answer) => {
        isAnswered = true;
        const status = answer.statusCode ?? 0;
        if (readsBody) return void beginningOf(answer).then((text) => resolve({ status, body: text }));
        answer.resume();
        answer.destroy();
        resolve({ status, body: null });
      });
      sent.on('error', fail);
      let interim = 0;
      sent.on('information', () => {
        interim += 1;
        if (interim > maxInterim) sent.destroy(Object.assign(new Error(), { code: 'too many interim responses' }));
      });
      sent.on('upgrade', (answer, socket) => {
        socket.destroy();
        resolve({ status: answer.statusCode ?? 0, body: null });
      });
      sent.on('close', () => fail(new Error('The connection was closed without a response.'))); // after all else
      sent.end(body);
    });
  }

  /** @param judge what the status of the answer means. */
  async function post(
    message: Message,
    judge: (status: number) => Problem | undefined,
    { traceparent, note }: SendingSpan,
  ): Promise<Attempt> {
    const startedAt = deps.clock();
    const noAnswer = (text: string): Attempt => ({
      problem: { message: text, isSilent: true },
      answer: { status: null, body: null, milliseconds: deps.clock() - startedAt },
    });
    try {
      const { status, body } = await send(message, traceparent);
      const problem = judge(status ?? 0);
      note({ 'http.response.status_code': status ?? undefined }, problem && String(status));
      return { ...(problem && { problem }), answer: { status, body, milliseconds: deps.clock() - startedAt } };
    } catch (error) {
      if (error instanceof InternalTarget) {
        note({}, error.name);
        return noAnswer(error.message);
      }
      const { code = 'no response' } = error as NodeJS.ErrnoException;
      note({}, code);
      return noAnswer(`The receiver could not be reached: ${code}.`);
    }
  }

  return (message: Message, judge: (status: number) => Problem | undefined): Promise<Attempt> =>
    deps.tracer.send(
      `POST ${kind}`,
      { 'http.request.method': 'POST', ...serverOf(message.url) },
      message.request_id,
      (span) => post(message, judge, span),
    );
}

/** The first bytes of an answer, or as many as arrive in time; null if they are no text. */
function beginningOf(answer: IncomingMessage): Promise<string | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = () => {
      clearTimeout(timer);
      answer.destroy();
      resolve(textOf(Buffer.concat(chunks).subarray(0, maxBodyBytes)));
    };
    const timer = setTimeout(end, bodyTimeoutMs);
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBodyBytes) end();
    });
    answer.on('error', () => {}); // it closes next
    answer.on('close', end);
  });
}

function textOf(bytes: Buffer): string | null {
  try {
    // `stream`: the last character may be cut.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return /(?![\t\r\n])\p{Cc}/u.test(text) ? null : text;
  } catch {
    return null;
  }
}

export const unexpectedStatus = (status: number): Problem => ({
  message: `The receiver responded with ${status}.`,
  isSilent: false,
});
