import { lockUser, replaceAttributes } from '../accounts/statements.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { invalidState } from '../platform/errors.ts';
import type { UserId } from '../platform/ids.ts';
import type { Deps } from './deps.ts';
import { type ChangedValues, changeValues, missingOf, requireValues } from './values.ts';

/** For a change of a user. It refuses the change if the values are no longer those that were read. */
export const attributesWrite = (user_id: UserId, changed: ChangedValues | undefined, now: number) =>
  changed === undefined || changed.fields.length === 0
    ? undefined
    : mustChange(replaceAttributes(user_id, changed, now));

/**
 * A person says what everyone has to say, once: each change makes less of it missing.
 * @param wanted by name; what is not missing is left as it is.
 * @throws {RequestError} `invalid_request` as {@link changeValues}, and for each that is still missing; `invalid_state` if they were changed
 * at the same moment.
 */
export async function addMissing(
  deps: Pick<Deps, 'db' | 'clock' | 'attributes'>,
  { user_id, attributes }: { user_id: UserId; attributes: string | null },
  wanted: Readonly<Record<string, unknown>>,
  caller: Caller,
): Promise<void> {
  const register = await deps.attributes.read();
  const missing = missingOf(register, attributes);
  const given = Object.fromEntries(missing.flatMap(({ name }) => (name in wanted ? [[name, wanted[name]]] : [])));
  requireValues(missing, given);
  const changed = changeValues(register, attributes, given, 'person');
  if (changed.fields.length === 0) return;
  const at = now(deps);
  const event = auditEvent(
    { action: 'user.changed', ...caller, target: user_id, after: { fields: changed.fields } },
    at,
  );
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: { attributes: mustChange(replaceAttributes(user_id, changed, at)), event: event.statement },
  });
  if (!done.ok) throw invalidState('changed');
}
