import type { Part } from '../platform/db/db.ts';
import { oneOf, sql } from '../platform/db/sql.ts';
import { isOfAccount } from './administration.ts';
import { AuditRow } from './store.ts';

/** So many of the newest events without a place are compared. */
const maxUnsealedCompared = 500;

/** Of an `account`, as {@link searchUnsealed}; of a large backlog only the newest. */
export function searchUnsealedOfUser(
  part: Part,
  { account, actions, since }: { account: string; actions: readonly string[]; since: number },
  limit: number,
): Promise<AuditRow[]> {
  const newest = sql`select ${AuditRow.columns}, of_user from audit_log where seq is null order by at desc limit ${maxUnsealedCompared}`;
  return part.all(
    AuditRow,
    sql`select ${AuditRow.columns} from (${newest}) as newest
         where at >= ${since} and action in ${oneOf(actions)} and ${isOfAccount(account)}
         order by at desc, event_id desc limit ${limit}`,
  );
}
