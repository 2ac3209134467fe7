import type { Logger } from 'pino';
import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db, Statement } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import type { Vault } from '../vault/vault.ts';
import { claimMail, deleteMail, findDueMails, insertMail, type WaitingMail } from './store.ts';
import { openTransport } from './transport.ts';

/** A plain text mail to one address, which was validated as one. */
export type Mail = { to: string; subject: string; text: string };

/** How mail leaves the house. */
export type Outbox = {
  /** False off loopback without SIGNET_SMTP_URL: then nothing that needs a mail may be offered. */
  readonly works: boolean;
  /**
   * A mail to be sent, for the batch of the change that it tells about: then neither exists without the other, and a
   * crash in between loses nothing. No statement when mail does not work here.
   */
  promise(mail: Mail): Statement[];
  /** Sends what is due. Any node may do so at any time. */
  deliver(): Promise<void>;
};

type OutboxDeps = { config: Config; db: Db; clock: Clock; log: Logger; vault: Vault };

/** Seconds until the next attempt, by attempts made. After the last the mail is dropped: its link has expired long ago. */
const retryAfterSeconds = [30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];
const perRun = 50;
/** A promised mail is sent this long after, when its change has been committed; the periodic job sends what is left. */
const soonMs = 100;

export function openOutbox(deps: OutboxDeps): Outbox {
  const transport = openTransport(deps);
  if (!transport) return { works: false, promise: () => [], deliver: async () => {} };

  let isPlanned = false;
  function plan(): void {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(() => {
      isPlanned = false;
      deliver().catch((error: unknown) => deps.log.error({ err: error }, 'mails could not be looked for'));
    }, soonMs).unref();
  }

  async function deliver(): Promise<void> {
    const due = await findDueMails(deps.db, now(deps), perRun);
    for (const mail of due) await attempt(mail);
    if (due.length === perRun) plan();
  }

  async function attempt(waiting: WaitingMail): Promise<void> {
    const { mail_id, attempts } = waiting;
    const retryAfter = retryAfterSeconds[attempts];
    if (retryAfter === undefined) {
      await deleteMail(deps.db, mail_id);
      deps.log.error({ mail_id, attempts }, 'a mail was given up');
      return;
    }
    // Of several nodes one claims it. If that one dies between sending and forgetting, another sends it again: the
    // better half of "at least once".
    if (!(await claimMail(deps.db, waiting, now(deps) + retryAfter))) return;
    try {
      await transport!(JSON.parse(deps.vault.open(`mail:${mail_id}`, waiting.message_sealed)) as Mail);
    } catch (error) {
      const { code, responseCode } = error as { code?: string; responseCode?: number };
      deps.log.warn({ mail_id, attempts, code, responseCode }, 'a mail was not taken; it is tried again later');
      return;
    }
    await deleteMail(deps.db, mail_id);
  }

  return {
    works: true,
    promise(mail) {
      const mail_id = newId('mail');
      plan();
      return [
        insertMail({ mail_id, message_sealed: deps.vault.seal(`mail:${mail_id}`, JSON.stringify(mail)) }, now(deps)),
      ];
    },
    deliver,
  };
}
