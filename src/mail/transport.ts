import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Mail } from './outbox.ts';

/** @throws whatever the server answered. */
export type Transport = (mail: Mail) => Promise<void>;

/** Milliseconds: a mail server that says nothing must not hold up the mails behind. */
const patience = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/**
 * SMTP when it is configured. Else, on this machine alone, the log: whoever tries Signet out reads the link there. No
 * transport elsewhere, because whoever reads the log of a service could then take over its accounts.
 */
export function openTransport({ config, log }: { config: Config; log: Logger }): Transport | undefined {
  if (config.smtpUrl !== undefined) return smtp(config.smtpUrl, config.mailFrom);
  if (config.secure) return undefined;
  return async ({ to, subject, text }) => {
    log.info({ to, subject, text }, 'this mail would have been sent; set SIGNET_SMTP_URL to send it');
  };
}

/** The library is loaded with the first mail. */
function smtp(url: string, from: string): Transport {
  return async (mail) => {
    const { createTransport } = await import('nodemailer');
    const { protocol, hostname, port, username, password } = new URL(url);
    const server = createTransport({
      ...patience,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? undefined : Number(port),
      secure: protocol === 'smtps:',
      auth: username === '' ? undefined : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    });
    try {
      await server.sendMail({ ...mail, from, disableFileAccess: true, disableUrlAccess: true });
    } finally {
      server.close();
    }
  };
}
