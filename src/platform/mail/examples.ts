import { type Clock, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { dateFormat } from '../i18n/formats.ts';
import { inConsole, type Locale, type MessageDescriptor, translatePlain } from '../i18n/translate.ts';
import type { Scheme } from './html.ts';
import { composeMail, type LetterName } from './letters.ts';

/** Where a letter's `{url}` leads, if it has one: a path with nothing behind it. */
const paths: Partial<Readonly<Record<LetterName, string>>> = {
  change_email: '/verify-email/ln_example',
  factor_recovery: '/recover/stop/ln_example',
  factor_recovery_link: '/recover/ln_example',
  grant_replayed: '/account/alerts/alert_example',
  invitation: '/signup/ln_example',
  new_device: '/account/alerts/alert_example',
  passkey_copied: '/account/alerts/alert_example',
  reset: '/reset/ln_example',
  reviews_waiting: '/admin/clients',
  sign_up: '/signup/ln_example',
  verify_email: '/verify-email/ln_example',
  webhook_disabled_failing: '/admin/webhooks/wh_example',
  webhook_disabled_gone: '/admin/webhooks/wh_example',
  webhook_failing: '/admin/webhooks/wh_example',
};

/** Those that a letter may be in; what waits in the console is said in its languages. */
export const languagesOfLetter = ({ languages }: Pick<Config, 'languages'>, name: LetterName): readonly Locale[] =>
  name === 'reviews_waiting' ? inConsole(languages) : languages;

/**
 * A letter as it would be sent to an invented person, with invented values in it: every choice in a message is made as the longest one.
 * Its links lead nowhere.
 * @param locale one of those that mails are in.
 * @param scheme of a preview.
 */
export function exampleMail(
  { config, clock }: { config: Config; clock: Clock },
  name: LetterName,
  locale: Locale,
  scheme?: Scheme,
) {
  const { baseUrl } = config;
  const translate = (message: MessageDescriptor) => translatePlain(locale, message);
  const inWords = (time: { timeStyle?: 'short' }) =>
    dateFormat(locale, { dateStyle: 'long', timeZone: 'UTC', ...time }).format(now({ clock }) * 1000);
  const [day, when] = [inWords({}), `${inWords({ timeStyle: 'short' })} UTC`];
  const { name: service } = config.brand;
  const others = [
    translate({ key: 'reset.stays' }),
    `- ${translate({ key: 'reset.stays.passkey', values: { passkey: 'iCloud Keychain', day } })}`,
    translate({ key: 'mail.reset_stays', values: { service, security: `${baseUrl}/account/security` } }),
  ];
  const client = { app: 'Tide Tables', owner: 'Grace Hopper, grace@example.com' };
  const waiting = [
    translate({ key: 'mail.reviews_waiting.new', values: client }),
    translate({ key: 'mail.reviews_waiting.change', values: { ...client, app: 'Field Notes' } }),
  ];
  const values = {
    address: '203.0.113.7',
    app: 'Field Notes',
    code: '482917',
    count: 2,
    days: 7,
    device: 'Firefox, Linux',
    email: 'grace@example.com',
    first: `${when} · 203.0.113.7 · okhttp/4.12.0`,
    has_password: 'yes',
    has_reason: 'yes',
    invited: 'yes',
    issuer: 'https://accounts.example.com',
    minutes: 30,
    new_email: 'augusta@example.com',
    others: `${others.join('\n')}\n\n`,
    passkey: 'iCloud Keychain',
    provider: 'Example',
    reason: 'The redirect URI leads to a host that does not belong to you.',
    remaining: 7,
    role: 'reviewer',
    second: `${when} · 198.51.100.24 · python-requests/2.32`,
    signin_url: `${baseUrl}/signin`,
    stop_url: `${baseUrl}/recover/stop/ln_example`,
    since: when,
    ...(name === 'reviews_waiting' && { unsubscribe_url: `${baseUrl}/admin/review-mails/example` }),
    url: baseUrl + (paths[name] ?? '/developer/clients/cl_example'),
    until: when,
    waiting: waiting.join('\n\n'),
    webhook: 'Billing',
    when,
  };
  const ada = { email: 'ada@example.com', name: 'Ada Lovelace', locale };
  return composeMail({ config: { ...config, languages: [locale] }, clock }, ada, name, values, scheme);
}
