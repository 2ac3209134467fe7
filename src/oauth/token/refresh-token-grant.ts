import type { Client } from '../../clients/client.ts';
import { leftOutOf } from '../../clients/failures.ts';
import { isFapi } from '../../clients/profile.ts';
import { describeAllowed, isMalformedScope, usableScopes, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant, findReissuable, type IssuableGrant } from '../grants/grant.store.ts';
import { revokeGrant } from '../grants/grants.ts';
import { replayAlert } from '../grants/replay-alert.ts';
import { expireGrant, rotateRefreshToken } from '../grants/store.ts';
import { partyText } from '../grants/uses.ts';
import { issueTokens } from './issue-tokens.ts';
import {
  bindsRefreshTokens,
  hasKeyOf,
  type RefreshToken,
  readRefreshToken,
  refreshIdleSeconds,
} from './refresh-token.ts';
import { type Resources, readResources, requireTarget } from './resources.ts';
import { invalidGrant, invalidScope, nothingAllowed } from './token-refusal.ts';
import { type GrantType, needed, type TokenRequest, type TokenResponse } from './token-request.ts';
import { nextStatusRef } from './token-status.ts';

type RefreshRequest = TokenRequest<{ refresh_token: string; scope: string | undefined }>;

export const refreshToken: GrantType = {
  description: 'Redeems a refresh token.',
  parameters: {
    refresh_token: needed('The one that the last answer had.'),
    scope: Type.Optional(
      Type.String({ description: 'Less than was granted, for this access token. What was not granted is left out.' }),
    ),
  },
  redeem(deps, { form: { refresh_token, scope }, ...from }) {
    if (!refresh_token) throw invalidRequest('refresh_token is missing.');
    return refreshTokenGrant(deps, { ...from, refresh_token, scope });
  },
};

/** Seconds. A token that is used again so soon was probably used by two requests at once. */
const longestRetryWindow = 60;

/**
 * Rotates a refresh token (OAuth 2.1 §4.3): one compare-and-swap, so of any number of parallel uses one wins.
 * @throws {RequestError} `invalid_scope`, or `invalid_grant`; an older genuine token revokes the grant, a newer one
 * is `temporarily_unavailable`.
 */
async function refreshTokenGrant(
  deps: Pick<
    Deps,
    | 'db'
    | 'apis'
    | 'attributes'
    | 'clock'
    | 'timekeeper'
    | 'config'
    | 'vault'
    | 'keys'
    | 'clients'
    | 'clientFailures'
    | 'issuances'
    | 'mail'
    | 'statusLists'
  >,
  request: RefreshRequest,
): Promise<TokenResponse> {
  const { client, scope, jkt } = request;
  const token = readRefreshToken(deps.vault, request.refresh_token);
  if (!token || !client.allowed_scopes.includes('offline_access')) throw refused();
  const resources = await readResources(deps, request.resource);
  if (scope !== undefined || resources) await refuseNarrowed(deps, client, token, { scope, resources });

  const at = now(deps);
  const next_seq = isFapi(client) ? token.refresh_seq : token.refresh_seq + 1;
  const rotation = {
    ...token,
    next_seq,
    client_id: client.client_id,
    jkt: jkt ?? null,
    isBound: bindsRefreshTokens(client),
    idle_expires_at: at + refreshIdleSeconds(client),
    status_ref: await nextStatusRef(deps, client),
    used_by: partyText(request),
  };
  const answer = async (grant: IssuableGrant) => {
    const response = await issueTokens(deps, client, grant, { asked: askedOf(grant, scope), resources, jkt });
    const leftOut = leftOutOf(grant.scope.split(' '), scope, response.scope);
    const place = { client_id: client.client_id, stage: 'token', address: request.address } as const;
    if (leftOut) deps.clientFailures.record(place, leftOut);
    return response;
  };
  const issued = await deps.issuances.issue(
    { part: deps.db.of(token.grant_id), key: token.grant_id, refresh_seq: next_seq },
    (issuance_id, prepare) => rotateRefreshToken(deps.db, { ...rotation, issuance_id }, at, prepare),
    answer,
  );
  if (issued) return issued;
  const grant = await reissueForOldToken(deps, request, token);
  if (scope !== undefined || resources) await refuseUnlessGranted(deps, client, grant, { scope, resources });
  return answer(grant);
}

/** What a request has narrowed its token to. */
type Narrowed = { scope: string | undefined; resources: Resources | undefined };

/** What of the request was granted before: a scope never grows. */
const askedOf = (grant: Pick<IssuableGrant, 'scope'>, requested = grant.scope): string =>
  withinAllowed(requested, grant.scope.split(' '));

/**
 * A narrower scope, and fewer APIs, are for this access token alone; the refresh token keeps the whole (RFC 6749 §6, RFC 8707 §2.2). What was not granted is
 * left out, as at the authorization endpoint: many clients send the scope of their first request again. If nothing is left,
 * that is refused before the rotation, because a refusal must leave the refresh token usable. Only the current token of this client is judged: an older one is a replay whatever scope it asks
 * for, and another client learns nothing of the grant (RFC 6749 §5.2: `invalid_grant`); the rotation finds both out.
 */
async function refuseNarrowed(
  deps: Pick<Deps, 'db' | 'apis' | 'attributes'>,
  client: Client,
  token: RefreshToken,
  narrowed: Narrowed,
): Promise<void> {
  const { scope } = narrowed;
  if (scope !== undefined && isMalformedScope(scope))
    throw invalidScope('scope has a character that no scope has.', scope);
  const grant = await findGrant(deps.db, token.grant_id);
  if (grant?.client_id !== client.client_id || grant.refresh_seq !== token.refresh_seq) return;
  await refuseUnlessGranted(deps, client, grant, narrowed);
}

async function refuseUnlessGranted(
  deps: Pick<Deps, 'apis' | 'attributes'>,
  client: Client,
  grant: IssuableGrant,
  { scope, resources }: Narrowed,
): Promise<void> {
  const asked = askedOf(grant, scope);
  if (asked === '') throw invalidScope(describeAllowed(grant.scope.split(' ')), scope);
  const allowed = await usableScopes(deps, client.allowed_scopes);
  if (withinAllowed(asked, allowed) === '') throw nothingAllowed(scope);
  if (resources) await requireTarget(deps, client, grant, { asked, resources });
}

/**
 * The compare-and-swap found no row. If the token is the direct parent of the current one, the answer with the current
 * one may have been lost: the server knows of such a failure, or the client's retry window is open. Then the same
 * successor is issued once more. An older token is a replay: thief and owner cannot be distinguished, so the grant is
 * revoked for both.
 */
async function reissueForOldToken(
  deps: Pick<Deps, 'db' | 'clock' | 'timekeeper' | 'config' | 'clients' | 'issuances' | 'mail'>,
  request: RefreshRequest,
  token: RefreshToken,
): Promise<IssuableGrant> {
  const { client, address, jkt } = request;
  const at = now(deps);
  const grant = await findGrant(deps.db, token.grant_id);
  if (grant && grant.client_id !== client.client_id) throw refused();
  await refuseIfBehind(deps, token, grant);
  if (!grant) throw refused();
  // Before anything is said of a replay: without the key a stolen token ends no sign-in.
  if (!hasKeyOf(grant, jkt)) throw refused('dpop_key');
  if (token.refresh_seq >= grant.refresh_seq) {
    const hasExpired = grant.revoked_at === null && (grant.idle_expires_at <= at || grant.expires_at <= at);
    if (hasExpired && deps.timekeeper.isSettled()) await expireGrant(deps.db, grant.grant_id, at);
    throw refused();
  }
  const isParent = token.refresh_seq === grant.refresh_seq - 1;
  const isInWindow = at - (grant.refreshed_at ?? 0) <= client.refresh_retry_window && client.refresh_retry_window > 0;
  if (isParent && grant.revoked_at === null && (isInWindow || (await deps.issuances.isUnanswered(grant)))) {
    const reissuable = await findReissuable(deps.db, grant, at);
    if (reissuable) return reissuable;
    throw refused();
  }
  const alert = replayAlert(
    deps,
    grant,
    { kind: 'refresh_token_replayed', refresh_seq: token.refresh_seq + 1 },
    request,
  );
  await revokeGrant(deps, { grant, reason: 'replay', actor: `client:${client.client_id}`, address, alert });
  const isParallel = isParent && at - (grant.refreshed_at ?? 0) <= longestRetryWindow;
  throw refused(isParallel ? 'refresh_parallel' : 'refresh_replayed');
}

const refused = (diagnosis: 'refresh_token' | 'refresh_replayed' | 'refresh_parallel' | 'dpop_key' = 'refresh_token') =>
  invalidGrant(
    'The refresh token is unknown, expired, revoked, already used, or belongs to another client.',
    diagnosis,
  );
