import { allOf, join, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { type AuditAction, auditActions } from './actions.ts';

// What administrators and the command line have changed, among all that users do for themselves.

/**
 * Who does it. `administrators`: they alone, and jobs. `users`: each user for themselves. The others are done by users to what is
 * their own, and by administrators to what is another's: by its `target`, by the `user_id` that it names, by the owner of the
 * client that is its target, or by the owner of the one whose `client_id` it names.
 */
const doneBy = {
  'user.created': 'target',
  'user.changed': 'target',
  'user.disabled': 'administrators',
  'user.enabled': 'administrators',
  'user.deleted': 'target',
  'user.signed_out': 'administrators',
  'user.unlocked': 'administrators',
  'user.factors_reset': 'administrators',
  'user.picture_removed': 'administrators',
  'user.role_changed': 'administrators',
  'user.invited': 'administrators',
  'user.invitation_revoked': 'administrators',
  'user.data_exported': 'target',
  'user.list_exported': 'administrators',
  'administrator.invited': 'administrators',
  'email.verification_asked': 'users',
  'email.verified': 'target',
  'email.change_asked': 'users',
  'email.changed': 'target',
  'password.changed': 'users',
  'password.set': 'users',
  'password.reset_link_created': 'administrators',
  'password.reset': 'users',
  'password.removed': 'users',
  'totp.confirmed': 'users',
  'totp.disabled': 'users',
  'backup_codes.regenerated': 'users',
  'backup_code.used': 'users',
  'passkey.added': 'users',
  'passkey.renamed': 'users',
  'passkey.removed': 'users',
  'passkey.copy_suspected': 'users',
  'identity.linked': 'users',
  'identity.unlinked': 'users',
  'session.started': 'users',
  'session.second_factor_asked': 'users',
  'session.refused': 'users',
  'session.ended': 'user_id',
  'session.ended_others': 'users',
  'client.registered': 'owner',
  'client.edited': 'owner',
  'client.approved': 'administrators',
  'client.rejected': 'administrators',
  'client.change_requested': 'owner',
  'client.change_withdrawn': 'owner',
  'client.change_approved': 'administrators',
  'client.change_rejected': 'administrators',
  'client.policy_changed': 'administrators',
  'client.suspended': 'administrators',
  'client.reinstated': 'administrators',
  'client.deleted': 'owner',
  'client.secret_added': 'owner',
  'client.secret_retired': 'owner',
  'consent.given': 'users',
  'app.disconnected': 'users',
  'grant.revoked': 'user_id',
  'logout.replayed': 'client_id',
  'entitlement.written': 'users',
  'service_credential.created': 'administrators',
  'service_credential.rotated': 'administrators',
  'service_credential.restricted': 'administrators',
  'service_credential.retired': 'administrators',
  'webhook.created': 'administrators',
  'webhook.edited': 'administrators',
  'webhook.enabled': 'administrators',
  'webhook.disabled': 'administrators',
  'webhook.secret_rotated': 'administrators',
  'webhook.tested': 'administrators',
  'webhook.replayed': 'administrators',
  'webhook.deleted': 'administrators',
  'key.rotated': 'administrators',
  'master_key.backup_confirmed': 'administrators',
  'master_key.replaced': 'administrators',
  'audit_log.loss_accepted': 'administrators',
  'store.backed_up': 'administrators',
  'store.restored': 'administrators',
  'mail.tested': 'administrators',
} as const satisfies Record<AuditAction, string>;

const actionsBy = (who: (typeof doneBy)[AuditAction]): readonly AuditAction[] =>
  auditActions.filter((action) => doneBy[action] === who);

/** A member of a state that is a text, as it stands in the JSON of the log. Not `like`, to which `_` is any character. */
const says = (state: Sql, member: string, value: Sql): Sql =>
  sql`replace(${state}, ${`"${member}":"`} || ${value} || '"', '') <> ${state}`;

const actorId = sql`substr(audit_log.actor, 6)`;
const isRegistration = sql`(r.target || ' ' || r.action) = audit_log.target || ' client.registered' and r.seq is not null`;

const isOwn: readonly Sql[] = [
  sql`action in ${oneOf(actionsBy('target'))} and actor = 'user:' || target`,
  sql`action in ${oneOf(actionsBy('user_id'))} and ${says(sql`after_state`, 'user_id', actorId)}`,
  sql`action in ${oneOf(actionsBy('owner'))}
      and exists (select 1 from audit_log r where ${isRegistration} and ${says(sql`r.after_state`, 'owner_user_id', actorId)})`,
  sql`action in ${oneOf(actionsBy('client_id'))}
      and exists (select 1 from audit_log r
                   where (r.actor || ' ' || r.action) = audit_log.actor || ' client.registered' and r.seq is not null
                     and ${says(sql`audit_log.after_state`, 'client_id', sql`r.target`)})`,
];

/** On a row of the log: an administrator has done it to something that is not their own, or the command line. */
export const isByAdministrator: Sql = sql`(actor = 'cli' or ${allOf([
  sql`substr(actor, 1, 5) = 'user:'`,
  sql`action not in ${oneOf(actionsBy('users'))}`,
  sql`not (${join(
    isOwn.map((own) => sql`(${own})`),
    ' or ',
  )})`,
])})`;

/** Of what is by administrators, these parts can be found by an index. @param known ids of administrators. */
export const keysOfAdministrators = (known: readonly string[]): Sql[] => [
  sql`actor = 'cli'`,
  ...known.map((user_id) => sql`actor = ${`user:${user_id}`}`),
  ...actionsBy('administrators').map((action) => sql`action = ${action}`),
];
