import { keyNames, type MovedTable } from './ends.ts';

// What makes a store note the keys of rows that change, and refuse changes once it is closed. Cascades fire triggers, too.

const isClosed = `store_moves where side = 'source' and closed_at is not null`;
const events = ['insert', 'update', 'delete'] as const;

const sqliteName = (name: string, event: string) => `store_move_${event}_${name}`;

export function sqliteTriggers(table: MovedTable): string[] {
  const note = (version: 'old' | 'new') => {
    const key = `json_array(${keyNames(table).map((name) => `${version}.${name}`)})`;
    // Not by "on conflict": that of the statement which changes the row would stand in its place.
    return `insert into store_move_changes (is_taken, table_name, row_key) select 0, '${table.name}', ${key}
      where not exists (select 1 from store_move_changes
                         where is_taken = 0 and table_name = '${table.name}' and row_key = ${key});`;
  };
  const notes = { insert: note('new'), update: note('old') + note('new'), delete: note('old') };
  return events.map(
    (event) => `create trigger if not exists ${sqliteName(table.name, event)} after ${event} on ${table.name} begin
      select raise(abort, 'the store is closed') from ${isClosed};
      ${notes[event]}
    end`,
  );
}

export const withoutSqliteTriggers = (name: string): string[] =>
  events.map((event) => `drop trigger if exists ${sqliteName(name, event)}`);

const functionName = (name: string) => `store_move_note_${name}`;

/** The function looks at the mark after it has noted, which waits for {@link End.holdChanges}. */
export function postgresTriggers(table: MovedTable): string[] {
  const note = (version: 'old' | 'new') =>
    `insert into store_move_changes (is_taken, table_name, row_key)
       values (0, '${table.name}', json_build_array(${keyNames(table).map((name) => `${version}.${name}`)})::text)
       on conflict do nothing;`;
  return [
    `create or replace function ${functionName(table.name)}() returns trigger language plpgsql as $body$ begin
       if tg_op <> 'INSERT' then ${note('old')} end if;
       if tg_op <> 'DELETE' then ${note('new')} end if;
       if exists (select 1 from ${isClosed}) then
         raise exception 'the store is closed' using errcode = '55000';
       end if;
       return null;
     end $body$`,
    `create or replace trigger store_move after insert or update or delete on ${table.name}
       for each row execute function ${functionName(table.name)}()`,
  ];
}

export const withoutPostgresTriggers = (name: string): string[] => [
  `drop trigger if exists store_move on ${name}`,
  `drop function if exists ${functionName(name)}()`,
];
