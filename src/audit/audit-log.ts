import { now } from '../platform/clock.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { auditEvent, type Caller, readReason } from './audit.ts';
import {
  AuditLogTampered,
  type ChainDeps,
  type ChainFault,
  type ChainReport,
  type ExpectedHead,
  findLoss,
  genesis,
  lateThreshold,
  readHeads,
  recordAcceptedLoss,
  sealAuditLog,
  verifyAuditLog,
} from './chain.ts';
import { type AuditRow, chainHead, countUnsealed } from './store.ts';
import type { Head } from './witness.ts';

export type LogState = {
  /** How many events are sealed, wait for their seal, and have waited for it too long. */
  sealed: number;
  unsealed: number;
  late: number;
  /** What stops the sealing, and with it the webhooks. */
  lost: ChainFault | undefined;
};

/** Seals new events, and checks those that are sealed. */
export type AuditLog = {
  /**
   * Seals what is new and keeps the newest place outside the database. While the end of the chain is lost nothing is
   * sealed, which is logged once an hour.
   * @throws {AuditLogTampered} when nothing can be sealed; it has been logged.
   */
  seal(): Promise<void>;
  /** Seals what is new for a reader. A log that was tampered with can still be read; the check says where. */
  sealForReading(): Promise<void>;
  /**
   * Once an hour the newest place of the chain goes to the log of the process, which write access to the database does
   * not reach: `audit verify --expect` compares. Events that claim to be from long ago are logged each time.
   */
  publishCheckpoint(): Promise<void>;
  /** As {@link verifyAuditLog}. Without `expected`, a call while a check runs gets the report of that one. */
  verify(expected?: ExpectedHead): Promise<ChainReport>;
  state(): Promise<LogState>;
  /**
   * An operator acknowledges that the end of the chain is lost, as after a restore of a backup: events are sealed again,
   * on top of what there is. Every node learns it from the database, where it is sealed under the master key.
   * @returns what was lost, and the place at which the chain goes on.
   * @throws {RequestError} `invalid_state` when nothing is lost; `invalid_request` without a reason.
   */
  acceptLoss(caller: Caller, reason: string): Promise<{ lost: ChainFault; head: Head }>;
};

/** Seconds between two lines about the same loss, or about the head. */
const loggedEverySeconds = 3600;

/** @param onSeal statements to commit with the sealing of an event. */
export function openAuditLog(
  deps: ChainDeps & Pick<Deps, 'log'>,
  onSeal: (event: AuditRow) => readonly Sql[],
): AuditLog {
  let lossLoggedAt: number | undefined;
  let headLoggedAt: number | undefined;
  let verifying: Promise<ChainReport> | undefined;

  function logLoss({ loss }: AuditLogTampered): void {
    if (lossLoggedAt !== undefined && now(deps) - lossLoggedAt < loggedEverySeconds) return;
    lossLoggedAt = now(deps);
    deps.log.error(
      { ...loss, file: deps.witness.path },
      `${loss.why === 'file' ? 'the file with the checkpoint of the audit log cannot be read' : 'the end of the audit log is lost'}: no events are sealed and no webhooks are sent until an operator acts. On this machine, with the settings of this server, run: signet audit verify`,
    );
  }

  return {
    async seal() {
      try {
        await sealAuditLog(deps, onSeal);
      } catch (error) {
        if (error instanceof AuditLogTampered) logLoss(error);
        throw error;
      }
      if (lossLoggedAt !== undefined) deps.log.warn('sealing of the audit log has resumed');
      lossLoggedAt = undefined;
      await deps.witness.keep();
    },
    async sealForReading() {
      try {
        await sealAuditLog(deps, onSeal);
      } catch (error) {
        if (!(error instanceof AuditLogTampered)) throw error;
      }
    },
    async publishCheckpoint() {
      const head = await chainHead(deps.db);
      if (!head) return;
      const { late } = await countUnsealed(deps.db, lateThreshold(deps, head));
      if (late > 0) {
        deps.log.error({ unsealed_late: late }, 'the audit log contains events that were too late to be sealed');
      }
      if (headLoggedAt !== undefined && now(deps) - headLoggedAt < loggedEverySeconds) return;
      headLoggedAt = now(deps);
      deps.log.info({ expect: `${head.seq}:${head.seal}` }, 'audit log checkpoint');
    },
    verify(expected) {
      if (expected) return verifyAuditLog(deps, expected);
      verifying ??= verifyAuditLog(deps).finally(() => {
        verifying = undefined;
      });
      return verifying;
    },
    async state() {
      const lost = await findLoss(deps);
      const head = await chainHead(deps.db);
      const unsealed = await countUnsealed(deps.db, lateThreshold(deps, head));
      return { sealed: head?.seq ?? 0, unsealed: unsealed.all, late: unsealed.late, lost };
    },
    async acceptLoss(caller, text) {
      const reason = readReason(text);
      const lost = await findLoss(deps);
      if (!lost) throw refusal('invalid_state', { key: 'audit.nothing_lost', values: { file: deps.witness.path } });
      if (lost.why === 'file') throw refusal('invalid_state', { key: 'audit.file_unreadable' });
      const { seq, seal } = (await chainHead(deps.db)) ?? genesis;
      const seen = await deps.witness.known();
      const known = seen === undefined || seen === 'unreadable' ? undefined : seen;
      const earlier = Math.max((await readHeads(deps.db, deps.vault)).accepted?.accepted ?? 0, known?.accepted ?? 0);
      const event = auditEvent(
        {
          action: 'audit_log.loss_accepted',
          ...caller,
          reason,
          before: { seq: lost.seq, why: lost.why, seal: known?.seal },
          after: { seq, seal },
        },
        now(deps),
      );
      const acceptance = recordAcceptedLoss(deps.vault, { seq, seal, accepted: earlier + 1 });
      await deps.db.change({ run: { acceptance, event: event.statement } });
      return { lost, head: { seq, seal } };
    },
  };
}
