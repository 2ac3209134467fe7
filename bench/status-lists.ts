import { listOf, openStatusIndexes } from '../src/oauth/status-lists/status-indexes.ts';

// npm run bench:status-lists: how large the lists of revoked tokens are. See docs/apis.md.

const partRevoked = 0.01;

/** Characters of a signed list but for its bits: header, claims and signature (EdDSA), about. */
const besideBits = 500;

const rows: {
  tokens: number;
  processes: number;
  revoked: number;
  lists: number;
  bytes: number;
  'bytes by the largest': number;
}[] = [];
for (const tokens of [100_000, 1_000_000]) {
  for (const processes of [1, 4]) {
    const givers = Array.from({ length: processes }, () => openStatusIndexes({ clock: Date.now }));
    const revoked = new Map<string, number[]>();
    for (let token = 0; token < tokens; token += 1) {
      const [list = '', index] = (givers[token % processes] as () => string)().split('.');
      const of = revoked.get(list) ?? [];
      revoked.set(list, of);
      if (Math.random() < partRevoked) of.push(Number(index));
    }
    // In base64url twice: the bits in the claims, and the claims in the token.
    const sizes: number[] = [];
    for (const indexes of revoked.values())
      sizes.push(Math.ceil(((await listOf(indexes)).length * 4) / 3) + besideBits);
    rows.push({
      tokens,
      processes,
      revoked: [...revoked.values()].reduce((sum, { length }) => sum + length, 0),
      lists: sizes.length,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      'bytes by the largest': Math.max(...sizes),
    });
  }
}
const at = performance.now();
const next = openStatusIndexes({ clock: Date.now });
for (let token = 0; token < 500_000; token += 1) next();
console.table(rows);
console.log(
  `${(((performance.now() - at) / 500_000) * 1000).toFixed(2)} µs for the index of a token, until its list is half full`,
);
