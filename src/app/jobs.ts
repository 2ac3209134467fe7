import { completeMissingTerms, rewriteEmailKeys } from '../accounts/users.ts';
import { reportFailingWebhooks } from '../admin/webhooks/report-failures.ts';
import { finishAttributeDeletions } from '../attributes/manage-attributes.ts';
import { AuditLogTampered } from '../audit/chain.ts';
import { mailRecoveries } from '../authentication/factor-recovery/mail-recoveries.ts';
import { countFactors } from '../authentication/statements.ts';
import { fetchDueLogos } from '../clients/fetch-logos.ts';
import { completeMissingClientTerms } from '../clients/find-clients.ts';
import { deleteUnreviewed } from '../clients/from-outside/delete-unreviewed.ts';
import { remindReviewers } from '../clients/review-mails.ts';
import { finishGroupDeletions } from '../groups/manage-groups.ts';
import { accessTokenSeconds } from '../oauth/access-token-seconds.ts';
import { finishClientDeletions, openCodePurge } from '../oauth/cleanup.ts';
import type { Deps } from '../oauth/deps.ts';
import { applyBulkRevocations } from '../oauth/grants/grants.ts';
import { rotateDueKeys } from '../oauth/signing-keys/signing-keys.ts';
import { expireGrants, purgeEndedGrants } from '../oauth/statements.ts';
import { now } from '../platform/clock.ts';
import type { Db, OneDb, Part } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import { bringAttemptsForward } from '../platform/db/planned.ts';
import { deleteExpired, partsWith } from '../platform/db/table-rows.ts';
import { type ExpiryJob, expiringTables, questionsSeconds, type TableName } from '../platform/db/tables.ts';
import { retriedMails } from '../platform/mail/sender.ts';
import { pace } from '../platform/pace.ts';
import { dangerousSkewSeconds } from '../platform/processes.ts';
import { finishAccountDeletions } from '../self-service/delete-account/delete-account.ts';
import { finishStreamDeletions } from '../signals/manage-stream.ts';
import { pauseFullStreams } from '../signals/signal-sender.ts';
import { stopStreams } from '../signals/stop-streams.ts';
import { signalGroupChanges } from '../signals/tell-members.ts';
import { sumClients } from '../statistics/busiest-clients.ts';
import { countAuditEvents, countRefusedSignIns } from '../statistics/count-events.ts';
import {
  activeKeptSeconds,
  countsKeptSeconds,
  purgeActiveUsers,
  purgeDailyCounts,
} from '../statistics/daily-counts.ts';
import { keepFactorShares } from '../statistics/factor-shares.ts';
import { finishWebhookDeletions } from '../webhooks/manage-webhook.ts';
import { deliveryKinds } from './deliveries.ts';
import { failureLog, periodMs } from './job-failures.ts';

/** Resolves to false if the signal ended it before all was done. */
type Job = (deps: Deps, signal?: AbortSignal) => Promise<unknown>;

/** The same of the rows in one part of the store, which it is handed as the store. */
type PartJob = (deps: Deps & { db: OneDb }, signal?: AbortSignal) => Promise<unknown>;

const inEachPart =
  (job: PartJob): Job =>
  async (deps, signal) =>
    !(await workIn(deps.db.parts, (part) => job({ ...deps, db: part }, signal))).includes(false);

/** A dead delivery can be replayed for this long. */
const unsentSeconds = 30 * 86_400;

/** Deletes at most `rows` rows that expired before a moment. */
type Purge = (part: Part, before: number, rows: number) => Promise<{ changes: number }>;

type Purges = readonly (readonly [Purge, keptSeconds: number | ((deps: Deps) => number), table?: TableName])[];

/** What expires in a way that its room knows, with the seconds for which it is kept then. */
const purgesOfRooms = {
  'expire grants': [[expireGrants, 0]],
  'purge grants': [[purgeEndedGrants, accessTokenSeconds + questionsSeconds]],
  'purge deliveries': deliveryKinds.flatMap(({ queue }) => [
    [queue.purgeDelivered, questionsSeconds] as const,
    [queue.purgeDead, unsentSeconds] as const,
    [queue.purgeUndeliverable, unsentSeconds] as const,
  ]),
  'purge daily counts': [
    [purgeDailyCounts, countsKeptSeconds],
    [purgeActiveUsers, activeKeptSeconds],
  ],
} satisfies Record<string, Purges>;

/** What expires by a column of its table. */
const purgesOfTables: readonly { job: ExpiryJob; purge: Purges[number] }[] = expiringTables.map(
  ({ name, job, keptSeconds = 0, keptDaysLimit }) => ({
    job,
    purge: [
      (part, before, rows) => deleteExpired(part, name, before, rows),
      keptDaysLimit === undefined ? keptSeconds : ({ config }) => config.limits[keptDaysLimit] * 86_400,
      name,
    ],
  }),
);

type PurgeName = keyof typeof purgesOfRooms | ExpiryJob;

/** All that expires; {@link dangerousSkewSeconds} are not counted. */
const purges: Readonly<Record<PurgeName, Purges>> = {
  ...purgesOfRooms,
  ...(Object.fromEntries<Purges>(
    purgesOfTables.map(({ job }) => [job, purgesOfTables.flatMap((one) => (one.job === job ? [one.purge] : []))]),
  ) as Record<ExpiryJob, Purges>),
};

/**
 * Deletes nothing while the clock is unsettled, which each slice checks: rows that only seem to have expired would be lost.
 * @param onDeleted gets the number of rows of each slice.
 * @returns false if the signal ended it before all was done.
 */
async function purge(
  deps: Deps,
  some: Purges,
  signal?: AbortSignal,
  onDeleted: (rows: number) => void = () => {},
): Promise<boolean> {
  // Where the clock is behind, what has expired here is still valid, and a row may be the only proof that it was used or revoked.
  const at = now(deps) - dangerousSkewSeconds;
  const inParts = some.flatMap((one) => partsOf(deps.db, one).map((part) => ({ part, one })));
  // Each part by itself to the end, so that one that is away leaves nothing undone in the others.
  const areDone = await workIn([...Map.groupBy(inParts, ({ part }) => part)], async ([part, purgesOfPart]) => {
    let isDone = true;
    for (const { one } of purgesOfPart) {
      const [deleteSome, kept] = one;
      const before = at - (typeof kept === 'number' ? kept : kept(deps));
      const slice = async (rows: number) => {
        const { changes } = deps.timekeeper.isSettled() ? await deleteSome(part, before, rows) : { changes: 0 };
        onDeleted(changes);
        return changes;
      };
      const runSlice = pace.slices();
      const isOver = () => runSlice(async (rows) => (await slice(rows)) < rows);
      // A slice of each, however little time there is: the first ones may always have something to delete.
      let isEmpty = await isOver();
      while (!isEmpty && !signal?.aborted) isEmpty = await isOver();
      isDone &&= isEmpty;
    }
    return isDone;
  });
  return !areDone.includes(false);
}

const partsOf = (db: Db, [, , table]: Purges[number]): readonly Part[] => (table ? partsWith(db, table) : db.parts);

/** All purges at once, for an operator who does not want to wait for the jobs. @returns how many rows each has changed. */
export async function purgeNow(deps: Deps): Promise<Record<PurgeName | 'purge codes', number>> {
  const counts = Object.fromEntries(namesOf(purges).map((name) => [name, 0])) as Record<PurgeName, number>;
  for (const name of namesOf(purges)) {
    await purge(deps, purges[name], undefined, (rows) => {
      counts[name] += rows;
    });
  }
  const purgeCodes = openCodePurge('');
  const codes = await workIn(deps.db.parts, (part) =>
    purgeCodes({ ...deps, db: part }, undefined, Number.POSITIVE_INFINITY),
  );
  return { ...counts, 'purge codes': codes.reduce((sum, one) => sum + one, 0) };
}

const namesOf = <Name extends string>(some: Record<Name, unknown>) => Object.keys(some) as Name[];

const deliveryJobs = Object.fromEntries(
  deliveryKinds.map(({ kind, job }) => [job, ({ deliverySenders }) => deliverySenders[kind].deliver()]),
) as Record<(typeof deliveryKinds)[number]['job'], Job>;

/** Each job is safe on every node at any time; one that fails does not stop the others. */
const jobs = {
  'record a heartbeat': (deps) => deps.processes.record(),
  'rotate keys': async (deps) => deps.timekeeper.isSettled() && rotateDueKeys(deps),
  'refresh settings': ({ settings }) => settings.refresh(),
  'refresh keys': (deps) => deps.keys.refresh(), // after the rotation, so that its key set is published at once
  'refresh attributes': (deps) => deps.attributes.read(), // so that discovery names the claims of now, without the store
  'send mails': (deps) => deps.mail.deliver(),
  'seal the audit log': ({ auditLog, db }, signal) => auditLog.seal(signal, db.parts),
  'publish the audit checkpoint': (deps) => deps.auditLog.publishCheckpoint(),
  ...deliveryJobs,
} satisfies Record<string, Job>;

/** Jobs that may take minutes: in bounded slices with pauses, and apart from the others, so that nothing waits for them. */
const longJobs = {
  'apply bulk revocations': inEachPart(applyBulkRevocations),
  'delete clients': finishClientDeletions,
  'delete unreviewed clients': async (deps, signal) => !deps.timekeeper.isSettled() || deleteUnreviewed(deps, signal),
  'delete accounts': finishAccountDeletions,
  'signal changes of groups': signalGroupChanges,
  'delete groups': finishGroupDeletions,
  'delete attributes': finishAttributeDeletions,
  'delete webhooks': finishWebhookDeletions,
  'delete signal streams': finishStreamDeletions,
  'stop signal streams': stopStreams,
  'pause full signal streams': pauseFullStreams,
  'rewrite email keys': inEachPart(rewriteEmailKeys),
  'settle claims': inEachPart(({ db, claims }, signal) => claims.settleAll(db, signal)),
  'add users to the search': inEachPart(completeMissingTerms),
  'add clients to the search': completeMissingClientTerms,
  'fetch logos': fetchDueLogos,
  'remind reviewers': remindReviewers,
  'report failing webhooks': reportFailingWebhooks,
  'mail recoveries': inEachPart(mailRecoveries),
  'bring attempts forward': inEachPart((deps, signal) =>
    bringAttemptsForward(deps, [retriedMails, ...deliveryKinds.map(({ queue }) => queue)], signal),
  ),
  'count audit events': inEachPart(countAuditEvents),
  'count refused sign-ins': inEachPart(countRefusedSignIns),
  'count second factors': inEachPart((deps, signal) => keepFactorShares(deps, countFactors, signal)),
  'sum sign-ins at clients': inEachPart(sumClients),
  'count sign-ins at clients': ({ signInCounter }) => signInCounter.flush(),
  'purge codes': inEachPart(openCodePurge()),
  ...(Object.fromEntries(
    namesOf(purges).map((name) => [name, (deps, signal) => purge(deps, purges[name], signal)]),
  ) as Record<PurgeName, Job>),
} satisfies Record<string, Job>;

/** For the processes of a node that serve besides its first one. */
const workerJobs = {
  'record a worker': (deps) => deps.processes.beat(),
} satisfies Record<string, Job>;

const everyJob: Readonly<Record<string, Job>> = { ...jobs, ...longJobs, ...workerJobs };
type JobName = keyof typeof jobs | keyof typeof longJobs | keyof typeof workerJobs;
/** Run every second, in this order. */
export const quickJobs: readonly JobName[] = ['seal the audit log', ...namesOf(deliveryJobs)];
const slowJobs = namesOf(jobs).filter((name) => name !== 'record a heartbeat' && !quickJobs.includes(name));

async function runJob(
  deps: Deps,
  name: JobName,
  logFailure: ReturnType<typeof failureLog>,
  signal?: AbortSignal,
): Promise<'done' | 'unfinished' | 'failed'> {
  try {
    return (await everyJob[name]!(deps, signal)) === false ? 'unfinished' : 'done';
  } catch (error) {
    if (!(error instanceof AuditLogTampered)) logFailure(name, error); // that is logged where it is thrown
    return 'failed';
  }
}

/** One after the other, each to its end. @returns whether all of them succeeded. */
export async function runJobs(
  deps: Deps,
  names: readonly JobName[] = [...namesOf(jobs), ...namesOf(longJobs)],
  logFailure = failureLog(deps),
  signal?: AbortSignal,
): Promise<boolean> {
  let isWell = true;
  for (const name of names) isWell = (await runJob(deps, name, logFailure, signal)) !== 'failed' && isWell;
  return isWell;
}

/** So long each long job works before the next one does. */
const turnMs = 10_000;

/**
 * All long jobs in turns, until none has anything left to do: to write the revocations of a client with millions of grants
 * takes an hour, and what has expired is deleted meanwhile.
 * @param signal ends them between two slices; no other job begins then.
 * @returns whether all of them succeeded. One that failed is tried again a minute later, while the others go on.
 */
export async function runLongJobs(
  deps: Deps,
  signal: AbortSignal,
  logFailure = failureLog(deps),
  ms = turnMs,
): Promise<boolean> {
  const { monotonic } = deps.timekeeper;
  const failedAt = new Map<JobName, number>();
  for (;;) {
    let isDone = true;
    for (const name of namesOf(longJobs)) {
      if (signal.aborted) break;
      if (monotonic() - (failedAt.get(name) ?? Number.NEGATIVE_INFINITY) < periodMs) continue;
      const outcome = await runJob(deps, name, logFailure, AbortSignal.any([signal, AbortSignal.timeout(ms)]));
      if (outcome === 'failed') failedAt.set(name, monotonic());
      else failedAt.delete(name);
      isDone &&= outcome !== 'unfinished';
    }
    if (isDone || signal.aborted) return failedAt.size === 0;
  }
}

export type StopJobs = () => Promise<void>;

const quickPeriodMs = 1000;

/** @returns a function that stops them, and resolves when those in progress have ended. */
export function startJobs(deps: Deps): StopJobs {
  const stopping = new AbortController();
  const logFailure = failureLog(deps);
  const run = (names: readonly JobName[], db: Db = deps.db) =>
    runJobs({ ...deps, db }, names, logFailure, stopping.signal);
  const stops = [
    async () => stopping.abort(),
    every(periodMs, () => run(['record a heartbeat'])), // by itself: no mail server may delay it
    every(periodMs, () => run(slowJobs)),
    every(periodMs, () => runLongJobs(deps, stopping.signal, logFailure)),
    // Each part by itself: one that is away, or whose chain has lost its end, is tried ever more rarely.
    ...deps.db.parts.map((part) => every(quickPeriodMs, () => run(['seal the audit log'], part))),
    keepKeysFresh(deps, logFailure),
    // Not awaited: a sender gives each target a turn and skips those whose turn lasts; it waits when it is closed.
    every(quickPeriodMs, async () => {
      for (const job of namesOf(deliveryJobs)) void run([job]);
      return true;
    }),
  ];
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}

/** @returns what {@link startJobs} does. */
export function startWorkerJobs(deps: Deps): StopJobs {
  const logFailure = failureLog(deps);
  const stops = [
    keepKeysFresh(deps, logFailure),
    every(periodMs, () => runJobs(deps, ['record a worker', 'refresh attributes'], logFailure)),
  ];
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}

/** Without this, a process that sees no tokens for a while would publish the key set of before a rotation elsewhere. */
export const keepKeysFresh = (deps: Deps, logFailure = failureLog(deps)): StopJobs =>
  every(quickPeriodMs, () => {
    deps.timekeeper.isSettled(); // called this often, it can distinguish drift from a jump
    return runJobs(deps, ['refresh keys', 'refresh settings'], logFailure);
  });

/** After failures with exponential backoff, up to a minute. */
function every(ms: number, work: () => Promise<boolean>): StopJobs {
  const maxSkipped = Math.max(0, Math.floor(periodMs / ms) - 1);
  let running: Promise<boolean> | undefined;
  let skipped = 0;
  let toSkip = 0;
  const timer = setInterval(async () => {
    if (running || skipped < toSkip) {
      skipped += 1;
      return;
    }
    running = work();
    const isWell = await running;
    running = undefined;
    skipped = 0;
    toSkip = isWell ? 0 : Math.min(maxSkipped, toSkip * 2 + 1);
  }, ms);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
