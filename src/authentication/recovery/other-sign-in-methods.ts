import { type Locale, type MessageDescriptor, translatePlain } from '../../platform/i18n/translate.ts';
import { type Identity, listIdentities } from '../credentials/identities.store.ts';
import { listPasskeys, type Passkey } from '../credentials/passkeys.store.ts';
import type { Deps } from '../deps.ts';

/** What signs in beside the password. A reset leaves it as it is: some of it may be a thief's, or all there is. */
export type OtherSignInMethods = { passkeys: readonly Passkey[]; identities: readonly Identity[] };

export async function otherSignInMethodsOf({ db }: Pick<Deps, 'db'>, user_id: string): Promise<OtherSignInMethods> {
  const [passkeys, identities] = await Promise.all([listPasskeys(db, user_id), listIdentities(db, user_id)]);
  return { passkeys, identities };
}

/** One sentence for each, oldest first. @param day how a moment in Unix seconds is written. */
export const describeSignInMethods = (
  { config }: Pick<Deps, 'config'>,
  { passkeys, identities }: OtherSignInMethods,
  day: (at: number) => string,
): MessageDescriptor[] => [
  ...passkeys.map(
    ({ name, created_at }): MessageDescriptor => ({
      key: 'reset.stays.passkey',
      values: { passkey: name, day: day(created_at) },
    }),
  ),
  ...identities.map(
    ({ provider, issuer, email, subject, linked_at }): MessageDescriptor => ({
      key: 'reset.stays.provider',
      values: {
        provider: config.providers.find((one) => one.issuer === issuer)?.label ?? provider,
        account: email ?? subject,
        day: day(linked_at),
      },
    }),
  ),
];

/** The paragraphs of a mail about them, with what comes after set apart; empty when there are none. */
export function otherSignInMethodsText(
  deps: Pick<Deps, 'config'>,
  ways: OtherSignInMethods,
  locale: Locale | null,
): string {
  const translate = (sentence: MessageDescriptor) => translatePlain(locale ?? 'en', sentence);
  const lines = describeSignInMethods(deps, ways, isoDay).map((sentence) => `- ${translate(sentence)}`);
  if (lines.length === 0) return '';
  const [security, service] = [`${deps.config.baseUrl}/account/security`, deps.config.brand.name];
  const how = translate({ key: 'mail.reset_stays', values: { security, service } });
  return `${[translate({ key: 'reset.stays' }), ...lines].join('\n')}\n${how}\n\n`;
}

const isoDay = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10);
