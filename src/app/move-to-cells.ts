import {
  claimOfEmail,
  claimOfUserName,
  countSameMailbox,
  picturesAfter,
  renamePicture,
  showRenamedPicture,
} from '../accounts/statements.ts';
import { claimOfIdentity, claimOfPasskey } from '../authentication/statements.ts';
import type { Claim } from '../platform/claims.ts';
import type { OneDb, Part } from '../platform/db/db.ts';
import type { MovedTable, Placed, Row, Target, Value } from '../platform/db/move/ends.ts';
import { refuseOldIds } from '../platform/db/move/old-ids.ts';
import type { OpenEnds } from '../platform/db/move/open-ends.ts';
import { MoveRefused } from '../platform/db/move/refused.ts';
import { type TableName, tables } from '../platform/db/tables.ts';
import { bucketOf, newIdOf } from '../platform/ids.ts';
import type { Placement } from '../platform/placement.ts';

type Store = { db: OneDb; placement: Placement };

/** The value of a row in a column. */
type Read = (column: string) => Value;
const text = (value: Value): string => String(value ?? '');

/** Columns that lead to the part of a row of the place `key`, where it is not its own key. */
const leading: Partial<Record<TableName, string>> = { client_failures: 'client_id' };

/** Rows that are read at once. */
const page = 500;

/**
 * Makes sure that a store in one part can be divided. A picture of before ids said whose it is gets another id, since it stays.
 * @param at Unix seconds.
 * @throws {MoveRefused}
 */
export async function prepareToDivide(db: OneDb, at: number): Promise<void> {
  await refuseOldIds(db, at);
  const twice = await countSameMailbox(db);
  if (twice > 0) {
    throw new MoveRefused(
      `${twice} accounts have the mailbox of another account, as signet doctor says, and in cells an address leads to one. Give them other addresses, or delete them, before the move. Nothing was changed.`,
    );
  }
  for (let after = '', isLast = false; !isLast; ) {
    const pictures = await picturesAfter(db, after, page);
    for (const { picture_id, user_id } of pictures) {
      if (bucketOf(picture_id) === bucketOf(user_id)) continue;
      const to = newIdOf(user_id, 'pic');
      await db.change({
        run: { picture: renamePicture(picture_id, to), user: showRenamedPicture(user_id, picture_id, to, at) },
      });
    }
    after = pictures.at(-1)?.picture_id ?? after;
    isLast = pictures.length < page;
  }
}

/** Filled from the rows of users ({@link claimsIn}), and by the store itself. */
const madeAnew: readonly string[] = ['claims', 'cells'] satisfies TableName[];
export const isMovedToCells = ({ name }: MovedTable): boolean => !madeAnew.includes(name);

/**
 * A store in cells as the target of a move from a store in one part. Each row goes where the rooms look for it. Of some nothing but a
 * hash is known, which does not say where they are looked for: they are few, and end by themselves, so they are in every cell. The audit
 * log stays one chain, that of the shared tables; those of the cells begin.
 * @param ends of the parts of the store, in their order.
 */
export function targetInCells({ parts: ends, copies }: Pick<OpenEnds, 'parts' | 'copies'>, store: Store): Target {
  const endOf = new Map(store.db.parts.map((part, place) => [part as Part, ends[place]!]));
  const [home, ...cells] = ends;

  function placesOf(table: MovedTable, row: Row): readonly Placed[] {
    const name = table.name as TableName;
    const { place, key } = tables[name];
    const read = readerOf(table, row);
    const at = (part: Part): Placed[] => [{ part: endOf.get(part)!, row }];
    const inCells = (some = row): Placed[] => cells.map((part) => ({ part, row: some }));
    const changed = (values: Record<string, Value>): Row =>
      table.columns.map((column, place) => values[column.name] ?? row[place]!);
    const [own = ''] = key.split(', ');
    switch (name) {
      case 'failure_counters':
        return inCells();
      case 'counted_places':
        return [{ part: home, row }, ...inCells(changed({ audit_seq: 0 }))];
      case 'daily_counts':
        // A user who is active again is taken from an earlier day, in their own part; the sum over all parts is shown.
        return read('kind') === 'last_active'
          ? [{ part: home, row }, ...inCells(changed({ count: 0 }))]
          : [{ part: home, row }];
    }
    if (place === 'key') return at(store.db.of(text(read(leading[name] ?? own))));
    if (place !== 'user') return [{ part: home, row }];
    // Of no user yet, it is where one with its address would be.
    const [of, email] = [read('user_id') ?? read('jti'), read('email')];
    if (of !== null) return at(store.db.of(text(of)));
    return email === null ? inCells() : at(store.db.in(store.placement.bucketOfEmail(text(email))));
  }

  const claimsIn = claimsOfRows(store);
  return {
    parts: ends,
    copiesOf: ({ name }) => (tables[name as TableName].place === 'shared' ? copies : []),
    partsOf: ({ name }) => (isShared(name as TableName) ? [home] : ends),
    placesOf,
    isAsBefore: ({ name }) => !several.includes(name as TableName),
    claimsOf(table) {
      const claimsOf = claimsIn[table.name];
      if (claimsOf === undefined) return undefined;
      return (row) => {
        const read = readerOf(table, row);
        return claimsOf(read).map(({ part, key }) => ({
          part: endOf.get(part)!,
          claim_key: key,
          user_id: text(read('user_id')),
        }));
      };
    },
  };
}

/** Whose rows may be in several parts, or are not the same in each. */
const several: readonly TableName[] = [
  'counted_places',
  'daily_counts',
  'failure_counters',
  'grant_endings',
  'one_time_links',
  'spent_tokens',
];

const isShared = (name: TableName): boolean => ['shared', 'home'].includes(tables[name].place);

const columnsOf = new WeakMap<MovedTable, ReadonlyMap<string, number>>();

function readerOf(table: MovedTable, row: Row): Read {
  const columns = columnsOf.getOrInsertComputed(
    table,
    () => new Map(table.columns.map(({ name }, place) => [name, place])),
  );
  return (column) => row[columns.get(column)!] ?? null;
}

/** What the rows of a table claim in a store of several parts. */
function claimsOfRows({ db, placement }: Store): Record<string, (read: Read) => Claim[]> {
  return {
    users(read) {
      if (read('deleted_at') !== null) return [];
      const claim = claimOfEmail({ db, placement }, text(read('email')));
      return claim.part === db.of(text(read('user_id'))) ? [] : [claim];
    },
    identities: (read) => [claimOfIdentity(db, text(read('issuer')), text(read('subject')))],
    passkeys: (read) => [claimOfPasskey(db, text(read('credential_id')))],
    scim_users: (read) => [claimOfUserName(db, text(read('user_name_key')))],
  };
}
