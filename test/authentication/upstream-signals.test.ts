import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { digest } from '../../src/platform/ids.ts';
import type { Browser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { type FederatedOptions, startFederatedSignet } from '../support/federated-signet.ts';
import { plain } from '../support/plain-sql.ts';
import { pushTo, sessionRevoked, signalClient, verification } from '../support/signal-receiver.ts';
import { startSignet } from '../support/signet.ts';
import { client_id, signInUpstream, startUpstream } from '../support/upstream.ts';

const path = '/auth/acme/signals';
const risc = 'https://schemas.openid.net/secevent/risc/event-type';
const secret = 'a-secret-of-the-stream-in-40-characters';
const env = { SIGNET_PROVIDER_ACME_SIGNALS_SECRET: secret };
const typ = 'secevent+jwt';

async function open(t: TestContext, options: FederatedOptions = {}) {
  const { signet, upstream } = await startFederatedSignet(t, { ...options, env: { ...env, ...options.env } });
  const now = () => signet.clock() / 1000;
  const account = (sub = 'sub-1') => ({ format: 'iss_sub', iss: upstream.issuer, sub });
  const claims = (more: Record<string, unknown> = {}) => ({
    ...{ iss: upstream.issuer, aud: client_id, iat: now(), jti: crypto.randomUUID() },
    sub_id: account(),
    events: { [sessionRevoked]: {} },
    ...more,
  });
  const push = (body: string, authorization: string | undefined = `Bearer ${secret}`, type = `application/${typ}`) =>
    signet.newBrowser().send(path, {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...(authorization !== '' && { authorization }) },
    });
  return {
    ...{ signet, upstream, account, claims, push },
    /** An event of the provider. */
    event: async (more: Record<string, unknown> = {}) => push(await upstream.sign(claims(more), { typ })),
    async signIn(sid?: string, sub = 'sub-1'): Promise<Browser> {
      upstream.account = { sub, email: `${sub}@example.com`, email_verified: true, sid };
      const browser = signet.newBrowser();
      assert.equal((await signInUpstream(browser)).answer.status, 303);
      return browser;
    },
  };
}
type Scene = Awaited<ReturnType<typeof open>>;

const signedIn = (...browsers: Browser[]) =>
  Promise.all(browsers.map(async (browser) => (await browser.get('/v1/me')).status === 200));

onBothEngines(
  'a session that a provider revokes by an event ends here, and one of the account alone',
  async (t, engine) => {
    const { signet, signIn, event, account } = await open(t, { engine });
    const [one, two, other] = [await signIn('up-1'), await signIn('up-2'), await signIn('up-3', 'sub-2')];
    const session = { format: 'opaque', id: 'up-1' };
    const taken = await event({ sub_id: { format: 'complex', user: account(), session } });
    assert.deepEqual([taken.status, taken.text], [202, '']);
    assert.deepEqual(await signedIn(one, two, other), [false, true, true]);
    const [ended] = await signet.auditLog({ action: 'session.ended' });
    assert.deepEqual([ended?.reason, ended?.actor], ['provider_signal', 'system']);
    assert.equal(
      (await event({ sub_id: { format: 'complex', session: { format: 'opaque', id: 'up-3' } } })).status,
      202,
    );
    assert.deepEqual(await signedIn(two, other), [true, false]);
    assert.equal((await event()).status, 202);
    assert.deepEqual(await signedIn(two), [false]);
  },
);

test('all sessions of an account end when the provider says so in the place of one, as Keycloak does', async (t) => {
  const { signIn, event, account } = await open(t);
  const [one, two, other] = [await signIn('up-1'), await signIn('up-2'), await signIn('up-3', 'sub-2')];
  const session = { format: 'opaque', id: 'ALL' };
  assert.equal((await event({ sub_id: { format: 'complex', session } })).status, 202);
  assert.deepEqual(await signedIn(one, two, other), [true, true, true], 'of nobody in particular');
  assert.equal((await event({ sub_id: { format: 'complex', user: account(), session } })).status, 202);
  assert.deepEqual(await signedIn(one, two, other), [false, false, true]);
});

onBothEngines('an event ends what had begun by its time, however late or often it comes', async (t, engine) => {
  const { signet, upstream, claims, push, signIn } = await open(t, { engine });
  const before = await signIn('up-1');
  const happened = signet.clock() / 1000;
  signet.clock.advance(60);
  const after = await signIn('up-2');
  const token = await upstream.sign(claims({ events: { [sessionRevoked]: { event_timestamp: happened } } }), { typ });
  signet.clock.advance(86_400);
  assert.equal((await push(token)).status, 202);
  assert.deepEqual(await signedIn(before, after), [false, true]);
  assert.equal((await push(token)).status, 202);
  assert.deepEqual(await signedIn(after), [true]);
  assert.equal((await signet.auditLog({ action: 'session.ended' })).length, 1);
  // A time in milliseconds, or in the future, is none: the token's own counts.
  const odd = await upstream.sign(claims({ events: { [sessionRevoked]: { event_timestamp: signet.clock() } } }), {
    typ,
  });
  assert.equal((await push(odd)).status, 202);
  assert.deepEqual(await signedIn(after), [false]);
  // So does what is no time at all, and no time of the token itself is one before 1970.
  for (const never of [-1, -1e300]) {
    signet.clock.advance(1);
    const browser = await signIn('up-3');
    const event = await upstream.sign(
      claims({ toe: never, events: { [sessionRevoked]: { event_timestamp: never } } }),
      {
        typ,
      },
    );
    assert.equal((await push(event)).status, 202);
    assert.deepEqual(await signedIn(browser), [false]);
    assertRefusedSignal(await push(await upstream.sign(claims({ iat: never }), { typ })));
  }
});

const assertRefusedSignal = ({ status, json }: Awaited<ReturnType<Scene['push']>>) =>
  assert.deepEqual([status, json?.err], [400, 'invalid_request']);

test('an account that the provider has disabled or deleted loses its sessions here, and stays', async (t) => {
  const { signet, upstream, signIn, event } = await open(t);
  for (const type of ['sessions-revoked', 'account-disabled', 'account-purged']) {
    const browser = await signIn();
    const { user_id } = (await browser.get('/v1/me')).json as { user_id: string };
    const answer = await event({ events: { [`${risc}/${type}`]: { reason: 'hijacking' } } });
    assert.equal(answer.status, 202, type);
    assert.deepEqual(await signedIn(browser), [false], type);
    const user = await plain(signet.deps.db).get<{ disabled_at: number | null }>(
      'select disabled_at from users where user_id = $1',
      [user_id],
    );
    assert.deepEqual(user, { disabled_at: null });
    signet.clock.advance(1);
  }
  // As Google writes its subject, in the event.
  const browser = await signIn();
  const subject = { subject_type: 'iss-sub', iss: upstream.issuer, sub: 'sub-1' };
  const answer = await event({ sub_id: undefined, events: { [`${risc}/sessions-revoked`]: { subject } } });
  assert.equal(answer.status, 202);
  assert.deepEqual(await signedIn(browser), [false]);
});

test('other events and other subjects are taken, and end nothing', async (t) => {
  const { signet, signIn, event, account } = await open(t);
  const browser = await signIn('up-1');
  const elsewhere = { ...account(), iss: 'https://other.example' };
  const ignored: Record<string, unknown>[] = [
    { events: { [verification]: { state: 'x' } } },
    { events: { 'https://schemas.openid.net/secevent/caep/event-type/credential-change': {} } },
    { events: JSON.parse('{ "__proto__": {}, "constructor": {} }') },
    { events: { [sessionRevoked]: true } },
    { sub_id: undefined },
    { sub_id: { format: 'email', email: 'sub-1@example.com' } },
    { sub_id: { format: 'opaque', id: 'up-1' } },
    { sub_id: elsewhere },
    { sub_id: { ...account(), sub: { $ne: '' } } },
    { sub_id: { format: 'complex', user: elsewhere, session: { format: 'opaque', id: 'up-1' } } },
    { sub_id: { format: 'complex', session: { format: 'jwt_id', iss: 'x', jti: 'up-1' } } },
    { sub_id: { format: 'complex' } },
    { sub_id: { format: 'complex', user: account('nobody') } },
  ];
  for (const more of ignored) assert.equal((await event(more)).status, 202, JSON.stringify(more));
  assert.deepEqual(await signedIn(browser), [true]);
  assert.deepEqual(await signet.auditLog({ action: 'session.ended' }), []);
});

type Hostile = (scene: Scene) => Promise<string> | string;
const claimed =
  (more: Record<string, unknown>, header: object = {}): Hostile =>
  ({ upstream, claims }) =>
    upstream.sign(claims(more), { typ, ...header });

const hostile: Record<string, [err: string, Hostile]> = {
  'no token': ['invalid_request', () => 'x'],
  'an empty event list': ['invalid_request', claimed({ events: {} })],
  'events that are a list': ['invalid_request', claimed({ events: [sessionRevoked] })],
  'a token of 17 KB': ['invalid_request', claimed({ pad: 'x'.repeat(13_000) })],
  'no type': ['invalid_request', claimed({}, { typ: undefined })],
  'a logout token': ['invalid_request', claimed({}, { typ: 'logout+jwt' })],
  'an ID token': ['invalid_request', claimed({}, { typ: 'JWT' })],
  'a token of the future': [
    'invalid_request',
    ({ signet, upstream, claims }) => upstream.sign(claims({ iat: signet.clock() / 1000 + 61 }), { typ }),
  ],
  'a token that has expired': [
    'invalid_request',
    ({ signet, upstream, claims }) => upstream.sign(claims({ exp: signet.clock() / 1000 - 60 }), { typ }),
  ],
  'no time': ['invalid_request', claimed({ iat: undefined })],
  'no jti': ['invalid_request', claimed({ jti: undefined })],
  'another issuer': ['invalid_issuer', claimed({ iss: 'https://other.example' })],
  'another audience': ['invalid_audience', claimed({ aud: 'another' })],
  'no signature': ['invalid_key', ({ upstream, claims }) => upstream.sign(claims(), { typ }, 'none')],
  'the client secret as a key': [
    'invalid_key',
    ({ upstream, claims }) => upstream.sign(claims(), { typ }, 'client_secret'),
  ],
  'the public key as a secret': [
    'invalid_key',
    ({ upstream, claims }) => upstream.sign(claims(), { typ }, 'public_key'),
  ],
  "another's key": ['invalid_key', ({ upstream, claims }) => upstream.sign(claims(), { typ }, 'another_key')],
  'a key that is not published': ['invalid_key', claimed({}, { kid: 'k2' })],
};

test('what is not an event of this provider for this service is refused, and changes nothing', async (t) => {
  const scene = await open(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const { signet, push, claims, upstream, signIn } = scene;
  const browser = await signIn('up-1');
  for (const [what, [err, make]] of Object.entries(hostile)) {
    const answer = await push(await make(scene));
    assert.deepEqual([answer.status, answer.json?.err], [400, err], `${what}: ${answer.text}`);
    assert.match(String(answer.json?.description), /^[\x20-\x7e]+$/);
  }
  const good = await upstream.sign(claims(), { typ });
  for (const authorization of ['', `Bearer ${secret}x`, `Bearer ${secret.slice(1)}`, `Basic ${btoa(secret)}`, secret]) {
    const answer = await push(good, authorization);
    assert.deepEqual([answer.status, answer.json?.err], [401, 'authentication_failed'], authorization);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  }
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'application/jwt'])
    assert.equal((await push(good, undefined, type)).status, 400, type);
  assert.equal((await push('')).status, 400);
  assert.equal((await signet.newBrowser().get(path)).status, 405);
  assert.deepEqual(await signedIn(browser), [true]);
});

test('without a secret for them no events are taken, and guesses are limited', async (t) => {
  const without = await startFederatedSignet(t);
  assert.equal(
    (
      await without.signet
        .newBrowser()
        .send(path, { method: 'POST', body: 'x', headers: { 'content-type': `application/${typ}` } })
    ).status,
    404,
  );
  const { push } = await open(t);
  for (let tries = 0; tries < 30; tries += 1) assert.equal((await push('x', 'Bearer wrong')).status, 401);
  assert.equal((await push('x', 'Bearer wrong')).status, 429);
});

onBothEngines(
  'an administrator lets a stored provider push events, with a secret that is shown once',
  async (t, engine) => {
    const internal = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };
    const signet = await startSignet(t, { engine, env: internal });
    const upstream = await startUpstream(t, () => signet.clock() / 1000);
    const { browser, user_id } = await signet.signedInUser({ role: 'admin' });
    await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [user_id, twoFactors]);
    const terms = { id: 'acme', label: 'Acme', issuer: upstream.issuer, client_id, client_secret: 'x' };
    assert.equal((await browser.postJson('/v1/admin/providers', terms)).status, 200);
    const push = async (given: string, aud: string) => {
      const events = { [verification]: {} };
      const token = await upstream.sign(
        { iss: upstream.issuer, aud, iat: signet.clock() / 1000, jti: 'j', events },
        { typ },
      );
      const headers = { authorization: `Bearer ${given}`, 'content-type': `application/${typ}` };
      return (await signet.newBrowser().send(path, { method: 'POST', body: token, headers })).status;
    };
    assert.equal(await push('x', client_id), 404);

    const page = await browser.post('/admin/providers/acme/signals-secret', { audience: 'svc_1' });
    const shown = /id="once-1">([^<]{43})</.exec(page.text)?.[1] ?? '';
    assert.equal(await push(shown, 'svc_1'), 202);
    assert.equal(await push(shown, client_id), 400);
    assert.ok(!(await browser.get('/admin/providers/acme')).text.includes(shown), 'it is shown once');

    const made = await browser.postJson('/v1/admin/providers/acme/signals-secret', { audience: null });
    const { signals_secret, signals_uri, signals_audience } = made.json as Record<string, string>;
    assert.deepEqual([signals_uri, signals_audience], [`${signet.url}${path}`, null]);
    assert.equal(await push(signals_secret!, client_id), 202);
    assert.equal(await push(shown, client_id), 401, 'the one before has ended');

    const edit = (body: object) => browser.patch('/v1/admin/providers/acme', body);
    assert.equal((await edit({ signals_secret_hash: digest(secret), signals_audience: 'svc_2' })).status, 200);
    assert.equal(await push(secret, 'svc_2'), 202);
    for (const wrong of [{ signals_secret_hash: secret }, { signals_audience: 'a b' }])
      assert.equal((await edit(wrong)).status, 400);
    assert.equal((await edit({ signals_secret_hash: null })).status, 200);
    assert.equal(await push(secret, 'svc_2'), 404);
    const logged = (await signet.auditLog({ action: 'provider.edited' })).map(({ after_state }) => after_state).join();
    assert.ok(!logged.includes(digest(secret)) && logged.includes('has_signals_secret'), logged);
  },
);

test('another Signet pushes by its stream what ends sessions here', async (t) => {
  const internal = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };
  const upstream = await startSignet(t, { env: internal });
  const first = await startSignet(t);
  await first.app.close();
  const client = await upstream.registerClient({ redirect_uris: [`${first.url}/auth/acme/callback`], consent: 'skip' });
  const stream = await signalClient(upstream);
  const signet = await startSignet(t, {
    env: {
      ...{ SIGNET_PORT: new URL(first.url).port, SIGNET_BASE_URL: first.url },
      SIGNET_PROVIDER_ACME_ISSUER: upstream.url,
      SIGNET_PROVIDER_ACME_CLIENT_ID: client.client_id,
      SIGNET_PROVIDER_ACME_CLIENT_SECRET: client.client_secret ?? '',
      SIGNET_PROVIDER_ACME_SIGNALS_SECRET: secret,
      SIGNET_PROVIDER_ACME_SIGNALS_AUDIENCE: stream.service.client_id,
    },
  });
  const delivery = pushTo({ url: `${signet.url}${path}` }, { authorization_header: `Bearer ${secret}` });
  await stream.create({ ...delivery, events_requested: [sessionRevoked] });
  const user = await upstream.signedInUser();
  const elsewhere = await user.signedInElsewhere();
  const [one, other] = [signet.newBrowser(), signet.newBrowser()];
  await signInUpstream(one, '/auth/acme/login', user.browser);
  await signInUpstream(other, '/auth/acme/login', elsewhere.browser);
  const deliver = async () => {
    await upstream.runJobs();
    await runJobs(upstream.deps, ['deliver signals']);
  };
  await user.browser.post('/signout');
  await deliver();
  assert.deepEqual(await signedIn(one, other), [false, true]);
  const { browser: admin } = await upstream.signedInUser({ role: 'admin' });
  await admin.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {});
  await deliver();
  assert.deepEqual(await signedIn(other), [false]);
});
