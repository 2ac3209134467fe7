import type { OutboundAnswer } from '../../platform/http/outbound/outbound.ts';

/** Seconds: however short its headers are, it is not asked for more often; however long, a change is seen within a day. */
const shortest = 300;
const longest = 86_400;
/** Of a document that says nothing of it. */
const initial = 3600;

/**
 * For how many seconds a document is fresh (RFC 9111 §4.2), within bounds of our own, as the draft allows.
 * @param at Unix seconds.
 */
export function freshSeconds(headers: OutboundAnswer['headers'], at: number): number {
  const directives = (headers['cache-control'] ?? '').toLowerCase().split(',');
  if (directives.some((one) => /^\s*no-(?:store|cache)\b/.test(one))) return shortest;
  const [maxAge] = directives.flatMap((one) => /^\s*max-age\s*=\s*"?(\d{1,9})"?\s*$/.exec(one)?.[1] ?? []);
  const lifetime = maxAge === undefined ? untilExpiry(headers, at) : Number(maxAge);
  const age = /^\d{1,9}$/.test(headers.age ?? '') ? Number(headers.age) : 0;
  return Math.min(longest, Math.max(shortest, lifetime - age));
}

function untilExpiry({ expires, date }: OutboundAnswer['headers'], at: number): number {
  if (expires === undefined) return initial;
  const from = Date.parse(date ?? '') || at * 1000;
  return Math.floor(((Date.parse(expires) || from) - from) / 1000); // no date: already expired (RFC 9111 §5.3)
}
