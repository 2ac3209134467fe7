import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { newSecret } from '../../src/platform/ids.ts';
import { randomOf } from '../../test/support/seeded-random.ts';

/**
 * Until it is given back, ids and secrets are the same in each run, so that two runs take the same pictures. What a process
 * does meanwhile is not secret.
 * @returns how to give chance back.
 */
export function fixChance(): () => void {
  const { randomBytes, randomFillSync } = crypto;
  const { below } = randomOf(2027);
  const fill = (bytes: Uint8Array) => bytes.map(() => below(256));
  Object.assign(crypto, {
    randomBytes: (size: number) => Buffer.from(fill(Buffer.alloc(size))),
    randomFillSync: (buffer: Buffer) => Object.assign(buffer, fill(buffer)),
  });
  syncBuiltinESMExports();
  for (let drawn = 0; drawn < 4096; drawn += 32) newSecret(); // what was in stock
  return () => {
    Object.assign(crypto, { randomBytes, randomFillSync });
    syncBuiltinESMExports();
  };
}
