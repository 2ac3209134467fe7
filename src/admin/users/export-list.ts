import type { UserFilter } from '../../accounts/statements.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { csvName, csvRow, csvType } from '../../platform/csv.ts';
import { inPages } from '../../platform/db/slices.ts';
import type { LimitDeps, PlacementDeps } from '../../platform/deps.ts';
import type { FileAnswer } from '../../platform/http/operation.ts';
import { time } from '../../platform/report.ts';
import { factorWords } from './factor-words.ts';
import { type ListedUser, listedRecord, readUsers } from './read-user.ts';

/**
 * All users, or those of a filter, as CSV, a page at a time, so that memory stays bounded.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `invalid_request` for a reason that is none.
 */
export async function exportUsers(
  deps: LimitDeps & PlacementDeps,
  caller: Caller,
  { filter, reason }: { filter?: UserFilter; reason?: string },
): Promise<FileAnswer> {
  const why = reason === undefined ? undefined : readReason(reason);
  const after = { filter: filter ?? 'all' };
  const event = auditEvent({ action: 'user.list_exported', ...caller, reason: why, after }, now(deps));
  await deps.db.shared.change({ run: { event: event.statement } });
  return { name: csvName([`users-${after.filter}`], now(deps)), type: csvType, content: contentOf(deps, filter) };
}

const columns = {
  user_id: ({ user_id }) => user_id,
  email: ({ email }) => email,
  email_verified: ({ email_verified }) => (email_verified ? 'yes' : 'no'),
  name: ({ name }) => name,
  preferred_username: ({ preferred_username }) => preferred_username,
  role: ({ role }) => role,
  status: ({ status }) => status,
  created_at: ({ created_at }) => time(created_at),
  last_sign_in_at: ({ last_sign_in_at }) => (last_sign_in_at === null ? null : time(last_sign_in_at)),
  factors: ({ factors }) => factorWords(factors).join(' '),
} satisfies Record<string, (user: ReturnType<typeof listedRecord>) => string | null>;

async function* contentOf(deps: LimitDeps & PlacementDeps, filter: UserFilter | undefined): AsyncGenerator<string> {
  yield csvRow(Object.keys(columns));
  yield* inPages(async (after: string | undefined, limit) => {
    const { users, next } = await readUsers(deps, { filter, after, limit });
    return { page: users.map(line).join(''), next };
  });
}

function line(user: ListedUser): string {
  const record = listedRecord(user);
  return csvRow(Object.values(columns).map((cellOf) => cellOf(record)));
}
