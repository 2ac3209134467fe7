import { attributeRegister } from '../attributes/register.ts';
import { readingDeps } from '../imports/deps.ts';
import { importUsers, type Outcome } from '../imports/import-users.ts';
import { type CheckedUser, type Omissions, readUser } from '../imports/read-user.ts';
import type { ExportedRecord } from '../platform/db/exported-table.ts';
import type { TransferDeps } from './deps.ts';
import type { Importing, RecordOutcome } from './import-batch.ts';
import { userKind } from './kinds/user.ts';

/**
 * Users, by the import of users. Groups are records of their own.
 * @returns an outcome for each, in order.
 */
export async function importUserBatch(
  deps: TransferDeps,
  { source, caller, dryRun, trial, omissions }: Importing & { omissions: Omissions },
  records: readonly ExportedRecord[],
): Promise<RecordOutcome[]> {
  const here = await readingDeps(deps);
  const defined = dryRun ? attributeRegister([...here.defined.all, ...trial.attributes]) : here.defined;
  const reading = { ...here, defined, keepsIdentities: true, keepsOlderValues: true } as const;
  const own = { ...omissions, without: new Set([...omissions.without, 'groups' as const]) };
  const outcomes: RecordOutcome[] = [];
  const users: CheckedUser[] = [];
  const places: number[] = [];
  for (const [place, record] of records.entries()) {
    const { user, problems, dropped } = readUser(reading, record, own);
    if (user && user.sub === user.external_id) {
      users.push(user);
      places.push(place);
      outcomes[place] = { status: 'imported', dropped };
    } else {
      const otherSubject = {
        path: 'sub',
        message: 'Must be the external_id, by which other records refer to the user.',
      };
      outcomes[place] = { status: 'refused', problems: user ? [otherSubject] : problems };
    }
  }
  const stored = await importUsers(deps, { source, caller, omissions: own, dryRun }, users);
  for (const [index, outcome] of stored.entries()) {
    const place = places[index]!;
    outcomes[place] = together(outcomes[place]!, outcome);
  }
  if (dryRun) {
    for (const [place, record] of records.entries()) {
      if (outcomes[place]?.status === 'refused') trial.refusedUsers.add(userKind.idOf(record));
    }
  }
  return outcomes;
}

function together(read: RecordOutcome, outcome: Outcome): RecordOutcome {
  if (outcome.status !== 'imported') return outcome;
  const dropped = read.status === 'imported' ? read.dropped : [];
  return { status: 'imported', dropped: [...dropped, ...outcome.dropped] };
}
