import { networkKey } from '../../platform/ip-address.ts';

/** Uploads in progress, each with a buffer of its own: of this process, and of one user. */
const places = 64;
const placesOfUser = 2;

/**
 * A body may take as long as a request may, so one who has a place can hold it. As with what waits for the store, a network
 * of addresses may have as many as are left for all others: one alone half of them, three a quarter each, and there is always
 * one left for one more.
 */
export function uploadPlaces() {
  const ofUsers = new Map<string, number>();
  const ofNetworks = new Map<string, number>();
  let taken = 0;

  function count(user_id: string, network: string, more: 1 | -1): void {
    taken += more;
    for (const [counts, key] of [
      [ofUsers, user_id],
      [ofNetworks, network],
    ] as const) {
      const left = (counts.get(key) ?? 0) + more;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    }
  }

  /** @returns what gives the place back; undefined if there is none. */
  return (user_id: string, address: string): (() => void) | undefined => {
    const network = networkKey(address);
    const isFull = (ofUsers.get(user_id) ?? 0) >= placesOfUser || (ofNetworks.get(network) ?? 0) >= places - taken;
    if (isFull) return undefined;
    count(user_id, network, 1);
    return () => count(user_id, network, -1);
  };
}
