import { type Locale, type Sentence, translatePlain } from '../../platform/i18n/translate.ts';
import { type Identity, listIdentities } from '../credentials/identities.store.ts';
import { listPasskeys, type Passkey } from '../credentials/passkeys.store.ts';
import type { Deps } from '../deps.ts';

/** What signs in beside the password. A reset leaves it as it is: some of it may be a thief's, or all there is. */
export type OtherWays = { passkeys: readonly Passkey[]; identities: readonly Identity[] };

export async function otherWaysOf({ db }: Pick<Deps, 'db'>, user_id: string): Promise<OtherWays> {
  const [passkeys, identities] = await Promise.all([listPasskeys(db, user_id), listIdentities(db, user_id)]);
  return { passkeys, identities };
}

/** One sentence for each, oldest first. @param day how a moment in Unix seconds is written. */
export const describeWays = (
  { config }: Pick<Deps, 'config'>,
  { passkeys, identities }: OtherWays,
  day: (at: number) => string,
): Sentence[] => [
  ...passkeys.map(
    ({ name, created_at }): Sentence => ({
      key: 'reset.stays.passkey',
      values: { passkey: name, day: day(created_at) },
    }),
  ),
  ...identities.map(
    ({ provider, issuer, email, subject, linked_at }): Sentence => ({
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
export function otherWaysInMail(deps: Pick<Deps, 'config'>, ways: OtherWays, locale: Locale | null): string {
  const say = (sentence: Sentence) => translatePlain(locale ?? 'en', sentence);
  const lines = describeWays(deps, ways, isoDay).map((sentence) => `- ${say(sentence)}`);
  if (lines.length === 0) return '';
  const [security, service] = [`${deps.config.baseUrl}/account/security`, deps.config.brand.name];
  const how = say({ key: 'mail.reset_stays', values: { security, service } });
  return `${[say({ key: 'reset.stays' }), ...lines].join('\n')}\n${how}\n\n`;
}

const isoDay = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10);
