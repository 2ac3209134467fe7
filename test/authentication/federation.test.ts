import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { partOfEmail } from '../../src/accounts/statements.ts';
import { deleteUser, insertUser } from '../../src/accounts/store.ts';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { addressesVerifiedByProviders } from '../../src/authentication/credentials/identities.store.ts';
import { completeUpstreamAuthorization } from '../../src/authentication/federation/complete-upstream-authorization.ts';
import { openUpstreams, UpstreamFailure } from '../../src/authentication/federation/upstream.ts';
import {
  openUpstreamAuthorization,
  startUpstreamAuthorization,
} from '../../src/authentication/federation/upstream-authorization.ts';
import { now } from '../../src/platform/clock.ts';
import type { UserId } from '../../src/platform/ids.ts';
import { WrongMasterKey } from '../../src/platform/vault.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { type FederatedOptions, startFederatedSignet } from '../support/federated-signet.ts';
import { openMailbox } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import type { Signet } from '../support/signet.ts';
import {
  acceptConfirmation,
  client_secret,
  confirmationForm,
  followUpstream,
  type Lies,
  sendJson,
  signInUpstream,
  startUpstreamSignIn,
  type Upstream,
} from '../support/upstream.ts';

const providersPath = '/account/security/providers';
const sessionCookie = 'signet_identity_session';
const detourCookie = 'signet_federation';

/** Two providers, `acme` and `google`, each with an issuer of its own. */
const federated = (t: TestContext, options: FederatedOptions = {}) =>
  startFederatedSignet(t, { google: 'another issuer', ...options });

type Refused = { reason: string; problem?: string };

async function refusals({ deps }: Signet): Promise<Refused[]> {
  const rows = await plain(deps.db).all<{ reason: string; detail: string }>(
    `select reason, detail from unauthenticated_events where action = 'session.refused' order by last_at`,
  );
  return rows.map(({ reason, detail }) => ({ reason, problem: JSON.parse(detail ?? '{}').problem }));
}

const countOf = async ({ deps }: Signet, table: 'identities' | 'users' | 'sessions') =>
  (await plain(deps.db).get<{ n: number }>(`select count(*) as n from ${table}`))?.n ?? 0;

/** Refused with this status and reason, by a page with a way on; and no user is signed in or linked. */
async function assertRefused(signet: Signet, answer: Answer, status: number, reason: string): Promise<Refused> {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(answer.text, /id="way-back" href="\/[^"/]/);
  assert.ok(!answer.headers.getSetCookie().some((line) => line.startsWith(`${sessionCookie}=s`)));
  const seen = await refusals(signet);
  const refused = seen.find((one) => one.reason === reason);
  assert.ok(refused, `no refusal "${reason}" in the log: ${JSON.stringify(seen)}`);
  return refused;
}

const assertNobody = async (signet: Signet, browser: Browser) => {
  assert.equal((await browser.get('/v1/me')).status, 401);
  assert.equal(await countOf(signet, 'identities'), 0);
};

// FD-01: the answer of an upstream is for the browser that asked, once.

test('the upstream cookie is not sealed under the key of stored data', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  const callback = await startUpstreamSignIn(browser);
  const { vault } = signet.deps;
  const sealed = decodeURIComponent(browser.cookies.get(detourCookie) ?? '');
  assert.throws(() => vault.open('federation', sealed), WrongMasterKey);
  const authorization = vault.browser.open('federation', sealed);
  assert.ok(authorization.includes('code_verifier'));
  // A browser that left before an upgrade begins again.
  browser.cookies.set(detourCookie, vault.seal('federation', authorization));
  await assertRefused(signet, await browser.get(callback), 400, 'state_unknown');
});

test('FD-01: a callback works in the browser that left, and in no other', async (t) => {
  const { signet } = await federated(t);
  const [left, other] = [signet.newBrowser(), signet.newBrowser()];
  const callback = await startUpstreamSignIn(left);
  await assertRefused(signet, await other.get(callback), 400, 'state_unknown');
  await startUpstreamSignIn(other);
  await assertRefused(signet, await other.get(callback), 400, 'state_unknown');
  await assertNobody(signet, other);
  assert.equal((await left.get(callback)).status, 303, 'the one who left still may come back');
});

test('FD-01: an upstream cookie that was altered, has expired or is for another provider is refused', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  const callback = await startUpstreamSignIn(browser);
  const cookie = browser.cookies.get(detourCookie) ?? '';
  const altered = (cookie.startsWith('A') ? 'B' : 'A') + cookie.slice(1); // it begins with a random nonce
  for (const wrong of ['', 'x', cookie.slice(0, -3), altered, 'A'.repeat(9000), '%00']) {
    browser.cookies.set(detourCookie, wrong);
    const answer = await browser.get(callback);
    assert.ok(answer.status === 400 || answer.status === 431, `${answer.status}`);
  }
  browser.cookies.set(detourCookie, cookie);
  await assertRefused(signet, await browser.get(callback.replace('/acme/', '/google/')), 400, 'state_unknown');
  signet.clock.advance(600);
  await assertRefused(signet, await browser.get(callback), 400, 'state_unknown');
  await assertNobody(signet, browser);
});

test('FD-01: a missing, repeated or changed state is refused', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  const callback = await startUpstreamSignIn(browser);
  const state = /state=([^&]+)/.exec(callback)?.[1] ?? '';
  for (const wrong of ['', 'state=', `state=${state}x`, `state=${state.toLowerCase()}`, 'state=undefined']) {
    const answer = await browser.get(callback.replace(`state=${state}`, wrong));
    await assertRefused(signet, answer, 400, 'state_unknown');
  }
  await assertRefused(signet, await browser.get(`${callback}&state=${state}`), 502, 'upstream_failed');
  await assertNobody(signet, browser);
});

onBothEngines(
  'FD-01: of twenty callbacks with one state a single one is looked at, also with its cookie back',
  async (t, engine) => {
    const { signet, upstream } = await federated(t, { engine });
    const browser = signet.newBrowser();
    const callback = await startUpstreamSignIn(browser);
    const cookie = browser.cookies.get(detourCookie) ?? '';
    const copies = Array.from({ length: 20 }, () => {
      const copy = signet.newBrowser();
      copy.cookies.set(detourCookie, cookie);
      return copy;
    });
    const answers = await Promise.all(copies.map((copy) => copy.get(callback)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array.from({ length: 19 }, () => 400)]);
    assert.equal(upstream.requests.filter((path) => path === '/token').length, 1);
    assert.equal(await countOf(signet, 'users'), 1);
    browser.cookies.set(detourCookie, cookie);
    await assertRefused(signet, await browser.get(callback), 400, 'state_used');
  },
);

test('FD-01: of two tabs the newer one continues, and the older one gets a helpful page', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  const [older, newer] = [await startUpstreamSignIn(browser), await startUpstreamSignIn(browser)];
  const answer = await browser.get(older);
  await assertRefused(signet, answer, 400, 'state_unknown');
  assert.match(answer.text, sentence('federation.state_unknown'));
  assert.match(answer.text, pattern`<h1>${sentence('error.sign_in_over')}</h1>`);
  assert.equal((await browser.get(newer)).status, 303);
});

const leeway = { plus: (seconds: number) => (now: number) => now + seconds };

/** What a lying upstream says, and what our log calls it. */
const lies: [string, (now: number, issuer: string) => Lies, RegExp][] = [
  ['an id token for another client', () => ({ claims: { aud: 'another-client' } }), /claim_comparison/],
  [
    'an id token for us and another audience',
    () => ({ claims: { aud: ['signet-at-upstream', 'x'] } }),
    /claim_comparison/,
  ],
  ['an id token that another client asked for', () => ({ claims: { azp: 'another-client' } }), /azp/],
  ['an id token of another issuer', () => ({ claims: { iss: 'https://accounts.google.com' } }), /claim_comparison/],
  ['an expired id token', (now) => ({ claims: { exp: now } }), /exp/],
  ['an id token without end', () => ({ claims: { exp: undefined } }), /invalid_response/],
  ['an id token that never ends', () => ({ claims: { exp: 'never' } }), /invalid_response/],
  ['JW-05: an id token from 61 s ahead', (now) => ({ claims: { iat: leeway.plus(61)(now) } }), /iat/],
  ['an id token without a beginning', () => ({ claims: { iat: undefined } }), /invalid_response/],
  ['an id token that is not valid yet', (now) => ({ claims: { nbf: now + 61 } }), /nbf/],
  ['an unsigned id token', () => ({ signedWith: 'none' }), /unsupported|alg/],
  ['an id token signed with the client secret', () => ({ signedWith: 'client_secret' }), /unsupported|alg/],
  ['an id token signed with another key', () => ({ signedWith: 'another_key' }), /invalid_response|signature/],
  ['an id token with a key that is not published', () => ({ header: { kid: 'k2' } }), /key_selection/],
  ['an id token with a critical extension', () => ({ header: { crit: ['b64'], b64: true } }), /unsupported/],
  ['an id token with another nonce', () => ({ claims: { nonce: 'another' } }), /claim_comparison/],
  ['an id token without nonce', () => ({ claims: { nonce: undefined } }), /invalid_response/],
  ['an id token without a subject', () => ({ claims: { sub: undefined } }), /invalid_response/],
  ['an id token about an empty name', () => ({ claims: { sub: '' } }), /sub|invalid/],
  ['an id token about too long a name', () => ({ claims: { sub: 'x'.repeat(256) } }), /sub/],
  ['an id token about a name that is not ASCII', () => ({ claims: { sub: 'ada\u0000' } }), /sub/],
  ['an id token for another access token', () => ({ claims: { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' } }), /at_hash/],
  ['no id token', () => ({ tokens: { id_token: undefined } }), /invalid_response/],
  ['an id token that is none', () => ({ tokens: { id_token: 'a.b.c' } }), /parse|invalid/],
  ['an encrypted id token', () => ({ tokens: { id_token: 'a.b.c.d.e' } }), /unsupported|invalid/],
  [
    'a callback in the name of another issuer',
    () => ({ callback: { iss: 'https://evil.example' } }),
    /invalid_response/,
  ],
  ['a callback without the issuer that was promised', () => ({ callback: { iss: undefined } }), /invalid_response/],
  ['a callback with an id token in it', () => ({ callback: { id_token: 'a.b.c' } }), /./],
  ['an error of its own', () => ({ callback: { code: undefined, error: 'server_error' } }), /authorization_response/],
  ['a callback without a code', () => ({ callback: { code: undefined } }), /./],
  ['another code', () => ({ callback: { code: 'stolen' } }), /response_body_error/],
  [
    'userinfo about another user',
    () => ({ claims: { email: undefined }, userinfo: { sub: 'another' } }),
    /json_attribute_comparison|invalid/,
  ],
];

test('FD-01: whatever an upstream gets wrong ends in a page that says so, and never in a session', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  for (const [what, lie, problem] of lies) {
    await t.test(what, async () => {
      const browser = signet.newBrowser();
      upstream.lies = lie(Math.floor(signet.clock() / 1000), upstream.issuer);
      const { answer, callback } = await signInUpstream(browser, '/auth/acme/login?next=/account/apps');
      upstream.lies = {};
      await assertRefused(signet, answer, 502, 'upstream_failed');
      assert.match(answer.text, pattern`<h1>${sentence('error.provider.sign_in', { provider: 'Acme' })}</h1>`);
      assert.match(answer.text, /id="way-back" href="\/signin\?next=%2Faccount%2Fapps&amp;stay=1"/, 'the goal is kept');
      const seen = await refusals(signet);
      assert.ok(
        seen.some((one) => problem.test(one.problem ?? '')),
        `${problem} is not in ${JSON.stringify(seen.at(-1))}`,
      );
      await assertNobody(signet, browser);
      const code = new URL(callback, signet.url).searchParams.get('code');
      assert.ok(
        !code || code === 'stolen' || !signet.logLines.some((line) => line.includes(code)),
        'a code was logged',
      );
      await plain(signet.deps.db).run('delete from audit_log', []);
    });
  }
  assert.ok(
    !signet.logLines.some((line) => line.includes(client_secret) || line.includes('eyJ')),
    'a token was logged',
  );
});

test('JW-05: an upstream clock that is ten seconds ahead is no reason to refuse', async (t) => {
  const { signet, upstream } = await federated(t);
  const now = Math.floor(signet.clock() / 1000);
  for (const iat of [now + 10, now + 60]) {
    upstream.lies = { claims: { iat } };
    assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303);
  }
});

const broken: [string, (response: ServerResponse, issuer: string) => void][] = [
  ['500', (response) => sendJson(response, 500, { error: 'server_error' })],
  ['a page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')],
  ['no JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"issuer"')],
  ['another shape', (response) => sendJson(response, 200, [1, 2])],
  ['a megabyte', (response) => sendJson(response, 200, { filler: 'x'.repeat(1_000_000) })],
  ['a redirect to itself', (response) => response.writeHead(302, { location: '/token' }).end()],
  ['a closed connection', (response) => response.destroy()],
];

test('an upstream that is broken is said to be, wherever it breaks', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  for (const [what, answer] of broken) {
    for (const path of ['/.well-known/openid-configuration', '/token', '/jwks', '/userinfo']) {
      await t.test(`${what} at ${path}`, async () => {
        const browser = signet.newBrowser();
        upstream.lies = {
          claims: { email: undefined },
          answer: { [path]: (response) => answer(response, upstream.issuer) },
        };
        signet.clock.advance(601); // what was known of it is forgotten
        const login = await browser.get('/auth/acme/login');
        const isDown = path.startsWith('/.well-known/');
        const location = login.location;
        const seen = isDown ? login : await browser.get((await pathOf(location)) ?? '');
        await assertRefused(signet, seen, 502, 'upstream_failed');
        await assertNobody(signet, browser);
      });
    }
  }
  upstream.lies = {};
  assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303, 'once it is well again, so are we');
});

const pathOf = async (location: string) => {
  const { pathname, search } = await followUpstream(location);
  return pathname + search;
};

test('an upstream that never answers is waited for as long as we choose, and by all at once', async (t) => {
  const { signet, upstream } = await federated(t);
  const provider = (await signet.deps.providers.read()).find('acme') ?? assert.fail();
  const patienceSeconds = 5;
  const upstreams = openUpstreams(signet.deps, patienceSeconds);
  // Patience ends when the test says so: on a busy machine a short one ends before the request has left.
  const patience: AbortController[] = [];
  const realTimeout = AbortSignal.timeout;
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    if (ms !== patienceSeconds * 1000) return realTimeout.call(AbortSignal, ms); // of the server that closes at the end
    return patience[patience.push(new AbortController()) - 1]!.signal;
  });
  const endPatience = () => {
    for (const each of patience) each.abort(new DOMException('It took too long.', 'TimeoutError'));
  };

  const discovery = lieAt(upstream, '/.well-known/openid-configuration', () => {});
  const opening = Promise.allSettled(Array.from({ length: 20 }, () => upstreams.open(provider)));
  await discovery.asked;
  endPatience();
  for (const failure of await opening) {
    assert.ok(failure.status === 'rejected' && failure.reason instanceof UpstreamFailure);
    assert.equal(failure.reason.reason, 'oauth_timeout');
  }
  assert.equal(upstream.requests.length, 1);

  const half = (response: ServerResponse) => void response.writeHead(200, { 'content-length': '9' }).write('{');
  for (const path of ['/token', '/jwks', '/userinfo']) {
    for (const answer of [() => {}, half]) {
      upstream.lies = {};
      const departure = { mode: 'sign_in', returnTarget: {}, address: '::1' } as const;
      const { url, cookie } = await startUpstreamAuthorization(signet.deps, upstreams, provider, departure);
      const { search } = await followUpstream(url);
      const authorization = openUpstreamAuthorization(signet.deps, cookie, provider) ?? assert.fail();
      upstream.lies = { claims: { email: undefined } };
      const { asked, headRead } = lieAt(upstream, path, answer);
      const finishing = completeUpstreamAuthorization(signet.deps, upstreams, provider, {
        authorization,
        query: search.slice(1),
        address: '::1',
      });
      const refused = assert.rejects(finishing, { code: 'upstream_failed', status: 502 }, path);
      await (answer === half ? headRead : asked);
      endPatience();
      await refused;
      assert.equal((await refusals(signet)).at(-1)?.reason, 'upstream_failed');
    }
  }
});

/** @returns when the path has been asked for, and when our side has read the head of what it was answered. */
function lieAt(upstream: Upstream, path: string, answer: (response: ServerResponse) => void) {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  upstream.lies.answer = {
    [path]: (response) => {
      answer(response);
      resolve();
    },
  };
  const headRead = new Promise<void>((read) => {
    const branding = (message: unknown) => {
      if ((message as { request: { path: string } }).request.path !== path) return;
      unsubscribe('undici:request:headers', branding);
      read();
    };
    subscribe('undici:request:headers', branding);
  });
  return { asked, headRead };
}

const misplaced: [string, Record<string, unknown>][] = [
  ['another issuer', { issuer: 'https://accounts.google.com' }],
  ['an issuer for every tenant', { issuer: 'http://localhost/{tenantid}' }],
  ['a token endpoint in the clear', { token_endpoint: 'http://upstream.example/token' }],
  ['a token endpoint with a password', { token_endpoint: 'https://u:p@upstream.example/token' }],
  ['a token endpoint that is a file', { token_endpoint: 'file:///etc/passwd' }],
  ['keys in the clear', { jwks_uri: 'http://169.254.169.254/latest' }],
  ['no keys', { jwks_uri: undefined }],
  ['a script to sign in with', { authorization_endpoint: 'javascript:alert(1)' }],
  ['no place to sign in', { authorization_endpoint: undefined }],
];

test('an upstream can redirect neither us nor a user to where a configured issuer must not', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  for (const [what, discovery] of misplaced) {
    await t.test(what, async () => {
      upstream.lies = { discovery };
      const answer = await signet.newBrowser().get('/auth/acme/login');
      await assertRefused(signet, answer, 502, 'upstream_failed');
      assert.equal(answer.location, '');
    });
  }
});

test('failures cannot flood the log: those of one address are one line an hour', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  for (let times = 0; times < 70; times += 1) {
    assert.equal((await browser.get('/auth/acme/callback?state=x&code=y')).status, 400);
  }
  assert.equal((await refusals(signet)).length, 1);
});

// FD-02: issuer and subject say who it is; an address only where both sides have proved it.

test('FD-02: an address that the upstream does not call verified opens and makes nothing', async (t) => {
  const { signet, upstream } = await federated(t);
  const user = await signet.newUser();
  for (const claims of [
    { email: user.email, email_verified: false },
    { email: user.email, email_verified: 'true' },
    { email: user.email, email_verified: 1 },
    { email: user.email, email_verified: undefined },
    { email: 'nobody@example.net', email_verified: false },
    { email: undefined, email_verified: true },
    { email: 'no address', email_verified: true },
    { email: ['a@example.com'], email_verified: true },
  ]) {
    const browser = signet.newBrowser();
    upstream.account = { sub: 'sub-1', ...claims };
    const { answer } = await signInUpstream(browser);
    await assertRefused(signet, answer, 403, 'email_unverified_upstream');
    await assertNobody(signet, browser);
  }
  assert.equal(await countOf(signet, 'users'), 1);
});

test('FD-02: an address and its verification are one statement of one document', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const { email, browser: own } = await signet.newUser();
  upstream.account = { sub: 'owner' };
  /** Each document as the upstream sends it; `undefined` where it says nothing. */
  type Document = { email?: unknown; email_verified?: unknown };
  const documents: [what: string, opens: boolean, claims: Document, userinfo: Document][] = [
    ['another address is verified', false, { email }, { email: 'other@example.net', email_verified: true }],
    ['no address is verified', false, { email }, { email: undefined, email_verified: true }],
    ['null is verified', false, { email }, { email: null, email_verified: true }],
    ['a lookalike is verified', false, { email }, { email: email.replace('p', 'ｐ'), email_verified: true }],
    ['a dotless lookalike', false, { email }, { email: email.replace('e', 'é'), email_verified: true }],
    ['the id token denies it', false, { email, email_verified: false }, { email, email_verified: true }],
    ['the id token says null', false, { email, email_verified: null }, { email, email_verified: true }],
    ['only the id token has the flag', false, { email_verified: true }, { email }],
    ['it denies what userinfo has not', false, { email_verified: true }, { email, email_verified: false }],
    ['userinfo does not say', false, { email }, { email }],
    ['an address that is none', false, { email: ['a'] }, { email, email_verified: true }],
    ['userinfo alone', true, {}, { email, email_verified: true }],
    ['userinfo alone, beside null', true, { email: null }, { email, email_verified: true }],
    ['the id token alone', true, { email, email_verified: true }, {}],
    [
      'the id token contradicted',
      true,
      { email, email_verified: true },
      { email: 'x@example.net', email_verified: false },
    ],
    ['the same address', true, { email }, { email, email_verified: true }],
    ['the same in other letters', true, { email }, { email: email.toUpperCase(), email_verified: true }],
  ];
  for (const [what, opens, claims, userinfo] of documents) {
    await t.test(what, async () => {
      await plain(signet.deps.db).run('delete from identities', []);
      upstream.lies = { claims, userinfo };
      const browser = signet.newBrowser();
      const { answer } = await signInUpstream(browser);
      if (!opens) {
        await assertRefused(signet, answer, 403, 'email_unverified_upstream');
        return assertNobody(signet, browser);
      }
      assert.equal(answer.status, 303, answer.text);
      assert.equal((await browser.get('/v1/me')).json?.email, email);
    });
  }
  assert.equal((await own.get('/v1/me')).status, 401);
});

onBothEngines('an address is a verified one of a user while the provider calls it verified', async (t, engine) => {
  const { signet, upstream } = await federated(t, { engine });
  const signIn = async (said: Upstream['account']) => {
    upstream.account = said;
    const browser = signet.newBrowser();
    assert.equal((await signInUpstream(browser)).answer.status, 303);
    const { user_id } = (await browser.get('/v1/me')).json as { user_id: UserId };
    return addressesVerifiedByProviders(signet.deps.db, user_id);
  };
  assert.deepEqual(await signIn({ sub: 'ada', email: 'ada@example.com', email_verified: true }), ['ada@example.com']);
  assert.deepEqual(await signIn({ sub: 'ada', email: 'new@example.com', email_verified: true }), ['new@example.com']);
  assert.deepEqual(await signIn({ sub: 'ada' }), ['new@example.com'], 'nothing is said of it today');
  assert.deepEqual(await signIn({ sub: 'ada', email: 'new@example.com', email_verified: false }), []);
});

test('the time of the upstream sign-in comes from the signed id token only', async (t) => {
  const { signet, upstream } = await federated(t);
  const began = Math.floor(signet.clock() / 1000);
  upstream.lies = { claims: { email: undefined }, userinfo: { auth_time: began - 5000 } };
  const browser = signet.newBrowser();
  assert.equal((await signInUpstream(browser)).answer.status, 303);
  const { session } = (await browser.get('/v1/me')).json ?? {};
  assert.equal((session as { auth_time?: number } | undefined)?.auth_time, began);
});

onBothEngines(
  "FD-02: an account that an attacker registered with a victim's address is never merged",
  async (t, engine) => {
    const { signet, upstream } = await federated(t, { engine });
    const now = Math.floor(signet.clock() / 1000);
    const email = 'victim@example.com';
    const planted = { user_id: 'usr_planted', email, name: 'V', email_verified_at: null };
    await partOfEmail(signet.deps, email).change({ run: { user: insertUser({ ...planted, role: 'user' }, now) } });
    for (const email of ['victim@example.com', 'VICTIM@Example.com', 'ｖictim@example.com']) {
      const browser = signet.newBrowser();
      upstream.account = { sub: 'victim', email, email_verified: true };
      const { answer } = await signInUpstream(browser);
      await assertRefused(signet, answer, 403, 'email_unverified_here');
      assert.match(answer.text, sentence('federation.email_unverified_here'));
      await assertNobody(signet, browser);
    }
    assert.equal(await countOf(signet, 'users'), 1);
  },
);

test('FD-02: an address that only looks the same is not the same', async (t) => {
  const { signet, upstream } = await federated(t);
  const kim = await signet.newUser({ email: 'kim@example.com', name: 'Kim' });
  for (const email of ['\u212aim@example.com', 'ｋim@example.com']) {
    const browser = signet.newBrowser();
    upstream.account = { sub: 'twin', email, email_verified: true };
    await assertRefused(signet, (await signInUpstream(browser)).answer, 403, 'email_spelled_otherwise');
    await assertNobody(signet, browser);
  }
  upstream.account = { sub: 'kim', email: 'KIM@Ｅxample．com', email_verified: true }; // one domain by UTS 46
  const browser = signet.newBrowser();
  assert.equal((await signInUpstream(browser)).answer.status, 303);
  assert.equal((await browser.get('/v1/me')).json?.user_id, kim.user_id);
});

test('FD-02: the same subject of another issuer, and the same address under another subject, are other users', async (t) => {
  const { signet, upstream, other } = await federated(t);
  const browser = signet.newBrowser();
  upstream.account = { sub: 'same', email: 'one@example.com', email_verified: true };
  other.account = { sub: 'same', email: 'two@example.com', email_verified: true };
  await signInUpstream(browser);
  const one = (await browser.get('/v1/me')).json?.user_id;
  const elsewhere = signet.newBrowser();
  await signInUpstream(elsewhere, '/auth/google/login');
  assert.notEqual((await elsewhere.get('/v1/me')).json?.user_id, one);

  upstream.account = { sub: 'newcomer', email: 'one@example.com', email_verified: true };
  const heir = signet.newBrowser();
  await assertRefused(signet, (await signInUpstream(heir)).answer, 403, 'email_of_other_identity');
  assert.equal((await heir.get('/v1/me')).status, 401);

  upstream.account = { sub: 'same', email: 'moved@example.com', email_verified: false };
  const moved = signet.newBrowser();
  assert.equal((await signInUpstream(moved)).answer.status, 303, 'who is known needs no address');
  assert.equal((await moved.get('/v1/me')).json?.user_id, one);
  assert.equal((await moved.get('/v1/me')).json?.email, 'one@example.com');
});

onBothEngines('FD-02: twenty first sign-ins of one identity make one account', async (t, engine) => {
  const { signet, upstream } = await federated(t, { engine });
  const browsers = Array.from({ length: 20 }, () => signet.newBrowser());
  const callbacks = await Promise.all(browsers.map((browser) => startUpstreamSignIn(browser)));
  const answers = await Promise.all(browsers.map((browser, index) => browser.get(callbacks[index] ?? '')));
  assert.ok(answers.some(({ status }) => status === 303));
  for (const { status } of answers) assert.ok(status === 303 || status === 403, `${status}`);
  assert.equal(await countOf(signet, 'users'), 1);
  assert.equal(await countOf(signet, 'identities'), 1);
  assert.equal(upstream.requests.filter((path) => path === '/token').length, 20);
});

test('without sign-up no account is created, and existing ones sign in', async (t) => {
  const { signet, upstream } = await federated(t, { env: { SIGNET_SIGN_UP: 'off' } });
  const browser = signet.newBrowser();
  const { answer } = await signInUpstream(browser);
  await assertRefused(signet, answer, 403, 'sign_up_off');
  assert.match(answer.text, sentence('federation.sign_up_off'));
  await assertNobody(signet, browser);
  const user = await signet.newUser();
  upstream.account = { sub: 'known', email: user.email, email_verified: true };
  assert.equal((await signInUpstream(browser)).answer.status, 303);
});

test('a disabled user gets no session, whether they are linked or only their address is known', async (t) => {
  const { signet, upstream } = await federated(t);
  const [linked, unlinked] = [await signet.newUser(), await signet.newUser()];
  upstream.account = { sub: 'linked', email: linked.email, email_verified: true };
  await signInUpstream(linked.browser);
  for (const { user_id } of [linked, unlinked]) await disableUser(signet.deps, { actor: 'cli' }, user_id);
  for (const [sub, email] of [
    ['linked', linked.email],
    ['unlinked', unlinked.email],
  ]) {
    upstream.account = { sub, email, email_verified: true };
    const browser = signet.newBrowser();
    await assertRefused(signet, (await signInUpstream(browser)).answer, 403, 'user_disabled');
    assert.equal((await browser.get('/v1/me')).status, 401);
  }
  assert.equal(await countOf(signet, 'identities'), 1);
});

test('JW-07: a subject is ours and never given out again, also when the upstream says the same', async (t) => {
  const { signet } = await federated(t);
  const browser = signet.newBrowser();
  await signInUpstream(browser);
  const first = String((await browser.get('/v1/me')).json?.sub);
  assert.match(first, /^usr_[\w-]{22}$/);
  await plain(signet.deps.db).batch(deleteUser(first, now(signet.deps)));
  assert.equal((await browser.get('/v1/me')).status, 401);
  await signInUpstream(browser);
  assert.notEqual((await browser.get('/v1/me')).json?.sub, first);
});

// FD-03: `next` never leaves our origin.

test('FD-03: `next` is a path of ours, judged by the origin that it resolves to', async (t) => {
  const { signet } = await federated(t);
  const evil = [
    '//evil.example',
    '/\\evil.example',
    '/%09/evil.example',
    '/\t/evil.example',
    'https:evil.example',
    'https://evil.example/',
    '/a//..//evil.example',
    '/a/..//evil.example',
    'javascript:alert(1)',
    'http://localhost@evil.example',
    '%2F%2Fevil.example',
    '\\\\evil.example',
    `/${'x'.repeat(2100)}`,
  ];
  for (const next of evil) {
    const browser = signet.newBrowser();
    const { answer } = await signInUpstream(browser, `/auth/acme/login?${new URLSearchParams({ next })}`);
    const location = new URL(answer.location, signet.url);
    assert.equal(location.origin, signet.url, next);
    assert.ok(!location.pathname.startsWith('//'), next);
    assert.ok(['/account', '/a//evil.example', '/%09/evil.example'].includes(location.pathname), location.pathname);
  }
  const browser = signet.newBrowser();
  const good = await signInUpstream(browser, '/auth/acme/login?next=/account/sessions%3Fa=b');
  assert.equal(good.answer.location, '/account/sessions?a=b');
});

// MF-05, FL-01: no step can be left out or taken for another.

onBothEngines(
  'MF-05: a provider is one factor: a user with two is asked for the second before there is a session',
  async (t, engine) => {
    const { signet, upstream } = await federated(t, { engine });
    const user = await signet.signedInUser();
    const authenticator = await user.enableTotp();
    upstream.account = { sub: 'totp', email: user.email, email_verified: true };
    const client = await signet.registerClient();
    const browser = signet.newBrowser();
    const sessions = await countOf(signet, 'sessions');
    const { answer } = await signInUpstream(browser, '/auth/acme/login?next=/account/apps');
    assert.equal(answer.location, '/signin/second-factor');
    assert.ok(!browser.cookies.has(sessionCookie));
    assert.equal(await countOf(signet, 'sessions'), sessions);
    assert.equal((await browser.get('/v1/me')).status, 401);
    assert.match((await browser.get('/account')).location, /^\/signin\?/);
    assert.match((await browser.get(client.authorizePath())).location, /^\/signin\?/);
    assert.match((await browser.get('/auth/acme/login?confirm=1')).location, /^\/signin\?/);

    const done = await browser.post('/signin/second-factor', { code: authenticator.code() });
    assert.equal(done.location, '/account/apps');
    assert.deepEqual((await browser.get('/v1/me')).json?.two_factor_enabled, true);
  },
);

/** Posts the link form and goes to the upstream. @returns the callback's path, not yet gone to. */
async function leaveToLink(browser: Browser, id = 'acme'): Promise<string> {
  const answer = await browser.post(`${providersPath}/${id}`);
  assert.equal(answer.status, 303, answer.text);
  return pathOf(answer.location);
}

test('FL-01: an identity is linked only in the session that began it', async (t) => {
  const { signet } = await federated(t);
  const user = await signet.signedInUser();
  const stranger = await signet.signedInUser();

  const callback = await leaveToLink(user.browser);
  await user.browser.post('/signout');
  await assertRefused(signet, await user.browser.get(callback), 403, 'session_changed');

  await user.signIn();
  const again = await leaveToLink(user.browser);
  user.browser.cookies.set(sessionCookie, stranger.browser.cookies.get(sessionCookie) ?? '');
  await assertRefused(signet, await user.browser.get(again), 403, 'session_changed');
  assert.equal(await countOf(signet, 'identities'), 0);
});

test("FL-01: another user's identity is neither linked nor taken for a confirmation", async (t) => {
  const { signet, upstream } = await federated(t);
  const owner = signet.newBrowser();
  await signInUpstream(owner);
  const user = await signet.signedInUser();
  await assertRefused(signet, await user.browser.get(await leaveToLink(user.browser)), 409, 'linked_elsewhere');

  signet.clock.advance(901);
  const before = (await user.browser.get('/v1/me')).json;
  const { answer } = await signInUpstream(user.browser, '/auth/acme/login?confirm=1&next=/account/security');
  await assertRefused(signet, answer, 403, 'other_identity');
  upstream.account = { sub: 'unknown', email: user.email, email_verified: true };
  const unknown = await signInUpstream(user.browser, '/auth/acme/login?confirm=1');
  await assertRefused(signet, unknown.answer, 403, 'other_identity');
  assert.deepEqual((await user.browser.get('/v1/me')).json, before, 'signed in as before, and no fresher');
  assert.equal(await countOf(signet, 'identities'), 1);
});

test('FL-01: an upstream that did not ask again confirms nothing', async (t) => {
  const { signet, upstream } = await federated(t);
  const browser = signet.newBrowser();
  await signInUpstream(browser);
  const asked_at = Math.floor(signet.clock() / 1000);
  signet.clock.advance(901);
  upstream.account = { ...upstream.account, auth_time: asked_at };
  const { answer } = await signInUpstream(browser, '/auth/acme/login?confirm=1');
  await assertRefused(signet, answer, 403, 'not_asked_again');
  const removed = await browser.delete('/v1/me/identities/acme');
  assert.equal(removed.json?.error, 'reauthentication_required');
});

test('FL-01: every other step at every other time is refused', async (t) => {
  const { signet } = await federated(t);
  const stranger = signet.newBrowser();
  assert.match((await stranger.get('/auth/acme/login?confirm=1')).location, /^\/signin\?next=/);
  assert.match((await stranger.get(providersPath)).location, /^\/signin\?next=/);
  for (const path of [`${providersPath}/acme`, `${providersPath}/acme/remove`]) {
    assert.match((await stranger.post(path)).location, /^\/signin\?next=/);
  }
  const remove = { method: 'DELETE', headers: { origin: signet.url } };
  assert.equal((await stranger.send('/v1/me/identities/acme', remove)).json?.error, 'login_required');

  const user = await signet.signedInUser();
  assert.equal((await user.browser.post('/auth/acme/callback')).status, 405);
  assert.equal((await user.browser.get(`${providersPath}/acme`)).status, 405);
  assert.equal((await user.browser.post(`${providersPath}/nobody`)).status, 404);
  assert.equal((await user.browser.post(`${providersPath}/acme/remove`)).status, 404);
  assert.equal((await user.browser.post(`${providersPath}/acme`, {}, { origin: 'https://evil.example' })).status, 403);
  const foreign = await user.browser.get('/auth/acme/login?request=ar_aaaaaaaaaaaaaaaaaaaaaa');
  assert.equal(foreign.status, 400, 'only a request of this browser is waited for');
  assert.equal(await countOf(signet, 'identities'), 0);
});

// The last way in.

onBothEngines('the last way to sign in cannot be removed, also not by two who remove one each', async (t, engine) => {
  const mailbox = await openMailbox(t);
  const { signet, other } = await federated(t, { engine, env: { SIGNET_SMTP_URL: mailbox.url } });
  const browser = signet.newBrowser();
  await signInUpstream(browser);
  const last = await browser.post(`${providersPath}/acme/remove`);
  assert.equal(last.status, 409);
  assert.match(last.text, sentence('federation.last_sign_in_method'));
  const remove = { method: 'DELETE', headers: { origin: signet.url } };
  const asJson = await browser.send('/v1/me/identities/acme', remove);
  assert.deepEqual(
    [asJson.status, asJson.json?.error, asJson.json?.current_status],
    [409, 'invalid_state', 'last_way_in'],
  );

  other.account = { sub: 'second', email: 'ada@example.org', email_verified: true };
  const linked = await acceptConfirmation(browser, await browser.get(await leaveToLink(browser, 'google')));
  assert.equal(linked.status, 303);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      browser.send(`/v1/me/identities/${index % 2 ? 'acme' : 'google'}`, remove),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  for (const { status } of answers) assert.ok([204, 404, 409].includes(status), `${status}`);
  assert.equal(await countOf(signet, 'identities'), 1);
  assert.equal((await signet.auditLog({ action: 'identity.unlinked' })).length, 1);
  await mailbox.next('ada@example.com', sentence('mail.provider_unlinked.subject'));
  await signet.deps.mail.deliver();
  assert.equal(
    mailbox.mails.filter(({ subject }) => sentence('mail.provider_unlinked.subject').test(subject)).length,
    1,
    'one mail',
  );
});

onBothEngines('twenty links of one identity to two accounts make one link', async (t, engine) => {
  const { signet } = await federated(t, { engine });
  const users = [await signet.signedInUser(), await signet.signedInUser()];
  const browsers = Array.from({ length: 20 }, (_, index) => {
    const copy = signet.newBrowser();
    copy.cookies.set(sessionCookie, users[index % 2]?.browser.cookies.get(sessionCookie) ?? '');
    return copy;
  });
  const callbacks = await Promise.all(browsers.map((browser) => leaveToLink(browser)));
  const questions = await Promise.all(browsers.map((browser, index) => browser.get(callbacks[index] ?? '')));
  for (const question of questions) assert.ok(confirmationForm(question), question.text);
  const answers = await Promise.all(
    browsers.map((browser, index) => acceptConfirmation(browser, questions[index] ?? assert.fail())),
  );
  assert.equal(await countOf(signet, 'identities'), 1);
  for (const { status } of answers) assert.ok(status === 303 || status === 409, `${status}`);
  assert.equal((await signet.auditLog({ action: 'identity.linked' })).length, 1);
});
