import assert from 'node:assert/strict';
import { openDocumentServer } from '../support/document-server.ts';
import { approve, asJson, authorize, clientAt, pathOf, readBy, readsDocuments } from '../support/outside-clients.ts';
import { assertRefused } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

testSignet(
  'MD-07: a changed document is a change that waits, what was approved goes on, and a document that fails changes nothing',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const url = server.urlOf('app');
    const cached = { headers: { 'cache-control': 'public, max-age=1200' } };
    const client = clientAt(signet, server, url, { scope: 'openid email offline_access' }, cached);
    await authorize(signet, client);
    // Between the review and the approval it becomes another.
    const before = await readBy(admin, url);
    clientAt(signet, server, url, { scope: 'openid email offline_access', client_name: 'Memos' }, cached);
    signet.clock.advance(1200);
    await authorize(signet, client);
    await until('the document is read again', async () => (await readBy(admin, url)).name === 'Memos');
    const reviewer = await admin.signedInElsewhere();
    assertRefused(await approve(reviewer, url, { revision: before.revision }), 409, 'stale_revision');
    const { revision } = await readBy(admin, url);
    assert.equal((await approve(reviewer, url, { revision, allowed_scopes: ['openid'] })).status, 200);

    const asked = () => server.asked.length;
    let known = asked();
    assert.equal(known, 2);
    const signIn = async (of = client) => (await user.browser.get(of.authorizePath())).location ?? '';
    assert.match(await signIn(), /\/consent/);
    signet.clock.advance(1100);
    await signIn();
    assert.equal(asked(), known, 'it is fresh for as long as its headers say');
    signet.clock.advance(200);
    const moved = {
      redirect_uris: [server.urlOf('app', '/elsewhere')],
      scope: 'openid email offline_access',
      client_name: 'Memos',
    };
    clientAt(signet, server, url, moved, cached);
    await signIn();
    await until('the change is staged', async () => (await readBy(admin, url)).pending_change !== null);
    const staged = await readBy(admin, url);
    assert.deepEqual(
      staged.pending_change,
      { redirect_uris: moved.redirect_uris },
      'scopes that the reviewer has narrowed are not wanted anew',
    );
    assert.match(await signIn(), /\/consent/);
    assertRefused(
      await user.browser.get(client.with({ redirect_uri: moved.redirect_uris[0]! }).authorizePath(), asJson),
      400,
      'invalid_request',
    );
    assert.ok((await admin.browser.get('/v1/admin/clients?status=waiting')).text.includes(url));
    const rejected = await (await admin.signedInElsewhere()).browser.postJson(pathOf(url, '/reject'), {
      reason: 'Another place.',
    });
    assert.equal(rejected.status, 200, rejected.text);

    for (const failing of [
      { status: 500 },
      { status: 404 },
      { body: '{' },
      { headers: { location: '/x' }, status: 301 },
    ]) {
      known = asked();
      server.give(url, failing);
      signet.clock.advance(1300);
      assert.match(await signIn(), /\/consent/);
      await until('it was asked for', () => asked() > known);
      await signIn();
      assert.equal(asked(), known + 1, 'and not at each request');
    }
    const after = await readBy(await admin.signedInElsewhere(), url);
    assert.deepEqual(
      [after.status, after.pending_change, after.redirect_uris],
      ['approved', null, [server.urlOf('app', '/cb')]],
    );
    clientAt(signet, server, url, moved, { headers: { 'cache-control': 'no-store' } });
    known = asked();
    signet.clock.advance(1300);
    await signIn();
    await until('it was asked for', () => asked() > known);
    await signIn();
    assert.equal(
      (await readBy(await admin.signedInElsewhere(), url)).pending_change,
      null,
      'the same document is not wanted anew after it was rejected',
    );
    signet.clock.advance(299);
    await signIn();
    assert.equal(asked(), known + 1, 'not more often than every five minutes');
    server.give(url, { holds: true });
    known = asked();
    signet.clock.advance(2);
    for (let count = 0; count < 5; count += 1) assert.match(await signIn(), /\/consent/);
    await until('it was asked for', () => asked() > known);
    await signIn();
    assert.equal(asked(), known + 1, 'a document that hangs delays no sign-in, and is asked for once');
    server.drop();
  },
);
