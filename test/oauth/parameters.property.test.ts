import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { type Answer, readAnswer } from '../support/browser.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import {
  basic,
  challengeOf,
  type RegisteredClient,
  redirectedTo,
  tokensOf,
  verifier,
} from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

/** In every hostile value, so that an answer which repeats some of it gives itself away. */
const canary = 'zqxj7391';
const ascii = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/;

/** One parameter as it stands in a query or a form. */
type Pair = { name: string; value: string };
type Change = (pairs: Pair[]) => Pair[];

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
const hostileValue = fc
  .oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).map(encoded) },
    // Garbage that no encoder makes: broken escapes, half characters, separators, NUL.
    { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(...'%0fFgG+=;[].\\"<\'~'), maxLength: 30 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('%00', '%ED%A0%80', '%C0%AF', '%F5%80%80%80', '%0D%0Aset-cookie:a=b', '%E2%80%AE'),
    },
    { weight: 1, arbitrary: fc.integer({ min: 500, max: 3500 }).map((length) => 'x'.repeat(length)) },
    {
      weight: 3,
      arbitrary: fc.constantFrom('__proto__', 'null', '-1', '1e999', '%27%20or%201=1--', '%3Cscript%3E', '..%2F'),
    },
  )
  .chain((value) => fc.constantFrom(value + canary, canary + value));

/** What is nearly right gets further in than what is only strange. */
const plausible: Record<string, string[]> = {
  response_type: ['code', 'token', 'code+token'],
  scope: ['openid', 'openid+offline_access', 'email', '+', 'entitlements:read', 'openid+openid'],
  prompt: ['none', 'login', 'consent', 'select_account', 'none+login', '+'],
  max_age: ['0', '1', '9999999999', '-1', '00'],
  code_challenge_method: ['S256', 'plain'],
  code_challenge: [challengeOf(verifier), challengeOf('another'), 'A'.repeat(43)],
  id_token_hint: ['e30.e30.e30', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.'],
  grant_type: ['authorization_code', 'refresh_token', 'password'],
  code_verifier: [verifier, 'x'.repeat(43), 'x'.repeat(42)],
};

const change = (names: readonly string[]): fc.Arbitrary<Change> => {
  const known = fc.constantFrom(...names);
  const strange = fc.oneof(
    fc.string({ maxLength: 12 }).map(encoded),
    fc.constantFrom('', '__proto__', 'code[]', '%', '%zz'),
  );
  const pairOf = (name: string) =>
    fc.oneof(hostileValue, fc.constantFrom('', ...(plausible[name] ?? ['']))).map((value) => ({ name, value }));
  const replace = known.chain(pairOf).map(
    (pair): Change =>
      (pairs) => [...without(pairs, pair.name), pair],
  );
  const repeat = known.chain(pairOf).map(
    (pair): Change =>
      (pairs) => [...pairs, pair],
  );
  const twice = known.map(
    (name): Change =>
      (pairs) => [...pairs, ...pairs.filter((pair) => pair.name === name)],
  );
  const leaveOut = known.map(
    (name): Change =>
      (pairs) =>
        without(pairs, name),
  );
  const add = fc.tuple(strange, hostileValue).map(
    ([name, value]): Change =>
      (pairs) => [...pairs, { name, value }],
  );
  const flood = fc.integer({ min: 90, max: 130 }).map(
    (more): Change =>
      (pairs) => [...pairs, ...Array.from({ length: more }, (_, index) => ({ name: `p${index}`, value: '1' }))],
  );
  const shuffle = fc.constant<Change>((pairs) => pairs.toReversed());
  return fc.oneof(
    { weight: 6, arbitrary: replace },
    { weight: 2, arbitrary: repeat },
    { weight: 1, arbitrary: twice },
    { weight: 2, arbitrary: leaveOut },
    { weight: 2, arbitrary: add },
    { weight: 1, arbitrary: flood },
    { weight: 1, arbitrary: shuffle },
  );
};

const without = (pairs: Pair[], name: string) => pairs.filter((pair) => pair.name !== name);
const changed = (pairs: Pair[], changes: Change[]) =>
  changes
    .reduce((sofar, apply) => apply(sofar), pairs)
    .map(({ name, value }) => `${name}=${value}`)
    .join('&');
const pairsOf = (parameters: URLSearchParams): Pair[] =>
  [...parameters].map(([name, value]) => ({ name, value: encoded(value) }));

/** A fresh seed each run, printed; fast-check prints it again with the smallest failing request. */
async function holds<Input>(t: TestContext, input: fc.Arbitrary<Input>, property: (input: Input) => Promise<void>) {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  await fc.assert(fc.asyncProperty(input, property), { seed, numRuns: 100 });
}

async function setUp(t: TestContext, engine: Engine) {
  // Without limits: behind a 429 nothing would be tried.
  const signet = await startSignet(t, { engine, env: { SIGNET_RATE_LIMITS: 'off' } });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const app = await signet.registerClient({ owner: user, client_type: 'public', consent: 'required' });
  return { signet, user, clients: [client, app] as const };
}

/** Both as they were sent, as text with any line breaks: all that a page repeats, for who has to mend it. */
const forDeveloper = /<dt><code>(?:client_id|redirect_uri)<\/code><\/dt><dd lang="zxx"><code>.*?<\/code><\/dd>/gs;

function assertNothingRepeated(description: string): void {
  assert.match(description, ascii);
  assert.ok(!description.includes(canary), description);
}

function assertJsonRefusal({ json, text, headers }: Answer): void {
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.match(String(json?.error), /^[a-z_]+$/, text);
  assertNothingRepeated(String(json?.error_description));
  assert.ok(!text.includes(canary), text);
}

/** Decisions §1: a page or JSON that stays here, our own next page, or the registered redirect_uri. */
function assertDecided(answer: Answer, query: string, client: RegisteredClient, issuer: string): void {
  if (answer.status !== 302) {
    const tooLong = query.length > 8000 && answer.status === 414;
    assert.ok(answer.status === 400 || tooLong, `${answer.status} ${answer.text}`);
    assert.equal(answer.location, '');
    if (answer.headers.get('content-type')?.startsWith('text/html'))
      assert.ok(!answer.text.replace(forDeveloper, '').includes(canary), answer.text);
    else assertJsonRefusal(answer);
    return;
  }
  const location = answer.location;
  if (/^\/(signin|signin\/account|consent)\?request=ar_[\w-]{22}$/.test(location)) return;
  const redirect = redirectedTo(answer);
  assert.equal(redirect.base, client.redirect_uri);
  assert.equal(redirect.get('iss'), issuer);
  assert.equal(redirect.has('code'), !redirect.has('error'));
  for (const name of new Set(redirect.keys())) assert.equal(redirect.getAll(name).length, 1, name);
  const states = new URLSearchParams(query).getAll('state');
  assert.equal(redirect.get('state'), states.length === 1 ? states[0] || null : null);
  if (redirect.has('error')) {
    assert.match(redirect.get('error') ?? '', /^[a-z_]+$/);
    assertNothingRepeated(redirect.get('error_description') ?? '');
  }
}

onBothEngines('TK-10: whatever authorize is asked, the answer is one of the decided ones', async (t, engine) => {
  const { signet, user, clients } = await setUp(t, engine);
  const session = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
  const names = ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'nonce', 'code_challenge', 'prompt'];
  const more = ['code_challenge_method', 'max_age', 'login_hint', 'id_token_hint', 'ui_locales', 'acr_values'];
  const unsupported = ['request', 'request_uri', 'registration', 'response_mode', 'claims', 'resource', 'dpop_jkt'];
  const input = fc.record({
    client: fc.constantFrom(...clients),
    changes: fc.array(change([...names, ...more, ...unsupported]), { minLength: 1, maxLength: 3 }),
    cookie: fc.constantFrom(session, session, '', 'signet_identity_session=st_wrong', `signet_browser=${canary}`),
    accept: fc.constantFrom('text/html', 'application/json'),
    method: fc.constantFrom('GET', 'GET', 'POST'),
  });
  await holds(t, input, async ({ client, changes, cookie, accept, method }) => {
    const valid = new URL(client.authorizePath(), signet.url).searchParams;
    const query = changed(pairsOf(valid), changes);
    const headers = { cookie, accept };
    const get = async (path: string) => readAnswer(await fetch(signet.url + path, { headers, redirect: 'manual' }));
    if (method === 'GET') return assertDecided(await get(`/oauth/authorize?${query}`), query, client, signet.url);

    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    const init: RequestInit = { method: 'POST', headers: form, body: query, redirect: 'manual' };
    const posted = await readAnswer(await fetch(`${signet.url}/oauth/authorize`, init));
    if (posted.status !== 303) return assertDecided(posted, query, client, signet.url);
    const location = posted.location;
    assert.ok(location.startsWith('/oauth/authorize?'), location);
    assertDecided(await get(location), location.slice(location.indexOf('?') + 1), client, signet.url);
  });
  await user.authorize(clients[0]); // and it goes on answering
});

onBothEngines(
  'TK-10: whatever the token endpoint is sent, the answer is one of the decided ones',
  async (t, engine) => {
    const { signet, user, clients } = await setUp(t, engine);
    const [client] = clients;
    const names = [
      'grant_type',
      'client_id',
      'client_secret',
      'code',
      'redirect_uri',
      'code_verifier',
      'refresh_token',
    ];
    const right = basic(client.client_id, client.client_secret ?? '');
    const wrong = fc.oneof(
      fc.constantFrom('', 'Basic', 'Bearer x', 'basic ==', `${right}, ${right}`, right.slice(0, -4)),
      fc
        .string({ unit: 'binary', maxLength: 60 })
        .map((text) => `Basic ${Buffer.from(canary + text).toString('base64')}`),
      fc.string({ unit: fc.constantFrom(...'%:+&=zq'), maxLength: 20 }).map((text) => `Basic ${btoa(text)}`),
      fc.string({ maxLength: 30 }).map((text) => `Basic ${text}`),
    );
    const form = 'application/x-www-form-urlencoded';
    const input = fc.record({
      grant_type: fc.constantFrom('authorization_code', 'refresh_token'),
      changes: fc.array(change([...names, 'scope', 'resource', 'client_assertion']), { maxLength: 3 }),
      /** Undefined: the secret is in the body. */
      authorization: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(right, undefined) },
        { weight: 1, arbitrary: wrong },
      ),
      type: fc.oneof(
        { weight: 12, arbitrary: fc.constant(form) },
        { weight: 1, arbitrary: fc.constantFrom(`${form}; charset=x`, 'text/plain', 'application/json') },
      ),
      padding: fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(70_000) }),
    });
    await holds(t, input, async ({ grant_type, changes, authorization, type, padding }) => {
      const grant: Record<string, string> =
        grant_type === 'refresh_token'
          ? { refresh_token: (await user.obtainTokens(client)).refresh_token }
          : { code: await user.authorize(client), redirect_uri: client.redirect_uri, code_verifier: verifier };
      const secret: Record<string, string> =
        authorization === undefined ? { client_secret: client.client_secret ?? '' } : {};
      const valid = new URLSearchParams({ grant_type, client_id: client.client_id, ...secret, ...grant });
      const body = changed(pairsOf(valid), changes) + 'x'.repeat(padding);
      const headers = { 'content-type': type, ...(authorization === undefined ? {} : { authorization }) };
      const answer = await readAnswer(await fetch(`${signet.url}/oauth/token`, { method: 'POST', headers, body }));
      if (answer.status === 200) return void tokensOf(answer);
      assert.ok([400, 401].includes(answer.status) || (answer.status === 413 && padding > 0), answer.text);
      assertJsonRefusal(answer);
      assert.equal(answer.headers.has('www-authenticate'), answer.status === 401);
      assert.equal(answer.json?.error === 'invalid_client', answer.status === 401);
    });
  },
);

onBothEngines(
  'PA-02: whatever the pushed endpoint is sent, the answer is one of the decided ones',
  async (t, engine) => {
    const { signet, clients } = await setUp(t, engine);
    const [client] = clients;
    const right = basic(client.client_id, client.client_secret ?? '');
    const names = ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'prompt'];
    const more = ['request', 'request_uri', 'claims', 'resource', 'dpop_jkt', 'max_age', 'response_mode'];
    const input = fc.record({
      changes: fc.array(change([...names, ...more]), { maxLength: 3 }),
      proof: fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom('x', 'e30.e30.x', 'a.b.c, d.e.f') },
      ),
    });
    await holds(t, input, async ({ changes, proof }) => {
      const query = client.authorizePath().split('?')[1];
      const body = changed(pairsOf(new URLSearchParams(query)), changes);
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: right,
        ...(proof === undefined ? {} : { dpop: proof }),
      };
      const answer = await readAnswer(await fetch(`${signet.url}/oauth/par`, { method: 'POST', headers, body }));
      if (answer.status === 201) return assert.match(String(answer.json?.request_uri), /^urn:[\w:.-]+$/);
      assert.ok([400, 401].includes(answer.status), answer.text);
      return assertJsonRefusal(answer);
    });
  },
);
