import { listIdentities } from '../../authentication/credentials/identities.store.ts';
import { findTotp } from '../../authentication/credentials/two-factor.store.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../platform/deps.ts';

/** `GET /v1/me` (decisions §10). */
export async function currentUser({ db }: Pick<Deps, 'db'>, session: Session) {
  const { user_id } = session;
  const [totp, identities] = await Promise.all([findTotp(db, user_id), listIdentities(db, user_id)]);
  return {
    user_id,
    sub: user_id,
    email: session.email,
    email_verified: session.email_verified_at !== null,
    name: session.name,
    picture: session.picture,
    role: session.role,
    locale: session.locale,
    created_at: session.user_created_at,
    updated_at: session.user_updated_at,
    two_factor_enabled: totp !== undefined && totp.confirmed_at !== null,
    identities: identities.map(({ provider, email, linked_at }) => ({ provider, email, linked_at })),
    session: {
      id: session.session_id,
      created_at: session.session_created_at,
      expires_at: session.expires_at,
      auth_time: session.auth_time,
      amr: session.amr,
      acr: session.acr,
    },
  };
}
