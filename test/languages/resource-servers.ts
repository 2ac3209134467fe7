import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { installedPackage } from '../../packages/verify/test/installed-package.ts';
import { newApi } from '../support/apis.ts';
import { freePort } from '../support/free-port.ts';
import { readRecipe, writeRecipe } from '../support/recipes.ts';
import { claimsOf } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';
import { isChosen, type ResourceServerName, resourceServers } from './cases.ts';
import { type Command, jdk, maven, missingTool, pip, python, run, serve, textOf, unavailable } from './programs.ts';

/*
 * The recipes of docs/resource-servers, run as they stand on the page, with tokens of a real Signet. Each needs the tools of its
 * language and mostly a network, so they are no part of `npm test`; what is missing is skipped, and said.
 *
 *     npm run test:clients -- --only pyjwt
 */
const minutes = 60_000;

type Algorithm = 'EdDSA' | 'RS256';
type Settings = { ISSUER: string; AUDIENCE: string };
/** What a program made of a token: it printed the user's ID, or refused. */
type Outcome = { sub: string } | { refused: string };
type Check = (token: string) => Promise<Outcome>;

type Recipe = {
  algorithms: readonly Algorithm[];
  /** Commands that must be there. */
  tools: readonly Command[];
  /** Installs and builds, in a folder that has the files of the page. */
  prepare?: (folder: string) => Promise<unknown>;
  start: (t: TestContext, folder: string, settings: Settings) => Promise<Check>;
};

/** A program that takes the token as its argument. */
const oneShot =
  (command: string, ...args: string[]): Recipe['start'] =>
  async (_t, cwd, settings) =>
  (token) =>
    run(command, [...args, token], { cwd, env: { ...process.env, ...settings } }).then(
      ({ stdout }) => ({ sub: stdout.trim() }),
      (error: { code?: number | string }) => {
        // A program that fails for another reason ends with 1 in most languages, too.
        const [, refused] = /^refused: (.*)/m.exec(textOf(error)) ?? assert.fail(textOf(error));
        return { refused: refused ?? '' };
      },
    );

/** A program that serves until the end of the test. */
const server =
  (
    path: string,
    subjectOf: (response: Response) => Promise<string>,
    command: string,
    ...args: string[]
  ): Recipe['start'] =>
  async (t, cwd, settings) => {
    const port = String(await freePort());
    const env = { ...process.env, ...settings, PORT: port, SERVER_PORT: port };
    const url = `http://127.0.0.1:${port}${path}`;
    await serve(t, [command, ...args], url, { cwd, env });
    assert.equal((await fetch(url)).status, 401, 'without a token');
    return async (token) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      if (response.ok) return { sub: await subjectOf(response) };
      assert.equal(response.status, 401);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/);
      return { refused: response.headers.get('www-authenticate') ?? '' };
    };
  };

const recipes: Readonly<Record<ResourceServerName, Recipe>> = {
  node: {
    algorithms: ['EdDSA', 'RS256'],
    tools: [],
    start: server('/', (response) => response.text(), 'node', 'server.mjs'),
  },
  'nginx-oauth2-proxy': {
    algorithms: ['EdDSA'],
    tools: [],
    start: server('/', async ({ headers }) => headers.get('x-subject') ?? '', 'node', 'verifier.mjs'),
  },
  pyjwt: {
    algorithms: ['EdDSA', 'RS256'],
    tools: python,
    prepare: pip('pyjwt[crypto]==2.15.1'),
    start: oneShot('venv/bin/python', 'access_token.py'),
  },
  'golang-jwt': {
    algorithms: ['EdDSA', 'RS256'],
    tools: [['go', 'version']],
    prepare: async (cwd) => {
      await run('go', ['mod', 'init', 'example.com/api'], { cwd });
      await run('go', ['get', 'github.com/golang-jwt/jwt/v5@v5.3.1'], { cwd });
      await run('go', ['vet', '.'], { cwd });
      await run('go', ['build', '-o', 'api', '.'], { cwd });
    },
    start: oneShot('./api'),
  },
  jose4j: {
    algorithms: ['EdDSA', 'RS256'],
    tools: jdk,
    prepare: maven('compile', 'dependency:copy-dependencies'),
    start: oneShot('java', '-cp', 'target/classes:target/dependency/*', 'AccessToken'),
  },
  spring: {
    algorithms: ['RS256'],
    tools: jdk,
    prepare: maven('package'),
    start: server('/me', (response) => response.text(), 'java', '-jar', 'target/api-1.jar'),
  },
};

/** A Signet on the clock of the machine, and tokens of each kind. */
async function tokensFor(t: TestContext, id_token_signed_response_alg: Algorithm) {
  const signet = await startSignet(t);
  const hour = 3600;
  signet.clock.advance((Date.now() - signet.clock()) / 1000 - hour - 60);
  const user = await signet.signedInUser();
  const api = await newApi(signet, ['notes:read']);
  const allowed_scopes = ['openid', 'profile', 'email', 'offline_access', 'notes:read'];
  const client = await signet.registerClient({ id_token_signed_response_alg, allowed_scopes });
  const other = await signet.registerClient({ id_token_signed_response_alg });
  const expired = (await user.obtainTokens(client)).access_token;
  signet.clock.advance(hour + 60);
  const { access_token, id_token, refresh_token } = await user.obtainTokens(client);
  const [header = '', payload = '', signature = ''] = access_token.split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
  const unknown = { alg: id_token_signed_response_alg, typ: 'at+jwt', kid: 'unknown' };
  const refused = {
    expired,
    'for another client': (await user.obtainTokens(other)).access_token,
    'for an API, by the same client': (await user.obtainTokens(client, { scope: 'openid notes:read' })).access_token,
    'an id token': id_token,
    'a refresh token': refresh_token,
    'with the signature of another': [header, id_token.split('.')[1], signature].join('.'),
    'without a signature': `${none}.${payload}.`,
    'by an unknown key': [Buffer.from(JSON.stringify(unknown)).toString('base64url'), payload, signature].join('.'),
    nonsense: 'nonsense',
  };
  assert.deepEqual(claimsOf(refused['for an API, by the same client']).aud, [client.client_id, api.identifier]);
  const settings: Settings = { ISSUER: signet.url, AUDIENCE: client.client_id };
  return { settings, sub: user.user_id, access_token, refused };
}

for (const name of resourceServers.filter(isChosen)) {
  const { algorithms, tools, prepare, start } = recipes[name];
  const page = `${name}.md`;
  test(name, { timeout: 15 * minutes }, async (t) => {
    const missing = await missingTool(tools);
    if (missing !== undefined) return t.skip(missing);
    const usesPackage = /@signet\/verify'/.test(await readRecipe(page));
    const folder = usesPackage ? (await installedPackage(t)).project : await scratchFolder('recipe');
    t.after(() => rm(folder, { recursive: true, force: true }));
    await writeRecipe(page, folder);
    const unavailability = await unavailable(async () => prepare?.(folder));
    if (unavailability !== undefined) return t.skip(unavailability);
    for (const algorithm of algorithms) {
      await t.test(algorithm, async (t) => {
        const { settings, sub, access_token, refused } = await tokensFor(t, algorithm);
        const check = await start(t, folder, settings);
        assert.deepEqual(await check(access_token), { sub });
        for (const [name, token] of Object.entries(refused)) {
          const outcome = await check(token);
          assert.ok('refused' in outcome, `accepted: ${name}`);
          t.diagnostic(`${name}: ${outcome.refused.slice(0, 150)}`);
        }
        assert.deepEqual(await check(access_token), { sub }, 'and the right one again');
      });
    }
  });
}
