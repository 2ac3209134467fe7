import type { AlertUse } from '../../authentication/alerts/kinds.ts';
import { unknownUse } from '../../authentication/alerts/raise-alert.ts';
import { agentName } from '../../authentication/sessions/browser.ts';
import type { Grant } from './grant.store.ts';

/** Who sends a request for tokens, as far as it can be distinguished from another one. */
export type Party = { address: string; userAgent?: string | undefined; jkt: string | undefined };

/**
 * As it is kept in the row of the grant: "- 203.0.113.7 curl/8.9", and "d" for a proof of a key. No secret, and of the browser only what
 * people know it by.
 */
export const partyText = ({ address, userAgent, jkt }: Party): string =>
  `${jkt === undefined ? '-' : 'd'} ${address.slice(0, 45)} ${agentName(userAgent) ?? ''}`;

type Known = Pick<AlertUse, 'address' | 'agent' | 'dpop'>;

function partyOf(text: string | null): Known {
  const [, proof, address, agent] = /^([d-]) (\S*) (.*)$/s.exec(text ?? '') ?? [];
  return { address: address || null, agent: agent || null, dpop: proof === 'd' };
}

export const useOf = (party: Party, at: number): AlertUse => ({ at, not_after: null, ...partyOf(partyText(party)) });

/**
 * The use that brought a grant to this place of its sequence. Two parties are remembered: of more the older ones are unknown, and so is
 * the time of a use that others of the same party have followed.
 */
export function useThatMade(grant: Grant, refresh_seq: number): AlertUse {
  const { refreshed_at, redeemed_at, used_before_seq, used_before_at } = grant;
  const last = { seq: grant.refresh_seq, at: refreshed_at, party: partyOf(grant.used_by) };
  const before = used_before_seq !== null && {
    seq: used_before_seq,
    at: used_before_at,
    party: partyOf(grant.used_before_by),
  };
  // A refresh token that stays leaves the sequence at 1, which is that of the code as well.
  const isOfCode = refresh_seq === 1;
  const made = before && refresh_seq <= before.seq ? before : last;
  const isFirst = !before || (made === before && before.at === redeemed_at);
  if (isOfCode && redeemed_at !== null)
    return isFirst ? { at: redeemed_at, not_after: null, ...made.party } : { ...unknownUse(null), at: redeemed_at };
  if (refresh_seq === made.seq) return { at: made.at, not_after: null, ...made.party };
  return made === last ? { at: null, not_after: made.at, ...made.party } : unknownUse(made.at);
}
