/** For the tests of this folder: a database with two users, and shorthands for what they do. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { insertUser } from '../../src/accounts/store.ts';
import { openApis } from '../../src/apis/register.ts';
import { readConfig } from '../../src/app/config.ts';
import { openAttributes } from '../../src/attributes/register.ts';
import type { Caller } from '../../src/audit/audit.ts';
import { type AuditRow, searchUnsealed } from '../../src/audit/store.ts';
import type { Client } from '../../src/clients/client.ts';
import { editClient } from '../../src/clients/edit-client.ts';
import { clientDirectory } from '../../src/clients/find-clients.ts';
import { registerClient } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import { openRiskContext } from '../../src/clients/risk-signals.ts';
import { openScopes } from '../../src/clients/scopes.ts';
import { grants } from '../../src/oauth/grants/grants.ts';
import type { OneDb } from '../../src/platform/db/db.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { openQueueOnly } from '../../src/platform/mail/sender.ts';
import { openVault } from '../../src/platform/vault.ts';
import { type Engine, freshDatabase } from './databases.ts';

export const ada: Caller = { actor: 'user:usr_ada', address: '192.0.2.1' };
export const administrator: Caller = { actor: 'user:usr_root', address: '192.0.2.2' };

/** A service with two users, and a clock in seconds that the test moves. */
export async function openClients(
  t: TestContext,
  engine: Engine,
  environment: Record<string, string> = { SIGNET_RATE_LIMITS: 'off' },
) {
  const { db } = await freshDatabase(t, engine);
  let seconds = 1_800_000_000;
  const clock = () => seconds * 1000;
  const config = readConfig(environment);
  const attributes = openAttributes({ db, clock });
  const deps = {
    db,
    clock,
    clients: clientDirectory({ db, clock }),
    apis: openApis({ db, clock }),
    attributes,
    grants,
    config,
    riskContext: openRiskContext({ db, config, clock }),
    scopes: openScopes(openApis({ db, clock }), attributes),
    mail: { ...openQueueOnly({ config, clock, vault: openVault(Buffer.alloc(32)) }), works: false },
  };
  const user = { email_verified_at: seconds, role: 'user', name: null } as const;
  for (const name of ['ada', 'eve']) {
    const user_id = `usr_${name}`;
    await db
      .of(user_id)
      .change({ run: { user: insertUser({ ...user, user_id, email: `${name}@example.com` }, seconds) } });
  }
  const register = (body: Record<string, unknown> = {}, owner_user_id: string | null = 'usr_ada') =>
    registerClient(
      deps,
      { owner_user_id, caller: ada },
      readRegistration({ name: 'App', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'], ...body }),
    );
  return {
    db,
    deps,
    register,
    pass(more: number) {
      seconds += more;
    },
    at: () => seconds,
    edit: (client: Client, fields: Parameters<typeof editClient>[2]['fields'], revision?: number) =>
      editClient(deps, { client_id: client.client_id, owner_user_id: 'usr_ada', caller: ada }, { fields, revision }),
    async approved(body: Record<string, unknown> = {}) {
      const { client } = await register(body);
      return approveClient(deps, { client_id: client.client_id, caller: administrator }, { revision: 1 });
    },
  };
}

export const asReviewer = ({ client_id }: Client) => ({ client_id, caller: administrator });
export const refusedWith =
  (code: string, details: Record<string, unknown> = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof RequestError, String(error));
    assert.deepEqual([error.code, error.details], [code, details]);
    return true;
  };

/** Those that are not sealed yet, oldest first. Events of one second have no order of their own, so tests that look at it move the clock. */
export const eventsOf = async (db: OneDb, { client_id }: { client_id: string }): Promise<AuditRow[]> =>
  (await searchUnsealed(db, { target: client_id }, 100)).reverse();
