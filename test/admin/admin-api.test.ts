import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAdministrators } from '../../src/accounts/administrators.store.ts';
import { hasAdministrator } from '../../src/accounts/store.ts';
import { describeReview } from '../../src/admin/clients/command-text.ts';
import { describeOverview } from '../../src/admin/users/operations.ts';
import type { Answer } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { basic } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

type Json = Record<string, unknown>;
const env = { SIGNET_RATE_LIMITS: 'off' };
const reason = 'Reported by its users.';

/** An administrator, with a shorthand for what they do. */
async function administratorOf(signet: Signet) {
  const user = await signet.signedInUser({ role: 'admin' });
  const send = (method: string, path: string, body?: object) =>
    user.browser.send(`/v1/admin${path}`, {
      method,
      headers: { origin: signet.url, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
  const ok = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await send(method, path, body);
    assert.ok(answer.status === 200 || answer.status === 204, `${method} ${path}: ${answer.status} ${answer.text}`);
    assert.equal(answer.status, method === 'DELETE' ? 204 : 200);
    return answer.json ?? {};
  };
  return Object.assign(user, { send, get: (path: string) => ok('GET', path), post: ok.bind(null, 'POST'), ok });
}

function refused({ status, json, text }: Answer, expected: [number, string], details: Json = {}) {
  assert.deepEqual([status, json?.error], expected, text);
  assert.deepEqual({ ...details, ...json }, { ...json, ...details });
}

const ids = (answer: Json, list: string, id: string) => (answer[list] as Json[]).map((one) => one[id]);

testSignet(
  'clients wait in a queue, are read with their risks, and are approved as they were read',
  { env },
  async ({ signet }) => {
    const root = await administratorOf(signet);
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({ owner, approved: false, name: 'Signet Login' });
    signet.clock.advance(1);
    const second = await signet.registerClient({ owner, approved: false });

    assert.deepEqual(ids(await root.get('/clients'), 'clients', 'client_id'), [client_id, second.client_id]);
    const first = await root.get('/clients?limit=1');
    assert.deepEqual(ids(first, 'clients', 'client_id'), [client_id]);
    const last = await root.get(`/clients?limit=1&after=${first.next}`);
    assert.deepEqual([...ids(last, 'clients', 'client_id'), last.next], [second.client_id, null]);
    assert.deepEqual(ids(await root.get('/clients?query=signet+l'), 'clients', 'client_id'), [client_id]);
    assert.deepEqual((await root.get('/clients?status=approved')).clients, []);
    const record = await root.get(`/clients/${client_id}`);
    assert.deepEqual(record.owner, {
      user_id: owner.user_id,
      email: owner.email,
      name: record.owner && (record.owner as Json).name,
    });
    assert.deepEqual([record.consent, record.refresh_retry_window, record.changes], ['skip', 0, []]);
    assert.equal(record.last_rejection, null);
    assert.deepEqual(
      (record.risks as Json[]).map(({ code }) => code),
      ['name_resembles_service', 'new_redirect_host', 'sensitive_scope', 'first_client'],
    );

    const approval = {
      revision: 1,
      consent: 'required',
      refresh_retry_window: 30,
      allowed_scopes: ['openid', 'email'],
    };
    refused(
      await root.send('POST', `/clients/${client_id}/approve`, { ...approval, revision: 2 }),
      [409, 'stale_revision'],
      {
        stored_revision: 1,
      },
    );
    const grown = { ...approval, allowed_scopes: ['openid', 'entitlements:read'] };
    refused(await root.send('POST', `/clients/${client_id}/approve`, grown), [400, 'invalid_request']);
    const approved = await root.post(`/clients/${client_id}/approve`, approval);
    assert.deepEqual(
      [approved.status, approved.consent, approved.refresh_retry_window, approved.allowed_scopes],
      ['approved', 'required', 30, ['openid', 'email']],
    );
    refused(await root.send('POST', `/clients/${client_id}/approve`, approval), [409, 'invalid_state'], {
      current_status: 'approved',
    });

    const edit = { name: 'Example shop', redirect_uris: ['https://rp.test/cb', 'https://evil.example/cb'] };
    const editTo = (fields: object) => owner.browser.patch(`/v1/oauth/clients/${client_id}`, fields);
    signet.clock.advance(1);
    await editTo(edit);
    assert.deepEqual(ids(await root.get('/clients?status=pending_change'), 'clients', 'client_id'), [client_id]);
    assert.deepEqual((await root.get(`/clients/${client_id}`)).changes, [
      { field: 'name', before: 'Signet Login', after: edit.name },
      { field: 'redirect_uris', before: ['https://rp.test/cb'], after: edit.redirect_uris },
    ]);
    const rejected = await root.post(`/clients/${client_id}/reject`, { reason });
    assert.deepEqual([rejected.status, rejected.pending_change, rejected.status_reason], ['approved', null, reason]);
    assert.equal((await root.get(`/clients/${client_id}`)).last_rejection, null, 'nothing waits');
    await editTo({ ...edit, name: 'Shop' });
    assert.deepEqual((await root.get(`/clients/${client_id}`)).last_rejection, {
      at: signet.clock() / 1000,
      reason,
      revision: 2,
      changes: [{ field: 'name', before: edit.name, after: 'Shop' }],
    });
    // Of what is too long for the log it is known whether it has changed.
    const redirect_uris = Array.from({ length: 20 }, (_, place) => `https://rp.test/${'x'.repeat(200)}${place}`);
    await editTo({ redirect_uris, name: 'One' });
    await root.post(`/clients/${client_id}/reject`, { reason });
    await editTo({ redirect_uris, name: 'Two' });
    const { last_rejection: same } = await root.get(`/clients/${client_id}`);
    assert.deepEqual((same as Json).changes, [{ field: 'name', before: 'One', after: 'Two' }]);
    assert.equal((same as Json).revision, 4);
    await editTo({ redirect_uris: redirect_uris.slice(1), name: 'One' });
    const { last_rejection: other } = await root.get(`/clients/${client_id}`);
    const after = redirect_uris.slice(1);
    assert.deepEqual((other as Json).changes, [{ field: 'redirect_uris', before: null, after }]);

    assert.equal((await root.post(`/clients/${client_id}/suspend`, { reason })).status, 'suspended');
    // Its edit cannot be decided now, so it stands in no queue; who was stopped and begins again is recognised.
    assert.deepEqual((await root.get('/clients?status=pending_change')).clients, []);
    const again = await signet.registerClient({ owner, approved: false, name: 'S1gnet Login' });
    const { risks } = await root.get(`/clients/${again.client_id}`);
    const stopped = (code: string, detail: string) => ({ code, severity: 'warning', detail: [detail] });
    assert.deepEqual((risks as Json[]).slice(0, 3), [
      stopped('owner_has_suspended_client', 'Signet Login'),
      stopped('suspended_client_name', 'Signet Login'),
      stopped('suspended_client_host', 'rp.test'),
    ]);
    assert.ok((risks as Json[]).every(({ code }) => code !== 'first_client'));
    const queue = (await root.get('/clients')).clients as Json[];
    assert.deepEqual(
      queue.map((one) => one.client_id),
      [second.client_id, again.client_id],
    );
    assert.deepEqual(queue[1]?.risks, risks);
    const [suspended] = (await root.get('/clients?status=suspended')).clients as Json[];
    assert.ok(suspended?.pending_change && !('risks' in suspended), 'what does not wait is not weighed');
    assert.equal((await root.post(`/clients/${client_id}/reinstate`)).status, 'approved');
    assert.deepEqual(ids(await root.get('/clients?status=pending_change'), 'clients', 'client_id'), [client_id]);
    await root.ok('DELETE', `/clients/${client_id}`);
    refused(await root.send('GET', `/clients/${client_id}`), [404, 'not_found']);
    for (const query of ['status=odd', 'limit=0', 'limit=501', 'limit=x', 'limit=1&limit=2']) {
      refused(await root.send('GET', `/clients?${query}`), [400, 'invalid_request']);
    }
  },
);

test('administrators approve their own clients and changes only where the service is configured so', async (t) => {
  const signet = await startSignet(t, { env });
  const [root, other] = [await administratorOf(signet), await administratorOf(signet)];
  const { client_id } = await signet.registerClient({ owner: root, approved: false });
  const approve = (by: typeof root, revision: number) => by.send('POST', `/clients/${client_id}/approve`, { revision });
  refused(await approve(root, 1), [403, 'access_denied']);
  assert.equal((await approve(other, 1)).status, 200);
  await root.browser.patch(`/v1/oauth/clients/${client_id}`, { name: 'Another name' });
  refused(await approve(root, 2), [403, 'access_denied']);
  await other.post(`/clients/${client_id}/suspend`, { reason });
  refused(await root.send('POST', `/clients/${client_id}/reinstate`), [403, 'access_denied']);
  await other.post(`/clients/${client_id}/reinstate`);
  assert.equal((await approve(other, 2)).json?.name, 'Another name');

  const relaxed = await startSignet(t, { env: { ...env, SIGNET_SELF_APPROVAL: 'on' } });
  const alone = await administratorOf(relaxed);
  const own = await relaxed.registerClient({ owner: alone, approved: false });
  assert.equal((await alone.post(`/clients/${own.client_id}/approve`, { revision: 1 })).status, 'approved');
});

/** Clients as a version without a search by terms has left them, with the columns of one that is there. */
const clientsOfOldVersion = (signet: Signet, like: string, count: number, values: string) => {
  const columns = `client_type, redirect_uris, allowed_scopes, id_token_signed_response_alg, refresh_retry_window, consent, status,
                   revision, updated_at`;
  return plain(signet.deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < cast($2 as bigint))
     insert into clients (client_id, name, owner_user_id, event_id, created_at, ${columns})
     select ${values}, 'evt_' || i, created_at + i, ${columns} from clients, n where client_id = $1`,
    [like, count],
  );
};

testSignet('filters of clients say how many each has, up to a thousand', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const { client_id } = await signet.registerClient({ name: 'First melon' });
  await signet.registerClient({ approved: false });
  const counts = async () => {
    const { text } = await root.browser.get('/admin/clients?state=all');
    const filters = /<nav aria-label="[^"]*"><p class="actions">(.*?)<\/nav>/s.exec(text.split('id="q-hint"')[1]!)![1]!;
    return [...filters.matchAll(/\(([^)]+)\)/g)].map(([, count]) => count);
  };
  assert.deepEqual(await counts(), ['1', '0', '1', '0', '0', '2']);
  await clientsOfOldVersion(signet, client_id, 998, `'cl_' || i, 'Melon ' || i, null`);
  assert.deepEqual(await counts(), ['1', '0', '999', '0', '0', '1,000']);
  await clientsOfOldVersion(signet, client_id, 2, `'cl_x' || i, 'Melon ' || i, null`);
  assert.deepEqual(await counts(), ['1', '0', '1,000+', '0', '0', '1,000+']);
});

testSignet(
  'clients of an earlier version are found by id at once, and by words after a job',
  { env },
  async ({ signet }) => {
    const root = await administratorOf(signet);
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({ owner, name: 'First melon' });
    await clientsOfOldVersion(signet, client_id, 60, `'cl_' || i, 'Late melon ' || i, null`);
    const found = async (query: string) => ids(await root.get(`/clients?query=${query}`), 'clients', 'client_id');
    assert.deepEqual(await found('cl_60'), ['cl_60']);
    assert.deepEqual(await found('melon'), [client_id]);
    const hint = sentence('admin.clients.find.incomplete');
    assert.match((await root.browser.get('/admin/clients?q=late')).text, hint);
    await signet.runJobs();
    assert.equal((await found('melon')).length, 50);
    assert.deepEqual(await found('late+60'), ['cl_60']);
    assert.doesNotMatch((await root.browser.get('/admin/clients?q=late')).text, hint);

    // A node of that version renames one during a rolling upgrade; this version needs no job.
    await plain(signet.deps.db).run(`update clients set name = 'Pear' where client_id = 'cl_60'`);
    await signet.runJobs();
    assert.deepEqual([await found('pear'), await found('late+60')], [['cl_60'], []]);
    await owner.browser.patch(`/v1/oauth/clients/${client_id}`, { name: 'Quince' });
    await root.post(`/clients/${client_id}/approve`, { revision: 2 });
    assert.deepEqual([await found('quince'), await found('first')], [[client_id], []]);
  },
);

testSignet(
  'of any number of clients, lists and searches read a part of an index, and their pages have each client once',
  { env },
  async ({ signet }) => {
    const { db } = signet.deps;
    const root = await administratorOf(signet);
    const owner = await signet.signedInUser();
    await owner.browser.patch('/v1/me', { name: 'Mel Onslow' });
    const { client_id } = await signet.registerClient({ owner, name: 'Other' });
    await clientsOfOldVersion(signet, client_id, 1300, `'cl_' || i, 'Melon', null`);
    await plain(db).run(`update clients set name = 'Other', owner_user_id = $1 where client_id like 'cl_12__'`, [
      owner.user_id,
    ]);
    await plain(db).run('update clients set terms_of = name');
    await plain(db).run(
      `insert into client_terms (term, client_id)
       select case when name = 'Melon' then 'melon' else 'other' end, client_id from clients where true on conflict do nothing`,
    );
    if (db.engine === 'postgres') await plain(db).run('analyze');

    const { plans, stop } = watchPlans(db, /client_terms|user_terms|from clients/);
    for (const [query, expected] of [
      ['query=mel', 1301],
      ['query=mel+oth', 101],
      ['query=onslow', 101],
      ['query=melon', 1200],
      ['status=approved&order=newest', 1301],
      ['status=all', 1301],
    ] as const) {
      const seen: unknown[] = [];
      for (let next: unknown = ''; next !== null; ) {
        const page = await root.get(`/clients?limit=60&${query}${next && `&after=${next}`}`);
        seen.push(...ids(page, 'clients', 'client_id'));
        next = page.next;
      }
      assert.deepEqual([seen.length, new Set(seen).size], [expected, expected], query);
    }
    assert.match((await root.browser.get('/admin/clients?state=approved')).text, / \(1,000\+\)</);
    stop();
    assert.ok(plans.length > 50);
    for (const plan of plans)
      assert.doesNotMatch(plan, /SCAN (client_terms|user_terms|u)\b|Seq Scan on client_terms/, plan);

    const { next } = await root.get('/clients?query=mel&limit=1');
    for (const path of [`query=other&after=${next}`, 'query=mel&after=1-cl_1', 'query=mel&after=7-bWVs.cl_1']) {
      refused(await root.send('GET', `/clients?${path}`), [400, 'invalid_request']);
    }
  },
);

testSignet('users are listed a page at a time', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const users: TestUser[] = [];
  for (let count = 0; count < 5; count += 1) users.push(await signet.newUser());

  const seen: unknown[] = [];
  for (let next: unknown = ''; next !== null; ) {
    const page = await root.get(`/users?limit=2${next && `&after=${next}`}`);
    seen.push(...ids(page, 'users', 'user_id'));
    next = page.next;
  }
  assert.equal(seen.length, 6);
  assert.deepEqual(new Set(seen), new Set([root.user_id, ...users.map(({ user_id }) => user_id)]));

  // A place stays where it is when the row that it was named for is gone.
  const two = ids(await root.get('/users?limit=2'), 'users', 'user_id');
  const first = await root.get(`/users?limit=${two[1] === root.user_id ? 3 : 2}`);
  const last = ids(first, 'users', 'user_id').at(-1);
  await plain(signet.deps.db).run('delete from users where user_id = $1', [String(last)]);
  const rest = ids(await root.get(`/users?after=${first.next}`), 'users', 'user_id');
  assert.deepEqual([...ids(first, 'users', 'user_id'), ...rest].sort(), [...seen].map(String).sort());
});

testSignet('a place in a list that no page has given is refused, in every list alike', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const { webhook_id } = await root.post('/webhooks', {
    url: 'https://hooks.example.com/',
    event_types: ['user.disabled'],
  });
  const { client_id } = await signet.registerClient();
  const lists: [path: string, parameter: string][] = [
    ['/users', 'after'],
    ['/clients', 'after'],
    [`/webhooks/${webhook_id}/deliveries`, 'after'],
    [`/clients/${client_id}/logout-deliveries`, 'after'],
    [`/users/${root.user_id}/entitlements`, 'before'],
    ['/audit', 'before'],
  ];
  for (const [path, parameter] of lists) {
    for (const wrong of ['x', '-1', '1', 'usr_unknown', '1-', '1-é', `1-${'x'.repeat(601)}`, '9'.repeat(20)]) {
      if (path === '/audit' && wrong === '1') continue; // a place there
      const answer = await root.send('GET', `${path}?${parameter}=${wrong}`);
      refused(answer, [400, 'invalid_request']);
      const [field] = (answer.json?.fields ?? []) as Json[];
      assert.equal(field?.path, parameter, `${path} ${wrong}`);
    }
  }
  const pages = [`/admin/webhooks/${webhook_id}/deliveries`, `/admin/clients/${client_id}/logout-deliveries`];
  for (const page of ['/admin/users', '/admin/clients', ...pages]) {
    assert.equal((await root.browser.get(`${page}?after=x`)).status, 400, page);
  }
});

test('of many names that a new one resembles, page and command show some, and say how many more there are', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const someone = await signet.signedInUser();
  for (let place = 1; place <= 7; place += 1)
    await signet.registerClient({ name: `Quarterly Report ${place}`, owner: someone });
  const owner = await signet.signedInUser();
  const shown = async (name: string) => {
    const { client_id } = await signet.registerClient({ name, owner, approved: false });
    const review = (await root.get(`/clients/${client_id}`)) as Parameters<typeof describeReview>[0];
    const { text } = await root.browser.get(`/admin/clients/${client_id}`);
    return { text, command: describeReview(review) };
  };
  const { text, command } = await shown('Quarterly Report 8');
  assert.match(text, sentence('admin.risk.more', { more: 2 }));
  assert.match(command, /name_resembles_client {2}("Quarterly Report \d"(, )?){5} and 2 more$/m);
  const other = await shown('Weather');
  assert.doesNotMatch(other.command, / and \d more/);
});

test('a user is shown with how they sign in and what they have, and never with a secret', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  await user.obtainTokens(client);
  const service = await signet.newService();
  await postEntitlement(signet, service.authorization, writeOf(user.user_id));
  await postEntitlement(signet, service.authorization, writeOf(user.user_id, { version: 2, plan: 'team' }));

  const shown = await root.get(`/users/${user.user_id}`);
  assert.deepEqual([shown.email, shown.role, shown.status], [user.email, 'user', 'enabled']);
  assert.deepEqual(shown.counts, { sessions: 1, grants: 1, clients: 1, entitlements: 1 });
  assert.deepEqual(shown.lock, { failures: 0, blocked_until: null, disabled: false });
  assert.deepEqual(shown.factors, {
    password: true,
    totp: 'none',
    backup_codes: { total: 0, remaining: 0 },
    passkeys: 0,
    identities: [],
  });

  const copyGrants = (from: number, to: number) =>
    plain(signet.deps.db).run(
      `with recursive n(i) as (select cast($2 as bigint) union all select i + 1 from n where i < $3)
       insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                           code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr,
                           created_at, session_token_hash, client_epoch, user_epoch)
       select 'gr_copy' || i, client_id, user_id, session_id, scope, redirect_uri, 'copy' || i, code_challenge,
              code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at - 1,
              session_token_hash, client_epoch, user_epoch
         from grants, n where user_id = $1 and grant_id not like 'gr_copy%'`,
      [user.user_id, from, to],
    );
  const counted = async () => {
    const many = (await root.get(`/users/${user.user_id}`)) as Parameters<typeof describeOverview>[0];
    return [many.counts.grants, /Grants +(.*)$/m.exec(describeOverview(many))?.[1]];
  };
  await copyGrants(1, 998);
  assert.deepEqual(await counted(), [999, '999']);
  await copyGrants(999, 1200);
  assert.deepEqual(await counted(), [1000, '1000 or more']);

  const { grants } = (await root.get(`/users/${user.user_id}/grants`)) as { grants: Json[] };
  assert.deepEqual([grants[0]?.client_id, grants[0]?.client_name], [client.client_id, 'Test product']);
  const { sessions } = (await root.get(`/users/${user.user_id}/sessions`)) as { sessions: Json[] };
  assert.deepEqual([sessions.length, sessions[0]?.amr], [1, ['pwd']]);
  const { entitlements, versions } = await root.get(`/users/${user.user_id}/entitlements`);
  assert.deepEqual([(entitlements as Json[])[0]?.plan, (entitlements as Json[])[0]?.version], ['team', 2]);
  assert.deepEqual(ids({ versions }, 'versions', 'version'), [2, 1]);
  assert.equal((versions as Json[])[0]?.credential_id, service.client_id);

  await root.ok('DELETE', `/users/${user.user_id}/sessions/${sessions[0]?.session_id}`);
  refused(await root.send('DELETE', `/users/${user.user_id}/sessions/${sessions[0]?.session_id}`), [404, 'not_found']);
  refused(await root.send('DELETE', `/grants/${grants[0]?.grant_id}`), [404, 'not_found']);
  for (const path of ['', '/sessions', '/grants', '/entitlements']) {
    refused(await root.send('GET', `/users/usr_unknown${path}`), [404, 'not_found']);
  }
});

testSignet('sessions and grants of a user are searched', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const user = await signet.signedInUser();
  const phone = await user.signedInElsewhere({
    'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1) AppleWebKit/605 Safari/604.1',
  });
  const path = `/users/${user.user_id}`;
  const clients = new Map<string, string>();
  for (const name of ['Écran Desk', 'Field Notes', 'Field Works']) {
    const client = await signet.registerClient({ name });
    for (const one of [user, user, phone]) await one.obtainTokens(client);
    clients.set(name, client.client_id);
  }
  const other = await signet.signedInUser();
  await other.obtainTokens(await signet.registerClient());

  const devicesFor = async (query: string) =>
    ((await root.get(`${path}/sessions?${new URLSearchParams({ query })}`)).sessions as Json[]).map(
      ({ device }) => device,
    );
  assert.deepEqual(await devicesFor('iph'), ['Safari, iPhone']);
  assert.deepEqual((await devicesFor('127.0')).length, 2);
  assert.deepEqual((await devicesFor('')).length, 2);
  assert.deepEqual(await devicesFor('android'), []);
  // An address is found by the whole of it or by its beginning, and by nothing that another address has, too.
  const queriesFor: Record<string, readonly string[]> = {
    '10.0.0.15': ['10.0.0.15', '10.0.0', '::ffff:10.0.0.15', 'iphone 10.0'],
    '10.203.0.9': ['10.203.0.9', '10.203', '10.203.'],
    '2001:db8::1:15': ['2001:db8::1:15', '2001:DB8:0::1:15', '2001:DB8', 'safari 2001:'],
  };
  const foreign = [
    '10.0.0.1',
    '203.0',
    '0.0.15',
    '::1',
    '15',
    'db8',
    '2001:db8::1',
    'android 10.0',
    '10.0.0.15 10.203.0.9',
  ];
  for (const [address, queries] of Object.entries(queriesFor)) {
    await plain(signet.deps.db).run(`update sessions set address = $1 where user_id = $2`, [address, user.user_id]);
    for (const query of queries)
      assert.ok((await devicesFor(query)).includes('Safari, iPhone'), `${address}: ${query}`);
    for (const query of foreign) assert.deepEqual(await devicesFor(query), [], `${address}: ${query}`);
  }

  const grantsFor = async (query: string, more: Record<string, string> = {}) =>
    root.get(`${path}/grants?${new URLSearchParams({ query, ...more })}`);
  const namesFor = async (query: string) =>
    [...new Set(((await grantsFor(query)).grants as Json[]).map(({ client_name }) => client_name))].sort();
  assert.deepEqual(await namesFor('field'), ['Field Notes', 'Field Works']);
  assert.deepEqual(await namesFor('not fie'), ['Field Notes']);
  assert.deepEqual(await namesFor('ecran'), ['Écran Desk']);
  assert.deepEqual(await namesFor(clients.get('Field Works')!), ['Field Works']);
  assert.deepEqual(await namesFor(other.user_id), []);
  assert.deepEqual(await namesFor(','), []);
  const { sessions } = (await root.get(`${path}/sessions?query=iphone`)) as { sessions: Json[] };
  const ofPhone = (await grantsFor(String(sessions[0]?.session_id))).grants as Json[];
  assert.deepEqual(
    ofPhone.map(({ session_id }) => session_id),
    Array(3).fill(sessions[0]?.session_id),
  );

  const first = await grantsFor('field', { limit: '4' });
  const second = await grantsFor('field', { limit: '4', after: String(first.next) });
  const found = [first, second].flatMap(({ grants }) => (grants as Json[]).map(({ grant_id }) => grant_id));
  assert.deepEqual([found.length, new Set(found).size, second.next], [6, 6, null]);
});

test('a session is ended only under the name of its user', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const [user, other] = [await signet.signedInUser(), await signet.signedInUser()];
  const { sessions } = (await root.get(`/users/${user.user_id}/sessions`)) as { sessions: Json[] };
  refused(await root.send('DELETE', `/users/${other.user_id}/sessions/${sessions[0]?.session_id}`), [404, 'not_found']);
  assert.equal((await user.browser.get('/v1/oauth/clients')).status, 200);
});

testSignet('wrong passwords that blocked an account are seen and cleared', async ({ signet }) => {
  const root = await administratorOf(signet);
  const user = await signet.newUser();
  for (let count = 0; count < 5; count += 1) await user.signIn({ password: 'wrong' });
  const { lock } = (await root.get(`/users/${user.user_id}`)) as { lock: Json };
  assert.deepEqual([lock.failures, lock.disabled], [5, false]);
  assert.ok(Number(lock.blocked_until) > signet.clock() / 1000);
  assert.equal((await user.signIn()).status, 429);
  await root.post(`/users/${user.user_id}/unlock`);
  assert.equal((await user.signIn()).status, 303);

  // That browser is known from now on, and counted by itself.
  for (let count = 0; count < 5; count += 1) await user.signIn({ password: 'wrong' });
  assert.equal((await user.signIn()).status, 429);
  const { lock: own } = (await root.get(`/users/${user.user_id}`)) as { lock: Json };
  assert.deepEqual([own.failures, own.disabled], [5, false]);
  assert.ok(Number(own.blocked_until) > signet.clock() / 1000);
  await root.post(`/users/${user.user_id}/unlock`);
  assert.equal((await user.signIn()).status, 303);

  const unlocked = async () => (await signet.auditLog({ action: 'user.unlocked' })).length;
  assert.equal(await unlocked(), 2);
  assert.equal((await root.post(`/users/${user.user_id}/unlock`)).user_id, user.user_id);
  assert.equal(await unlocked(), 2, 'there was nothing to unlock');
});

testSignet(
  'reset factors are gone with all their sessions and grants, and the user gets a mail (RT-06, NO-01)',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const { db } = signet.deps;
    const root = await administratorOf(signet);
    const user = await signet.newUser();
    await plain(db).batch([
      {
        sql: `insert into totp (user_id, secret_sealed, confirmed_at, last_step) values ($1, 'x', 1, 1)`,
        params: [user.user_id],
      },
      {
        sql: `insert into backup_codes (code_hash, user_id, generated_at) values ('h', $1, 1)`,
        params: [user.user_id],
      },
      {
        sql: `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
            values ('c', $1, 'x', 0, '', 'Key', 1)`,
        params: [user.user_id],
      },
    ]);
    const before = (await root.get(`/users/${user.user_id}`)).factors as Json;
    assert.deepEqual([before.totp, before.backup_codes, before.passkeys], ['active', { total: 1, remaining: 1 }, 1]);

    refused(await root.send('POST', `/users/${user.user_id}/reset-factors`, { reason: '' }), [400, 'invalid_request']);
    refused(await root.send('POST', `/users/${root.user_id}/reset-factors`, { reason }), [403, 'access_denied']);
    await root.post(`/users/${user.user_id}/reset-factors`, { reason });
    const after = (await root.get(`/users/${user.user_id}`)).factors as Json;
    assert.deepEqual([after.totp, after.backup_codes, after.passkeys], ['none', { total: 0, remaining: 0 }, 0]);
    assert.equal((await user.signIn()).status, 303, 'the password alone opens again');

    await signet.runJobs();
    const mail = await mailbox.next(user.email, sentence('mail.factors_reset.subject'));
    assert.match(mail.text, sentence('mail.factors_reset.text'));
    const { events } = (await root.get(`/audit?action=user.factors_reset`)) as { events: Json[] };
    assert.equal(events.length, 1);
    const [event] = events;
    assert.deepEqual(
      [event?.actor, event?.target, event?.reason, event?.before],
      [`user:${root.user_id}`, user.user_id, reason, { totp: true, backup_codes: 1, passkeys: 1 }],
    );
  },
);

testSignet(
  'there is always an administrator who may sign in, however many act at once',
  { env, mail: true },
  async ({ signet, mailbox }) => {
    const root = await administratorOf(signet);
    const user = await signet.signedInUser();
    const lastOne = { current_status: 'last_administrator' };
    refused(await root.send('PUT', `/users/${root.user_id}/role`, { role: 'user' }), [403, 'access_denied']);
    refused(await root.send('POST', `/users/${root.user_id}/disable`, { reason }), [409, 'invalid_state'], lastOne);
    refused(await user.browser.get('/v1/admin/users'), [403, 'access_denied']);

    assert.equal((await root.ok('PUT', `/users/${user.user_id}/role`, { role: 'admin' })).role, 'admin');
    assert.equal((await user.browser.get('/v1/admin/users')).status, 200, 'from the next request on');
    await root.ok('PUT', `/users/${user.user_id}/role`, { role: 'admin' });
    const events = (await root.get('/audit?action=user.role_changed')).events as Json[];
    assert.deepEqual(
      events.map(({ target, before, after }) => [target, before, after]),
      [[user.user_id, { role: 'user' }, { role: 'admin' }]],
      'what is so already is no event',
    );
    await signet.runJobs();
    await mailbox.next(user.email, sentence('mail.role_admin.subject'));

    const put = (by: TestUser, whom: TestUser) =>
      by.browser.put(`/v1/admin/users/${whom.user_id}/role`, { role: 'user' });
    const disable = (by: TestUser, whom: TestUser) =>
      by.browser.postJson(`/v1/admin/users/${whom.user_id}/disable`, { reason });
    const answers = await Promise.all([
      ...[1, 2, 3].flatMap(() => [put(root, user), put(user, root)]),
      ...[1, 2, 3].flatMap(() => [disable(root, user), disable(user, root)]),
    ]);
    for (const { status, text } of answers) assert.ok([200, 401, 403, 409].includes(status), text);
    const left = await plain(signet.deps.db).all(
      `select user_id from users where role = 'admin' and disabled_at is null`,
    );
    assert.equal(left.length, 1);
  },
);

testSignet('of many who disable or enable one user at once, one does', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const user = await signet.newUser();
  for (const step of ['disable', 'enable']) {
    const body = step === 'disable' ? { reason } : undefined;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => root.send('POST', `/users/${user.user_id}/${step}`, body)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
    assert.equal(((await root.get(`/audit?action=user.${step}d`)).events as Json[]).length, 1);
  }
});

test('signing keys are seen without their private halves, and rotated once the next ones are known', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const { keys } = (await root.get('/keys')) as { keys: Json[] };
  assert.deepEqual(keys.map(({ status }) => status).sort(), ['active', 'active', 'next', 'next']);
  assert.deepEqual(Object.keys(keys[0] ?? {}), [
    'kid',
    'algorithm',
    'status',
    'created_at',
    'activated_at',
    'retired_at',
  ]);
  assert.deepEqual((await root.post('/keys/rotate')).rotated, []);
  signet.clock.advance(900);
  const rotation = (await root.post('/keys/rotate')) as { rotated: string[]; keys: Json[] };
  assert.equal(rotation.rotated.length, 2);
  const published = (await (await fetch(`${signet.url}/.well-known/jwks.json`)).json()) as { keys: Json[] };
  assert.deepEqual(published.keys.map(({ kid }) => kid).sort(), rotation.keys.map(({ kid }) => kid).sort());
});

test('service credentials are made, narrowed, rotated and retired; each secret is returned once', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const wanted = { name: 'Billing', permissions: ['entitlements:write'], products: ['editor', 'viewer'] };
  const { client_secret, ...made } = await root.post('/service-credentials', wanted);
  const path = `/service-credentials/${made.client_id}`;
  assert.match(String(client_secret), /^ss_/);
  assert.deepEqual(await root.get('/service-credentials'), { service_credentials: [made] });
  const narrowed = await root.ok('PATCH', path, { permissions: ['entitlements:write'], products: ['editor'] });
  assert.deepEqual(narrowed.products, ['editor']);
  const logged = await root.get(`/audit?target=${made.client_id}&action=service_credential.restricted`);
  const [{ before, after } = {}] = logged.events as Json[];
  assert.deepEqual(before, { permissions: ['entitlements:write'], products: ['editor', 'viewer'] });
  assert.deepEqual(after, { permissions: ['entitlements:write'], products: ['editor'] });
  const authorization = basic(String(made.client_id), String(client_secret));
  await postEntitlement(signet, authorization, writeOf('usr_unknown', { product: 'editor' }));
  await signet.deps.serviceSecretUses.flush();
  const [used = {}] = (await root.get('/service-credentials')).service_credentials as Json[];
  const [secret] = used.secrets as Json[];
  const at = signet.clock() / 1000;
  assert.deepEqual([used.last_used_at, secret?.last_used_at], [at, at]);
  assert.equal(secret?.last_four, String(client_secret).slice(-4));
  const rotated = await root.post(`${path}/rotate`);
  assert.notEqual(rotated.client_secret, client_secret);
  assert.equal(rotated.previous_expires_at, signet.clock() / 1000 + 86_400);
  assert.equal((await root.post(`${path}/retire`)).retired_at, signet.clock() / 1000);
  refused(await root.send('POST', `${path}/rotate`), [409, 'invalid_state'], { current_status: 'retired' });
  refused(await root.send('POST', '/service-credentials/svc_unknown/retire'), [404, 'not_found']);
  refused(await root.send('POST', '/service-credentials', { ...wanted, products: [] }), [400, 'invalid_request']);
});

test('webhooks are made and removed, and what was given up is sent again', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  const wanted = { url: 'https://hooks.example.com/signet', event_types: ['user.disabled'] };
  const { secret, ...made } = await root.post('/webhooks', wanted);
  const path = `/webhooks/${made.webhook_id}`;
  assert.match(String(secret), /^whsec_/);
  assert.deepEqual(await root.get('/webhooks'), { webhooks: [made] });
  const user = await signet.newUser();
  await root.post(`/users/${user.user_id}/disable`, { reason });
  await root.get('/audit'); // gives the event its place, and with it the delivery
  const { deliveries } = (await root.get(`${path}/deliveries`)) as { deliveries: Json[] };
  assert.deepEqual(
    [deliveries.length, deliveries[0]?.state, deliveries[0]?.event_type],
    [1, 'waiting', 'user.disabled'],
  );
  const replay = `${path}/deliveries/${deliveries[0]?.delivery_id}/replay`;
  refused(await root.send('POST', replay), [409, 'invalid_state'], { current_status: 'waiting' });
  await plain(signet.deps.db).run('update webhook_deliveries set dead_at = 1, next_attempt_at = null');
  await root.post(replay);
  const again = (await root.get(`${path}/deliveries`)) as { deliveries: Json[] };
  assert.equal(again.deliveries[0]?.state, 'waiting');
  await root.ok('DELETE', path);
  refused(await root.send('GET', `${path}/deliveries`), [404, 'not_found']);
  refused(await root.send('POST', '/webhooks', { ...wanted, url: 'https://10.0.0.1/' }), [400, 'invalid_request']);
});

testSignet(
  'logout tokens for a client are listed by state, a page at a time, and a dead one is sent again',
  { env },
  async ({ signet }) => {
    const root = await administratorOf(signet);
    const owner = await signet.signedInUser();
    const uri = 'https://rp.test/logout';
    const { client_id } = await signet.registerClient({ owner, backchannel_logout_uri: uri });
    const other = await signet.registerClient({ backchannel_logout_uri: uri });
    const without = await signet.registerClient();
    await plain(signet.deps.db).run(
      `insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, next_attempt_at,
                                      last_error, delivered_at, dead_at)
       values ('lo_1', $1, 'usr_1', 'ses_1', 1, 11, null, 'The receiver responded with 400.', null, 9),
              ('lo_2', $1, 'usr_1', 'ses_2', 2, 1, null, null, 3, null),
              ('lo_3', $1, 'usr_2', 'ses_3', 2, 1, 99, 'The receiver responded with 503.', null, null),
              ('lo_4', $1, 'usr_2', 'ses_4', 5, 11, null, 'x', null, 9),
              ('lo_5', $2, 'usr_2', 'ses_4', 5, 11, null, 'x', null, 9),
              ('lo_6', $3, 'usr_2', 'ses_4', 5, 11, null, 'x', null, 9)`,
      [client_id, other.client_id, without.client_id],
    );
    const path = `/clients/${client_id}/logout-deliveries`;
    const { deliveries } = await root.get(`${path}?state=waiting`);
    assert.deepEqual(deliveries, [
      {
        delivery_id: 'lo_3',
        state: 'waiting',
        attempts: 1,
        created_at: 2,
        next_attempt_at: 99,
        delivered_at: null,
        dead_at: null,
        last_error: 'The receiver responded with 503.',
        sub: 'usr_2',
        sid: 'ses_3',
      },
    ]);
    const listing = async (query: string) => {
      const { next, ...answer } = await root.get(`${path}?${query}`);
      const own = await owner.browser.get(`/v1/oauth${path}?${query}`);
      assert.deepEqual(own.json, { ...answer, next }, 'its owner reads the same');
      return [ids(answer, 'deliveries', 'delivery_id'), next];
    };
    assert.deepEqual(await listing(''), [['lo_4', 'lo_3', 'lo_2', 'lo_1'], null]);
    assert.deepEqual(await listing('limit=3'), [['lo_4', 'lo_3', 'lo_2'], '2-lo_2']);
    assert.deepEqual(await listing('limit=3&after=2-lo_2'), [['lo_1'], null]);
    assert.deepEqual(await listing('state=dead&limit=1'), [['lo_4'], '5-lo_4']);
    assert.deepEqual(await listing('state=dead&limit=1&after=5-lo_4'), [['lo_1'], null]);
    assert.deepEqual(await listing('state=delivered'), [['lo_2'], null]);
    refused(await root.send('GET', `${path}?state=lost`), [400, 'invalid_request']);

    const retries = await Promise.all([1, 2, 3].map(() => root.send('POST', `${path}/lo_1/retry`)));
    assert.deepEqual(retries.map(({ status }) => status).sort(), [200, 409, 409]);
    assert.deepEqual(await listing('state=waiting'), [['lo_3', 'lo_1'], null]);
    refused(await root.send('POST', `${path}/lo_1/retry`), [409, 'invalid_state'], { current_status: 'waiting' });
    refused(await root.send('POST', `${path}/lo_2/retry`), [409, 'invalid_state'], { current_status: 'delivered' });
    refused(await root.send('POST', `${path}/lo_5/retry`), [404, 'not_found']);
    refused(
      await root.send('POST', `/clients/${without.client_id}/logout-deliveries/lo_6/retry`),
      [409, 'invalid_state'],
      {
        current_status: 'no_backchannel_logout_uri',
      },
    );
    for (const [method, end] of [
      ['GET', ''],
      ['POST', '/lo_1/retry'],
    ] as const)
      refused(await root.send(method, `/clients/cl_unknown/logout-deliveries${end}`), [404, 'not_found']);
    const { events } = await root.get('/audit?action=logout.replayed');
    assert.deepEqual(
      (events as Json[]).map(({ actor, target, after }) => [actor, target, after]),
      [[`user:${root.user_id}`, 'lo_1', { client_id }]],
    );
  },
);

testSignet(
  'a list of the deliveries in one state reads no others, of which there may be any number',
  async ({ signet }) => {
    const { db } = signet.deps;
    const root = await administratorOf(signet);
    const { client_id } = await signet.registerClient();
    const made = await root.post('/webhooks', { url: 'https://hooks.example.com/', event_types: ['user.disabled'] });
    await plain(db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, delivered_at)
     select 'lo_' || i, cast($1 as text), 'usr_1', 'ses_1', i, 1, i from n`,
      [client_id],
    );
    await plain(db).run(
      `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, delivered_at)
     select delivery_id, cast($1 as text), delivery_id, 'user.disabled', '{}', created_at, 1, 1 from logout_deliveries`,
      [String(made.webhook_id)],
    );
    if (db.engine === 'postgres') await plain(db).run('analyze');
    const { plans, stop } = watchPlans(db, /from \w+_deliveries/);
    for (const state of ['waiting', 'dead']) {
      await root.get(`/clients/${client_id}/logout-deliveries?state=${state}`);
      await root.get(`/webhooks/${made.webhook_id}/deliveries?state=${state}`);
    }
    stop();
    assert.equal(plans.length, 4 * db.parts.length);
    for (const plan of plans) assert.match(plan, /_deliveries_by_state/, plan);
  },
);

testSignet(
  'of any number of users, a list reads its page, and a check of the administrators those',
  async ({ signet }) => {
    const { db } = signet.deps;
    const root = await administratorOf(signet);
    await plain(db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into users (user_id, email, email_key, role, created_at, updated_at)
     select 'usr_' || i, i || '@example.com', i || '@example.com', 'user', i, i from n`,
    );
    if (db.engine === 'postgres') await plain(db).run('analyze');
    const { plans, stop } = watchPlans(db, /from users/);
    const first = await root.get('/users?limit=3');
    const second = await root.get(`/users?limit=3&after=${first.next}`);
    stop();
    const emailsOf = (page: Json) => (page.users as Json[]).map(({ email }) => email);
    assert.deepEqual(emailsOf(second), ['4998@example.com', '4997@example.com', '4996@example.com']);
    const lists = plans.filter((plan) => plan.includes('limit'));
    assert.equal(lists.length, 2 * db.parts.length);
    for (const plan of lists) assert.match(plan, /users_newest/, plan);

    const administrators = watchPlans(db, /role = 'admin'/);
    assert.equal(await hasAdministrator(db), true);
    assert.equal((await listAdministrators(db)).length, 1);
    administrators.stop();
    assert.equal(administrators.plans.length, 2 * db.parts.length);
    for (const plan of administrators.plans) assert.match(plan, /users_administrators/, plan);
  },
);

test('an administrator with a second factor must have used it in this session', async (t) => {
  const signet = await startSignet(t, { env });
  const root = await administratorOf(signet);
  await plain(signet.deps.db).run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ('c', $1, 'x', 0, '', 'Key', 1)`,
    [root.user_id],
  );
  const looking = await root.send('GET', '/users');
  const acr_values = 'urn:signet:acr:2fa';
  refused(looking, [403, 'reauthentication_required'], { max_age: 3600, acr_values });
  assert.match(String(looking.json?.error_description), /Confirm with your second factor first/);
  refused(await root.send('POST', '/keys/rotate'), [403, 'reauthentication_required'], { max_age: 900, acr_values });
  await plain(signet.deps.db).run(
    `update sessions set amr = 'hwk mfa', acr = 'urn:signet:acr:2fa' where user_id = $1`,
    [root.user_id],
  );
  assert.equal((await root.send('GET', '/users')).status, 200);
});

testSignet('of many who replay one delivery or remove one webhook at once, one does', { env }, async ({ signet }) => {
  const root = await administratorOf(signet);
  const made = await root.post('/webhooks', { url: 'https://hooks.example.com/', event_types: ['user.disabled'] });
  const path = `/webhooks/${made.webhook_id}`;
  await plain(signet.deps.db).run(
    `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, dead_at)
     values ('msg_1', $1, 'evt_1', 'user.disabled', '{}', 1, 10, 1)`,
    [String(made.webhook_id)],
  );
  const many = async (method: string, address: string) =>
    (await Promise.all([1, 2, 3, 4].map(() => root.send(method, address)))).map(({ status }) => status).sort();
  for (const state of ['dead_at', 'delivered_at'] as const) {
    const other = state === 'dead_at' ? 'delivered_at' : 'dead_at';
    await plain(signet.deps.db).run(
      `update webhook_deliveries set next_attempt_at = null, ${other} = null, ${state} = 1`,
    );
    assert.deepEqual(await many('POST', `${path}/deliveries/msg_1/replay`), [200, 409, 409, 409], state);
  }

  // All that was given up, after days without an answer: found a page at a time, and sent again by one request.
  await plain(signet.deps.db).run(
    `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts,
                                     next_attempt_at, delivered_at, dead_at)
     values ('msg_2', $1, 'evt_2', 'user.disabled', '{}', 2, 11, null, null, 9),
            ('msg_3', $1, 'evt_3', 'user.disabled', '{}', 2, 11, null, null, 9),
            ('msg_4', $1, 'evt_4', 'user.disabled', '{}', 2, 1, null, 3, null),
            ('msg_5', $1, 'evt_5', 'user.disabled', '{}', 5, 11, null, null, 9)`,
    [String(made.webhook_id)],
  );
  const listing = async (query: string) => {
    const { next, ...answer } = await root.get(`${path}/deliveries?${query}`);
    return [ids(answer, 'deliveries', 'delivery_id'), next];
  };
  assert.deepEqual(await listing('state=dead&limit=2'), [['msg_5', 'msg_3'], '2-msg_3']);
  assert.deepEqual(await listing('state=dead&limit=2&after=2-msg_3'), [['msg_2'], null]);
  assert.deepEqual(await listing('state=waiting'), [['msg_1'], null]);
  assert.deepEqual(await listing('state=delivered'), [['msg_4'], null]);
  assert.deepEqual(await listing('limit=3'), [['msg_5', 'msg_4', 'msg_3'], '2-msg_3']);
  for (const wrong of ['state=lost', 'after=x', 'after=1-%27']) {
    refused(await root.send('GET', `${path}/deliveries?${wrong}`), [400, 'invalid_request']);
  }
  const all = await Promise.all([1, 2, 3, 4].map(() => root.post(`${path}/deliveries/replay`)));
  assert.deepEqual(all.map(({ replayed }) => replayed).sort(), [0, 0, 0, 3]);
  assert.deepEqual(await listing('state=dead'), [[], null]);
  const replays = (await root.get(`/audit?action=webhook.replayed&target=${made.webhook_id}`)).events as Json[];
  assert.equal(replays.length, 1);
  refused(await root.send('POST', '/webhooks/wh_unknown/deliveries/replay'), [404, 'not_found']);

  assert.deepEqual(await many('DELETE', path), [204, 404, 404, 404]);
  const events = { 'webhook.replayed&target=msg_1': 2, 'webhook.deleted': 1 };
  for (const [event, times] of Object.entries(events)) {
    assert.equal(((await root.get(`/audit?action=${event}`)).events as Json[]).length, times, event);
  }
});
