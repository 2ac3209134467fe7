import type { BinaryLike } from 'node:crypto';

/*
 * Hashes that Node does not compute. A thread gets the text of these functions (hash-thread.ts): each has all it needs within itself.
 * `hash` is that of node:crypto.
 */

type Hash = (algorithm: string, data: BinaryLike, encoding: 'buffer') => Buffer;

/** phpass, "portable hashes": MD5 of salt and password, and again with the password, 2^log2 times. */
export function phpass(hash: Hash, password: Buffer, salt: Buffer, log2: number): Buffer {
  let digest = hash('md5', Buffer.concat([salt, password]), 'buffer');
  const both = Buffer.concat([digest, password]);
  for (let count = 2 ** log2; count > 0; count -= 1) {
    digest = hash('md5', both, 'buffer');
    digest.copy(both);
  }
  return digest;
}

/**
 * "Unix crypt using SHA-256 and SHA-512" by Ulrich Drepper, version 0.6; the letters are those of its steps.
 * @returns the digest in the order in which it is written.
 */
export function sha2Crypt(hash: Hash, algorithm: 'sha256' | 'sha512', password: Buffer, salt: Buffer, rounds: number) {
  const size = algorithm === 'sha256' ? 32 : 64;
  const digestOf = (...parts: Buffer[]) => hash(algorithm, Buffer.concat(parts), 'buffer');
  /** So many bytes of a digest, over and over. */
  const repeated = (digest: Buffer, length: number) => Buffer.alloc(length, digest);

  const b = digestOf(password, salt, password);
  const parts = [password, salt, repeated(b, password.length)];
  for (let bits = password.length; bits > 0; bits >>= 1) parts.push(bits & 1 ? b : password);
  let c = digestOf(...parts);
  const p = repeated(digestOf(...Array.from({ length: password.length }, () => password)), password.length);
  const s = repeated(digestOf(...Array.from({ length: 16 + (c[0] ?? 0) }, () => salt)), salt.length);
  for (let round = 0; round < rounds; round += 1) {
    const isOdd = round % 2 === 1;
    const middle = [...(round % 3 === 0 ? [] : [s]), ...(round % 7 === 0 ? [] : [p])];
    c = isOdd ? digestOf(p, ...middle, c) : digestOf(c, ...middle, p);
  }

  const order: number[] = [];
  const third = Math.floor(size / 3);
  for (let group = 0, [x, y, z] = [0, third, 2 * third]; group < third; group += 1) {
    order.push(z!, y!, x!);
    [x, y, z] = size === 64 ? [y! + 1, z! + 1, x! + 1] : [z! + 1, x! + 1, y! + 1];
  }
  order.push(...(size === 64 ? [63] : [30, 31]));
  return Buffer.from(order.map((index) => c[index] ?? 0));
}
