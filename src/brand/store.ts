import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { integer, json, jsonObject, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { type BrandSettings, plainBrand } from '../platform/pages/brand.ts';
import { Type } from '../platform/schema.ts';

/** The table `brand_versions`. Times are Unix seconds. */
const VersionRow = row('brand_versions', {
  version: integer,
  settings: jsonObject<BrandSettings>(),
  restored_from: nullable(integer),
  actor: text,
  created_at: integer,
});
const StoredVersion = row('brand_versions', { version_key: text, ...VersionRow.fields });
const PictureRow = row('brand_pictures', { picture_id: text, media_type: text, content: text, created_at: integer });

const Current = VersionRow.pick('version', 'settings');

export const readNewest = (db: Db) =>
  db.shared.get(Current, sql`select version, settings from brand_versions order by version desc limit 1`);

/** The newest first. They are few: see `maxVersions`. */
export const readVersions = (db: Db, limit: number) =>
  db.shared.all(VersionRow, sql`select ${VersionRow.columns} from brand_versions order by version desc limit ${limit}`);

/** Conflicts with another change that was made meanwhile. */
export const insertVersion = (version: RowOf<typeof VersionRow>): Sql =>
  sql`insert into brand_versions ${StoredVersion.values({ ...version, version_key: String(version.version) })}`;

export const deleteVersionsBefore = (version: number): Sql =>
  sql`delete from brand_versions where version < ${version}`;

/** The same file again is there already. */
export const insertPicture = (picture: Parameters<typeof PictureRow.values>[0]): Sql =>
  sql`insert into brand_pictures ${PictureRow.values(picture)} on conflict (picture_id) do nothing`;

export const deletePictures = (ids: readonly string[]): Sql =>
  sql`delete from brand_pictures where picture_id in ${oneOf(ids)}`;

const Content = PictureRow.pick('content');

export const readPictureFile = (db: Db, picture_id: string) =>
  db.shared.get(Content, sql`select content from brand_pictures where picture_id = ${picture_id}`);

const orNull = Type.Union([Type.String(), Type.Null()]);
const Settings = Type.Object(
  {
    ...Object.fromEntries(
      Object.entries(plainBrand)
        .filter(([, value]) => value === null)
        .map(([member]) => [member, Type.Optional(orNull)]),
    ),
    name_shown: Type.Boolean(),
    radius: Type.Integer(),
    font: Type.String(),
    pictures: Type.Record(
      Type.String(),
      Type.Object({
        picture_id: Type.String(),
        media_type: Type.String(),
        width: Type.Integer(),
        height: Type.Integer(),
      }),
    ),
    words: Type.Record(Type.String(), Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);

export const exportedVersions = exportedTable('brand_versions', {
  row: row('brand_versions', { ...StoredVersion.fields, settings: json(Settings) }),
});
export const exportedPictures = exportedTable('brand_pictures', { row: PictureRow });
