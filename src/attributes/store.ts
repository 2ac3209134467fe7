import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { choice, flag, id, integer, json, jsonObject, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { nullable } from '../platform/http/operation.ts';
import type { AttributeId, EventId } from '../platform/ids.ts';
import { Type } from '../platform/schema.ts';
import { type Attribute, attributeNameKey, editors, type Rules, signUps, valueTypes } from './attribute.ts';

/** The table `attributes`. Times are Unix seconds. */
const AttributeRow = row('attributes', {
  attribute_id: id<AttributeId>(),
  name: text,
  labels: jsonObject<Readonly<Record<string, string>>>(),
  value_type: choice(...valueTypes),
  rules: jsonObject<Rules>(),
  scope: text,
  editable_by: choice(...editors),
  is_shown: flag,
  sign_up: choice(...signUps),
  event_id: id<EventId>(),
  created_at: integer,
  updated_at: integer,
});

const NewAttribute = row('attributes', { ...AttributeRow.fields, name_key: text, place: integer });

const isThere = sql`deleted_at is null`;

/** Conflicts with a name that is taken; inserts nothing if there are as many as there may be. It is the last one on forms. */
export const insertAttribute = (attribute: Attribute & { name_key: string }, most: number): Sql => {
  const { event_id, created_at, updated_at } = attribute;
  const { labels, rules, is_shown } = attribute;
  return sql`insert into attributes (attribute_id, name, name_key, labels, value_type, rules, scope, editable_by, is_shown, sign_up, place,
                                     event_id, created_at, updated_at)
      select ${attribute.attribute_id}, ${attribute.name}, ${attribute.name_key}, ${JSON.stringify(labels)}, ${attribute.value_type},
             ${JSON.stringify(rules)}, ${attribute.scope}, ${attribute.editable_by}, cast(${is_shown ? 1 : 0} as bigint), ${attribute.sign_up},
             (select coalesce(max(place), 0) + 1 from attributes), ${event_id}, cast(${created_at} as bigint), cast(${updated_at} as bigint)
       where (select count(*) from attributes where ${isThere}) < ${most}`;
};

/** Changes nothing if it was changed since it was read, or is deleted. */
export const updateAttribute = (
  { attribute_id, event_id }: Pick<Attribute, 'attribute_id' | 'event_id'>,
  to: Partial<Attribute>,
): Sql =>
  sql`update attributes set ${NewAttribute.set(to)}
       where attribute_id = ${attribute_id} and event_id = ${event_id} and ${isThere}`;

/** From then on it counts for nothing, although users have its values for a while. */
export const markDeleted = (attribute_id: AttributeId, now: number): Sql =>
  sql`update attributes set deleted_at = ${now} where attribute_id = ${attribute_id} and ${isThere}`;

/** In the order of forms. They are few: see `maxAttributes`. */
export const readAttributes = (db: Db) =>
  db.shared.all(
    AttributeRow,
    sql`select ${AttributeRow.columns} from attributes where ${isThere} order by place, attribute_id`,
  );

/** @returns undefined also for one that is deleted. */
export const findAttribute = (db: Db, attribute_id: string) =>
  db.shared.get(
    AttributeRow,
    sql`select ${AttributeRow.columns} from attributes where attribute_id = ${attribute_id} and ${isThere}`,
  );

export const findAttributeByKey = (db: Db, name_key: string) =>
  db.shared.get(
    AttributeRow,
    sql`select ${AttributeRow.columns} from attributes where name_key = ${name_key} and ${isThere}`,
  );

/** For people: also those that are deleted. */
export const findAttributes = (db: Db, ids: readonly string[]) =>
  db.shared.all(AttributeRow, sql`select ${AttributeRow.columns} from attributes where attribute_id in ${oneOf(ids)}`);

const Deleted = row('attributes', { attribute_id: id<AttributeId>(), removed_to: text });

/** Whose values are still to be removed, the oldest first. @param before Unix seconds. */
export const deletedAttributes = (db: Db, before: number, limit: number) =>
  db.shared.all(
    Deleted,
    sql`select attribute_id, removed_to from attributes where deleted_at <= ${before} order by deleted_at limit ${limit}`,
  );

export const noteRemoved = (attribute_id: AttributeId, user_id: string): Sql =>
  sql`update attributes set removed_to = ${user_id} where attribute_id = ${attribute_id}`;

/** Once no user has its values. */
export const deleteAttributeRow = (db: Db, attribute_id: AttributeId) =>
  db.shared.run(sql`delete from attributes where attribute_id = ${attribute_id} and deleted_at is not null`);

const Labels = Type.Record(Type.String(), Type.String());
const OfAttribute = Type.Object(
  {
    max_length: nullable(Type.Integer()),
    minimum: nullable(Type.Number()),
    maximum: nullable(Type.Number()),
    choices: nullable(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);

const { event_id: _, ...exportedFields } = AttributeRow.fields;

export const exportedAttributes = exportedTable('attributes', {
  row: row('attributes', { ...exportedFields, labels: json(Labels), rules: json(OfAttribute), place: integer }),
  where: isThere,
  follows: {
    columns: { name_key: text, event_id: text },
    values: ({ name }, { event_id }) => ({ name_key: attributeNameKey(name), event_id }),
  },
});
