import assert from 'node:assert/strict';
import { assertRefused, basic, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const hour = 3600;

/** Of the newest failures that the developer of a client reads, once they are written. */
async function failureCodes(signet: Signet, { browser }: TestUser, client_id: string): Promise<string[]> {
  await signet.deps.clientFailures.close();
  const { failures } = (await browser.get(`/v1/oauth/clients/${client_id}/activity`)).json as {
    failures: { code: string }[];
  };
  return failures.map(({ code }) => code);
}

testSignet(
  'a refresh token of a single-page app expires after 24 hours without use, of others after 30 days',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client_type = 'public';
    const spa = await signet.registerClient({ owner: user, client_type, application_type: 'spa' });
    const other = await signet.registerClient({ owner: user, client_type });
    let [ofSpa, ofOther] = [await user.obtainTokens(spa), await user.obtainTokens(other)];
    signet.clock.advance(23 * hour);
    ofSpa = tokensOf(await spa.refresh(ofSpa.refresh_token)); // it counts from the last use
    signet.clock.advance(23 * hour);
    ofSpa = tokensOf(await spa.refresh(ofSpa.refresh_token));
    signet.clock.advance(24 * hour);
    assertRefused(await spa.refresh(ofSpa.refresh_token), 400, 'invalid_grant');
    ofOther = tokensOf(await other.refresh(ofOther.refresh_token));
    signet.clock.advance(29 * 24 * hour);
    tokensOf(await other.refresh(ofOther.refresh_token));
  },
);

testSignet(
  'a native app is redirected to its own scheme, and to any port of a loopback address',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const redirect_uris = ['com.example.app:/cb', 'http://127.0.0.1/cb', 'http://localhost/cb'];
    const app = await signet.registerClient({ owner: user, client_type: 'public', redirect_uris });
    const web = await signet.registerClient({
      owner: user,
      client_type: 'public',
      application_type: 'web',
      redirect_uris: [redirect_uris[1]!],
    });
    const answer = await user.browser.get(app.authorizePath());
    assert.match(answer.location ?? '', /^com\.example\.app:\/cb\?code=/);
    const elsewhere = { redirect_uri: 'http://127.0.0.1:51004/cb' };
    assert.ok(redirectedTo(await user.browser.get(app.authorizePath(elsewhere))).get('code'));
    assert.equal((await user.browser.get(web.authorizePath(elsewhere))).status, 400);
    const byName = { redirect_uri: 'http://localhost:51004/cb' };
    const answered = redirectedTo(await user.browser.get(app.authorizePath(byName)));
    assert.equal(answered.base, byName.redirect_uri);
  },
);

testSignet('a client that names its authentication method is refused with any other', async ({ signet }) => {
  const user = await signet.signedInUser();
  const methods = ['client_secret_basic', 'client_secret_post'] as const;
  for (const token_endpoint_auth_method of methods) {
    const client = await signet.registerClient({ owner: user, token_endpoint_auth_method });
    const { client_id, client_secret } = client;
    const token = { grant_type: 'refresh_token', refresh_token: 'rt_x' };
    const header = { authorization: basic(client_id, client_secret!) };
    const [byBasic, byPost] = [
      await signet.postForm('/oauth/token', token, header),
      await signet.postForm('/oauth/token', { ...token, client_id, client_secret: client_secret! }),
    ];
    const isBasic = token_endpoint_auth_method === 'client_secret_basic';
    assertRefused(isBasic ? byBasic : byPost, 400, 'invalid_grant'); // authenticated
    assertRefused(isBasic ? byPost : byBasic, 401, 'invalid_client');
    assert.ok((await failureCodes(signet, user, client_id)).includes('authentication_method'));
    // Introspection has one method for all clients, as discovery says.
    assert.deepEqual((await client.introspect('rt_x')).json, { active: false });
  }
});

testSignet('CA-05: a wrong secret counts, by whichever method it was guessed', async ({ signet }) => {
  const client = await signet.registerClient({ token_endpoint_auth_method: 'client_secret_basic' });
  const { client_id } = client;
  const guess = { grant_type: 'refresh_token', refresh_token: 'rt_x', client_id, client_secret: 'cs_wrong' };
  for (let guesses = 0; guesses < 20; guesses += 1) {
    assertRefused(await signet.postForm('/oauth/token', guess), 401, 'invalid_client');
  }
  assertRefused(await signet.postForm('/oauth/token', guess), 429, 'rate_limited');
});

testSignet('a developer reads what was wrong with a request and what would be right', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const described = async (changes: Record<string, string | undefined>) =>
    redirectedTo(await user.browser.get(client.authorizePath(changes))).get('error_description') ?? '';
  const refused = await described({ scope: 'groups entitlements:read' });
  assert.match(refused, /names nothing that is allowed\. Allowed: openid profile email offline_access\./);
  assert.doesNotMatch(refused, /groups/, 'input is never echoed');
  assert.match(
    await described({ code_challenge: undefined }),
    /code_challenge is missing\..*code_challenge_method=S256/,
  );
  assert.match(await described({ code_challenge_method: undefined }), /code_challenge_method is missing.*S256/);
  assert.match(await described({ prompt: 'later' }), /Known are: none, login, consent, select_account/);
  const twice = redirectedTo(await user.browser.get(`${client.authorizePath()}&nonce=a&nonce=b&x=1&x=2`));
  assert.equal(twice.get('error_description'), 'Sent more than once: nonce.');

  const { refresh_token } = await user.obtainTokens(client);
  const wider = await client.refresh(refresh_token, { scope: 'profile entitlements:read' });
  assertRefused(wider, 400, 'invalid_scope');
  assert.match(wider.text, /names nothing that is allowed\. Allowed: openid offline_access\./);
});

testSignet('a replay within a minute is explained as a parallel refresh, a later one is not', async ({ signet }) => {
  const user = await signet.signedInUser();
  const codesAfter = async (seconds: number) => {
    const client = await signet.registerClient({ owner: user });
    const { refresh_token } = await user.obtainTokens(client);
    tokensOf(await client.refresh(refresh_token));
    signet.clock.advance(seconds);
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
    return failureCodes(signet, user, client.client_id);
  };
  assert.deepEqual(await codesAfter(2), ['refresh_parallel']);
  assert.deepEqual(await codesAfter(61), ['refresh_replayed']);
});
