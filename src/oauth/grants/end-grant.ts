import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { findUser } from '../../accounts/store.ts';
import { type Actor, auditEvent, type Caller } from '../../audit/audit.ts';
import type { RevocationReason } from '../../authentication/ports.ts';
import type { Deps } from '../../clients/deps.ts';
import { now } from '../../platform/clock.ts';
import type { Statement } from '../../platform/db/db.ts';
import { notFound } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { findGrant, type Grant, grantEndedBy, revokeGrant } from './store.ts';

type EndGrantDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'mail'>;

type Ending = {
  grant: Pick<Grant, 'grant_id' | 'user_id' | 'client_id' | 'session_id' | 'revoked_at'>;
  reason: RevocationReason;
  actor: Actor;
  address?: string;
};

/**
 * Ends a grant with all its tokens. If it was this call that ended it, the audit log says so, and so does a mail to the
 * person when it is neither their own doing nor the client's.
 */
export async function endGrant(deps: EndGrantDeps, ending: Ending): Promise<void> {
  const at = now(deps);
  const { grant_id, user_id, client_id, session_id } = ending.grant;
  const { event_id, statement } = auditEvent(
    {
      action: 'grant.revoked',
      actor: ending.actor,
      target: grant_id,
      reason: ending.reason,
      after: { user_id, client_id, session_id },
      address: ending.address,
      onlyIf: (id) => grantEndedBy(grant_id, id),
    },
    at,
  );
  await deps.db.batch([
    revokeGrant(grant_id, ending.reason, event_id, at),
    statement,
    ...(await mailAbout(deps, ending, event_id)),
  ]);
}

const mailOf: Partial<Record<RevocationReason, 'grant_replayed' | 'grant_ended'>> = {
  replay: 'grant_replayed',
  code_replay: 'grant_replayed',
  administrator: 'grant_ended',
};

async function mailAbout(deps: EndGrantDeps, { grant, reason }: Ending, event_id: string): Promise<Statement[]> {
  const name = mailOf[reason];
  if (name === undefined || grant.revoked_at !== null || !deps.mail.works) return [];
  const [user, client] = await Promise.all([findUser(deps.db, grant.user_id), deps.clients.find(grant.client_id)]);
  if (!user || !client || !(await mayMailAbout(deps, name, grant.user_id, maxMailsAboutRevocations))) return [];
  return mailTo(deps, user, name, { app: client.name }, grantEndedBy(grant.grant_id, event_id));
}

/**
 * An administrator ends a grant with all its tokens.
 * @throws {RequestError} `not_found` for one that is unknown or has ended.
 */
export async function endGrantOf(deps: EndGrantDeps, caller: Caller, grant_id: string): Promise<void> {
  const grant = await findGrant(deps.db, grant_id);
  if (!grant || grant.revoked_at !== null) throw notFound();
  await endGrant(deps, { grant, reason: 'administrator', ...caller });
}
