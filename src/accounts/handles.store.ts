import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { sumOfAll } from '../platform/db/parts.ts';
import { id, integer, row, text } from '../platform/db/rows.ts';
import { oneOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import { tables } from '../platform/db/tables.ts';
import { readableEmail } from '../platform/email-address.ts';
import { digest, type UserId } from '../platform/ids.ts';

/**
 * A handle that its user has given up stays theirs for so long. Relying parties should not recognize users by it (OIDC
 * Core §5.7), but some do, so it must not lead another user into an account there at once.
 */
const handleKeptSeconds = tables.handles.expires.keptSeconds;

/** Handles that a user can have at a time, those given up included. */
const maxHandles = 3;

const isKept = (now: number): Sql => sql`(released_at is null or released_at > ${now - handleKeptSeconds})`;

/** Where it is decided who has a handle. */
export const partOfHandle = (db: Db, handle: string): Part => db.of(digest(handle));

const others = (user_id: UserId, handle: string, now: number): Sql =>
  sql`select count(*) from handles where user_id = ${user_id} and handle_hash <> ${digest(handle)} and ${isKept(now)}`;

/**
 * A requirement of the user's part: behind a lock of their row, one more is not too many.
 * @param elsewhere {@link handlesElsewhere}.
 */
export const mayTakeHandle = (user_id: UserId, handle: string, now: number, elsewhere: number): Sql =>
  sql`(${others(user_id, handle, now)}) < ${raw(String(maxHandles - elsewhere))}`;

const Count = row('handles', { handles: integer });

/** How many other handles than this one a user has in other parts than their own. */
export const handlesElsewhere = (db: Db, user_id: UserId, handle: string, now: number): Promise<number> =>
  sumOfAll(db, async (part) =>
    part === db.of(user_id)
      ? 0
      : ((await part.get(Count, sql`select (${others(user_id, handle, now)}) as handles`))?.handles ?? 0),
  );

/** Changes no row if another user has it or has given it up too short a time ago, or if it is reserved. */
export const takeHandle = (user_id: UserId, handle: string, now: number): Sql =>
  sql`insert into handles (handle_hash, user_id, released_at) values (${digest(handle)}, ${user_id}, null)
      on conflict (handle_hash) do update set user_id = excluded.user_id, released_at = null
       where handles.user_id = excluded.user_id or handles.released_at <= ${now - handleKeptSeconds}`;

/** A condition in the part of a handle. @param invited the address whose reservation the user comes for. */
export const isTakenByOthers = (
  user_id: UserId,
  handle: string,
  { now, invited }: { now: number; invited?: string | undefined },
): Sql => {
  const own = [user_id, ...(invited === undefined ? [] : inviteesOf(invited))];
  return sql`exists (select 1 from handles where handle_hash = ${digest(handle)} and user_id not in ${oneOf(own)} and ${isKept(now)})`;
};

/** What was claimed is taken: no other user could meanwhile. */
export const keepHandle = (handle_hash: string, user_id: UserId): Sql =>
  sql`insert into handles (handle_hash, user_id, released_at) values (${handle_hash}, ${user_id}, null)
      on conflict (handle_hash) do update set user_id = excluded.user_id, released_at = null`;

export const releaseHash = (handle_hash: string, user_id: UserId, now: number): Sql =>
  sql`update handles set released_at = ${now}
       where handle_hash = ${handle_hash} and user_id = ${user_id} and released_at is null`;

/** Who holds what is reserved for the invitations of an address, spelled in one way. Like the handle, only as a hash. */
const inviteeOf = (email: string): string => `invitation:${digest(email)}`;

/**
 * Keeps a handle for the person who is invited, until the invitation expires: as if it had been given up so long ago that
 * it is free from then on. Changes no row if another user has it.
 */
export const reserveHandle = (email: string, handle: string, { until, now }: { until: number; now: number }): Sql =>
  sql`insert into handles (handle_hash, user_id, released_at)
      values (${digest(handle)}, ${inviteeOf(readableEmail(email))}, ${until - handleKeptSeconds})
      on conflict (handle_hash) do update set user_id = excluded.user_id, released_at = excluded.released_at
       where handles.user_id = excluded.user_id or handles.released_at <= ${now - handleKeptSeconds}`;

/** Of an invitation that was not made, since the address has an account: no other one of it can be used either. */
export const takeReservationBack = (email: string, handle: string): Sql =>
  sql`delete from handles where handle_hash = ${digest(handle)} and user_id = ${inviteeOf(readableEmail(email))}`;

const inviteesOf = (email: string): string[] => [email, readableEmail(email)].map(inviteeOf);

/** To be followed by {@link takeHandle} in the change by which the person joins. */
export const deleteReservations = (email: string): Sql =>
  sql`delete from handles where user_id in ${oneOf(inviteesOf(email))}`;

/** {@link deleteReservations} in the parts besides one. A reservation that is left ends with its invitation. */
export const deleteReservationsElsewhere = async (db: Db, here: Part, email: string): Promise<void> => {
  const others = db.parts.filter((part) => part !== here);
  await Promise.all(others.map((part) => part.run(deleteReservations(email))));
};

/** @param taken the one that the user has instead. */
export const releaseHandle = (user_id: UserId, now: number, taken?: string | null): Sql =>
  sql`update handles set released_at = ${now} where user_id = ${user_id} and released_at is null
         ${taken ? sql`and handle_hash <> ${digest(taken)}` : sql``}`;

/** Those given up, which are not free yet. Whose they are now is a member of a user. */
export const exportedHandles = exportedTable('handles', {
  row: row('handles', { handle_hash: text, user_id: id<UserId>(), released_at: integer }),
  where: sql`released_at is not null and user_id not like 'invitation:%'`,
});
