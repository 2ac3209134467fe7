import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../db/sql.ts';
import { dateFormat } from '../i18n/formats.ts';
import { chooseLocale, type Locale, type MessageKey, messageParts, translatePlain } from '../i18n/translate.ts';
import { visibleText } from '../text.ts';
import { mailBrandOf } from './brand.ts';
import { renderMail, type Scheme } from './html.ts';
import { isLink, type MailPart, Named, type Piece, partsOf } from './parts.ts';
import type { Outbox } from './sender.ts';
import type { Mail } from './transport.ts';

/** Of whom the list of all mails speaks. */
type ReaderName = 'user' | 'owner' | 'administrator' | 'unregistered';

/** Why one gets a letter, in its last lines, and whether these say who helps. */
type Reader = { readonly name: ReaderName; readonly footer?: MessageKey; readonly isOfferedSupport: boolean };

const user: Reader = { name: 'user', footer: 'mail.footer', isOfferedSupport: true };
const owner: Reader = { name: 'owner', footer: 'mail.footer_owner', isOfferedSupport: true };
const administrator: Reader = { name: 'administrator', footer: 'mail.footer_webhook', isOfferedSupport: false };
const reviewer: Reader = { name: 'administrator', footer: 'mail.footer_administrator', isOfferedSupport: false };
const tester: Reader = { name: 'administrator', footer: 'mail.footer_test', isOfferedSupport: false };
/**
 * Who reads what is sent to an address that belongs to no account, or to none any more. A letter to it contains no name: else
 * anyone could have us send a text of theirs to any address. It says itself what to do if the reader did not ask for it.
 */
const unregistered: Reader = { name: 'unregistered', isOfferedSupport: true };

/**
 * `isPrompt`: its reader waits for it, or must learn of it soon to act, so it does not wait for letters that are not. `button`: what the
 * button says that leads to its `{url}`; of other URLs that is said once, below.
 */
type Letter = { readonly to: Reader; readonly isPrompt?: true; readonly button?: MessageKey };

/** A letter is two messages of the language files, `mail.<name>.subject` and `mail.<name>.text`, and its entry here. */
type NameOfTexts = MessageKey extends infer Key ? (Key extends `mail.${infer Name}.subject` ? Name : never) : never;

export const letters = {
  account_deleted: { to: unregistered },
  account_deleted_admin: { to: unregistered },
  administrator_invited: { to: user },
  alert_denied: { to: user, isPrompt: true },
  app_disconnected: { to: user },
  backup_code_used: { to: user, isPrompt: true },
  backup_codes_regenerated: { to: user },
  change_email: { to: unregistered, isPrompt: true, button: 'email.confirm_title' },
  change_email_taken: { to: user },
  client_approved: { to: owner, button: 'mail.button.client' },
  client_change_approved: { to: owner, button: 'mail.button.client' },
  client_change_rejected: { to: owner, button: 'mail.button.client' },
  client_reinstated: { to: owner, button: 'mail.button.client' },
  client_rejected: { to: owner, button: 'mail.button.client' },
  client_suspended: { to: owner, button: 'mail.button.client' },
  codes_disabled: { to: user },
  email_changed: { to: user, isPrompt: true },
  email_changed_admin: { to: user, isPrompt: true },
  factor_recovery: { to: user, isPrompt: true, button: 'recovery.stop.submit' },
  factor_recovery_link: { to: user, isPrompt: true, button: 'recovery.complete.submit' },
  factor_recovery_stopped: { to: user, isPrompt: true },
  factors_recovered: { to: user, isPrompt: true },
  factors_reset: { to: user },
  grant_ended: { to: user },
  grant_replayed: { to: user, isPrompt: true, button: 'mail.button.alert' },
  invitation: { to: unregistered, isPrompt: true, button: 'invitation.submit' },
  new_administrator: { to: user },
  new_device: { to: user, isPrompt: true, button: 'mail.button.alert' },
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
  reset: { to: user, isPrompt: true, button: 'reset.link_title' },
  reset_link_created: { to: user, isPrompt: true },
  reviews_waiting: { to: reviewer, button: 'mail.button.reviews' },
  role_admin: { to: user },
  role_given: { to: user },
  role_user: { to: user },
  second_factor_refused: { to: user, isPrompt: true },
  second_factor_wrong: { to: user, isPrompt: true },
  session_ended: { to: user },
  sign_in_code: { to: user, isPrompt: true },
  sign_up: { to: unregistered, isPrompt: true, button: 'invitation.submit' },
  sign_up_taken: { to: user, isPrompt: true },
  signed_out: { to: user },
  test: { to: tester },
  totp_confirmed: { to: user },
  totp_disabled: { to: user },
  trusted_browser_replayed: { to: user, isPrompt: true },
  verify_email: { to: unregistered, isPrompt: true, button: 'email.confirm_title' },
  webhook_disabled_failing: { to: administrator, button: 'mail.button.webhook' },
  webhook_disabled_gone: { to: administrator, button: 'mail.button.webhook' },
  webhook_failing: { to: administrator, button: 'mail.button.webhook' },
} as const satisfies Record<NameOfTexts, Letter>;

export type LetterName = keyof typeof letters;
export const letterNames = Object.keys(letters) as readonly LetterName[];
export const isLetterName = (name: string): name is LetterName => Object.hasOwn(letters, name);
export const readerOf = (name: LetterName): ReaderName => letters[name].to.name;

type Recipient = { email: string; name?: string | null; locale: Locale | null };

type Values = Readonly<Record<string, string | number>> & {
  /** Unix seconds; of the link in the letter, which is not sent any more then. */
  expires_at?: number;
  /** Of a letter that its reader may stop without losing anything that they have to know. */
  unsubscribe_url?: string;
};

/** Values of a letter that repeats what an administrator has written, if anything. */
export const reasonForMail = (words: string | undefined): Values =>
  words === undefined ? { has_reason: 'no', reason: '' } : { has_reason: 'yes', reason: words };

type LetterDeps = { config: Config; clock: Clock; mail: Pick<Outbox, 'enqueue'> };

/**
 * Statements that enqueue a letter in the language of its reader, for the batch of the change.
 * @param values of the messages besides `{service}`, `{name}`, `{account_url}` and `{reset_url}`.
 * @param onlyIf as in {@link Outbox.enqueue}.
 */
export const mailTo = (deps: LetterDeps, to: Recipient, name: LetterName, values: Values = {}, onlyIf?: Sql): Sql[] => {
  const letter: Letter = letters[name];
  return deps.mail.enqueue(composeMail(deps, to, name, values), { onlyIf, isPrompt: letter.isPrompt });
};

/** Characters: programs show no more of it in a list. */
const maxSubject = 60;
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

/**
 * The letter itself, for a caller that does not enqueue it: one message as plain text and as HTML.
 * @param scheme of a preview.
 */
export function composeMail(
  { config, clock }: Omit<LetterDeps, 'mail'>,
  to: Recipient,
  name: LetterName,
  values: Values,
  scheme?: Scheme,
): Mail & { html: string } {
  const letter: Letter = letters[name];
  const reader = letter.to;
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
  const all = named(shared);
  const pieces = (key: MessageKey) => messageParts<Piece | number>(locale, key, all).map(asPiece);
  const message = pieces(`mail.${name}.text`);
  const words = config.brand.inMails?.words(locale);
  const footer = [
    ...(reader.footer === undefined ? [] : [pieces(reader.footer)]),
    ...(support !== undefined && reader.isOfferedSupport ? [pieces('mail.support')] : []),
    ...(reader.isOfferedSupport ? linksOfService(config, translate) : []),
    ...(words === undefined ? [] : [[words]]),
  ];
  const subject = subjectOf((of) => translate(`mail.${name}.subject`, of), shared);
  const parts = partsOf(
    message,
    Object.values(all).filter((value) => value instanceof Named && isLink(value)) as Named[],
  );
  const first = parts.find((part) => part.kind === 'button');
  const html = renderMail(
    {
      locale,
      subject,
      summary: summaryOf(parts),
      parts,
      facts: factsOf(message, translate, locale, { at: now({ clock }), ...values, account: to.email }),
      button: first ? translate(buttonOf(letter, first.link.name)) : '',
      link: translate('mail.link'),
      footer,
    },
    mailBrandOf(config),
    scheme,
  );
  const { expires_at, unsubscribe_url } = values;
  return {
    to: to.email,
    subject,
    text: `${[message, ...footer].map((one) => one.join('')).join('\n\n')}\n`,
    html: html.toString(),
    ...(expires_at && { expires_at }),
    ...(unsubscribe_url !== undefined && { unsubscribe_url }),
  };
}

/** Terms, privacy and help, a line each. They are written out, as every link of a mail is. */
function linksOfService({ brand }: Pick<Config, 'brand'>, translate: (key: MessageKey) => string): Piece[][] {
  const links = brand.inMails?.links ?? [];
  const pieces = links.flatMap(([name, url], at): Piece[] => [
    `${at > 0 ? '\n' : ''}${translate(name)}: `,
    new Named('service_url', url),
  ]);
  return pieces.length > 0 ? [pieces] : [];
}

const named = (values: Values): Record<string, Named | number> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? new Named(name, value) : value]),
  );

const asPiece = (part: Piece | number): Piece => (typeof part === 'number' ? String(part) : part);

/** Of URLs that many letters have. */
const buttons: Readonly<Record<string, MessageKey>> = {
  account_url: 'mail.button.account',
  reset_url: 'reset.link_title',
  signin_url: 'signin.submit',
};

const buttonOf = (letter: Letter, url: string): MessageKey => letter.button ?? buttons[url] ?? 'mail.button.account';

/** Of a letter that says from where something was done: what its reader compares with what they remember. */
function factsOf(
  message: readonly Piece[],
  translate: (key: MessageKey) => string,
  locale: Locale,
  { account, at, device, address }: Values,
): (readonly [string, string])[] {
  const names = new Set(message.map((piece) => (piece instanceof Named ? piece.name : '')));
  if (!names.has('address')) return [];
  const time = dateFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(Number(at) * 1000);
  const facts: [MessageKey, string | number | undefined][] = [
    ['mail.fact.account', account],
    ['mail.fact.time', `${time} UTC`],
    ['mail.fact.device', names.has('device') ? device : undefined],
    ['mail.fact.address', address],
  ];
  return facts.flatMap(([key, value]) => (value === undefined ? [] : [[translate(key), String(value)] as const]));
}

/** Characters that a list of mails may show. */
const maxSummary = 140;

/** What follows the greeting. */
function summaryOf(parts: readonly MailPart[]): string {
  const [, second] = parts.filter((part) => part.kind === 'paragraph');
  return second ? visibleText(second.pieces.join('').replaceAll('\n', ' '), maxSummary) : '';
}
