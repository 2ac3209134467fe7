import assert from 'node:assert/strict';
import { openDocumentServer } from '../support/document-server.ts';
import { sentence } from '../support/messages.ts';
import { allow, authorize, clientAt, pathOf, readBy, readsDocuments } from '../support/outside-clients.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

testSignet(
  'MD-10: clients of a host that was approved in advance start approved, with those scopes at most, and always ask for consent',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const { host } = new URL(server.urlOf('app'));
    const hostPath = `/v1/admin/client-hosts/${encodeURIComponent(host)}`;
    const put = (body: object, path = hostPath, by = admin) => by.browser.put(path, body);
    assertRefused(await put({ allowed_scopes: ['openid', 'unheard:of'] }), 400, 'invalid_request');
    assertRefused(await put({ allowed_scopes: [] }), 400, 'invalid_request');
    for (const name of [
      'https:%2F%2Fapp.example.com',
      'app.example.com%2Fpath',
      '*.example.com',
      'user@app.example.com',
      '%20',
    ])
      assertRefused(
        await put({ allowed_scopes: ['openid'] }, `/v1/admin/client-hosts/${name}`),
        400,
        'invalid_request',
      );
    assertRefused(await put({ allowed_scopes: ['openid'] }, hostPath, user), 403, 'access_denied');
    assert.deepEqual((await admin.browser.get('/v1/admin/client-hosts')).json?.hosts, []);
    const wanted = { allowed_scopes: ['openid', 'offline_access'] };
    assert.deepEqual((await put(wanted)).json?.allowed_scopes, wanted.allowed_scopes);
    assert.equal((await put(wanted)).status, 200);
    assert.equal(
      (await signet.auditLog({ action: 'client_host.approved', target: host })).length,
      1,
      'the second changed nothing',
    );

    const asking = clientAt(signet, server, server.urlOf('app', '/a.json'), { scope: 'openid profile' });
    const silent = clientAt(signet, server, server.urlOf('app', '/b.json'));
    const greedy = clientAt(signet, server, server.urlOf('app', '/c.json'), {
      scope: 'entitlements:read',
      grant_types: undefined,
    });
    const elsewhere = clientAt(signet, server, server.urlOf('other'));
    for (const client of [asking, silent]) {
      const answer = await user.browser.get(client.authorizePath());
      const code = await allow(user, answer.location!);
      const tokens = tokensOf(await client.redeem(code));
      assert.equal(tokens.scope, 'openid offline_access');
    }
    assertRefused(await authorize(signet, greedy), 400, 'unauthorized_client');
    assertRefused(await authorize(signet, elsewhere), 400, 'unauthorized_client');
    const known = await readBy(admin, asking.client_id);
    assert.deepEqual(
      [known.status, known.consent, known.allowed_scopes],
      ['approved', 'required', ['openid', 'offline_access']],
    );
    const skipped = await admin.browser.patch(pathOf(asking.client_id, '/policy'), { consent: 'skip' });
    assertRefused(skipped, 400, 'invalid_request');

    const page = await admin.browser.get('/admin/client-hosts');
    assert.ok(page.text.includes(host), page.text);
    const form = { host: 'Other.Example.com ', 'scope:openid': 'on' };
    assert.equal((await admin.browser.post('/admin/client-hosts', form)).location, '/admin/client-hosts?done=approved');
    assert.equal(
      (await admin.browser.post('/admin/client-hosts', form)).location,
      '/admin/client-hosts?done=unchanged',
    );
    const refused = await admin.browser.post('/admin/client-hosts', { host: 'a b', 'scope:openid': 'on' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, sentence('problem.host'));
    const removed = await admin.browser.post(`/admin/client-hosts/${encodeURIComponent(host)}/remove`);
    assert.equal(removed.location, '/admin/client-hosts?done=removed');
    assertRefused(await admin.browser.delete(hostPath), 404, 'not_found');
    signet.clock.advance(2);
    assertRefused(
      await authorize(signet, clientAt(signet, server, server.urlOf('app', '/d.json'))),
      400,
      'unauthorized_client',
    );
    assert.equal((await readBy(admin, asking.client_id)).status, 'approved');
  },
);
