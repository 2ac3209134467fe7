import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { findLibrary, snippetOf } from '../../src/clients/libraries/catalogue.ts';
import type { Library } from '../../src/clients/libraries/library.ts';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { type ClientName, clients, isChosen } from './cases.ts';
import { type Command, jdk, maven, missingTool, pip, python, run, serve, unavailable } from './programs.ts';
import { type Page, UserAgent } from './user-agent.ts';

/*
 * Unmodified relying parties with the snippets of the catalogue, through a whole sign-in. Each folder here holds what a
 * snippet leaves to its reader. They need the tools of their languages and mostly a network, so they are no part of
 * `npm test`; what is missing is skipped, and said.
 *
 *     npm run test:clients -- --only authlib
 */
const minutes = 60_000;

/** One registered client of a Signet, and the folder of the program that acts for it. */
type Visit = {
  t: TestContext;
  signet: Signet;
  user: TestUser;
  agent: UserAgent;
  folder: string;
  env: NodeJS.ProcessEnv;
  /** Of the relying party. */
  origin: string;
  redirect_uri: string;
  post_logout_redirect_uri: string;
};

type RelyingParty = {
  tools: readonly Command[];
  /** Folders beside its own whose files it needs. */
  shares?: readonly string[];
  /** Installs what does not depend on the client. */
  prepare?: (folder: string) => Promise<unknown>;
  /** What has to be different in a snippet here: its place, its port, a hook for what it does not show. */
  adapt?: (file: string, text: string, visit: Visit) => Promise<{ file: string; text: string }>;
  build?: (visit: Visit) => Promise<unknown>;
  journey: (visit: Visit) => Promise<void>;
};

type Site = {
  command: (visit: Visit) => Command;
  /** Where a sign-in starts. It ends at a page that is JSON: the user's `email`, and `sub` where the library keeps it. */
  signIn: string;
  /** Answers with the access token `before` and `after`. */
  refresh?: string;
  /** Has the library look at the provider's session, and ends like a sign-in. */
  renew?: string;
  signOut?: (visit: Visit) => Promise<Page>;
};

/** A user who has no session yet. @returns where the browser is afterwards. */
async function signIn({ signet, user, agent }: Visit, start: string, until?: string): Promise<Page> {
  signet.clock.advance((Date.now() - signet.clock()) / 1000);
  const page = await begin(agent, start);
  assertAsked(signet, page);
  return agent.submit(page, { username: user.email, password: user.password }, until);
}

/** Some libraries start a sign-in by a form alone. */
async function begin(agent: UserAgent, start: string): Promise<Page> {
  const page = await agent.open(start);
  return page.url.href === start && page.answer?.text.includes('<form') ? agent.submit(page) : page;
}

const assertAsked = (signet: Signet, { url, answer }: Page) =>
  assert.equal(url.origin + url.pathname, `${signet.url}/signin`, `${answer?.status} ${answer?.text.slice(0, 2000)}`);

function assertUser({ user }: Visit, { url, answer }: Page): void {
  const said = answer?.json;
  assert.ok(answer?.status === 200 && said, `${url}: ${answer?.status} ${answer?.text.slice(0, 3000)}`);
  const sub = 'sub' in said ? { sub: user.user_id } : {};
  assert.deepEqual(said, { ...sub, email: user.email });
}

async function assertRefreshed(visit: Visit, before: unknown, after: unknown): Promise<void> {
  assert.equal(typeof before, 'string');
  assert.notEqual(after, before);
  const { status, json } = await visit.signet.userinfo(String(after));
  assert.deepEqual([status, json?.sub], [200, visit.user.user_id]);
}

/** Back at the relying party, with no session there nor here. */
async function assertSignedOut(visit: Visit, { url, answer }: Page, start: string): Promise<void> {
  assert.ok(url.href.startsWith(visit.post_logout_redirect_uri), `${url}: ${answer?.status} ${answer?.text}`);
  assertAsked(visit.signet, await begin(visit.agent, start));
}

const site =
  ({ command, signIn: path, refresh, renew, signOut }: Site): RelyingParty['journey'] =>
  async (visit) => {
    const { t, agent, origin, folder, env } = visit;
    const { said } = await serve(t, command(visit), `${origin}/`, { cwd: folder, env });
    const start = origin + path;
    try {
      assertUser(visit, await signIn(visit, start));
      if (refresh !== undefined) {
        const { url, answer } = await agent.open(origin + refresh);
        assert.ok(answer?.json, `${url}: ${answer?.status} ${answer?.text.slice(0, 2000)}`);
        await assertRefreshed(visit, answer.json.before, answer.json.after);
      }
      if (renew !== undefined) assertUser(visit, await agent.open(origin + renew));
      if (signOut !== undefined) await assertSignedOut(visit, await signOut(visit), start);
    } catch (error) {
      t.diagnostic(said().slice(-5000));
      throw error;
    }
  };

const submitted =
  (path: string): Site['signOut'] =>
  async ({ agent, origin, post_logout_redirect_uri }) =>
    agent.submit(await agent.open(origin + path), {}, post_logout_redirect_uri);

const django = (own: Pick<Site, 'signIn' | 'refresh' | 'renew' | 'signOut'>): RelyingParty => ({
  tools: python,
  shares: ['django'],
  prepare: pip('-r', 'requirements.txt'),
  build: ({ folder: cwd, env }) =>
    run('venv/bin/python', ['-m', 'django', 'migrate', '--settings=project', '--pythonpath=.'], { cwd, env }),
  journey: site({
    command: ({ env }) => [
      ...(['venv/bin/python', '-m', 'django', 'runserver', '--noreload'] as const),
      ...['--settings=project', '--pythonpath=.', `127.0.0.1:${env.PORT}`],
    ],
    ...own,
  }),
});

const spring: RelyingParty = {
  tools: jdk,
  shares: ['spring'],
  prepare: maven('package'),
  adapt: async (file, text) =>
    file.endsWith('.java')
      ? { file: `src/main/java/com/example/${file}`, text: `package com.example;\n\n${text}` }
      : { file: `src/main/resources/${file}`, text },
  build: ({ folder }) => maven('package')(folder),
  journey: site({
    command: () => ['java', '-jar', 'target/app-1.jar'],
    signIn: '/',
    refresh: '/refresh',
    signOut: submitted('/logout'),
  }),
};

/** @returns the text with a fragment before the one line that has `anchor`. */
function insert(text: string, anchor: string, fragment: string): string {
  const [before, after, ...more] = text.split(anchor);
  assert.ok(after !== undefined && more.length === 0, `the snippet has not exactly one ${anchor}`);
  return before + fragment + anchor + after;
}

const cargo = (cwd: string) => run('cargo', ['build', '--quiet', '--locked'], { cwd, maxBuffer: 2 ** 26 });

const ownFolder = (name: string) => join(import.meta.dirname, name);
const apacheModules = '/usr/lib/apache2/modules';

const relyingParties: Readonly<Record<ClientName, RelyingParty>> = {
  authlib: {
    tools: python,
    prepare: pip('-r', 'requirements.txt'),
    journey: site({
      command: ({ env }) => ['venv/bin/python', '-m', 'flask', '--app', 'main', 'run', '--port', env.PORT ?? ''],
      signIn: '/signin',
      refresh: '/refresh',
      signOut: ({ agent, origin, post_logout_redirect_uri }) =>
        agent.post(`${origin}/signout`, {}, post_logout_redirect_uri),
    }),
  },
  'mozilla-django-oidc': django({
    signIn: '/oidc/authenticate/',
    renew: '/renew',
    signOut: submitted('/sign-out'),
  }),
  'django-allauth': django({ signIn: '/accounts/oidc/signet/login/' }),
  'python-social-auth': django({ signIn: '/sign-in', refresh: '/refresh' }),
  'go-oidc': {
    tools: [['go', 'version']],
    prepare: (cwd) => run('go', ['mod', 'download'], { cwd }),
    adapt: async (file, text, { env }) => ({
      file,
      text: insert(
        text.replace('":8000"', `"127.0.0.1:${env.PORT}"`),
        '\t\tuser, err := provider.UserInfo(',
        '\t\tremember(provider, config, token)\n',
      ),
    }),
    build: ({ folder: cwd }) => run('go', ['build', '-o', 'app', '.'], { cwd }),
    journey: site({
      command: () => ['./app'],
      signIn: '/signin',
      refresh: '/refresh',
      signOut: ({ agent, origin, post_logout_redirect_uri }) =>
        agent.open(`${origin}/signout`, post_logout_redirect_uri),
    }),
  },
  'rust-openidconnect': {
    tools: [['cargo', '--version']],
    prepare: async (cwd) => {
      await mkdir(join(cwd, 'src'));
      await writeFile(join(cwd, 'src/main.rs'), 'fn main() {}');
      await cargo(cwd);
    },
    adapt: async (file, text) => ({
      file,
      text: insert(
        text,
        '    println!("{} {}"',
        await readFile(join(ownFolder('rust-openidconnect'), 'after-sign-in.rs'), 'utf8'),
      ),
    }),
    build: ({ folder }) => cargo(folder),
    journey: commandLine,
  },
  'spring-security-7': spring,
  'spring-security-6': spring,
  'mod-auth-openidc': {
    tools: [
      ['apache2', '-v'],
      ['test', '-e', `${apacheModules}/mod_auth_openidc.so`],
    ],
    journey: apache,
  },
  'oauth2-proxy': {
    tools: [['oauth2-proxy', '--version']],
    journey: site({
      command: ({ env }) => [
        ...(['oauth2-proxy', '--config', 'oauth2-proxy.cfg', '--http-address', `127.0.0.1:${env.PORT}`] as const),
        ...['--upstream', 'static://202', '--cookie-secure=false', '--cookie-refresh', '1s', '--skip-provider-button'],
      ],
      signIn: '/oauth2/start?rd=/oauth2/userinfo',
      renew: '/oauth2/userinfo',
    }),
  },
};

/** It prints where to sign in, takes the query of the callback, and prints what it has found. */
async function commandLine(visit: Visit): Promise<void> {
  const { t, agent, folder, env, redirect_uri, post_logout_redirect_uri } = visit;
  const child = spawn(resolve(folder, env.CARGO_TARGET_DIR ?? 'target', 'debug/relying-party'), { cwd: folder, env });
  t.after(() => child.kill());
  let failed = '';
  child.stderr.on('data', (chunk) => (failed += chunk));
  const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await printed.next();
    return done ? assert.fail(`it has ended: ${failed}`) : value;
  };
  const start = await next();
  const { url } = await signIn(visit, start, redirect_uri);
  child.stdin.end(`${url.search.slice(1)}\n`);
  await assertRefreshed(visit, await next(), await next());
  const signOut = await next();
  assert.equal(await next(), `${visit.user.user_id} ${visit.user.email}`);
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 0, failed);
  await assertSignedOut(visit, await agent.open(signOut, post_logout_redirect_uri), start);
}

/** The module's own pages, at its redirect URI, stand for those of an application. */
async function apache(visit: Visit): Promise<void> {
  const { t, agent, folder, env, origin, redirect_uri, post_logout_redirect_uri } = visit;
  // It gives up root's rights, and has to read its files after that.
  await chmod(folder, 0o755);
  const command = ['apache2', '-d', folder, '-f', 'httpd.conf', '-DFOREGROUND'] as const;
  await serve(t, command, `${origin}/`, { cwd: folder, env: { ...env, APACHE_MODULES: apacheModules } });
  try {
    const { answer } = await signIn(visit, `${origin}/`);
    assert.equal(answer?.text, 'signed in\n');
    const info = async () =>
      (await agent.open(`${redirect_uri}?info=json`)).answer?.json as {
        access_token: string;
        userinfo: { sub: string; email: string };
      };
    const { access_token, userinfo } = await info();
    assert.deepEqual([userinfo.sub, userinfo.email], [visit.user.user_id, visit.user.email]);
    const refresh = new URLSearchParams({ refresh: `${origin}/`, access_token });
    assert.equal((await agent.open(`${redirect_uri}?${refresh}`)).answer?.text, 'signed in\n');
    await assertRefreshed(visit, access_token, (await info()).access_token);
    const signOut = new URLSearchParams({ logout: post_logout_redirect_uri });
    const page = await agent.open(`${redirect_uri}?${signOut}`, post_logout_redirect_uri);
    await assertSignedOut(visit, page, `${origin}/`);
  } catch (error) {
    t.diagnostic((await readFile(join(folder, 'error.log'), 'utf8')).slice(-5000));
    throw error;
  }
}

/** A client that is registered as the form proposes for this library, and its snippet in the folder of the program. */
async function settle(
  t: TestContext,
  library: Library,
  { adapt }: RelyingParty,
  { algorithm, folder }: { algorithm: Library['algorithms'][number]; folder: string },
): Promise<Visit> {
  const signet = await startSignet(t);
  const port = String(await freePort());
  const origin = `http://localhost:${port}`;
  const redirect_uri = origin + (library.callback ?? '/callback');
  const post_logout_redirect_uri = `${origin}/signed-out`;
  const scopes = ['openid', 'profile', 'email', 'offline_access'];
  const { client_id, client_secret } = await signet.registerClient({
    library: library.id,
    redirect_uris: [redirect_uri],
    post_logout_redirect_uris: [post_logout_redirect_uri],
    allowed_scopes: scopes,
    id_token_signed_response_alg: algorithm,
    claims_in_id_token: library.claims_in_id_token ?? true,
    token_endpoint_auth_method: library.authentication,
  });
  const secrets = {
    OIDC_CLIENT_SECRET: client_secret ?? '',
    OIDC_CRYPTO_PASSPHRASE: 'some passphrase for this run',
    FLASK_SECRET_KEY: 'some key for this run',
    OAUTH2_PROXY_CLIENT_SECRET: client_secret ?? '',
    OAUTH2_PROXY_COOKIE_SECRET: '0123456789abcdef0123456789abcdef',
  };
  const visit: Visit = {
    t,
    signet,
    user: await signet.newUser(),
    agent: new UserAgent(),
    folder,
    env: {
      ...process.env,
      ...secrets,
      PORT: port,
      SERVER_PORT: port,
      POST_LOGOUT_REDIRECT_URI: post_logout_redirect_uri,
    },
    origin,
    redirect_uri,
    post_logout_redirect_uri,
  };
  const values = {
    client_id,
    client_type: 'confidential',
    issuer: signet.url,
    redirect_uri,
    post_logout_redirect_uri,
    scope: scopes.join(' '),
    algorithm,
  } as const;
  for (const snippet of snippetOf(library.id, values)) {
    const { file, text } = (await adapt?.(snippet.file, snippet.text, visit)) ?? snippet;
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return visit;
}

for (const name of clients.filter(isChosen)) {
  test(name, { timeout: 30 * minutes }, async (t) => {
    const party = relyingParties[name];
    const library = findLibrary(name) ?? assert.fail('it is not in the catalogue');
    const missing = await missingTool(party.tools);
    if (missing !== undefined) return t.skip(missing);
    const folder = await scratchFolder(name);
    t.after(() => rm(folder, { recursive: true, force: true }));
    for (const part of [...(party.shares ?? []), name]) await cp(ownFolder(part), folder, { recursive: true });
    const unavailability = await unavailable(async () => party.prepare?.(folder));
    if (unavailability !== undefined) return t.skip(unavailability);
    for (const algorithm of library.algorithms) {
      await t.test(algorithm, async (t) => {
        const visit = await settle(t, library, party, { algorithm, folder });
        await party.build?.(visit);
        await party.journey(visit);
      });
    }
  });
}
