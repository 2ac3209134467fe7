import { maxGroupsOfClient } from '../groups/group.ts';
import { nullable } from '../platform/http/operation.ts';
import { Type } from '../platform/schema.ts';
import { consentPolicies, profiles } from './choices.ts';

export const groupList = (description: string) =>
  Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        minItems: 1,
        maxItems: maxGroupsOfClient,
        description,
      }),
    ),
  );

/** What an administrator decides beside what the owner requests, as requests and files give it. */
export const policyProperties = {
  consent: Type.Optional(
    Type.Enum([...consentPolicies], {
      description: 'Whether users must consent before the client receives their data.',
    }),
  ),
  refresh_retry_window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      description: 'Seconds within which a refresh whose response was lost may be repeated.',
    }),
  ),
  allowed_groups: groupList(
    'Whose members alone may use the client, by ID or name; null: everyone may. Others lose it at once.',
  ),
  visible_groups: groupList('The groups that it may see by the scope `groups`, by ID or name; null: all.'),
  profile: Type.Optional(
    nullable(
      Type.Enum([...profiles], {
        description:
          '`fapi2`: held to the FAPI 2.0 Security Profile. Its requests must be pushed and its tokens bound to a key, its refresh tokens ' +
          'are not rotated, and it must authenticate by `private_key_jwt`, without RS256 and with HTTPS redirect URIs.',
      }),
    ),
  ),
};

/** Not in files: it is the digest of what was fetched. */
export const logoProperty = {
  logo_id: Type.Optional(
    nullable(
      Type.String({
        description:
          'The picture for its users, as `logo` of the client has it: that a reviewer has seen. Null: none. Left out: what was fetched.',
        pattern: '^[0-9a-f]{32}$',
      }),
    ),
  ),
};
