import { raiseAlert } from '../../authentication/alerts/raise-alert.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import type { Grant } from './grant.store.ts';
import type { RaiseAlert } from './grants.ts';
import { retryWindowSeconds } from './issuances.ts';
import { type Party, useOf, useThatMade } from './uses.ts';

type Replayed = {
  kind: 'refresh_token_replayed' | 'code_replayed';
  /** The place in the sequence to which the first use has brought the grant. */
  refresh_seq: number;
};

/** A used token or code came again: what is known of both uses. @param second who sent it now. */
export function replayAlert(
  deps: Pick<Deps, 'clock' | 'config'>,
  grant: Grant,
  { kind, refresh_seq }: Replayed,
  second: Party,
): RaiseAlert {
  const { user_id, client_id, session_id } = grant;
  const at = now(deps);
  // An answer that was lost may have been given again for a while.
  const issued_at = Math.min(at, (grant.refreshed_at ?? at) + retryWindowSeconds);
  const facts = {
    uses: [useThatMade(grant, refresh_seq), useOf(second, at)],
    uses_between: Math.max(0, grant.refresh_seq - refresh_seq),
    access_tokens_until: issued_at + accessTokenSeconds,
  };
  return (onlyIf) => raiseAlert(deps, { user_id, kind, client_id, session_id, facts }, onlyIf);
}
