import type { Config } from '../config.ts';
import type { Sql } from '../db/sql.ts';
import { chooseLocale, type Locale, type MessageKey, translatePlain } from '../i18n/translate.ts';
import { visibleText } from '../text.ts';
import type { Outbox } from './sender.ts';
import type { Mail } from './transport.ts';

/** Why one gets a letter, in its last lines, and whether these say who helps. */
type Reader = { readonly footer?: MessageKey; readonly isOfferedSupport: boolean };

const user: Reader = { footer: 'mail.footer', isOfferedSupport: true };
const owner: Reader = { footer: 'mail.footer_owner', isOfferedSupport: true };
const administrator: Reader = { footer: 'mail.footer_webhook', isOfferedSupport: false };
const reviewer: Reader = { footer: 'mail.footer_administrator', isOfferedSupport: false };
const tester: Reader = { footer: 'mail.footer_test', isOfferedSupport: false };
/**
 * Who reads what is sent to an address that belongs to no account, or to none any more. A letter to it contains no name: else
 * anyone could have us send a text of theirs to any address. It says itself what to do if the reader did not ask for it.
 */
const unregistered: Reader = { isOfferedSupport: true };

/** `isPrompt`: its reader waits for it, or must learn of it soon to act, so it does not wait for letters that are not. */
type Letter = { readonly to: Reader; readonly isPrompt?: true };

/** A letter is two messages of the language files, `mail.<name>.subject` and `mail.<name>.text`, and its entry here. */
type NameOfTexts = MessageKey extends infer Key ? (Key extends `mail.${infer Name}.subject` ? Name : never) : never;

export const letters = {
  account_deleted: { to: unregistered },
  account_deleted_admin: { to: unregistered },
  administrator_invited: { to: user },
  app_disconnected: { to: user },
  backup_code_used: { to: user, isPrompt: true },
  backup_codes_regenerated: { to: user },
  change_email: { to: unregistered, isPrompt: true },
  change_email_taken: { to: user },
  client_approved: { to: owner },
  client_change_approved: { to: owner },
  client_change_rejected: { to: owner },
  client_reinstated: { to: owner },
  client_rejected: { to: owner },
  client_suspended: { to: owner },
  codes_disabled: { to: user },
  email_changed: { to: user, isPrompt: true },
  email_changed_admin: { to: user, isPrompt: true },
  factors_reset: { to: user },
  grant_ended: { to: user },
  grant_replayed: { to: user },
  invitation: { to: unregistered, isPrompt: true },
  new_administrator: { to: user },
  new_device: { to: user, isPrompt: true },
  new_role: { to: user },
  passkey_added: { to: user },
  passkey_copied: { to: user, isPrompt: true },
  passkey_removed: { to: user },
  password_changed: { to: user },
  password_removed: { to: user },
  password_reset: { to: user, isPrompt: true },
  password_reset_admin: { to: user, isPrompt: true },
  password_set: { to: user },
  provider_added: { to: user, isPrompt: true },
  provider_enabled: { to: user, isPrompt: true },
  provider_linked: { to: user },
  provider_unlinked: { to: user },
  reset: { to: user, isPrompt: true },
  reset_link_created: { to: user, isPrompt: true },
  reviews_waiting: { to: reviewer },
  role_admin: { to: user },
  role_given: { to: user },
  role_user: { to: user },
  second_factor_refused: { to: user, isPrompt: true },
  second_factor_wrong: { to: user, isPrompt: true },
  session_ended: { to: user },
  sign_up: { to: unregistered, isPrompt: true },
  sign_up_taken: { to: user, isPrompt: true },
  signed_out: { to: user },
  test: { to: tester },
  totp_confirmed: { to: user },
  totp_disabled: { to: user },
  verify_email: { to: unregistered, isPrompt: true },
  webhook_disabled_failing: { to: administrator },
  webhook_disabled_gone: { to: administrator },
  webhook_failing: { to: administrator },
} as const satisfies Record<NameOfTexts, Letter>;

export type LetterName = keyof typeof letters;

type Recipient = { email: string; name?: string | null; locale: Locale | null };

type Values = Readonly<Record<string, string | number>> & {
  /** Unix seconds; of the link in the letter, which is not sent any more then. */
  expires_at?: number;
};

/** Values of a letter that repeats what an administrator has written, if anything. */
export const reasonForMail = (words: string | undefined): Values =>
  words === undefined ? { has_reason: 'no', reason: '' } : { has_reason: 'yes', reason: words };

type LetterDeps = { config: Config; mail: Pick<Outbox, 'enqueue'> };

/**
 * Statements that enqueue a letter in the language of its reader, for the batch of the change.
 * @param values of the messages besides `{service}`, `{name}`, `{account_url}` and `{reset_url}`.
 * @param onlyIf as in {@link Outbox.enqueue}.
 */
export const mailTo = (deps: LetterDeps, to: Recipient, name: LetterName, values: Values = {}, onlyIf?: Sql): Sql[] => {
  const letter: Letter = letters[name];
  return deps.mail.enqueue(composeMail(deps.config, to, name, values), { onlyIf, isPrompt: letter.isPrompt });
};

/** Characters: programs show some sixty, and a line of a header should have at most 78 (RFC 5322 §2.1.1). */
const maxSubject = 78;
/** Characters of a name in a subject; of all names in it fewer and fewer, until it is short enough. */
const maxInSubject = 40;
const minInSubject = 8;

function subjectOf(translate: (values: Values) => string, values: Values): string {
  for (let max = maxInSubject; ; max -= 1) {
    const subject = translate(shortened(values, max));
    if (max === minInSubject || [...subject].length <= maxSubject) return subject;
  }
}

const shortened = (values: Values, max: number): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? visibleText(value, max) : value]),
  );

/** The letter itself, for a caller that does not enqueue it. */
export function composeMail(config: Config, to: Recipient, name: LetterName, values: Values): Mail {
  const reader: Reader = letters[name].to;
  const { support } = config;
  const shared = {
    service: config.brand.name,
    name: (reader === unregistered ? undefined : to.name) ?? to.email,
    account_url: `${config.baseUrl}/account/security`,
    reset_url: `${config.baseUrl}/reset`,
    ...(support !== undefined && { support }),
    ...values,
  };
  const locale = chooseLocale(config.languages, to.locale);
  const translate = (key: MessageKey, of: Values = shared) => translatePlain(locale, { key, values: of });
  const text = [
    translate(`mail.${name}.text`),
    ...(reader.footer === undefined ? [] : [translate(reader.footer)]),
    ...(support !== undefined && reader.isOfferedSupport ? [translate('mail.support')] : []),
  ];
  const { expires_at } = values;
  return {
    to: to.email,
    subject: subjectOf((of) => translate(`mail.${name}.subject`, of), shared),
    text: `${text.join('\n\n')}\n`,
    ...(expires_at && { expires_at }),
  };
}
