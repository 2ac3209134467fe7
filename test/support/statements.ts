import assert from 'node:assert/strict';
import type { Signet } from './signet.ts';
import { beforeEachCall } from './store-spy.ts';

/** What a request asked of the store, each statement by its first word. */
export async function statementsOf(signet: Signet, request: () => Promise<{ status: number }>, status: number) {
  const words: string[] = [];
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    words.push(...sql.map((text) => /\w+/.exec(text)?.[0] ?? text));
  });
  const answer = await request();
  stop();
  assert.equal(answer.status, status);
  return words;
}
