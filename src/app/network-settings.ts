import { ConfigError } from '../platform/errors.ts';
import { isSubnet } from '../platform/ip-address.ts';

/** How many proxies are in front, or which; false: none. @throws {ConfigError} */
export function readTrustProxy(value: string): false | number | string[] {
  if (value === 'off') return false;
  if (/^\d{1,2}$/.test(value)) return Number(value);
  return readSubnets(
    value,
    'SIGNET_TRUST_PROXY must be "off", a number of proxies, or addresses and subnets such as 10.0.0.0/8,192.168.1.7.',
  );
}

/** @param sentence says what it has to be. @throws {ConfigError} */
export function readSubnets(value: string | undefined, sentence: string): string[] {
  const list = value?.split(',').map((entry) => entry.trim()) ?? [];
  if (!list.every(isSubnet)) throw new ConfigError(sentence);
  return list;
}
