import assert from 'node:assert/strict';
import { removeMember } from '../../src/groups/change-members.ts';
import { newGroup } from '../support/groups.ts';
import { logoHost, openLogoHost, reachesLogos } from '../support/logo-host.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { allow, bringClient } from '../support/outside-clients.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

type MyApp = Record<'client_id' | 'name' | 'start_url', string> & { logo_url: string | null };

async function read({ browser }: TestUser, query = '') {
  const { status, text, json } = await browser.get(`/v1/me/apps${query}`);
  assert.equal(status, 200, text);
  return json as { apps: MyApp[]; next: string | null };
}
const namesOf = async (user: TestUser) => (await read(user)).apps.map(({ name }) => name);
const startOf = async (user: TestUser) => (await read(user)).apps[0]?.start_url;

const page = async ({ browser }: TestUser, query = '') => {
  const { status, text } = await browser.get(`/account/my-apps${query}`);
  assert.equal(status, 200, text);
  return text;
};

const asAdmin = async (admin: TestUser, client_id: string, act: string, body: object = {}) => {
  const answer = await admin.browser.postJson(`/v1/admin/clients/${client_id}/${act}`, body);
  assert.equal(answer.status, 200, answer.text);
};

const login = 'https://rp.test/login';

/** Of a user, approved as an approval by API does unless it says otherwise: nobody is asked for consent. */
const ofOwner = (signet: Signet, changes: object = {}) =>
  signet.registerClient({ consent: 'skip', initiate_login_uri: login, ...changes });

/** The operator's own. */
async function forAll(signet: Signet, changes: object = {}) {
  const client = await ofOwner(signet, changes);
  await plain(signet.deps.db).run('update clients set is_first_party = 1 where client_id = $1', [client.client_id]);
  return client;
}

testSignet(
  'an app starts at its approved address with iss, or at its home page, and learns of nobody',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const none = await page(user);
    assert.match(none, sentence('my_apps.none'));
    await forAll(signet, {
      name: 'Alpha',
      initiate_login_uri: `${login}?from=portal`,
      homepage_url: 'https://a.test/',
    });
    await forAll(signet, { name: 'Beta', initiate_login_uri: null, homepage_url: 'https://beta.test/start' });
    await forAll(signet, { name: 'Gamma', initiate_login_uri: null });
    const { apps } = await read(user);
    const iss = encodeURIComponent(signet.url);
    assert.deepEqual(
      apps.map(({ name, start_url, logo_url }) => [name, start_url, logo_url]),
      [
        ['Alpha', `${login}?from=portal&iss=${iss}`, null],
        ['Beta', 'https://beta.test/start', null],
      ],
      'without an address there is nothing to open',
    );
    const text = await page(user);
    assert.match(text, /<h1>My apps<\/h1>/);
    assert.ok(text.includes(`href="${login}?from=portal&amp;iss=${iss}" rel="noopener noreferrer"`), text);
    assert.ok(text.includes('<code>rp.test</code>') && text.includes('<code>beta.test</code>'));
    assert.doesNotMatch(text, /role="search"/, 'two apps need no search');
    for (const personal of [user.user_id, user.email]) assert.ok(!apps.some((app) => app.start_url.includes(personal)));
  },
);

testSignet(
  "other people's apps are there once somebody uses them; those for a group, for its members alone",
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const [user, other] = [await signet.signedInUser(), await signet.signedInUser()];
    const asks = await ofOwner(signet, { owner, name: 'Asks', consent: 'required' });
    const silent = await ofOwner(signet, { owner, name: 'Silent' });
    assert.deepEqual([await namesOf(user), await namesOf(owner)], [[], []]);
    await owner.obtainTokens(silent);
    assert.deepEqual([await namesOf(user), await namesOf(owner)], [[], ['Silent']]);
    await allow(user, (await user.browser.get(asks.authorizePath())).location!);
    assert.deepEqual([await namesOf(user), await namesOf(other)], [['Asks'], []]);

    const ours = await ofOwner(signet, { owner, name: 'Ours', consent: 'required' });
    const { group_id } = await newGroup(signet, 'Engineering', [other]);
    const admin = await signet.signedInUser({ role: 'admin' });
    const policy = await admin.browser.patch(`/v1/admin/clients/${ours.client_id}/policy`, {
      allowed_groups: [group_id],
    });
    assert.equal(policy.status, 200, policy.text);
    assert.deepEqual([await namesOf(user), await namesOf(other)], [['Asks'], ['Ours']]);
    await allow(other, (await other.browser.get(ours.authorizePath())).location!);
    await removeMember(signet.deps, { actor: 'cli' }, group_id, other.user_id);
    assert.deepEqual(await namesOf(other), [], 'used before, and not for this person any more');

    const gone = await user.browser.delete(`/v1/me/grants/${asks.client_id}`);
    assert.equal(gone.status, 204);
    assert.deepEqual(await namesOf(user), [], 'who has disconnected it sees it no more');
  },
);

testSignet('a suspended app is gone at once, and so is a deleted one', async ({ signet }) => {
  const [user, admin] = [await signet.signedInUser(), await signet.signedInUser({ role: 'admin' })];
  const { client_id } = await forAll(signet);
  await forAll(signet, { name: 'Waits', approved: false });
  assert.deepEqual(await namesOf(user), ['Test product']);
  await asAdmin(admin, client_id, 'suspend', { reason: 'It misbehaves.' });
  assert.deepEqual(await namesOf(user), []);
  assert.doesNotMatch(await page(user), /rp\.test/);
  await asAdmin(admin, client_id, 'reinstate');
  assert.deepEqual(await namesOf(user), ['Test product']);
  assert.equal((await admin.browser.delete(`/v1/admin/clients/${client_id}`)).status, 204);
  assert.deepEqual(await namesOf(user), []);
});

testSignet('another address waits for its review, and the approved one stays until then', async ({ signet }) => {
  const [owner, admin] = [await signet.signedInUser(), await signet.signedInUser({ role: 'admin' })];
  const client = await ofOwner(signet, { owner });
  const { client_id } = client;
  await owner.obtainTokens(client);
  const before = await startOf(owner);
  const edit = (initiate_login_uri: unknown) =>
    owner.browser.patch(`/v1/oauth/clients/${client_id}`, { initiate_login_uri });
  for (const hostile of [
    'javascript:alert(1)',
    'http://rp.test/',
    '//evil.test/',
    'https://u:p@rp.test/',
    `${login}?iss=x`,
    `${login}#`,
  ])
    assert.equal((await edit(hostile)).status, 400, hostile);
  assert.equal((await edit('https://evil.test/phish')).status, 200);
  assert.equal(await startOf(owner), before);

  const review = await admin.browser.get(`/admin/clients/${client_id}`);
  assert.match(review.text, pattern`${sentence('clients.field.initiate_login_uri')}`);
  assert.ok(review.text.includes('https://evil.test/phish'));
  assert.match(review.text, pattern`${sentence('risk.new_start_host')}<bdi>evil\.test</bdi>`);
  const { json } = await admin.browser.get(`/v1/admin/clients/${client_id}`);
  await asAdmin(admin, client_id, 'reject', { revision: json!.revision, reason: 'Not yours.' });
  assert.equal(await startOf(owner), before);
  assert.equal((await edit('https://rp.test/new')).status, 200);
  const { json: again } = await admin.browser.get(`/v1/admin/clients/${client_id}`);
  await asAdmin(admin, client_id, 'approve', { revision: again!.revision, consent: 'skip' });
  assert.equal(await startOf(owner), `https://rp.test/new?iss=${encodeURIComponent(signet.url)}`);
});

testSignet(
  'what came by itself is not there, used or not, nor an address that no rule of today allows',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client_id = await bringClient(signet, 'https://outside.test/client');
    const { client_id: old } = await forAll(signet, { name: 'Old' });
    const db = plain(signet.deps.db);
    await db.run(
      `update clients set status = 'approved', consent = 'skip', homepage_url = 'https://outside.test/' where client_id = $1`,
      [client_id],
    );
    await db.run('insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, $3, 1)', [
      user.user_id,
      client_id,
      'openid',
    ]);
    assert.deepEqual(await namesOf(user), ['Old']);
    for (const url of ['javascript:alert(1)', 'http://rp.test/', 'https://rp.test/?iss=https://evil.test']) {
      await db.run('update clients set initiate_login_uri = $1 where client_id = $2', [url, old]);
      assert.deepEqual(await namesOf(user), [], url);
    }
  },
);

testSignet('the logo is the one that a reviewer has seen', { env: reachesLogos }, async ({ signet, t }) => {
  const host = await openLogoHost(t, signet);
  host.givePicture('/logo.png');
  const [user, admin] = [await signet.signedInUser(), await signet.signedInUser({ role: 'admin' })];
  const { client_id } = await forAll(signet, { logo_url: `${logoHost}/logo.png`, approved: false });
  await signet.runJobs();
  await asAdmin(admin, client_id, 'approve', { revision: 1, consent: 'skip' });
  const logo = (await read(user)).apps[0]!.logo_url!;
  assert.match(logo, /\/logos\/[0-9a-f]{32}$/);
  assert.ok((await page(user)).includes(`src="${new URL(logo).pathname}"`));
});

testSignet(
  'many are a page at a time, by name in the order of the language, and found by the beginnings of words',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const { client_id } = await forAll(signet, { name: 'Zebra' });
    const db = plain(signet.deps.db);
    const [one = {}] = await db.all<object>('select * from clients where client_id = $1', [client_id]);
    const values: Record<string, string> = {
      client_id: `'cl_' || i`,
      event_id: `'evt_c' || i`,
      name: `case when i = 7 then 'élan vital' when i > 995 then 'Late ' || i else 'Melon ' || (1000 + i) end`,
      terms_of: 'null',
    };
    await db.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1003)
     insert into clients (${Object.keys(one)}) select ${Object.keys(one).map((name) => values[name] ?? name)}
       from clients, n where client_id = $1`,
      [client_id],
    );
    await signet.runJobs(); // makes them known to the search

    const seen: string[] = [];
    const { plans, stop } = watchPlans(signet.deps.db, /from clients c/);
    for (let next: string | null = ''; next !== null; ) {
      const found = await read(user, `?limit=100${next && `&after=${next}`}`);
      seen.push(...found.apps.map(({ name }) => name));
      next = found.next;
    }
    stop();
    assert.deepEqual([seen.length, new Set(seen).size, seen[0]], [1000, 1000, 'élan vital'], 'no more than a thousand');
    if (signet.deps.db.engine === 'sqlite')
      for (const plan of plans) assert.doesNotMatch(plan, /SCAN c(?! USING INDEX clients_to_start)/, plan);

    const first = await page(user);
    assert.match(first, sentence('my_apps.cut'));
    assert.match(first, /role="search"/);
    const more = /id="apps-more" href="([^"]+)"/.exec(first)![1]!.replaceAll('&amp;', '&');
    const second = await page(user, more.slice('/account/my-apps'.length));
    assert.ok(!second.includes('élan vital') && second.includes(message('my_apps.all')));
    for (const [query, name] of [
      ['Late 1003', 'Late 1003'],
      ['vit elan', 'élan vital'],
      ['zeb', 'Zebra'],
    ] as const) {
      const found = await read(user, `?query=${encodeURIComponent(query)}`);
      assert.deepEqual(
        found.apps.map((app) => app.name),
        [name],
        'also one behind the thousand',
      );
      assert.ok((await page(user, `?q=${encodeURIComponent(query)}`)).includes(`<bdi>${name}</bdi>`));
    }
    for (const query of ['nothing', '%22%3E%3Cscript%3E', '%25', '__']) {
      const text = await page(user, `?q=${query}`);
      assert.match(text, sentence('activity.none'));
      assert.doesNotMatch(text, /<script>/);
    }
    const refused = await user.browser.get('/v1/me/apps?after=x');
    assert.equal(refused.status, 400);
    assert.equal((await user.browser.get('/account/my-apps?after=x')).status, 400);
    assert.equal((await user.browser.get('/v1/me/apps?limit=101')).status, 400);
  },
);

testSignet('who has not signed in gets no list', async ({ signet }) => {
  const visitor = signet.newBrowser();
  assert.equal((await visitor.get('/v1/me/apps')).status, 401);
  assert.match((await visitor.get('/account/my-apps')).location ?? '', /^\/signin\?/);
});
