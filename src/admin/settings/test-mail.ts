import { setTimeout as wait } from 'node:timers/promises';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { newId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { composeMail } from '../../platform/mail/letters.ts';
import { mailProblem, openTransport, withoutMailSecrets } from '../../platform/mail/transport.ts';

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
  const mail = { ...composeMail(deps, to, 'test', {}), mail_id: newId('mail'), created_at: at };
  const outcome = await Promise.race([
    transport.send(mail).then(accepted, (error: unknown) => ({ is_accepted: false, answer: mailProblem(error) })),
    wait(timeoutMs, { is_accepted: false, answer: `no answer within ${timeoutMs / 1000} s` }, { ref: false }),
  ]);
  transport.close();
  const result = {
    to: to.email,
    ...outcome,
    answer: outcome.answer && withoutMailSecrets(deps.config, outcome.answer),
  };
  const event = auditEvent({ action: 'mail.tested', ...caller, after: { is_accepted: result.is_accepted } }, at);
  await deps.db.shared.change({ run: { event: event.statement } });
  return result;
}

const accepted = (sent: unknown) => {
  const { response } = (sent ?? {}) as { response?: unknown };
  return { is_accepted: true, answer: typeof response === 'string' ? response : null };
};
