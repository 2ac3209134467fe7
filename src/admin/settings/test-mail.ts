import { setTimeout as wait } from 'node:timers/promises';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { newId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { composeMail } from '../../platform/mail/outbox.ts';
import { openTransport } from '../../platform/mail/transport.ts';
import { visibleText } from '../../platform/text.ts';

export type MailTest = {
  to: string;
  /** Whether the mail server took it. That it arrives, only its recipient can tell. */
  is_accepted: boolean;
  /** What the mail server answered, or why it was not reached; null where mail is only logged. */
  answer: string | null;
};

/** A mail server may take half a minute, and an administrator is waiting. */
const timeoutMs = 12_000;
const perHour = 10;

/**
 * Sends one mail at once, beside the queue, and says what came of it.
 * @throws {RequestError} `invalid_state` where no mail can be sent; `rate_limited`.
 */
export async function testMail(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'log'>,
  caller: Caller,
  to: { email: string; name: string | null; locale: Locale | null },
): Promise<MailTest> {
  const transport = openTransport(deps);
  if (transport === undefined) throw refusal('invalid_state', { key: 'admin.settings.mail.off' });
  await windowLimit(deps, { name: 'test-mail', limit: perHour, windowSeconds: 3600 }).take(caller.actor);
  const at = now(deps);
  const mail = { ...composeMail(deps.config, to, 'test', {}), mail_id: newId('mail'), created_at: at };
  const outcome = await Promise.race([
    transport.send(mail).then(accepted, refused),
    wait(timeoutMs, { is_accepted: false, answer: `no answer within ${timeoutMs / 1000} s` }, { ref: false }),
  ]);
  transport.close();
  const result = { to: to.email, ...outcome, answer: outcome.answer && withoutSecrets(deps.config, outcome.answer) };
  const event = auditEvent({ action: 'mail.tested', ...caller, after: { is_accepted: result.is_accepted } }, at);
  await deps.db.change({ run: { event: event.statement } });
  return result;
}

const accepted = (sent: unknown) => {
  const { response } = (sent ?? {}) as { response?: unknown };
  return { is_accepted: true, answer: typeof response === 'string' ? response : null };
};

/** Of an error of Nodemailer: the answer of the server, else what happened on the way to it. */
function refused(error: unknown) {
  const { response, message } = error as { response?: string; message?: string };
  return { is_accepted: false, answer: response || message || 'unknown' };
}

/** A mail server may quote the line that it refused. */
function withoutSecrets({ smtpUrl }: Deps['config'], answer: string): string {
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
