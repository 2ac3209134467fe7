import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { isLoopback } from '../ip-address.ts';
import { visibleText } from '../text.ts';
import type { SpanAttributes } from '../tracing.ts';

/** Plain text to one valid address. */
export type Mail = { to: string; subject: string; text: string };

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

/** SMTP, or on loopback the log, to try Signet out. None elsewhere: a reader of the log could take over accounts. */
export function openTransport({ config, log, terminal }: TransportDeps): Transport | undefined {
  if (config.smtpUrl !== undefined) return smtp(config.smtpUrl, config.mailFrom);
  if (config.secure) return undefined;
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

function smtp(url: string, from: string): Transport {
  const open = async () => {
    const { createTransport } = await import('nodemailer'); // loaded with the first mail
    return createTransport({ ...pool, ...timeouts, ...smtpOptions(url) });
  };
  let transport: ReturnType<typeof open> | undefined;
  const { host, port } = smtpOptions(url);
  return {
    server: { 'server.address': host, 'server.port': port },
    async send(mail) {
      transport ??= open();
      return (await transport).sendMail(messageOf(mail, from));
    },
    close: () => void transport?.then((one) => one.close()),
  };
}

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

/**
 * The recipient is an address, not a header to be parsed, in which a comma would make two of it. Each attempt carries the
 * same Message-ID, so that a mail that was sent twice is recognised. Auto-Submitted prevents auto-replies (RFC 3834 §5).
 */
export function messageOf({ to, subject, text, mail_id, created_at }: OutgoingMail, from: string) {
  const sender = /<([^<>]+)>$/.exec(from)?.[1] ?? from;
  return {
    from,
    to: { name: '', address: to },
    subject: subject.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' '),
    text,
    date: new Date(created_at * 1000),
    messageId: `<${mail_id}@${sender.split('@').at(-1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
