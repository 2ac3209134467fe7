import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { asciiEmail } from '../email-address.ts';
import { isLoopback } from '../ip-address.ts';
import type { MailMode } from '../processes.ts';
import { visibleText } from '../text.ts';
import type { SpanAttributes } from '../tracing.ts';
import { logoId, mailBrandOf } from './brand.ts';

/**
 * Plain text to one valid address, and the same as HTML, which may show the logo of the brand as `cid:logo`. `expires_at`, Unix seconds: it
 * is of no use any more then.
 */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html?: string;
  expires_at?: number;
  /** Where its reader, or their mail program, stops mails of its kind. */
  unsubscribe_url?: string;
};

/** `mail_id` and `created_at` (Unix seconds) stay the same at each attempt. */
type OutgoingMail = Mail & { mail_id: string; created_at: number };

export type Transport = {
  /** Where it sends to, for traces. */
  readonly server: SpanAttributes;
  send(mail: OutgoingMail): Promise<unknown>;
  close(): void;
};

/** Milliseconds: a mail server that does not answer must not delay the next mails. */
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/**
 * One connection, for as many mails as follow each other soon. If the server has closed it meanwhile, as servers do, the mail
 * is sent on another one at once.
 */
const pool = { pool: true, maxConnections: 1, maxMessages: 100, maxRequeues: 1, idleTimeout: 5000 } as const;

/** @param terminal that the log goes to, if it does. */
type TransportDeps = { config: Config; log: Logger; terminal?: { write(text: string): unknown } };

/** Whatever says how mail fares begins here: only `smtp` reaches a person. */
export const mailModeOf = ({ smtpUrl, secure }: Pick<Config, 'smtpUrl' | 'secure'>): MailMode =>
  smtpUrl !== undefined ? 'smtp' : secure ? 'none' : 'log';

/** SMTP, or on loopback the log, to try Signet out. None elsewhere: a reader of the log could take over accounts. */
export function openTransport({ config, log, terminal }: TransportDeps): Transport | undefined {
  if (config.smtpUrl !== undefined) return smtp(config.smtpUrl, config);
  if (mailModeOf(config) === 'none') return undefined;
  return {
    server: {},
    async send(mail) {
      if (terminal && log.isLevelEnabled('info')) terminal.write(readable(mail));
      else log.info(shown(mail), notSent);
    },
    close() {},
  };
}

const notSent = 'this email would have been sent; set SIGNET_SMTP_URL to send it';
const shown = ({ to, subject, text }: Mail) => ({ to, subject, text });

/** To try Signet out at a terminal: a link in a line of JSON is cut out of it with care. What others chose cannot move the cursor. */
function readable({ to, subject, text }: Mail): string {
  const rule = '-'.repeat(72);
  const lines = [rule, `To:      ${to}`, `Subject: ${subject}`, '', ...text.trimEnd().split('\n'), rule];
  return `\n${lines.map((line) => visibleText(line, 2000)).join('\n')}\n(${notSent})\n\n`;
}

function smtp(url: string, sender: Sender): Transport {
  const open = async () => {
    const { createTransport } = await import('nodemailer'); // loaded with the first mail
    return createTransport({ ...pool, ...timeouts, ...smtpOptions(url) });
  };
  let transport: ReturnType<typeof open> | undefined;
  const { host, port } = smtpOptions(url);
  return {
    server: { 'server.address': host, 'server.port': port },
    async send(mail) {
      if (needsSmtpUtf8(mail.to)) return sendByUtf8(smtpOptions(url), messageOf(mail, sender));
      transport ??= open();
      return (await transport).sendMail(messageOf(mail, sender));
    },
    close: () => void transport?.then((one) => one.close()),
  };
}

/** Letters beyond ASCII before the `@`; a domain has an ASCII form. */
const needsSmtpUtf8 = (address: string): boolean => /[^\0-\x7f].*@/s.test(address);

/**
 * On a connection of its own, which must offer SMTPUTF8: no other server may be sent such an address (RFC 6531 §3.2).
 * Nodemailer uses the extension, but does without it where it is missing.
 */
async function sendByUtf8(options: ReturnType<typeof smtpOptions>, mail: ReturnType<typeof messageOf>): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
  const { envelope, message } = await createTransport({ streamTransport: true, buffer: true }).sendMail(mail);
  const connection = new SMTPConnection({ ...timeouts, ...options });
  const failed = new Promise<never>((_, reject) => connection.once('error', reject));
  const done = (step: (callback: (error?: Error | null) => void) => void) =>
    Promise.race([
      failed,
      new Promise<void>((resolve, reject) => step((error) => (error ? reject(error) : resolve()))),
    ]);
  try {
    await done((callback) => connection.connect(callback));
    const offered = connection.lastServerResponse; // to EHLO
    if (!offered || !/^250[ -]SMTPUTF8\b/im.test(offered)) {
      throw Object.assign(new Error('the mail server does not offer SMTPUTF8, which this address needs'), {
        code: smtpUtf8Missing,
      });
    }
    const { auth } = options;
    if (auth) await done((callback) => connection.login({ credentials: auth }, callback));
    await done((callback) => connection.send(envelope, message as Buffer, callback));
    connection.quit();
  } catch (error) {
    connection.close();
    throw error;
  }
}

const smtpUtf8Missing = 'ESMTPUTF8';

/** An error of Nodemailer; `command` is what the server refused. */
export type SmtpError = {
  code?: string;
  responseCode?: number;
  command?: string;
  response?: string;
  message?: string;
};

/** What a server demands of the operator before it takes any mail (RFC 4954 §6). */
const askForSignIn = new Set([530, 534, 535, 538]);

/**
 * Another attempt would be refused as well: the server said so of this recipient or this mail (5yz, RFC 5321 §4.2.1). What
 * it refuses before that, such as the sender or a password, the operator can put right.
 */
export const isPermanent = ({ code, command, responseCode = 0 }: SmtpError): boolean =>
  code === smtpUtf8Missing ||
  (responseCode >= 500 && !askForSignIn.has(responseCode) && (command === 'RCPT TO' || command === 'DATA'));

/** The enhanced status code of an answer (RFC 3463 §2), such as `5.1.1`, which names no one. */
export const statusOf = ({ response = '' }: SmtpError): string | undefined =>
  /^\d{3}[ -](\d\.\d+\.\d+)\b/.exec(response)?.[1];

/**
 * Connects to the mail server and signs in, and sends nothing.
 * @returns why it cannot be used; undefined if it can.
 */
export async function verifySmtp(config: Pick<Config, 'smtpUrl'>, timeoutMs: number): Promise<string | undefined> {
  const { createTransport } = await import('nodemailer');
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const transport = createTransport({ ...limits, ...smtpOptions(config.smtpUrl ?? '') });
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    return withoutMailSecrets(config, mailProblem(error));
  } finally {
    transport.close();
  }
}

/** Of an error of Nodemailer: the answer of the server, else what happened on the way to it. */
export function mailProblem(error: unknown): string {
  const { response, message } = error as { response?: string; message?: string };
  return response || message || 'unknown';
}

/** A mail server may quote the line that it refused. */
export function withoutMailSecrets({ smtpUrl }: Pick<Config, 'smtpUrl'>, answer: string): string {
  const { username, password } = new URL(smtpUrl ?? 'smtp://localhost');
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const quoted = [secret, base64(secret), base64(`\0${user}\0${secret}`)].filter(
    (text) => secret !== '' && text !== '',
  );
  return visibleText(
    quoted.reduce((text, one) => text.replaceAll(one, '***'), answer),
    500,
  );
}

/**
 * A password never crosses a network in the clear: with one, a remote server must offer STARTTLS (RFC 3207), or nothing is
 * sent. On loopback there is no network, and the certificate of a local mail server is for another name.
 */
export function smtpOptions(smtpUrl: string) {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isHere = isLoopback(host);
  const secure = protocol === 'smtps:';
  return {
    host,
    port: port === '' ? undefined : Number(port),
    secure,
    requireTLS: !secure && !isHere && username !== '',
    ignoreTLS: !secure && isHere,
    auth: username === '' ? undefined : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
  };
}

type Sender = Pick<Config, 'mailFrom' | 'brand'>;

/**
 * The recipient is an address, not a header to be parsed, in which a comma would make two of it. Each attempt carries the
 * same Message-ID, so that a mail that was sent twice is recognised. Auto-Submitted prevents auto-replies (RFC 3834 §5).
 */
export function messageOf(
  { to, subject, text, html, mail_id, created_at, unsubscribe_url }: OutgoingMail,
  sender: Sender,
) {
  const { mailFrom } = sender;
  const address = /<([^<>]+)>$/.exec(mailFrom)?.[1] ?? mailFrom;
  const logo = html?.includes(`cid:${logoId}`) ? mailBrandOf(sender).logo : undefined;
  return {
    from: mailFrom,
    to: { name: '', address: asciiEmail(to) },
    subject: subject.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' '),
    text,
    ...(html !== undefined && { html }),
    ...(logo && {
      attachments: [{ cid: logoId, filename: 'logo.png', content: logo.file, contentDisposition: 'inline' as const }],
    }),
    date: new Date(created_at * 1000),
    messageId: `<${mail_id}@${address.split('@').at(-1)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribe_url !== undefined && unsubscribeHeaders(unsubscribe_url)),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** RFC 2369 §3.2, and with one click (RFC 8058 §3.1), for which the URL must be https. */
const unsubscribeHeaders = (url: string) => ({
  'List-Unsubscribe': `<${url}>`,
  ...(url.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
});
