import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AuditAction } from '../../src/audit/actions.ts';
import { textOfPlace } from '../../src/audit/all-chains.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { type AnyRecord, exportLog, followLog, readLogWithoutSealing } from '../../src/audit/read-log.ts';
import { now } from '../../src/platform/clock.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { countWrongPassword } from '../support/failure-counters.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { basic, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

type Json = Record<string, unknown>;
type Event = { event_id: string; seq: number; action: string; actor: string; target: string; reason: string | null };
const env = { SIGNET_RATE_LIMITS: 'off' };

async function world(t: TestContext, engine?: Engine) {
  const signet = await startSignet(t, { env, ...(engine && { engine }) });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const { browser } = administrator;
  const get = (path: string) => browser.get(`/v1/admin/audit${path}`);
  const post = async (path: string, body: object = {}): Promise<Json> => {
    const answer = await browser.postJson(`/v1/admin${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.json ?? {};
  };
  const events = async (query = ''): Promise<Event[]> => {
    const answer = await get(query);
    assert.equal(answer.status, 200, answer.text);
    return answer.json?.events as Event[];
  };
  return { signet, administrator, browser, get, post, events };
}

test('each change is one event, with who, why and from where, and no secret is in any', async (t) => {
  const { signet, administrator, browser, post, events } = await world(t);
  const client = await signet.registerClient({ approved: false });
  const user = await signet.signedInUser();
  const secrets = [client.client_secret, user.password, ...user.browser.cookies.values(), ...browser.cookies.values()];
  const reason = 'Reported by its users.';
  const before = (await events()).length;

  const clientPath = `/clients/${client.client_id}`;
  await post(`${clientPath}/approve`, { revision: 1, consent: 'required' });
  const asked = redirectedTo(await user.browser.get(client.authorizePath())).get('request') ?? '';
  const allowed = await user.browser.post('/consent', { request: asked, user: user.user_id, decision: 'allow' });
  const onward = await user.browser.get(allowed.location);
  const code = redirectedTo(onward).get('code') ?? '';
  const { access_token, refresh_token, id_token } = tokensOf(await client.redeem(code));
  secrets.push(access_token, refresh_token, id_token);
  const { grants } = (await browser.get(`/v1/admin/users/${user.user_id}/grants`)).json as { grants: Json[] };
  await browser.delete(`/v1/admin/grants/${grants[0]?.grant_id}`);
  await post(`${clientPath}/suspend`, { reason });
  await post(`${clientPath}/reinstate`);
  await browser.delete(`/v1/admin${clientPath}`);
  const { sessions } = (await browser.get(`/v1/admin/users/${user.user_id}/sessions`)).json as { sessions: Json[] };
  await browser.delete(`/v1/admin/users/${user.user_id}/sessions/${sessions[0]?.session_id}`);
  const userPath = `/users/${user.user_id}`;
  await user.signIn();
  await post(`${userPath}/sign-out`);
  await user.signIn();
  await post(`${userPath}/reset-factors`, { reason });
  await post(`${userPath}/disable`, { reason });
  await post(`${userPath}/enable`);
  await countWrongPassword(signet.deps.db, user);
  await post(`${userPath}/unlock`);
  for (const role of ['admin', 'user']) {
    const body = JSON.stringify({ role });
    const headers = { 'content-type': 'application/json' };
    assert.equal((await browser.send(`/v1/admin${userPath}/role`, { method: 'PUT', headers, body })).status, 200);
  }
  signet.clock.advance(900);
  await post('/keys/rotate');
  const service = await post('/service-credentials', {
    name: 'Billing',
    permissions: ['entitlements:write'],
    products: ['editor'],
  });
  const servicePath = `/service-credentials/${service.client_id}`;
  const written = await postEntitlement(
    signet,
    basic(String(service.client_id), String(service.client_secret)),
    writeOf(user.user_id, { metadata: { note: 'from the back end alone' } }),
  );
  assert.equal(written.status, 200);
  secrets.push(String(service.client_secret), String((await post(`${servicePath}/rotate`)).client_secret));
  await post(`${servicePath}/retire`);
  const webhook = await post('/webhooks', { url: 'https://hooks.example.com/', event_types: ['user.disabled'] });
  secrets.push(String(webhook.secret));
  await browser.delete(`/v1/admin/webhooks/${webhook.webhook_id}`);

  const all = (await events('?limit=500')) as (Event & { address: string | null; after: Json | null })[];
  const done = all.slice(0, all.length - before).filter(({ actor }) => actor === `user:${administrator.user_id}`);
  assert.deepEqual(done.map(({ action }) => action).sort(), [
    'client.approved',
    'client.deleted',
    'client.reinstated',
    'client.suspended',
    'grant.revoked',
    'key.rotated',
    'key.rotated',
    'service_credential.created',
    'service_credential.retired',
    'service_credential.rotated',
    'session.ended',
    'user.disabled',
    'user.enabled',
    'user.factors_reset',
    'user.role_changed',
    'user.role_changed',
    'user.signed_out',
    'user.unlocked',
    'webhook.created',
    'webhook.deleted',
  ]);
  for (const event of done) assert.equal(event.address, '127.0.0.1', event.action);
  for (const action of ['client.suspended', 'user.disabled', 'user.factors_reset']) {
    assert.equal(done.find((event) => event.action === action)?.reason, reason);
  }
  // What a user and a back end did, each once.
  const byOthers = (action: string) => all.filter((event) => event.action === action);
  assert.deepEqual(
    byOthers('consent.given').map(({ actor, target, after }) => [actor, target, after]),
    [[`user:${user.user_id}`, client.client_id, { user_id: user.user_id, scope: 'openid offline_access' }]],
  );
  assert.deepEqual(
    byOthers('entitlement.written').map(({ actor, target, address, after }) => [actor, target, address, after]),
    [
      [
        `service:${service.client_id}`,
        user.user_id,
        '127.0.0.1',
        { product: 'editor', plan: 'pro', status: 'active', version: 1 },
      ],
    ],
  );
  const rows = JSON.stringify(await plain(signet.deps.db).all('select * from audit_log'));
  assert.ok(!rows.includes('from the back end alone'), 'what a back end notes is in the log');
  assert.ok(secrets.length >= 10);
  for (const secret of secrets) assert.ok(secret && !rows.includes(secret), `a secret is in the log: ${secret}`);
});

test('the log is filtered and read a page at a time', async (t) => {
  const { signet, administrator, post, events, get } = await world(t);
  const user = await signet.newUser();
  await user.signIn();
  await countWrongPassword(signet.deps.db, user);
  signet.clock.advance(60);
  const later = signet.clock() / 1000;
  await post(`/users/${user.user_id}/sign-out`);
  await post(`/users/${user.user_id}/unlock`);

  const actions = async (query: string) => (await events(query)).map(({ action }) => action).sort();
  assert.deepEqual(await actions(`?target=${user.user_id}`), ['user.created', 'user.signed_out', 'user.unlocked']);
  assert.deepEqual(await actions(`?target=${user.user_id}&since=${later}`), ['user.signed_out', 'user.unlocked']);
  assert.deepEqual(await actions(`?target=${user.user_id}&until=${later - 1}`), ['user.created']);
  assert.equal((await actions(`?target=${user.user_id}&until=${later}`)).length, 3, 'the second itself is in it');
  assert.deepEqual(await actions(`?actor=user:${administrator.user_id}&action=user`), [
    'user.signed_out',
    'user.unlocked',
  ]);
  const { user_id } = administrator;
  assert.deepEqual(await actions(`?about=${user_id}`), [
    'session.started',
    'user.created',
    'user.signed_out',
    'user.unlocked',
  ]);
  assert.deepEqual(await actions(`?about=${user_id}&action=user&since=${later}`), ['user.signed_out', 'user.unlocked']);
  assert.deepEqual(await actions(`?about=${user.user_id}&until=${later - 1}`), ['session.started', 'user.created']);
  assert.deepEqual(await actions('?action=user.unlocked'), ['user.unlocked']);
  const alike = ['client.made', 'clientele.made', 'client_made'].map(
    (action) => auditEvent({ action: action as AuditAction, actor: 'cli' }, later).statement,
  );
  await plain(signet.deps.db).batch(alike);
  assert.deepEqual(await actions('?action=client'), ['client.made'], 'a word up to its dot, and no longer one');
  assert.deepEqual(await actions('?since=2027-01-16'), []);
  assert.deepEqual(await actions('?until=2027-01-14'), []);
  assert.ok((await actions('?since=2027-01-15T08:00:00Z')).length > 3);

  const seen: Event[] = [];
  for (let next: unknown; next !== null; ) {
    const { json } = await get(`?limit=2${next ? `&before=${next}` : ''}`);
    const page = json as { events: Event[]; next: number | null };
    seen.push(...page.events);
    next = page.next;
  }
  if (signet.deps.db.parts.length === 1)
    assert.deepEqual(
      seen.map(({ seq }) => seq),
      seen.map((_, index) => seen.length - index),
      'newest first, without gaps',
    );
  const ids = (await signet.auditLog()).map(({ event_id }) => event_id);
  assert.deepEqual(seen.map(({ event_id }) => event_id).sort(), ids.sort(), 'each once');
  for (const query of [
    '?since=soon',
    '?until=2027-99-99',
    '?before=0',
    '?limit=501',
    '?before=x',
    '/export?format=xml',
  ]) {
    const { status, json } = await get(query);
    assert.deepEqual([status, json?.error], [400, 'invalid_request'], query);
  }
});

testSignet('a family of actions is found by the index, however few events it has', { env }, async ({ signet }) => {
  const { browser, user_id } = await signet.signedInUser({ role: 'admin' });
  await signet.runJobs();
  const { db } = signet.deps;
  const chain = db.of(user_id);
  const head = (await plain(chain).get<{ seq: number }>('select max(seq) as seq from audit_log'))!.seq;
  await plain(chain).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into audit_log (event_id, at, action, actor, seq, seal)
     select 'evt_' || i, 1, case when i <= 2 then 'rare.' || i when i = 3 then 'rare_.x' else 'often.' || (i % 3) end,
            'cli', cast($1 as bigint) + i, 'x' from n`,
    [head],
  );
  if (signet.deps.db.engine === 'postgres') await plain(db).run('analyze audit_log');

  const { plans, stop } = watchPlans(db, /\baction\b\W+(=|>)|\((min\()?action/);
  const seqs = async (query: string) => {
    const answer = await browser.get(`/v1/admin/audit?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return (answer.json as { events: Event[] }).events.map(({ seq }) => seq - head);
  };
  assert.deepEqual(await seqs('action=nothing'), []);
  assert.deepEqual(await seqs('action=rare'), [2, 1]);
  const before = textOfPlace(db.parts.map((part) => (part === chain ? head + 2 : 1)));
  assert.deepEqual(await seqs(`action=rare&before=${before}`), [1]);
  assert.deepEqual(await seqs('action=rare&actor=system'), []);

  stop();
  const ofSealed = plans.filter((plan) => !plan.includes('seq is null'));
  assert.ok(ofSealed.length >= 4, `${ofSealed.length} reads`);
  for (const plan of ofSealed) {
    assert.doesNotMatch(
      plan,
      /SCAN audit_log|Seq Scan on audit_log|audit_log_by_seq \(seq[<>]|Backward using audit_log_by_seq/,
      plan,
    );
    assert.match(plan, /audit_log_of_action|audit_log_of_actor/, plan);
  }
  // A period, and what one did and what was done to it, are parts of an index as well.
  const period = watchPlans(db, /at [<>]|\bactor\b/);
  assert.deepEqual(await seqs(`since=${signet.clock() / 1000 - 60}&action=often`), []);
  assert.deepEqual(await seqs('until=0'), []);
  assert.deepEqual(await seqs('about=usr_unknown'), []);
  period.stop();
  const places = period.plans.filter((plan) => !plan.includes('seq is null'));
  assert.ok(places.length >= 3, `${places.length} reads`);
  for (const plan of places) assert.doesNotMatch(plan, /SCAN audit_log|Seq Scan on audit_log/, plan);
  assert.deepEqual(await seqs('action=often&limit=4'), [5000, 4999, 4998, 4997], 'each action gives its newest');
});

testSignet(
  'few of many events are found part by part: a page may have none, and says where the list goes on',
  { env },
  async ({ signet }) => {
    const { browser, user_id } = await signet.signedInUser({ role: 'admin' });
    const { db } = signet.deps;
    await signet.runJobs();
    const chain = plain(db.of(user_id));
    const head = Number((await chain.get<{ seq: number }>('select max(seq) as seq from audit_log'))!.seq);
    await chain.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
       insert into audit_log (event_id, at, action, actor, target, seq, seal)
       select 'evt_' || i, 1, 'consent.given', 'user:usr_' || case when i = 3 then 'rare' when i in (11000, 11001) then 'edge' else cast(i as text) end,
              'cl_popular', cast($1 as bigint) + i, 'x' from n`,
      [head],
    );
    if (db.engine === 'postgres') await plain(db).run('analyze audit_log');
    const filter = { target: 'cl_popular', actor: 'user:usr_rare' };
    const query = new URLSearchParams(filter).toString();
    const pages: number[][] = [];
    for (let next: unknown; next !== null; ) {
      const { json } = await browser.get(`/v1/admin/audit?${query}${next ? `&before=${next}` : ''}`);
      const page = json as { events: Event[]; next: number | null };
      pages.push(page.events.map(({ seq }) => seq - head));
      next = page.next;
    }
    assert.deepEqual(pages, [[], [3]]);
    const { text } = await browser.get(`/admin/audit?${query}`);
    assert.match(text, sentence('admin.audit.none.here'));
    assert.match(text, /id="audit-older"/);
    const exported = (await Array.fromAsync(exportLog(signet.deps, filter, 'jsonl'))).join('');
    assert.equal(exported.match(/\n/g)?.length, 1);
    assert.equal((await readLogWithoutSealing(signet.deps, filter, 1)).length, 1, 'a command goes through to the end');
    const edge = await readLogWithoutSealing(signet.deps, { target: 'cl_popular', actor: 'user:usr_edge' }, 10);
    assert.equal(edge.length, 2, 'the last one of a part, and the first of the next');
    const about = await browser.get('/v1/admin/audit?about=usr_rare&action=consent');
    assert.equal((about.json as { events: Event[] }).events.length, 1, 'an index knows these');
    const consent = 'action=consent.given';
    for (const [search, index] of [
      ['target=cl_popular', 'audit_log_of_target'],
      [`target=cl_popular&${consent}`, 'audit_log_of_target_and_action'],
      ['actor=user:usr_rare', 'audit_log_of_actor'],
      [`actor=user:usr_rare&${consent}`, 'audit_log_of_actor_and_action'],
      [`target=cl_popular&actor=user:usr_rare&${consent}`, 'audit_log_of_target_and_action'],
      [`${consent}&since=1`, 'audit_log_of_action'],
    ] as const) {
      const { plans, stop } = watchPlans(db, /from audit_log where .*seq is not null/s);
      await browser.get(`/v1/admin/audit?${search}`);
      stop();
      const used = plans.flatMap((plan) => [
        ...(plan.match(/(?<=INDEX |using |Index Scan on )audit_log_of_\w+/g) ?? []),
      ]);
      assert.deepEqual([...new Set(used)], [index], search);
    }
    const ending = new AbortController();
    const [shown] = await Array.fromAsync(
      followLog(signet.deps, filter, { limit: 1, signal: ending.signal }),
      (one) => {
        ending.abort();
        return one;
      },
    );
    assert.equal(shown?.length, 1);
  },
);

testSignet(
  'an event names the request that caused it, by which its events are found',
  { env: { ...env, SIGNET_LOG_REQUESTS: 'on' } },
  async ({ signet }) => {
    const administrator = await signet.signedInUser({ role: 'admin' });
    const { browser } = administrator;
    const { db, auditLog } = signet.deps;
    const user = await signet.newUser();
    const get = async (path: string) => {
      const answer = await browser.get(path);
      assert.equal(answer.status, 200, answer.text);
      return answer;
    };
    await user.signIn();
    await countWrongPassword(db, user);
    const done = await browser.postJson(`/v1/admin/users/${user.user_id}/unlock`, {});
    await browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {});
    const request_id = done.headers.get('x-request-id') ?? 'none';
    assert.ok(signet.logLines.some((line) => JSON.parse(line).id === request_id));
    const bySystem = auditEvent({ action: 'user.enabled', actor: 'system', target: user.user_id }, now(signet.deps));
    await db.of(user.user_id).run(bySystem.statement);

    type Caused = Event & { event_id: string; request_id: string | null };
    const found = async (query: string) =>
      ((await get(`/v1/admin/audit?${query}`)).json as { events: Caused[] }).events;
    const [event, ...others] = await found(`request_id=${request_id}`);
    assert.deepEqual([event?.action, event?.request_id, others], ['user.unlocked', request_id, []]);
    assert.ok(event?.event_id.endsWith(`.${request_id}`), 'it is in the id, over which the seal is');
    const byAction = new Map((await found(`target=${user.user_id}`)).map((one) => [one.action, one.request_id]));
    assert.equal(byAction.get('user.enabled'), null);
    assert.equal(byAction.get('user.created'), null);
    assert.match(byAction.get('user.signed_out') ?? '', /^req_/);
    assert.notEqual(byAction.get('user.signed_out'), request_id);
    for (const other of [request_id.slice(0, -1), request_id.slice(4), 'req_%', bySystem.event_id.slice(13)])
      assert.deepEqual(await found(`request_id=${encodeURIComponent(other)}`), [], other);
    assert.doesNotMatch((await get('/admin/audit?who=req_1')).text, sentence('admin.audit.filter_warning.request'));
    assert.ok((await auditLog.verify()).every(({ broken }) => broken === undefined));

    const page = await get(`/admin/audit?who=${request_id}`);
    assert.equal(page.text.match(/<li value=/g)?.length, 1);
    assert.ok(page.text.includes(`<a href="/admin/audit?who=${request_id}"><code>${request_id}</code></a>`));
    const link = /href="([^"]+)" id="audit-csv"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const [headings, row, ...rest] = (await get(link)).text.trimEnd().split('\r\n');
    const column = headings?.split(',').indexOf('request_id');
    assert.deepEqual([row?.split(',')[column ?? -1], rest], [request_id, []]);

    const chain = plain(db.of(user.user_id));
    await chain.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into audit_log (event_id, at, action, actor, target, seq, seal)
     select 'evt_0000000' || (i / 2500) || '.req_' || (i % 2500), 1, 'user.unlocked', 'cli', $2, cast($1 as bigint) + i, 'x' from n`,
      [(await chain.get<{ seq: number }>('select max(seq) as seq from audit_log'))!.seq, user.user_id],
    );
    if (db.engine === 'postgres') await plain(db).run('analyze audit_log');
    const { plans, stop } = watchPlans(db, /substr\(event_id/);
    for (const query of [
      '',
      '&action=user.unlocked',
      '&action=user',
      '&actor=cli',
      `&target=${user.user_id}`,
      '&since=0',
    ])
      assert.equal((await found(`request_id=req_77${query}`)).length, 2, query);
    stop();
    // Of a chain in which no action is of the family, nothing is read.
    const ofSealed = plans.filter((plan) => !/and \(seq is null\)|One-Time Filter: false/.test(plan));
    assert.ok(ofSealed.length >= 6, `${ofSealed.length} reads`);
    for (const plan of ofSealed) assert.match(plan, /audit_log_of_request/, plan);
  },
);

onBothEngines('each new event is followed once, also one that was shown before it was sealed', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const { db, auditLog } = signet.deps;
  const write = (target: string) =>
    db.change({
      run: { event: auditEvent({ action: 'user.enabled', actor: 'cli', target }, now(signet.deps)).statement },
    });
  await write('t1');
  await auditLog.seal();
  await write('t2');
  const ending = new AbortController();
  const followed = followLog({ db }, { action: 'user' }, { limit: 10, signal: ending.signal, everyMs: 1 });
  const next = async () => ((await followed.next()).value ?? []).map(({ target }: AnyRecord) => target);
  assert.deepEqual(await next(), ['t1', 't2']);
  await auditLog.seal();
  await write('t3');
  assert.deepEqual(await next(), ['t3']);
  await auditLog.seal();
  await db.change({ run: { event: auditEvent({ action: 'key.rotated', actor: 'cli' }, now(signet.deps)).statement } });
  await write('t4');
  await auditLog.seal();
  await write('t5');
  assert.deepEqual(await next(), ['t4', 't5']);
  ending.abort();
  assert.deepEqual(await next(), []);
});

test('the log is exported whole, a page at a time, and no cell of it is a formula', async (t) => {
  const { signet, browser, get } = await world(t);
  const { db } = signet.deps;
  await plain(db).batch(
    Array.from({ length: 1200 }, (_, index) => ({
      sql: `insert into audit_log (event_id, at, action, actor, target, reason) values ($1, $2, 'test.done', 'cli', $3, $4)`,
      params: [`evt_${index}`, 1_700_000_000 + index, `thing_${index}`, '=HYPERLINK("https://evil.example")\n,x'],
    })),
  );
  const total = (await plain(db).get<{ count: number }>('select count(*) as count from audit_log'))?.count;

  const lines = await get('/export');
  assert.equal(lines.status, 200);
  assert.equal(lines.headers.get('content-type'), 'application/jsonl');
  assert.equal(lines.headers.get('content-disposition'), 'attachment; filename="audit-log_2027-01-15T08-00Z.jsonl"');
  assert.equal(lines.headers.get('cache-control'), 'no-store');
  const events = lines.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  assert.equal(events.length, total);
  assert.equal(new Set(events.map(({ event_id }) => event_id)).size, total);

  const table = await get('/export?format=csv&action=test');
  assert.equal(table.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.equal(table.headers.get('content-disposition'), 'attachment; filename="audit-log_test_2027-01-15T08-00Z.csv"');
  const rows = table.text.trimEnd().split('\r\n');
  assert.equal(rows.length, 1201);
  const columns = 'seq,at,action,actor,target,reason,before_state,after_state,address,event_id,seal,request_id';
  assert.equal(rows[0], db.parts.length === 1 ? columns : `${columns},part`);
  assert.match(
    rows.at(-1) ?? '',
    /^\d+,2023-11-14T22:13:20\.000Z,test\.done,cli,thing_0,"'=HYPERLINK\(""https:\/\/evil\.example""\)\n,x",,,,evt_0,/,
  );
  for (const path of ['/v1/admin/audit/export', '/admin/audit/export'])
    assert.equal((await browser.send(path, { method: 'HEAD' })).status, 405, path);
});

test('what was changed or taken out of the log is found', async (t) => {
  const { signet, browser } = await world(t, 'sqlite'); // of cells in chain-of-each-part.test.ts
  await signet.runJobs();
  const verify = () => browser.postJson('/v1/admin/audit/verify', {});
  const intact = (await verify()).json as { verified: number; broken: unknown; head: { seq: number } };
  assert.equal(intact.broken, null);
  assert.equal(intact.verified, intact.head.seq);
  await tamper(signet);
  const report = (await verify()).json;
  assert.deepEqual(report?.broken, { seq: 2, why: 'altered' });
});

const tamper = ({ deps }: Signet) => plain(deps.db).run(`update audit_log set reason = 'nothing' where seq = 2`);
