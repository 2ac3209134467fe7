import { mustChange, type Write } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { choice, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, type Sql, sql } from '../platform/db/sql.ts';
import type { ClientId } from '../platform/ids.ts';
import { type LogoProblem, logoProblems } from './choices.ts';

/** The table `client_logos`. Times are Unix seconds. */
const LogoRow = row('client_logos', {
  client_id: id<ClientId>(),
  /** `found`: from the address that it wants, for its reviewer. `shown`: what people see, as its reviewer has seen it. */
  stage: choice('found', 'shown'),
  url: text,
  /** Of its content; null until it has been fetched, with what follows. */
  picture_id: nullable(text),
  media_type: nullable(text),
  /** Base64. */
  content: nullable(text),
  width: nullable(integer),
  height: nullable(integer),
  fetched_at: nullable(integer),
  problem: nullable(choice(...logoProblems)),
  /** What the answer said, such as its status. */
  detail: nullable(text),
  attempts: integer,
  tried_at: nullable(integer),
  /** Null: it is not tried again by itself. */
  next_attempt_at: nullable(integer),
});
export type LogoRow = Readonly<RowOf<typeof LogoRow>>;

/** At most two of a client, in this order: found, shown. */
export const logosOf = (db: Db, client_id: string): Promise<LogoRow[]> =>
  db.shared.all(
    LogoRow,
    sql`select ${LogoRow.columns} from client_logos where client_id = ${client_id} order by stage`,
  );

const nothing = { picture_id: null, media_type: null, content: null, width: null, height: null, fetched_at: null };

/** Whatever is at another address is forgotten. Nothing for a client that was deleted meanwhile. */
export const wantLogo = (client_id: string, url: string, now: number): Sql => {
  const wanted = {
    client_id: client_id as ClientId,
    stage: 'found',
    url,
    ...nothing,
    problem: null,
    detail: null,
  } as const;
  const state = { attempts: 0, tried_at: null, next_attempt_at: now };
  return sql`insert into client_logos ${LogoRow.select({ ...wanted, ...state })} from clients where clients.client_id = ${client_id}
      on conflict (client_id, stage) do update set url = excluded.url, picture_id = null, media_type = null, content = null,
        width = null, height = null, fetched_at = null, problem = null, detail = null, attempts = 0, tried_at = null,
        next_attempt_at = excluded.next_attempt_at
      where client_logos.url <> excluded.url`;
};

export const deleteLogo = (client_id: string, stage: LogoRow['stage']): Sql =>
  sql`delete from client_logos where client_id = ${client_id} and stage = ${stage}`;

/** In place of what was shown. Refuses if it was fetched anew since it was read. */
export const showLogo = (client_id: string, picture_id: string): readonly (Sql | Write<never, true>)[] => [
  deleteLogo(client_id, 'shown'),
  mustChange(
    sql`update client_logos set stage = 'shown', next_attempt_at = null
         where client_id = ${client_id} and stage = 'found' and picture_id = ${picture_id}`,
  ),
];

const DueLogo = LogoRow.pick('client_id', 'url', 'attempts');
export type DueLogo = Readonly<RowOf<typeof DueLogo>>;

export const dueLogos = (db: Db, now: number, rows: number): Promise<DueLogo[]> =>
  db.shared.all(
    DueLogo,
    sql`select ${DueLogo.columns} from client_logos where next_attempt_at <= ${now} order by next_attempt_at limit ${rows}`,
  );

/** Changes nothing for one that was tried after `idleSince`, or asked for at another address. */
export const claimLogo = (
  { client_id, url }: Pick<DueLogo, 'client_id' | 'url'>,
  { now, idleSince, next_attempt_at }: { now: number; idleSince: number; next_attempt_at: number | null },
): Sql =>
  sql`update client_logos set ${LogoRow.set({ tried_at: now, next_attempt_at })}, attempts = attempts + 1
       where client_id = ${client_id} and stage = 'found' and url = ${url}
         and (tried_at is null or tried_at <= ${asBigint(idleSince)})`;

type Outcome = Pick<LogoRow, 'picture_id' | 'media_type' | 'content' | 'width' | 'height' | 'fetched_at'>;

/** Of the attempt that began at `tried_at`. @param isFinal whether it is not tried again by itself. */
export const saveLogo = (
  { client_id, url, tried_at }: Pick<DueLogo, 'client_id' | 'url'> & { tried_at: number },
  outcome: Outcome | { problem: LogoProblem; detail: string | null },
  isFinal: boolean,
): Sql => {
  const found = 'problem' in outcome ? { ...nothing, ...outcome } : { ...outcome, problem: null, detail: null };
  return sql`update client_logos set ${LogoRow.set({ ...found, ...(isFinal && { next_attempt_at: null }) })}
              where client_id = ${client_id} and stage = 'found' and url = ${url} and tried_at = ${asBigint(tried_at)}`;
};

const LogoType = row('client_logos', { media_type: text });
const LogoContent = row('client_logos', { content: text });

/** Of one that a client shows which people may use. */
export const findLogoType = (db: Db, picture_id: string) =>
  db.shared.get(
    LogoType,
    sql`select l.media_type from client_logos l join clients c on c.client_id = l.client_id
         where l.picture_id = ${picture_id} and l.stage = 'shown' and c.logo_id = l.picture_id and c.status = 'approved'
         limit 1`,
  );

export const findLogoContent = (db: Db, picture_id: string) =>
  db.shared.get(
    LogoContent,
    sql`select content from client_logos where picture_id = ${picture_id} and content is not null limit 1`,
  );

export const exportedLogos = exportedTable('client_logos', {
  row: LogoRow,
  where: sql`exists (select 1 from clients c where c.client_id = client_logos.client_id and c.status <> 'deleted')`,
});
