import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { linkConfirmation } from '../../src/authentication/federation/confirmation.ts';
import { linkBySignedInUser } from '../../src/authentication/federation/link-identity.ts';
import type { Session } from '../../src/authentication/statements.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { type FederatedOptions, startFederatedSignet } from '../support/federated-signet.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import type { Signet } from '../support/signet.ts';
import {
  acceptConfirmation,
  confirmationForm,
  followUpstream,
  fromElsewhere,
  fromOurPage,
  sendJson,
  signInUpstream,
  startUpstreamSignIn,
  type Upstream,
} from '../support/upstream.ts';

/** What happens to a browser that a provider knows, without anybody having asked its user. */

const providersPath = '/account/security/providers';
const detourCookie = 'signet_federation';
const sessionCookie = 'signet_identity_session';

const federated = (t: TestContext, options: FederatedOptions = {}) =>
  startFederatedSignet(t, { google: 'same issuer', ...options });

const now = ({ clock }: Pick<Signet, 'clock'>) => Math.floor(clock() / 1000);
const authTime = async (browser: Browser) =>
  ((await browser.get('/v1/me')).json?.session as { auth_time: number } | undefined)?.auth_time;
const countOf = async ({ deps }: Signet, table: 'identities' | 'users' | 'sessions') =>
  (await plain(deps.db).get<{ n: number }>(`select count(*) as n from ${table}`))?.n ?? 0;

async function assertRefused({ deps }: Signet, answer: Answer, status: number, reason: string) {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, /id="way-back" href="\/[^"/]/);
  const rows = await plain(deps.db).all(
    `select 1 as one from unauthenticated_events where action = 'session.refused' and reason = $1`,
    [reason],
  );
  assert.ok(rows.length > 0, reason);
}

/** What takes a recent sign-in, without doing anything when it is let through. */
const askForRecent = async (browser: Browser) => (await browser.delete('/v1/me/identities/nothing')).json?.error;

/** A user with a password and a linked identity, signed in with the identity. */
async function linkedUser(signet: Signet, upstream: Upstream, sub = 'both') {
  const user = await signet.newUser();
  upstream.account = { sub, email: user.email, email_verified: true };
  assert.equal((await signInUpstream(user.browser)).answer.status, 303);
  return user;
}

// A provider that did not ask anybody makes nothing fresher.

onBothEngines(
  'a session that goes on is no fresher by a provider that does not say when it asked',
  async (t, engine) => {
    const { signet, upstream } = await federated(t, { engine });
    const { browser } = await linkedUser(signet, upstream);
    const began = now(signet);
    signet.clock.advance(901);
    assert.equal((await signInUpstream(browser)).answer.status, 303);
    assert.equal(await authTime(browser), began);
    assert.equal(await askForRecent(browser), 'reauthentication_required');
  },
);

onBothEngines('a session is as old as what the provider says of the proof, and never younger', async (t, engine) => {
  const { signet, upstream } = await federated(t, { engine });
  const { browser } = await linkedUser(signet, upstream);
  const began = now(signet);
  const { account } = upstream;
  for (const [said, expected] of [
    [began - 5000, began - 5000],
    [began + 50.5, began],
  ] as const) {
    upstream.account = { ...account, auth_time: said };
    const elsewhere = signet.newBrowser();
    assert.equal((await signInUpstream(elsewhere)).answer.status, 303);
    assert.equal(await authTime(elsewhere), expected, `said ${said}`);
  }
  assert.equal((await signInUpstream(browser)).answer.status, 303);
  assert.equal(await authTime(browser), began, 'what is proved already stays proved');
  signet.clock.advance(901);
  upstream.account = { ...account, auth_time: now(signet) - 100 };
  await signInUpstream(browser);
  assert.equal(await authTime(browser), began + 801);
  assert.equal(await askForRecent(browser), 'not_found', 'recently enough');
});

test('to confirm, a provider that does not say when it asked is not enough for who has another way', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await linkedUser(signet, upstream);
  const began = now(signet);
  signet.clock.advance(901);
  const { answer } = await signInUpstream(user.browser, '/auth/acme/login?confirm=1');
  await assertRefused(signet, answer, 403, 'auth_time_missing');
  assert.match(answer.text, sentence('federation.auth_time_missing'));
  assert.match(answer.text, /id="way-back" href="\/signin\/confirm"/);
  assert.equal(await authTime(user.browser), began);

  const onlyThere = signet.newBrowser();
  upstream.account = { sub: 'only', email: 'only@example.com', email_verified: true };
  await signInUpstream(onlyThere);
  signet.clock.advance(901);
  assert.equal((await signInUpstream(onlyThere, '/auth/acme/login?confirm=1')).answer.status, 303);
  assert.equal(await authTime(onlyThere), now(signet), 'who has nothing else is believed');
  assert.equal(upstream.asked.get('prompt'), 'login');
});

test('the confirm page does not offer what would not confirm', async (t) => {
  const { signet } = await federated(t);
  const user = await signet.newUser();
  const { deps } = signet;
  const { issuer } = (await deps.providers.read()).find('google') ?? assert.fail();
  assert.equal((await user.signIn()).status, 303);
  const link = `insert into identities (issuer, subject, user_id, provider, linked_at, last_used_at)
                values ($1, 'g', $2, 'google', 1, 1)`;
  await plain(deps.db).run(link, [issuer, user.user_id]);
  const offered = async () => /auth\/google/.test((await user.browser.get('/signin/confirm')).text);
  assert.equal(await offered(), false, 'a password does it');
  await plain(deps.db).run('delete from passwords where user_id = $1', [user.user_id]);
  assert.equal(await offered(), true, 'nothing else does');
});

test('to confirm with a provider and a second factor, the second factor is what counts', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await linkedUser(signet, upstream);
  const authenticator = await user.enableTotp();
  signet.clock.advance(901);
  const { answer } = await signInUpstream(user.browser, '/auth/acme/login?confirm=1');
  assert.equal(answer.location, '/signin/second-factor');
  assert.equal(await askForRecent(user.browser), 'reauthentication_required');
  assert.equal((await user.giveCode(authenticator.code())).status, 303);
  assert.equal(await askForRecent(user.browser), 'not_found');
});

// What a client demands of a sign-in.

async function leaveForClient(signet: Signet, browser: Browser, changes: Record<string, string>) {
  const client = await signet.registerClient();
  const answer = await browser.get(client.authorizePath(changes));
  const signin = answer.location;
  assert.match(signin, /^\/signin\?request=/);
  return signInUpstream(browser, signin.replace('/signin', '/auth/acme/login'));
}

for (const [demand, age, refused, asked] of [
  [{ prompt: 'login' }, 61, true, '0'],
  [{ prompt: 'login' }, 59, false, '0'],
  [{ max_age: '0' }, 61, true, '0'],
  [{ max_age: '600' }, 661, true, '600'],
  [{ max_age: '600' }, 659, false, '600'],
] as const) {
  const name = JSON.stringify(demand);
  test(`a proof of ${age} s ago is ${refused ? 'no' : 'an'} answer to a client's ${name}`, async (t) => {
    const { signet, upstream } = await federated(t);
    upstream.account = { ...upstream.account, auth_time: now(signet) - age };
    const browser = signet.newBrowser();
    const { answer } = await leaveForClient(signet, browser, demand);
    assert.equal(upstream.asked.get('max_age'), asked);
    if (!refused) {
      assert.match(answer.location, /^\/oauth\/authorize\/continue/);
      assert.equal(await authTime(browser), now(signet) - age);
      return;
    }
    await assertRefused(signet, answer, 403, 'not_asked_again');
    assert.equal((await browser.get('/v1/me')).status, 401);
    assert.equal(await countOf(signet, 'identities'), 0);
  });
}

test('a client that demands a fresh sign-in does not get a stale session passed off as one', async (t) => {
  const { signet, upstream } = await federated(t);
  const { browser } = await linkedUser(signet, upstream);
  const began = now(signet);
  signet.clock.advance(901);
  const { answer } = await leaveForClient(signet, browser, { prompt: 'login' });
  await assertRefused(signet, answer, 403, 'auth_time_missing');
  assert.equal(await authTime(browser), began);
});

// Other sites can send a browser here.

test('specification §4.9: a login leads to the provider, whichever page it is opened from', async (t) => {
  const { signet, upstream } = await federated(t);
  for (const site of ['', 'same-origin', 'none', 'same-site', 'cross-site', 'anything']) {
    const browser = signet.newBrowser();
    const headers: Record<string, string> = site === '' ? {} : { 'sec-fetch-site': site };
    const left = await browser.get('/auth/acme/login?next=/account/apps', headers);
    assert.equal(left.status, 302, site);
    assert.ok(left.location.startsWith(`${upstream.issuer}/authorize?`), site);
    assert.ok(browser.cookies.has(detourCookie), site);
  }
  assert.equal((await signet.newBrowser().post('/auth/acme/login', {})).status, 405);
});

/** As a browser does whose user clicked on a page of another site. @returns what our callback answers. */
async function comeFrom(site: string, browser: Browser, path = '/auth/acme/login'): Promise<Answer> {
  const left = await browser.get(path, { 'sec-fetch-site': site });
  const { pathname, search } = await followUpstream(left.location);
  return browser.get(pathname + search, fromElsewhere);
}

onBothEngines('a link on another site signs a user in only after they agree', async (t, engine) => {
  const { signet, upstream } = await federated(t, { engine });
  const { email, user_id } = await linkedUser(signet, upstream);
  for (const site of ['cross-site', 'same-site', 'anything']) {
    const browser = signet.newBrowser();
    const question = await comeFrom(site, browser, '/auth/acme/login?next=/account/apps');
    assert.match(
      question.text,
      pattern`<h1>${sentence('federation.ask.enter.title', { provider: 'Acme' })}</h1>`,
      site,
    );
    assert.match(question.text, sentence('federation.ask.enter', { email: `<strong><bdi>${email}</bdi></strong>` }));
    assert.doesNotMatch(question.text, sentence('federation.ask.switch.submit'));
    assert.ok(!browser.cookies.has(sessionCookie));
    assert.equal((await browser.get('/v1/me')).status, 401);
    const agreed = await acceptConfirmation(browser, question);
    assert.equal(agreed.location, '/account/apps', 'asked once, not twice');
    assert.equal((await browser.get('/v1/me')).json?.user_id, user_id);
  }
  for (const site of ['none', 'same-origin']) {
    assert.equal((await comeFrom(site, signet.newBrowser())).location, '/account', site);
  }
});

test('a link on another site renews no session, and makes none with a second factor, unasked', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await linkedUser(signet, upstream);
  const cookie = user.browser.cookies.get(sessionCookie);
  assert.match(
    (await comeFrom('cross-site', user.browser)).text,
    sentence('federation.ask.enter.title', { provider: 'Acme' }),
  );
  assert.equal(user.browser.cookies.get(sessionCookie), cookie);
  await user.enableTotp();
  const browser = signet.newBrowser();
  const question = await comeFrom('cross-site', browser);
  assert.match(question.text, sentence('federation.ask.enter.title', { provider: 'Acme' }));
  assert.equal((await acceptConfirmation(browser, question)).location, '/signin/second-factor');
});

test('login CSRF: an account that another site chose takes no session over, and is named', async (t) => {
  const { signet, upstream } = await federated(t);
  const victim = await signet.signedInUser();
  const attacker = await linkedUser(signet, upstream);
  const question = await comeFrom('cross-site', victim.browser);
  assert.match(question.text, sentence('federation.ask.switch.title'));
  assert.match(question.text, new RegExp(`${attacker.email}.*${victim.email}`, 's'));
  assert.equal((await victim.browser.get('/v1/me')).json?.user_id, victim.user_id);
});

test('a link on another site confirms nothing unasked either', async (t) => {
  const { signet, upstream } = await federated(t);
  const browser = signet.newBrowser();
  await signInUpstream(browser);
  const began = await authTime(browser);
  signet.clock.advance(901);
  upstream.account = { ...upstream.account, auth_time: now(signet) };
  const asked = upstream.requests.length;
  for (const site of ['cross-site', 'same-site']) {
    const confirm = '/auth/acme/login?confirm=1&next=/account/apps';
    const answer = await browser.get(confirm, { 'sec-fetch-site': site });
    assert.equal(answer.status, 302);
    assert.equal(answer.location, '/signin/confirm?next=%2Faccount%2Fapps');
  }
  assert.equal(upstream.requests.length, asked);
  assert.equal(await authTime(browser), began);
  assert.equal((await signInUpstream(browser, '/auth/acme/login?confirm=1')).answer.status, 303);
  assert.equal(await authTime(browser), now(signet));
});

test('a page of another origin may read which providers there are, and nothing that a cookie opens', async (t) => {
  const { signet } = await federated(t);
  const { browser } = await signet.signedInUser();
  const origin = { origin: 'https://shop.example.com', 'sec-fetch-site': 'cross-site' };
  // A browser lets the page read such an answer only if the request had no cookie (Fetch Standard, CORS check).
  for (const path of ['/v1/auth/providers', '/v1/me/entitlements']) {
    const answer = await browser.get(path, origin);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*', path);
    assert.equal(answer.headers.get('access-control-allow-credentials'), null, path);
  }
  for (const path of ['/v1/me', '/auth/acme/login', '/auth/nothing/login', '/signin']) {
    assert.equal((await browser.get(path, origin)).headers.get('access-control-allow-origin'), null, path);
  }
});

/** Back from the provider, as far as a question if there is one. */
const comeBack = async (browser: Browser): Promise<Answer> => browser.get(await startUpstreamSignIn(browser));

test('who clicked on our own page and has no account gets one without a question, and who did not is asked', async (t) => {
  const { signet, upstream } = await federated(t);
  const own = signet.newBrowser();
  assert.equal((await comeBack(own)).status, 303);

  upstream.account = { sub: 'lured', email: 'lured@example.com', email_verified: true };
  const lured = signet.newBrowser();
  const left = await lured.get('/auth/acme/login', { 'sec-fetch-site': 'none' });
  const { pathname, search } = await followUpstream(left.location);
  const question = await lured.get(pathname + search);
  assert.match(
    question.text,
    sentence('federation.ask.create', { email: '<strong><bdi>lured@example.com</bdi></strong>' }),
  );
  assert.equal(await countOf(signet, 'users'), 1);
  assert.equal((await lured.get('/v1/me')).status, 401);
  assert.equal((await acceptConfirmation(lured, question)).status, 303);
  assert.equal((await lured.get('/v1/me')).json?.email, 'lured@example.com');
});

onBothEngines(
  'an account is connected by its address alone only after a yes, once, in that browser',
  async (t, engine) => {
    const { signet, upstream } = await federated(t, { engine });
    const user = await signet.newUser();
    upstream.account = { sub: 'p', email: user.email, email_verified: true };
    const { browser } = user;
    const question = await comeBack(browser);
    const form = confirmationForm(question) ?? assert.fail(question.text);
    assert.match(question.text, sentence('federation.ask.link.title', { provider: 'Acme' }));
    assert.equal(await countOf(signet, 'identities'), 0);
    assert.equal((await browser.get('/v1/me')).status, 401);

    const stranger = signet.newBrowser();
    await assertRefused(signet, await stranger.post(form.action, { answer: form.answer }), 400, 'state_unknown');
    await startUpstreamSignIn(stranger);
    await assertRefused(signet, await stranger.post(form.action, { answer: form.answer }), 400, 'state_unknown');
    for (const answer of ['', 'x', `${form.answer.slice(0, -3)}AAA`]) {
      await assertRefused(signet, await browser.post(form.action, { answer }), 400, 'state_unknown');
    }
    const foreign = { origin: 'https://evil.example' };
    assert.equal((await browser.post(form.action, { answer: form.answer }, foreign)).status, 403);
    assert.equal(await countOf(signet, 'identities'), 0);

    const copies = Array.from({ length: 20 }, () => {
      const copy = signet.newBrowser();
      copy.cookies.set(detourCookie, browser.cookies.get(detourCookie) ?? '');
      return copy;
    });
    const answers = await Promise.all(copies.map((copy) => copy.post(form.action, { answer: form.answer })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array.from({ length: 19 }, () => 400)]);
    assert.equal(await countOf(signet, 'identities'), 1);
    assert.equal(await countOf(signet, 'sessions'), 1);
  },
);

test('a confirmation expires ten minutes after the upstream authorization began', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await signet.newUser();
  upstream.account = { sub: 'p', email: user.email, email_verified: true };
  const question = await comeBack(user.browser);
  signet.clock.advance(600);
  await assertRefused(signet, await acceptConfirmation(user.browser, question), 400, 'state_unknown');
  assert.equal(await countOf(signet, 'identities'), 0);
});

test("another user's session is replaced only after a confirmation that names both", async (t) => {
  const { signet, upstream } = await federated(t);
  const known = await linkedUser(signet, upstream);
  const victim = await signet.signedInUser();
  const question = await comeBack(victim.browser);
  assert.match(
    question.text,
    sentence('federation.ask.switch', { email: `<strong><bdi>${known.email}</bdi></strong>` }),
  );
  assert.match(
    question.text,
    sentence('federation.ask.replaces', { email: `<strong><bdi>${victim.email}</bdi></strong>` }),
  );
  assert.equal((await victim.browser.get('/v1/me')).json?.user_id, victim.user_id);
  assert.equal((await acceptConfirmation(victim.browser, question)).status, 303);
  assert.equal((await victim.browser.get('/v1/me')).json?.user_id, known.user_id);
});

test('a yes to one question is none to another', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await signet.newUser();
  const other = await signet.newUser();
  upstream.account = { sub: 'p', email: user.email, email_verified: true };
  const { browser } = user;
  const question = await comeBack(browser);
  await other.with({ browser }).signIn();
  const again = await acceptConfirmation(browser, question);
  assert.ok(confirmationForm(again), again.text);
  assert.ok(again.text.includes(other.email), 'now it says whose session would end');
  assert.equal((await browser.get('/v1/me')).json?.user_id, other.user_id);
  assert.equal(await countOf(signet, 'identities'), 0);
  assert.equal((await acceptConfirmation(browser, again)).status, 303);
  assert.equal((await browser.get('/v1/me')).json?.user_id, user.user_id);
});

// Connecting: the provider asks which account is meant, and so do we.

test('to connect, the provider must ask which account is meant', async (t) => {
  const { signet, upstream } = await federated(t);
  const { browser } = await signet.signedInUser();
  for (const [id, prompt] of [
    ['acme', 'login'],
    ['google', 'select_account'],
  ] as const) {
    const answer = await browser.post(`${providersPath}/${id}`);
    await followUpstream(answer.location);
    assert.equal(upstream.asked.get('prompt'), prompt, id);
  }
});

test('to connect, a yes counts in the session that began alone', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await signet.signedInUser();
  const stranger = await signet.signedInUser();
  const { browser } = user;
  upstream.account = { sub: 'x', email: 'thief@example.org', email_verified: true };
  const left = await browser.post(`${providersPath}/acme`);
  const { pathname, search } = await followUpstream(left.location);
  const question = await browser.get(pathname + search);
  assert.match(
    question.text,
    sentence('federation.ask.connect', { account: '<strong><bdi>thief@example.org</bdi></strong>' }),
  );
  assert.equal(await countOf(signet, 'identities'), 0);
  const own = browser.cookies.get(sessionCookie) ?? '';
  browser.cookies.set(sessionCookie, stranger.browser.cookies.get(sessionCookie) ?? '');
  await assertRefused(signet, await acceptConfirmation(browser, question), 403, 'session_changed');
  browser.cookies.set(sessionCookie, own);
  assert.equal(await countOf(signet, 'identities'), 0);
});

onBothEngines('a connection that was begun in a session that has ended is not made', async (t, engine) => {
  const { signet } = await federated(t, { engine });
  const { browser, user_id, email } = await signet.signedInUser();
  const me = (await browser.get('/v1/me')).json;
  const session_id = (me?.session as { id: string } | undefined)?.id ?? '';
  const row = await plain(signet.deps.db).get<{ token_hash: string }>(
    'select token_hash from sessions where session_id = $1',
    [session_id],
  );
  const provider = (await signet.deps.providers.read()).find('acme') ?? assert.fail();
  const account = {
    issuer: provider.issuer,
    subject: 'thief',
    email: 'thief@example.org',
    emailVerified: true,
    name: null,
    picture: null,
    locale: null,
    auth_time: undefined,
  };
  const context = {
    provider,
    address: '::1',
    mode: 'link',
    exit: { path: '/account', label: 'error.to_account' },
  } as const;
  const user = { user_id, email, name: null, locale: null, session_id } as unknown as Session;
  const { agreement } = linkConfirmation(user, 'thief');
  const link = (token_hash: string) =>
    linkBySignedInUser(signet.deps, { user: { ...user, token_hash }, account, context, agreement });
  await assert.rejects(link('of the cookie before'), { code: 'login_required' });
  assert.equal(await countOf(signet, 'identities'), 0);
  assert.equal(await link(row?.token_hash ?? ''), undefined);
  assert.equal(await countOf(signet, 'identities'), 1);
});

// Failures that anybody can bring about.

test('failures cannot flood the log from many addresses of one IPv6 subscriber', async (t) => {
  const { signet } = await federated(t, { env: { SIGNET_TRUST_PROXY: '1' } });
  const browser = signet.newBrowser();
  for (let times = 0; times < 70; times += 1) {
    const headers = { 'x-forwarded-for': `2001:db8::${(times % 7) + 1}` };
    assert.equal((await browser.get('/auth/acme/callback?state=x', headers)).status, 400);
  }
  const rows = await plain(signet.deps.db).all<{ address: string; count: number }>(
    'select address, count from unauthenticated_events',
  );
  assert.deepEqual(
    rows.map(({ address, count }) => [address, count]),
    [['2001:db8::1', 70]],
  );
});

const asked = ({ requests }: Upstream, path: string) => requests.filter((one) => one.startsWith(path)).length;

async function comeBackWith(browser: Browser, code: string): Promise<Answer> {
  const callback = await startUpstreamSignIn(browser);
  return browser.get(callback.replace(/code=[^&]+/, `code=${code}`));
}

test('a made-up code costs the provider one question, and from one address thirty at most in ten minutes', async (t) => {
  const { signet, upstream } = await federated(t);
  for (let times = 0; times < 30; times += 1) {
    const answer = await comeBackWith(signet.newBrowser(), 'bogus');
    assert.equal(answer.status, 502, answer.text);
  }
  assert.deepEqual([asked(upstream, '/.well-known/'), asked(upstream, '/jwks'), asked(upstream, '/token')], [1, 0, 30]);
  const next = await signet.newBrowser().get('/auth/acme/login', fromOurPage);
  assert.equal(next.status, 429);
  assert.ok(Number(next.headers.get('retry-after')) > 0);
  signet.clock.advance(601);
  assert.equal((await comeBack(signet.newBrowser())).status, 303);
});

test('who was on the way when an address is blocked is not asked about either', async (t) => {
  const { signet, upstream } = await federated(t);
  const late = signet.newBrowser();
  const callback = await startUpstreamSignIn(late);
  for (let times = 0; times < 30; times += 1) await comeBackWith(signet.newBrowser(), 'bogus');
  const before = asked(upstream, '/token');
  assert.equal((await late.get(callback)).status, 429);
  assert.equal(asked(upstream, '/token'), before);
});

test('an issuer that has moved, or has other keys, is asked for its document again', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const failures = [
    { header: { kid: 'k2' } },
    { answer: { '/token': (response: Parameters<typeof sendJson>[0]) => sendJson(response, 500, {}) } },
    { answer: { '/token': (response: Parameters<typeof sendJson>[0]) => void response.destroy() } },
  ];
  for (const lies of failures) {
    const before = asked(upstream, '/.well-known/');
    upstream.lies = lies;
    assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 502);
    upstream.lies = {};
    assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303);
    assert.ok(asked(upstream, '/.well-known/') > before, JSON.stringify(lies));
  }
});

test("a provider's failure is a warning in our log, without a stack", async (t) => {
  const { signet } = await federated(t);
  await comeBackWith(signet.newBrowser(), 'bogus');
  const lines = signet.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const line = lines.find(({ code }) => code === 'upstream_failed') ?? assert.fail('not logged');
  assert.equal(line.level, 40);
  assert.equal(line.err, undefined);
  assert.match(String(line.cause), /response_body_error/);
  assert.ok(!lines.some(({ level }) => Number(level) >= 50));
});
