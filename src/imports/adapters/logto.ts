import { type Adapter, flagOf, jsonOf, listOf, membersOf, secondsOf, textOf } from './adapter.ts';
import { issuerOf } from './factors.ts';

/** Rows of the table `users` as CSV or JSON. An address is in it once it has been verified. */
export const logto: Adapter = {
  paths: [['users']],
  attributesOf: (user) => ({ ofPerson: membersOf(jsonOf(user.custom_data) ?? user.customData) }),
  toUser(user) {
    const of = (snake: string, camel: string) => jsonOf(user[snake]) ?? user[snake] ?? user[camel];
    const profile = membersOf(of('profile', 'profile'));
    const factors = listOf(of('mfa_verifications', 'mfaVerifications'));
    const totp = factors.find(({ type }) => type === 'Totp');
    return {
      external_id: user.id,
      email: textOf(user.primary_email ?? user.primaryEmail),
      email_verified: true,
      name: textOf(user.name),
      given_name: textOf(profile.givenName),
      middle_name: textOf(profile.middleName),
      family_name: textOf(profile.familyName),
      nickname: textOf(profile.nickname),
      preferred_username: textOf(user.username),
      profile: textOf(profile.profile),
      website: textOf(profile.website),
      gender: textOf(profile.gender),
      birthdate: textOf(profile.birthdate),
      zoneinfo: textOf(profile.zoneinfo),
      locale: textOf(profile.locale),
      picture: textOf(user.avatar),
      disabled: flagOf(user.is_suspended ?? user.isSuspended),
      created_at: secondsOf(user.created_at ?? user.createdAt),
      password_hash: textOf(user.password_encrypted ?? user.passwordDigest),
      totp: totp && { secret: totp.key },
      identities: Object.entries(membersOf(of('identities', 'identities'))).map(([provider, identity]) => ({
        ...issuerOf(provider),
        subject: membersOf(identity).userId,
        email: textOf(membersOf(membersOf(identity).details).email),
      })),
      passkeys: factors
        .filter(({ type }) => type === 'WebAuthn')
        .map(({ credentialId, publicKey, counter, transports, rpId, name, createdAt }) => ({
          rp_id: rpId ?? '',
          credential_id: credentialId,
          public_key: publicKey,
          user_handle: Buffer.from(textOf(user.id) ?? '').toString('base64url'),
          sign_count: counter,
          transports,
          name: textOf(name),
          created_at: secondsOf(createdAt),
        })),
    };
  },
};
