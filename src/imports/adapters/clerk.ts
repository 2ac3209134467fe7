import { type Adapter, flagOf, joined, jsonOf, listOf, type Members, membersOf, secondsOf, textOf } from './adapter.ts';
import { issuerOf } from './factors.ts';

/** The CSV of the dashboard, or users of the Backend API: https://clerk.com/docs/deployments/migrate-overview */
export const clerk: Adapter = {
  paths: [['data']],
  attributesOf: (user) => ({
    ofPerson: membersOf(jsonOf(user.unsafe_metadata)),
    ofOperator: { ...membersOf(jsonOf(user.private_metadata)), ...membersOf(jsonOf(user.public_metadata)) },
  }),
  toUser(user) {
    const primary = listOf(user.email_addresses).find(({ id }) => id === user.primary_email_address_id);
    const email = textOf(primary?.email_address) ?? textOf(user.primary_email_address);
    const secret = textOf(user.totp_secret);
    return {
      external_id: user.id,
      email,
      email_verified: primary ? membersOf(primary.verification).status === 'verified' : isAmong(user, email),
      name: joined(user.first_name, user.last_name),
      given_name: textOf(user.first_name),
      family_name: textOf(user.last_name),
      preferred_username: textOf(user.username),
      picture: textOf(user.image_url),
      locale: textOf(user.locale),
      disabled: flagOf(user.banned),
      created_at: secondsOf(user.created_at),
      password_hash: textOf(user.password_digest),
      totp: secret && { secret },
      identities: listOf(user.external_accounts).map(({ provider, provider_user_id, email_address }) => ({
        ...issuerOf(textOf(provider) ?? ''),
        subject: provider_user_id,
        email: textOf(email_address),
      })),
    };
  },
};

/** In the CSV a cell has several addresses. */
const isAmong = ({ verified_email_addresses }: Members, email: string | undefined): boolean =>
  (textOf(verified_email_addresses) ?? '').split(/[\s,;|]+/).some((one) => one !== '' && one === email);
