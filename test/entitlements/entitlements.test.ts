import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import {
  changeCredentialTerms,
  retire,
  rotateCredential,
} from '../../src/entitlements/service-credentials/manage-credential.ts';
import type { Browser } from '../support/browser.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { assertRefused, basic, RegisteredClient } from '../support/relying-party.ts';
import { postEntitlement, type Service, type Write, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const allScopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];
const refusedAs = (answer: { status: number; json: Record<string, unknown> }) => [answer.status, answer.json.error];

const entitlementsOf = async (signet: Signet, user: TestUser) => {
  const answer = await user.browser.get('/v1/me/entitlements');
  assert.equal(answer.status, 200, signet.url);
  return answer.json?.entitlements as Record<string, unknown>[];
};

testSignet('a written entitlement', async ({ signet, t }) => {
  const service = await signet.newService({ products: ['editor', 'viewer'] });
  const user = await signet.signedInUser();
  const write = writeOf(user.user_id, {
    current_period_end: 1_830_000_000,
    external_customer_id: 'cus_1',
    external_subscription_id: 'sub_1',
    event_id: 'evt_1',
    metadata: { seats: 3 },
  });
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = `/admin/users/${user.user_id}`;
  const address = `/v1/admin/users/${user.user_id}/entitlements`;
  const read = async (query = '') => (await admin.browser.get(`${address}?${query}`)).json ?? {};

  await t.test('is read with exactly the five specified fields', async () => {
    assert.deepEqual(await entitlementsOf(signet, user), []);
    const answer = await postEntitlement(signet, service.authorization, write);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.deepEqual(answer.json, {
      user_id: user.user_id,
      product: 'editor',
      version: 1,
      status: 'active',
      applied: true,
    });
    assert.deepEqual(await entitlementsOf(signet, user), [
      { product: 'editor', plan: 'pro', status: 'active', current_period_end: 1_830_000_000, source: 'billing' },
    ]);
  });
  await t.test('is replaced in every field by the next one, and stays in the history as it was', async () => {
    signet.clock.advance(60);
    const second: Write = {
      ...writeOf(user.user_id),
      plan: 'team',
      status: 'past_due',
      source: 'store',
      version: 2,
      current_period_end: 1_840_000_000,
      external_customer_id: 'cus_2',
      external_subscription_id: 'sub_2',
      event_id: 'evt_2',
      metadata: { seats: 9, of: ['<b>'] },
    };
    assert.equal((await postEntitlement(signet, service.authorization, second)).status, 200);
    const at = signet.clock() / 1000;
    const by = { credential_id: service.client_id };
    const { user_id: _, event_id, ...replaced } = second;
    const { user_id: __, event_id: firstEvent, ...before } = write;
    assert.deepEqual(await read(), {
      entitlements: [{ ...replaced, updated_at: at }],
      versions: [
        { ...replaced, event_id, ...by, written_at: at },
        { ...before, event_id: firstEvent, ...by, written_at: at - 60 },
      ],
      next: null,
    });
    assert.deepEqual(await entitlementsOf(signet, user), [
      { product: 'editor', plan: 'team', status: 'past_due', current_period_end: 1_840_000_000, source: 'store' },
    ]);
    for (const kept of ['cus_1', 'sub_1', '{&quot;seats&quot;:3}', 'cus_2', 'sub_2', '[&quot;&lt;b&gt;&quot;]']) {
      assert.ok((await admin.browser.get(`${page}/entitlements`)).text.includes(kept), kept);
      assert.ok(!(await user.browser.get('/account/entitlements')).text.includes(kept), kept);
    }
    const gone = writeOf(user.user_id, { version: 3 });
    assert.equal((await postEntitlement(signet, service.authorization, gone)).status, 200);
    const [emptied] = (await read()).entitlements as Record<string, unknown>[];
    for (const name of ['current_period_end', 'external_customer_id', 'external_subscription_id', 'metadata']) {
      assert.equal(emptied?.[name], null, name);
    }
  });
  await t.test('counts and is shown however much was written since, and every write can be reached', async () => {
    await postEntitlement(signet, service.authorization, writeOf(user.user_id, { product: 'viewer', plan: 'solo' }));
    signet.clock.advance(60);
    for (let version = 4; version <= 53; version++) {
      await postEntitlement(signet, service.authorization, writeOf(user.user_id, { version }));
    }
    const shown = (await admin.browser.get(page)).text;
    assert.match(shown, /<bdi>Viewer<\/bdi>.*<bdi>Solo<\/bdi>/s);
    const [, writes = ''] = /href="([^"]+)" id="user-writes"/.exec(shown) ?? [];
    const [, older = ''] = /id="writes-older" href="([^"]+)"/.exec((await admin.browser.get(writes)).text) ?? [];
    const last = (await admin.browser.get(older.replaceAll('&amp;', '&'))).text;
    assert.match(last, /<bdi>Viewer<\/bdi>.*<bdi>Editor<\/bdi>.*sub_1/s);
    assert.doesNotMatch(last, /id="writes-older"/);
    const ofViewer = await admin.browser.get(`${page}/entitlements?product=viewer`);
    assert.match(ofViewer.text, pattern`<bdi>Solo</bdi>.*${sentence('admin.users.entitlements.current')}`);
    assert.doesNotMatch(ofViewer.text, /<bdi>Editor<\/bdi>/);

    const found: string[] = [];
    for (let next: unknown = ''; next !== null; ) {
      const answered = await read(`limit=10${next && `&before=${next}`}`);
      assert.equal((answered.entitlements as unknown[]).length, 2);
      const versions = answered.versions as Record<string, unknown>[];
      found.push(...versions.map(({ product, version }) => `${product} ${version}`));
      next = answered.next;
    }
    const rest = Array.from({ length: 50 }, (_, place) => `editor ${53 - place}`);
    assert.deepEqual(found, [...rest, 'viewer 1', 'editor 3', 'editor 2', 'editor 1']);
    assert.equal(((await read('product=viewer')).versions as unknown[]).length, 1);
    for (const before of ['x', '1-1', '1-9999999999999999-editor', '1-1-editor%27']) {
      assertRefused(await admin.browser.get(`${address}?before=${before}`), 400, 'invalid_request');
      assert.equal((await admin.browser.get(`${page}/entitlements?before=${before}`)).status, 400, before);
    }
  });
});

testSignet(
  'an access token of the scope entitlements:read reads them, at its endpoint and in userinfo',
  async ({ signet }) => {
    const service = await signet.newService();
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ allowed_scopes: allScopes });
    await postEntitlement(signet, service.authorization, writeOf(user.user_id));
    const expected = [
      { product: 'editor', plan: 'pro', status: 'active', current_period_end: null, source: 'billing' },
    ];

    const { access_token } = await user.obtainTokens(client, { scope: 'openid entitlements:read' });
    const read = (token: string) =>
      fetch(`${signet.url}/v1/me/entitlements`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await (await read(access_token)).json(), { entitlements: expected });
    assert.deepEqual((await signet.userinfo(access_token)).json?.entitlements, expected);

    const narrow = await user.obtainTokens(client, { scope: 'openid' });
    assert.equal((await read(narrow.access_token)).status, 403);
    assert.equal((await signet.userinfo(narrow.access_token)).json?.entitlements, undefined);
    const forged = await read(`${access_token.slice(0, -4)}AAAA`);
    assert.equal(forged.status, 401);
    assert.match(forged.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
  },
);

testSignet('entitlements of all users are filtered, paged by an index, and exported', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const { db } = signet.deps;
  const holder = await signet.newUser();
  await plain(db).run(
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
     insert into users (user_id, email, email_key, role, created_at, updated_at)
     select 'usr_' || i, i || '@example.test', i || '@example.test', 'user', 1, 1 from n`,
  );
  await plain(db).run(
    `insert into entitlements (user_id, product, plan, status, source, version, write_id, updated_at)
     select user_id, case when created_at = 1 then 'editor' else '=x,y' end, case when user_id like '%7' then 'team-plus' else 'solo' end,
            case when user_id like '%1' then 'past_due' else 'active' end, 'billing', 1, user_id, length(user_id) from users`,
  );
  if (db.engine === 'postgres') await plain(db).run('analyze');
  const { plans, stop } = watchPlans(db, /from entitlements e join users/);
  const isRare = await plain(db).all<{ user_id: string }>(`select user_id from entitlements where status = 'past_due'`);
  for (const [query, expected] of [
    ['', 1202],
    ['status=past_due', isRare.length],
    ['product=editor&status=active', 1200 - 120],
    ['product=editor&plan=team-plus', 120],
    ['product=viewer', 0],
  ] as const) {
    const seen: string[] = [];
    for (let next: unknown = ''; next !== null; ) {
      const { status, json } = await admin.browser.get(
        `/v1/admin/entitlements?limit=70&${query}${next && `&after=${next}`}`,
      );
      assert.equal(status, 200);
      const found = json?.entitlements as { user_id: string; product: string; updated_at: number }[];
      assert.deepEqual(
        found.map(({ updated_at }) => updated_at),
        found.map(({ updated_at }) => updated_at).toSorted((one, other) => other - one),
      );
      seen.push(...found.map(({ user_id, product }) => `${user_id} ${product}`));
      next = json?.next;
    }
    assert.deepEqual([seen.length, new Set(seen).size], [expected, expected], query);
  }
  stop();
  for (const plan of plans) assert.doesNotMatch(plan, /SCAN|TEMP B-TREE|Seq Scan on entitlements/, plan);

  for (const query of ['plan=solo', 'status=none', 'after=1-x', 'after=1-ZWRpdG9y.active']) {
    assertRefused(await admin.browser.get(`/v1/admin/entitlements?${query}`), 400, 'invalid_request');
  }
  const page = (await admin.browser.get('/admin/entitlements?product=editor&plan=team-plus')).text;
  assert.match(page, /<bdi>Editor<\/bdi>.*<bdi>Team plus<\/bdi>/s);
  assert.doesNotMatch(page, /<bdi>Solo<\/bdi>/);
  assert.match(page, /id="entitlements-more" href="[^"]*product=editor&amp;plan=team-plus&amp;after=/);
  const named = (await admin.browser.get('/admin/entitlements?product=Editor&plan=Team+plus')).text;
  assert.match(
    named,
    /id="entitlements-more" href="[^"]*product=editor&amp;plan=team-plus&amp;after=/,
    'as it is shown',
  );
  assert.match((await admin.browser.get('/admin/entitlements?plan=solo')).text, sentence('problem.entitlement.plan'));

  const suggested = async () => (await admin.browser.get('/admin/entitlements')).text;
  for (const [place, count] of [100, 100, 1].entries()) {
    assert.doesNotMatch(await suggested(), /id="products-more"/);
    const products = Array.from({ length: count }, (_, index) => `product-${place}-${index}`);
    const body = { name: `Shop ${place}`, permissions: ['entitlements:write'], products };
    assert.equal((await admin.browser.postJson('/v1/admin/service-credentials', body)).status, 200);
  }
  const list = await suggested();
  assert.match(list, sentence('admin.entitlements.products_more', { suggested: 200, all: 201 }));
  assert.equal(list.match(/<option value="product-/g)?.length, 200);

  const file = await admin.browser.get('/admin/entitlements/export?product=%3Dx%2Cy');
  assert.deepEqual(
    file.text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',').slice(0, 3))
      .toSorted(),
    [admin, holder].map(({ user_id }) => [user_id, `"'=x`, 'y"']).toSorted(),
  );
  const all = await admin.browser.get('/v1/admin/entitlements/export');
  assert.equal(all.text.split('\r\n').length, 1 + 1202 + 1);
  assert.doesNotMatch(all.text, /@example/, 'whoever gets the file learns no address from it');
});

test('specification §4.11: a session counts beside the credentials of a proxy, and a token before a session', async (t) => {
  const signet = await startSignet(t);
  const service = await signet.newService();
  const [user, other] = [await signet.signedInUser(), await signet.signedInUser()];
  await postEntitlement(signet, service.authorization, writeOf(user.user_id));
  await postEntitlement(signet, service.authorization, writeOf(other.user_id, { plan: 'solo' }));
  const client = await signet.registerClient({ allowed_scopes: allScopes });
  const path = '/v1/me/entitlements';
  const plansOf = async (browser: Browser, authorization: string) => {
    const { status, json } = await browser.get(path, { authorization });
    const entitlements = (json?.entitlements ?? []) as { plan: string }[];
    return status === 200 ? entitlements.map(({ plan }) => plan) : [status, json?.error];
  };
  const stranger = signet.newBrowser();
  for (const foreign of ['Basic c3RhZ2luZzpwcm94eQ==', 'Digest username="x"', 'Negotiate YII=', 'Bearers x', 'x']) {
    assert.deepEqual(await plansOf(user.browser, foreign), ['pro'], foreign);
    assert.deepEqual(await plansOf(stranger, foreign), [401, 'login_required'], foreign);
  }
  const { access_token } = await other.obtainTokens(client, { scope: 'openid entitlements:read' });
  assert.deepEqual(await plansOf(user.browser, `Bearer ${access_token}`), ['solo'], 'of the token, not the cookie');
  for (const bad of ['Bearer', 'bearer x', `Bearer ${access_token}x`, `BEARER "${access_token}"`]) {
    assert.deepEqual(await plansOf(user.browser, bad), [401, 'invalid_token'], 'no falling back to the cookie');
  }
});

test('EN-01: only a service credential with the permission and the product may write', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const body = writeOf(user.user_id);
  const tokens = await user.obtainTokens(client, {});
  const reader = await signet.newService({ permissions: ['tokens:introspect'], products: [] });
  const other = await signet.newService({ products: ['viewer'] });
  const service = await signet.newService();

  const refusals: [string, string | undefined, number, string][] = [
    ['no credentials', undefined, 401, 'invalid_client'],
    ["a partner client's own secret", basic(client.client_id, client.client_secret ?? ''), 401, 'invalid_client'],
    ['an access token', `Bearer ${tokens.access_token}`, 401, 'invalid_client'],
    ['a wrong secret', basic(service.client_id, `${service.client_secret}x`), 401, 'invalid_client'],
    ['an empty secret', basic(service.client_id, ''), 401, 'invalid_client'],
    ['an unknown credential', basic(`svc_${'A'.repeat(22)}`, service.client_secret), 401, 'invalid_client'],
    ['without the permission', reader.authorization, 403, 'access_denied'],
    ['without the product', other.authorization, 403, 'access_denied'],
  ];
  for (const [who, authorization, status, error] of refusals) {
    const answer = await postEntitlement(signet, authorization, body);
    assert.deepEqual(refusedAs(answer), [status, error], who);
    if (status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /, who);
  }
  assertRefused(await user.browser.postJson('/v1/entitlements', body), 401, 'invalid_client');
  assert.deepEqual(await entitlementsOf(signet, user), []);
});

test('EN-01: a stranger is refused before the body is read, and a credential when it has come, too', async (t) => {
  const signet = await startSignet(t);
  const { port } = new URL(signet.url);
  const { client_id, authorization } = await signet.newService();
  const client = await signet.registerClient();
  const head = (more: string[]) =>
    ['POST /v1/entitlements HTTP/1.1', `Host: localhost:${port}`, 'Content-Type: application/json', ...more].join(
      '\r\n',
    );
  for (const credentials of [
    [],
    [`Authorization: ${basic(client_id, 'ss_wrong')}`],
    [`Authorization: ${basic(client.client_id, client.client_secret ?? '')}`],
  ]) {
    for (const [length, body] of [
      ['60000', ''],
      ['1', '{'],
      ['9999999', '{'],
    ] as const) {
      const { text } = await sendRaw(
        Number(port),
        `${head([...credentials, `Content-Length: ${length}`])}\r\n\r\n${body}`,
      );
      assert.ok(text.startsWith('HTTP/1.1 401 '), text);
    }
  }
  const body = JSON.stringify(writeOf((await signet.newUser()).user_id));
  const socket = connect(Number(port), '127.0.0.1');
  t.after(() => socket.destroy());
  const sent = [`Authorization: ${authorization}`, `Content-Length: ${body.length}`, 'Expect: 100-continue'];
  socket.write(`${head(sent)}\r\n\r\n`);
  let answer = '';
  socket.on('data', (bytes) => {
    answer += `${bytes}`;
  });
  await until('the body is asked for', () => answer.includes('100 Continue'));
  await retire(signet.deps, { actor: 'cli' }, client_id);
  socket.write(body);
  await until('it is answered', () => /HTTP\/1\.1 [2-5]/.test(answer));
  assert.match(answer, /HTTP\/1\.1 401 /);
});

testSignet('EN-02: a version that is not higher is stale, and says what is stored', async ({ signet }) => {
  const { authorization } = await signet.newService();
  const { user_id } = await signet.newUser();
  const write = (more: Record<string, unknown>) => postEntitlement(signet, authorization, writeOf(user_id, more));
  assert.equal((await write({ version: 5, event_id: 'e5' })).status, 200);
  for (const version of [4, 5]) {
    const answer = await write({ version, event_id: 'another' });
    assert.deepEqual(refusedAs(answer), [409, 'stale_version']);
    assert.equal(answer.json.stored_version, 5);
  }
  const retry = await write({ version: 5, event_id: 'e5' });
  assert.equal(retry.status, 200);
  assert.deepEqual([retry.json.version, retry.json.applied], [5, false]);
  // The event decides, whatever else the retry says.
  assert.deepEqual((await write({ version: 9, event_id: 'e5', plan: 'other' })).json.applied, false);
  assert.equal((await write({ version: 6, event_id: 'e6' })).json.applied, true);
  assert.deepEqual(refusedAs(await write({ user_id: 'usr_nobody', version: 7 })), [404, 'unknown_user']);
});

testSignet(
  'EN-02: fifty writers at once end at the highest version, and no reader ever sees it fall',
  async ({ signet, t }) => {
    const { authorization } = await signet.newService();
    const user = await signet.signedInUser();
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`SEED=${seed}`);
    const versions = shuffled(
      Array.from({ length: 50 }, (_, index) => index + 1),
      seed,
    );
    let isOver = false;
    const seen: number[] = [];
    const reader = (async () => {
      while (!isOver) {
        const [entitlement] = await entitlementsOf(signet, user);
        if (entitlement) seen.push(Number(String(entitlement.plan).slice(1)));
      }
    })();
    const answers = await Promise.all(
      versions.map((version) =>
        postEntitlement(
          signet,
          authorization,
          writeOf(user.user_id, { version, plan: `v${version}`, event_id: `e${version}` }),
        ),
      ),
    );
    isOver = true;
    await reader;
    for (const { status } of answers) assert.ok(status === 200 || status === 409, String(status));
    assert.deepEqual(
      seen,
      seen.toSorted((one, other) => one - other),
    );
    assert.equal((await entitlementsOf(signet, user))[0]?.plan, 'v50');
  },
);

testSignet('EN-02: one event sent twenty times at once is applied once', async ({ signet }) => {
  const { authorization } = await signet.newService();
  const { user_id } = await signet.newUser();
  const body = writeOf(user_id, { version: 3, event_id: 'only' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => postEntitlement(signet, authorization, body)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(answers.filter(({ json }) => json.applied).length, 1);
});

test('EN-03: what no page could draw is refused: a date beyond the calendar, letters that cannot be seen', async (t) => {
  const signet = await startSignet(t);
  const { authorization } = await signet.newService();
  const user = await signet.signedInUser();
  const wrong = [
    ...[8_640_000_000_001, Number.MAX_SAFE_INTEGER, -1].map((current_period_end) => ({ current_period_end })),
    ...['\u009b31m', 'pro\u202e', 'a\nb'].flatMap((text) => [{ plan: text }, { source: text }, { event_id: text }]),
  ];
  for (const changes of wrong) {
    const answer = await postEntitlement(signet, authorization, writeOf(user.user_id, changes));
    assert.equal(answer.status, 400, JSON.stringify(changes));
  }
  const last = { current_period_end: 8_640_000_000_000 };
  assert.equal((await postEntitlement(signet, authorization, writeOf(user.user_id, last))).status, 200);
  assert.equal((await user.browser.get('/account/entitlements')).status, 200);
  // A row of before that was refused.
  await plain(signet.deps.db).run('update entitlements set current_period_end = 9007199254740991');
  assert.match((await user.browser.get('/account/entitlements')).text, /9007199254740991/);
});

test('EN-03: a version is a whole number from 1 that JSON carries unharmed', async (t) => {
  const signet = await startSignet(t);
  const { authorization } = await signet.newService();
  const { user_id } = await signet.newUser();
  const raw = (version: string) => JSON.stringify(writeOf(user_id, { version: 'HERE' })).replace('"HERE"', version);
  for (const version of [
    '0',
    '-1',
    '1.5',
    '"1"',
    '1e400',
    '9007199254740993',
    '9007199254740992',
    'true',
    'null',
    '[]',
  ]) {
    const answer = await postEntitlement(signet, authorization, raw(version));
    assert.deepEqual(refusedAs(answer), [400, 'invalid_request'], version);
  }
  assert.equal((await postEntitlement(signet, authorization, raw('9007199254740991'))).status, 200);
});

const names = ['Editor Pro', 'editor/pro', 'éditeur', 'Sites, Mail & "More"', '東京', '🦊'.repeat(100)];

testSignet('a product is any 1 to 100 printable characters', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const made = await admin.browser.postJson('/v1/admin/service-credentials', {
    name: 'Shop',
    permissions: ['entitlements:write'],
    products: names,
  });
  assert.deepEqual([made.status, made.json?.products], [200, names], made.text);
  const authorization = basic(String(made.json?.client_id), String(made.json?.client_secret));
  for (const product of names) {
    const answer = await postEntitlement(signet, authorization, writeOf(user.user_id, { product }));
    assert.deepEqual([answer.status, answer.json?.product], [200, product]);
  }
  const read = await entitlementsOf(signet, user);
  assert.deepEqual(read.map(({ product }) => product).sort(), [...names].sort());

  // Each place in the history, whatever its product is called.
  const address = `/v1/admin/users/${user.user_id}/entitlements?limit=1`;
  const found: unknown[] = [];
  for (let next: unknown = ''; next !== null; ) {
    const { json } = await admin.browser.get(`${address}${next && `&before=${next}`}`);
    found.push(...((json?.versions ?? []) as Record<string, unknown>[]).map(({ product }) => product));
    next = json?.next ?? null;
  }
  assert.deepEqual(found.sort(), [...names].sort());

  const page = `/admin/service-credentials/${made.json?.client_id}`;
  const products = ['  Editor Pro ', '', 'Sites, Mail & "More"'].join('\r\n');
  const saved = await admin.browser.post(`${page}/restrict`, { 'permission:entitlements:write': 'on', products });
  assert.equal(saved.status, 303, saved.text);
  assert.match(
    (await admin.browser.get(page)).text,
    /<code><bdi>Editor Pro<\/bdi><\/code>, <code><bdi>Sites, Mail &amp; &quot;More&quot;<\/bdi><\/code>/,
  );
  assert.match((await admin.browser.get(page)).text, /<textarea[^>]*name="products"[^>]*>Editor Pro\nSites, Mail/);

  const wrongs = ['', ' ', '\u3000', 'a\tb', 'a\nb', 'a\u202eb', 'a\u200bb', 'x'.repeat(101), '🦊'.repeat(101)];
  for (const product of wrongs) {
    const written = await postEntitlement(signet, authorization, writeOf(user.user_id, { product }));
    assert.deepEqual([written.status, written.json?.error], [400, 'invalid_request'], JSON.stringify(product));
    const terms = { name: 'Shop', permissions: ['entitlements:write'], products: [product] };
    const answer = await admin.browser.postJson('/v1/admin/service-credentials', terms);
    assert.deepEqual([answer.status, answer.json?.error], [400, 'invalid_request'], JSON.stringify(product));
  }
});

test('HT-01: metadata has limits in size and depth, and a hostile body changes nothing', async (t) => {
  const signet = await startSignet(t);
  const { authorization } = await signet.newService();
  const user = await signet.signedInUser();
  const deep = `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`;
  const bodies: unknown[] = [
    writeOf(user.user_id, { metadata: { text: 'x'.repeat(9000) } }),
    JSON.stringify(writeOf(user.user_id, { metadata: 'HERE' })).replace('"HERE"', deep),
    writeOf(user.user_id, { metadata: [] }),
    writeOf(user.user_id, { status: 'trialing' }),
    writeOf(user.user_id, { product: 'editor\u0000' }),
    writeOf(user.user_id, { plan: '' }),
    writeOf(user.user_id, { applied: true }),
    writeOf(user.user_id, { current_period_end: -1 }),
    '{"__proto__":{"role":"admin"}}',
    JSON.stringify({ ...writeOf(user.user_id), metadata: 'HERE' }).replace(
      '"HERE"',
      '{"constructor":{"prototype":{"x":1}}}',
    ),
    '[]',
    'null',
    '"text"',
  ];
  for (const body of bodies) {
    const answer = await postEntitlement(signet, authorization, body);
    assert.deepEqual(refusedAs(answer), [400, 'invalid_request'], JSON.stringify(body).slice(0, 200));
  }
  assert.deepEqual(await entitlementsOf(signet, user), []);
});

testSignet('a credential is rotated with a day of overlap, restricted, and retired at once', async ({ signet, t }) => {
  const service = await signet.newService({ products: ['editor', 'viewer'] });
  const { user_id } = await signet.newUser();
  const caller = { actor: 'cli' } as const;
  let version = 0;
  const status = async (authorization: string, product = 'editor') => {
    version += 1;
    return (await postEntitlement(signet, authorization, writeOf(user_id, { version, product }))).status;
  };
  const rotated = await rotateCredential(signet.deps, caller, service.client_id);
  const renewed = basic(service.client_id, rotated.client_secret);
  assert.deepEqual([await status(service.authorization), await status(renewed)], [200, 200]);
  signet.clock.advance(86_401);
  assert.deepEqual([await status(service.authorization), await status(renewed)], [401, 200]);

  await changeCredentialTerms(signet.deps, caller, service.client_id, {
    permissions: ['entitlements:write'],
    products: ['editor'],
  });
  assert.deepEqual([await status(renewed, 'viewer'), await status(renewed)], [403, 200]);

  const elsewhere = await startSignet(t, { beside: signet });
  assert.equal((await postEntitlement(elsewhere, renewed, writeOf(user_id, { version: 100 }))).status, 200);
  await retire(signet.deps, caller, service.client_id);
  signet.clock.advance(1);
  assert.equal(await status(renewed), 401);
  assert.equal((await postEntitlement(elsewhere, renewed, writeOf(user_id, { version: 101 }))).status, 401);
});

testSignet('a service with tokens:introspect sees every token, a client only its own', async ({ signet }) => {
  const user = await signet.signedInUser();
  const [client, other] = [await signet.registerClient(), await signet.registerClient()];
  const { access_token } = await user.obtainTokens(client, {});
  const service = await signet.newService({ permissions: ['tokens:introspect'], products: [] });
  const writer = await signet.newService();
  const introspectAs = (as: Service) =>
    new RegisteredClient(signet, { ...as, redirect_uri: '' }).introspect(access_token);
  const active = async (as: Service) => (await introspectAs(as)).json?.active;
  assert.equal(await active(service), true);
  assert.equal((await other.introspect(access_token)).json?.active, false);
  assertRefused(await introspectAs(writer), 403, 'access_denied');
  signet.clock.advance(3601);
  assert.equal(await active(service), false);
});

/** Fisher and Yates, by a generator that a seed determines. */
function shuffled(list: number[], seed: number): number[] {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  for (let last = list.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [list[last], list[other]] = [list[other]!, list[last]!];
  }
  return list;
}
