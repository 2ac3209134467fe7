import { allOf, asText, join, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { actionsBy } from './actions.ts';

// What administrators and the command line have changed, among all that users do for themselves.

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

/** A service credential does nothing else but to write entitlements. */
const isByService = allOf([sql`substr(actor, 1, 8) = 'service:'`, sql`action not in ${oneOf(actionsBy('users'))}`]);

/**
 * On a row of the log: an administrator has done it to something that is not their own, a service credential that administers, or the
 * command line.
 */
export const isByAdministrator: Sql = sql`(actor = 'cli' or ${isByService} or ${allOf([
  sql`substr(actor, 1, 5) = 'user:'`,
  sql`action not in ${oneOf(actionsBy('users'))}`,
  sql`not (${join(
    isOwn.map((own) => sql`(${own})`),
    ' or ',
  )})`,
])})`;

/** Of what is by administrators, these parts can be found by an index. @param known ids of them and of service credentials. */
export const keysOfAdministrators = (known: readonly string[]): Sql[] => [
  sql`actor = 'cli'`,
  ...known.map((id) => sql`actor = ${`${id.startsWith('svc_') ? 'service' : 'user'}:${id}`}`),
  ...actionsBy('administrators').map((action) => sql`action = ${action}`),
];

/** What users do with their own account that has another target than it. */
const ownWithoutTarget = ['session.started', 'session.ended_others', 'consent.given', 'app.disconnected'];

/** The state names this user. */
export const isConcerned = (user_id: string): Sql =>
  sql`(action in ${oneOf(actionsBy('user_id'))} and ${says(sql`after_state`, 'user_id', asText(user_id))})`;

/** What happened with an account: of what an administrator did, only what they did with their own. */
export const isOfAccount = (user_id: string): Sql =>
  sql`(target = ${user_id}
       or (actor = ${`user:${user_id}`} and action in ${oneOf(ownWithoutTarget)})
       or ((actor = ${`user:${user_id}`} or of_user = ${user_id}) and ${isConcerned(user_id)}))`;
