import {
  type Adapter,
  type AdapterSettings,
  joined,
  jsonOf,
  listOf,
  type Members,
  membersBut,
  membersOf,
  secondsOf,
  textOf,
  usernameUnlessAddress,
} from './adapter.ts';
import { base32Of, issuerOf } from './factors.ts';

/** `kc.sh export --users realm_file`: https://www.keycloak.org/server/importExport */
export const keycloak: Adapter = {
  paths: [['users']],
  attributesOf: ({ attributes }) => ({ ofOperator: membersBut(attributes, 'locale') }),
  toUser(user, settings) {
    const credentials = listOf(user.credentials);
    const password = credentials.find(({ type }) => type === 'password');
    const otp = credentials.find(({ type }) => type === 'otp');
    const attributes = membersOf(user.attributes);
    return {
      external_id: user.id,
      email: user.email,
      email_verified: user.emailVerified,
      name: joined(user.firstName, user.lastName),
      given_name: textOf(user.firstName),
      family_name: textOf(user.lastName),
      preferred_username: usernameUnlessAddress(user.username),
      locale: Array.isArray(attributes.locale) ? attributes.locale[0] : undefined,
      disabled: user.enabled === false,
      created_at: secondsOf(user.createdTimestamp),
      password_hash: password && hashOf(password),
      password_changed_at: secondsOf(password?.createdDate),
      totp: otp && totpOf(otp),
      groups: Array.isArray(user.groups) ? user.groups.map((path) => String(path).replace(/^\//, '')) : undefined,
      identities: listOf(user.federatedIdentities).map(({ identityProvider, userId, userName }) => ({
        ...issuerOf(textOf(identityProvider) ?? ''),
        subject: userId,
        email: textOf(userName),
      })),
      passkeys: credentials
        .filter(({ type }) => type === 'webauthn-passwordless' || type === 'webauthn')
        .map((one) => passkeyOf(one, user, settings)),
    };
  },
};

const readParts = (credential: Members) => ({
  secret: membersOf(jsonOf(credential.secretData)),
  data: membersOf(jsonOf(credential.credentialData)),
});

const digests: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
};

/** In the text that password-hashes.md says; of an unknown algorithm one that is refused. */
function hashOf(credential: Members): string {
  const { secret, data } = readParts(credential);
  const [algorithm, iterations] = [textOf(data.algorithm) ?? '', textOf(data.hashIterations) ?? ''];
  const [salt, value] = [textOf(secret.salt) ?? '', textOf(secret.value) ?? ''];
  if (algorithm === 'argon2') {
    const parameters = membersOf(data.additionalParameters);
    const first = (name: string) => (Array.isArray(parameters[name]) ? textOf(parameters[name][0]) : undefined);
    const version = first('version') === '1.0' ? 16 : 19;
    const bare = (base64: string) => base64.replace(/=+$/, '');
    const costs = `m=${first('memory')},t=${iterations},p=${first('parallelism')}`;
    return `$argon2${first('type') ?? 'id'}$v=${version}$${costs}$${bare(salt)}$${bare(value)}`;
  }
  const digest = digests[algorithm];
  if (digest === undefined) return algorithm === '' ? 'none' : algorithm;
  return `$pbkdf2-${digest}$i=${iterations},l=${Buffer.from(value, 'base64').length}$${salt}$${value}`;
}

/** The secret is a text, whose bytes are the key, unless its encoding is said. */
function totpOf(credential: Members): object {
  const { secret, data } = readParts(credential);
  const value = textOf(secret.value) ?? '';
  const { digits, period, algorithm, subType } = data;
  return {
    secret: data.secretEncoding === 'BASE32' ? value : base32Of(Buffer.from(value)),
    algorithm: subType === 'hotp' ? 'HOTP' : textOf(algorithm)?.replace(/^Hmac/, ''),
    digits,
    period,
  };
}

function passkeyOf(credential: Members, user: Members, { rpId }: AdapterSettings): object {
  const { data } = readParts(credential);
  return {
    rp_id: rpId,
    credential_id: base64urlOf(data.credentialId),
    public_key: base64urlOf(data.credentialPublicKey),
    user_handle: Buffer.from(textOf(user.id) ?? '').toString('base64url'),
    sign_count: data.counter,
    transports: data.transports,
    name: textOf(credential.userLabel),
    created_at: secondsOf(credential.createdDate),
  };
}

const base64urlOf = (base64: unknown): string => Buffer.from(textOf(base64) ?? '', 'base64').toString('base64url');
