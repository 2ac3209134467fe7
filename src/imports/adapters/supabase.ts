import { type Adapter, isMembers, jsonOf, listOf, membersBut, membersOf, secondsOf, textOf } from './adapter.ts';
import { issuerOf } from './factors.ts';

/** What sign-in with a provider writes there by itself. */
const ofProviders = [
  'full_name',
  'name',
  'avatar_url',
  'picture',
  'email',
  'email_verified',
  'phone_verified',
  'sub',
  'iss',
  'provider_id',
  'user_name',
  'preferred_username',
];

/** Rows of `auth.users` as CSV or JSON, with a column `identities` if these are wanted. */
export const supabase: Adapter = {
  paths: [['users']],
  attributesOf: (user) => ({
    ofPerson: membersBut(jsonOf(user.raw_user_meta_data ?? user.user_metadata), ...ofProviders),
    ofOperator: membersBut(jsonOf(user.raw_app_meta_data ?? user.app_metadata), 'provider', 'providers'),
  }),
  toUser(user) {
    const about = membersOf(jsonOf(user.raw_user_meta_data ?? user.user_metadata));
    return {
      external_id: user.id,
      email: textOf(user.email),
      email_verified: textOf(user.email_confirmed_at) !== undefined,
      name: textOf(about.full_name) ?? textOf(about.name),
      picture: textOf(about.avatar_url),
      disabled: isBanned(user.banned_until) || textOf(user.deleted_at) !== undefined,
      created_at: secondsOf(user.created_at),
      password_hash: textOf(user.encrypted_password),
      identities: listOf(jsonOf(user.identities))
        .filter(({ provider }) => provider !== 'email' && provider !== 'phone')
        .map(({ provider, provider_id, identity_data }) => ({
          ...issuerOf((textOf(provider) ?? '').replace(/^(?:custom:|sso:)/, '')),
          subject: textOf(provider_id) ?? (isMembers(identity_data) ? identity_data.sub : undefined),
          email: isMembers(identity_data) ? textOf(identity_data.email) : undefined,
        })),
    };
  },
};

/** A ban that has ended stays in its column. A ban of no end is centuries long. */
const isBanned = (until: unknown): boolean => (secondsOf(until) ?? 0) > 4_000_000_000 || textOf(until) === 'infinity';
