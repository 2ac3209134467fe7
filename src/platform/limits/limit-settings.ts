/**
 * Every limit that an operator may set (decisions §13). `passwordFailures` is set by SIGNET_LIMIT_PASSWORD_FAILURES, and so
 * on; code reads `deps.config.limits`. The descriptions stand in docs/configuration.md, too, as a test checks.
 *
 * The bounds keep a limit effective: no zero locks everybody out, and no window is longer than a day.
 */
const table = {
  passwordFailures: {
    default: 5,
    min: 1,
    max: 20,
    description: 'wrong passwords in a row before the account is blocked',
  },
  passwordBlockSeconds: {
    default: 30,
    min: 1,
    max: 600,
    description: 'length of the first block; each further failure doubles it',
  },
  passwordLongestBlockSeconds: { default: 3600, min: 600, max: 86_400, description: 'longest block' },
  // SP 800-63B-4 §3.2.2: no more than 100.
  passwordFailuresInARow: {
    default: 100,
    min: 20,
    max: 100,
    description: 'wrong passwords in a row that disable the password',
  },
  passwordAddressFailures: {
    default: 20,
    min: 1,
    max: 100_000,
    description: 'wrong passwords from one address per window',
  },
  passwordAddressSeconds: { default: 600, min: 10, max: 86_400, description: 'length of that window, in seconds' },
  codesPerSignIn: {
    default: 5,
    min: 2,
    max: 10,
    description: 'codes and passkeys that may be tried in one second step',
  },
  codesPerHour: { default: 10, min: 2, max: 100, description: 'wrong TOTP codes per hour' },
  codesInARow: {
    default: 100,
    min: 20,
    max: 100,
    description: 'wrong TOTP codes in a row, after which no code is accepted',
  },
  clientSecretFailures: {
    default: 20,
    min: 1,
    max: 10_000,
    description: 'wrong secrets per minute for one client or service and address',
  },
  registrationsPerHour: { default: 5, min: 1, max: 10_000, description: 'clients that a user may register per hour' },
  pendingClients: { default: 20, min: 1, max: 10_000, description: 'clients of one user that may wait for review' },
  clientChangesPerHour: {
    default: 30,
    min: 1,
    max: 10_000,
    description: 'changes that a user may make to clients per hour',
  },
  profileChangesPerHour: {
    default: 60,
    min: 1,
    max: 10_000,
    description: 'changes that a user may make to their profile per hour',
  },
  securityChangesPerHour: {
    default: 60,
    min: 1,
    max: 10_000,
    description: 'changes of password, factors, passkeys and providers per user and hour',
  },
  mailsPerMailbox: {
    default: 5,
    min: 1,
    max: 100,
    description: 'mails of one kind per hour that others may cause to one mailbox',
  },
  mailsPerAddress: { default: 20, min: 1, max: 100_000, description: 'mails that one address may cause in 10 min' },
  mailsPerPerson: { default: 20, min: 1, max: 1000, description: 'mails that a signed-in user may cause per hour' },
  providerFailures: {
    default: 30,
    min: 1,
    max: 100_000,
    description: 'failed sign-ins with a provider from one address in 10 min',
  },
  passkeyChallenges: {
    default: 600,
    min: 1,
    max: 100_000,
    description: 'passkey challenges for one address in 10 min',
  },
  waitingRequests: {
    default: 1000,
    min: 1,
    max: 100_000,
    description: 'pending authorization requests from one address in 10 min',
  },
  unauthenticatedEventsPerHour: {
    default: 1000,
    min: 10,
    max: 100_000,
    description: 'rows per hour for refused sign-ins and requested links',
  },
  unauthenticatedEventDays: { default: 30, min: 1, max: 400, description: 'days for which these rows are kept' },
  bodyKb: { default: 64, min: 32, max: 1024, description: 'size of a request body, in KB' },
  headerSeconds: { default: 10, min: 1, max: 30, description: 'time in which the headers of a request must arrive' },
} as const satisfies Record<string, Omit<LimitSetting, 'key' | 'name'>>;

type LimitKey = keyof typeof table;

type LimitSetting = { key: LimitKey; name: string; default: number; min: number; max: number; description: string };

export type Limits = Readonly<Record<LimitKey, number>>;

const nameOf = (key: string) => `SIGNET_LIMIT_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`;

export const limitSettings: readonly LimitSetting[] = (Object.keys(table) as LimitKey[]).map((key) => ({
  key,
  name: nameOf(key),
  ...table[key],
}));

/** @param read the number that is set under `name`, else `fallback`; throws if it is out of bounds. */
export const readLimits = (read: (name: string, fallback: string, min: number, max: number) => number): Limits =>
  Object.freeze(
    Object.fromEntries(
      limitSettings.map(({ key, name, default: value, min, max }) => [key, read(name, String(value), min, max)]),
    ) as Record<LimitKey, number>,
  );
