import type { Session } from '../../authentication/sessions/session.ts';
import { hasScope } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { digest, newId, newSecret } from '../../platform/ids.ts';
import { insertGrant } from '../grants/store.ts';
import { accessTokenSeconds } from '../token/issue-tokens.ts';
import { refreshIdleSeconds } from '../token/refresh-token-grant.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { completePendingRequest } from './store.ts';

/** Decisions §3. OAuth 2.1 §4.1.2 asks for ten minutes at most. */
const codeSeconds = 60;
/** However often it is refreshed, a grant ends after 90 days. */
const grantSeconds = 90 * 86_400;

/**
 * Makes a grant and returns its authorization code. One write, which asks once more whether the session lives by the
 * same secret and has seen every factor, and the client is approved.
 * @returns undefined if one of them is so no longer.
 */
export async function issueCode(
  deps: StoreDeps,
  request: AuthorizationRequest,
  session: Session,
  request_id?: string,
): Promise<string | undefined> {
  const at = now(deps);
  const code = newSecret('ac_');
  const grant_id = newId('gr');
  const isLasting = hasScope(request.scope, 'offline_access');
  // Without a refresh token the grant lives as long as the access token that the code may still buy.
  const accessEnds = at + codeSeconds + accessTokenSeconds;
  const insert = insertGrant({
    grant_id,
    client_id: request.client_id,
    session_id: session.session_id,
    session_token_hash: session.token_hash,
    scope: request.scope,
    redirect_uri: request.redirect_uri,
    nonce: request.nonce ?? null,
    code_hash: digest(code),
    code_challenge: request.code_challenge,
    code_expires_at: at + codeSeconds,
    idle_expires_at: isLasting ? at + refreshIdleSeconds : accessEnds,
    expires_at: isLasting ? at + grantSeconds : accessEnds,
    auth_time: session.auth_time,
    amr: session.amr.join(' '),
    acr: session.acr,
    created_at: at,
  });
  const { changes } = request_id
    ? (await deps.db.batch([insert, completePendingRequest(request_id, grant_id)]))[0]!
    : await deps.db.run(insert.sql, insert.params);
  return changes === 1 ? code : undefined;
}
