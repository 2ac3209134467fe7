import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { id, integer, row, text } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { UserId } from '../platform/ids.ts';

const StoredPicture = row('user_pictures', {
  picture_id: text,
  user_id: id<UserId>(),
  media_type: text,
  /** Base64. */
  content: text,
  created_at: integer,
});
const Picture = StoredPicture.pick('media_type', 'content');

/** In place of the one before. */
export const insertPicture = (
  picture: { picture_id: string; user_id: UserId; media_type: string; content: string },
  now: number,
): Sql[] => [
  deletePicture(picture.user_id),
  sql`insert into user_pictures ${StoredPicture.values({ ...picture, created_at: now })}`,
];

export const deletePicture = (user_id: UserId): Sql => sql`delete from user_pictures where user_id = ${user_id}`;

const PictureType = StoredPicture.pick('media_type');

/** Unless its user is disabled, or shows another one by now, which a node of the version before may have set. */
export const findPictureType = (db: Db, picture_id: string) =>
  db.of(picture_id).get(
    PictureType,
    sql`select ${PictureType.columnsOf('p')} from user_pictures p join users u on u.user_id = p.user_id
         where p.picture_id = ${picture_id} and u.disabled_at is null
           and u.picture like '%/' || p.picture_id`,
  );

export const findPicture = (db: Db, picture_id: string) =>
  db.of(picture_id).get(Picture, sql`select ${Picture.columns} from user_pictures where picture_id = ${picture_id}`);

export const findPictureOf = (db: Db, user_id: UserId) =>
  db.of(user_id).get(Picture, sql`select ${Picture.columns} from user_pictures where user_id = ${user_id}`);

const PlacedPicture = StoredPicture.pick('picture_id', 'user_id');

/** In the order of their ids. */
export const picturesAfter = (part: Part, after: string, limit: number) =>
  part.all(
    PlacedPicture,
    sql`select ${PlacedPicture.columns} from user_pictures where picture_id > ${after} order by picture_id limit ${limit}`,
  );

/** Of which its user has the address: see `showRenamedPicture`. */
export const renamePicture = (picture_id: string, to: string): Sql =>
  sql`update user_pictures set picture_id = ${to} where picture_id = ${picture_id}`;

/** Those that their users show. */
export const exportedPictures = exportedTable('user_pictures', {
  row: StoredPicture,
  where: sql`exists (select 1 from users u where u.user_id = user_pictures.user_id and u.deleted_at is null
                        and u.picture like '%/' || user_pictures.picture_id)`,
});
