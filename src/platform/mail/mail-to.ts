import type { Config } from '../config.ts';
import type { Sql } from '../db/sql.ts';
import { type Locale, type MessageKey, translatePlain } from '../i18n/translate.ts';
import type { Outbox } from './outbox.ts';

/** A mail is two messages of the language files: `mail.<name>.subject` and `mail.<name>.text`. */
export type MailName = MessageKey extends infer Key ? (Key extends `mail.${infer Name}.subject` ? Name : never) : never;

type Recipient = { email: string; name?: string | null; locale: Locale | null };

type Values = Readonly<Record<string, string | number>>;
type LetterDeps = { config: Config; mail: Pick<Outbox, 'enqueue'> };

/**
 * A mail to a user about their account, in their language, for the batch of the change.
 * @param values of the messages besides `{service}`, `{name}`, `{account_url}` and `{reset_url}`.
 * @param onlyIf as in {@link Outbox.enqueue}.
 */
export const mailTo = (deps: LetterDeps, to: Recipient, name: MailName, values: Values = {}, onlyIf?: Sql): Sql[] =>
  compose(deps, { to, name, values, footer: 'mail.footer', onlyIf });

/**
 * A mail to an address behind which there is no account yet, or none any more. It contains no name: else
 * anyone could have us send a text of theirs to any address. It says itself what to do if the reader did not ask for it.
 */
export const mailToAddress = (
  deps: LetterDeps,
  { email, locale }: Recipient,
  name: MailName,
  values: Values = {},
  onlyIf?: Sql,
): Sql[] => compose(deps, { to: { email, locale }, name, values, onlyIf });

type MailDraft = { to: Recipient; name: MailName; values: Values; footer?: MessageKey; onlyIf?: Sql };

function compose({ config, mail }: LetterDeps, { to, name, values, footer, onlyIf }: MailDraft): Sql[] {
  const shared = {
    service: config.brand.name,
    name: to.name ?? to.email,
    account_url: `${config.baseUrl}/account/security`,
    reset_url: `${config.baseUrl}/reset`,
    ...values,
  };
  const translate = (key: MessageKey) => translatePlain(to.locale ?? 'en', { key, values: shared });
  const text = `${[translate(`mail.${name}.text`), ...(footer ? [translate(footer)] : [])].join('\n\n')}\n`;
  return mail.enqueue({ to: to.email, subject: translate(`mail.${name}.subject`), text }, onlyIf);
}
