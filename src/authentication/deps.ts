import type { Deps as AttributeDeps } from '../attributes/deps.ts';
import type { Config } from '../platform/config.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { PasswordHasher } from './credentials/password-hash.ts';
import type { Providers } from './credentials/provider-register.ts';
import type { ProviderSettings } from './credentials/providers.ts';
import type { Session } from './sessions/store.ts';

export type Deps = AttributeDeps & {
  readonly config: Config & ProviderSettings;
  /** Of settings and store. */
  readonly providers: Providers;
  /** Hashes passwords, a limited number at once. */
  readonly passwords: PasswordHasher;
  readonly grants: Grants;
  readonly authorizationRequests: AuthorizationRequests;
};

export type RevocationDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'mail' | 'grants'>;

export type SignInDeps = RevocationDeps & Pick<Deps, 'authorizationRequests' | 'placement' | 'claims'>;

/** Why a grant was revoked, stored with it. */
export type RevocationReason =
  | 'replay'
  | 'code_replay'
  | 'sign_out'
  | 'user'
  | 'client'
  | 'administrator'
  | 'client_suspended'
  | 'password_change'
  | 'user_disabled'
  | 'surplus'
  | 'restored'
  | 'expired';

type UserSession = { user_id: string; session_id: string };

/**
 * Revokes grants together with sessions, passwords and clients. The room `oauth` implements it and imports this room, so
 * `src/app` passes the functions. Each returns statements for the change that ends them. `now`: Unix seconds.
 */
export type Grants = {
  revokeOfUser(user_id: string, reason: RevocationReason, now: number): readonly Sql[];
  revokeOfSession(session: UserSession, reason: RevocationReason, now: number): readonly Sql[];
  /** All grants of a user but those of one session, including those that have outlived their session. */
  revokeOfOtherSessions(
    user_id: string,
    kept_session_id: string,
    reason: RevocationReason,
    now: number,
  ): readonly Sql[];
  /** `inEachPart` of the store, and after it `shared`, where the client is changed. */
  revokeOfClient(client_id: string, reason: RevocationReason, now: number): { inEachPart: readonly Sql[]; shared: Sql };
  /** Before the deletion of a user or client: their tokens are invalid at once, and no sign of a store that is behind. */
  rememberDeletedOf(of: { user_id: string } | { client_id: string }, now: number): Sql[];
  /** A condition: the user has an active grant that came from another session. */
  hasGrantElsewhere(user_id: string, session_id: string): Sql;
};

/** What a sign-in has to know of the authorization request that waits for it in this browser. */
export type WaitingRequest = {
  request_id: string;
  /** The session that a sign-in for it has started or renewed. */
  authenticated_session_id: string | null;
  parameters: {
    client_id: string;
    redirect_uri: string;
    prompt: readonly string[];
    max_age?: number;
    /** Classes of which one has to be reached. */
    essential_acrs?: readonly string[];
    /** The class that is preferred. */
    acr?: string;
    login_hint?: string;
    ui_locales?: string;
  };
};

/** Implemented by the room `oauth`. */
export type AuthorizationRequests = {
  /** @param browser_hash digest of the secret of the requesting browser. */
  find(request_id: string, browser_hash: string): Promise<WaitingRequest | undefined>;
  /** The application that sent the user, for the page: its name, and the path of its picture. */
  app(client_id: string): Promise<{ clientName: string; clientLogo: string | undefined } | undefined>;
  /** Of a path to the authorization endpoint, the redirect URI, if it is registered for the application that the path names. */
  redirectUriIn(path: string): Promise<string | undefined>;
  /** Whether the application gets no code from a session with one factor. */
  requiresTwoFactors(pending: WaitingRequest): Promise<boolean>;
  /** Whether the application wants a second factor that is given now, for which no browser stands in. */
  asksSecondFactor(pending: WaitingRequest): Promise<boolean>;
  /** Whether the application gets nothing from that session but by another sign-in. */
  requiresSignIn(request_id: string, browser_hash: string, session: Session): Promise<boolean>;
  /** For the change that starts or renews the session. */
  markAuthenticated(request_id: string, session_id: string): Sql;
};
