import { pace } from '../platform/pace.ts';
import { type ImportDeps, readingDeps } from './deps.ts';
import { type Import, importUsers, type Outcome } from './import-users.ts';
import { type ExportReading, readExported } from './read-export.ts';
import type { CheckedUser, Problem } from './read-user.ts';

export type ListOutcome = Outcome & { external_id: string | undefined };

/** Imports some users within a request, a slice at a time, so that others are answered meanwhile. @returns an outcome for each. */
export async function importList(
  deps: ImportDeps,
  given: Import & ExportReading,
  values: readonly unknown[],
): Promise<ListOutcome[]> {
  const runSlice = pace.slices();
  const all: ListOutcome[] = [];
  while (all.length < values.length) {
    all.push(...(await runSlice((rows) => importSlice(deps, given, values.slice(all.length, all.length + rows)))));
  }
  return all;
}

async function importSlice(deps: ImportDeps, given: Import & ExportReading, values: readonly unknown[]) {
  const reading = await readingDeps(deps);
  const readings = values.map((value) => readExported(reading, given, value));
  const users: CheckedUser[] = readings.flatMap(({ user }) => user ?? []);
  const imported = (await importUsers(deps, given, users)).values();
  return readings.map(({ user, external_id, problems, dropped }): ListOutcome => {
    const outcome = user ? imported.next().value : undefined;
    if (!outcome) return { status: 'refused', external_id, problems };
    return {
      ...outcome,
      external_id,
      ...(outcome.status === 'imported' && { dropped: both(dropped, outcome.dropped) }),
    };
  });
}

const both = (one: readonly Problem[], other: readonly Problem[]): readonly Problem[] => [...one, ...other];
