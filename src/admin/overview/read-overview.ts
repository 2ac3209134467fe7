import { listAdministrators } from '../../accounts/administrators.ts';
import { findUser } from '../../accounts/users.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { hasEvent, readLog } from '../../audit/read-log.ts';
import { findTotp, listPasskeys } from '../../authentication/credentials/sign-in-methods.ts';
import { countNeedingReview, findClients } from '../../clients/find-clients.ts';
import { hasApprovedClient, listedWithRisks } from '../../clients/read-review.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listKeys } from '../../oauth/signing-keys/signing-keys.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { readStatistics } from '../../statistics/read-statistics.ts';
import { webhooksWithDead } from '../../webhooks/list-webhooks.ts';
import { namesIn } from '../audit/names.ts';

/** Clients to review and events that the overview shows. */
const maxShown = 5;

export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** All that an administrator finds on the first page. */
export async function readOverview(deps: Deps, administrator_id: string) {
  const [statistics, waiting, queue, webhooks, keys, log, latest, setup] = await Promise.all([
    readStatistics(deps),
    countNeedingReview(deps),
    findClients(deps, { listing: 'waiting', limit: maxShown }),
    webhooksWithDead(deps),
    listKeys(deps),
    deps.auditLog.state(),
    readLog(deps, {}, maxShown),
    readSetup(deps, administrator_id),
  ]);
  const [reviews, names] = await Promise.all([listedWithRisks(deps, queue.clients), namesIn(deps, latest.events)]);
  const isClockSteady = deps.timekeeper.isSettled();
  const mail = deps.mail.mode;
  return {
    ...{ statistics, waiting, reviews, webhooks, keys, log, setup, mail, isClockSteady },
    latest: { events: latest.events, names },
    now: now(deps),
  };
}

/** What the first administrator has to do, in this order, and whether it is done. */
async function readSetup(deps: Pick<Deps, 'db' | 'mail'>, administrator_id: string) {
  const { db, mail } = deps;
  const [user, totp, passkeys, administrators, client, master_key] = await Promise.all([
    findUser(db, administrator_id),
    findTotp(db, administrator_id),
    listPasskeys(db, administrator_id),
    listAdministrators(db),
    hasApprovedClient(db),
    hasEvent(db, 'master_key.backup_confirmed'),
  ]);
  return {
    email: typeof user?.email_verified_at === 'number',
    second_factor: typeof totp?.confirmed_at === 'number' || passkeys.length > 0,
    smtp: mail.mode === 'smtp',
    client,
    administrator: administrators.length > 1,
    master_key,
  };
}

/** For the checklist, which asks for it until an administrator has said so. */
export async function confirmMasterKeyBackup(deps: StoreDeps, caller: Caller): Promise<void> {
  if (await hasEvent(deps.db, 'master_key.backup_confirmed')) return;
  const event = auditEvent({ action: 'master_key.backup_confirmed', ...caller }, now(deps));
  await deps.db.change({ run: { event: event.statement } });
}
