import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { compareText, mergeAll } from '../platform/db/parts.ts';
import { choice, id, integer, jsonObject, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { CredentialId, UserId } from '../platform/ids.ts';
import { type EntitlementWrite, entitlementStatuses } from './entitlement.ts';

/** What a user or a product may read of an entitlement. */
const EntitlementRow = row('entitlements', {
  product: text,
  plan: text,
  status: choice(...entitlementStatuses),
  current_period_end: nullable(integer),
  source: text,
});

/** For administrators, never for users or products. */
const sourceNotes = {
  external_customer_id: nullable(text),
  external_subscription_id: nullable(text),
  metadata: nullable(jsonObject<Record<string, unknown>>()),
};

/** Times are Unix seconds. */
const StoredRow = row('entitlements', {
  ...EntitlementRow.fields,
  version: integer,
  ...sourceNotes,
  updated_at: integer,
});
export type StoredEntitlement = RowOf<typeof StoredRow>;

/** With the user who has it, of all users. */
const HeldRow = row('entitlements e join users u', {
  ...StoredRow.fields,
  user_id: id<UserId>(),
  email: text,
  name: nullable(text),
});
export type HeldEntitlement = RowOf<typeof HeldRow>;
export type HeldPlace = Pick<HeldEntitlement, 'updated_at' | 'status' | 'product'> & { user_id: string };

/** A write that was applied. */
const VersionRow = row('entitlement_versions', {
  ...EntitlementRow.fields,
  version: integer,
  ...sourceNotes,
  event_id: nullable(text),
  credential_id: id<CredentialId>(),
  written_at: integer,
});
export type EntitlementVersion = RowOf<typeof VersionRow>;

const userAndWrite = { user_id: id<UserId>(), write_id: text };
const NewEntitlement = row('entitlements', { ...StoredRow.fields, ...userAndWrite });
const NewVersion = row('entitlement_versions', { ...VersionRow.fields, user_id: userAndWrite.user_id });

/**
 * Applies a write if its version is higher than the stored one: one statement, so of any number of writers the highest
 * version wins and no reader ever sees it fall. Changes nothing for an unknown user or a stale version.
 */
export const upsertEntitlement = (write: EntitlementWrite, write_id: string, now: number): Sql =>
  sql`insert into entitlements ${NewEntitlement.select({ ...write, write_id, updated_at: now })}
        from users u where u.user_id = ${write.user_id} and u.deleted_at is null
      on conflict (user_id, product) do update set
        plan = excluded.plan, status = excluded.status, source = excluded.source, version = excluded.version,
        current_period_end = excluded.current_period_end, external_customer_id = excluded.external_customer_id,
        external_subscription_id = excluded.external_subscription_id, metadata = excluded.metadata,
        write_id = excluded.write_id, updated_at = excluded.updated_at
       where entitlements.version < excluded.version`;

/** Keeps an applied write in the history. The second use of an event conflicts. */
export const insertVersion = (write: EntitlementWrite, credential_id: string, now: number): Sql =>
  sql`insert into entitlement_versions ${NewVersion.values({ ...write, credential_id, written_at: now })}`;

const Conflict = row('users, entitlements, entitlement_versions', {
  stored_version: nullable(integer),
  event_version: nullable(integer),
  event_status: nullable(choice(...entitlementStatuses)),
});

/** Why a write was not applied: the stored version, and what its event wrote before. */
export const findConflict = (db: Db, { user_id, product, event_id }: EntitlementWrite) =>
  db.of(user_id).get(
    Conflict,
    sql`select e.version as stored_version, v.version as event_version, v.status as event_status
          from users u
          left join entitlements e on e.user_id = u.user_id and e.product = ${product}
          left join entitlement_versions v
            on v.user_id = u.user_id and v.product = ${product} and v.event_id = ${event_id}
         where u.user_id = ${user_id} and u.deleted_at is null`,
  );

/** By product. */
export const listEntitlements = (db: Db, user_id: string) =>
  db
    .of(user_id)
    .all(
      EntitlementRow,
      sql`select ${EntitlementRow.columns} from entitlements where user_id = ${user_id} order by product`,
    );

type HeldSearch = {
  status: HeldEntitlement['status'];
  product?: string;
  plan?: string;
  after?: HeldPlace;
  limit: number;
};

/** Of one status, the last changed first; of one second by user and product, and after all of those of an earlier status. */
export const listHeldEntitlements = (db: Db, { status, product, plan, after, limit }: HeldSearch) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        HeldRow,
        sql`select ${StoredRow.columnsOf('e')}, e.user_id, u.email, u.name
              from entitlements e join users u on u.user_id = e.user_id and u.deleted_at is null
             where e.status = ${status}
               ${product === undefined ? sql`` : sql`and e.product = ${product}`}
               ${plan === undefined ? sql`` : sql`and e.plan = ${plan}`}
               ${after === undefined ? sql`` : sql`and ${isBehind(after, status)}`}
             order by e.updated_at desc, e.user_id desc, e.product desc limit ${limit}`,
      ),
    (one, other) =>
      other.updated_at - one.updated_at ||
      compareText(other.user_id, one.user_id) ||
      compareText(other.product, one.product),
    limit,
  );

function isBehind({ updated_at, status, user_id, product }: HeldPlace, listed: HeldEntitlement['status']): Sql {
  const at = asBigint(updated_at);
  if (status === listed) return sql`(e.updated_at, e.user_id, e.product) < (${at}, ${user_id}, ${product})`;
  const isLater = entitlementStatuses.indexOf(listed) > entitlementStatuses.indexOf(status);
  return isLater ? sql`e.updated_at <= ${at}` : sql`e.updated_at < ${at}`;
}

/** By product. */
export const listStoredEntitlements = (db: Db, user_id: string) =>
  db
    .of(user_id)
    .all(StoredRow, sql`select ${StoredRow.columns} from entitlements where user_id = ${user_id} order by product`);

export type VersionPlace = Pick<EntitlementVersion, 'written_at' | 'product' | 'version'>;

/** Newest first. @param search.product of this one alone. */
export const listVersions = (
  db: Db,
  user_id: string,
  { product, before, limit }: { product?: string; before?: VersionPlace; limit: number },
) =>
  db.of(user_id).all(
    VersionRow,
    sql`select ${VersionRow.columns} from entitlement_versions
         where user_id = ${user_id} ${product ? sql`and product = ${product}` : sql``}
           ${
             before
               ? sql`and (written_at, product, version) <
                         (${asBigint(before.written_at)}, ${before.product}, ${asBigint(before.version)})`
               : sql``
           }
         order by written_at desc, product desc, version desc limit ${limit}`,
  );

const ofUsers = (table: 'entitlements' | 'entitlement_versions'): Sql =>
  sql`exists (select 1 from users u where u.user_id = ${raw(table)}.user_id and u.deleted_at is null)`;

export const exportedEntitlements = exportedTable('entitlements', {
  row: row('entitlements', { user_id: userAndWrite.user_id, ...StoredRow.fields }),
  where: ofUsers('entitlements'),
  follows: { columns: { write_id: text }, values: (_, { event_id }) => ({ write_id: event_id }) },
});

export const exportedVersions = exportedTable('entitlement_versions', {
  row: row('entitlement_versions', { user_id: userAndWrite.user_id, ...VersionRow.fields }),
  where: ofUsers('entitlement_versions'),
});
