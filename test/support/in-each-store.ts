import { type TestContext, test } from 'node:test';
import { cellCount } from './postgres-server.ts';
import { type Options, type Signet, startSignet } from './signet.ts';

const stores: Readonly<Record<string, Options>> = {
  sqlite: { engine: 'sqlite' },
  postgres: { engine: 'postgres' },
  cells: { engine: 'postgres', cells: 4 },
};

/** A test for a store in one part, on each engine, and for one of cells, where what belongs together may be in several parts. */
export function inEachStore(
  name: string,
  options: Options,
  run: (t: TestContext, signet: Signet) => Promise<void>,
): void {
  for (const [store, of] of Object.entries(stores)) {
    if (cellCount > 0 && store !== 'cells') continue;
    test(`${name} (${store})`, async (t) => run(t, await startSignet(t, { ...of, ...options })));
  }
}
