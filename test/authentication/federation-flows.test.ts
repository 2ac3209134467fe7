import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newBrowser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { linkIn, openMailbox } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import {
  acceptConfirmation,
  acmeAt,
  client_id,
  client_secret,
  followUpstream,
  signInUpstream,
  startOidcProvider,
  startUpstreamSignIn,
} from '../support/upstream.ts';

const providersPath = '/account/security/providers';
const seconds = (signet: Pick<Signet, 'clock'>) => () => Math.floor(signet.clock() / 1000);

test('without a configured provider the list is empty', async (t) => {
  const signet = await startSignet(t);
  const answer = await signet.newBrowser().get('/v1/auth/providers');
  assert.deepEqual(answer.json, { providers: [] });
  assert.doesNotMatch((await signet.newBrowser().get('/signin')).text, /\/auth\//);
});

test('configured providers are listed with an absolute address, and stand on the sign-in page', async (t) => {
  const google = { SIGNET_GOOGLE_CLIENT_ID: 'g', SIGNET_GOOGLE_CLIENT_SECRET: 's' };
  const signet = await startSignet(t, { env: { ...google, ...acmeAt('https://id.acme.example') } });
  const browser = signet.newBrowser();
  assert.deepEqual((await browser.get('/v1/auth/providers')).json, {
    providers: [
      { id: 'google', label: 'Google', loginUrl: `${signet.url}/auth/google/login` },
      { id: 'acme', label: 'Acme', loginUrl: `${signet.url}/auth/acme/login` },
    ],
  });
  const page = await browser.get('/signin?next=/account/sessions');
  assert.match(
    page.text,
    pattern`href="/auth/google/login\?next=%2Faccount%2Fsessions"[^>]*>(?:<img [^>]*>)? ?${sentence('signin.with', { provider: 'Google' })}<`,
  );
});

test('a provider that is unknown or not configured is not found', async (t) => {
  const signet = await startSignet(t, { env: acmeAt('https://id.acme.example') });
  const browser = signet.newBrowser();
  for (const id of ['google', 'nobody', 'ACME', '__proto__', 'constructor']) {
    for (const path of [`/auth/${id}/login`, `/auth/${id}/callback?code=1&state=2`]) {
      assert.equal((await browser.get(path)).status, 404, path);
      assert.equal((await browser.get(path, { accept: 'application/json' })).json?.error, 'not_found');
    }
  }
});

test('a sign-in with a real upstream, oidc-provider, makes an account and finds it again', async (t) => {
  const account = {
    sub: 'ada-42',
    email: 'ada@example.com',
    email_verified: true,
    name: 'Ada Lovelace',
    locale: 'de-AT',
  };
  // The issuer must know the callback, and Signet the issuer: the port of one of them is chosen first.
  const first = await startSignet(t);
  const port = Number(new URL(first.url).port);
  await first.app.close();
  const issuer = await startOidcProvider(t, { account, redirect_uri: `${first.url}/auth/acme/callback` });
  const signet = await startSignet(t, {
    env: { ...acmeAt(issuer), SIGNET_PORT: String(port), SIGNET_BASE_URL: first.url },
  });
  signet.clock.advance(Math.floor((Date.now() - signet.clock()) / 1000)); // its clock is this machine's

  const browser = signet.newBrowser();
  const there = newBrowser(issuer);
  const { answer } = await signInUpstream(browser, '/auth/acme/login?next=/account/sessions', there);
  assert.equal(answer.status, 303, answer.text);
  assert.equal(answer.location, '/account/sessions');
  const me = (await browser.get('/v1/me')).json;
  assert.equal(me?.email, 'ada@example.com');
  assert.equal(me?.email_verified, true);
  assert.equal(me?.name, 'Ada Lovelace');
  assert.equal(me?.locale, 'de');
  assert.deepEqual((me?.session as { amr: string[] } | undefined)?.amr, ['fed']);
  const identities = me?.identities as { provider: string; email: string }[] | undefined;
  assert.deepEqual(
    identities?.map(({ provider, email }) => [provider, email]),
    [['acme', 'ada@example.com']],
  );

  const again = signet.newBrowser();
  assert.equal((await signInUpstream(again, '/auth/acme/login', there)).answer.status, 303);
  assert.equal((await again.get('/v1/me')).json?.user_id, me?.user_id);
});

test('a second Signet is an upstream like any other', async (t) => {
  const upstream = await startSignet(t);
  const developer = await upstream.signedInUser();
  const first = await startSignet(t);
  const port = Number(new URL(first.url).port);
  await first.app.close();
  const client = await upstream.registerClient({
    owner: developer,
    redirect_uris: [`${first.url}/auth/acme/callback`],
    consent: 'skip',
  });
  const signet = await startSignet(t, {
    env: {
      SIGNET_PORT: String(port),
      SIGNET_BASE_URL: first.url,
      SIGNET_PROVIDER_ACME_ISSUER: upstream.url,
      SIGNET_PROVIDER_ACME_CLIENT_ID: client.client_id,
      SIGNET_PROVIDER_ACME_CLIENT_SECRET: client.client_secret ?? '',
    },
  });
  const user = await upstream.signedInUser();
  const browser = signet.newBrowser();
  const { answer } = await signInUpstream(browser, '/auth/acme/login', user.browser);
  assert.equal(answer.status, 303, answer.text);
  assert.equal((await browser.get('/v1/me')).json?.email, user.email);
});

onBothEngines('a pending authorization request continues after the upstream sign-in', async (t, engine) => {
  const { signet, upstream } = await startFederatedSignet(t, { engine });
  const client = await signet.registerClient();
  const browser = signet.newBrowser();
  const signin = (await browser.get(client.authorizePath())).location;
  assert.match(signin, /^\/signin\?request=ar_/);
  const { answer } = await signInUpstream(browser, signin.replace('/signin', '/auth/acme/login'));
  const onward = answer.location;
  assert.match(onward, /^\/oauth\/authorize\/continue\?request=ar_/);
  const code = await browser.get(onward);
  assert.match(code.location, /^https:\/\/rp\.test\/cb\?code=/);
  assert.equal(upstream.asked.get('prompt'), null);
});

test('what a client demands of a sign-in is demanded of the upstream', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  const client = await signet.registerClient();
  const browser = signet.newBrowser();
  const askedWith = async (login_hint: string, one = browser) => {
    const signin = (await one.get(client.authorizePath({ prompt: 'login', login_hint }))).location;
    const provider = new URL(signin, signet.url);
    await startUpstreamSignIn(one, `/auth/acme/login${provider.search}`);
    return ['prompt', 'max_age', 'login_hint'].map((name) => upstream.asked.get(name));
  };
  assert.deepEqual(await askedWith('ada@example.com'), ['login', '0', null], 'nobody has signed in here');
  await signInUpstream(browser);
  const other = await signet.newUser();
  assert.deepEqual(await askedWith('ada@example.com'), ['login', '0', 'ada@example.com']);
  for (const hint of ['attacker@evil.example', other.email]) assert.equal((await askedWith(hint))[2], null);
  assert.equal((await askedWith('ada@example.com', signet.newBrowser()))[2], null, 'another device learns nothing');
});

test('the request that goes upstream has everything that the answer is checked with', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  const browser = signet.newBrowser();
  await startUpstreamSignIn(browser);
  const { asked } = upstream;
  assert.equal(asked.get('response_type'), 'code');
  assert.equal(asked.get('client_id'), client_id);
  assert.equal(asked.get('redirect_uri'), `${signet.url}/auth/acme/callback`);
  assert.equal(asked.get('scope'), 'openid email profile');
  assert.equal(asked.get('code_challenge_method'), 'S256');
  for (const name of ['state', 'nonce', 'code_challenge']) assert.match(asked.get(name) ?? '', /^[\w-]{43}$/);
  const cookie = browser.cookies.get('signet_federation') ?? '';
  assert.ok(
    !Buffer.from(cookie, 'base64url')
      .toString('latin1')
      .includes(asked.get('state') ?? ''),
    'it is sealed',
  );
});

test('a user who cancels at the upstream returns to where they were, with a message', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  upstream.lies.callback = { code: undefined, error: 'access_denied' };
  const browser = signet.newBrowser();
  const { answer } = await signInUpstream(browser, '/auth/acme/login?next=/account/apps');
  assert.equal(answer.status, 303);
  const back = answer.location;
  assert.equal(back, '/signin?next=%2Faccount%2Fapps&stay=1&cancelled=acme');
  const page = await browser.get(back);
  assert.equal(page.status, 200);
  assert.match(page.text, pattern`role="status"><p>${sentence('federation.cancelled', { provider: 'Acme' })}`);
  assert.equal((await browser.get('/v1/me')).status, 401);
});

onBothEngines(
  'an account with the same verified address is linked, gets a mail, and is disconnected again',
  async (t, engine) => {
    const mailbox = await openMailbox(t);
    const { signet, upstream } = await startFederatedSignet(t, { engine, env: { SIGNET_SMTP_URL: mailbox.url } });
    const user = await signet.newUser();
    upstream.account = { sub: 'p1', email: user.email.toUpperCase(), email_verified: true };
    assert.equal((await signInUpstream(user.browser)).answer.status, 303);
    assert.equal((await user.browser.get('/v1/me')).json?.user_id, user.user_id);
    const mail = await mailbox.next(user.email, sentence('mail.provider_linked.subject', { provider: 'Acme' }));
    assert.match(linkIn(mail, /security/), /^\/account\/security/);

    assert.equal((await signInUpstream(user.browser)).answer.status, 303);
    const page = await user.browser.get(providersPath);
    assert.match(page.text, sentence('providers.linked'));
    const removed = await user.browser.post(`${providersPath}/acme/remove`);
    assert.equal(removed.location, `${providersPath}?done=unlinked`);
    assert.match(
      (await user.browser.get(`${providersPath}?done=unlinked`)).text,
      pattern`role="status" tabindex="-1" autofocus><p>${sentence('providers.done.unlinked')}`,
    );
    await mailbox.next(user.email, sentence('mail.provider_unlinked.subject', { provider: 'Acme' }));
    assert.deepEqual((await user.browser.get('/v1/me')).json?.identities, []);
    assert.equal(mailbox.mails.filter(({ subject }) => subject.includes('Acme')).length, 2, 'one mail for each change');
  },
);

onBothEngines('a provider is connected from the account, whatever its address there', async (t, engine) => {
  const { signet, upstream } = await startFederatedSignet(t, { engine });
  const user = await signet.signedInUser();
  upstream.account = { sub: 'other', email: 'elsewhere@example.org', email_verified: false };
  const start = await user.browser.post(`${providersPath}/acme`);
  assert.equal(start.status, 303);
  const { pathname, search } = await followUpstream(start.location);
  const question = await user.browser.get(pathname + search);
  assert.match(
    question.text,
    sentence('federation.ask.connect', { account: '<strong><bdi>elsewhere@example.org</bdi></strong>' }),
  );
  assert.deepEqual((await user.browser.get('/v1/me')).json?.identities, [], 'nothing before it is agreed to');
  const answer = await acceptConfirmation(user.browser, question);
  assert.equal(answer.location, `${providersPath}?done=linked`);
  const page = await user.browser.get(`${providersPath}?done=linked`);
  assert.match(page.text, pattern`role="status" tabindex="-1" autofocus><p>${sentence('providers.done.linked')}`);
  assert.match(page.text, /<bdi>elsewhere@example\.org<\/bdi>/);
  assert.match(page.headers.get('content-security-policy') ?? '', /img-src 'self'; frame-ancestors/);

  const elsewhere = signet.newBrowser();
  assert.equal((await signInUpstream(elsewhere)).answer.status, 303);
  assert.equal((await elsewhere.get('/v1/me')).json?.user_id, user.user_id);
  assert.equal((await user.browser.get('/v1/me')).json?.email, user.email, 'the account keeps its own address');

  const removed = await user.browser.delete('/v1/me/identities/acme');
  assert.equal(removed.status, 204);
  const again = await user.browser.delete('/v1/me/identities/acme');
  assert.equal(again.json?.error, 'not_found');
});

test('connecting and disconnecting take a recent sign-in, and the page brings one back', async (t) => {
  const { signet } = await startFederatedSignet(t);
  const user = await signet.signedInUser();
  signet.clock.advance(901);
  for (const path of [`${providersPath}/acme`, `${providersPath}/acme/remove`]) {
    const answer = await user.browser.post(path);
    assert.equal(answer.status, 303);
    const next = encodeURIComponent(`${providersPath}?unfinished=1`);
    assert.equal(answer.location, `/signin/confirm?next=${next}`);
  }
  const json = await user.browser.delete('/v1/me/identities/acme');
  assert.equal(json.json?.error, 'reauthentication_required');
});

test('a provider confirms that it is the same user', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  const browser = signet.newBrowser();
  await signInUpstream(browser);
  signet.clock.advance(901);
  const confirm = await browser.get(`/signin/confirm?next=${encodeURIComponent(providersPath)}`);
  const link = /href="(\/auth\/acme\/login[^"]*)"/.exec(confirm.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  assert.match(link, /confirm=1/);
  assert.doesNotMatch(confirm.text, /type="password"/, 'an account without a password is not asked for one');
  const before = (await browser.get('/v1/me')).json?.session as { id: string };
  upstream.account = { ...upstream.account, auth_time: seconds(signet)() };
  const { answer } = await signInUpstream(browser, link);
  assert.equal(answer.location, providersPath);
  assert.deepEqual(
    ['prompt', 'max_age', 'login_hint'].map((name) => upstream.asked.get(name)),
    ['login', '0', 'ada@example.com'],
  );
  const session = (await browser.get('/v1/me')).json?.session as { id: string; auth_time: number };
  assert.deepEqual([session.id, session.auth_time], [before.id, seconds(signet)()], 'the session goes on, fresh');
});

test('the confirm page offers the providers that the account is connected with, and no other', async (t) => {
  const { signet } = await startFederatedSignet(t);
  const user = await signet.signedInUser();
  const page = await user.browser.get('/signin/confirm');
  assert.doesNotMatch(page.text, /\/auth\/acme/);
  assert.match(page.text, /type="password"/);
});

test('what an upstream says about a user is kept as far as we would let them type it', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  upstream.account = {
    sub: 'odd',
    email: 'odd@example.com',
    email_verified: true,
    name: 'ev\u202eil',
    picture: 'javascript:alert(1)',
    locale: 'tlh',
  };
  const browser = signet.newBrowser();
  assert.equal((await signInUpstream(browser)).answer.status, 303);
  const me = (await browser.get('/v1/me')).json;
  assert.deepEqual([me?.name, me?.picture, me?.locale], [null, null, null]);
});

test('the discovery document is asked for once, also by many at once, and again after ten minutes', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  const asked = () => upstream.requests.filter((path) => path.startsWith('/.well-known/')).length;
  await Promise.all(Array.from({ length: 20 }, () => signet.newBrowser().get('/auth/acme/login')));
  assert.equal(asked(), 1);
  await signInUpstream(signet.newBrowser());
  assert.equal(asked(), 1);
  signet.clock.advance(601);
  await signInUpstream(signet.newBrowser());
  assert.equal(asked(), 2);
});

test('a password still opens an account that a provider opens', async (t) => {
  const { signet, upstream } = await startFederatedSignet(t);
  const user = await signet.newUser();
  upstream.account = { sub: 'both', email: user.email, email_verified: true };
  await signInUpstream(user.browser);
  assert.equal((await user.elsewhere().signIn()).status, 303);
  assert.ok(client_secret.length > 0 && !signet.logLines.join('').includes(client_secret), 'nothing of it is logged');
});
