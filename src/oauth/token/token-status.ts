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
 * @returns undefined for a client that may have no scope of an API whose tokens carry a status.
 */
export async function nextStatusRef(
  { apis, statusLists }: Pick<Deps, 'apis' | 'statusLists'>,
  { allowed_scopes }: Pick<Client, 'allowed_scopes'>,
): Promise<string | undefined> {
  const { ofScope } = await apis.read();
  return allowed_scopes.some((name) => ofScope(name)?.token_status === 'list') ? statusLists.next() : undefined;
}

/** The claim of a token that is for such an API, from what the grant was given with it. */
export async function statusOf(
  { apis, clock, statusLists }: Pick<Deps, 'apis' | 'clock' | 'statusLists'>,
  { id_token_signed_response_alg }: Pick<Client, 'id_token_signed_response_alg'>,
  { status_refs, status_window }: IssuableGrant,
  { audience }: Target,
): Promise<AccessTokenClaims['status']> {
  if (status_refs === null || audience === null) return undefined;
  // Given before the API ceased to have it for a while.
  if (status_window === null || status_window < statusWindow(now({ clock })) - 1) return undefined;
  const { named } = await apis.read();
  if (!audience.some((identifier) => named(identifier)?.token_status === 'list')) return undefined;
  const ref = status_refs.slice(status_refs.lastIndexOf(' ') + 1);
  return statusLists.claimOf(ref, id_token_signed_response_alg);
}
