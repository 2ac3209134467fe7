import { type Adapter, listOf, type Members, membersOf, secondsOf, textOf } from './adapter.ts';
import { issuerOf } from './factors.ts';

/**
 * The job "export users", or users of the Management API, and the file of hashes that support gives on request:
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-exports
 */
export const auth0: Adapter = {
  paths: [],
  attributesOf: ({ user_metadata, app_metadata }) => ({
    ofPerson: membersOf(user_metadata),
    ofOperator: membersOf(app_metadata),
  }),
  toUser(user) {
    const name = textOf(user.name);
    const external_id = textOf(user.user_id) ?? idInHashFile(user);
    return {
      external_id,
      email: user.email,
      email_verified: user.email_verified,
      name: name === user.email ? undefined : name,
      given_name: textOf(user.given_name),
      family_name: textOf(user.family_name),
      nickname: textOf(user.nickname),
      picture: textOf(user.picture),
      preferred_username: textOf(user.username),
      locale: textOf(user.locale),
      disabled: user.blocked === true,
      created_at: secondsOf(user.created_at),
      password_hash: textOf(user.passwordHash) ?? textOf(user.password_hash),
      password_changed_at: secondsOf(membersOf(user.password_set_date).$date),
      identities: listOf(user.identities)
        .filter(({ provider }) => provider !== 'auth0')
        .map(identityOf),
    };
  },
};

/** Users of a database of Auth0 have this in their user_id. */
function idInHashFile({ _id }: Members): string | undefined {
  const id = textOf(membersOf(_id).$oid);
  return id && `auth0|${id}`;
}

function identityOf({ provider, connection, user_id }: Members): object {
  const issuer = issuerOf(textOf(provider) ?? '');
  return {
    ...('issuer' in issuer ? issuer : { provider: textOf(connection) ?? issuer.provider }),
    subject: textOf(user_id),
  };
}
