import type { Db, Part } from '../../platform/db/db.ts';
import { choice, id, integer, json, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { AlertId, ClientId, SessionId, UserId } from '../../platform/ids.ts';
import { AlertFacts } from './kinds.ts';

export const alertAnswers = ['me', 'not_me'] as const;
export type AlertAnswer = (typeof alertAnswers)[number];

const AlertRow = row('security_alerts', {
  alert_id: id<AlertId>(),
  user_id: id<UserId>(),
  /** An `AlertKind`, or one of a later version. */
  kind: text,
  client_id: nullable(id<ClientId>()),
  /** The session that it is about. */
  session_id: nullable(id<SessionId>()),
  facts: json(AlertFacts),
  created_at: integer,
  expires_at: integer,
  answer: nullable(choice(...alertAnswers)),
  answered_at: nullable(integer),
  /** The IP address of who answered. */
  answered_from: nullable(text),
});
export type AlertRow = RowOf<typeof AlertRow>;
export type NewAlert = Omit<AlertRow, 'answer' | 'answered_at' | 'answered_from'>;

/** Of one user: in all, and of one kind and app. Who causes many drives out those of the same kind, and no others. */
const maxAlerts = 200;
const maxAlike = 20;
/** Deleted at once: one comes with each. */
const maxSurplus = 50;

export const insertAlert = (alert: NewAlert): Sql[] => [
  sql`insert into security_alerts ${AlertRow.values(alert)}`,
  deleteSurplus(alert, maxAlike, sql`and kind = ${alert.kind} and coalesce(client_id, '') = ${alert.client_id ?? ''}`),
  deleteSurplus(alert, maxAlerts, sql``),
];

const deleteSurplus = ({ user_id }: NewAlert, kept: number, alike: Sql): Sql =>
  sql`delete from security_alerts where alert_id in (
        select alert_id from security_alerts where user_id = ${user_id} ${alike}
         order by created_at desc, alert_id desc limit ${maxSurplus} offset ${kept})`;

/** @param of whose it has to be. Of no user is one that would be in another part of the store. */
export async function findAlert(
  db: Db,
  alert_id: AlertId,
  of: { user_id: UserId } | { client_id: ClientId },
  now: number,
): Promise<AlertRow | undefined> {
  if ('user_id' in of && db.of(alert_id) !== db.of(of.user_id)) return undefined;
  return db.of(alert_id).get(
    AlertRow,
    sql`select ${AlertRow.columns} from security_alerts
         where alert_id = ${alert_id} and expires_at > ${now}
           and ${'user_id' in of ? sql`user_id = ${of.user_id}` : sql`client_id = ${of.client_id}`}`,
  );
}

/** Newest first. */
export const alertsOfUser = (db: Db, user_id: UserId, now: number) =>
  db.of(user_id).all(
    AlertRow,
    sql`select ${AlertRow.columns} from security_alerts where user_id = ${user_id} and expires_at > ${now}
         order by created_at desc, alert_id desc limit ${maxAlerts}`,
  );

/** Newest first, of a part of the store. */
export const alertsOfClient = (part: Part, client_id: ClientId, now: number, limit: number) =>
  part.all(
    AlertRow,
    sql`select ${AlertRow.columns} from security_alerts where client_id = ${client_id} and expires_at > ${now}
         order by created_at desc, alert_id desc limit ${limit}`,
  );

/** "Not me" can follow "me", and nothing else follows anything. */
export const answerAlert = (
  alert_id: AlertId,
  answer: AlertAnswer,
  { at, address }: { at: number; address: string },
): Sql =>
  sql`update security_alerts set answer = ${answer}, answered_at = ${at}, answered_from = ${address}
       where alert_id = ${alert_id} and ${answer === 'me' ? sql`answer is null` : sql`answer is distinct from 'not_me'`}`;
