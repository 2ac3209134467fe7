import type { Condition } from '../audit/store.ts';
import type { Db, Statement } from '../platform/db/db.ts';
import type { Entitlement, EntitlementWrite } from './entitlement.ts';

/**
 * Applies a write if its version is higher than the stored one: one statement, so of any number of writers the highest
 * version wins and no reader ever sees it fall. No row for an unknown person or a stale version.
 */
export const upsertEntitlement = (write: EntitlementWrite, write_id: string, now: number): Statement => ({
  sql: `insert into entitlements (user_id, product, plan, status, source, version, current_period_end,
                                  external_customer_id, external_subscription_id, metadata, write_id, updated_at)
        select u.user_id, $2, $3, $4, $5, cast($6 as bigint), cast($7 as bigint), $8, $9, $10, $11, cast($12 as bigint)
          from users u where u.user_id = $1 and u.deleted_at is null
        on conflict (user_id, product) do update set
          plan = excluded.plan, status = excluded.status, source = excluded.source, version = excluded.version,
          current_period_end = excluded.current_period_end, external_customer_id = excluded.external_customer_id,
          external_subscription_id = excluded.external_subscription_id, metadata = excluded.metadata,
          write_id = excluded.write_id, updated_at = excluded.updated_at
         where entitlements.version < excluded.version`,
  params: [
    write.user_id,
    write.product,
    write.plan,
    write.status,
    write.source,
    write.version,
    write.current_period_end,
    write.external_customer_id,
    write.external_subscription_id,
    write.metadata,
    write_id,
    now,
  ],
});

/** Keeps an applied write in the history. A second use of its event violates the index, and its batch fails whole. */
export const insertVersion = (
  write: Pick<EntitlementWrite, 'user_id' | 'product' | 'event_id'>,
  by: { write_id: string; credential_id: string },
  now: number,
): Statement => ({
  sql: `insert into entitlement_versions (user_id, product, version, plan, status, source, current_period_end,
                                          external_customer_id, external_subscription_id, metadata, event_id,
                                          credential_id, written_at)
        select e.user_id, e.product, e.version, e.plan, e.status, e.source, e.current_period_end,
               e.external_customer_id, e.external_subscription_id, e.metadata, $3, $5, cast($6 as bigint)
          from entitlements e where e.user_id = $1 and e.product = $2 and e.write_id = $4`,
  params: [write.user_id, write.product, write.event_id, by.write_id, by.credential_id, now],
});

/** For an audit event's `onlyIf`: the row is what this write made of it. */
export const entitlementCarries = ({ user_id, product }: EntitlementWrite, write_id: string): Condition => ({
  sql: 'exists (select 1 from entitlements where user_id = $1 and product = $2 and write_id = $3)',
  params: [user_id, product, write_id],
});

/** What a write that was not applied has met. */
export const findConflict = (db: Db, { user_id, product, event_id }: EntitlementWrite) =>
  db.get<{
    stored_version: number | null;
    stored_status: Entitlement['status'] | null;
    event_version: number | null;
    event_status: string | null;
  }>(
    `select e.version as stored_version, e.status as stored_status, v.version as event_version, v.status as event_status
       from users u
       left join entitlements e on e.user_id = u.user_id and e.product = $2
       left join entitlement_versions v on v.user_id = u.user_id and v.product = $2 and v.event_id = $3
      where u.user_id = $1 and u.deleted_at is null`,
    [user_id, product, event_id],
  );

/** By product. */
export const listEntitlements = (db: Db, user_id: string) =>
  db.all<Entitlement>(
    `select product, plan, status, current_period_end, source from entitlements where user_id = $1 order by product`,
    [user_id],
  );

/** What a source says for itself: for administrators, never for people or products. */
type SourceNotes = {
  external_customer_id: string | null;
  external_subscription_id: string | null;
  /** JSON */
  metadata: string | null;
};

/** As it is stored. Times are Unix seconds. */
export type StoredEntitlement = Entitlement & SourceNotes & { version: number; updated_at: number };

/** By product. */
export const listStoredEntitlements = (db: Db, user_id: string) =>
  db.all<StoredEntitlement>(
    `select product, plan, status, current_period_end, source, version, external_customer_id,
            external_subscription_id, metadata, updated_at
       from entitlements where user_id = $1 order by product`,
    [user_id],
  );

/** A write that was applied. */
export type EntitlementVersion = Entitlement &
  SourceNotes & { version: number; event_id: string | null; credential_id: string; written_at: number };

/** Where a page of the history ended. */
export type VersionPlace = Pick<EntitlementVersion, 'written_at' | 'product' | 'version'>;

const afterAll: VersionPlace = { written_at: Number.MAX_SAFE_INTEGER, product: '', version: 0 };

/** Newest first. @param search.product of this one alone. */
export const listVersions = (
  db: Db,
  user_id: string,
  { product = '', before = afterAll, limit }: { product?: string; before?: VersionPlace; limit: number },
) =>
  db.all<EntitlementVersion>(
    `select product, version, plan, status, source, current_period_end, external_customer_id, external_subscription_id,
            metadata, event_id, credential_id, written_at
       from entitlement_versions
      where user_id = $1 and ($2 = '' or product = $2)
        and (written_at, product, version) < (cast($3 as bigint), $4, cast($5 as bigint))
      order by written_at desc, product desc, version desc limit $6`,
    [user_id, product, before.written_at, before.product, before.version, limit],
  );

export const deleteEntitlementsOfUser = (db: Db, user_id: string, rows: number) =>
  db.run(
    `delete from entitlements where (user_id, product) in
       (select user_id, product from entitlements where user_id = $1 limit $2)`,
    [user_id, rows],
  );

export const deleteVersionsOfUser = (db: Db, user_id: string, rows: number) =>
  db.run(
    `delete from entitlement_versions where (user_id, product, version) in
       (select user_id, product, version from entitlement_versions where user_id = $1 limit $2)`,
    [user_id, rows],
  );
