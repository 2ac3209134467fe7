import type { User } from '../../accounts/statements.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import { dateFormat } from '../../platform/i18n/formats.ts';
import { chooseLocale } from '../../platform/i18n/translate.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { addressesVerifiedByProviders } from '../credentials/identities.store.ts';
import { deviceName } from '../sessions/browser.ts';
import type { FactorRecovery } from '../sessions/factor-recoveries.store.ts';

type Reader = Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;

/** The link in a mail by which anyone who reads it stops the request. */
export const stopPath = '/recover/stop';
/** The link that removes the factors. */
export const recoverPath = '/recover';

/** One letter to the address of the account, and to all that its providers have verified: a thief may read one of the mailboxes. */
export async function mailToEveryAddress(
  deps: MailDeps,
  user: Reader,
  name: 'factor_recovery' | 'factor_recovery_stopped' | 'factors_recovered',
  values: Parameters<typeof mailTo>[3],
): Promise<Sql[]> {
  const others = await addressesVerifiedByProviders(deps.db, user.user_id);
  const byKey = new Map([user.email, ...others].reverse().map((email) => [emailKey(email), email]));
  return [...byKey.values()].flatMap((email) => mailTo(deps, { ...user, email }, name, values));
}

type Asked = Pick<FactorRecovery, 'requested_at' | 'due_at' | 'address' | 'user_agent'>;

/** Who reads them compares when and where it was asked for with what they remember. */
export function valuesOf(deps: MailDeps, { locale }: Reader, asked: Asked) {
  const reader = chooseLocale(deps.config.languages, locale);
  const format = dateFormat(reader, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const inWords = (at: number) => `${format.format(at * 1000)} UTC`;
  return {
    at: asked.requested_at,
    when: inWords(asked.requested_at),
    until: inWords(asked.due_at),
    address: asked.address ?? '?',
    device: deviceName(asked.user_agent) ?? '?',
  };
}
