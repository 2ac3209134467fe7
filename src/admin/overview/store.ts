import type { Db } from '../../platform/db/db.ts';
import { id, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';

const HiddenSteps = row('hidden_setup_steps', { user_id: id<UserId>(), steps: text });

export const findHiddenSteps = async (db: Db, user_id: UserId): Promise<string[]> =>
  (
    await db
      .of(user_id)
      .get(HiddenSteps, sql`select ${HiddenSteps.columns} from hidden_setup_steps where user_id = ${user_id}`)
  )?.steps.split(' ') ?? [];

/** In place of those before. */
export const hideSteps = (user_id: UserId, steps: readonly string[]): Sql =>
  sql`insert into hidden_setup_steps ${HiddenSteps.values({ user_id, steps: steps.join(' ') })}
      on conflict (user_id) do update set steps = excluded.steps`;

export const showSteps = (user_id: UserId): Sql => sql`delete from hidden_setup_steps where user_id = ${user_id}`;
