import assert from 'node:assert/strict';
import { suspendClient } from '../../src/clients/review-client.ts';
import { inspectToken } from '../../src/developer/client-check/inspect-token.ts';
import type { Answer } from '../support/browser.ts';
import { message, sentence } from '../support/messages.ts';
import { assertRefused, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** The owner of a client tests it from the console. The redirect URI of the test is of no use for anything else. */

type Named = Pick<RegisteredClient, 'client_id'>;
const pathOf = ({ client_id }: Named) => `/developer/clients/${client_id}/test`;
const asProgram = { accept: 'application/json' };

const start = async ({ browser }: TestUser, client: Named): Promise<string> => {
  const answer = await browser.post(pathOf(client));
  assert.equal(answer.status, 303, answer.text);
  return answer.location;
};
const follow = async ({ browser }: TestUser, path: string) => (await browser.get(path)).location;
const partsOf = ({ text }: Answer) => [...text.matchAll(/id="step-(\w+)"/g)].map(([, name]) => name);
const activityOf = async ({ browser }: TestUser, { client_id }: Named) =>
  (await browser.get(`/v1/oauth/clients/${client_id}/activity`)).json as { sign_ins: object[]; failures: object[] };

const everything = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];

testSignet(
  'the owner runs the whole flow as the client, sees each step, and nothing remains',
  async ({ signet, t }) => {
    const ada = await signet.signedInUser();

    for (const [client_type, id_token_signed_response_alg] of [
      ['confidential', 'EdDSA'],
      ['public', 'RS256'],
    ] as const) {
      await t.test(`${client_type} client, ${id_token_signed_response_alg}`, async () => {
        const options = { owner: ada, client_type, id_token_signed_response_alg, allowed_scopes: everything };
        const client = await signet.registerClient(options);
        assert.match((await ada.browser.get(pathOf(client))).text, sentence('developer.test.intro'));
        const callback = await follow(ada, await start(ada, client));
        assert.ok(callback.startsWith(`${signet.url}${pathOf(client)}/callback?code=ac_`), callback);
        const shown = await ada.browser.get(callback);
        assert.equal(shown.status, 200, shown.text);
        assert.deepEqual(partsOf(shown), ['authorize', 'token', 'userinfo', 'refresh', 'revoke']);
        assert.match(shown.text, sentence('developer.test.passed'));
        assert.doesNotMatch(shown.text, sentence('developer.test.check.failed'));
        for (const part of [
          'developer.test.member.acr',
          'developer.test.check.nonce',
          'developer.test.check.at_hash',
        ] as const) {
          assert.match(shown.text, sentence(part));
        }
        assert.match(shown.text, new RegExp(`urn:signet:acr:1fa.*${ada.email}`, 's'));
        assert.doesNotMatch(shown.text, /(?:ac|rt)_[\w-]{20}|eyJ[\w-]{20}/, 'credentials are shortened');
        assert.equal(shown.headers.get('cache-control'), 'no-store');

        const { sign_ins, failures } = await activityOf(ada, client);
        assert.partialDeepStrictEqual(sign_ins, [{ sub: ada.user_id, connected: false, ended_because: 'client' }]);
        assert.deepEqual(failures, []);
        const events = await signet.auditLog({ action: 'grant.revoked' });
        assert.ok(events.some(({ actor }) => actor === `client:${client.client_id}`));

        const again = await ada.browser.get(callback);
        assert.equal(again.status, 400);
        assert.match(again.text, sentence('developer.test.over'));
      });
    }

    await t.test(
      'a client that may not refresh has no such step, and its access token is revoked with its grant',
      async () => {
        const client = await signet.registerClient({ owner: ada, allowed_scopes: ['openid'] });
        const shown = await ada.browser.get(await follow(ada, await start(ada, client)));
        assert.deepEqual(partsOf(shown), ['authorize', 'token', 'userinfo', 'revoke']);
        assert.match(shown.text, sentence('developer.test.passed'));
        assert.partialDeepStrictEqual((await activityOf(ada, client)).sign_ins, [{ connected: false }]);
      },
    );

    await t.test('pages in between are the ordinary ones, and a refusal is shown on the page of the test', async () => {
      const client = await signet.registerClient({ owner: ada, consent: 'required' });
      const ask = async () => {
        const to = await follow(ada, await start(ada, client));
        assert.match(to, /^\/consent\?/);
        return new URL(to, signet.url).searchParams.get('request') ?? '';
      };
      const decide = (request: string, decision: string) =>
        ada.browser.post('/consent', { request, user: ada.user_id, decision });
      const denied = await ada.browser.get((await decide(await ask(), 'deny')).location);
      assert.equal(denied.status, 200, denied.text);
      assert.deepEqual(partsOf(denied), ['authorize']);
      assert.match(denied.text, /<strong>access_denied<\/strong>/);
      const allowed = await decide(await ask(), 'allow');
      const shown = await ada.browser.get(await follow(ada, allowed.location));
      assert.match(shown.text, sentence('developer.test.passed'));
      const { grants } = (await ada.browser.get('/v1/me/grants')).json as { grants: object[] };
      assert.deepEqual(grants, [], 'the test is no connected app');
      await ask(); // for it remembers no consent
      const german = await ada.browser.get(`${pathOf(client)}?ui_locales=de`);
      assert.match(german.text, sentence('developer.test.safety', {}, 'de'));
    });
  },
);

testSignet('what is wrong with a token fails its own check, and no other', async ({ signet }) => {
  const ada = await signet.signedInUser();
  const { deps } = signet;
  const registered = await signet.registerClient({ owner: ada });
  const client = (await deps.clients.find(registered.client_id))!;
  const { id_token, access_token } = await ada.obtainTokens(registered);
  const failing = async (changes: Partial<typeof client>, token = id_token, expected = { nonce: 'n1', access_token }) =>
    (await inspectToken(deps, { ...client, ...changes }, 'id_token', token, expected)).checks
      .filter(({ passed }) => !passed)
      .map(({ name }) => name);
  assert.deepEqual(await failing({}), []);
  assert.deepEqual(await failing({ client_id: 'cl_other' }), ['aud']);
  assert.deepEqual(await failing({ id_token_signed_response_alg: 'RS256' }), ['signature', 'at_hash']);
  assert.deepEqual(await failing({}, id_token.replace(/.{8}$/, 'AAAAAAAA')), ['signature']);
  assert.deepEqual(await failing({}, id_token, { nonce: 'n2', access_token: 'x' }), ['nonce', 'at_hash']);
  signet.clock.advance(3600);
  assert.deepEqual(await failing({}), ['exp']);
});

testSignet('AZ-02: the redirect URI of the test is refused in any other request', async ({ signet }) => {
  const ada = await signet.signedInUser();
  const client = await signet.registerClient({ owner: ada });
  const redirect_uri = `${signet.url}${pathOf(client)}/callback`;
  await start(ada, client);
  for (const user of [ada, await signet.signedInUser()]) {
    for (const changes of [{ redirect_uri }, { redirect_uri, test_owner: user.user_id }]) {
      assertRefused(await user.browser.get(client.authorizePath(changes), asProgram), 400, 'invalid_request');
    }
  }
});

testSignet('only the owner of an approved client can test it', async ({ signet }) => {
  const ada = await signet.signedInUser();
  const eve = await signet.signedInUser();
  const client = await signet.registerClient({ owner: ada });
  for (const path of [pathOf(client), `${pathOf(client)}/callback?code=x&state=y`]) {
    assert.equal((await eve.browser.get(path)).status, 404);
  }
  assert.equal((await eve.browser.post(pathOf(client))).status, 404);

  const pending = await signet.registerClient({ owner: ada, approved: false });
  const waiting = await ada.browser.get(pathOf(pending));
  assert.match(waiting.text, sentence('developer.test.not_approved'));
  assert.doesNotMatch(waiting.text, /id="test-start"/);
  assertRefused(await ada.browser.post(pathOf(pending), {}, asProgram), 400, 'unauthorized_client');

  const begun = await start(ada, client);
  await suspendClient(signet.deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'abuse');
  signet.clock.advance(2);
  assertRefused(await ada.browser.get(begun, asProgram), 400, 'unauthorized_client');
  assertRefused(await ada.browser.post(pathOf(client), {}, asProgram), 400, 'unauthorized_client');
});

testSignet('a test is for the browser that started it, its user, its client, and for once', async ({ signet, t }) => {
  const ada = await signet.signedInUser();
  const client = await signet.registerClient({ owner: ada });

  await t.test('another browser of the same user cannot continue it', async () => {
    const elsewhere = await ada.signedInElsewhere();
    const begun = await start(ada, client);
    assertRefused(await elsewhere.browser.get(begun, asProgram), 400, 'invalid_request');
    const callback = await follow(ada, begun);
    assert.match((await elsewhere.browser.get(callback)).text, sentence('developer.test.over'));
  });

  await t.test('it is used up by its code', async () => {
    const begun = await start(ada, client);
    const callback = await follow(ada, begun);
    assertRefused(await ada.browser.get(begun, asProgram), 400, 'invalid_request');
    const copied = ada.withCopiedCookies();
    assert.match((await ada.browser.get(callback)).text, sentence('developer.test.passed'));
    const replayed = await copied.browser.get(callback);
    assert.match(replayed.text, sentence('developer.test.failed', { step: message('developer.test.step.token') }));
    assert.match(replayed.text, sentence('failure.code_replayed'));
  });

  await t.test('the code is bound to the redirect URI and the verifier of the test', async () => {
    const code = redirectedTo(await ada.browser.get(await start(ada, client))).get('code') ?? '';
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    const redirect_uri = `${signet.url}${pathOf(client)}/callback`;
    assertRefused(await client.with({ redirect_uri }).redeem(code), 400, 'invalid_grant');
  });

  await t.test('an answer to another request, test or client is refused', async () => {
    const other = await signet.registerClient({ owner: ada });
    const first = await follow(ada, await start(ada, client));
    const begun = await follow(ada, await start(ada, other));
    assert.match((await ada.browser.get(first)).text, sentence('developer.test.over'));
    assert.match((await ada.browser.get(begun)).text, sentence('developer.test.over'), 'the refusal ended it');
  });

  await t.test('another user of the browser gets no code', async () => {
    const eve = await signet.newUser();
    const begun = await start(ada, client);
    const browser = ada.browser;
    await browser.post('/signout', { user: ada.user_id });
    const signIn = await follow(ada, begun);
    assert.match(signIn, /^\/signin\?request=/);
    const request = new URL(signIn, signet.url).searchParams.get('request') ?? '';
    const signedIn = await eve.with({ browser }).signIn({ request });
    const to = redirectedTo(await browser.get(signedIn.location));
    assert.deepEqual([to.get('error'), to.get('code')], ['access_denied', null]);
    assert.equal((await browser.get(`${to.base}?${to}`)).status, 404);
  });
});
