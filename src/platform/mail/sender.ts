import type { Logger } from 'pino';
import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { type Db, inOrder, type Part } from '../db/db.ts';
import { sumOfAll, workIn } from '../db/parts.ts';
import type { Retried } from '../db/planned.ts';
import { deliveryAttempts, deliveryDelays } from '../delivery-metrics.ts';
import type { Tracer } from '../tracing.ts';
import type { Vault } from '../vault.ts';
import { openMail, openQueue } from './queue.ts';
import { outcomeOf } from './refusals.ts';
import {
  bringMailsForward,
  claimMail,
  deleteMail,
  deleteMailsBefore,
  findDueMails,
  postponeMail,
  type WaitingMail,
} from './store.ts';
import {
  isPermanent,
  mailProblem,
  openTransport,
  type SmtpError,
  statusOf,
  type Transport,
  withoutMailSecrets,
} from './transport.ts';

type OutboxDeps = {
  config: Config;
  db: Db;
  clock: Clock;
  log: Logger;
  tracer: Tracer;
  vault: Vault;
  terminal?: Parameters<typeof openTransport>[0]['terminal'];
};

/** The queue, and what empties it. */
export type Outbox = ReturnType<typeof openQueue> & {
  /** Sends what is due. Any node may do so at any time. */
  deliver(): Promise<void>;
  /** Resolves when the mail in progress has been sent or postponed. No further one is sent. */
  close(): Promise<void>;
};

/** Seconds until the next attempt, by attempts made. After the last the mail is dropped. */
const retryAfterSeconds = [30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];
export const retriedMails: Retried = { longestPause: Math.max(...retryAfterSeconds), bringForward: bringMailsForward };
/** Longer than the timeouts of an attempt on two connections: meanwhile no other node sends the same mail. */
const claimSeconds = 120;
/** Of each kind, before the queue is read again: a mail that a user waits for is sent after as many of others. */
const perRead = 4;
const readsPerRun = 4;
/** Nodemailer's errors after which any other mail would fail alike. */
const unreachable = new Set(['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'ETLS', 'EAUTH', 'EPROTOCOL']);
/** When the outbox reads the queue after a mail was enqueued, since the commit may take a while. A job sends the rest. */
const soonMs = [100, 1000, 5000];

/** Of mails that a command queued for a server that cannot send: SIGNET_SMTP_URL may still be set. */
const undeliverableKeptSeconds = 3 * 86_400;

/** The outbox of a server. */
export function openOutbox(deps: OutboxDeps): Outbox {
  const transport = openTransport(deps);
  return transport ? openSender(deps, transport) : openNothing(deps);
}

/** The outbox of a command, which only queues: it may have other settings than the server, and send mail from elsewhere. */
export const openQueueOnly = (deps: Parameters<typeof openQueue>[0]): Outbox =>
  Object.assign(openQueue(deps), { async deliver() {}, async close() {} });

/** The outbox of a server that cannot send mail. Commands may have queued some all the same; it does not pile up. */
const openNothing = (deps: OutboxDeps): Outbox =>
  Object.assign(openQueueOnly(deps), {
    works: false,
    enqueue: () => [],
    async deliver() {
      const before = now(deps) - undeliverableKeptSeconds;
      const mails = await sumOfAll(deps.db, async (part) => (await deleteMailsBefore(part, before)).changes);
      if (mails > 0) deps.log.error({ mails }, 'queued emails were dropped unsent: SIGNET_SMTP_URL is not set');
    },
  });

function openSender(deps: OutboxDeps, transport: Transport): Outbox {
  let step = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Starts at the first step; a timer at its first step stays, or a stream of mails would keep postponing it. */
  function plan(): void {
    if (isClosed || (timer !== undefined && step === 0)) return;
    step = 0;
    arm();
  }

  function arm(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      step += 1;
      if (step < soonMs.length) arm();
      deliver().catch((error: unknown) => deps.log.error({ err: error }, 'the mail queue could not be read'));
    }, soonMs[step]);
    timer.unref();
  }

  const deliveries = new Map<Part, Promise<void>>();
  let attempts: Promise<unknown> = Promise.resolve();

  /**
   * One after the other in each part of the store, so that one that does not answer stops no other: when it resolves, all that was
   * due has been sent, also by an earlier call.
   */
  async function deliver(): Promise<void> {
    const run = { isUnreachable: false };
    await workIn(deps.db.parts, (part) => {
      const next = (deliveries.get(part) ?? Promise.resolve()).then(() => deliverDue(part, run));
      deliveries.set(
        part,
        next.catch(() => {}),
      );
      return next;
    });
  }

  async function deliverDue(part: Part, run: { isUnreachable: boolean }): Promise<void> {
    for (let reads = 0; reads < readsPerRun; reads += 1) {
      if (isClosed) return;
      const due = await findDueMails(part, { now: now(deps), limit: perRead });
      for (const mail of due) {
        await inTurn(async () => {
          // Closed: unclaimed, so the next to look sends it.
          if (isClosed || run.isUnreachable) return;
          run.isUnreachable = (await attempt(part, mail)) === 'unreachable';
        });
        // The next mails would wait for the same timeout one by one, and the jobs behind them.
        if (isClosed || run.isUnreachable) return;
      }
      if (due.length < perRead) return; // of no kind there are more
    }
    plan();
  }

  /** One mail leaves this process at a time, whichever part it waits in. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = attempts.then(work);
    attempts = turn.catch(() => {});
    return turn;
  }

  async function attempt(part: Part, waiting: WaitingMail): Promise<'unreachable' | undefined> {
    const { mail_id, attempts, created_at } = waiting;
    const end = { in: part, run: { mail: deleteMail(mail_id) } };
    const giveUp = async (why: object, refused?: { to: string; answer: string }): Promise<undefined> => {
      await (refused ? inOrder(end, outcomeOf(deps.db, refused.to, refused.answer, now(deps))) : part.change(end));
      deliveryAttempts.count('mail', 'dead');
      deps.log.error({ mail_id, attempts, ...why }, 'an email could not be delivered; it will not be retried');
    };
    const retryAfter = retryAfterSeconds[attempts];
    if (retryAfter === undefined) return giveUp({ reason: 'too_many_attempts' });
    // At least once: if the node that claims it dies between sending and deleting, another sends it again.
    if (!(await claimMail(part, waiting, now(deps) + claimSeconds))) return undefined;
    if (attempts === 0) deliveryDelays.observe(Math.max(0, now(deps) - created_at), 'mail');
    let to: string;
    try {
      const { request_id, expires_at = Number.POSITIVE_INFINITY, ...mail } = openMail(deps.vault, waiting);
      to = mail.to;
      if (expires_at <= now(deps)) return giveUp({ reason: 'link_expired' });
      await deps.tracer.send('send mail', transport.server, request_id, () =>
        transport.send({ ...mail, mail_id, created_at }),
      );
    } catch (error) {
      const { code, responseCode, message = '' } = error as SmtpError;
      // Not what the mail server has answered, which may quote an address.
      const reason =
        responseCode === undefined ? withoutMailSecrets(deps.config, message) : statusOf(error as SmtpError);
      if (isPermanent(error as SmtpError)) {
        const answer = withoutMailSecrets(deps.config, mailProblem(error));
        return giveUp({ code, responseCode, reason }, { to: to!, answer });
      }
      deliveryAttempts.count('mail', 'failed');
      await postponeMail(part, waiting, now(deps) + retryAfter);
      deps.log.warn({ mail_id, attempts, code, responseCode, reason }, 'an email was not accepted; it will be retried');
      return code !== undefined && unreachable.has(code) ? 'unreachable' : undefined;
    }
    deliveryAttempts.count('mail', 'delivered');
    await inOrder(end, outcomeOf(deps.db, to, undefined, now(deps)));
    return undefined;
  }

  return Object.assign(openQueue(deps, plan), {
    deliver,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await Promise.all(deliveries.values());
      transport.close();
    },
  });
}
