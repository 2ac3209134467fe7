import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import type { createCellTexts } from '../../src/platform/db/cell-texts.ts';
import { runFile } from '../support/run-file.ts';
import type { Noted } from './note-statements.ts';

const root = join(import.meta.dirname, '../..');

/** What these test files have a store of cells asked. Whether they pass is their own matter; one that hangs is ended. */
export async function collectStatements(folder: string, files: readonly string[]): Promise<Noted[]> {
  const NODE_OPTIONS = `--import=${new URL('note-statements.ts', import.meta.url).href}`;
  const env = { ...process.env, TEST_CELLS: '8', NODE_OPTIONS, NOTED_STATEMENTS: folder };
  for (const file of files) await runFile(file, { env, cwd: root, patienceMs: 120_000, stderr: 'ignore' });
  const all = globSync(join(folder, '*.json')).flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Noted[]);
  return [...new Map(all.map((one) => [one.sql.replaceAll(/\s+/g, ' ').trim(), one])).values()];
}

type Asked = { sql: string; params: readonly unknown[]; isOfShared: boolean };

/** As a part asks it. @returns undefined for what the part is not asked. */
export function asAsked({ sql, params = [] }: Noted, texts: ReturnType<typeof createCellTexts>): Asked | undefined {
  try {
    const { sql: text, isOfShared } = texts(sql);
    return { sql: text, params, isOfShared };
  } catch {
    return undefined;
  }
}

/** `nodes`: on which its tasks run; of shared tables alone, of which each node has a copy, Citus names any. */
export type Plan = { sql: string; tasks: number; nodes: string[] } | { sql: string; refused: string };

/** @returns undefined for a piece of a statement, and one of another engine: PostgreSQL itself does not take it. */
export async function planOf(client: pg.Client, { sql, params, isOfShared }: Asked): Promise<Plan | undefined> {
  const isComplete = await client.query(`prepare piece as ${sql}`).then(
    () => true,
    () => false,
  );
  if (!isComplete) return undefined;
  await client.query('deallocate piece');
  const shown = sql.replaceAll(/\s+/g, ' ').trim();
  try {
    const { rows } = await client.query(`explain (costs off) ${sql}`, [...params]);
    await tryOut(client, sql, params);
    const plan = rows.map((one) => String(one['QUERY PLAN'])).join('\n');
    const counts = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
    const nodes = [...plan.matchAll(/Node: host=(\S+) port=(\d+)/g)].map(([, host, port]) => `${host}:${port}`);
    return {
      sql: shown,
      tasks: counts.reduce((sum, count) => sum + count, 0),
      nodes: isOfShared ? [] : [...new Set(nodes)],
    };
  } catch (error) {
    return { sql: shown, refused: error instanceof Error ? error.message : String(error) };
  }
}

/** Without keeping it. A plan alone does not show what the node is sent, and whether it takes that. */
async function tryOut(client: pg.Client, sql: string, params: readonly unknown[]): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql, [...params]);
  } catch (error) {
    // What it is about is not in this store: a division by zero where it is required, a foreign key.
    if (!/^2[23]/.test(String((error as pg.DatabaseError).code))) throw error;
  } finally {
    await client.query('rollback');
  }
}
