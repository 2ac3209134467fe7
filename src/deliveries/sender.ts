import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import { deliveryAttempts, deliveryDelays } from '../platform/delivery-metrics.ts';
import { answerTimeoutMs } from '../platform/http/outbound/outbound.ts';
import type { Answer, Attempt } from './poster.ts';
import type { DeliveryKindName, QueuedDelivery } from './queue.ts';
import { retryAfterSeconds } from './schedule.ts';

/** No other node tries within the time that an attempt may take; one does if this node dies. */
const claimSeconds = answerTimeoutMs / 1000 + 20;
/** Concurrent deliveries to one target. */
const maxConcurrent = 5;
/** Targets that have their turn at the same time; any number may wait for theirs. */
const maxTurns = 20;
/** At most so many of these are of targets that were slow or silent lately: the others always find a turn. */
const maxSlowTurns = 10;
const slowMs = 2000;
/** A target is taken for slow for so long after it was. */
const slowSeconds = 3600;
/** Targets that are read, and that wait, at most. */
const maxWaiting = 500;
/** This node leaves a target alone for this long after no answer at all. */
const backoffSeconds = 30;

export type DeliverySender = {
  /**
   * Posts what is due, a few deliveries to one target and then to the next whose turn it is. Turns are kept for targets that
   * answer promptly, so that slow and silent ones, however many, delay only each other. Any node may do so at any time; one
   * that dies after posting posts again.
   * @returns when nothing is due any more to the targets that it found. It waits for no others: a call each second would
   * otherwise pile up behind a target whose turn takes days.
   */
  deliver(): Promise<void>;
  /** Begins no further delivery, and resolves when those under way have ended. Call after the last {@link deliver}. */
  close(): Promise<void>;
};

/** Deliveries of one kind: who receives them, what is posted, and what is kept of it. */
type Outgoing<Due extends QueuedDelivery> = {
  kind: DeliveryKindName;
  /** Those with a delivery that is due in a part of the store, in the order of their ids. */
  targets(part: Part, now: number, after: string, limit: number): Promise<readonly string[]>;
  /** The most overdue first. */
  due(part: Part, target: string, now: number, limit: number): Promise<readonly Due[]>;
  claim(part: Part, delivery: Due, claim: { now: number; until: number }): Promise<boolean>;
  post(delivery: Due): Promise<Attempt>;
  delivered(part: Part, delivery: Due, now: number, answer: Answer): Promise<unknown>;
  failed(part: Part, delivery: Due, problem: string, nextAttemptAt: number, answer: Answer): Promise<unknown>;
  /** No attempt follows. */
  giveUp(part: Part, delivery: Due, problem: string, answer: Answer): Promise<unknown>;
};

/** The deliveries to a target that are in one part of the store. */
type Turn = { readonly part: Part; readonly target: string };

export function openDeliverySender<Due extends QueuedDelivery>(
  deps: Pick<Deps, 'clock' | 'log'> & { db: Pick<Db, 'parts'> },
  outgoing: Outgoing<Due>,
): DeliverySender {
  /** In order. */
  const waiting = new Set<Turn>();
  /** Targets that have their turn: what is due to them in another part waits meanwhile. */
  const running = new Set<string>();
  /** By part, for each target that waits or has its turn. */
  const ended = new Map<Part, Map<string, PromiseWithResolvers<void>>>(deps.db.parts.map((part) => [part, new Map()]));
  const restUntil = new Map<string, number>();
  const slowUntil = new Map<string, number>();
  const delivering = new Set<Promise<void>>();
  const lastRead = new Map<Part, string>();
  let isClosed = false;

  async function attempt(part: Part, delivery: Due): Promise<'silent' | 'answered' | 'not ours'> {
    const claimed = await outgoing.claim(part, delivery, { now: now(deps), until: now(deps) + claimSeconds });
    if (!claimed) return 'not ours';
    const { next_attempt_at } = delivery;
    if (next_attempt_at !== null) deliveryDelays.observe(Math.max(0, now(deps) - next_attempt_at), outgoing.kind);
    const { problem, answer } = await outgoing.post(delivery);
    const retryAfter = problem?.isFinal ? undefined : retryAfterSeconds[delivery.attempts];
    const refused = retryAfter === undefined ? 'dead' : 'failed';
    deliveryAttempts.count(outgoing.kind, problem === undefined ? 'delivered' : refused);
    if (problem === undefined) await outgoing.delivered(part, delivery, now(deps), answer);
    else if (retryAfter === undefined) await outgoing.giveUp(part, delivery, problem.message, answer);
    else await outgoing.failed(part, delivery, problem.message, now(deps) + retryAfter, answer);
    return problem?.isSilent ? 'silent' : 'answered';
  }

  /** @returns whether more may be due. */
  async function takeTurn({ part, target }: Turn): Promise<boolean> {
    const startedAt = deps.clock();
    const due = await outgoing.due(part, target, now(deps), maxConcurrent);
    const outcomes = await Promise.all(due.map((delivery) => attempt(part, delivery)));
    const isSilent = outcomes.includes('silent');
    if (isSilent || deps.clock() - startedAt > slowMs) slowUntil.set(target, now(deps) + slowSeconds);
    else if (outcomes.includes('answered')) slowUntil.delete(target);
    if (isSilent) restUntil.set(target, now(deps) + backoffSeconds);
    return !isSilent && outcomes.includes('answered');
  }

  const end = ({ part, target }: Turn) => {
    ended.get(part)!.get(target)?.resolve();
    ended.get(part)!.delete(target);
  };

  function startTurns(): void {
    const isSlow = (target: string) => slowUntil.has(target);
    let slow = [...running].filter(isSlow).length;
    for (const turn of waiting) {
      const { target } = turn;
      if (running.size >= maxTurns) return;
      if (running.has(target)) continue;
      if (isSlow(target) && slow >= maxSlowTurns) continue;
      if (isSlow(target)) slow += 1;
      waiting.delete(turn);
      running.add(target);
      void takeTurn(turn)
        .catch((error: unknown) => {
          deps.log.error({ err: error, target }, `${outgoing.kind} deliveries failed`);
          return false;
        })
        .then((hasMore) => {
          running.delete(target);
          if (hasMore && !isClosed) waiting.add(turn);
          else end(turn);
          startTurns();
        });
    }
  }

  async function deliver(): Promise<void> {
    for (const untils of [restUntil, slowUntil]) {
      for (const [target, until] of untils) if (until <= now(deps)) untils.delete(target);
    }
    const room = Math.floor((maxWaiting - waiting.size) / deps.db.parts.length);
    if (isClosed || room <= 0) return;
    await workIn(deps.db.parts, (part) => deliverIn(part, room));
  }

  async function deliverIn(part: Part, room: number): Promise<void> {
    const found = await outgoing.targets(part, now(deps), lastRead.get(part) ?? '', room);
    lastRead.set(part, found.length < room ? '' : found.at(-1)!);
    const endedHere = ended.get(part)!;
    const started: Promise<void>[] = [];
    for (const target of found) {
      if (isClosed || endedHere.has(target) || restUntil.has(target)) continue;
      const whenEnded = Promise.withResolvers<void>();
      endedHere.set(target, whenEnded);
      started.push(whenEnded.promise);
      waiting.add({ part, target });
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
      for (const turn of waiting) end(turn);
      waiting.clear();
      await Promise.allSettled(delivering);
    },
  };
}
