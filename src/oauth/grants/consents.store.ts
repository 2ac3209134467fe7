import type { Db } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, UserId } from '../../platform/ids.ts';

const Consent = row('consents', {
  client_id: id<ClientId>(),
  scope: text,
  claims: nullable(text),
  apis: nullable(text),
  granted_at: integer,
});
const Consented = Consent.pick('scope', 'claims', 'apis');
/** The scope that a user has allowed a client, claims beside it, and ids of APIs; words with spaces between them. */
export type Consented = RowOf<typeof Consented>;

export const findConsent = (db: Db, user_id: UserId, client_id: ClientId): Promise<Consented | undefined> =>
  db
    .of(user_id)
    .get(
      Consented,
      sql`select ${Consented.columns} from consents where user_id = ${user_id} and client_id = ${client_id}`,
    );

/** @param consented the union with what was allowed before. */
export const saveConsent = (user_id: UserId, client_id: ClientId, consented: Consented, now: number): Sql =>
  sql`insert into consents (user_id, client_id, scope, claims, apis, granted_at)
      values (${user_id}, ${client_id}, ${consented.scope}, ${consented.claims}, ${consented.apis}, ${now})
      on conflict (user_id, client_id) do update set scope = excluded.scope, claims = excluded.claims,
             apis = excluded.apis,             granted_at = excluded.granted_at`;

export const listConsents = (db: Db, user_id: UserId) =>
  db.of(user_id).all(Consent, sql`select ${Consent.columns} from consents where user_id = ${user_id}`);

export const deleteConsent = (user_id: UserId, client_id: ClientId): Sql =>
  sql`delete from consents where user_id = ${user_id} and client_id = ${client_id}`;

export const exportedConsents = exportedTable('consents', {
  row: row('consents', { user_id: id<UserId>(), ...Consent.fields }),
  where: sql`exists (select 1 from users u, clients c where u.user_id = consents.user_id and u.deleted_at is null
                        and c.client_id = consents.client_id and c.status <> 'deleted')`,
});
