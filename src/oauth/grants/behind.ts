import { now } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/db.ts';
import type { Deps } from '../../platform/deps.ts';
import { unavailable } from '../../platform/errors.ts';
import { type GrantId, timeOfId } from '../../platform/ids.ts';
import { type Grant, isGoneForGood } from './grant.store.ts';
import { keptSeconds } from './revoked-access-tokens.store.ts';

/** Of an access token `refresh_seq` is 1: at least that much has been issued. */
type IssuedToken = { grant_id: GrantId; refresh_seq: number };

/**
 * A genuine token that is newer than the row of its grant, or whose grant is not there although it was made just now, proves that this
 * store is behind, as a former primary or a standby is. The token is not invalid, and must not sign its user out (RFC 6749 §5.2). The
 * id of a grant says when it was made. An older grant that is not there was deleted some time after its end. A row that has been
 * overtaken counts until it expires.
 * @param grant as the store has it.
 * @throws {RequestError} `temporarily_unavailable`.
 */
export async function refuseIfBehind(
  deps: { db: Db } & Pick<Deps, 'clock'>,
  { grant_id, refresh_seq }: IssuedToken,
  grant: Grant | undefined,
): Promise<void> {
  const at = now(deps);
  if (grant) {
    const isOver = grant.revoked_at !== null || grant.idle_expires_at <= at || grant.expires_at <= at;
    if (isOver || refresh_seq <= grant.refresh_seq) return;
  } else {
    const made_at = Math.floor(timeOfId(grant_id) / 1000);
    if (Math.abs(at - made_at) >= keptSeconds || (await isGoneForGood(deps.db, grant_id, made_at))) return;
  }
  throw unavailable(new Error('a genuine token is newer than its grant in this store'));
}
