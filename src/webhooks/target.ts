import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Resolve } from './resolve-host.ts';

/** Not on the public internet (RFC 6890 and its IPv6 counterpart): where our own network's services are. */
const internal = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  internal.addSubnet(net, prefix, 'ipv4');
}
for (const [net, prefix] of [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  internal.addSubnet(net, prefix, 'ipv6');
}

/** Addresses and subnets that the operator allows although they are internal. */
export function subnets(list: readonly string[]): BlockList {
  const allowed = new BlockList();
  for (const entry of list) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    allowed.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return allowed;
}

/** An IPv4 address that is dressed as IPv6 is judged as what it is. */
export function mayReach(address: string, allowed: BlockList): boolean {
  const { bare, family } = undressed(address);
  return isIP(bare) !== 0 && (allowed.check(bare, family) || !internal.check(bare, family));
}

/** It is one that the operator named: only there may anything go in the clear. */
function isAllowed(address: string, allowed: BlockList): boolean {
  const { bare, family } = undressed(address);
  return isIP(bare) !== 0 && allowed.check(bare, family);
}

function undressed(address: string): { bare: string; family: 'ipv4' | 'ipv6' } {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const bare = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1] ?? plain;
  return { bare, family: isIP(bare) === 6 ? 'ipv6' : 'ipv4' };
}

/** Which addresses a delivery by this scheme may go to. */
export const judgeOf =
  (protocol: string, allowed: BlockList) =>
  (address: string): boolean =>
    protocol === 'https:' ? mayReach(address, allowed) : isAllowed(address, allowed);

export class InternalTarget extends Error {
  override name = 'InternalTarget';
}

export const forbiddenTarget = (protocol: string) =>
  new InternalTarget(
    protocol === 'https:'
      ? 'The target is internal.'
      : 'Without https it must be one of the allowed internal addresses.',
  );

/**
 * Looks a name up for one connection and refuses the answer if any address in it is forbidden. Asked by the connection
 * itself: a name that resolved well a moment ago may be pointed elsewhere now.
 */
export const guardedLookup =
  (resolve: Resolve, protocol: string, allowed: BlockList): LookupFunction =>
  (hostname, options, callback) => {
    const isGood = judgeOf(protocol, allowed);
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || !addresses.every(({ address }) => isGood(address))) {
          return callback(forbiddenTarget(protocol), '', 4);
        }
        if (options.all) return callback(null, addresses);
        return callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 4),
    );
  };
