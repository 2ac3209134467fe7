import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { askAll, workIn } from '../platform/db/parts.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { nameOfPart } from './all-chains.ts';
import { auditEvent, type Caller, readReason } from './audit.ts';
import {
  AuditLogTampered,
  type ChainDeps,
  type ChainFault,
  type ChainReport,
  earlierLosses,
  findLoss,
  genesis,
  isBroken,
  recordAcceptedLoss,
  type SealBounds,
  sealAuditLog,
  verifyAuditLog,
} from './chain.ts';
import { type AuditRow, chainHead, countUnsealed } from './store.ts';
import type { Head, Witnesses } from './witness.ts';

export type AuditLog = ReturnType<typeof openAuditLog>;

type LogDeps = Pick<Deps, 'db' | 'clock' | 'vault' | 'log'> & { readonly witness: Witnesses };
type OnSeal = (event: AuditRow) => readonly Sql[];

/** The check of each chain. `part` names it in a store of several. */
export type LogReport = readonly (ChainReport & { part?: string | undefined })[];

/** As one report; of several chains with each of them, and `head` of the first. */
export function reportOfAll(reports: LogReport): ChainReport & { parts?: LogReport } {
  const [first] = reports as readonly [LogReport[number]];
  if (reports.length === 1) return first;
  const sum = (of: (one: ChainReport) => number) => reports.reduce((all, one) => all + of(one), 0);
  return {
    verified: sum(({ verified }) => verified),
    head: first.head,
    unsealed: sum(({ unsealed }) => unsealed),
    set_back: { times: sum(({ set_back }) => set_back.times), last_seq: null },
    broken: reports.find(({ broken }) => broken)?.broken,
    stopped: reports.some(({ stopped }) => stopped),
    parts: reports,
  };
}

/** A place of a chain that must be in it; without `part` it is that of the whole store, or of its shared tables. */
export type ExpectedHead = Head & { part?: string | undefined };

/**
 * The log is one chain in each part of the store: each is sealed and checked by itself, and one whose part does not answer, or whose end
 * is lost, stops no other.
 * @param onSeal statements to commit with the sealing of an event.
 */
export function openAuditLog(deps: LogDeps, onSeal: OnSeal) {
  const chainOf = new Map<Part, ReturnType<typeof openChain>>(
    deps.db.parts.map((db) => [
      db,
      openChain({ ...deps, db, witness: deps.witness.of(db.schema) }, onSeal, nameOfPart(deps.db, db)),
    ]),
  );
  const chains = [...chainOf.values()];
  let verifying: Promise<LogReport> | undefined;

  return {
    /** No event of a part is sealed, as was found out when it was last tried. */
    get isStopped() {
      return chains.some((chain) => chain.isStopped);
    },
    /** The chains of these parts. @throws {AuditLogTampered} as the first of them that cannot be sealed. */
    seal: async (signal?: AbortSignal, parts: readonly Part[] = deps.db.parts): Promise<void> =>
      void (await workIn(parts, (part) => chainOf.get(part)!.seal(signal))),
    sealForReading: async (bounds?: SealBounds): Promise<void> =>
      void (await askAll(deps.db, (part) => chainOf.get(part)!.sealForReading(bounds))),
    publishCheckpoint: async (): Promise<void> => void (await workIn(chains, (chain) => chain.publishCheckpoint())),
    /** As {@link verifyAuditLog}. Without `expected`, concurrent calls share one check. */
    verify(expected?: ExpectedHead): Promise<LogReport> {
      if (expected) {
        const part = expected.part ?? chains[0]!.part;
        return workIn(chains, (chain) => chain.verify(chain.part === part ? expected : undefined));
      }
      verifying ??= workIn(chains, (chain) => chain.verify()).finally(() => {
        verifying = undefined;
      });
      return verifying;
    },
    /** Of each chain. */
    states: () => workIn(chains, (chain) => chain.state()),
    async state() {
      const states = await askAll(deps.db, (part) => chainOf.get(part)!.state());
      const sum = (of: 'sealed' | 'unsealed') => states.reduce((all, one) => all + one[of], 0);
      return { sealed: sum('sealed'), unsealed: sum('unsealed'), lost: states.find(({ lost }) => lost)?.lost };
    },
    /** For the changes that complete a restore, in each part. */
    continueAfterRestore: () => workIn(chains, (chain) => chain.continueAfterRestore()),
    /**
     * As of each chain that has lost something.
     * @throws {RequestError} `invalid_state` when nothing is lost; `invalid_request` without a reason.
     */
    async acceptLoss(caller: Caller, text: string) {
      const reason = readReason(text);
      const lost = (await workIn(chains, async (chain) => ({ chain, lost: await chain.loss() }))).filter(
        (one) => one.lost !== undefined,
      );
      if (lost.length === 0)
        throw refusal('invalid_state', { key: 'audit.nothing_lost', values: { file: deps.witness.path } });
      if (lost.some((one) => one.lost?.why === 'file'))
        throw refusal('invalid_state', { key: 'audit.file_unreadable' });
      return workIn(lost, (one) => one.chain.acceptLoss(caller, reason, one.lost!));
    },
  };
}

/** Seconds between two lines about the same loss, or about the head. */
const loggedEverySeconds = 3600;

/**
 * Seals new events of one part of the store, and checks those that are sealed.
 * @param part its name in a store of several.
 */
function openChain(deps: ChainDeps & Pick<Deps, 'log'>, onSeal: OnSeal, part: string | undefined) {
  const named = part === undefined ? {} : { part };
  let lossLoggedAt: number | undefined;
  let headLoggedAt: number | undefined;
  let backdatedLoggedAt: number | undefined;

  /** A clock that was set back keeps no line back for longer. */
  const wasJust = (loggedAt: number | undefined): boolean =>
    loggedAt !== undefined && Math.abs(now(deps) - loggedAt) < loggedEverySeconds;

  function logLoss({ loss }: AuditLogTampered): void {
    if (wasJust(lossLoggedAt)) return;
    lossLoggedAt = now(deps);
    deps.log.error(
      { ...named, ...loss, file: deps.witness.path },
      `${loss.why === 'file' ? 'the file with the checkpoint of the audit log cannot be read' : 'the end of the audit log is lost'}: no events are sealed and no webhooks are sent until an operator acts. On this machine, with the settings of this server, run: signet audit verify`,
    );
  }

  function logBackdated({ seq, event_id, action, at }: AuditRow & { seq: number }): void {
    if (wasJust(backdatedLoggedAt)) return;
    backdatedLoggedAt = now(deps);
    deps.log.warn(
      { ...named, seq, event_id, action, dated: new Date(at * 1000).toISOString() },
      'an event is sealed that is dated long before now and before the events sealed earlier: a clock was set, or it was written directly to the database',
    );
  }

  const seal = (bounds?: SealBounds) => sealAuditLog(deps, onSeal, bounds, logBackdated);

  return {
    part,
    /** No event is sealed, as was found out when it was last tried. */
    get isStopped() {
      return lossLoggedAt !== undefined;
    },
    /**
     * Seals new events and stores the head outside the database. A lost end of the chain is logged once an hour.
     * @param signal leaves the rest of a backlog to the next process.
     * @throws {AuditLogTampered} when nothing can be sealed; it has been logged.
     */
    async seal(signal?: AbortSignal): Promise<void> {
      try {
        await seal({ signal });
      } catch (error) {
        if (error instanceof AuditLogTampered) logLoss(error);
        throw error;
      }
      if (lossLoggedAt !== undefined) deps.log.warn(named, 'sealing of the audit log has resumed');
      lossLoggedAt = undefined;
      await deps.witness.keep();
    },
    /**
     * A log that was tampered with can still be read; {@link verifyAuditLog} says where.
     * @param bounds of a page, which must not wait for a whole backlog, as when sealing has just resumed.
     */
    async sealForReading(bounds?: SealBounds): Promise<void> {
      try {
        await seal(bounds);
      } catch (error) {
        if (!(error instanceof AuditLogTampered)) throw error;
      }
    },
    /** Logs the head once an hour, out of reach of write access to the database, for `audit verify --expect`. */
    async publishCheckpoint(): Promise<void> {
      const head = await chainHead(deps.db);
      if (!head) return;
      if (wasJust(headLoggedAt)) return;
      headLoggedAt = now(deps);
      deps.log.info({ expect: textOfHead({ ...named, ...head }) }, 'audit log checkpoint');
    },
    verify: async (expected?: Head) => ({ ...named, ...(await verifyAuditLog(deps, expected)) }),
    async state() {
      const lost = await findLoss(deps);
      const head = await chainHead(deps.db);
      return { db: deps.db, sealed: head?.seq ?? 0, unsealed: await countUnsealed(deps.db), lost };
    },
    loss: () => findLoss(deps),
    /**
     * For the change that completes a restore, whose event says what was lost: the nodes no longer expect what came after the
     * backup. A chain that was broken before stays so.
     */
    async continueAfterRestore(): Promise<{ db: Part; log: Sql[] }> {
      if (await isBroken(deps)) return { db: deps.db, log: [] };
      const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
      const log = recordAcceptedLoss(deps.vault, { seq, seal, accepted: (await earlierLosses(deps)) + 1 });
      return { db: deps.db, log };
    },
    /**
     * An operator acknowledges that the end of the chain is lost, for example after a restore: events are sealed again, on
     * top of what there is. Other nodes read it from the database, where it is sealed under the master key.
     * @returns what was lost, and the head after which the chain continues.
     */
    async acceptLoss(caller: Caller, reason: string, lost: ChainFault) {
      const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
      const seen = await deps.witness.known();
      const known = seen === undefined || seen === 'unreadable' ? undefined : seen;
      const states = { before: { seq: lost.seq, why: lost.why, seal: known?.seal }, after: { seq, seal } };
      const event = auditEvent({ action: 'audit_log.loss_accepted', ...caller, reason, ...states }, now(deps));
      const acceptance = recordAcceptedLoss(deps.vault, { seq, seal, accepted: (await earlierLosses(deps)) + 1 });
      await deps.db.change({ run: { acceptance, event: event.statement } });
      return { ...named, lost, head: { seq, seal } };
    },
  };
}

/** As a check and the log print it, for `--expect`. */
export const textOfHead = ({ part, seq, seal }: ExpectedHead): string =>
  part === undefined ? `${seq}:${seal}` : `${part}:${seq}:${seal}`;
