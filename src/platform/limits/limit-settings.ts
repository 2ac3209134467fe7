/**
 * How much of what may be done, and how often: every number that an operator may change (decisions §13), once. The
 * configuration reads it, the code takes `deps.config.limits`, and docs/configuration.md is held to it by a test.
 * `passwordFailures` is set by SIGNET_LIMIT_PASSWORD_FAILURES, and so on.
 *
 * `least` and `most` keep what the number is for: nobody is locked out by a zero, no guess is free, and no window
 * outlasts the day in which somebody looks into it.
 */
const table = {
  passwordFailures: { usual: 5, least: 1, most: 20, what: 'wrong passwords in a row before an account waits' },
  passwordBlockSeconds: { usual: 30, least: 1, most: 600, what: 'its first wait; each further failure doubles it' },
  passwordLongestBlockSeconds: { usual: 3600, least: 600, most: 86_400, what: 'its longest wait' },
  // SP 800-63B-4 §3.2.2: no more than 100.
  passwordFailuresInARow: { usual: 100, least: 20, most: 100, what: 'wrong passwords in a row that disable it' },
  passwordAddressFailures: {
    usual: 20,
    least: 1,
    most: 100_000,
    what: 'wrong passwords from one address in its window',
  },
  passwordAddressSeconds: { usual: 600, least: 10, most: 86_400, what: 'that window' },
  codesPerSignIn: { usual: 5, least: 2, most: 10, what: 'codes and passkeys that one second step may try' },
  codesPerHour: { usual: 10, least: 2, most: 100, what: 'wrong TOTP codes an hour' },
  codesInARow: { usual: 100, least: 20, most: 100, what: 'wrong TOTP codes in a row, after which none counts' },
  clientSecretFailures: {
    usual: 20,
    least: 1,
    most: 10_000,
    what: 'wrong secrets a minute, of one client or service from one address',
  },
  registrationsPerHour: { usual: 5, least: 1, most: 10_000, what: 'clients that one person registers an hour' },
  pendingClients: { usual: 20, least: 1, most: 10_000, what: 'clients of one person that wait for review' },
  clientChangesPerHour: { usual: 30, least: 1, most: 10_000, what: 'changes that one person makes of clients an hour' },
  profileChangesPerHour: {
    usual: 60,
    least: 1,
    most: 10_000,
    what: 'changes that one person makes of their profile an hour',
  },
  securityChangesPerHour: {
    usual: 60,
    least: 1,
    most: 10_000,
    what: 'changes that one person makes of password, factors, passkeys and providers an hour',
  },
  mailsPerMailbox: {
    usual: 5,
    least: 1,
    most: 100,
    what: 'mails of one kind an hour that others may have sent to one mailbox',
  },
  mailsPerAddress: { usual: 20, least: 1, most: 100_000, what: 'mails in 10 min that one address asks for' },
  mailsPerPerson: { usual: 20, least: 1, most: 1000, what: 'mails an hour that one signed-in person asks for' },
  providerFailures: {
    usual: 30,
    least: 1,
    most: 100_000,
    what: 'failed sign-ins with a provider in 10 min from one address',
  },
  passkeyChallenges: { usual: 600, least: 1, most: 100_000, what: 'passkey challenges in 10 min for one address' },
  waitingRequests: {
    usual: 1000,
    least: 1,
    most: 100_000,
    what: 'authorization requests in 10 min from one address that wait for a person',
  },
  unauthenticatedEventsPerHour: {
    usual: 1000,
    least: 10,
    most: 100_000,
    what: 'rows an hour for refused sign-ins and asked links; what is alike is one row that counts',
  },
  unauthenticatedEventDays: { usual: 30, least: 1, most: 400, what: 'days for which these rows are kept' },
  bodyKb: { usual: 64, least: 32, most: 1024, what: 'the body of a request, in KB' },
  headerSeconds: { usual: 10, least: 1, most: 30, what: 'the time that the headers of a request may take' },
} as const satisfies Record<string, Omit<LimitSetting, 'key' | 'name'>>;

type LimitKey = keyof typeof table;

/** `what` is for people who read docs/configuration.md. */
type LimitSetting = { key: LimitKey; name: string; usual: number; least: number; most: number; what: string };

export type Limits = Readonly<Record<LimitKey, number>>;

const nameOf = (key: string) => `SIGNET_LIMIT_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`;

export const limitSettings: readonly LimitSetting[] = (Object.keys(table) as LimitKey[]).map((key) => ({
  key,
  name: nameOf(key),
  ...table[key],
}));

/** @param read says which number stands under that name, else the usual one, and refuses what is out of bounds. */
export const readLimits = (read: (name: string, usual: string, least: number, most: number) => number): Limits =>
  Object.freeze(
    Object.fromEntries(
      limitSettings.map(({ key, name, usual, least, most }) => [key, read(name, String(usual), least, most)]),
    ) as Record<LimitKey, number>,
  );
