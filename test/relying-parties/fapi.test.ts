import assert from 'node:assert/strict';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { FapiClient } from '../support/fapi-client.ts';
import { claimsOf, redirectedTo } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startPresentSignet } from './catalogue-client.ts';

type Tokens = { access_token: string; refresh_token: string; token_type: string };
type Snippet = {
  startSignIn(): Promise<{ url: URL; checks: object }>;
  finishSignIn(query: string, checks: object): Promise<Tokens>;
  refresh(tokens: Tokens): Promise<Tokens>;
  readUser(tokens: Tokens): Promise<{ sub: string }>;
};

const root = new URL('../../', import.meta.url);

/** The blocks of the page, each with the name of its library. */
async function snippetsOf(page: string): Promise<Map<string, string>> {
  const text = await readFile(new URL(page, root), 'utf8');
  return new Map([...text.matchAll(/^```js (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]));
}

test('libraries sign users in under FAPI 2.0 as docs/fapi.md shows', async (t) => {
  const signet = await startPresentSignet(t);
  const user = await signet.signedInUser();
  const folder = await scratchFolder('fapi');
  t.after(() => rm(folder, { recursive: true, force: true }));
  await symlink(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'));
  const snippets = await snippetsOf('docs/fapi.md');
  assert.deepEqual([...snippets.keys()], ['openid-client', 'oauth4webapi']);
  for (const [library, text] of snippets) {
    await t.test(library, async () => {
      const redirect_uri = 'https://app.example.com/cb';
      const client = await FapiClient.register(signet, { redirect_uris: [redirect_uri] });
      process.env.CLIENT_KEY = JSON.stringify({
        ...client.pair.privateKey.export({ format: 'jwk' }),
        kid: client.pair.kid,
      });
      const file = join(folder, `${library}.mjs`);
      // This issuer is on http, which the libraries have to be told.
      const here = text
        .replaceAll('https://id.example.com', signet.url)
        .replaceAll('CLIENT_ID', client.client_id)
        .replace(
          'key, kid: jwk.kid }),\n);',
          'key, kid: jwk.kid }),\n  { execute: [client.allowInsecureRequests] },\n);',
        )
        .replaceAll('{ DPoP }', '{ DPoP, [oauth.allowInsecureRequests]: true }')
        .replaceAll('    DPoP,\n', '    DPoP, [oauth.allowInsecureRequests]: true,\n')
        .replace('discoveryRequest(issuer)', 'discoveryRequest(issuer, { [oauth.allowInsecureRequests]: true })');
      await writeFile(
        file,
        library === 'openid-client' ? here.replaceAll(', [oauth.allowInsecureRequests]: true', '') : here,
      );
      const { startSignIn, finishSignIn, refresh, readUser } = (await import(pathToFileURL(file).href)) as Snippet;

      const { url, checks } = await startSignIn();
      assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
      const landed = redirectedTo(await user.browser.get(url.pathname + url.search));
      assert.equal(landed.base, redirect_uri);
      const tokens = await finishSignIn(landed.toString(), checks);
      assert.equal(tokens.token_type.toLowerCase(), 'dpop');
      assert.equal((await readUser(tokens)).sub, user.user_id);
      const refreshed = await refresh(tokens);
      assert.deepEqual(claimsOf(refreshed.access_token).cnf, claimsOf(tokens.access_token).cnf);
      assert.equal((await readUser(refreshed)).sub, user.user_id);
    });
  }
});
