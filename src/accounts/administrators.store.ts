import type { Db } from '../platform/db/db.ts';
import { mergeAll } from '../platform/db/parts.ts';
import { asBigint, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { permissionsOfRole, roles } from './roles.ts';
import { isActiveAdministrator, oldestFirst, User } from './store.ts';

const reviewing = roles.filter((role) => permissionsOfRole[role].has('clients:approve'));
/** In the words of its partial index. */
const isActiveReviewer = sql`role <> 'user' and role in ${oneOf(reviewing)} and disabled_at is null`;

type PlaceOfUser = Pick<User, 'created_at' | 'user_id'>;

export const listAdministrators = (db: Db): Promise<User[]> =>
  mergeAll(
    db,
    (part) =>
      part.all(
        User,
        sql`select ${User.columns} from users where ${isActiveAdministrator} order by created_at, user_id`,
      ),
    oldestFirst,
    Number.POSITIVE_INFINITY,
  );

/** Some at a time. @param after the last one before. */
const listAfter = (db: Db, condition: Sql, after: PlaceOfUser | undefined, limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        User,
        sql`select ${User.columns} from users
             where ${condition}
               and (created_at, user_id) > (${asBigint(after?.created_at ?? -1)}, ${after?.user_id ?? ''})
             order by created_at, user_id limit ${limit}`,
      ),
    oldestFirst,
    limit,
  );

/** The same, some at a time. @param after the last one before. */
export const listAdministratorsAfter = (db: Db, after: PlaceOfUser | undefined, limit: number) =>
  listAfter(db, isActiveAdministrator, after, limit);
/** Those who may approve clients and can sign in. @param after the last one before. */
export const listReviewersAfter = (db: Db, after: PlaceOfUser | undefined, limit: number) =>
  listAfter(db, isActiveReviewer, after, limit);

const Privileged = User.pick('user_id', 'created_at');

/** The ids of all who have a role besides that of every user, the disabled too. */
export const listPrivilegedIds = (db: Db, limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        Privileged,
        sql`select ${Privileged.columns} from users where role <> 'user' order by created_at, user_id limit ${limit}`,
      ),
    oldestFirst,
    limit,
  );
