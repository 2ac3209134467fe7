import type { Statement } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { type Locale, type MessageKey, translatePlain } from '../i18n/translate.ts';

/** A mail is two messages of the language files: `mail.<name>.subject` and `mail.<name>.text`. */
export type MailName = MessageKey extends infer Key ? (Key extends `mail.${infer Name}.subject` ? Name : never) : never;

export type Recipient = { email: string; name?: string | null; locale: Locale | null };

/**
 * A mail in its reader's language, for the batch of the change that it tells about.
 * @param values what the messages name besides `{service}`, `{name}` and `{account_url}`.
 */
export function mailTo(
  deps: Pick<Deps, 'config' | 'mail'>,
  to: Recipient,
  name: MailName,
  values: Readonly<Record<string, string | number>> = {},
): Statement[] {
  const { config } = deps;
  const shared = {
    service: config.brand.name,
    name: to.name ?? to.email,
    account_url: `${config.baseUrl}/account/security`,
    ...values,
  };
  const say = (key: MessageKey) => translatePlain(to.locale ?? 'en', { key, values: shared });
  const text = `${say(`mail.${name}.text`)}\n\n${say('mail.footer')}\n`;
  return deps.mail.promise({ to: to.email, subject: say(`mail.${name}.subject`), text });
}
