import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Deps } from '../platform/deps.ts';
import type { Edited } from '../platform/edited.ts';
import { invalidFields, notFound, refusal, staleRevision } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { type ChangeableSetting, findChangeableSetting } from '../platform/settings/changeable-settings.ts';
import { keepSetting } from '../platform/settings/statements.ts';

export type SettingDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'settings'>;

/** The revision of a setting: 1 before its first change. */
export const revisionOf = ({ settings }: Pick<Deps, 'settings'>, name: string): number =>
  settings.stored(name)?.revision ?? 1;

/** Whether the environment of this process says it, which wins. */
export const isFixed = ({ config }: Pick<Deps, 'config'>, name: string): boolean =>
  ['environment', 'file'].includes(config.setFrom[name] ?? '');

/**
 * Sets a setting for all nodes; within a second each reads it.
 * @param wanted.value as in the environment; null: the default. `revision`: as it was read; left out: whatever it is.
 * @throws {RequestError} `not_found`; `invalid_request` for a value that a server would not start with; `invalid_state` for one that is
 * changed in the environment alone; `stale_revision`.
 */
export async function changeSetting(
  deps: SettingDeps,
  caller: Caller,
  name: string,
  wanted: { value: string | null; revision?: number | undefined; reason?: string | undefined },
): Promise<Edited<{ name: string }>> {
  const setting = requireChangeableSetting(deps, name);
  const value = wanted.value?.trim() || null;
  const message = value === null ? undefined : deps.settings.problemOf(name, value);
  if (message !== undefined) throw invalidFields([{ path: 'value', message, userMessage: problemWords(setting) }]);
  await deps.settings.refresh();
  const revision = revisionOf(deps, name);
  if (wanted.revision !== undefined && wanted.revision !== revision) throw staleRevision(revision);
  const before = deps.settings.stored(name)?.value ?? null;
  if (before === value) return { after: { name }, isChanged: false };
  const at = now(deps);
  const states = { before: { value: before }, after: { value } };
  const event = auditEvent(
    { action: 'setting.changed', ...caller, target: name, reason: wanted.reason, ...states },
    at,
  );
  const kept = keepSetting({ name, value, revision: revision + 1, changed_at: at });
  const done = await deps.db.shared.change({ run: { setting: mustChange(kept), event: event.statement } });
  await deps.settings.refresh();
  if (!done.ok) throw staleRevision(revisionOf(deps, name));
  return { after: { name }, isChanged: true };
}

/** @throws {RequestError} `not_found`; `invalid_state` of one that the environment alone can change, or says. */
export function requireChangeableSetting(deps: Pick<Deps, 'config'>, name: string): ChangeableSetting {
  const setting = findChangeableSetting(name);
  if (setting === undefined) throw notFound();
  if (!isFixed(deps, name)) return setting;
  const details = { current_status: 'set_in_environment' };
  throw refusal('invalid_state', { key: 'admin.settings.fixed', values: { name } }, { details });
}

const problemWords = ({ control }: ChangeableSetting): MessageDescriptor =>
  control.kind === 'number'
    ? { key: 'admin.settings.problem.number', values: { min: control.min, max: control.max } }
    : { key: 'admin.settings.problem' };
