import { ClientRow } from '../../clients/client.ts';
import { hasClientTerms } from '../../clients/statements.ts';
import { isAmong } from '../../groups/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import type { RowOf } from '../../platform/db/rows.ts';
import { asText, type Sql, sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import type { TermRange } from '../../platform/search-terms.ts';
import { isActive } from '../grants/lists.store.ts';

const StartableClient = ClientRow.pick(
  'client_id',
  'name',
  'status',
  'homepage_url',
  'initiate_login_uri',
  'logo_id',
  'created_at',
);
/** A client with an address to start it at. */
export type StartableClient = Readonly<RowOf<typeof StartableClient>>;

// The first two are those of the index `clients_to_start`, word for word: else SQLite would read every approved client.

/** Without what came by itself, since with its host approved in advance no reviewer has seen it. */
const isStartable = sql`c.status = 'approved' and c.origin is null
  and (c.initiate_login_uri is not null or c.homepage_url is not null)`;

/** The operator's own, and what is for some groups. Consent that is skipped tells nothing: it is what an approval by API has by default. */
const isOffered = sql`(c.is_first_party = 1 or c.allowed_groups is not null)`;

const isUsedBy = (user_id: UserId, now: number): Sql =>
  sql`(c.client_id in (select client_id from consents where user_id = ${user_id})
       or c.client_id in (select client_id from grants where user_id = ${user_id} and ${isActive(now)}))`;

type Search = { ranges: readonly TermRange[]; limit: number; now: number };

/** Those that a user may start: the first of them in the order of registration, of those that are offered here and of those that they use. */
export async function startableClients(
  db: Db,
  user_id: UserId,
  { ranges, limit, now }: Search,
): Promise<{ offered: StartableClient[]; used: StartableClient[] }> {
  const those = (condition: Sql) =>
    db.of(user_id).all(
      StartableClient,
      sql`select ${StartableClient.columnsOf('c')} from clients c
           where ${isStartable} and ${condition} and ${isAmong(sql`c.allowed_groups`, asText(user_id))}
             and ${hasClientTerms(sql`c.client_id`, ranges)}
           order by c.created_at, c.client_id limit ${limit}`,
    );
  const [offered, used] = await Promise.all([those(isOffered), those(isUsedBy(user_id, now))]);
  return { offered, used };
}
