/**
 * Every limit that an operator may set (decisions §13). `passwordFailures` is set by SIGNET_LIMIT_PASSWORD_FAILURES, and so
 * on; code reads `deps.config.limits`. What each limits is its text `admin.setting.<name>`, which docs/configuration.md repeats.
 *
 * The bounds keep a limit effective: no zero locks all users out, and no window is longer than a day.
 */
const table = {
  passwordFailures: [5, 1, 20],
  passwordBlockSeconds: [30, 1, 600],
  passwordLongestBlockSeconds: [3600, 600, 86_400],
  // SP 800-63B-4 §3.2.2: no more than 100.
  passwordFailuresInARow: [100, 20, 100],
  passwordAddressFailures: [20, 1, 100_000],
  passwordAddressSeconds: [600, 10, 86_400],
  signInsPerHour: [500, 10, 100_000],
  passwordsAtOnce: [8, 1, 64],
  passwordsAtOncePerAddress: [32, 1, 64],
  codesPerSignIn: [5, 2, 10],
  codesPerHour: [10, 2, 100],
  codesInARow: [100, 20, 100],
  clientSecretFailures: [20, 1, 10_000],
  registrationsPerHour: [5, 1, 10_000],
  pendingClients: [20, 1, 10_000],
  clientChangesPerHour: [30, 1, 10_000],
  outsideClientsPerAddress: [20, 1, 10_000],
  outsideClientsPerHour: [100, 1, 10_000],
  unreviewedClients: [500, 1, 10_000],
  reviewRequestsPerDay: [5, 1, 1000],
  logoutResendsPerHour: [300, 1, 10_000],
  profileChangesPerHour: [60, 1, 10_000],
  appChangesPerHour: [120, 1, 10_000],
  revocationEventsPerHour: [500, 1, 10_000],
  securityChangesPerHour: [60, 1, 10_000],
  mailsPerMailbox: [5, 1, 100],
  mailsPerAddress: [20, 1, 100_000],
  mailsPerPerson: [20, 1, 1000],
  providerFailures: [30, 1, 100_000],
  passkeyChallenges: [600, 1, 100_000],
  waitingRequests: [1000, 1, 100_000],
  unauthenticatedEventsPerHour: [1000, 10, 100_000],
  unauthenticatedEventDays: [30, 1, 400],
  bodyKb: [64, 32, 1024],
  headerSeconds: [10, 1, 30],
  connections: [4096, 64, 65_535],
} as const satisfies Record<string, readonly [fallback: number, min: number, max: number]>;

type LimitKey = keyof typeof table;
export type Limits = Readonly<Record<LimitKey, number>>;

export const limitSettings = (Object.keys(table) as LimitKey[]).map((key) => {
  const [fallback, min, max] = table[key];
  const name = `SIGNET_LIMIT_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
  return { key, name, default: fallback, min, max };
});

/** @param read the number that is set under `name`, else `fallback`; throws if it is out of bounds. */
export const readLimits = (read: (name: string, fallback: number, min: number, max: number) => number): Limits =>
  Object.freeze(
    Object.fromEntries(
      limitSettings.map(({ key, name, default: fallback, min, max }) => [key, read(name, fallback, min, max)]),
    ) as Limits,
  );
