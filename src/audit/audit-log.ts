import { now } from '../platform/clock.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { auditEvent, type Caller, readReason } from './audit.ts';
import {
  AuditLogTampered,
  type ChainDeps,
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
import type { Head } from './witness.ts';

export type AuditLog = ReturnType<typeof openAuditLog>;

/** Seconds between two lines about the same loss, or about the head. */
const loggedEverySeconds = 3600;

/**
 * Seals new events, and checks those that are sealed.
 * @param onSeal statements to commit with the sealing of an event.
 */
export function openAuditLog(deps: ChainDeps & Pick<Deps, 'log'>, onSeal: (event: AuditRow) => readonly Sql[]) {
  let lossLoggedAt: number | undefined;
  let headLoggedAt: number | undefined;
  let backdatedLoggedAt: number | undefined;
  let verifying: Promise<ChainReport> | undefined;

  /** A clock that was set back keeps no line back for longer. */
  const wasJust = (loggedAt: number | undefined): boolean =>
    loggedAt !== undefined && Math.abs(now(deps) - loggedAt) < loggedEverySeconds;

  function logLoss({ loss }: AuditLogTampered): void {
    if (wasJust(lossLoggedAt)) return;
    lossLoggedAt = now(deps);
    deps.log.error(
      { ...loss, file: deps.witness.path },
      `${loss.why === 'file' ? 'the file with the checkpoint of the audit log cannot be read' : 'the end of the audit log is lost'}: no events are sealed and no webhooks are sent until an operator acts. On this machine, with the settings of this server, run: signet audit verify`,
    );
  }

  function logBackdated({ seq, event_id, action, at }: AuditRow & { seq: number }): void {
    if (wasJust(backdatedLoggedAt)) return;
    backdatedLoggedAt = now(deps);
    deps.log.warn(
      { seq, event_id, action, dated: new Date(at * 1000).toISOString() },
      'an event is sealed that is dated long before now and before the events sealed earlier: a clock was set, or it was written directly to the database',
    );
  }

  const seal = (bounds?: SealBounds) => sealAuditLog(deps, onSeal, bounds, logBackdated);

  return {
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
      if (lossLoggedAt !== undefined) deps.log.warn('sealing of the audit log has resumed');
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
      deps.log.info({ expect: `${head.seq}:${head.seal}` }, 'audit log checkpoint');
    },
    /** As {@link verifyAuditLog}. Without `expected`, concurrent calls share one check. */
    verify(expected?: Head): Promise<ChainReport> {
      if (expected) return verifyAuditLog(deps, expected);
      verifying ??= verifyAuditLog(deps).finally(() => {
        verifying = undefined;
      });
      return verifying;
    },
    async state() {
      const lost = await findLoss(deps);
      const head = await chainHead(deps.db);
      return { sealed: head?.seq ?? 0, unsealed: await countUnsealed(deps.db), lost };
    },
    /**
     * For the change that completes a restore, whose event says what was lost: the nodes no longer expect what came after the
     * backup. A chain that was broken before stays so.
     */
    async continueAfterRestore(): Promise<Sql[]> {
      if (await isBroken(deps)) return [];
      const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
      return recordAcceptedLoss(deps.vault, { seq, seal, accepted: (await earlierLosses(deps)) + 1 });
    },
    /**
     * An operator acknowledges that the end of the chain is lost, for example after a restore: events are sealed again, on
     * top of what there is. Other nodes read it from the database, where it is sealed under the master key.
     * @returns what was lost, and the head after which the chain continues.
     * @throws {RequestError} `invalid_state` when nothing is lost; `invalid_request` without a reason.
     */
    async acceptLoss(caller: Caller, text: string) {
      const reason = readReason(text);
      const lost = await findLoss(deps);
      if (!lost) throw refusal('invalid_state', { key: 'audit.nothing_lost', values: { file: deps.witness.path } });
      if (lost.why === 'file') throw refusal('invalid_state', { key: 'audit.file_unreadable' });
      const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
      const seen = await deps.witness.known();
      const known = seen === undefined || seen === 'unreadable' ? undefined : seen;
      const states = { before: { seq: lost.seq, why: lost.why, seal: known?.seal }, after: { seq, seal } };
      const event = auditEvent({ action: 'audit_log.loss_accepted', ...caller, reason, ...states }, now(deps));
      const acceptance = recordAcceptedLoss(deps.vault, { seq, seal, accepted: (await earlierLosses(deps)) + 1 });
      await deps.db.change({ run: { acceptance, event: event.statement } });
      return { lost, head: { seq, seal } };
    },
  };
}
