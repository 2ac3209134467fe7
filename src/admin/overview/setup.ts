import { findUser, listAdministrators } from '../../accounts/statements.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { hasEvent } from '../../audit/statements.ts';
import { findTotp, listPasskeys } from '../../authentication/statements.ts';
import { hasApprovedClient } from '../../clients/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { findHiddenSteps, hideSteps, showSteps } from './store.ts';

/** What the first administrator has to do, in this order. */
export const steps = ['email', 'second_factor', 'smtp', 'client', 'administrator', 'master_key'] as const;
type Step = (typeof steps)[number];

/** `open` is empty once all is done; `isHidden` by the administrator who reads it. */
export type Setup = { readonly open: readonly Step[]; readonly isHidden: boolean };

type SetupDeps = Pick<Deps, 'db' | 'mail'>;

export async function readSetup(deps: SetupDeps, administrator_id: string): Promise<Setup> {
  const [open, hidden] = await Promise.all([
    openSteps(deps, administrator_id),
    findHiddenSteps(deps.db, administrator_id),
  ]);
  return { open, isHidden: open.every((step) => hidden.includes(step)) };
}

async function openSteps({ db, mail }: SetupDeps, administrator_id: string): Promise<Step[]> {
  const [user, totp, passkeys, administrators, client, master_key] = await Promise.all([
    findUser(db, administrator_id),
    findTotp(db, administrator_id),
    listPasskeys(db, administrator_id),
    listAdministrators(db),
    hasApprovedClient(db),
    hasEvent(db, 'master_key.backup_confirmed'),
  ]);
  const isDone: Readonly<Record<Step, boolean>> = {
    email: typeof user?.email_verified_at === 'number',
    second_factor: typeof totp?.confirmed_at === 'number' || passkeys.length > 0,
    smtp: mail.mode === 'smtp',
    client,
    administrator: administrators.length > 1,
    master_key,
  };
  return steps.filter((step) => !isDone[step]);
}

/**
 * Hides the checklist from one administrator: others have not decided that its steps can wait. It hides the steps that are open
 * now, so that the list is there again when one that was done is not any more. What one reads is no event of the audit log.
 */
export async function hideChecklist(deps: SetupDeps, administrator_id: string): Promise<void> {
  const open = await openSteps(deps, administrator_id);
  if (open.length > 0)
    await deps.db.of(administrator_id).change({ run: { hidden: hideSteps(administrator_id, open) } });
}

export async function showChecklist({ db }: Pick<Deps, 'db'>, administrator_id: string): Promise<void> {
  await db.of(administrator_id).change({ run: { shown: showSteps(administrator_id) } });
}

/** For the checklist, which asks for it until an administrator has said so. */
export async function confirmMasterKeyBackup(deps: StoreDeps, caller: Caller): Promise<void> {
  if (await hasEvent(deps.db, 'master_key.backup_confirmed')) return;
  const event = auditEvent({ action: 'master_key.backup_confirmed', ...caller }, now(deps));
  await deps.db.shared.change({ run: { event: event.statement } });
}
