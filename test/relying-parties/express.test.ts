import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Auth, type AuthConfig, setEnvDefaults } from '@auth/core';
import { transform } from 'esbuild';
import express, { type Express } from 'express';
import type { RequestContext } from 'express-openid-connect';
import { runJobs } from '../../src/app/jobs.ts';
import { findLibrary } from '../../src/clients/libraries/catalogue.ts';
import { clientActivity } from '../../src/developer/activity/activity.ts';
import { assertRefused } from '../support/relying-party.ts';
import type { Signet } from '../support/signet.ts';
import {
  assertSeen,
  type CatalogueClient,
  registerFor,
  runSnippet,
  seenWithout,
  startPresentSignet,
  without,
} from './catalogue-client.ts';
import { type Visit, Visitor } from './visit.ts';

/** Libraries that are an application of their own: it runs on a port, and a browser signs in at it. */

/** What a handler of Node gives to its framework when something fails. */
type Failure = Error & { status?: number; code?: string; error?: string };

async function serve(t: TestContext, { port }: CatalogueClient, app: Express): Promise<Failure[]> {
  const failures: Failure[] = [];
  app.use(((error: Failure, _request, response, _next) => {
    failures.push(error);
    response.status(error.status ?? 500).send(error.message);
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close().closeAllConnections());
  return failures;
}

const newVisitor = async (signet: Signet, { origin }: CatalogueClient) =>
  new Visitor(signet, await signet.newUser({ name: 'Ada Lovelace' }), origin);

/** The session at Signet is over: the next sign-in asks for the password. */
const asksAgain = ({ typedPassword }: Visit) => assert.equal(typedPassword, true);

test('passport signs in and out with the strategy of openid-client', async (t) => {
  const signet = await startPresentSignet(t);
  const given = await registerFor(signet, 'passport');
  const { default: app } = await runSnippet<{ default: Express }>(t, given);
  app.get('/', (request, response) => void response.json('user' in request ? request.user : null));
  app.get('/bye', (_request, response) => void response.send('bye'));
  await serve(t, given, app);
  const visitor = await newVisitor(signet, given);

  const { answer, typedPassword } = await visitor.open('/signin');
  assert.equal(typedPassword, true);
  const { sub, name, email } = answer?.json ?? {};
  assert.deepEqual([sub, name, email], [visitor.user.user_id, 'Ada Lovelace', visitor.user.email]);
  assert.equal((await visitor.open('/signin')).typedPassword, false);
  assert.equal((await visitor.post('/signout', {})).url.href, given.post_logout_redirect_uri);
  assert.equal((await visitor.open('/')).answer?.text, 'null');
  asksAgain(await visitor.open('/signin'));

  await t.test('without the state that was kept', async () => {
    visitor.losesCookies = true;
    assert.equal((await visitor.open('/signin')).url.pathname, '/signin-failed');
    visitor.losesCookies = false;
    assertSeen('back at failureRedirect without any error', seenWithout(given, 'state'));
  });

  await t.test('with a secret that is not the one of the client', async (t) => {
    const other = await registerFor(signet, 'passport');
    const mistyped = { ...other, client: other.client.with({ client_secret: 'cs_mistyped' }) };
    const { default: app } = await runSnippet<{ default: Express }>(t, mistyped);
    const failures = await serve(t, other, app);
    await (await newVisitor(signet, other)).open('/signin');
    assert.deepEqual(
      failures.map(({ message, status }) => [message, status]),
      [['server responded with a challenge in the WWW-Authenticate HTTP Header', 401]],
    );
  });
});

/** What the library adds to a request. */
type OpenidRequest = express.Request & { oidc: RequestContext };

test('express-openid-connect signs in, refreshes and signs out', async (t) => {
  const signet = await startPresentSignet(t);

  /** Its application, at `/profile` of which the library says who is signed in. */
  async function start(t: TestContext, given: CatalogueClient): Promise<Visitor> {
    const { default: app } = await runSnippet<{ default: Express }>(t, given);
    app.get('/refresh', async ({ oidc }: OpenidRequest, response) => {
      const { access_token = '' } = await oidc.accessToken!.refresh();
      response.json({
        access_token,
        refresh_token: oidc.refreshToken,
        user: await oidc.fetchUserInfo(),
      });
    });
    app.get('/bye', (_request, response) => void response.send('bye'));
    await serve(t, given, app);
    return newVisitor(signet, given);
  }

  /** What the owner of the client reads of its failures: what happened, and the settings that mend it. */
  async function inferredFrom({ client }: CatalogueClient) {
    const row = (await signet.deps.clients.find(client.client_id)) ?? assert.fail();
    const { failures } = await clientActivity(signet.deps, row);
    return failures.flatMap(({ code, causes = [] }) => [code, ...causes.map((cause) => cause.library_setting)]);
  }

  const given = await registerFor(signet, 'express-openid-connect');
  const visitor = await start(t, given);
  const { answer, typedPassword } = await visitor.open('/profile');
  assert.equal(typedPassword, true);
  const { sub, name, email } = answer?.json ?? {};
  assert.deepEqual([sub, name, email], [visitor.user.user_id, 'Ada Lovelace', visitor.user.email]);
  const refreshed = (await visitor.open('/refresh')).answer?.json as Record<'access_token' | 'refresh_token', string>;
  assert.equal((await signet.userinfo(refreshed.access_token)).status, 200);
  assert.equal((await visitor.open('/logout')).url.href, given.post_logout_redirect_uri);
  assertRefused(await given.client.refresh(refreshed.refresh_token), 400, 'invalid_grant');
  asksAgain(await visitor.open('/profile'));

  const lacking = {
    response_type: /response_type: 'code', /,
    algorithm: /^.*idTokenSigningAlg.*\n/m,
  } as const;
  for (const [lack, pattern] of Object.entries(lacking)) {
    await t.test(`without ${lack}`, async (t) => {
      const given = await registerFor(signet, 'express-openid-connect', { algorithm: 'EdDSA' });
      const visitor = await start(t, without(given, pattern));
      const { answer } = await visitor.open('/profile');
      assertSeen(`${answer?.status} ${answer?.text}`, seenWithout(given, lack as keyof typeof lacking));
      if (lack !== 'algorithm') return;
      for (let time = 1; time < 3; time += 1) {
        signet.clock.advance(5);
        await visitor.open('/profile');
      }
      assert.deepEqual(await inferredFrom(given), ['signed_in_again', "idTokenSigningAlg: 'EdDSA'", null]);
    });
  }

  await t.test('without the state that was kept', async (t) => {
    const given = await registerFor(signet, 'express-openid-connect');
    const visitor = await start(t, given);
    visitor.losesCookies = true;
    for (let time = 0; time < 3; time += 1) {
      const { answer } = await visitor.open('/profile');
      assertSeen(`${answer?.status} ${answer?.text}`, seenWithout(given, 'state'));
      signet.clock.advance(61);
    }
    assert.deepEqual(await inferredFrom(given), ['code_not_redeemed', 'baseURL', null, null]);
  });

  await t.test('without the claims in the id token', async (t) => {
    const given = await registerFor(signet, 'express-openid-connect', { claims_in_id_token: false });
    const { answer } = await (await start(t, given)).open('/profile');
    assert.deepEqual([answer?.status, answer?.json?.name, answer?.json?.email], [200, undefined, undefined]);
    assertSeen('req.oidc.user has no name and no email', seenWithout(given, 'claims'));
  });
});

test('express-openid-connect ends its session when a logout token says so', async (t) => {
  const signet = await startPresentSignet(t);
  const { setting, path } = findLibrary('express-openid-connect')!.backchannel_logout!;
  for (const algorithm of ['RS256', 'EdDSA'] as const) {
    await t.test(algorithm, async (t) => {
      const given = await registerFor(signet, 'express-openid-connect', {
        algorithm,
        backchannel_logout_path: path,
      });
      const store = `{
        ended: new Map(),
        async get(id) { return this.ended.get(id); },
        async set(id, value) { this.ended.set(id, value); },
        async destroy(id) { this.ended.delete(id); },
      }`;
      const files = given.files.map(({ file, text }) => ({
        file,
        text: text.replace('idpLogout: true,', `idpLogout: true, ${setting.replace('store', `store: ${store}`)},`),
      }));
      const { default: app } = await runSnippet<{ default: Express }>(t, { ...given, files });
      await serve(t, given, app);
      const [visitor, other] = [await newVisitor(signet, given), await newVisitor(signet, given)];
      const { sid } = (await visitor.open('/profile')).answer?.json ?? {};
      await other.open('/profile');

      const elsewhere = await visitor.user.signedInElsewhere();
      assert.equal((await elsewhere.browser.delete(`/v1/me/sessions/${sid}`)).status, 204);
      const before = await visitor.open('/profile');
      assert.deepEqual(
        [before.typedPassword, before.answer?.json?.sid],
        [false, sid],
        'the cookie alone tells nothing',
      );
      await runJobs(signet.deps, ['deliver logout tokens']);
      asksAgain(await visitor.open('/profile'));
      assert.equal((await visitor.open('/profile')).typedPassword, false, 'the next session lasts');
      assert.equal((await other.open('/profile')).typedPassword, false, 'another user stays signed in');
    });
  }
});

type Account = { refresh_token?: string; id_token?: string };
type Logger = { error(code: unknown, metadata?: unknown): void };

/** What both versions of the library have in common: its paths, its session and a sign-out of its own. */
class AuthJs {
  readonly visitor: Visitor;
  readonly given: CatalogueClient;
  /** As the jwt callback gets it, where the documentation has applications keep tokens. */
  account: Account | undefined;
  readonly errors: unknown[] = [];
  readonly callbacks = {
    jwt: ({ token, account }: { token: object; account?: Account | null }) => {
      this.account = account ?? this.account;
      return token;
    },
  };
  readonly logger: Logger & Record<'warn' | 'debug', () => void> = {
    error: (...what) => void this.errors.push(...what),
    warn() {},
    debug() {},
  };

  constructor(visitor: Visitor, given: CatalogueClient) {
    this.visitor = visitor;
    this.given = given;
  }

  async #form(): Promise<Record<string, string>> {
    const { answer } = await this.visitor.open('/api/auth/csrf');
    return { csrfToken: String(answer?.json?.csrfToken), callbackUrl: this.given.origin };
  }

  async signIn(): Promise<Visit> {
    return this.visitor.post('/api/auth/signin/signet', await this.#form());
  }

  async session(): Promise<{ name?: string; email?: string } | undefined> {
    const { answer } = await this.visitor.open('/api/auth/session');
    return (answer?.json as { user?: { name?: string; email?: string } } | undefined)?.user;
  }

  /** Its own sign-out, and then that of Signet by a link of the application. */
  async signOut(hint: 'with' | 'without'): Promise<Visit> {
    await this.visitor.post('/api/auth/signout', await this.#form());
    assert.equal(await this.session(), undefined);
    assert.equal((await this.signIn()).typedPassword, false, 'its own sign-out leaves the session at Signet');
    await this.visitor.post('/api/auth/signout', await this.#form());
    const parameters = new URLSearchParams({
      client_id: this.given.client.client_id,
      post_logout_redirect_uri: this.given.post_logout_redirect_uri,
      ...(hint === 'with' && { id_token_hint: this.account?.id_token }),
    });
    const left = await this.visitor.open(`${this.visitor.issuer}/oauth/logout?${parameters}`);
    return hint === 'with' ? left : this.visitor.confirmSignOut(left);
  }
}

async function followed(auth: AuthJs, hint: 'with' | 'without') {
  const { given, visitor } = auth;
  assert.equal((await auth.signIn()).typedPassword, true);
  const user = await auth.session();
  const { refresh_token = '' } = auth.account ?? {};
  const refreshed = await given.client.refresh(refresh_token);
  assert.equal(refreshed.status, 200, refreshed.text);
  assert.equal((await auth.signOut(hint)).url.href, given.post_logout_redirect_uri);
  assertRefused(await given.client.refresh(String(refreshed.json?.refresh_token)), 400, 'invalid_grant');
  asksAgain(await auth.signIn());
  return { user, expected: { name: 'Ada Lovelace', email: visitor.user.email } };
}

const noContent = (app: Express) =>
  app.get(['/', '/bye'], (_request: express.Request, response: express.Response) => void response.send('here'));

test('@auth/core signs in, and its application signs out', async (t) => {
  const signet = await startPresentSignet(t);

  async function start(t: TestContext, given: CatalogueClient): Promise<AuthJs> {
    const { default: snippet } = await runSnippet<{ default: AuthConfig }>(t, given);
    const auth = new AuthJs(await newVisitor(signet, given), given);
    const config = { ...snippet, basePath: '/api/auth', secret: 'a secret', trustHost: true, ...optionsOf(auth) };
    setEnvDefaults({ AUTH_SIGNET_SECRET: given.client.client_secret ?? undefined }, config as AuthConfig);
    const app = express();
    noContent(app);
    app.use('/api/auth', express.text({ type: () => true }), async (request, response) => {
      const { method, headers, body } = request;
      const init = { method, headers: headers as HeadersInit, ...(method === 'POST' && { body }) };
      const answer = await Auth(new Request(given.origin + request.originalUrl, init), config as AuthConfig);
      response
        .status(answer.status)
        .setHeaders(answer.headers)
        .send(Buffer.from(await answer.arrayBuffer()));
    });
    await serve(t, given, app);
    return auth;
  }
  const optionsOf = ({ callbacks, logger }: AuthJs) => ({ callbacks, logger });

  for (const client_type of ['confidential', 'public'] as const) {
    await t.test(client_type, async (t) => {
      const auth = await start(t, await registerFor(signet, 'authjs', { client_type }));
      const { user, expected } = await followed(auth, client_type === 'public' ? 'without' : 'with');
      assert.deepEqual({ name: user?.name, email: user?.email }, expected);
    });
  }

  await t.test('without PKCE', async (t) => {
    const given = await registerFor(signet, 'authjs');
    const auth = await start(t, without(given, /'pkce', /));
    await auth.signIn();
    assert.equal(await auth.session(), undefined);
    assertSeen(String(auth.errors[0]), seenWithout(given, 'pkce'));
  });

  await t.test('without the state that was kept', async (t) => {
    const given = await registerFor(signet, 'authjs');
    const auth = await start(t, given);
    auth.visitor.losesCookies = true;
    await auth.signIn();
    assertSeen(String(auth.errors[0]), seenWithout(given, 'state'));
  });

  await t.test('without userinfo', async (t) => {
    const auth = await start(t, without(await registerFor(signet, 'authjs'), /^ *idToken: false.*\n/m));
    await auth.signIn();
    const { name, email } = (await auth.session()) ?? assert.fail();
    assert.deepEqual([name, email], [undefined, undefined]);
  });
});

test('next-auth 4 signs in, and its application signs out', async (t) => {
  const signet = await startPresentSignet(t);

  /** The bundler of Next.js reads `import` of a CommonJS package as Babel does, and so does this one. */
  async function start(t: TestContext, given: CatalogueClient): Promise<AuthJs> {
    const files = await Promise.all(
      given.files.map(async ({ text }) => ({
        file: 'nextauth.cjs',
        text: (await transform(text, { format: 'cjs' })).code,
      })),
    );
    const { default: snippet } = await runSnippet<{ default: { authOptions: object } }>(t, { ...given, files });
    const { default: NextAuth } = await import('next-auth');
    const auth = new AuthJs(await newVisitor(signet, given), given);
    const { callbacks, logger } = auth;
    Object.assign(snippet.authOptions, { callbacks, logger, secret: 'a secret' });
    const handle = (NextAuth as unknown as { default: typeof import('next-auth').default }).default(
      snippet.authOptions as never,
    );
    const app = express();
    noContent(app);
    app.use('/api/auth', express.urlencoded(), async (request, response) => {
      const nextauth = request.path.slice(1).split('/');
      const { cookie = '' } = request.headers;
      const cookies = Object.fromEntries(cookie.split('; ').map((pair) => decodeURIComponent(pair).split(/=(.*)/s)));
      const query = { ...request.query, nextauth };
      const given = Object.create(request, { query: { value: query }, cookies: { value: cookies } });
      await handle(given, response);
    });
    await serve(t, given, app);
    process.env.NEXTAUTH_URL = given.origin;
    return auth;
  }

  await t.test('RS256, with the claims in the id token', async (t) => {
    const auth = await start(t, await registerFor(signet, 'next-auth-4'));
    const { user, expected } = await followed(auth, 'with');
    assert.deepEqual({ name: user?.name, email: user?.email }, expected);
  });

  await t.test('without PKCE', async (t) => {
    const given = await registerFor(signet, 'next-auth-4');
    const { url } = await (await start(t, without(given, /'pkce', /))).signIn();
    assertSeen(url.pathname + url.search, seenWithout(given, 'pkce'));
  });

  for (const lack of ['algorithm', 'state'] as const) {
    await t.test(`without the ${lack}`, async (t) => {
      const given = await registerFor(signet, 'next-auth-4', { algorithm: 'EdDSA' });
      const isSet = lack === 'state';
      const auth = await start(t, isSet ? given : without(given, /^ *id_token_signed_response_alg.*\n/m));
      auth.visitor.losesCookies = isSet;
      const { url } = await auth.signIn();
      const [where = '', log = ''] = seenWithout(given, lack).split('; log: ');
      assertSeen(url.pathname + url.search, where);
      assertSeen(JSON.stringify(auth.errors), log);
    });
  }

  await t.test('without the claims in the id token', async (t) => {
    const given = await registerFor(signet, 'next-auth-4', { claims_in_id_token: false });
    const auth = await start(t, given);
    await auth.signIn();
    assert.deepEqual(await auth.session(), {});
    assertSeen('session.user is empty', seenWithout(given, 'claims'));
  });
});
