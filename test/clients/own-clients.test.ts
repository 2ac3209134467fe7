import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { fieldNames } from '../../src/clients/fields.ts';
import { approveClient, rejectClient } from '../../src/clients/review-client.ts';
import { freePort } from '../support/free-port.ts';
import { sentence } from '../support/messages.ts';
import { openBatchConnections, openTransaction } from '../support/open-transaction.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const path = '/v1/oauth/clients';
const valid = { name: 'Test product', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] };
const register = (user: TestUser, changes: object = {}) => user.browser.postJson(path, { ...valid, ...changes });
const one = (client_id: string) => `${path}/${client_id}`;
const patch = (user: TestUser, client_id: string, body: object) => user.browser.patch(one(client_id), body);
const remove = (user: TestUser, client_id: string) => user.browser.delete(one(client_id));
const cli = { actor: 'cli' } as const;

/** On PostgreSQL neither of two changes ends before both have begun to write: each is held at its line in the log. */
async function atOneMoment<Result>(
  t: TestContext,
  { deps }: Signet,
  changes: (() => Promise<Result>)[],
): Promise<Result[]> {
  if (deps.db.engine === 'sqlite') return Promise.all(changes.map((change) => change()));
  await openBatchConnections(deps.db, changes.length);
  const log = await openTransaction(t, deps, { sql: 'lock table audit_log in share row exclusive mode' });
  const results = changes.map((change) => change());
  await log.untilBlocked(results);
  await log.commit();
  return Promise.all(results);
}

testSignet('clients', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const stranger = await signet.signedInUser();
  const client = await signet.registerClient({ owner });

  /** A user with as many clients waiting for review as one user may have. */
  async function withEveryPlaceTaken() {
    const user = await signet.signedInUser();
    for (let hour = 0; hour < 4; hour += 1) {
      for (let times = 0; times < 5; times += 1) assert.equal((await register(user)).status, 200);
      signet.clock.advance(3600);
    }
    const { clients } = (await user.browser.get(path)).json as { clients: { client_id: string }[] };
    assert.equal(clients.length, 20);
    return { user, client_ids: clients.map(({ client_id }) => client_id) };
  }

  await t.test('CL-02: a secret is shown once, in the answer to the registration', async () => {
    assert.match(client.client_secret!, /^cs_[\w-]{43}$/);
    for (const answer of [await owner.browser.get(path), await owner.browser.get(one(client.client_id))]) {
      assert.equal(answer.status, 200);
      assert.doesNotMatch(answer.text, /secret|cs_|hash|owner_user_id|event_id|consent/);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
    const edited = await patch(owner, client.client_id, { name: 'Another name' });
    assert.doesNotMatch(edited.text, /secret|cs_|hash|owner_user_id|event_id|consent/);
    await patch(owner, client.client_id, { name: 'Test product' }); // taken back
  });

  await t.test('CL-02: the record holds exactly the fields that are promised', async () => {
    const { clients } = (await owner.browser.get(path)).json as { clients: Record<string, unknown>[] };
    const besides = [
      'client_id',
      'client_type',
      'created_at',
      'note_to_reviewer',
      'pending_change',
      'revision',
      'status',
    ];
    const promised = [...fieldNames, ...besides, 'status_reason', 'updated_at'];
    assert.deepEqual(Object.keys(clients[0]!).sort(), promised.sort());
    assert.deepEqual((await stranger.browser.get(path)).json, { clients: [] });
  });

  await t.test('CL-02: a public client has no secret', async () => {
    assert.equal((await register(owner, { client_type: 'public' })).json?.client_secret, null);
  });

  await t.test("ID-01: another user's client answers exactly like one that does not exist", async () => {
    const unknown = ['cl_AAAAAAAAAAAAAAAAAAAAAA', 'x', '__proto__', 'constructor', 'a'.repeat(300)];
    const reach = async (client_id: string) => {
      const answers = [
        await stranger.browser.get(one(client_id)),
        await patch(stranger, client_id, { name: 'Mine now' }),
        await patch(stranger, client_id, { name: 7, nonsense: true }),
        await remove(stranger, client_id),
      ];
      return answers.map(({ status, text, headers }) => [status, text, headers.get('content-type')]);
    };
    const theirs = await reach(client.client_id);
    assert.deepEqual(
      theirs.map(([status]) => status),
      [404, 404, 404, 404],
    );
    for (const id of unknown) {
      assert.deepEqual(await reach(id), theirs, id.slice(0, 40));
    }
    const { json } = await owner.browser.get(one(client.client_id));
    assert.deepEqual([json?.name, json?.pending_change], ['Test product', null]);
  });

  await t.test('ID-01: the routes for owners do not serve administrators', async () => {
    const admin = await signet.signedInUser({ role: 'admin' });
    assertRefused(await admin.browser.get(one(client.client_id)), 404, 'not_found');
    assertRefused(await remove(admin, client.client_id), 404, 'not_found');
  });

  await t.test('ID-01: without a session there is nothing to learn', async () => {
    const signedOut = await signet.newUser();
    for (const id of [client.client_id, 'cl_unknown']) {
      assertRefused(await signedOut.browser.get(one(id)), 401, 'login_required');
      assertRefused(await patch(signedOut, id, {}), 401, 'login_required');
      assertRefused(await remove(signedOut, id), 401, 'login_required');
    }
    assertRefused(await register(signedOut), 401, 'login_required');
  });

  await t.test('CL-01: of twenty registrations at once five succeed, and the next hour brings five more', async () => {
    const user = await signet.signedInUser();
    const answers = await Promise.all(Array.from({ length: 20 }, () => register(user)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 5);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const answer of refused) {
      assertRefused(answer, 429, 'rate_limited');
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
    assert.equal((await register(stranger)).status, 200); // one user's requests stop no other user
    for (let hour = 0; hour < 3; hour += 1) {
      signet.clock.advance(3600);
      for (let times = 0; times < 5; times += 1) assert.equal((await register(user)).status, 200);
    }
    signet.clock.advance(3600); // twenty wait for review now
    assertRefused(await register(user), 429, 'rate_limited');
    const { clients } = (await user.browser.get(path)).json as { clients: unknown[] };
    assert.equal(clients.length, 20);
  });

  await t.test('CL-01: a rejected client that is edited waits again only where one more may wait', async () => {
    const { user, client_ids } = await withEveryPlaceTaken();
    const [one = '', two = '', three = ''] = client_ids;
    const again = (client_id: string) => patch(user, client_id, { name: 'Again' });
    for (const client_id of [one, two, three]) {
      await rejectClient(signet.deps, { client_id, caller: cli }, 'Not ours.');
      assert.equal((await register(user)).status, 200);
    }
    assertRefused(await again(one), 429, 'rate_limited');
    assert.equal((await user.browser.get(`${path}/${one}`)).json?.status, 'rejected');
    // A place becomes free, and two want it at the same moment.
    await rejectClient(signet.deps, { client_id: client_ids[3]!, caller: cli }, 'Not ours.');
    const answers = await atOneMoment(t, signet, [() => again(one), () => again(two)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 429]);
    assertRefused(await again(three), 429, 'rate_limited');
    const { clients } = (await user.browser.get(path)).json as { clients: { status: string }[] };
    assert.equal(clients.filter(({ status }) => status === 'pending_review').length, 20);
  });

  await t.test('CL-01: what an approved client wants changed waits, and the reviewed revision serves', async () => {
    const keeper = await signet.signedInUser();
    const live = await signet.registerClient({ owner: keeper });
    const elsewhere = 'https://evil.test/cb';
    const staged = await patch(keeper, live.client_id, { redirect_uris: [elsewhere], name: 'Bank' });
    assert.deepEqual(staged.json?.pending_change, { name: 'Bank', redirect_uris: [elsewhere] });
    assert.deepEqual([staged.json?.status, staged.json?.name], ['approved', 'Test product']);
    signet.clock.advance(1);
    await keeper.obtainTokens(live);
    const early = await keeper.browser.get(live.authorizePath({ redirect_uri: elsewhere }), {
      accept: 'application/json',
    });
    assertRefused(early, 400, 'invalid_request');

    const target = { client_id: live.client_id, caller: cli };
    await assert.rejects(approveClient(signet.deps, target, { revision: 1 }), { code: 'stale_revision' });
    await approveClient(signet.deps, target, { revision: Number(staged.json?.revision) });
    signet.clock.advance(1);
    const now = await keeper.browser.get(live.authorizePath({ redirect_uri: elsewhere }));
    assert.equal(redirectedTo(now).base, elsewhere);
    assert.equal((await keeper.browser.get(live.authorizePath())).status, 400);
  });

  await t.test(
    'CL-01: an edit of another revision than the stored one is refused, and of two at once one wins',
    async () => {
      const keeper = await signet.signedInUser();
      const { client_id } = await signet.registerClient({ owner: keeper, approved: false });
      const edits = await Promise.all(['One', 'Two'].map((name) => patch(keeper, client_id, { revision: 1, name })));
      assert.deepEqual(edits.map(({ status }) => status).sort(), [200, 409]);
      const late = await patch(keeper, client_id, { revision: 1, name: 'Three' });
      assertRefused(late, 409, 'stale_revision');
      assert.equal(late.json?.stored_revision, 2);
    },
  );

  await t.test('CL-01: a client that was never reviewed starts no flow, whatever its owner edits', async () => {
    const keeper = await signet.signedInUser();
    const fresh = await signet.registerClient({ owner: keeper, approved: false });
    for (const body of [{ name: 'Renamed' }, { name: 'Renamed again' }]) {
      assert.equal((await patch(keeper, fresh.client_id, body)).json?.status, 'pending_review');
      signet.clock.advance(1);
      const answer = await keeper.browser.get(fresh.authorizePath(), { accept: 'application/json' });
      assertRefused(answer, 400, 'unauthorized_client');
      assert.equal(answer.location, '');
    }
  });
});

test('what a registration may hold', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const owner = await signet.signedInUser();

  await t.test('CL-01: every redirect URI is https, complete and unambiguous', async () => {
    const wrong = [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'http://rp.test/cb',
      'http://127.0.0.1.evil.test/cb',
      'https://rp.test/cb#fragment',
      'https://user@rp.test/cb',
      'https://user:pw@rp.test/cb',
      'https://*.rp.test/cb',
      'https://rp.test/*',
      'https://rp.test/a/../cb',
      'https://rp.test\\@evil.test/cb',
      '//rp.test/cb',
      '/cb',
      'https:rp.test/cb',
      ' https://rp.test/cb',
      'https://rp.test/cb\r\nx: y',
      'https://rp.tést/cb',
      'myapp:/cb',
      '',
    ];
    for (const uri of wrong) {
      const answer = await register(owner, { redirect_uris: ['https://rp.test/ok', uri] });
      assertRefused(answer, 400, 'invalid_request');
      const { fields } = answer.json as { fields: { path: string }[] };
      assert.equal(fields[0]?.path, 'redirect_uris/1', uri);
    }
    const many = Array.from({ length: 21 }, (_, index) => `https://rp.test/${index}`);
    const lists: unknown[] = [[], many, 'https://rp.test/cb', [['https://rp.test/cb']], [null], {}, [valid, valid]];
    for (const redirect_uris of lists) assertRefused(await register(owner, { redirect_uris }), 400, 'invalid_request');
  });

  await t.test(
    'CL-01: the service chooses id, secret, state and owner, and refuses a request that sends one',
    async () => {
      const chosen = ['client_id', 'client_secret', 'status', 'state', 'approved', 'owner', 'owner_user_id', 'consent'];
      for (const member of [...chosen, 'revision', 'pending_change', 'refresh_retry_window', 'event_id', 'toString']) {
        assertRefused(await register(owner, { [member]: 'approved' }), 400, 'invalid_request');
      }
      const wrong = [{ client_type: 'admin' }, { allowed_scopes: ['root'] }, { allowed_scopes: [] }, { name: null }];
      for (const changes of wrong) assertRefused(await register(owner, changes), 400, 'invalid_request');
      assert.deepEqual((await owner.browser.get(path)).json, { clients: [] });
    },
  );

  await t.test('CL-03: logo and homepage are https addresses, and a refused one is never visited', async () => {
    const visits: string[] = [];
    const canary = createServer((request, response) => response.end(void visits.push(request.url ?? '')));
    const port = await freePort();
    await new Promise<void>((resolve) => canary.listen(port, resolve));
    const canaries = [`http://127.0.0.1:${port}/logo`, `https://127.0.0.1:${port}/logo`, `https://localhost:${port}/x`];
    const logos = [
      ...canaries,
      'http://rp.test/l.png',
      'https://[::1]/l',
      'javascript:alert(1)',
      'data:image/svg+xml,x',
    ];
    for (const logo_url of [...logos, 'https://0x7f.1/l', 'https://rp.test/"><script>', 'https://u:p@rp.test/']) {
      assertRefused(await register(owner, { logo_url }), 400, 'invalid_request');
    }
    for (const homepage_url of ['http://rp.test', 'javascript:alert(1)', 'JAVASCRIPT:x', 'https://u@rp.test']) {
      assertRefused(await register(owner, { homepage_url }), 400, 'invalid_request');
    }
    const taken = await register(owner, {
      logo_url: 'https://localhost.rp.test/logo.png',
      homepage_url: `https://localhost:${port}/home`,
    });
    assert.equal(taken.status, 200);
    assert.deepEqual(visits, []);
    await new Promise((resolve) => canary.close(resolve));
  });

  await t.test('CL-03: a name is text, whatever it looks like, on every page that shows it', async () => {
    for (const name of [
      'a\u202eb',
      'pay\u200bpal',
      '\u2066x',
      'line\u2028break',
      '\u0007',
      ' ',
      '\u3164',
      'x'.repeat(101),
    ]) {
      assertRefused(await register(owner, { name }), 400, 'invalid_request');
    }
    const name = `<img src=x onerror=alert(1)> "'&{{7*7}}`;
    const markup = await signet.registerClient({ owner, name, consent: 'required' });
    const visitor = await signet.newUser();
    const start = await visitor.browser.get(markup.authorizePath());
    const signInPage = await visitor.browser.get(start.location!);
    const request = new URL(start.location!, signet.url).searchParams.get('request')!;
    const fields = { username: visitor.email, password: visitor.password, request };
    const onward = (await visitor.browser.post('/signin', fields)).location!;
    const consent = (await visitor.browser.get(onward)).location!;
    const consentPage = await visitor.browser.get(consent);
    for (const page of [signInPage, consentPage]) {
      assert.equal(page.status, 200);
      assert.match(page.text, /&lt;img src=x onerror=alert\(1\)&gt;/);
      assert.doesNotMatch(page.text, /<img src=x|https?:\/\/(?!rp\.test|www\.w3\.org)/);
      assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*img-src 'self'/);
    }
  });

  await t.test('HT-02: a body cannot reach a prototype', async () => {
    const send = (body: string) =>
      owner.browser.send(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    const rest = '"name":"x","client_type":"public","redirect_uris":["https://rp.test/cb"]';
    const bodies = [
      `{"__proto__":{"role":"admin"},${rest}}`,
      `{"constructor":{"prototype":{"role":"admin"}},${rest}}`,
      `{"\\u005f_proto__":{"role":"admin"},${rest}}`,
      '{"name":{"__proto__":{"role":"admin"}}}',
      '[{"__proto__":{"role":"admin"}}]',
      `{"toString":1,${rest}}`,
    ];
    for (const body of bodies) assertRefused(await send(body), 400, 'invalid_request');
    for (const name of ['__proto__', '__proto__.role', '__proto__[role]', 'constructor.prototype.role']) {
      const form = { [name]: 'admin', token: 'x' };
      const answers = [await owner.browser.post('/oauth/token', form), await owner.browser.post('/signin', form)];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400, 401],
        name,
      );
      assert.equal((await owner.browser.get(`/signin?${encodeURIComponent(name)}=admin`)).status, 303);
    }
    assert.equal(({} as Record<string, unknown>).role, undefined);
    assert.equal((await owner.browser.get('/v1/me')).json?.role, 'user');
  });
});

test('AZ-01: a redirect URI with %2F in its query serves; one with a parameter of the answer is refused', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const redirect_uri = 'https://RP.test:443/cb?next=%2Fhome';
  const client = await signet.registerClient({ owner, redirect_uris: [redirect_uri] });
  const { headers } = await owner.browser.get(client.authorizePath());
  assert.match(headers.get('location') ?? '', /^https:\/\/RP\.test:443\/cb\?next=%2Fhome&code=/);
  assert.equal(
    (await owner.browser.get(client.authorizePath({ redirect_uri: redirect_uri.toLowerCase() }))).status,
    400,
  );

  const reserved = ['https://rp.test/cb', 'https://rp.test/cb?a=1&%63ode=x'];
  for (const answer of [
    await register(owner, { redirect_uris: reserved }),
    await patch(owner, client.client_id, { redirect_uris: reserved }),
  ]) {
    assertRefused(answer, 400, 'invalid_request');
    const [problem] = (answer.json?.fields ?? []) as { path: string; message: string }[];
    assert.equal(problem?.path, 'redirect_uris/1');
    assert.match(problem?.message ?? '', sentence('problem.redirect_uri.response_parameter'));
  }

  const old = 'https://rp.test/old?state=x';
  await plain(signet.deps.db).run('update clients set redirect_uris = $2 where client_id = $1', [
    client.client_id,
    JSON.stringify([old]),
  ]);
  signet.clock.advance(2);
  const still = await owner.browser.get(client.authorizePath({ redirect_uri: old }));
  assert.match(still.location, /^https:\/\/rp\.test\/old\?state=x&code=/, 'registered before');
});
