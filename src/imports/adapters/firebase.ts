import {
  type Adapter,
  type AdapterSettings,
  jsonOf,
  listOf,
  type Members,
  membersOf,
  secondsOf,
  textOf,
} from './adapter.ts';
import { issuerOf } from './factors.ts';

/** `firebase auth:export users.json --format=json`: https://firebase.google.com/docs/cli/auth */
export const firebase: Adapter = {
  paths: [['users']],
  attributesOf: ({ customAttributes }) => ({ ofOperator: membersOf(jsonOf(customAttributes)) }),
  toUser: (user, settings) => ({
    external_id: user.localId,
    email: user.email,
    email_verified: user.emailVerified,
    name: textOf(user.displayName),
    picture: textOf(user.photoUrl),
    disabled: user.disabled === true,
    created_at: secondsOf(user.createdAt),
    password_hash: hashOf(user, settings),
    password_changed_at: secondsOf(user.passwordUpdatedAt),
    identities: listOf(user.providerUserInfo)
      .filter(({ providerId }) => providerId !== 'password' && providerId !== 'phone')
      .map(({ providerId, rawId, email }) => ({
        ...issuerOf((textOf(providerId) ?? '').replace(/^oidc\./, '')),
        subject: rawId,
        email: textOf(email),
      })),
  }),
};

function hashOf(user: Members, { firebaseHash: { n, r, ss } }: AdapterSettings): string | undefined {
  const hash = textOf(user.passwordHash);
  return hash && `$fbscrypt$v=1,n=${n},r=${r},p=1,ss=${ss}$${standard(textOf(user.salt) ?? '')}$${standard(hash)}`;
}

/** Versions of the tool write either alphabet of base64. */
const standard = (base64: string): string => base64.replaceAll('-', '+').replaceAll('_', '/');
