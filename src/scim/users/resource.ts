import type { ScimUser } from '../../accounts/statements.ts';
import type { GroupOfUser } from '../../groups/statements.ts';
import type { Resource } from '../representation.ts';
import { userSchema } from '../schemas.ts';
import type { UserForm } from './form.ts';

/** @param root the URL of `/scim/v2`. */
export function userResource(root: string, user: ScimUser, groups: readonly GroupOfUser[]): Resource {
  const form = formOf(user);
  const { givenName, middleName, familyName } = form;
  const name = withoutNulls({ givenName, middleName, familyName });
  const content = {
    ...withoutNulls({ externalId: form.externalId, userName: form.userName }),
    ...(Object.keys(name).length > 0 && { name }),
    ...withoutNulls({
      displayName: form.displayName,
      nickName: form.nickName,
      preferredLanguage: form.preferredLanguage,
      timezone: form.timezone,
      active: form.active,
    }),
    emails: [{ value: user.email, type: 'work', primary: user.email_primary ?? true }],
  };
  return {
    type: 'User',
    schema: userSchema,
    id: user.user_id,
    location: `${root}/Users/${user.user_id}`,
    created_at: user.created_at,
    updated_at: user.updated_at,
    content,
    readOnly: {
      ...(groups.length > 0 && {
        groups: groups.map(({ group_id, name: display }) => ({
          value: group_id,
          $ref: `${root}/Groups/${group_id}`,
          display,
        })),
      }),
    },
  };
}

/** What is stored, as a directory would say it. An account that no directory has changed goes by its address. */
export const formOf = (user: ScimUser): UserForm => ({
  userName: user.user_name ?? user.email,
  externalId: user.external_id,
  givenName: user.given_name,
  middleName: user.middle_name,
  familyName: user.family_name,
  formatted: null,
  displayName: user.name,
  nickName: user.nickname,
  preferredLanguage: user.locale,
  timezone: user.zoneinfo,
  email: user.email,
  primary: user.email_primary ?? true,
  active: user.disabled_at === null,
});

const withoutNulls = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
