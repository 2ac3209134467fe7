import { type Adapter, type AdapterSettings, isMembers, withoutUndefined } from './adapters/adapter.ts';
import type { ReadingDeps } from './deps.ts';
import { type Omissions, type Reading, readUser } from './read-user.ts';

export type ExportReading = {
  adapter: Adapter;
  settings: AdapterSettings;
  omissions: Omissions;
  /** The id in the other product becomes the subject, of users whose `sub` the export does not say. */
  keepSubjects: boolean;
};

export const refusedReading = (message: string): Reading => ({ problems: [{ path: '', message }], dropped: [] });

/** A user as a product exports it. */
export function readExported(
  deps: ReadingDeps,
  { adapter, settings, omissions, keepSubjects }: ExportReading,
  value: unknown,
): Reading {
  if (!isMembers(value)) return refusedReading('Is not a JSON object.');
  const given = withoutUndefined(adapter.toUser(value, settings)) as { external_id?: unknown; sub?: unknown };
  const sub = given.sub ?? given.external_id;
  return readUser(deps, keepSubjects ? { ...given, sub } : given, omissions);
}
