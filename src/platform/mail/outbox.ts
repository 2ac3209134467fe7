import type { Logger } from 'pino';
import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/db.ts';
import { maxCounted } from '../db/slices.ts';
import type { Sql } from '../db/sql.ts';
import { tables } from '../db/tables.ts';
import { deliveryAttempts, deliveryDelays } from '../delivery-metrics.ts';
import { emailKey } from '../email-address.ts';
import { currentRequest } from '../http/current-request.ts';
import { type Locale, type MessageKey, translatePlain } from '../i18n/translate.ts';
import { digest, newId } from '../ids.ts';
import type { MailMode } from '../processes.ts';
import {
  claimMail,
  countMails,
  deleteMail,
  deleteMailsBefore,
  findDueMails,
  insertMail,
  postponeMail,
  type WaitingMail,
} from '../store.ts';
import { visibleText } from '../text.ts';
import type { Tracer } from '../tracing.ts';
import { type Vault, WrongMasterKey } from '../vault.ts';

import {
  isPermanent,
  type Mail,
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

/** As it is sealed: with the request that enqueued it, whose trace goes on with it. */
type QueuedMail = Mail & { request_id?: string };

/** Seconds until the next attempt, by attempts made. After the last the mail is dropped. */
const retryAfterSeconds = [30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];
const longestPause = Math.max(...retryAfterSeconds);
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

const mailPurpose = tables.outgoing_mails.sealed.message_sealed;

function openMail(vault: Vault, { mail_id, message_sealed }: WaitingMail): QueuedMail {
  const purpose = mailPurpose(mail_id);
  try {
    return JSON.parse(vault.mail.open(purpose, message_sealed)) as QueuedMail;
  } catch (error) {
    if (!(error instanceof WrongMasterKey)) throw error;
    return JSON.parse(vault.open(purpose, message_sealed)) as QueuedMail; // queued before mail had a key of its own
  }
}

/** Whatever says how mail fares begins here: only `smtp` reaches a person. */
export const mailModeOf = ({ smtpUrl, secure }: Pick<Config, 'smtpUrl' | 'secure'>): MailMode =>
  smtpUrl !== undefined ? 'smtp' : secure ? 'none' : 'log';

export type Outbox = ReturnType<typeof openQueue>;

/** Of a command, which only queues: it may have other settings than the server, and send mail from elsewhere. */
export function openQueue({ config, clock, vault }: OutboxDeps, onEnqueue = () => {}) {
  const mode = mailModeOf(config);
  let enqueued = 0;
  return {
    /** False off loopback without SIGNET_SMTP_URL: then nothing that needs a mail may be offered. */
    works: true,
    /** How mail is sent; for the queue of a command, by its own settings. */
    mode,
    /** Mails enqueued since the outbox was opened. */
    get enqueued() {
      return enqueued;
    },
    /**
     * The statements that enqueue a mail, for the batch of the change that it is about: then neither exists without the
     * other, and a crash in between loses nothing. None when mail does not work here.
     * @param onlyIf for one part of a change: sent only if this is true when the statements before it have had effect.
     * @param isPrompt it is not sent after others that are not.
     */
    enqueue(mail: Mail, onlyIf?: Sql, isPrompt = false): Sql[] {
      enqueued += 1;
      onEnqueue();
      const mail_id = newId('mail');
      const queued: QueuedMail = { ...mail, request_id: currentRequest.getStore()?.span?.request_id };
      const message_sealed = vault.mail.seal(mailPurpose(mail_id), JSON.stringify(queued));
      const recipient_hash = digest(emailKey(mail.to));
      return [insertMail({ mail_id, message_sealed, recipient_hash, isPrompt }, now({ clock }), onlyIf)];
    },
    /** Sends what is due. Any node may do so at any time. */
    async deliver(): Promise<void> {},
    /** Resolves when the mail in progress has been sent or postponed. No further one is sent. */
    async close(): Promise<void> {},
  };
}

export function openOutbox(deps: OutboxDeps): Outbox {
  const transport = openTransport(deps);
  return transport ? openSender(deps, transport) : openNothing(deps);
}

/** Of a server that cannot send mail. Commands may have queued some all the same; it does not pile up. */
const openNothing = (deps: OutboxDeps): Outbox =>
  Object.assign(openQueue(deps), {
    works: false,
    enqueue: () => [],
    async deliver() {
      const { changes } = await deleteMailsBefore(deps.db, now(deps) - undeliverableKeptSeconds);
      if (changes > 0)
        deps.log.error({ mails: changes }, 'queued emails were dropped unsent: SIGNET_SMTP_URL is not set');
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

  let delivery: Promise<void> = Promise.resolve();

  /** One after the other: when it resolves, all that was due has been sent, also by an earlier call. */
  function deliver(): Promise<void> {
    const next = delivery.then(deliverDue);
    delivery = next.catch(() => {});
    return next;
  }

  async function deliverDue(): Promise<void> {
    for (let reads = 0; reads < readsPerRun; reads += 1) {
      if (isClosed) return;
      const due = await findDueMails(deps.db, { now: now(deps), longestPause, limit: perRead });
      for (const mail of due) {
        if (isClosed) return; // unclaimed, so the next to look sends it
        // The next mails would wait for the same timeout one by one, and the jobs behind them.
        if ((await attempt(mail)) === 'unreachable') return;
      }
      if (due.length < perRead) return; // of no kind there are more
    }
    plan();
  }

  async function attempt(waiting: WaitingMail): Promise<'unreachable' | undefined> {
    const { mail_id, attempts, created_at } = waiting;
    const giveUp = async (why: object): Promise<undefined> => {
      await deleteMail(deps.db, mail_id);
      deliveryAttempts.count('mail', 'dead');
      deps.log.error({ mail_id, attempts, ...why }, 'an email could not be delivered; it will not be retried');
    };
    const retryAfter = retryAfterSeconds[attempts];
    if (retryAfter === undefined) return giveUp({ reason: 'too_many_attempts' });
    // At least once: if the node that claims it dies between sending and deleting, another sends it again.
    if (!(await claimMail(deps.db, waiting, now(deps) + claimSeconds))) return undefined;
    if (attempts === 0) deliveryDelays.observe(Math.max(0, now(deps) - created_at), 'mail');
    try {
      const { request_id, expires_at = Number.POSITIVE_INFINITY, ...mail } = openMail(deps.vault, waiting);
      if (expires_at <= now(deps)) return giveUp({ reason: 'link_expired' });
      await deps.tracer.send('send mail', transport.server, request_id, () =>
        transport.send({ ...mail, mail_id, created_at }),
      );
    } catch (error) {
      const { code, responseCode, message = '' } = error as SmtpError;
      // Not what the mail server has answered, which may quote an address.
      const reason =
        responseCode === undefined ? withoutMailSecrets(deps.config, message) : statusOf(error as SmtpError);
      if (isPermanent(error as SmtpError)) return giveUp({ code, responseCode, reason });
      deliveryAttempts.count('mail', 'failed');
      await postponeMail(deps.db, waiting, now(deps) + retryAfter);
      deps.log.warn({ mail_id, attempts, code, responseCode, reason }, 'an email was not accepted; it will be retried');
      return code !== undefined && unreachable.has(code) ? 'unreachable' : undefined;
    }
    deliveryAttempts.count('mail', 'delivered');
    await deleteMail(deps.db, mail_id);
    return undefined;
  }

  return Object.assign(openQueue(deps, plan), {
    deliver,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await delivery;
      transport.close();
    },
  });
}

/** How many mails wait, up to {@link maxCounted}. */
export const mailBacklog = (db: Db): Promise<number> => countMails(db, maxCounted);

/** A mail is two messages of the language files: `mail.<name>.subject` and `mail.<name>.text`. */
export type MailName = MessageKey extends infer Key ? (Key extends `mail.${infer Name}.subject` ? Name : never) : never;

/** A user waits for these, or must learn of them soon to act: they do not wait for any others. */
const prompt: ReadonlySet<MailName> = new Set<MailName>([
  'sign_up',
  'sign_up_taken',
  'verify_email',
  'change_email',
  'reset',
  'invitation',
  'reset_link_created',
  'password_reset',
  'password_reset_admin',
  'email_changed',
  'email_changed_admin',
  'new_device',
  'passkey_copied',
  'second_factor_wrong',
  'second_factor_refused',
  'backup_code_used',
]);

type Recipient = { email: string; name?: string | null; locale: Locale | null };

type Values = Readonly<Record<string, string | number>> & {
  /** Unix seconds; of the link in the mail, which is not sent any more then. */
  expires_at?: number;
};
/** Of a mail that repeats what an administrator has written, if anything. */
export const reasonForMail = (words: string | undefined): Values =>
  words === undefined ? { has_reason: 'no', reason: '' } : { has_reason: 'yes', reason: words };

type LetterDeps = { config: Config; mail: Pick<Outbox, 'enqueue'> };

/**
 * A mail to a user about their account, in their language, for the batch of the change.
 * @param values of the messages besides `{service}`, `{name}`, `{account_url}` and `{reset_url}`.
 * @param onlyIf as in {@link Outbox.enqueue}.
 */
export const mailTo = (deps: LetterDeps, to: Recipient, name: MailName, values: Values = {}, onlyIf?: Sql): Sql[] =>
  deps.mail.enqueue(compose(deps.config, to, name, values, footerOf(name)), onlyIf, prompt.has(name));

/** Why one gets the mail. */
function footerOf(name: MailName): MessageKey {
  if (name === 'reviews_waiting') return 'mail.footer_administrator';
  if (name === 'test') return 'mail.footer_test';
  if (name.startsWith('webhook_')) return 'mail.footer_webhook';
  return name.startsWith('client_') ? 'mail.footer_owner' : 'mail.footer';
}

/**
 * A mail to an address without an account. It contains no name: else anyone could have us send a text of theirs to any
 * address. It says itself what to do if the reader did not ask for it.
 */
export const mailToAddress = (
  deps: LetterDeps,
  { email, locale }: Recipient,
  name: MailName,
  values: Values = {},
  onlyIf?: Sql,
): Sql[] => deps.mail.enqueue(compose(deps.config, { email, locale }, name, values), onlyIf, prompt.has(name));

/** A mail that is not enqueued. */
export const composeMail = (config: Config, to: Recipient, name: MailName, values: Values): Mail =>
  compose(config, to, name, values, footerOf(name));

/** Characters: programs show some sixty, and a line of a header should have at most 78 (RFC 5322 §2.1.1). */
const longestSubject = 78;
/** Characters of a name in a subject; of all names in it fewer and fewer, until it is short enough. */
const longestInSubject = 40;
const shortestInSubject = 8;

function subjectOf(translate: (values: Values) => string, values: Values): string {
  for (let longest = longestInSubject; ; longest -= 1) {
    const subject = translate(shortened(values, longest));
    if (longest === shortestInSubject || [...subject].length <= longestSubject) return subject;
  }
}

const shortened = (values: Values, longest: number): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? visibleText(value, longest) : value,
    ]),
  );

function compose(config: Config, to: Recipient, name: MailName, values: Values, footer?: MessageKey): Mail {
  const shared = {
    service: config.brand.name,
    name: to.name ?? to.email,
    account_url: `${config.baseUrl}/account/security`,
    reset_url: `${config.baseUrl}/reset`,
    ...(config.support !== undefined && { support: config.support }),
    ...values,
  };
  const translate = (key: MessageKey, of: Values = shared) => translatePlain(to.locale ?? 'en', { key, values: of });
  const isForUsers = footer === undefined || footer === 'mail.footer' || footer === 'mail.footer_owner';
  const text = [
    translate(`mail.${name}.text`),
    ...(footer === undefined ? [] : [translate(footer)]),
    ...(config.support !== undefined && isForUsers ? [translate('mail.support')] : []),
  ];
  const { expires_at } = values;
  return {
    to: to.email,
    subject: subjectOf((of) => translate(`mail.${name}.subject`, of), shared),
    text: `${text.join('\n\n')}\n`,
    ...(expires_at && { expires_at }),
  };
}
