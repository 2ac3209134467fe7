/**
 * Every limit that an operator may set (decisions §13). `passwordFailures` is set by SIGNET_LIMIT_PASSWORD_FAILURES, and so
 * on; code reads `deps.config.limits`. docs/configuration.md repeats the descriptions.
 *
 * The bounds keep a limit effective: no zero locks all users out, and no window is longer than a day.
 */
const table = {
  passwordFailures: [5, 1, 20, 'wrong passwords in a row before the account is blocked'],
  passwordBlockSeconds: [30, 1, 600, 'length of the first block; each further failure doubles it'],
  passwordLongestBlockSeconds: [3600, 600, 86_400, 'longest block'],
  // SP 800-63B-4 §3.2.2: no more than 100.
  passwordFailuresInARow: [100, 20, 100, 'wrong passwords in a row that disable the password'],
  passwordAddressFailures: [20, 1, 100_000, 'wrong passwords from one address per window'],
  passwordAddressSeconds: [600, 10, 86_400, 'length of that window, in seconds'],
  signInsPerHour: [500, 10, 100_000, 'sign-ins of a user per hour from one known device, or all unknown ones'],
  passwordsAtOnce: [8, 1, 64, 'passwords of one account that wait or are checked at the same time'],
  passwordsAtOncePerAddress: [32, 1, 64, 'the same from one address, except of users who are known'],
  codesPerSignIn: [5, 2, 10, 'codes and passkeys that may be tried in one second step'],
  codesPerHour: [10, 2, 100, 'wrong TOTP codes per hour'],
  codesInARow: [100, 20, 100, 'wrong TOTP codes in a row, after which no code is accepted'],
  clientSecretFailures: [20, 1, 10_000, 'wrong secrets per minute for one client or service and address'],
  registrationsPerHour: [5, 1, 10_000, 'clients that a user may register per hour'],
  pendingClients: [20, 1, 10_000, 'clients of one user that may wait for review'],
  clientChangesPerHour: [30, 1, 10_000, 'changes that a user may make to clients per hour'],
  outsideClientsPerAddress: [20, 1, 10_000, 'clients from outside that one address may bring per hour'],
  outsideClientsPerHour: [100, 1, 10_000, 'clients from outside per hour'],
  unreviewedClients: [500, 1, 10_000, 'clients from outside that may wait for review'],
  reviewRequestsPerDay: [5, 1, 1000, 'reviews of clients from outside that a user may ask for per day'],
  logoutResendsPerHour: [300, 1, 10_000, 'logout tokens that a user may resend per hour'],
  profileChangesPerHour: [60, 1, 10_000, 'changes that a user may make to their profile per hour'],
  appChangesPerHour: [120, 1, 10_000, 'apps that a user may allow, and disconnect, per hour'],
  revocationEventsPerHour: [500, 1, 10_000, 'revoked grants of a user and client per hour and reason in the audit log'],
  securityChangesPerHour: [60, 1, 10_000, 'changes of password, factors, passkeys and providers per user and hour'],
  mailsPerMailbox: [5, 1, 100, 'mails of one kind per hour that others may cause to one mailbox'],
  mailsPerAddress: [20, 1, 100_000, 'mails that one address may cause in 10 min'],
  mailsPerPerson: [20, 1, 1000, 'mails that a signed-in user may cause per hour'],
  providerFailures: [30, 1, 100_000, 'failed sign-ins with a provider from one address in 10 min'],
  passkeyChallenges: [600, 1, 100_000, 'passkey challenges for one address in 10 min'],
  waitingRequests: [1000, 1, 100_000, 'pending authorization requests from one address in 10 min'],
  unauthenticatedEventsPerHour: [1000, 10, 100_000, 'rows per hour for refused sign-ins and requested links'],
  unauthenticatedEventDays: [30, 1, 400, 'days for which these rows are kept'],
  bodyKb: [64, 32, 1024, 'size of a request body, in KB'],
  headerSeconds: [10, 1, 30, 'time in which the headers of a request must arrive'],
  connections: [4096, 64, 65_535, 'open connections of one process; further ones are closed at once'],
} as const satisfies Record<string, readonly [fallback: number, min: number, max: number, description: string]>;

type LimitKey = keyof typeof table;
export type Limits = Readonly<Record<LimitKey, number>>;

export const limitSettings = (Object.keys(table) as LimitKey[]).map((key) => {
  const [fallback, min, max, description] = table[key];
  const name = `SIGNET_LIMIT_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
  return { key, name, default: fallback, min, max, description };
});

/** @param read the number that is set under `name`, else `fallback`; throws if it is out of bounds. */
export const readLimits = (read: (name: string, fallback: number, min: number, max: number) => number): Limits =>
  Object.freeze(
    Object.fromEntries(
      limitSettings.map(({ key, name, default: fallback, min, max }) => [key, read(name, fallback, min, max)]),
    ) as Limits,
  );
