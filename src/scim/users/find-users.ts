import {
  type AddressDeps,
  countScimUsers,
  findScimUsers,
  findUserByEmail,
  idByUserName,
  idsByExternalId,
  listScimUsers,
  type ScimUser,
} from '../../accounts/statements.ts';
import { groupsOfUser } from '../../groups/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import { type Equality, intersectionOf, type Page, type Window } from '../find.ts';
import { everything, type Resource, type Selection, selects } from '../representation.ts';
import { mostResults } from '../schemas.ts';
import { userResource } from './resource.ts';
import { userNameKey } from './wanted.ts';

/** More users are not counted, and not listed. */
export const mostUsersListed = 10_000;

/** By which a user is found, each by an index. */
const lookups: Readonly<Record<string, (deps: AddressDeps, text: string) => Promise<readonly string[]>>> = {
  id: async (_deps, id) => [id],
  username: idsOfUserName,
  externalid: async ({ db }, external_id) => idsOf(await idsByExternalId(db, external_id, mostResults)),
  emails: idsOfAddress,
  'emails.value': idsOfAddress,
};
export const userLookups: readonly string[] = Object.keys(lookups);

/** Of an account that no directory has changed, the address is the name. */
async function idsOfUserName(deps: AddressDeps, userName: string): Promise<readonly string[]> {
  const named = await idByUserName(deps, userNameKey(userName));
  if (named !== undefined) return [named.user_id];
  const addressed = await findScimUsers(deps.db, await idsOfAddress(deps, userName));
  return idsOf(addressed.filter(({ user_name }) => user_name === null));
}

async function idsOfAddress(deps: AddressDeps, email: string): Promise<readonly string[]> {
  const user = await findUserByEmail(deps, email);
  return user === undefined ? [] : [user.user_id];
}

const idsOf = (rows: readonly { user_id: string }[]) => rows.map(({ user_id }) => user_id);

/** The oldest first. @param equalities none: all users, as far as they are listed. */
export async function findUserPage(
  deps: AddressDeps,
  equalities: readonly Equality[] | undefined,
  { offset, limit }: Window,
): Promise<Page<ScimUser>> {
  const { db } = deps;
  if (equalities === undefined) {
    const total = await countScimUsers(db, mostUsersListed);
    const most = Math.max(0, Math.min(limit, total - offset));
    return { total, rows: most === 0 ? [] : await listScimUsers(db, { offset, limit: most }) };
  }
  const found = await findScimUsers(db, await intersectionOf(deps, equalities, lookups));
  return { total: found.length, rows: found.slice(offset, offset + limit) };
}

/** With the groups of each, if they were asked for. */
export const userResources = (
  db: Db,
  root: string,
  users: readonly ScimUser[],
  selection: Selection = everything,
): Promise<Resource[]> =>
  Promise.all(
    users.map(async (user) =>
      userResource(
        root,
        user,
        selection.attributes && selects(selection, 'groups') ? await groupsOfUser(db, user.user_id) : [],
      ),
    ),
  );
