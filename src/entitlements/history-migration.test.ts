import assert from 'node:assert/strict';
import { databaseBefore, onBothEngines } from '../../test/support/databases.ts';
import { plain } from '../../test/support/plain-sql.ts';
import { migrate } from '../platform/db/migrate.ts';
import { listVersions } from './store.ts';

onBothEngines(
  'what counts keeps in its history what its source said, also if it was written before',
  async (t, engine) => {
    const { db } = await databaseBefore(t, engine, '0005');
    await plain(db).run(
      `insert into users (user_id, email, email_key, role, created_at, updated_at) values ('usr_x', 'x@y.z', 'x@y.z', 'user', 1, 1)`,
    );
    await plain(db).run(
      `insert into entitlements (user_id, product, plan, status, source, version, external_customer_id, metadata, write_id,
                               updated_at) values ('usr_x', 'editor', 'pro', 'active', 'billing', 2, 'cus_2', '{"a":1}', 'ew', 2)`,
    );
    await plain(db).run(
      `insert into entitlement_versions (user_id, product, version, plan, status, source, credential_id, written_at)
     values ('usr_x', 'editor', 1, 'pro', 'active', 'billing', 'svc', 1), ('usr_x', 'editor', 2, 'pro', 'active', 'billing', 'svc', 2)`,
    );
    assert.ok((await migrate(db, 0)).includes('0005-entitlement-history'));
    const versions = await listVersions(db, 'usr_x', { limit: 9 });
    assert.deepEqual(
      versions.map((one) => [one.version, one.external_customer_id, one.external_subscription_id, one.metadata]),
      [
        [2, 'cus_2', null, { a: 1 }],
        [1, null, null, null],
      ],
    );
  },
);
