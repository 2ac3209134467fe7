import { isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * `X-Forwarded-For` as far as it can be believed, nearest proxy last. Some proxies write `192.0.2.1:4711` or
 * `[2001:db8::1]:4711`, and a port counted as part of the address would give each connection limits of its own. What is
 * no address ends the list: the entries before it were passed on by something unknown.
 * @returns addresses without ports and zones, separated by commas; undefined if none is left.
 */
export function readableForwardedFor(header: string): string | undefined {
  const addresses: string[] = [];
  for (const entry of header.split(',').reverse()) {
    const address = addressIn(entry.trim());
    if (address === undefined) break;
    addresses.unshift(address);
  }
  return addresses.length === 0 ? undefined : addresses.join(', ');
}

/** No address is longer than an IPv4 one that is written as IPv6 in full, with brackets and a port. */
const longest = 64;

function addressIn(entry: string): string | undefined {
  if (entry.length > longest) return undefined;
  const [, inBrackets] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry) ?? [];
  if (inBrackets !== undefined) return isIPv6(inBrackets) ? withoutZone(inBrackets) : undefined;
  const [, beforePort] = /^([\d.]+):\d{1,5}$/.exec(entry) ?? [];
  if (beforePort !== undefined) return isIPv4(beforePort) ? beforePort : undefined;
  return isIP(entry) === 0 ? undefined : withoutZone(entry);
}

/** A zone names a network card of whoever wrote it, and may be any text (RFC 4007 §11). */
const withoutZone = (address: string) => address.split('%', 1)[0];
