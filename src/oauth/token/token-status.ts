import type { Client } from '../../clients/client.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../deps.ts';
import type { IssuableGrant } from '../grants/grant.store.ts';
import { statusWindow } from '../grants/status-refs.store.ts';
import type { AccessTokenClaims } from './access-token.ts';
import type { Target } from './resources.ts';

// Which access tokens have a status in a list (draft-ietf-oauth-status-list).

/**
 * For the change that issues, which is made before the APIs of the grant are read.
 * @returns undefined for a client that does not ask for it, and may have no scope of an API whose tokens carry a status.
 */
export async function nextStatusRef(
  { apis, statusLists }: Pick<Deps, 'apis' | 'statusLists'>,
  { allowed_scopes, status_in_access_token }: Pick<Client, 'allowed_scopes' | 'status_in_access_token'>,
): Promise<string | undefined> {
  if (status_in_access_token) return statusLists.next();
  const { ofScope } = await apis.read();
  return allowed_scopes.some((name) => ofScope(name)?.token_status === 'list') ? statusLists.next() : undefined;
}

type StatusClient = Pick<Client, 'id_token_signed_response_alg' | 'status_in_access_token'>;

/** The claim of a token of such a client, or for such an API, from what the grant was given with it. */
export async function statusOf(
  { apis, clock, statusLists }: Pick<Deps, 'apis' | 'clock' | 'statusLists'>,
  { id_token_signed_response_alg, status_in_access_token }: StatusClient,
  { status_refs, status_window }: IssuableGrant,
  { audience }: Target,
): Promise<AccessTokenClaims['status']> {
  if (status_refs === null) return undefined;
  // Given before the client or the API ceased to have it for a while.
  if (status_window === null || status_window < statusWindow(now({ clock })) - 1) return undefined;
  if (!status_in_access_token) {
    const { named } = await apis.read();
    if (!audience?.some((identifier) => named(identifier)?.token_status === 'list')) return undefined;
  }
  const ref = status_refs.slice(status_refs.lastIndexOf(' ') + 1);
  return statusLists.claimOf(ref, id_token_signed_response_alg);
}
