import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Engine } from './databases.ts';
import { asAdmin } from './postgres-admin.ts';

/** What the store of another version holds, as `scripts/store-fixture.ts` has written it down. */
export type StoreFixture = {
  version: string;
  /** Unix seconds. */
  made_at: number;
  user: { user_id: string; email: string; password: string; totp_secret?: string };
  disabled: { email: string; password: string };
  /** Of the user's session. */
  cookies: Record<string, string>;
  client: { client_id: string; client_secret: string; redirect_uri: string };
  /** Refresh tokens. */
  tokens: { newest: string; replaced: string; revoked: string };
  /** The newest write. */
  entitlement?: Record<string, unknown>;
};

/** A folder for each version. */
export const storesFolder = fileURLToPath(new URL('../operations/stores', import.meta.url));
/** The statements of a version, one a line. */
export const statementsFile = 'statements.sql';

/**
 * What keeps the engine from carrying out each of these statements on these tables, as far as it can be known without values.
 * @param store a path (SQLite) or a URL (PostgreSQL).
 */
export async function problemsOf(
  engine: Engine,
  store: string,
  statements: readonly string[],
): Promise<(string | undefined)[]> {
  if (engine === 'postgres') {
    return asAdmin(store, async (client) => {
      const problems: (string | undefined)[] = [];
      for (const sql of statements) {
        // A plan and not a preparation: that does not look for the index that `on conflict` names.
        const planned = client.query(`explain (generic_plan) ${sql}`);
        problems.push(await planned.then(() => undefined, messageOf));
      }
      return problems;
    });
  }
  const db = new DatabaseSync(store, { readOnly: true });
  try {
    return statements.map((sql) => {
      try {
        db.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
        return undefined;
      } catch (error) {
        return messageOf(error);
      }
    });
  } finally {
    db.close();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
