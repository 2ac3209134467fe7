import assert from 'node:assert/strict';
import { newBrowser } from '../support/browser.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const app = {
  name: 'Ledger',
  client_type: 'confidential',
  redirect_uris: ['https://rp.test/cb'],
  allowed_scopes: ['openid'],
};
const register = ({ browser }: TestUser, headers?: Record<string, string>) =>
  browser.postJson('/v1/oauth/clients', app, headers);

const rowsLeft = async ({ deps: { db } }: Signet) => {
  const tables = ['clients', 'client_secrets', 'client_terms'];
  const rows = await Promise.all(tables.map((table) => plain(db).all(`select client_id from ${table}`)));
  return rows.map(({ length }) => length);
};

inEachStore(
  'an app whose owner’s account is deleted while it is being registered is refused, and nothing is left of it',
  {},
  async (_t, signet) => {
    const { db } = signet.deps;
    // Whichever of its changes is late.
    const changes = [/insert into clients/, /^update users set updated_at/];
    if (db.parts.length > 1) changes.push(/update clients set status/);
    for (const change of changes) {
      for (const isLost of [false, true]) {
        const ada = await signet.signedInUser();
        const elsewhere = await ada.signedInElsewhere();
        const held = holdNextCall(db, change);
        const registered = register(ada);
        await held.reached;
        const deleted = await elsewhere.browser.post('/account/delete', { email: ada.email });
        assert.equal(deleted.status, 303, deleted.text);
        if (isLost) {
          signet.clock.advance(60);
          await signet.runJobs();
          assert.deepEqual(await rowsLeft(signet), [0, 0, 0], 'of what its process has begun and not ended');
        }
        held.release();
        const answer = await registered;
        assert.deepEqual([answer.status, answer.json?.error], [401, 'login_required'], answer.text);
        assert.deepEqual(await rowsLeft(signet), [0, 0, 0], String(change));
      }
    }
  },
);

const env = { SIGNET_LIMIT_PENDING_CLIENTS: '1' };

inEachStore(
  'of apps that somebody without any submits at once, as many wait for review as may',
  { env },
  async (t, signet) => {
    const { engine } = signet.deps.db;
    const ada = await signet.signedInUser();
    const nodes = [signet, await startSignet(t, { engine, env, beside: signet })];
    // Each has counted those that wait, and none is written.
    const sql = 'lock table audit_log in exclusive mode';
    const held = engine === 'postgres' ? await openTransaction(t, signet.deps, { sql }) : undefined;
    const registered: ReturnType<typeof register>[] = [];
    for (const { url } of nodes) {
      const browser = newBrowser(url);
      for (const [name, value] of ada.browser.cookies) browser.cookies.set(name, value);
      registered.push(register(ada.with({ browser }), { origin: signet.url }));
      await held?.untilBlocked(registered);
    }
    await held?.commit();
    const statuses = (await Promise.all(registered)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 429]);
    const { clients } = (await ada.browser.get('/v1/oauth/clients')).json as { clients: unknown[] };
    assert.equal(clients.length, 1);
    assert.deepEqual((await rowsLeft(signet))[0], 1);
  },
);
