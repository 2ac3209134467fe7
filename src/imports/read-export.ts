import { valuesOfExport } from '../attributes/values.ts';
import { type Adapter, type AdapterSettings, isMembers, withoutUndefined } from './adapters/adapter.ts';
import type { ReadingDeps } from './deps.ts';
import { type Omissions, type Reading, readUser, unknownAttribute } from './read-user.ts';

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
  const found = omissions.without.has('attributes') ? {} : (adapter.attributesOf?.(value) ?? {});
  const { values, unusable, unknown, notTheirs } = valuesOfExport(deps.defined, found);
  const attributes = { ...values, ...unusable };
  const user = {
    ...given,
    ...(keepSubjects && { sub }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
  };
  const reading = readUser(deps, user, omissions);
  const leftOut = [
    ...unknown.slice(0, maxNamed).map((name) => about(name, unknownAttribute)),
    ...notTheirs.slice(0, maxNamed).map((name) => about(name, writtenByPerson)),
  ];
  return { ...reading, dropped: [...reading.dropped, ...leftOut] };
}

/** What another product keeps of a user, and has no place here, is no reason to refuse the user. */
const about = (name: string, message: string) => ({ path: `attributes/${name.slice(0, 100)}`, message });
const writtenByPerson = 'Users could write this there, and only administrators can here.';

/** Of one user. */
const maxNamed = 100;
