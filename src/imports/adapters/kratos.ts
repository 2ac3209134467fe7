import {
  type Adapter,
  isMembers,
  joined,
  listOf,
  type Members,
  membersBut,
  membersOf,
  secondsOf,
  textOf,
} from './adapter.ts';
import { issuerOf, totpOfUri } from './factors.ts';

/** `GET /admin/identities?include_credential=password&include_credential=totp…`: https://www.ory.sh/docs/kratos */
export const kratos: Adapter = {
  paths: [['identities']],
  attributesOf: ({ traits, metadata_public, metadata_admin }) => ({
    ofPerson: membersBut(traits, 'name', 'given_name', 'family_name', 'email', 'username', 'locale'),
    ofOperator: { ...membersOf(metadata_public), ...membersOf(metadata_admin) },
  }),
  toUser(identity, { rpId }) {
    const traits = membersOf(identity.traits);
    const name = membersOf(traits.name);
    const credentials = membersOf(identity.credentials);
    const configOf = (kind: string) => membersOf(membersOf(credentials[kind]).config);
    const email = textOf(traits.email) ?? textOf(listOf(identity.verifiable_addresses)[0]?.value);
    const address = listOf(identity.verifiable_addresses).find(({ value }) => value === email);
    return {
      external_id: identity.id,
      email,
      email_verified: address?.verified === true,
      name: isMembers(traits.name) ? joined(name.first, name.last) : textOf(traits.name),
      given_name: textOf(name.first) ?? textOf(traits.given_name),
      family_name: textOf(name.last) ?? textOf(traits.family_name),
      preferred_username: textOf(traits.username),
      locale: textOf(traits.locale),
      disabled: identity.state === 'inactive',
      created_at: secondsOf(identity.created_at),
      password_hash: textOf(configOf('password').hashed_password),
      totp: totpOfUri(textOf(configOf('totp').totp_url)),
      identities: listOf(configOf('oidc').providers).map(({ provider, subject }) => ({
        ...issuerOf(textOf(provider) ?? ''),
        subject,
      })),
      passkeys: ['webauthn', 'passkey'].flatMap((kind) =>
        listOf(configOf(kind).credentials).map((one) => passkeyOf(one, configOf(kind), rpId)),
      ),
    };
  },
};

function passkeyOf(credential: Members, { user_handle }: Members, rp_id: string): object {
  const { sign_count } = membersOf(credential.authenticator);
  return {
    rp_id,
    credential_id: base64urlOf(credential.id),
    public_key: base64urlOf(credential.public_key),
    user_handle: user_handle === undefined ? undefined : base64urlOf(user_handle),
    sign_count,
    name: textOf(credential.display_name),
    created_at: secondsOf(credential.added_at),
  };
}

const base64urlOf = (base64: unknown): string => Buffer.from(textOf(base64) ?? '', 'base64').toString('base64url');
