import { randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { type Clock, now } from '../../platform/clock.ts';

/** Bits of a list: tokens that it may say something of. */
const listBits = 2 ** 20;

/** A new list begins when this one is half full, so that an unused index is found at the second draw at most, on average. */
const mostOfList = listBits / 2;

/** Seconds in which a process gives indexes of one list. */
export const listSeconds = 12 * 3600;

/** Bytes: when the list was begun (Unix seconds), and random ones, so that no two processes give indexes of the same list. */
export const listIdBytes = 12;

/**
 * Gives each token an index of its own without a row: a process has lists of its own, and draws from what it has not given yet. So
 * an index says nothing of the user, the client or the order of issuance, and none is given twice.
 * @returns a function whose answers are `list.index`.
 */
export function openStatusIndexes({ clock }: { clock: Clock }): () => string {
  let list = { id: '', began_at: 0, given: new Uint8Array() as Uint8Array, count: mostOfList };

  function beginList() {
    const id = randomBytes(listIdBytes);
    const began_at = now({ clock });
    id.writeUInt32BE(began_at);
    list = { id: id.toString('base64url'), began_at, given: emptyList(), count: 0 };
  }

  return () => {
    const age = now({ clock }) - list.began_at;
    if (list.count >= mostOfList || age < 0 || age >= listSeconds) beginList();
    let index: number;
    do index = randomInt(listBits);
    while (isSet(list.given, index));
    setIndex(list.given, index);
    list.count += 1;
    return `${list.id}.${index}`;
  };
}

/** A bit for each token of a list, all of them 0. */
export const emptyList = (): Uint8Array => new Uint8Array(listBits / 8);

/** The first index is the lowest bit of the first byte (draft-ietf-oauth-status-list §4.1). @returns whether it was 0 before. */
export function setIndex(bits: Uint8Array, index: number): boolean {
  const before = bits[index >> 3] ?? 0;
  const after = before | (1 << (index & 7));
  bits[index >> 3] = after;
  return after !== before;
}

const isSet = (bits: Uint8Array, index: number): boolean => (((bits[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;

/** Compressed by zlib, in base64url (§4.2). */
export const compressed = async (bits: Uint8Array): Promise<string> =>
  (await promisify(deflate)(bits, { level: 9 })).toString('base64url');
