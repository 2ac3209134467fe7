import { wantedLoad } from '../bench/scale/answers.ts';
import { kinds, costsOf as modelCosts } from '../bench/scale/costs.ts';
import { average, people } from '../bench/scale/people.ts';
import { steps } from '../bench/scale/server.ts';
import { scaleTables } from '../bench/scale/tables.ts';
import type { Results, Size } from './performance-docs.ts';
import { markdownTable, nameOf, whole } from './performance-text.ts';

/** What docs/scaling.md assumes, each with a row that says so. */
const assumed = {
  /** One code in so many is exchanged for a refresh token, too. */
  offlineOneOf: 10,
  /** Days for which rows stay: 90 and 7 after it for a grant with a refresh token, 7 for another; 14 and 7 for a session. */
  keptDays: { lastingGrant: 97, grant: 7, session: 21 },
  appsOfPerson: 3,
  otherEventsOfYear: 5,
} as const;

type Operation = (typeof kinds)[number];

const atPeak = (count: number, operation: Operation): number => average(count, operation) * people.peak;

const populations = [1e6, 1e8, 1e9];
const millions = (people: number): string => `${whole(people / 1e6)} million`;
const bytes = (count: number): string => {
  const [unit, size] = count >= 1e12 ? ['TB', 1e12] : ['GB', 1e9];
  return `${count / size >= 10 ? whole(count / size) : (count / size).toFixed(1)} ${unit}`;
};

/** Microseconds of processor for an operation, with its store: those of the database, too. */
function costsOf(results: Results, engine: 'sqlite' | 'postgres'): Record<Operation, number> {
  const recorded = (engine === 'sqlite' ? results.bench : results.postgres).processor_us.signet ?? {};
  const modelled = modelCosts(results, engine);
  const cost = (operation: Operation) => {
    const { loop, thread, database } = modelled[operation];
    return recorded[operation] ?? 1000 * (loop + thread + database);
  };
  return {
    ...(Object.fromEntries(kinds.map((kind) => [kind, cost(kind)])) as Record<Operation, number>),
    sign_in: results.bench.processor_us.signet?.sign_in ?? Number.NaN, // nearly all of it is the hash
  };
}

function costs(measured: Results): string {
  const [onSqlite, onPostgres] = [costsOf(measured, 'sqlite'), costsOf(measured, 'postgres')];
  return markdownTable(
    ['operation', 'processor µs on SQLite', 'on PostgreSQL, both together', 'a person a day', 'changes'],
    kinds.map((operation) => [
      nameOf(operation),
      whole(onSqlite[operation]),
      whole(onPostgres[operation]),
      String(people.perDay[operation]),
      steps[operation].includes('change') ? '1' : '0',
    ]),
  );
}

function disk({ tables, users }: Size): string {
  const row = (name: string) => (tables[name] ? tables[name].bytes / tables[name].rows : 0);
  const { perDay } = people;
  const { keptDays, offlineOneOf } = assumed;
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

function assumptions(measured: Results): string {
  return [
    `- The busiest second, at ${people.peakHour} o'clock, has ${people.peak} times the requests of the average one, and processors are to be busy for ${wantedLoad * 100} % of it.`,
    `- One code in ${assumed.offlineOneOf} is exchanged for a refresh token, too (\`offline_access\`).`,
    `- A sign-in with a password takes ${whole(costsOf(measured, 'sqlite').sign_in / 1000)} ms of a processor ([decision 27](decisions/0027-shared-queues.md)); a sign-in with a passkey takes none of it.`,
    `- A person uses ${assumed.appsOfPerson} apps, and causes ${assumed.otherEventsOfYear} audit events a year besides sign-ins.`,
  ].join('\n');
}

/** Where and how the rounds were measured that the model is held to. */
function windows({ windows: { sqlite, postgres } }: Results): string {
  const commands = [sqlite.command, postgres.command].join('\n');
  return `Measured on ${sqlite.date}, on ${sqlite.machine}, by\n\n\`\`\`sh\n${commands}\n\`\`\``;
}

/** The parts of docs/scaling.md between their marks, by the names of these. */
export const scalingFigures = (measured: Results): Readonly<Record<string, string>> => ({
  ...scaleTables(measured.scale),
  windows: windows(measured),
  costs: costs(measured),
  assumptions: assumptions(measured),
  disk: disk(measured.size),
  chain: chain(measured.size),
});
