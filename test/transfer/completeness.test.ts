import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { allTables, type TableName } from '../../src/platform/db/tables.ts';
import { kinds } from '../../src/transfer/kinds/all.ts';
import { freshDatabase } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';

/** By the format of an import, which `round-trip.test.ts` compares. */
const ofUsers: readonly TableName[] = ['users', 'passwords', 'passkeys', 'totp', 'identities'];

/** What docs/leaving.md says is left behind, and what a store makes anew. */
const leftBehind: readonly TableName[] = [
  ...(['sessions', 'grants', 'grant_endings', 'signal_leavings', 'authorization_requests', 'pushed_requests'] as const),
  ...([
    'revoked_access_tokens',
    'sign_in_attempts',
    'known_devices',
    'trusted_browsers',
    'security_alerts',
    'lost_apps',
    'factor_recoveries',
    'mail_codes',
    'kept_forms',
    'form_answers',
  ] as const),
  ...([
    'one_time_links',
    'spent_tokens',
    'outgoing_mails',
    'logout_deliveries',
    'webhook_deliveries',
    'signal_deliveries',
  ] as const),
  ...(['refused_addresses', 'declined_review_mails', 'provider_receipts', 'group_changes'] as const),
  ...(['signing_keys', 'retired_signing_keys', 'master_key_check', 'retired_master_keys', 'placement_keys'] as const),
  ...(['audit_log', 'audit_heads', 'unauthenticated_events', 'failure_counters', 'client_failures'] as const),
  ...(['daily_counts', 'active_users', 'counted_places', 'count_walks', 'hidden_setup_steps'] as const),
  ...(['imported_users', 'imported_records', 'restores', 'issuing_runs', 'server_heartbeat', 'apply_leases'] as const),
  ...(['user_terms', 'client_terms', 'cells', 'claims'] as const),
];

/** Columns that a store gives by itself to what comes from elsewhere. */
const madeAnew: Partial<Record<TableName, readonly string[]>> = {
  // Nothing reads the first; bulk revocations cover grants of earlier epochs, and there are none.
  clients: ['of_house', 'grants_epoch'],
  groups: ['deleted_at'],
  attributes: ['deleted_at', 'removed_to'],
  webhooks: ['deleted_at'],
  signal_streams: ['deleted_at'],
  // The changes that it counts are in a log that stays.
  settings: ['revision'],
};

test('every table is in an export, or is said to be left behind', () => {
  const exported = new Set([...kinds.flatMap(({ columns }) => [...columns.keys()]), ...ofUsers]);
  const behind = new Set(leftBehind);
  for (const [name] of allTables) {
    const where = [exported.has(name) && 'exported', behind.has(name) && 'left behind'].filter(Boolean);
    assert.equal(
      where.length,
      1,
      `${name}: add a kind in src/transfer/kinds/all.ts, or say in docs/leaving.md why not`,
    );
  }
});

async function columnsOf(t: TestContext) {
  const { db } = await freshDatabase(t, 'sqlite');
  return async (name: TableName): Promise<string[]> =>
    (await plain(db).all<{ name: string }>(`select name from pragma_table_info('${name}')`)).map((one) => one.name);
}

test('a column of an exported table is in its records, or is made anew', async (t) => {
  const columnsIn = await columnsOf(t);
  for (const { columns } of kinds) {
    for (const [name, filled] of columns) {
      if (ofUsers.includes(name)) continue;
      const left = (await columnsIn(name)).filter((one) => !filled.includes(one));
      assert.deepEqual(left, madeAnew[name] ?? [], `${name}: carry it, or say above why not`);
    }
  }
});
