import { cleanAttributes, usersWithAttribute } from '../accounts/statements.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import { inOrder } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState, notFound, refusal } from '../platform/errors.ts';
import { type AttributeId, newId } from '../platform/ids.ts';
import { type Attribute, attributeNameKey, maxAttributes } from './attribute.ts';
import { attributeProblems, rulesOf, type WantedAttribute } from './attribute-rules.ts';
import type { Deps } from './deps.ts';
import {
  deleteAttributeRow,
  deletedAttributes,
  findAttribute,
  findAttributeByKey,
  insertAttribute,
  markDeleted,
  noteRemoved,
  updateAttribute,
} from './store.ts';
import { parseValues } from './values.ts';

type AttributeDeps = Pick<Deps, 'db' | 'clock' | 'attributes'>;

/**
 * From then on forms ask for it, and apps with its scope read it as a claim of its name.
 * @throws {RequestError} `invalid_request` with a problem for each field, also for a name that is taken; `invalid_state` with too many.
 */
export async function defineAttribute(
  deps: AttributeDeps,
  caller: Caller,
  wanted: WantedAttribute,
): Promise<Attribute> {
  const problems = attributeProblems(wanted);
  if (problems.length > 0) throw invalidFields(problems);
  const at = now(deps);
  const attribute_id = newId('atr');
  const { name, scope, value_type, editable_by, is_shown, sign_up } = wanted;
  const stated = {
    name,
    labels: tidyLabels(wanted),
    value_type,
    rules: rulesOf(wanted),
    scope,
    editable_by,
    is_shown,
    sign_up,
  };
  const after = { name, type: value_type, scope, editable_by, is_shown, sign_up };
  const event = auditEvent({ action: 'attribute.defined', ...caller, target: attribute_id, after }, at);
  const attribute = { attribute_id, ...stated, event_id: event.event_id, created_at: at, updated_at: at };
  const name_key = attributeNameKey(name);
  const done = await deps.db.shared.change({
    run: {
      attribute: mayConflict(mustChange(insertAttribute({ ...attribute, name_key }, maxAttributes))),
      event: event.statement,
    },
  });
  deps.attributes.forget();
  if (done.ok) return attribute;
  if (await findAttributeByKey(deps.db, name_key))
    throw invalidFields([fieldProblem('name', { key: 'problem.attribute.taken' })]);
  throw refusal('invalid_state', { key: 'problem.attribute.too_many', values: { max: maxAttributes } });
}

const tidyLabels = ({ labels }: Pick<WantedAttribute, 'labels'>) =>
  Object.fromEntries(Object.entries(labels).map(([locale, text]) => [locale, text.trim()]));

const labelsWith = (
  { labels }: Pick<WantedAttribute, 'labels'>,
  edits: NonNullable<AttributeEdit['label_edits']>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...labels, ...edits }).flatMap(([locale, text]) => (text === null ? [] : [[locale, text]])),
  );

/** What may be said anew: name and type stay, since apps and values have them. */
export type AttributeEdit = Partial<Omit<WantedAttribute, 'name' | 'value_type'>> & {
  /** Of the labels, those that are others now, by language; null removes one. */
  label_edits?: Readonly<Record<string, string | null>>;
};

/**
 * Values that were there before a narrower rule stay, and are released, until they are changed.
 * @throws {RequestError} `not_found`; as {@link defineAttribute}; `invalid_state` if it was changed at the same moment.
 */
export async function editAttribute(
  deps: AttributeDeps,
  caller: Caller,
  attribute_id: string,
  { label_edits = {}, ...edit }: AttributeEdit,
): Promise<Edited<Attribute>> {
  const before = await requireAttribute(deps, attribute_id);
  const edited: WantedAttribute = { ...before, ...before.rules, ...definedOf(edit) };
  const wanted = { ...edited, labels: labelsWith(edited, label_edits) };
  const problems = attributeProblems(wanted);
  if (problems.length > 0) throw invalidFields(problems);
  const { scope, editable_by, is_shown, sign_up } = wanted;
  const to = { labels: tidyLabels(wanted), rules: rulesOf(wanted), scope, editable_by, is_shown, sign_up };
  const changed = (Object.keys(to) as (keyof typeof to)[]).filter(
    (field) => textOf(to[field]) !== textOf(before[field]),
  );
  if (changed.length === 0) return { after: before, isChanged: false };
  const at = now(deps);
  const event = auditEvent(
    { action: 'attribute.edited', ...caller, target: before.attribute_id, ...changes(before, to, changed) },
    at,
  );
  const row = { ...to, event_id: event.event_id, updated_at: at };
  const done = await deps.db.shared.change({
    run: { attribute: mustChange(updateAttribute(before, row)), event: event.statement },
  });
  deps.attributes.forget();
  if (done.ok) return { after: { ...before, ...row }, isChanged: true };
  await requireAttribute(deps, attribute_id);
  throw invalidState('changed');
}

/** For the log, which keeps the names of labels and rules and not their texts: these may be long. */
function changes(before: Attribute, to: Partial<Attribute>, changed: readonly (keyof Attribute)[]) {
  const named = changed.filter((field) => field === 'labels' || field === 'rules');
  const stated = changed.filter((field) => field !== 'labels' && field !== 'rules');
  const statesOf = (attribute: Partial<Attribute>) =>
    Object.fromEntries(stated.map((field) => [field, attribute[field]]));
  return { before: statesOf(before), after: { ...statesOf(to), ...(named.length > 0 && { fields: named }) } };
}

const definedOf = (edit: AttributeEdit) =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );

/** Nothing releases it any more within a second; its values are removed by a job. @throws {RequestError} `not_found`. */
export async function deleteAttribute(deps: AttributeDeps, caller: Caller, attribute_id: string): Promise<void> {
  const { attribute_id: target, name } = await requireAttribute(deps, attribute_id);
  const at = now(deps);
  const event = auditEvent({ action: 'attribute.deleted', ...caller, target, before: { name } }, at);
  const done = await deps.db.shared.change({
    run: { attribute: mustChange(markDeleted(target, at)), event: event.statement },
  });
  deps.attributes.forget();
  if (!done.ok) throw notFound();
}

/** @throws {RequestError} `not_found`, also for one that is deleted. */
export async function requireAttribute({ db }: Pick<Deps, 'db'>, attribute_id: string): Promise<Attribute> {
  const attribute = await findAttribute(db, attribute_id);
  if (!attribute) throw notFound();
  return attribute;
}

/** Seconds. A request that has read the register before may still store a value meanwhile, and none may stay. */
const lastWrites = 60;

/**
 * Removes the values of attributes that are deleted, user by user, and each attribute after its last one. How far it has come is stored with
 * each slice. @returns false if the signal ended it.
 */
export async function finishAttributeDeletions(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  signal?: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const deleted = await deletedAttributes(db, now({ clock }) - lastWrites, maxAttributes);
    if (deleted.length === 0) return true;
    for (const { attribute_id, removed_to } of deleted) {
      let after = removed_to;
      const isDone = await inSlices(async (rows) => {
        const users = await usersWithAttribute(db, attribute_id, after, rows);
        const last = users.at(-1)?.user_id;
        if (last === undefined) return 0;
        const parts = [...Map.groupBy(users, ({ user_id }) => db.of(user_id))];
        for (const [index, [part, some]] of parts.entries()) {
          const isLast = index === parts.length - 1;
          const done = await inOrder(
            { in: part, run: { users: some.flatMap((user) => withoutAttribute(user, attribute_id)) } },
            { in: db.shared, run: { to: isLast ? noteRemoved(attribute_id, last) : undefined } },
          );
          if (!done.ok) return rows; // one of them was changed meanwhile: the same users again
        }
        after = last;
        return users.length;
      }, signal);
      if (!isDone) return false;
      await deleteAttributeRow(db, attribute_id);
    }
  }
}

function withoutAttribute(
  { user_id, attributes }: { user_id: string; attributes: string | null },
  attribute_id: AttributeId,
) {
  const values = parseValues(attributes);
  if (!values.has(attribute_id)) return [];
  const kept = [...values].filter(([id]) => id !== attribute_id);
  const to = kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept));
  return [mustChange(cleanAttributes(user_id, { from: attributes, to }))];
}
