import type { Client } from '../../clients/client.ts';
import { FailureCause } from '../../clients/failures.ts';
import { parseScope, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { invalidGrant, invalidRequest, invalidScope, nothingAllowed } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { endGrant } from '../grants/end-grant.ts';
import { expireGrant, findGrant, findUsableGrant, type Grant, rotateRefreshToken } from '../grants/store.ts';
import { issueTokens, type TokenRequest, type TokenResponse } from './issue-tokens.ts';
import { type RefreshToken, readRefreshToken } from './refresh-token.ts';

/** Decisions §3. The absolute end of 90 days is set when the grant is born. */
export const refreshIdleSeconds = 30 * 86_400;

/**
 * Rotates a refresh token (OAuth 2.1 §4.3): one compare-and-swap, so of any number of parallel uses one wins.
 * @throws {RequestError} `invalid_request`, `invalid_scope`, or `invalid_grant`; an older genuine token ends the grant.
 */
export async function refreshTokenGrant(
  deps: Pick<Deps, 'db' | 'clock' | 'timekeeper' | 'config' | 'vault' | 'keys' | 'clients' | 'issuances' | 'mail'>,
  request: TokenRequest,
): Promise<TokenResponse> {
  const { client, form } = request;
  if (!form.refresh_token) throw invalidRequest('refresh_token is missing.');
  const token = readRefreshToken(deps.vault, form.refresh_token);
  if (!token || !client.allowed_scopes.includes('offline_access')) throw refused();
  const wanted = form.scope === undefined ? undefined : parseScope(form.scope);
  if (wanted) await refuseScope(deps, client, token, wanted);

  const at = now(deps);
  const rotation = { ...token, client_id: client.client_id, idle_expires_at: at + refreshIdleSeconds };
  const answer = async (grant: Grant) => {
    if (wanted) refuseUnlessGranted(client, grant, wanted);
    return issueTokens(deps, client, grant, { asked: wanted?.join(' ') ?? grant.scope });
  };
  const issued = await deps.issuances.issue(
    { key: token.grant_id, refresh_seq: token.refresh_seq + 1 },
    (issuance_id) => rotateRefreshToken(deps.db, { ...rotation, issuance_id }, at),
    answer,
  );
  return issued ?? answer(await retriedGrant(deps, request, token));
}

/**
 * A narrower scope is for this access token alone; the refresh token keeps the whole (RFC 6749 §6). A wider one is
 * refused before the rotation, because a refusal must leave the refresh token usable, and so is one of which the client
 * has lost everything. Only the current token of this client is judged: an older one is a replay whatever it wants, and
 * another client learns nothing of the grant (RFC 6749 §5.2: `invalid_grant`); the rotation finds both out.
 */
async function refuseScope(
  deps: Pick<Deps, 'db'>,
  client: Client,
  token: RefreshToken,
  wanted: readonly string[],
): Promise<void> {
  const grant = await findGrant(deps.db, token.grant_id);
  if (grant?.client_id !== client.client_id || grant.refresh_seq !== token.refresh_seq) return;
  refuseUnlessGranted(client, grant, wanted);
}

function refuseUnlessGranted(client: Client, grant: Grant, wanted: readonly string[]): void {
  const granted = grant.scope.split(' ');
  if (!wanted.every((name) => granted.includes(name))) throw invalidScope('The grant does not include this scope.');
  if (withinAllowed(wanted.join(' '), client.allowed_scopes) === '') throw nothingAllowed();
}

/**
 * The compare-and-swap found no row. Either the token is the direct parent and its successor is unused, and the first
 * answer may have been lost: we know of such a failure ourselves, or this client may ask again within its window. It gets
 * the same successor.
 * Or the token is older than that: nobody can tell the thief from the owner, so the grant ends for both.
 */
async function retriedGrant(
  deps: Pick<Deps, 'db' | 'clock' | 'timekeeper' | 'config' | 'clients' | 'issuances' | 'mail'>,
  { client, address }: TokenRequest,
  token: RefreshToken,
): Promise<Grant> {
  const at = now(deps);
  const grant = await findGrant(deps.db, token.grant_id);
  if (!grant || grant.client_id !== client.client_id) throw refused();
  if (token.refresh_seq >= grant.refresh_seq) {
    const isOver = grant.revoked_at === null && (grant.idle_expires_at <= at || grant.expires_at <= at);
    if (isOver && deps.timekeeper.isSettled()) await expireGrant(deps.db, grant.grant_id, at);
    throw refused();
  }
  const isParent = token.refresh_seq === grant.refresh_seq - 1;
  const isInWindow = at - (grant.refreshed_at ?? 0) <= client.refresh_retry_window && client.refresh_retry_window > 0;
  if (isParent && grant.revoked_at === null && (isInWindow || (await deps.issuances.isUnanswered(grant)))) {
    const served = await findUsableGrant(deps.db, token.grant_id);
    if (served?.refresh_seq === grant.refresh_seq && served.revoked_at === null && served.expires_at > at)
      return served;
    throw refused();
  }
  await endGrant(deps, { grant, reason: 'replay', actor: `client:${client.client_id}`, address });
  throw refused('refresh_replayed');
}

const refused = (why: 'refresh_token' | 'refresh_replayed' = 'refresh_token') =>
  invalidGrant(
    'The refresh token is unknown, expired, revoked, used before, or not for this client.',
    new FailureCause(why),
  );
