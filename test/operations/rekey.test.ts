import assert from 'node:assert/strict';
import { closeDeps } from '../../src/app/open-deps.ts';
import { rekey } from '../../src/app/rekey.ts';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { beforeEachCall, holdNextCall } from '../support/store-spy.ts';
import { masterKey } from '../support/store-template.ts';

const caller = { actor: 'cli' } as const;
const before = masterKey.toString('hex');
const after = Buffer.alloc(32, 9).toString('hex');
const third = Buffer.alloc(32, 10).toString('hex');
const fourth = Buffer.alloc(32, 11).toString('hex');

const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;

onBothEngines(
  'a master key is replaced while servers run, in steps that may be interrupted, and nothing is lost',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const on = (env: Record<string, string>) =>
      startSignet(t, { beside: signet, env: { SIGNET_PORT: String(signet.deps.config.port), ...env } });
    const stop = async ({ app, deps }: Signet) => {
      await app.close();
      await closeDeps(deps);
    };
    const user = await signet.signedInUser();
    const admin = await signet.signedInUser({ role: 'admin' });
    const client = await signet.registerClient({ owner: user });
    const app = await user.enableTotp();
    const [first, second, late] = [
      await user.obtainTokens(client),
      await user.obtainTokens(client),
      await user.obtainTokens(client),
    ];
    const hook = { url: 'https://hooks.example/in', event_types: ['user.created'] };
    const made = await admin.browser.postJson('/v1/admin/webhooks', hook);
    assert.equal(made.status, 200, made.text);
    await signet.runJobs();
    await assert.rejects(rekey(signet.deps, caller, false), /SIGNET_OTHER_MASTER_KEY_FILE/);

    // A node with the new key, beside one that seals under the key of before, on PostgreSQL.
    await signet.deps.processes.serve();
    const both = { SIGNET_MASTER_KEY: after, SIGNET_OTHER_MASTER_KEY: before };
    if (engine === 'postgres') {
      const beside = await startSignet(t, { beside: signet, env: both });
      await assert.rejects(rekey(beside.deps, caller, false), /seals under another master key/);
      await stop(beside);
    }
    await stop(signet);

    const during = await on(both);
    const refreshed = tokensOf(await client.refresh(first.refresh_token));
    let changes = 0;
    const restore = beforeEachCall(during.deps.db, (sql) => {
      if (sql.some((text) => text.startsWith('update '))) changes += 1;
      if (changes === 3) throw new Error('killed');
    });
    await assert.rejects(rekey(during.deps, caller, false), /killed/);
    restore();
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).status, 303, 'a half is sealed anew');
    const env = { SIGNET_MASTER_KEY: before, SIGNET_OTHER_MASTER_KEY: after };
    if (engine === 'postgres') {
      const held = holdNextCall(during.deps.db, /^update (?:signing_keys|totp) /); // jobs write, too
      const overtaken = rekey(during.deps, caller, false);
      await held.reached;
      const forgotten = await startSignet(t, { beside: signet, env });
      await forgotten.deps.processes.serve();
      held.release();
      await assert.rejects(overtaken, /seals under another master key.* not retired yet/);
      await stop(forgotten);
    }
    const starting = engine === 'postgres' ? await startSignet(t, { beside: signet, env }) : undefined;
    const done = await rekey(during.deps, caller, false);
    if (starting) await assert.rejects(starting.deps.processes.serve(), /has been replaced/);
    if (starting) await stop(starting);
    assert.ok(done.replaced && (done.resealed['totp.secret_sealed'] ?? 0) + changes > 0);
    assert.equal(done.unreadable, 0);
    const repeated = await rekey(during.deps, caller, false);
    assert.deepEqual([repeated.replaced, Object.values(repeated.resealed).filter((rows) => rows > 0)], [false, []]);
    tokensOf(await client.refresh(refreshed.refresh_token));
    await during.runJobs();
    await stop(during);

    await assert.rejects(on({ SIGNET_MASTER_KEY: before }), /has been replaced/);
    await assert.rejects(on({ SIGNET_MASTER_KEY: before, SIGNET_OTHER_MASTER_KEY: after }), /has been replaced/);
    const next = await on({ SIGNET_MASTER_KEY: after });
    const rotated = tokensOf(await client.refresh(second.refresh_token));
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).status, 303);
    const [code = '', unused = ''] = app.backup_codes;
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(code)).status, 303, 'a backup code of before');
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(code)).status, 401);
    const [webhook] = await plain(next.deps.db).all<{ webhook_id: string; secret_sealed: string }>(
      'select * from webhooks',
    );
    assert.match(next.deps.vault.open(`webhook:${webhook?.webhook_id}`, webhook?.secret_sealed ?? ''), /^whsec_/);
    await next.runJobs();
    const report = await verifyAuditLog(next.deps);
    assert.deepEqual([report.broken, report.unsealed], [undefined, 0], 'the log is intact under both keys');
    assert.equal((await next.auditLog({ action: 'master_key.replaced' })).length, 1);
    await stop(next);

    // Once more, since the key was stolen.
    const again = await on({ SIGNET_MASTER_KEY: third, SIGNET_OTHER_MASTER_KEY: after });
    assert.ok((await rekey(again.deps, caller, true)).replaced);
    await stop(again);
    const robbed = await on({ SIGNET_MASTER_KEY: third });
    assertRefused(await client.refresh(rotated.refresh_token), 400, 'invalid_grant');
    assertRefused(await client.refresh(late.refresh_token), 400, 'invalid_grant'); // of the key before: the stolen one opens it
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(unused)).status, 401);
    assert.equal(
      (await robbed.userinfo(rotated.access_token)).status,
      401,
      'the stolen signing keys count for nothing',
    );
    assert.equal((await verifyAuditLog(robbed.deps)).broken, undefined);
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(app.code())).status, 303);
    const anew = await user.obtainTokens(client);
    assert.notEqual(kidOf(anew.access_token), kidOf(rotated.access_token), 'another key signs');
    await stop(robbed);

    // The theft is noticed only when the key has been replaced.
    const unaware = await on({ SIGNET_MASTER_KEY: fourth, SIGNET_OTHER_MASTER_KEY: third });
    assert.ok((await rekey(unaware.deps, caller, false)).replaced);
    const other = await user.obtainTokens(client);
    assert.equal((await rekey(unaware.deps, caller, true)).replaced, false);
    assert.equal((await unaware.auditLog({ action: 'master_key.replaced' })).length, 4, 'the theft is an event, too');
    await stop(unaware);
    const last = await on({ SIGNET_MASTER_KEY: fourth });
    assertRefused(await client.refresh(anew.refresh_token), 400, 'invalid_grant');
    assert.equal((await last.userinfo(other.access_token)).status, 401);
    tokensOf(await client.refresh(other.refresh_token)); // of the present key, which nobody has stolen
    assert.equal((await verifyAuditLog(last.deps)).broken, undefined);
  },
);
