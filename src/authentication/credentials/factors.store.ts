import type { Db, Part } from '../../platform/db/db.ts';
import { askOfEach } from '../../platform/db/parts.ts';
import { choice, id, integer, nullable, row, text } from '../../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import { hasPasskey } from './passkeys.store.ts';
import { hasTotp } from './two-factor.store.ts';

/** A condition, in the words of docs/glossary.md: the user has an authenticator app or a passkey. */
export const hasSecondFactor = (user_id: UserId): Sql => sql`(${hasTotp(user_id)} or ${hasPasskey(user_id)})`;

const Factor = row('passwords, totp, passkeys, identities', {
  user_id: id<UserId>(),
  kind: choice('password', 'totp', 'passkey', 'provider'),
  /** The id that the provider had when it was linked. */
  provider: text,
});

const Counted = row('users', { users: integer, second_factor: integer, passkeys: integer, last: nullable(text) });

/** Of the next users by their id, at most `rows`: how many have a second factor, and how many a passkey. `last`: null without users. */
export async function countFactors(part: Part, after: string, rows: number) {
  const some = sql`select user_id, has_second_factor,
                          case when exists (select 1 from passkeys k where k.user_id = u.user_id) then 1 else 0 end as has_passkey
                     from users u where deleted_at is null and user_id > ${after} order by user_id limit ${rows}`;
  const found = await part.get(
    Counted,
    sql`select count(*) as users, cast(coalesce(sum(has_second_factor), 0) as bigint) as second_factor,
               cast(coalesce(sum(has_passkey), 0) as bigint) as passkeys, max(user_id) as last from (${some}) as few`,
  );
  return found!;
}

/** What a user signs in with, for a list of users. */
export type Factors = { password: boolean; totp: boolean; passkeys: number; providers: readonly string[] };

/** Lists of ids are filled up to a multiple of it: there are not as many statements as numbers of users. */
const idsInStep = 50;

/** The factors of each of some users. @param user_ids a page of them. */
export async function factorsOf(db: Db, user_ids: readonly UserId[]): Promise<(user_id: UserId) => Factors> {
  const byUser = new Map<UserId, Factors>();
  const of = (user_id: UserId): Factors => {
    const known = byUser.get(user_id) ?? { password: false, totp: false, passkeys: 0, providers: [] };
    byUser.set(user_id, known);
    return known;
  };
  const found = await askOfEach(db, user_ids, (part, ids) => {
    const padding = Array(idsInStep - 1 - ((ids.length - 1) % idsInStep)).fill(ids[0]);
    const among = sql`user_id in ${oneOf([...ids, ...padding])}`;
    return part.all(
      Factor,
      sql`select user_id, 'password' as kind, '' as provider from passwords where ${among}
          union all select user_id, 'totp', '' from totp where ${among} and confirmed_at is not null
          union all select user_id, 'passkey', '' from passkeys where ${among}
          union all select user_id, 'provider', provider from identities where ${among}`,
    );
  });
  for (const { user_id, kind, provider } of found) {
    const factors = of(user_id);
    if (kind === 'passkey') factors.passkeys += 1;
    else if (kind === 'provider') factors.providers = [...factors.providers, provider];
    else factors[kind] = true;
  }
  return of;
}
