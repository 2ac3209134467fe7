import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { type Browser, newBrowser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { type FederatedOptions, startFederatedSignet } from '../support/federated-signet.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf } from '../support/relying-party.ts';
import { poll, sessionRevoked, signalClient, typesOf } from '../support/signal-receiver.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { TestUser } from '../support/test-user.ts';
import {
  acceptConfirmation,
  acmeAt,
  client_id,
  confirmationForm,
  sendJson,
  signInUpstream,
  startOidcProvider,
  startUpstreamSignIn,
  type Upstream,
} from '../support/upstream.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const path = '/auth/acme/backchannel-logout';
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

async function open(t: TestContext, options: FederatedOptions = {}) {
  const { signet, upstream } = await startFederatedSignet(t, options);
  const now = () => signet.clock() / 1000;
  const claims = (more: Record<string, unknown> = {}) => ({
    iss: upstream.issuer,
    aud: client_id,
    iat: now(),
    exp: now() + 120,
    jti: crypto.randomUUID(),
    events: { [logoutEvent]: {} },
    ...more,
  });
  return {
    signet,
    upstream,
    claims,
    send: (logout_token: string) => signet.postForm(path, { logout_token }),
    /** A logout token of the provider. */
    async logout(more: Record<string, unknown>) {
      return signet.postForm(path, { logout_token: await upstream.sign(claims(more), { typ: 'logout+jwt' }) });
    },
    /** A new browser of the account, signed in by a session there. */
    async signIn(sid: string | undefined): Promise<Browser> {
      upstream.account = { ...upstream.account, sid };
      const browser = signet.newBrowser();
      const { answer } = await signInUpstream(browser);
      assert.equal(answer.status, 303, answer.text);
      return browser;
    },
  };
}
type Scene = Awaited<ReturnType<typeof open>>;

const isSignedIn = async (browser: Browser) => (await browser.get('/v1/me')).status === 200;
const signedIn = (...browsers: Browser[]) => Promise.all(browsers.map(isSignedIn));

const userOf = async (signet: Signet, browser: Browser): Promise<TestUser> => {
  const { user_id, email } = (await browser.get('/v1/me')).json as { user_id: string; email: string };
  return new TestUser(signet, { user_id, email, password: '', browser });
};

onBothEngines(
  'a sign-out at a provider ends the session that rests on the one there, as a sign-out here',
  async (t, engine) => {
    const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_RATE_LIMITS: 'off' };
    const { signet, signIn, logout } = await open(t, { engine, env });
    const [one, other] = [await signIn('up-1'), await signIn('up-2')];
    const receiver = await openReceiver(t);
    const client = await signet.registerClient({ backchannel_logout_uri: receiver.url });
    const user = await userOf(signet, one);
    const tokens = await user.obtainTokens(client, { scope: 'openid offline_access' });
    const kept = await user.with({ browser: other }).obtainTokens(client, { scope: 'openid offline_access' });
    const signals = await signalClient(signet);
    const stream = await signals.create({ delivery: { method: poll }, events_requested: [sessionRevoked] });

    const answer = await logout({ sub: 'sub-1', sid: 'up-1' });
    assert.deepEqual([answer.status, answer.text, answer.headers.get('cache-control')], [200, '', 'no-store']);
    assert.deepEqual(await signedIn(one, other), [false, true]);
    assert.equal((await client.refresh(tokens.refresh_token ?? '')).json?.error, 'invalid_grant');
    assert.equal((await client.refresh(kept.refresh_token ?? '')).status, 200);
    const session_id = String(claimsOf(tokens.id_token).sid);
    const [event, ...more] = await signet.auditLog({ action: 'session.ended' });
    assert.deepEqual(more, []);
    assert.deepEqual(
      [event?.actor, event?.target, event?.reason, event?.after_state],
      ['system', session_id, 'provider_sign_out', JSON.stringify({ user_id: user.user_id, provider: 'acme' })],
    );
    await signet.runJobs();
    await runJobs(signet.deps, ['deliver logout tokens']);
    const told = receiver.deliveries.map(({ body }) => claimsOf(new URLSearchParams(body).get('logout_token') ?? ''));
    assert.deepEqual(
      told.map(({ sid }) => sid),
      [session_id],
      'our own relying parties are told',
    );
    const { sets } = await signals.poll(stream);
    const events = await Promise.all(Object.values(sets).map(signals.read));
    assert.deepEqual(
      [typesOf(events), events[0]?.sub_id.session],
      [[sessionRevoked], { format: 'opaque', id: session_id }],
    );
    const activity = (await other.get('/v1/me/activity?kind=sign_ins')).json as { events: Record<string, unknown>[] };
    const ended = activity.events.filter(({ action }) => action === 'session.ended');
    assert.deepEqual(
      ended.map(({ by, provider }) => [by, provider]),
      [['service', 'Acme']],
      'their user sees it',
    );
  },
);

test('a logout token may have no end and no account, as that of Ory Hydra: it is over after an hour', async (t) => {
  const { signet, upstream, claims, send, signIn } = await open(t);
  const [one, other] = [await signIn('up-1'), await signIn('up-2')];
  const issued = signet.clock() / 1000;
  const ofHydra = (sid: string) =>
    upstream.sign(claims({ aud: [client_id], sid, exp: undefined, iat: issued }), { typ: 'JWT' });
  assert.equal((await send(await ofHydra('up-1'))).status, 200);
  assert.deepEqual(await signedIn(one, other), [false, true]);
  signet.clock.advance(3601);
  assert.equal((await send(await ofHydra('up-2'))).status, 400);
  assert.deepEqual(await signedIn(other), [true]);
});

onBothEngines(
  'a sign-out of the account at a provider ends all its sessions that began until then',
  async (t, engine) => {
    const { signet, upstream, claims, send, signIn } = await open(t, { engine });
    const before = [await signIn('up-1'), await signIn(undefined)];
    upstream.account = { sub: 'sub-2', email: 'eve@example.com', email_verified: true, sid: 'up-9' };
    const stranger = signet.newBrowser();
    await signInUpstream(stranger);
    const local = await signet.signedInUser();
    const token = await upstream.sign(claims({ sub: 'sub-1' }));
    assert.equal((await send(token)).status, 200);
    assert.deepEqual(await signedIn(...before, stranger, local.browser), [false, false, true, true]);

    signet.clock.advance(1);
    upstream.account = { sub: 'sub-1', email: 'ada@example.com', email_verified: true };
    const later = await signIn('up-3');
    assert.equal((await send(token)).status, 200, 'the same token again');
    assert.deepEqual(await signedIn(later), [true], 'a session that began later is not meant');
    assert.equal((await signet.auditLog({ action: 'session.ended' })).length, 2);
  },
);

onBothEngines('a session is found by sid alone, and one without a sid by its account', async (t, engine) => {
  const { signet, logout, signIn } = await open(t, { engine });
  const [one, two, nameless] = [await signIn('up-1'), await signIn('up-2'), await signIn(undefined)];
  assert.equal((await logout({ sid: 'up-1' })).status, 200);
  assert.deepEqual(await signedIn(one, two), [false, true]);
  assert.equal((await logout({ sid: 'up-unknown' })).status, 200);
  assert.equal((await logout({ sub: 'nobody' })).status, 200);
  assert.equal((await logout({ sub: 'nobody', sid: 'up-2' })).status, 200, 'of another account');
  assert.deepEqual(await signedIn(two), [true]);
  signet.clock.advance(1);
  // The provider has not told which session it is, so it may be the one that has ended.
  const again = await signIn(undefined);
  assert.equal((await logout({ sub: 'sub-1', sid: 'up-7' })).status, 200);
  assert.deepEqual(await signedIn(nameless, again, two), [false, false, true]);
});

onBothEngines('a factor that is given later does not cut a session off from its provider', async (t, engine) => {
  const { signet, logout, signIn } = await open(t, { engine });
  const browser = await signIn('up-1');
  const user = await userOf(signet, browser);
  await user.addPasskey();
  assert.deepEqual(await signedIn(browser), [true]);
  assert.equal((await logout({ sub: 'sub-1', sid: 'up-1' })).status, 200);
  assert.deepEqual(await signedIn(browser), [false]);
});

onBothEngines(
  'a session that began with a password ends with the provider that has confirmed it',
  async (t, engine) => {
    const { signet, upstream, logout } = await open(t, { engine });
    const user = await signet.signedInUser({ email: 'ada@example.com' });
    upstream.account = { ...upstream.account, sid: 'up-1', auth_time: signet.clock() / 1000 };
    await signInUpstream(user.browser);
    assert.equal((await logout({ sub: 'sub-1', sid: 'up-1' })).status, 200);
    assert.deepEqual(await signedIn(user.browser), [false]);
  },
);

onBothEngines(
  'a sign-in that is under way when the provider reports the end of its session ends, too',
  async (t, engine) => {
    const { signet, upstream, logout, signIn } = await open(t, { engine });
    const first = await signIn('up-0');
    const user = await userOf(signet, first);

    // The question whether to replace another user's session is open.
    const other = await signet.signedInUser();
    upstream.account = { ...upstream.account, sid: 'up-1' };
    const asked = await other.browser.get(await startUpstreamSignIn(other.browser));
    assert.ok(confirmationForm(asked), asked.text);
    assert.equal((await logout({ sub: 'sub-1', sid: 'up-1' })).status, 200);
    const refused = await acceptConfirmation(other.browser, asked);
    assert.equal(refused.status, 400, refused.text);
    assert.equal((await userOf(signet, other.browser)).user_id, other.user_id);

    // The second factor is asked.
    const app = await user.enableTotp();
    const waiting = async (sid: string) => {
      upstream.account = { ...upstream.account, sid };
      const browser = signet.newBrowser();
      const { answer } = await signInUpstream(browser);
      assert.equal(answer.location, '/signin/second-factor');
      return user.with({ browser });
    };
    const [ended, goesOn] = [await waiting('up-2'), await waiting('up-3')];
    assert.equal((await logout({ sub: 'sub-1', sid: 'up-2' })).status, 200);
    const answer = await ended.giveCode(app.code());
    assert.notEqual(answer.location, '/account');
    assert.deepEqual(await signedIn(ended.browser), [false]);
    assert.equal((await goesOn.giveCode(app.code())).location, '/account');
  },
);

type Hostile = (scene: Scene) => Promise<string> | string;

const good = { sub: 'sub-1', sid: 'up-1' };
const claimed =
  (more: Record<string, unknown>, header?: object): Hostile =>
  ({ upstream, claims }) =>
    upstream.sign(claims({ ...good, ...more }), header);
const signedBy =
  (by: Parameters<Upstream['sign']>[2], header?: object): Hostile =>
  ({ upstream, claims }) =>
    upstream.sign(claims(good), header, by);

/** The same under another header: the signature is not over it. */
const withHeader = (token: string, header: object) =>
  [Buffer.from(JSON.stringify(header)).toString('base64url'), ...token.split('.').slice(1)].join('.');

/** What a stranger or a broken provider may send, and why it is refused. */
const hostile: Record<string, [problem: string, Hostile]> = {
  'no token': ['malformed', () => 'x'],
  'two parts': ['malformed', async (scene) => (await claimed({})(scene)).split('.').slice(0, 2).join('.')],
  'four parts': ['malformed', async (scene) => `${await claimed({})(scene)}.x`],
  'claims that are no object': ['malformed', ({ upstream }) => upstream.sign(['a'])],
  'a token of 17 KB': ['malformed', claimed({ pad: 'x'.repeat(13_000) })],
  'base64 with an altered last character': ['malformed', async (scene) => `${await claimed({})(scene)}=`],
  'a critical header that nobody knows': [
    'malformed',
    async (scene) => withHeader(await claimed({})(scene), { alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 }),
  ],
  'no signature': ['algorithm', signedBy('none')],
  'the client secret as a key': ['algorithm', signedBy('client_secret')],
  'the public key as a secret': ['algorithm', signedBy('public_key')],
  "another's key": ['signature', signedBy('another_key')],
  'a key that is not published': ['key', claimed({}, { kid: 'k2' })],
  'an algorithm that the key is not for': [
    'key',
    async (scene) => withHeader(await claimed({})(scene), { alg: 'RS256', kid: 'k1' }),
  ],
  'claims that were changed': [
    'signature',
    async ({ upstream, claims }) => {
      const [header, , signature] = (await upstream.sign(claims(good))).split('.');
      return [header, Buffer.from(JSON.stringify(claims(good))).toString('base64url'), signature].join('.');
    },
  ],
  'the type of an access token': ['type', claimed({}, { typ: 'at+jwt' })],
  'the type of a security event': ['type', claimed({}, { typ: 'secevent+jwt' })],
  'another issuer': ['issuer', claimed({ iss: 'https://other.example' })],
  'no issuer': ['issuer', claimed({ iss: undefined })],
  'an issuer that is no text': ['issuer', claimed({ iss: ['x'] })],
  'another audience': ['audience', claimed({ aud: 'another-client' })],
  'no audience': ['audience', claimed({ aud: undefined })],
  'a list of other audiences': ['audience', claimed({ aud: ['a', 'b'] })],
  'a token of the future': [
    'time',
    ({ upstream, claims, signet }) => upstream.sign(claims({ ...good, iat: signet.clock() / 1000 + 61 })),
  ],
  'a token that has expired': [
    'time',
    ({ upstream, claims, signet }) => upstream.sign(claims({ ...good, exp: signet.clock() / 1000 - 60 })),
  ],
  'an old token that never expires': [
    'time',
    ({ upstream, claims, signet }) => upstream.sign(claims({ ...good, iat: signet.clock() / 1000 - 3601, exp: 9e12 })),
  ],
  'no time': ['time', claimed({ iat: undefined })],
  'a time that is a text': ['time', claimed({ iat: '1' })],
  'an old token without an end': [
    'time',
    ({ upstream, claims, signet }) =>
      upstream.sign(claims({ ...good, iat: signet.clock() / 1000 - 3601, exp: undefined })),
  ],
  'an end that is no time': ['time', claimed({ exp: null })],
  'no events': ['event', claimed({ events: undefined })],
  'events that are a list': ['event', claimed({ events: [logoutEvent] })],
  'another event': ['event', claimed({ events: { [`${logoutEvent}2`]: {} } })],
  'an event that is no object': ['event', claimed({ events: { [logoutEvent]: true } })],
  'an ID token': ['nonce', claimed({ nonce: 'n' })],
  'a nonce of null': ['nonce', claimed({ nonce: null })],
  'no jti': ['jti', claimed({ jti: undefined })],
  'neither sub nor sid': ['subject', claimed({ sub: undefined, sid: undefined })],
  'a sub that is no text': ['subject', claimed({ sub: 7 })],
  'a sid with a NUL': ['subject', claimed({ sid: 'up-1\0' })],
  'a sub of 256 characters': ['subject', claimed({ sub: 'x'.repeat(256) })],
};

test('a token that is not a logout token of this provider for this service changes nothing', async (t) => {
  const scene = await open(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const { signet } = scene;
  const browser = await scene.signIn('up-1');
  const seen = new Map<string, number>();
  const timesOf = async (outcome: string) =>
    (
      await plain(signet.deps.db).get<{ times: number }>(
        `select times from provider_receipts where provider_id = 'acme' and kind = 'logout' and outcome = $1`,
        [outcome],
      )
    )?.times ?? 0;
  for (const [what, [problem, make]] of Object.entries(hostile)) {
    const answer = await scene.send(await make(scene));
    const { error, error_description } = answer.json ?? {};
    assert.deepEqual([answer.status, error], [400, 'invalid_request'], `${what}: ${answer.text}`);
    assert.match(String(error_description), /^[\x20-\x7e]+$/);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(await timesOf(problem), (seen.get(problem) ?? 0) + 1, `${what}: ${String(error_description)}`);
    seen.set(problem, await timesOf(problem));
  }
  assert.deepEqual(await signedIn(browser), [true]);
  for (const body of ['', 'logout_token=', 'x=1', 'logout_token=a&logout_token=b', 'logout_token=%ff']) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await signet.newBrowser().send(path, { method: 'POST', body, headers });
    assert.equal(answer.status, 400, `${body}: ${answer.text}`);
  }
  assert.equal((await signet.newBrowser().postJson(path, { logout_token: 'x' })).status, 400);
  assert.equal((await signet.newBrowser().get(path)).status, 405);
  assert.equal((await signet.postForm('/auth/other/backchannel-logout', { logout_token: 'x' })).status, 404);
  assert.deepEqual(await signedIn(browser), [true]);
  assert.deepEqual(await signet.auditLog({ action: 'session.ended' }), []);
});

test('a provider that leaves out the type, names several audiences or sends a member twice is understood', async (t) => {
  const { signet, upstream, claims, send, signIn } = await open(t);
  for (const header of [{}, { typ: 'JWT' }, { typ: 'logout+jwt' }, { typ: 'application/logout+jwt' }]) {
    const browser = await signIn('up-1');
    const token = await upstream.sign(claims({ sub: 'sub-1', sid: 'up-1', aud: ['another', client_id] }), header);
    assert.equal((await send(token)).status, 200);
    assert.deepEqual(await signedIn(browser), [false]);
    signet.clock.advance(1);
  }
  // RFC 7519 §4: the last one counts.
  const browser = await signIn('up-1');
  const twice = JSON.stringify(claims({ sub: 'sub-1', sid: 'up-1' })).replace('{', '{"aud":"another",');
  assert.equal((await send(await upstream.sign(twice as unknown as object))).status, 200);
  assert.deepEqual(await signedIn(browser), [false]);
});

test('what strangers send causes few requests to the provider, and soon none is looked at', async (t) => {
  const { signet, upstream, claims, send, logout, signIn } = await open(t);
  const browser = await signIn('up-1');
  const asked = () => upstream.requests.filter((one) => one === '/jwks').length;
  const atFirst = asked();
  for (const kid of ['a', 'b', 'c', 'd', 'e']) {
    const token = await upstream.sign(claims(good), { kid });
    assert.equal((await send(token)).json?.error, 'invalid_request');
  }
  assert.equal(asked() - atFirst, 1, 'one question in half a minute, whatever keys are named');
  for (let tries = 0; tries < 25; tries += 1) await send('x');
  const answer = await send('x');
  assert.equal(answer.status, 429, answer.text);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.equal((await logout(good)).status, 429, 'of the same address');
  assert.deepEqual(await signedIn(browser), [true]);
  signet.clock.advance(601);
  assert.equal((await logout(good)).status, 200);
  assert.deepEqual(await signedIn(browser), [false]);
});

test('keys are asked for again when the provider has others, and while it is away those from before count', async (t) => {
  const { signet, upstream, logout, signIn } = await open(t);
  const browser = await signIn('up-1');
  upstream.lies.answer = { '/jwks': (response) => response.writeHead(500).end() };
  const away = await logout(good);
  assert.deepEqual([away.status, away.json?.error], [502, 'upstream_failed'], 'it is to be sent again');
  assert.deepEqual(await signedIn(browser), [true]);
  upstream.lies.answer = {
    '/jwks': (response) => sendJson(response, 200, { keys: [{ kty: 'oct', k: 'AA' }, null, 7] }),
  };
  signet.clock.advance(30);
  assert.equal((await logout(good)).status, 400, 'a set without the key');
  delete upstream.lies.answer;
  assert.equal((await logout(good)).status, 400, 'not asked twice in half a minute');
  signet.clock.advance(30);
  assert.equal((await logout(good)).status, 200);
  assert.deepEqual(await signedIn(browser), [false]);
  const again = await signIn('up-2');
  upstream.lies.answer = { '/jwks': (response) => response.writeHead(500).end() };
  signet.clock.advance(3600);
  assert.equal((await logout({ sid: 'up-2' })).status, 200);
  assert.deepEqual(await signedIn(again), [false]);
});

/** A server that others must know the address of, before it knows theirs. */
async function withKnownAddress(
  t: TestContext,
  start: (url: string) => Promise<Record<string, string>>,
): Promise<Signet> {
  const first = await startSignet(t);
  await first.app.close();
  const env = { SIGNET_PORT: new URL(first.url).port, SIGNET_BASE_URL: first.url };
  return startSignet(t, { env: { ...env, ...(await start(first.url)) } });
}

test('a sign-out at another Signet ends the session here, and no other', async (t) => {
  const upstream = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' } });
  const signet = await withKnownAddress(t, async (url) => {
    const client = await upstream.registerClient({
      redirect_uris: [`${url}/auth/acme/callback`],
      backchannel_logout_uri: `${url}${path}`,
      consent: 'skip',
    });
    return {
      SIGNET_PROVIDER_ACME_ISSUER: upstream.url,
      SIGNET_PROVIDER_ACME_CLIENT_ID: client.client_id,
      SIGNET_PROVIDER_ACME_CLIENT_SECRET: client.client_secret ?? '',
    };
  });
  const user = await upstream.signedInUser();
  const elsewhere = await user.signedInElsewhere();
  const [one, other] = [signet.newBrowser(), signet.newBrowser()];
  await signInUpstream(one, '/auth/acme/login', user.browser);
  await signInUpstream(other, '/auth/acme/login', elsewhere.browser);
  assert.deepEqual(await signedIn(one, other), [true, true]);
  await user.browser.post('/signout');
  await runJobs(upstream.deps, ['deliver logout tokens']);
  assert.deepEqual(await signedIn(one, other), [false, true]);
  assert.deepEqual(
    await plain(upstream.deps.db).all('select last_error from logout_deliveries where delivered_at is null'),
    [],
  );
});

test('a sign-out at oidc-provider ends the session here', async (t) => {
  const account = { sub: 'ada-42', email: 'ada@example.com', email_verified: true };
  let issuer = '';
  const signet = await withKnownAddress(t, async (url) => {
    const addresses = { redirect_uri: `${url}/auth/acme/callback`, backchannel_logout_uri: `${url}${path}` };
    issuer = await startOidcProvider(t, { account, ...addresses });
    return acmeAt(issuer);
  });
  signet.clock.advance(Math.floor((Date.now() - signet.clock()) / 1000)); // its clock is this machine's
  const [browser, there] = [signet.newBrowser(), newBrowser(issuer)];
  await signInUpstream(browser, '/auth/acme/login', there);
  assert.deepEqual(await signedIn(browser), [true]);
  const question = await there.get('/session/end');
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(question.text)?.[1] ?? '';
  const answer = await there.post('/session/end/confirm', { xsrf, logout: 'yes' });
  assert.ok(answer.status < 400, answer.text);
  assert.deepEqual(await signedIn(browser), [false]);
});

test('the page of a provider shows the address to register there, and what came in', async (t) => {
  const { signet, upstream, claims, send, logout } = await open(t);
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const page = async () => (await browser.get('/admin/providers/acme')).text;
  assert.match(await page(), pattern`${sentence('admin.providers.received.none')}`);
  assert.ok((await page()).includes(`<code id="backchannel-logout-uri">${signet.url}${path}</code>`));
  await logout({ sub: 'sub-1' });
  await send(await upstream.sign(claims({ sub: 'sub-1', aud: 'another' })));
  const text = await page();
  assert.match(text, pattern`${sentence('admin.providers.received.kind.logout')}`);
  assert.match(text, pattern`${sentence('admin.provider_token.audience')}`);
  const { json } = await browser.get('/v1/admin/providers/acme');
  const at = signet.clock() / 1000;
  assert.deepEqual(json?.received, [
    { kind: 'logout', outcome: 'accepted', last_at: at, times: 1 },
    { kind: 'logout', outcome: 'audience', last_at: at, times: 1 },
  ]);
  signet.clock.advance(91 * 86_400);
  await signet.runJobs();
  assert.deepEqual(await plain(signet.deps.db).all('select * from provider_receipts'), []);
});
