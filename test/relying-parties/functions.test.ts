import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import * as oauth from 'oauth4webapi';
import * as openidClient from 'openid-client';
import * as openidClient5 from 'openid-client-5';
import { secretVariable } from '../../src/clients/libraries/library.ts';
import { assertRefused } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import {
  assertSeen,
  type CatalogueClient,
  registerFor,
  runSnippet,
  seenWithout,
  startPresentSignet,
  without,
} from './catalogue-client.ts';
import { Visitor } from './visit.ts';

/** Libraries of functions: the snippet of the catalogue is run as the console shows it. */

type Tokens = { access_token: string; id_token: string; refresh_token: string };
type Snippet = {
  startSignIn(): Promise<{ url: URL | string; checks: object }>;
  finishSignIn(query: string, checks: object): Promise<Tokens>;
  readUser(tokens: Tokens): Promise<{ sub: string; name?: string; email?: string }>;
  signOutUrl(id_token: string): URL | string;
};

type Requests = {
  refresh(issuer: string, client: CatalogueClient, refresh_token: string): Promise<Partial<Tokens>>;
  revoke(issuer: string, client: CatalogueClient, token: string): Promise<unknown>;
};

const insecure = { [oauth.allowInsecureRequests]: true };

async function discover6(issuer: string, { client }: CatalogueClient) {
  const authentication = client.client_secret
    ? openidClient.ClientSecretPost(client.client_secret)
    : openidClient.None();
  const execute = [openidClient.allowInsecureRequests, openidClient.enableNonRepudiationChecks];
  return openidClient.discovery(new URL(issuer), client.client_id, {}, authentication, { execute });
}

async function discover5(issuer: string, { client }: CatalogueClient) {
  const { client_id, client_secret } = client;
  const { Client } = await openidClient5.Issuer.discover(issuer);
  return new Client({ client_id, client_secret: client_secret ?? undefined, id_token_signed_response_alg: 'RS256' });
}

async function discoverOauth(issuer: string, { client }: CatalogueClient) {
  const url = new URL(issuer);
  const server = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, insecure));
  const authentication = client.client_secret ? oauth.ClientSecretBasic(client.client_secret) : oauth.None();
  return [server, { client_id: client.client_id }, authentication] as const;
}

const libraries: Readonly<Record<string, Requests>> = {
  'openid-client': {
    refresh: async (issuer, client, token) => openidClient.refreshTokenGrant(await discover6(issuer, client), token),
    revoke: async (issuer, client, token) => openidClient.tokenRevocation(await discover6(issuer, client), token),
  },
  'openid-client-5': {
    refresh: async (issuer, client, token) => (await discover5(issuer, client)).refresh(token),
    revoke: async (issuer, client, token) => (await discover5(issuer, client)).revoke(token),
  },
  oauth4webapi: {
    async refresh(issuer, client, token) {
      const [server, of, authentication] = await discoverOauth(issuer, client);
      const response = await oauth.refreshTokenGrantRequest(server, of, authentication, token, insecure);
      const tokens = await oauth.processRefreshTokenResponse(server, of, response);
      await oauth.validateApplicationLevelSignature(server, response, insecure);
      return tokens;
    },
    async revoke(issuer, client, token) {
      const [server, of, authentication] = await discoverOauth(issuer, client);
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, of, authentication, token, insecure));
    },
  },
};

/** Runs the script of docs/relying-parties/client-keys.md. @returns the private key that it has written. */
async function keyOfTheGuide(t: TestContext): Promise<Record<string, unknown>> {
  const guide = await readFile(new URL('../../docs/relying-parties/client-keys.md', import.meta.url), 'utf8');
  const [, script = ''] = /`make-key\.mjs`\n\n```js\n([\s\S]*?)```/.exec(guide) ?? [];
  const cwd = await scratchFolder('key');
  t.after(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'make-key.mjs'), script);
  await promisify(execFile)(process.execPath, ['make-key.mjs'], { cwd });
  return JSON.parse(await readFile(join(cwd, 'private-key.json'), 'utf8'));
}

const aliases = (id: string) => (id === 'openid-client-5' ? { 'openid-client': id } : undefined);

test('libraries of functions sign in, read the user, refresh, revoke and sign out', async (t) => {
  const signet = await startPresentSignet(t);

  /** From the function of the snippet to its redirect URI. */
  async function signIn(visitor: Visitor, { startSignIn, finishSignIn }: Snippet) {
    const { url, checks } = await startSignIn();
    const { url: callback, typedPassword } = await visitor.open(url);
    return { typedPassword, tokens: () => finishSignIn(callback.search, checks) };
  }

  for (const id of ['openid-client', 'oauth4webapi']) {
    await t.test(`${id}, with a key that was made as the guide says, and without a secret`, async (t) => {
      const given = await registerFor(signet, id, { key: await keyOfTheGuide(t) });
      assert.equal(given.client.client_secret, null);
      assert.ok(!given.files.some(({ text }) => text.includes(secretVariable)));
      const snippet = await runSnippet<Snippet>(t, given);
      const user = await signet.newUser({ name: 'Ada Lovelace' });
      const visitor = new Visitor(signet, user, given.origin, false);
      for (const typesPassword of [true, false]) {
        const { typedPassword, tokens } = await signIn(visitor, snippet);
        assert.equal(typedPassword, typesPassword);
        assert.equal((await snippet.readUser(await tokens())).sub, user.user_id);
      }
    });
  }

  for (const [id, { refresh, revoke }] of Object.entries(libraries)) {
    for (const client_type of ['confidential', 'public'] as const) {
      if (id === 'openid-client-5' && client_type === 'public') continue;
      await t.test(`${id}, ${client_type}`, async (t) => {
        const given = await registerFor(signet, id, { client_type });
        const snippet = await runSnippet<Snippet>(t, given, aliases(id));
        const user = await signet.newUser({ name: 'Ada Lovelace' });
        const visitor = new Visitor(signet, user, given.origin, false);

        const first = await signIn(visitor, snippet);
        assert.equal(first.typedPassword, true);
        const tokens = await first.tokens();
        const { sub, name, email } = await snippet.readUser(tokens);
        assert.deepEqual([sub, name, email], [user.user_id, 'Ada Lovelace', user.email]);

        const refreshed = await refresh(signet.url, given, tokens.refresh_token);
        assert.ok(refreshed.access_token && refreshed.refresh_token !== tokens.refresh_token);
        await revoke(signet.url, given, refreshed.refresh_token!);
        assert.equal((await signet.userinfo(refreshed.access_token)).status, 401);

        const silent = await signIn(visitor, snippet);
        assert.equal(silent.typedPassword, false);
        const { id_token, refresh_token } = await silent.tokens();
        const left = await visitor.open(snippet.signOutUrl(id_token));
        assert.equal(left.url.href, given.post_logout_redirect_uri);
        assertRefused(await given.client.refresh(refresh_token), 400, 'invalid_grant');
        assert.equal((await signIn(visitor, snippet)).typedPassword, true);
      });
    }

    await t.test(`${id} without PKCE`, async (t) => {
      const given = await registerFor(signet, id);
      const snippet = await runSnippet<Snippet>(t, without(given, /^.*\bcode_challenge.*\n/gm), aliases(id));
      const visitor = new Visitor(signet, await signet.newUser(), given.origin, false);
      const { tokens } = await signIn(visitor, snippet);
      await assert.rejects(tokens, (refusal: Error & Record<'error' | 'error_description', string>) => {
        const { name, message, error, error_description } = refusal;
        const shown = message.includes(error) ? `${name}: ${message}` : `${name}: ${error}, ${error_description}`;
        assertSeen(shown, seenWithout(given, 'pkce'));
        return true;
      });
    });
  }

  await t.test('openid-client-5 without the algorithm of the client', async (t) => {
    const given = await registerFor(signet, 'openid-client-5', { algorithm: 'EdDSA' });
    const lacking = without(given, /^.*id_token_signed_response_alg.*\n/gm);
    const visitor = new Visitor(signet, await signet.newUser(), given.origin, false);
    const { tokens } = await signIn(visitor, await runSnippet<Snippet>(t, lacking, aliases('openid-client-5')));
    await assert.rejects(tokens, (error: Error) => {
      assert.equal(`${error.name}: ${error.message}`, seenWithout(given, 'algorithm'));
      return true;
    });
    const complete = await runSnippet<Snippet>(t, given, aliases('openid-client-5'));
    assert.ok((await (await signIn(visitor, complete)).tokens()).id_token);
  });
});
