import type { Results, Size } from './performance-docs.ts';
import { markdownTable, nameOf, whole } from './performance-text.ts';

type Measured = Omit<Results, 'slowDisk' | 'workers'>;

/** What docs/scaling.md assumes, each with a row that says so. */
const assumed = {
  /** Of one person on an average day. */
  perDay: { sign_in: 0.2, code_exchange: 1, refresh: 10, userinfo: 1, introspect: 1 },
  /** The busiest second beside the average one. */
  peak: 5,
  /** Of a processor that is to be used in the busiest second. */
  load: 0.5,
  coresPerMachine: 8,
  /** One code in so many is exchanged for a refresh token, too. */
  offlineOneOf: 10,
  /** Days for which rows stay: 90 and 7 after it for a grant with a refresh token, 7 for another; 14 and 7 for a session. */
  keptDays: { lastingGrant: 97, grant: 7, session: 21 },
  appsOfPerson: 3,
  otherEventsOfYear: 5,
} as const;

const day = 86_400;
type Operation = keyof typeof assumed.perDay;
const operations = Object.keys(assumed.perDay) as Operation[];
/** Changes that have to be on disk before an answer; a code costs one when it is issued and one when it is exchanged. */
const commits: Readonly<Record<Operation, number>> = {
  sign_in: 1,
  code_exchange: 2,
  refresh: 1,
  userinfo: 0,
  introspect: 0,
};

const atPeak = (people: number, operation: Operation): number =>
  (people * assumed.perDay[operation] * assumed.peak) / day;
const allAtPeak = (people: number, weight: (operation: Operation) => number): number =>
  operations.reduce((sum, operation) => sum + atPeak(people, operation) * weight(operation), 0);

const populations = [1e6, 1e8, 1e9];
const millions = (people: number): string => `${whole(people / 1e6)} million`;
const bytes = (count: number): string => {
  const [unit, size] = count >= 1e12 ? ['TB', 1e12] : ['GB', 1e9];
  return `${count / size >= 10 ? whole(count / size) : (count / size).toFixed(1)} ${unit}`;
};

/** Microseconds of processor for an operation, as measured, with its store: those of the database, too. */
function costsOf({ bench, postgres }: Measured, store: 'sqlite' | 'postgres'): Record<Operation, number> {
  const { processor_us } = store === 'sqlite' ? bench : postgres;
  const cost = (operation: Operation) => processor_us.signet?.[operation] ?? Number.NaN;
  return {
    sign_in: bench.processor_us.signet?.sign_in ?? Number.NaN, // nearly all of it is the hash
    code_exchange: cost('code_exchange'),
    refresh: cost('refresh'),
    userinfo: cost('userinfo'),
    introspect: cost('introspect'),
  };
}

function machines(measured: Measured): string {
  const costs = costsOf(measured, 'postgres');
  const rows = populations.map((people) => {
    const hashing = (atPeak(people, 'sign_in') * costs.sign_in) / 1e6 / assumed.load;
    const requests =
      allAtPeak(people, (operation) => (operation === 'sign_in' ? 0 : costs[operation])) / 1e6 / assumed.load;
    const needed = Math.ceil((hashing + requests) / assumed.coresPerMachine) + 1;
    return [
      millions(people),
      whole(allAtPeak(people, () => 1)),
      whole(allAtPeak(people, (operation) => commits[operation])),
      requests.toFixed(1),
      hashing.toFixed(1),
      whole(needed),
    ];
  });
  return markdownTable(
    [
      'people',
      'requests/s',
      'commits/s',
      'processors for requests',
      'for passwords',
      `machines of ${assumed.coresPerMachine} processors, one to spare`,
    ],
    rows,
  );
}

function costs(measured: Measured): string {
  const [onSqlite, onPostgres] = [costsOf(measured, 'sqlite'), costsOf(measured, 'postgres')];
  return markdownTable(
    ['operation', 'processor µs on SQLite', 'on PostgreSQL, both together', 'a person a day', 'commits'],
    operations.map((operation) => [
      operation === 'sign_in' ? 'sign-in with a password' : nameOf(operation),
      whole(onSqlite[operation]),
      whole(onPostgres[operation]),
      String(assumed.perDay[operation]),
      String(commits[operation]),
    ]),
  );
}

function disk({ tables, users }: Size): string {
  const row = (name: string) => (tables[name] ? tables[name].bytes / tables[name].rows : 0);
  const { perDay, keptDays, offlineOneOf } = assumed;
  const lasting = perDay.code_exchange / offlineOneOf;
  const grants = lasting * keptDays.lastingGrant + (perDay.code_exchange - lasting) * keptDays.grant;
  const sessions = perDay.sign_in * keptDays.session;
  const person =
    row('users') + row('passwords') + (tables.user_terms?.bytes ?? 0) / users + assumed.appsOfPerson * row('consents');
  const events = perDay.sign_in * 365 + assumed.otherEventsOfYear;
  const each = [
    ['the account: user, password, search terms, three consents', person, 1],
    ['sessions, active and of the last week', row('sessions'), sessions],
    ['grants, active and of the last week', row('grants'), grants],
    ['audit events of a year, which stay', row('audit_log'), events],
  ] as const;
  return markdownTable(
    ['', 'bytes of a row', 'rows a person', ...populations.map(millions)],
    each.map(([name, size, count]) => [
      name,
      whole(size),
      count.toFixed(1),
      ...populations.map((people) => bytes(size * count * people)),
    ]),
  );
}

/** How many events a second the chain was seen to take, and how many there would be. */
function chain({ works }: Size): string {
  const sealed = works.find(({ name }) => name === 'seal the audit log');
  const rate = sealed ? sealed.rows / sealed.seconds : Number.NaN;
  return markdownTable(
    ['', ...populations.map(millions)],
    [
      ['audit events in the busiest second', ...populations.map((people) => whole(atPeak(people, 'sign_in')))],
      ['sealed in a second, as measured', ...populations.map(() => whole(rate))],
    ],
  );
}

function assumptions(measured: Measured): string {
  return [
    `- The busiest second has ${assumed.peak} times the requests of the average one, and processors are to be busy for ${assumed.load * 100} % of it.`,
    `- One code in ${assumed.offlineOneOf} is exchanged for a refresh token, too (\`offline_access\`).`,
    `- A sign-in with a password takes ${whole(costsOf(measured, 'sqlite').sign_in / 1000)} ms of a processor ([decision 27](decisions/0027-shared-queues.md)); a sign-in with a passkey takes none of it.`,
    `- A person uses ${assumed.appsOfPerson} apps, and causes ${assumed.otherEventsOfYear} audit events a year besides sign-ins.`,
  ].join('\n');
}

/** The parts of docs/scaling.md between their marks, by the names of these. */
export const scalingFigures = (measured: Measured): Readonly<Record<string, string>> => ({
  costs: costs(measured),
  assumptions: assumptions(measured),
  machines: machines(measured),
  disk: disk(measured.size),
  chain: chain(measured.size),
});
