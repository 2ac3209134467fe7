import { type Adapter, joined, membersOf, secondsOf, textOf, usernameUnlessAddress } from './adapter.ts';

/** `POST /admin/v1/export` with passwords, or users of `POST /v2/users`: https://zitadel.com/docs/guides/migrate */
export const zitadel: Adapter = {
  paths: [['orgs', 'humanUsers'], ['result']],
  toUser(record) {
    const user = membersOf(record.user ?? record.human);
    const [profile, email] = [membersOf(user.profile), membersOf(user.email)];
    const [given_name, family_name] = [profile.firstName ?? profile.givenName, profile.lastName ?? profile.familyName];
    return {
      external_id: record.userId ?? record.id,
      email: email.email,
      email_verified: email.isEmailVerified ?? email.isVerified ?? false,
      name: textOf(profile.displayName) ?? joined(given_name, family_name),
      given_name: textOf(given_name),
      family_name: textOf(family_name),
      nickname: textOf(profile.nickName),
      preferred_username: usernameUnlessAddress(user.userName ?? record.username),
      locale: textOf(profile.preferredLanguage),
      disabled: /INACTIVE|LOCKED/.test(textOf(record.state) ?? ''),
      created_at: secondsOf(membersOf(record.details).creationDate),
      password_hash: textOf(membersOf(user.hashedPassword).value ?? user.hashedPassword),
    };
  },
};
