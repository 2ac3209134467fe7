import { isIPv4, isIPv6 } from 'node:net';

/**
 * What a client address counts as. An IPv6 subscriber owns at least a /64 and can change the lower half with every
 * request (RFC 8981), so a /64 counts as one; an IPv4 address written as IPv6 (`::ffff:192.0.2.1`, what a dual-stack
 * socket reports) counts as the IPv4 address it is. Anything else counts as itself.
 */
export function addressKey(address: string): string {
  const [withoutZone = ''] = address.split('%');
  if (isIPv4(withoutZone) || !isIPv6(withoutZone)) return withoutZone;
  const groups = ipv6Groups(withoutZone);
  const [, , , , , , high = 0, low = 0] = groups;
  const isMappedIpv4 = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMappedIpv4) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** @returns the eight 16-bit groups. The URL parser knows every way to write an address and leaves one. */
function ipv6Groups(address: string): number[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return parse(head);
  const [left, right] = [parse(head), parse(tail)];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}
