import type { BinaryLike } from 'node:crypto';

type Hash = (algorithm: string, data: BinaryLike, encoding: 'buffer') => Buffer;

/** Of one hash. */
export type OldArgon2Parameters = {
  variant: 'argon2d' | 'argon2i' | 'argon2id';
  salt: Uint8Array;
  /** KiB. */
  memory: number;
  passes: number;
  parallelism: number;
  /** Bytes: 64 at most. */
  tagLength: number;
};

/*
 * Argon2 in version 1.0 (`v=16`), which neither OpenSSL nor libsodium computes: RFC 9106 but for its number, and that a later pass
 * overwrites a block instead of adding to it. Names are those of section 3. A thread gets the text of these functions (hash-thread.ts):
 * each has all it needs within itself, or as a parameter.
 */

/** BLAKE2b (RFC 7693) with any length, which Node does not offer. It is asked for a tag of each hash only, so it may be slow. */
export function blake2b(length: number, data: Uint8Array): Buffer {
  const mask = 0xffff_ffff_ffff_ffffn;
  const initial = [
    0x6a09e667f3bcc908n,
    0xbb67ae8584caa73bn,
    0x3c6ef372fe94f82bn,
    0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n,
    0x9b05688c2b3e6c1fn,
    0x1f83d9abfb41bd6bn,
    0x5be0cd19137e2179n,
  ];
  const permutations =
    '0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d 2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0'
      .split(' ')
      .map((row) => [...row].map((digit) => Number.parseInt(digit, 16)));
  const quarters = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
  ];
  const rotate = (word: bigint, by: bigint) => ((word >> by) | (word << (64n - by))) & mask;
  const padded = Buffer.alloc(Math.max(1, Math.ceil(data.length / 128)) * 128);
  padded.set(data);
  const h = initial.slice();
  h[0]! ^= 0x01010000n ^ BigInt(length);
  for (let at = 0; at < padded.length; at += 128) {
    const m = Array.from({ length: 16 }, (_, word) => padded.readBigUInt64LE(at + 8 * word));
    const v = [...h, ...initial];
    v[12]! ^= BigInt(Math.min(at + 128, data.length));
    if (at + 128 >= padded.length) v[14]! ^= mask;
    for (let round = 0; round < 12; round += 1) {
      for (const [index, [a = 0, b = 0, c = 0, d = 0]] of quarters.entries()) {
        const s = permutations[round % 10]!;
        v[a] = (v[a]! + v[b]! + m[s[2 * index]!]!) & mask;
        v[d] = rotate(v[d]! ^ v[a]!, 32n);
        v[c] = (v[c]! + v[d]!) & mask;
        v[b] = rotate(v[b]! ^ v[c]!, 24n);
        v[a] = (v[a]! + v[b]! + m[s[2 * index + 1]!]!) & mask;
        v[d] = rotate(v[d]! ^ v[a]!, 16n);
        v[c] = (v[c]! + v[d]!) & mask;
        v[b] = rotate(v[b]! ^ v[c]!, 63n);
      }
    }
    for (let word = 0; word < 8; word += 1) h[word]! ^= v[word]! ^ v[word + 8]!;
  }
  const digest = Buffer.alloc(64);
  for (const [word, value] of h.entries()) digest.writeBigUInt64LE(value, 8 * word);
  return digest.subarray(0, length);
}

/** @returns the compression function G (sections 3.5 and 3.6): `target` becomes that of `x` and `y`, each of 128 words in 256 halves. */
export function compressor(): (x: Uint32Array, y: Uint32Array, target: Uint32Array) => void {
  const z = new Uint32Array(256);

  /** z[a] += z[b] + 2 × the product of their lower halves. */
  function add(a: number, b: number): void {
    const low = z[a]!;
    const other = z[b]!;
    const inner = (low & 0xffff) * (other >>> 16);
    const outer = (low >>> 16) * (other & 0xffff);
    const middle = (((low & 0xffff) * (other & 0xffff)) >>> 16) + (inner & 0xffff) + (outer & 0xffff);
    const productLow = Math.imul(low, other);
    const productHigh = (low >>> 16) * (other >>> 16) + (inner >>> 16) + (outer >>> 16) + (middle >>> 16);
    const sum = low + other + ((productLow << 1) >>> 0);
    z[a] = sum >>> 0;
    const carry = (sum / 0x1_0000_0000) | 0;
    z[a + 1] = (z[a + 1]! + z[b + 1]! + ((productHigh << 1) | (productLow >>> 31)) + carry) >>> 0;
  }
  /** z[a] is what it was, xor z[b], rotated to the right. */
  function mix(a: number, b: number, by: number): void {
    const low = z[a]! ^ z[b]!;
    const high = z[a + 1]! ^ z[b + 1]!;
    const one = by >= 32 ? high : low;
    const other = by >= 32 ? low : high;
    const rest = by % 32;
    z[a] = rest === 0 ? one : (one >>> rest) | (other << (32 - rest));
    z[a + 1] = rest === 0 ? other : (other >>> rest) | (one << (32 - rest));
  }
  function quarter(a: number, b: number, c: number, d: number): void {
    add(a, b);
    mix(d, a, 32);
    add(c, d);
    mix(b, c, 24);
    add(a, b);
    mix(d, a, 16);
    add(c, d);
    mix(b, c, 63);
  }
  /** The words of each quarter round, as halves: of P for each of eight rows, then of eight columns (section 3.6). */
  const quarters: number[] = [];
  for (const [next, step] of [
    [32, 4],
    [4, 32],
  ] as const) {
    for (let start = 0; start < 8 * next; start += next) {
      const at = (word: number) => start + (word >> 1) * step + (word & 1) * 2;
      for (const shift of [0, 1]) {
        for (let first = 0; first < 4; first += 1) {
          for (let row = 0; row < 4; row += 1) quarters.push(at(4 * row + ((first + shift * row) % 4)));
        }
      }
    }
  }
  return (x, y, target) => {
    for (let half = 0; half < 256; half += 1) z[half] = target[half] = x[half]! ^ y[half]!;
    for (let at = 0; at < quarters.length; at += 4) {
      quarter(quarters[at]!, quarters[at + 1]!, quarters[at + 2]!, quarters[at + 3]!);
    }
    for (let half = 0; half < 256; half += 1) target[half]! ^= z[half]!;
  };
}

type Functions = { hash: Hash; blake2b: typeof blake2b; compressor: typeof compressor };

export function oldArgon2(functions: Functions, password: Uint8Array, parameters: OldArgon2Parameters): Buffer {
  const { variant, salt, memory, passes, parallelism: lanes, tagLength } = parameters;
  const compress = functions.compressor();
  const type = ['argon2d', 'argon2i', 'argon2id'].indexOf(variant);
  const le32 = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);
  const digest = (...parts: Uint8Array[]) => functions.hash('blake2b512', Buffer.concat(parts), 'buffer');

  const segment = Math.floor(memory / (4 * lanes));
  const columns = 4 * segment;
  const blocks = new Uint32Array(lanes * columns * 256);
  const block = (lane: number, column: number) => {
    const at = (lane * columns + column) * 256;
    return blocks.subarray(at, at + 256);
  };

  const settings = le32(lanes, tagLength, memory, passes, 16, type, password.length);
  const h0 = digest(settings, password, le32(salt.length), salt, le32(0, 0));
  for (let lane = 0; lane < lanes; lane += 1) {
    for (const column of [0, 1]) {
      const bytes = Buffer.from(block(lane, column).buffer, block(lane, column).byteOffset, 1024);
      let v = digest(le32(1024), h0, le32(column, lane));
      for (let at = 0; at < 1024 - 64; at += 32, v = digest(v)) v.copy(bytes, at, 0, 32);
      v.copy(bytes, 1024 - 64);
    }
  }

  function fillSegment(pass: number, slice: number, lane: number): void {
    const isIndependent = type === 1 || (type === 2 && pass === 0 && slice < 2);
    const zero = new Uint32Array(256);
    const input = new Uint32Array(256);
    const addresses = new Uint32Array(256);
    input.set([pass, 0, lane, 0, slice, 0, lanes * columns, 0, passes, 0, type, 0]);
    const isFirst = pass === 0 && slice === 0;
    for (let index = 0; index < segment; index += 1) {
      if (isIndependent && index % 128 === 0) {
        input[12]! += 1;
        compress(zero, input, addresses);
        compress(zero, addresses.slice(), addresses);
      }
      if (isFirst && index < 2) continue;
      const column = slice * segment + index;
      const previous = block(lane, (column + columns - 1) % columns);
      const at = isIndependent ? 2 * (index % 128) : 0;
      const words = isIndependent ? addresses : previous;
      const j1 = BigInt(words[at]!);
      const ofLane = isFirst ? lane : words[at + 1]! % lanes;
      const finished = pass === 0 ? slice * segment : columns - segment;
      const area = ofLane === lane ? finished + index - 1 : finished - (index === 0 ? 1 : 0);
      const back = Number((BigInt(area) * ((j1 * j1) >> 32n)) >> 32n);
      const start = pass === 0 ? 0 : ((slice + 1) % 4) * segment;
      compress(previous, block(ofLane, (start + area - 1 - back) % columns), block(lane, column));
    }
  }
  for (let pass = 0; pass < passes; pass += 1) {
    for (let slice = 0; slice < 4; slice += 1) {
      for (let lane = 0; lane < lanes; lane += 1) fillSegment(pass, slice, lane);
    }
  }

  const last = Uint32Array.from(block(0, columns - 1));
  for (let lane = 1; lane < lanes; lane += 1) {
    for (const [half, value] of block(lane, columns - 1).entries()) last[half]! ^= value;
  }
  return functions.blake2b(tagLength, Buffer.concat([le32(tagLength), Buffer.from(last.buffer)]));
}
