import { setTimeout as sleep } from 'node:timers/promises';
import type { OneDb } from './db.ts';
import { StoreUnavailable } from './engine.ts';
import { integer, row, text } from './rows.ts';
import { raw, sql } from './sql.ts';
import { allTables } from './tables.ts';

// Other servers than the first have a copy of the shared tables, which PostgreSQL's logical replication keeps up to date.

export const publication = 'signet_shared';

/** The name of a server's subscription; of its slot, too, which is unique on the first server. */
export const subscriptionOf = (server: string): string => `signet_shared_${server}`;

export const sharedTables: readonly string[] = allTables.flatMap(([name, { place }]) =>
  place === 'shared' ? [name] : [],
);

const changesShared = new RegExp(`\\b(?:insert\\s+into|update|delete\\s+from)\\s+(?:${sharedTables.join('|')})\\b`);

/** Whether the copies have to follow. */
export const isChangeOfShared = (sqlText: string): boolean => changesShared.test(sqlText);

const Slot = row('pg_replication_slots', { slot_name: text });
const Following = row('pg_stat_subscription', { following: integer });
const Place = row('pg_current_wal_lsn', { place: text });
const Behind = row('pg_replication_slots', { behind: integer });

/** For which a change waits until every copy has it. Beyond, the copies follow by themselves. */
const longestWaitMs = 2_000;
const pollMs = 5;

/** @param servers those with copies, by name. */
export function openCopies(first: OneDb, servers: ReadonlyMap<string, OneDb>) {
  const isFollowing = async (name: string, db: OneDb): Promise<boolean> => {
    const one = await db
      .get(
        Following,
        sql`select count(*) as following from pg_stat_subscription
             where subname = ${subscriptionOf(name)} and relid is null and pid is not null and received_lsn is not null
               and not exists (select 1 from pg_subscription_rel where srsubid = subid and srsubstate <> 'r')`,
      )
      .catch((error: unknown) => {
        if (error instanceof StoreUnavailable) return undefined;
        throw error;
      });
    return one?.following === 1;
  };

  /** The servers that have been added. */
  async function added(): Promise<[name: string, db: OneDb][]> {
    const slots = await first.all(
      Slot,
      sql`select slot_name from pg_replication_slots where slot_name like 'signet_shared_%' and database = current_database()`,
    );
    return [...servers].filter(([name]) => slots.some(({ slot_name }) => slot_name === subscriptionOf(name)));
  }

  return {
    added,

    /** The servers that do not follow, of those that have been added. */
    async away(): Promise<string[]> {
      const names = (await added()).map(async ([name, db]) => ((await isFollowing(name, db)) ? [] : [name]));
      return (await Promise.all(names)).flat();
    },

    /** Until every copy has what was committed before. */
    async haveFollowed(): Promise<void> {
      const place = (await first.get(Place, sql`select pg_current_wal_lsn()::text as place`))!.place;
      const slots = [...servers.keys()].map((name) => `'${subscriptionOf(name)}'`).join(', ');
      const behind = sql`select count(*) as behind from pg_replication_slots
         where slot_name in (${raw(slots)}) and confirmed_flush_lsn < ${place}::pg_lsn`;
      for (let waited = 0; waited < longestWaitMs; waited += pollMs) {
        if ((await first.get(Behind, behind))?.behind === 0) return;
        await sleep(pollMs);
      }
    },
  };
}

export const refusedForCopies = (away: readonly string[]): string =>
  `${away.length === 1 ? 'A server' : 'Servers'} of this store cannot be reached, or does not follow: ${away.join(', ')}. Clients, keys and whatever else all parts have a copy of are not changed meanwhile. Nothing was changed.`;
