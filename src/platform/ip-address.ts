import { BlockList, isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address without brackets and zone; an IPv4 address that is written as IPv6 (`::ffff:192.0.2.1`) is IPv4. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = text.replace(/^\[|\]$/g, '').replace(/%.*$/s, '');
  // ipaddr.js alone would also read 0x7f.1 as IPv4, and ::192.0.2.1 (RFC 4291 §2.5.5.1) as ::ffff:192.0.2.1.
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare.replace(/^::(?=[\d.]+$)/, '0::'));
}

/** @param hostname as in a URL: IPv6 with or without brackets. */
export const isIpAddress = (hostname: string): boolean => parse(hostname) !== undefined;

/** Of addresses in a list: one, in each way that it may be written, or all that begin so. */
export type AddressQuery = { readonly spellings: readonly string[] } | { readonly beginnings: readonly string[] };

/**
 * @param text an address, or its first numbers: `203.0.113.` or `203.0.113`, `2001:db8:`.
 * @returns undefined for what is neither.
 */
export function addressQuery(text: string): AddressQuery | undefined {
  const typed = text.trim().toLowerCase();
  // A server that listens on IPv6 sees IPv4 as IPv6.
  const inEachFamily = (one: string) => (one.includes(':') ? [one] : [one, `::ffff:${one}`]);
  if (isIpAddress(typed) && !typed.endsWith(':')) {
    return { spellings: [...new Set([...inEachFamily(canonicalAddress(typed) ?? typed), typed])] };
  }
  if (/^\d{1,3}(?:\.\d{1,3}){0,2}\.?$/.test(typed)) return { beginnings: inEachFamily(`${typed.replace(/\.$/, '')}.`) };
  if (!/^[\da-f]{1,4}(?::[\da-f]{1,4}){0,6}:{0,2}$/.test(typed)) return undefined;
  return { beginnings: [typed.endsWith(':') ? typed : `${typed}:`] };
}

/** All IPv6 addresses that are assigned to networks (RFC 4291 §2.4, IANA). */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** @returns how the address is usually written (RFC 5952); undefined for what is none. */
export const canonicalAddress = (text: string): string | undefined => parse(text)?.toString();

/** @returns whether it is an IP address on the public internet: of no special-purpose range (RFC 6890). */
export function isPublicAddress(text: string): boolean {
  const address = parse(text);
  return address?.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || parse(hostname)?.range() === 'loopback';

/**
 * The key under which requests from an address are counted. An IPv6 subscriber has at least a /64 and can change the lower
 * half with every request (RFC 8981), so a /64 has one key.
 */
export function addressKey(text: string): string {
  if (isIPv4(text)) return text; // on every token request: parsing costs 0.7 µs
  const address = parse(text);
  if (address === undefined) return text.replace(/%.*$/s, '');
  if (address.kind() === 'ipv4') return address.toString();
  return `${address.toNormalizedString().split(':', 4).join(':')}::/64`;
}

/** Of the network around an address: a /48 of IPv6, which one site may have (RFC 6177), and with it 65 536 {@link addressKey}s. */
export function networkKey(text: string): string {
  const key = addressKey(text);
  return key.endsWith('::/64') ? `${key.split(':', 3).join(':')}::/48` : key;
}

/** @returns whether it is an address, or a subnet in CIDR notation. */
export function isSubnet(text: string): boolean {
  const [address = '', bits] = text.split('/', 2);
  return isIP(address) !== 0 && (bits === undefined || ipaddr.isValidCIDR(text));
}

/** @param list addresses and subnets, each of which {@link isSubnet}. */
export function subnetList(list: readonly string[]): BlockList {
  const subnets = new BlockList();
  for (const entry of list) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    subnets.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return subnets;
}

export function isInSubnets(text: string, subnets: BlockList): boolean {
  const address = parse(text);
  return address !== undefined && subnets.check(address.toString(), address.kind());
}
