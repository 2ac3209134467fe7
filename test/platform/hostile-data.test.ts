import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { suspendClient } from '../../src/clients/review-client.ts';
import { plain } from '../support/plain-sql.ts';
import { redirectedTo } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet } from '../support/signet.ts';

/** CL-03: what strangers chose is shown harmlessly, wherever it came from, and no address of theirs is ever fetched. */

const markup = `</title></textarea><script>alert(1)</script><img src=x onerror=alert(2)>"'&`;
const override = '\u202egnp.exe\u2066\u200b\ufeff';
const word = 'W'.repeat(300);
const hostile = [markup, override, word];

/** A stranger's server. A request to it has followed an address that the stranger chose. */
async function openCanary(t: TestContext) {
  const canary = { url: '', hits: 0 };
  const server = createServer((_request, response) => {
    canary.hits += 1;
    response.end();
  });
  server.on('connection', () => {
    canary.hits += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  canary.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return canary;
}

function assertHarmless(where: string, text: string) {
  assert.doesNotMatch(text, /<script>|<img src=x|onerror=alert\(2\)>/, where);
  assert.doesNotMatch(text, /<\/title><\/textarea>/, where);
  assert.doesNotMatch(text, /[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/, `${where} holds what cannot be seen`);
  for (const [, heading = ''] of text.matchAll(/<(?:h1|title)>(.*?)<\/(?:h1|title)>/gs)) {
    assert.doesNotMatch(heading, /W{101}/, `${where} holds a name without end`);
  }
  for (const [, address = ''] of text.matchAll(/\s(?:src|href|action|formaction|poster|data)="([^"]*)"/g)) {
    assert.match(address, /^(\/(?!\/)|#|\?)/, `${where} leads to ${address}`);
  }
  for (const [, value = ''] of text.matchAll(/\sstyle=("[^"]*")/g)) assert.fail(`${where} has a style ${value}`);
}

async function withHostileThings(t: TestContext, text: string) {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const canary = await openCanary(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, consent: 'required' });
  const suspended = await signet.registerClient({ owner });
  await suspendClient(signet.deps, { client_id: suspended.client_id, caller: { actor: 'cli' } }, 'A reason');
  const service = await signet.newService();
  await postEntitlement(signet, service.authorization, writeOf(owner.user_id));
  const other = await signet.registerClient({ owner });
  await owner.obtainTokens(other);
  await owner.signIn();
  await plant(signet, text, canary.url);
  return { signet, canary, admin, owner, client };
}

/** What registration would refuse, as if it had come into the store another way, or before a rule was made. */
async function plant({ deps: { db } }: Signet, text: string, canary: string) {
  const uris = JSON.stringify([`${canary}/cb`, `javascript:alert(1)//${text}`, 'https://rp.test/cb']);
  const change = JSON.stringify({
    name: `${text}!`,
    logo_url: `${canary}/logo.svg`,
    homepage_url: `javascript:alert(1)//${text}`,
    redirect_uris: [`${canary}/other`, text],
  });
  const url = `${canary}/${encodeURIComponent(text)}`;
  await plain(db).run('update clients set name = $1, redirect_uris = $2, logo_url = $3, homepage_url = $4', [
    text,
    uris,
    `${canary}/logo.svg`,
    `javascript:${text}`,
  ]);
  await plain(db).run(`update clients set pending_change = $1 where status = 'approved'`, [change]);
  await plain(db).run('update clients set status_reason = $1', [text]);
  await plain(db).run('update users set name = $1, picture = $2', [text, `${canary}/me.png`]);
  await plain(db).run('update sessions set user_agent = $1', [text]);
  await plain(db).run('update service_credentials set name = $1', [text]);
  const notes = 'external_customer_id = $1, external_subscription_id = $1, metadata = $2';
  const said = [text, JSON.stringify({ [text]: text })];
  await plain(db).run(`update entitlement_versions set plan = $1, source = $1, event_id = $1, ${notes}`, said);
  await plain(db).run(`update entitlements set plan = $1, source = $1, ${notes}`, said);
  await plain(db).run(
    'update audit_log set reason = $1, before_state = $2, after_state = $2, target = $1 where seq is null',
    [text, JSON.stringify({ name: text })],
  );
  await plain(db).run(
    `insert into webhooks (webhook_id, name, url, event_types, secret_sealed, created_at)
     values ('wh_hostile', $1, $2, '[]', 'x', 1)`,
    [text, url],
  );
  await plain(db).run(
    `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts,
                                     last_error, dead_at, response_status, response_body, duration_ms)
     values ('msg_hostile', 'wh_hostile', 'evt_1', 'user.created', '{}', 1, 3, $1, 5, 500, $1, 7)`,
    [text],
  );
  await plain(db).run(
    `insert into signal_streams (stream_id, credential_id, description, method, endpoint_url, events_requested, status, reason, created_at)
     values ('sst_hostile', 'svc_hostile', $1, 'push', $2, '[]', 'paused', $1, 1)`,
    [text, url],
  );
  await plain(db).run(
    `insert into signal_deliveries (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, last_error, dead_at)
     values ('msg_signal', 'sst_hostile', null, 'evt_1', 0, 'verification', '{"members":{}}', 1, 3, $1, 5)`,
    [text],
  );
  await plain(db).run(
    `insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, last_error, dead_at)
     select 'lo_' || client_id, client_id, 'usr_1', 'ses_1', 1, 1, cast($1 as text), 5 from clients`,
    [text],
  );
}

for (const [place, text] of hostile.entries()) {
  const what = ['markup', 'what turns the letters around', 'a word without end'][place];
  test(`CL-03: ${what} in names, reasons and addresses does no harm on any page of administration`, async (t) => {
    const { signet, canary, admin } = await withHostileThings(t, text);
    const clients = await plain(signet.deps.db).all<{ client_id: string }>('select client_id from clients');
    const users = await plain(signet.deps.db).all<{ user_id: string }>('select user_id from users');
    const services = await plain(signet.deps.db).all<{ credential_id: string }>(
      'select credential_id from service_credentials',
    );
    const pages = [
      '/admin',
      ...['waiting', 'approved', 'rejected', 'suspended'].map((state) => `/admin/clients?state=${state}`),
      ...clients.flatMap(({ client_id }) =>
        ['', '/logout-deliveries'].map((end) => `/admin/clients/${client_id}${end}`),
      ),
      '/admin/users',
      `/admin/users?${new URLSearchParams({ q: markup })}`,
      ...users.flatMap(({ user_id }) => [`/admin/users/${user_id}`, `/admin/users/${user_id}/entitlements`]),
      '/admin/service-credentials',
      ...services.map(({ credential_id }) => `/admin/service-credentials/${credential_id}`),
      '/admin/signals',
      '/admin/signals/sst_hostile',
      '/admin/signals/sst_hostile/deliveries',
      '/admin/webhooks',
      '/admin/webhooks/wh_hostile',
      '/admin/webhooks/wh_hostile/deliveries',
      '/admin/webhooks/wh_hostile/deliveries/msg_hostile',
      '/admin/keys',
      '/admin/audit',
      `/admin/audit/unauthenticated?${new URLSearchParams({ target: markup, address: markup })}`,
      `/admin/audit?${new URLSearchParams({ target: markup, actor: markup, action: markup, since: markup })}`,
    ];
    for (const page of pages) {
      const answer = await admin.browser.get(page);
      assert.ok(
        answer.status === 200 || (answer.status === 400 && page.includes('since')),
        `${page}: ${answer.status}`,
      );
      assertHarmless(page, answer.text);
      const policy = answer.headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'.*img-src 'self'/, page);
      assert.doesNotMatch(policy, /script-src (?!'self';)|unsafe/, page);
    }
    assert.equal(canary.hits, 0, 'an address that a stranger chose was fetched');
  });

  test(`CL-03: ${what} does no harm on the consent page and in the list of a developer`, async (t) => {
    const { canary, owner, client } = await withHostileThings(t, text);
    const asked = redirectedTo(await owner.browser.get(client.authorizePath()));
    const consent = await owner.browser.get(`/consent?request=${asked.get('request')}`);
    assert.equal(consent.status, 200);
    assertHarmless('/consent', consent.text);
    const list = await owner.browser.get('/developer');
    assert.equal(list.status, 200);
    assertHarmless('/developer', list.text);
    for (const end of ['', '/activity']) {
      const page = await owner.browser.get(`/developer/clients/${client.client_id}${end}`);
      assert.equal(page.status, 200);
      assertHarmless('the client of a developer', page.text);
    }
    assert.equal(canary.hits, 0, 'an address that a stranger chose was fetched');
  });
}

test('CL-03: what an administrator types comes back as text', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ approved: false });
  for (const [path, fields] of [
    [`/admin/clients/${client.client_id}/reject`, { reason: markup.repeat(20) }],
    ['/admin/service-credentials', { name: markup, products: markup }],
    ['/admin/webhooks', { url: `https://x.example/${markup}` }],
    [`/admin/clients/${client.client_id}/delete`, { confirmation: markup }],
  ] as const) {
    const answer = await admin.browser.post(path, fields);
    assert.equal(answer.status, 400, path);
    assertHarmless(path, answer.text);
  }
  const rejected = await admin.browser.post(`/admin/clients/${client.client_id}/reject`, {
    reason: markup,
    revision: '1',
  });
  assert.equal(rejected.status, 303);
  const page = await admin.browser.get(`/admin/clients/${client.client_id}`);
  assert.match(page.text, /&lt;script&gt;/);
  assertHarmless('the reason', page.text);
});
