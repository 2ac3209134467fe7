import { promises as dns, type LookupAddress } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type Clock, now } from '../../clock.ts';

/** @returns the addresses of a name. @throws if there are none. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Seconds for which a name that did not resolve is not asked for again. */
const failedSeconds = 30;

/**
 * Not `dns.lookup`: that waits in one of the few threads of the process, and a few names whose server never answers
 * would stop every other look-up in it. So a name is asked for at the name servers by the event loop, once at a time, for
 * two seconds, and not at once again after a failure. Names are taken as they are, without search domains.
 * @param ask without it: the hosts file, then the name servers of the machine.
 */
export function hostResolver({ clock }: { clock: Clock }, ask: Resolve = askHostsAndDns): Resolve {
  const asking = new Map<string, Promise<LookupAddress[]>>();
  const failedUntil = new Map<string, number>();
  return (hostname) => {
    const running = asking.get(hostname);
    if (running) return running;
    for (const [name, until] of failedUntil) if (until <= now({ clock })) failedUntil.delete(name);
    if (failedUntil.has(hostname)) return Promise.reject(noAddress());
    const answer = ask(hostname)
      .catch((error: unknown) => {
        failedUntil.set(hostname, now({ clock }) + failedSeconds);
        throw error;
      })
      .finally(() => asking.delete(hostname));
    asking.set(hostname, answer);
    return answer;
  };
}

async function askHostsAndDns(hostname: string): Promise<LookupAddress[]> {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  // RFC 6761, 6.3: these never go to a name server.
  if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'].map(addressOf);
  const known = inHosts(await readFile('/etc/hosts', 'utf8').catch(() => ''), name);
  if (known.length > 0) return known;
  const resolver = new dns.Resolver({ timeout: 2000, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length === 0) throw noAddress();
  return addresses.map(addressOf);
}

/** hosts(5): an address and its names on each line. */
export const inHosts = (hosts: string, name: string): LookupAddress[] =>
  hosts
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/))
    .filter(([address = '', ...names]) => isIP(address) !== 0 && names.includes(name))
    .map(([address = '']) => addressOf(address));

const addressOf = (address: string): LookupAddress => ({ address, family: isIP(address) });
const noAddress = () => Object.assign(new Error('The host name has no address.'), { code: 'ENOTFOUND' });
