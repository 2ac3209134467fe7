import assert from 'node:assert/strict';
import { openDocumentServer } from '../support/document-server.ts';
import { approve, asJson, authorize, clientAt, pathOf, readsDocuments } from '../support/outside-clients.ts';
import { assertRefused, type RegisteredClient } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

const day = 86_400;

testSignet(
  'MD-05: strangers fill neither the queue nor the disk: a thousand client_ids, limits by address, by hour and in all',
  {
    env: {
      ...readsDocuments,
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_ADDRESS: '9',
      SIGNET_LIMIT_OUTSIDE_CLIENTS_PER_HOUR: '5',
      SIGNET_LIMIT_UNREVIEWED_CLIENTS: '6',
      SIGNET_TRUST_PROXY: '1',
    },
  },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const from = (address: string) => ({ ...asJson, 'x-forwarded-for': address });
    const ask = (path: string, address: string, name = 'app') =>
      signet.newBrowser().get(clientAt(signet, server, server.urlOf(name, path)).authorizePath(), from(address));
    const codes = new Map<string, number>();
    const asked = async (answers: Promise<{ status: number; json: Record<string, unknown> | undefined }>[]) => {
      for (const { status, json } of await Promise.all(answers)) {
        assert.ok(status === 400 || status === 429, `${status}`);
        codes.set(String(json?.error), (codes.get(String(json?.error)) ?? 0) + 1);
      }
    };
    const thousand = Array.from({ length: 1000 }, (_, one) => `/${one}.json`);
    for (let place = 0; place < 1000; place += 50)
      await asked(thousand.slice(place, place + 50).map((path) => ask(path, '203.0.113.1')));
    assert.ok(server.asked.length <= 9, `${server.asked.length} of one address`);
    assert.equal(
      [...codes.values()].reduce((sum, one) => sum + one),
      1000,
    );
    signet.clock.advance(3600);
    await asked(thousand.slice(0, 40).map((_, one) => ask(`/b${one}.json`, `198.51.100.${one}`)));
    const admin = await signet.signedInUser({ role: 'admin' });
    const count = async (status: string) => {
      const { browser } = await admin.signedInElsewhere();
      const answer = await browser.get(`/v1/admin/clients?status=${status}&limit=100`);
      return (answer.json?.clients as unknown[] | undefined)?.length ?? assert.fail(answer.text);
    };
    const brought = await count('outside');
    assert.ok(brought <= 6, `${brought} wait`);
    for (const hour of [1, 2, 3]) {
      signet.clock.advance(3600);
      for (let one = 0; one < 4; one++) await asked([ask(`/c${hour}${one}.json`, `192.0.2.${hour}`, 'other')]);
    }
    assert.equal(await count('outside'), 6);
    assert.equal(await count('waiting'), 0);
    assert.equal((await signet.auditLog({ action: 'client.registered' })).length, 6);
    signet.clock.advance(3600);
    const full = await ask('/full.json', '192.0.2.9');
    assertRefused(full, 429, 'rate_limited');
    assert.ok(Number(full.headers.get('retry-after')) > 0);
  },
);

testSignet(
  'MD-06: what nobody reviews goes after seven days, what was asked for counts from then, what is approved stays',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const [forgotten, wanted, used] = ['/f.json', '/w.json', '/u.json'].map((path) =>
      clientAt(signet, server, server.urlOf('app', path)),
    ) as [RegisteredClient, RegisteredClient, RegisteredClient];
    for (const client of [forgotten, wanted, used])
      assertRefused(await authorize(signet, client), 400, 'unauthorized_client');
    assert.equal((await approve(admin, used.client_id, { revision: 1 })).status, 200);
    signet.clock.advance(6 * day);
    await signet.runJobs();
    const there = async () => {
      const answers = [forgotten, wanted, used].map(({ client_id }) =>
        admin.signedInElsewhere().then((one) => one.browser.get(pathOf(client_id))),
      );
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    assert.deepEqual(await there(), [200, 200, 200]);
    const again = await user.signedInElsewhere();
    assert.equal((await again.browser.post('/review-request', { client_id: wanted.client_id })).status, 303);
    signet.clock.advance(day + 600);
    await signet.runJobs();
    assert.deepEqual(await there(), [404, 200, 200]);
    const [event] = await signet.auditLog({ action: 'client.deleted', target: forgotten.client_id });
    assert.equal(event?.actor, 'system');
    signet.clock.advance(7 * day);
    await signet.runJobs();
    assert.deepEqual(await there(), [404, 404, 200]);
  },
);

testSignet(
  'MD-12: servers that hang take the places of their own host and of unknown documents, and no known client waits for them',
  { env: readsDocuments },
  async ({ signet, t }) => {
    const server = await openDocumentServer(t);
    const admin = await signet.signedInUser({ role: 'admin' });
    const known = clientAt(signet, server, server.urlOf('app', '/known.json'));
    await authorize(signet, known);
    assert.equal((await approve(admin, known.client_id, { revision: 1 })).status, 200);
    const begun = server.asked.length;
    const hang = (name: string, path: string) => {
      const client = clientAt(signet, server, server.urlOf(name, path));
      server.give(client.client_id, { holds: true });
      return authorize(signet, client);
    };
    const hanging = ['/a.json', '/b.json'].map((path) => hang('app', path));
    await until('both are asked for', () => server.asked.length === begun + 2);
    assertRefused(await hang('app', '/c.json'), 429, 'rate_limited');
    for (const name of ['other', 'third', 'fourth']) hanging.push(hang(name, '/a.json'), hang(name, '/b.json'));
    await until('eight are asked for', () => server.asked.length === begun + 8);
    const full = await hang('fifth', '/a.json');
    assertRefused(full, 429, 'rate_limited');
    assert.ok(Number(full.headers.get('retry-after')) > 0);
    const user = await signet.signedInUser();
    assert.match((await user.browser.get(known.authorizePath())).location ?? '', /\/consent/);
    assert.equal(server.asked.length, begun + 8);
    server.drop();
    for (const answer of await Promise.all(hanging)) assertRefused(answer, 400, 'invalid_request');
    const free = clientAt(signet, server, server.urlOf('fifth', '/b.json'));
    assertRefused(await authorize(signet, free), 400, 'unauthorized_client');
  },
);
