import assert from 'node:assert/strict';
import type { Signet } from './signet.ts';
import { beforeEachCall } from './store-spy.ts';

/** What a request asked of the store. */
export async function sqlOf(signet: Signet, request: () => Promise<{ status: number }>, status: number) {
  const texts: string[] = [];
  const stop = beforeEachCall(signet.deps.db, (sql) => void texts.push(...sql));
  const answer = await request();
  stop();
  assert.equal(answer.status, status);
  return texts;
}

/** The same, each statement by its first word. */
export const statementsOf = async (...of: Parameters<typeof sqlOf>) => firstWords(await sqlOf(...of));

export const firstWords = (texts: readonly string[]) => texts.map((text) => /\w+/.exec(text)?.[0] ?? text);
