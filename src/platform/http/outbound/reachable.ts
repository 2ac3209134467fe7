import type { BlockList, LookupFunction } from 'node:net';
import { isInSubnets, isPublicAddress } from '../../ip-address.ts';
import type { Resolve } from './resolve-host.ts';

/** @param allowed internal addresses that the operator allows. */
export const isAllowedAddress = (address: string, allowed: BlockList): boolean =>
  isPublicAddress(address) || isInSubnets(address, allowed);

/** @returns whether a request by this scheme may go to the address: without TLS only to one that the operator allows. */
export const isReachable = (protocol: string, address: string, allowed: BlockList): boolean =>
  protocol === 'https:' ? isAllowedAddress(address, allowed) : isInSubnets(address, allowed);

export class InternalTarget extends Error {
  override name = 'InternalTarget';
}

export const forbiddenTarget = (protocol: string) =>
  new InternalTarget(
    protocol === 'https:'
      ? 'The target is an internal address that SIGNET_WEBHOOK_INTERNAL does not list.'
      : 'Without https, SIGNET_WEBHOOK_INTERNAL must list every address of the host: localhost is 127.0.0.1 and ::1.',
  );

/**
 * Resolves a name for one connection and refuses the answer if any address in it is forbidden. The connection itself
 * calls it, since a check before the connection could be answered with another address (DNS rebinding).
 */
export const guardedLookup =
  (resolve: Resolve, protocol: string, allowed: BlockList): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || !addresses.every(({ address }) => isReachable(protocol, address, allowed))) {
          return callback(forbiddenTarget(protocol), '', 4);
        }
        if (options.all) return callback(null, addresses);
        return callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 4),
    );
  };
