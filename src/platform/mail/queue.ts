import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/db.ts';
import { sumOfAll } from '../db/parts.ts';
import { maxCounted } from '../db/slices.ts';
import type { Sql } from '../db/sql.ts';
import { tables } from '../db/tables.ts';
import { emailKey } from '../email-address.ts';
import { currentRequest } from '../http/current-request.ts';
import { digest, newId } from '../ids.ts';
import { type Vault, WrongMasterKey } from '../vault.ts';
import { countMails, insertMail, type WaitingMail } from './store.ts';
import { type Mail, mailModeOf } from './transport.ts';

/** As it is sealed: with the request that enqueued it, whose trace goes on with it. */
type QueuedMail = Mail & { request_id?: string };

const mailPurpose = tables.outgoing_mails.sealed.message_sealed;

export function openMail(vault: Vault, { mail_id, message_sealed }: WaitingMail): QueuedMail {
  const purpose = mailPurpose(mail_id);
  try {
    return JSON.parse(vault.mail.open(purpose, message_sealed)) as QueuedMail;
  } catch (error) {
    if (!(error instanceof WrongMasterKey)) throw error;
    return JSON.parse(vault.open(purpose, message_sealed)) as QueuedMail; // queued before mail had a key of its own
  }
}

type QueueDeps = { config: Config; clock: Clock; vault: Vault };

/**
 * `onlyIf`: for one part of a change, sent only if this is true when the statements before it have had effect.
 * `isPrompt`: not sent after others that are not.
 */
type HowToEnqueue = { onlyIf?: Sql | undefined; isPrompt?: boolean | undefined };

/** Where mails wait. Who sends them is in `sender.ts`. */
export function openQueue({ config, clock, vault }: QueueDeps, onEnqueue = () => {}) {
  let enqueued = 0;
  return {
    /** False off loopback without SIGNET_SMTP_URL: then nothing that needs a mail may be offered. */
    works: true,
    /** How mail is sent; for the queue of a command, by its own settings. */
    mode: mailModeOf(config),
    /** Mails enqueued since the queue was opened. */
    get enqueued() {
      return enqueued;
    },
    /**
     * The statements that enqueue a mail, for the batch of the change that it is about: then neither exists without the
     * other, and a crash in between loses nothing. None when mail does not work here.
     */
    enqueue(mail: Mail, { onlyIf, isPrompt = false }: HowToEnqueue = {}): Sql[] {
      enqueued += 1;
      onEnqueue();
      const mail_id = newId('mail');
      const queued: QueuedMail = { ...mail, request_id: currentRequest.getStore()?.span?.request_id };
      const message_sealed = vault.mail.seal(mailPurpose(mail_id), JSON.stringify(queued));
      const recipient_hash = digest(emailKey(mail.to));
      return [insertMail({ mail_id, message_sealed, recipient_hash, isPrompt }, now({ clock }), onlyIf)];
    },
  };
}

/** How many mails wait, up to {@link maxCounted}. */
export const mailBacklog = async (db: Db): Promise<number> =>
  Math.min(await sumOfAll(db, (part) => countMails(part, maxCounted)), maxCounted);
