import type { Config } from '../config.ts';
import { type Limits, limitSettings } from '../limits/limit-settings.ts';

// Which settings may be changed while the server runs. What they have in common: each is read when it is needed and never kept, a value of
// it can do no lasting harm, and it is no rule about the administrators who change it.

const switches = { SIGNET_SIGN_UP: 'signUp', SIGNET_REVIEW_MAILS: 'reviewMails' } as const;

const texts = {
  SIGNET_SECOND_FACTOR: 'secondFactorFrom',
  SIGNET_SECURITY_CONTACT: 'securityContacts',
  SIGNET_LANGUAGES: 'languages',
} as const;

/** Of what people do with their own accounts and clients. Those that keep attackers out are the operator's. */
const changeableLimits: readonly (keyof Limits)[] = [
  'registrationsPerHour',
  'pendingClients',
  'clientChangesPerHour',
  'reviewRequestsPerDay',
  'logoutResendsPerHour',
  'profileChangesPerHour',
  'appChangesPerHour',
  'mailsPerPerson',
];

/** How a setting is filled in. */
type Control =
  | { readonly kind: 'switch' }
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'text' };

export type ChangeableSetting = {
  readonly name: string;
  readonly control: Control;
  /** What it makes of a configuration. @param from one in which it is set. */
  apply(config: Config, from: Config): Config;
};

const ofMember = (name: string, member: keyof Config, control: Control): ChangeableSetting => ({
  name,
  control,
  apply: (config, from) => ({ ...config, [member]: from[member] }),
});

export const changeableSettings: readonly ChangeableSetting[] = [
  ...Object.entries(switches).map(([name, member]) => ofMember(name, member, { kind: 'switch' })),
  ...Object.entries(texts).map(([name, member]) => ofMember(name, member, { kind: 'text' })),
  ...limitSettings.flatMap(({ key, name, min, max }): ChangeableSetting[] =>
    changeableLimits.includes(key)
      ? [
          {
            name,
            control: { kind: 'number', min, max },
            apply: (config, { limits }) => ({ ...config, limits: { ...config.limits, [key]: limits[key] } }),
          },
        ]
      : [],
  ),
];

/** What changes while a process runs. */
export const changingMembers: readonly (keyof Config)[] = [
  ...Object.values(switches),
  ...Object.values(texts),
  'limits',
  'setFrom',
];

export const findChangeableSetting = (name: string): ChangeableSetting | undefined =>
  changeableSettings.find((one) => one.name === name);
