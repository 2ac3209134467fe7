import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { rotateNow } from '../../src/oauth/signing-keys/signing-keys.ts';
import type { Answer } from '../support/browser.ts';
import { withoutLanguages } from '../support/forms.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, claimsOf, type Fields, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { statementsOf } from '../support/statements.ts';
import type { TestUser } from '../support/test-user.ts';

const returnUri = 'https://rp.test/post_logout_redirect';

const logoutPath = (fields: Fields) =>
  `/oauth/logout?${new URLSearchParams(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined))}`;

type Scene = { signet: Signet; user: TestUser; client: RegisteredClient; id_token: string; refresh_token: string };

async function signedIn(signet: Signet): Promise<Scene> {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, post_logout_redirect_uris: [returnUri] });
  const user = await signet.signedInUser();
  return { signet, user, client, ...(await user.obtainTokens(client)) };
}

async function assertSignedOut({ user, client, refresh_token }: Scene) {
  const silent = redirectedTo(await user.browser.get(client.authorizePath({ prompt: 'none' })));
  assert.equal(silent.get('error'), 'login_required');
  assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
}

async function assertSignedIn({ user, client }: Scene) {
  const silent = redirectedTo(await user.browser.get(client.authorizePath({ prompt: 'none' })));
  assert.ok(silent.get('code'));
}

/** An error page or none, and no redirect; the user is still signed in. */
async function assertNoRedirect(scene: Scene, answer: Answer, key: Parameters<typeof sentence>[0]) {
  assert.deepEqual([answer.status, answer.location], [400, '']);
  assert.match(answer.text, sentence(key));
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'same-origin');
  await assertSignedIn(scene);
}

/** Follows to the question, and presses one of its buttons. */
async function answerQuestion({ user, signet }: Scene, asked: Answer, decision: 'sign_out' | 'stay') {
  assert.equal(asked.status, 303);
  assert.match(asked.location, /^\/oauth\/logout\/confirm\?request=/);
  const page = await user.browser.get(asked.location);
  assert.equal(page.status, 200);
  assert.match(page.text, /<form method="post" action="\/oauth\/logout\/confirm" id="logout-confirm">/);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  const fields = [...withoutLanguages(page).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  const form = Object.fromEntries(fields.map(([, name, value]) => [name!, value!]));
  assert.equal(form.drawn_for, user.user_id);
  return { form, answer: await user.browser.post('/oauth/logout/confirm', { ...form, decision }), signet };
}

/** As if it had no hint: the user is asked, and does not return to a client that nothing else names. */
async function assertAsked(scene: Scene, hints: string[]) {
  let asked: Answer | undefined;
  for (const id_token_hint of hints) {
    const fields = { id_token_hint, post_logout_redirect_uri: returnUri, state: 's' };
    asked = await scene.user.browser.get(logoutPath(fields));
    assert.ok(!asked.location.includes(id_token_hint), 'the hint gets into no other URL');
    await answerQuestion(scene, asked, 'stay');
    await assertSignedIn(scene);
  }
  const { answer } = await answerQuestion(scene, asked!, 'sign_out');
  await assertSignedOutPage(scene, answer);
  await assertSignedOut(scene);
}

async function assertSignedOutPage({ user }: Scene, { status, location }: Answer) {
  assert.deepEqual([status, location], [303, '/signed-out']);
  const page = await user.browser.get(location);
  assert.equal(page.status, 200);
  assert.match(page.text, sentence('logout.done.title'));
}

const withHeader = (id_token: string, changes: object) => {
  const [header = '', claims = '', signature = ''] = id_token.split('.');
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), ...changes };
  return [Buffer.from(JSON.stringify(changed)).toString('base64url'), claims, signature].join('.');
};

testSignet('modules of the RP-Initiated Logout plan', async ({ signet, t }) => {
  const module = (name: string, run: (scene: Scene) => Promise<void>) =>
    t.test(name, async () => run(await signedIn(signet)));

  await module('oidcc-rp-initiated-logout-discovery-endpoint-verification', async () => {
    const answer = await fetch(`${signet.url}/.well-known/openid-configuration`);
    const { end_session_endpoint } = (await answer.json()) as Record<string, unknown>;
    assert.equal(end_session_endpoint, `${signet.url}/oauth/logout`);
  });

  await module('oidcc-rp-initiated-logout', async (scene) => {
    const fields = { id_token_hint: scene.id_token, post_logout_redirect_uri: returnUri, state: 'a b&c=ä' };
    const answer = await scene.user.browser.get(logoutPath(fields));
    assert.equal(answer.status, 303);
    assert.equal(answer.location, `${returnUri}?state=a+b%26c%3D%C3%A4`);
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(scene.user.browser.cookies.has('signet_identity_session'), false);
    await assertSignedOut(scene);
  });

  await module('oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', async (scene) => {
    const fields = { id_token_hint: scene.id_token, post_logout_redirect_uri: 'https://rp.test/elsewhere', state: 's' };
    await assertNoRedirect(scene, await scene.user.browser.get(logoutPath(fields)), 'logout.redirect_uri');
  });

  await module('oidcc-rp-initiated-logout-modified-id-token-hint', async (scene) => {
    const [header, claims] = withHeader(scene.id_token, { alg: 'none' }).split('.');
    await assertAsked(scene, [`${header}.${claims}.`, `${scene.id_token}A`, scene.id_token.slice(0, -3)]);
  });

  await module('oidcc-rp-initiated-logout-bad-id-token-hint', async (scene) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const [header, claims] = scene.id_token.split('.');
    const foreign = sign(null, Buffer.from(`${header}.${claims}`), privateKey).toString('base64url');
    const { access_token } = await scene.user.obtainTokens(scene.client);
    const unknown = [withHeader(scene.id_token, { kid: 'x' }), withHeader(scene.id_token, { kid: '\0'.repeat(43) })];
    await assertAsked(scene, [`${header}.${claims}.${foreign}`, ...unknown, 'no.jwt', access_token]);
  });

  await module('oidcc-rp-initiated-logout-no-id-token-hint', async (scene) => {
    const fields = { post_logout_redirect_uri: returnUri, state: 's' };
    await assertNoRedirect(scene, await scene.user.browser.get(logoutPath(fields)), 'logout.client_missing');
  });

  await module('oidcc-rp-initiated-logout-no-params', async (scene) => {
    const asked = await scene.user.browser.get('/oauth/logout');
    const { answer } = await answerQuestion(scene, asked, 'sign_out');
    await assertSignedOutPage(scene, answer);
    await assertSignedOut(scene);
  });

  await module('oidcc-rp-initiated-logout-no-post-logout-redirect-uri', async (scene) => {
    const answer = await scene.user.browser.get(logoutPath({ id_token_hint: scene.id_token, state: 's' }));
    await assertSignedOutPage(scene, answer);
    await assertSignedOut(scene);
  });

  await module('oidcc-rp-initiated-logout-no-state', async (scene) => {
    const fields = { id_token_hint: scene.id_token, post_logout_redirect_uri: returnUri };
    assert.equal((await scene.user.browser.get(logoutPath(fields))).location, returnUri);
    await assertSignedOut(scene);
  });

  await module('oidcc-rp-initiated-logout-only-state', async (scene) => {
    const { answer } = await answerQuestion(scene, await scene.user.browser.get('/oauth/logout?state=s'), 'sign_out');
    await assertSignedOutPage(scene, answer);
    await assertSignedOut(scene);
  });

  await module('oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri', async (scene) => {
    const fields = { id_token_hint: scene.id_token, post_logout_redirect_uri: `${returnUri}?foo=bar`, state: 's' };
    await assertNoRedirect(scene, await scene.user.browser.get(logoutPath(fields)), 'logout.redirect_uri');
  });
});

testSignet('RP-initiated logout', async ({ signet, t }) => {
  await t.test('an expired hint, and one of a key that was rotated since, name their session', async () => {
    const scene = await signedIn(signet);
    signet.clock.advance(3601);
    await rotateNow(signet.deps, { actor: 'cli' });
    const answer = await scene.user.browser.get(logoutPath({ id_token_hint: scene.id_token }));
    assert.equal(answer.location, '/signed-out');
    await assertSignedOut(scene);
  });

  await t.test('a hint that cannot be verified is no reason to return, and client_id is one', async () => {
    const scene = await signedIn(signet);
    const unverified = { id_token_hint: `${scene.id_token}A`, post_logout_redirect_uri: returnUri, state: '1' };
    const anonymous = signet.newBrowser();
    assert.equal((await anonymous.get(logoutPath(unverified))).location, '/signed-out');
    const named = { ...unverified, client_id: scene.client.client_id };
    assert.equal((await anonymous.get(logoutPath(named))).location, `${returnUri}?state=1`);
    const asked = await scene.user.browser.get(logoutPath(named));
    const { answer } = await answerQuestion(scene, asked, 'sign_out');
    assert.equal(answer.location, `${returnUri}?state=1`);
    await assertSignedOut(scene);
  });

  await t.test('a hint of another session or user asks, whatever site sent the browser', async () => {
    const scene = await signedIn(signet);
    const other = await scene.user.signedInElsewhere();
    const stranger = await signet.signedInUser();
    for (const user of [other, stranger]) {
      const { id_token } = await user.obtainTokens(scene.client);
      const path = logoutPath({ id_token_hint: id_token, post_logout_redirect_uri: returnUri });
      const asked = await scene.user.browser.get(path, { 'sec-fetch-site': 'cross-site' });
      assert.doesNotMatch(asked.location, /eyJ[\w-]+\.eyJ/, 'the id token gets into no other URL');
      const { answer } = await answerQuestion(scene, asked, 'stay');
      assert.equal(answer.location, '/account');
      await assertSignedIn(scene);
    }
  });

  await t.test('after the question the browser returns to the app, with the state', async () => {
    const scene = await signedIn(signet);
    const fields = {
      client_id: scene.client.client_id,
      post_logout_redirect_uri: returnUri,
      state: '1',
      ui_locales: 'de',
    };
    const asked = await scene.user.browser.get(logoutPath(fields));
    const page = await scene.user.browser.get(asked.location);
    assert.match(page.text, /<html lang="de">/);
    assert.match(page.text, /<bdi>Test product<\/bdi>/);
    const { answer } = await answerQuestion(scene, asked, 'sign_out');
    assert.equal(answer.location, `${returnUri}?state=1`);
    await assertSignedOut(scene);
  });

  await t.test(
    'the answer is valid from our own page alone, for the user it was drawn for, for ten minutes',
    async () => {
      const scene = await signedIn(signet);
      const asked = await scene.user.browser.get(logoutPath({ client_id: scene.client.client_id }));
      const { form } = await answerQuestion(scene, asked, 'stay');
      const signOut = { ...form, decision: 'sign_out' };
      const foreign: Record<string, string>[] = [
        { origin: 'https://evil.test' },
        { origin: 'null', 'sec-fetch-site': 'cross-site' },
      ];
      for (const headers of foreign) {
        const answer = await scene.user.browser.post('/oauth/logout/confirm', signOut, headers);
        assert.equal(answer.status, 403);
      }
      const stranger = await signet.signedInUser();
      assert.equal((await stranger.browser.post('/oauth/logout/confirm', signOut)).status, 409);
      await assertSignedIn({ ...scene, user: stranger });
      const altered = { ...signOut, request: form.request!.slice(4) };
      assert.equal((await scene.user.browser.post('/oauth/logout/confirm', altered)).status, 400);
      assert.equal((await scene.user.browser.post('/oauth/logout/confirm', { ...form })).status, 400);
      signet.clock.advance(601);
      const late = await scene.user.browser.post('/oauth/logout/confirm', signOut);
      await assertNoRedirect(scene, late, 'logout.over');
    },
  );

  await t.test(
    'a form that another site posts continues with our cookie, and without its id token in a URL',
    async () => {
      const scene = await signedIn(signet);
      const fields = { id_token_hint: scene.id_token, post_logout_redirect_uri: returnUri, state: 'x' };
      // The browser sends no Lax cookie with it.
      const posted = await signet.postForm('/oauth/logout', fields, { origin: 'https://rp.test' });
      assert.equal(posted.status, 303);
      assert.doesNotMatch(posted.location, /eyJ[\w-]+\.eyJ/);
      const answer = await scene.user.browser.get(posted.location);
      assert.equal(answer.location, `${returnUri}?state=x`);
      await assertSignedOut(scene);
      const empty = await signet.postForm('/oauth/logout', {});
      assert.equal((await scene.user.browser.get(empty.location)).location, '/signed-out');
    },
  );

  await t.test('without a session the browser goes on at once', async () => {
    const { client, id_token } = await signedIn(signet);
    const browser = signet.newBrowser();
    const fields = { client_id: client.client_id, post_logout_redirect_uri: returnUri, state: 'x' };
    assert.equal((await browser.get(logoutPath(fields))).location, `${returnUri}?state=x`);
    assert.equal((await browser.get('/oauth/logout?ui_locales=de')).location, '/signed-out?ui_locales=de');
    assert.equal((await browser.get(logoutPath({ id_token_hint: id_token }))).location, '/signed-out');
  });

  await t.test('refusals name the parameter, and nothing redirects', async () => {
    const scene = await signedIn(signet);
    const other = await signet.registerClient({ post_logout_redirect_uris: ['https://other.test/out'] });
    const { id_token } = scene;
    const uri = { post_logout_redirect_uri: returnUri };
    const json = { accept: 'application/json' };
    const cases: [string, RegExp][] = [
      [logoutPath({ id_token_hint: id_token, client_id: other.client_id, ...uri }), /^client_id is not the client/],
      [logoutPath({ client_id: other.client_id, ...uri }), /^post_logout_redirect_uri does not match/],
      [logoutPath({ client_id: 'unknown', ...uri }), /^client_id does not name/],
      [logoutPath({ client_id: 'unknown' }), /^client_id does not name/],
      [logoutPath({ id_token_hint: id_token, state: 'x'.repeat(2049) }), /^state can have at most 2048 bytes/],
      [`${logoutPath({ id_token_hint: id_token, ...uri })}&state=1&state=2`, /^state was sent more than once/],
      [`${logoutPath({ id_token_hint: id_token })}&id_token_hint=x`, /^id_token_hint was sent more than once/],
    ];
    for (const [path, expected] of cases) {
      const answer = await scene.user.browser.get(path, json);
      assertRefused(answer, 400, 'invalid_request');
      assert.match(String(answer.json?.error_description), expected);
      const posted = await signet.postForm(
        '/oauth/logout',
        Object.fromEntries(new URLSearchParams(path.split('?')[1])),
        json,
      );
      assert.ok(posted.status === 400 || /sent more/.test(expected.source), path);
    }
    await assertSignedIn(scene);
    assert.equal((await scene.user.browser.postJson('/oauth/logout', {})).status, 400);
  });

  await t.test('a client that is not approved redirects nowhere', async () => {
    const scene = await signedIn(signet);
    const waiting = await signet.registerClient({ approved: false, post_logout_redirect_uris: [returnUri] });
    const fields = { client_id: waiting.client_id, post_logout_redirect_uri: returnUri };
    for (const user of [scene.user, scene.user.elsewhere()]) {
      const answer = await user.browser.get(logoutPath(fields), { accept: 'application/json' });
      assertRefused(answer, 400, 'unauthorized_client');
    }
    await assertNoRedirect(scene, await scene.user.browser.get(logoutPath(fields)), 'logout.not_approved');
  });

  await t.test('the developer reads what went wrong, and no token', async () => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner, post_logout_redirect_uris: [returnUri] });
    const { id_token } = await owner.obtainTokens(client);
    await owner.browser.get(logoutPath({ id_token_hint: id_token, post_logout_redirect_uri: `${returnUri}/` }));
    await owner.browser.get(logoutPath({ id_token_hint: `${id_token}A`, post_logout_redirect_uri: returnUri }));
    await signet.deps.clientFailures.close();
    const answer = await owner.browser.get(`/v1/oauth/clients/${client.client_id}/activity`);
    const failures = answer.json?.failures as Record<string, unknown>[];
    assert.deepEqual(
      failures.map(({ stage, code, sent, registered }) => [stage, code, sent, registered]).sort(),
      [
        ['logout', 'id_token_hint', undefined, undefined],
        ['logout', 'post_logout_redirect_uri_differs', `${returnUri}/`, returnUri],
      ].sort(),
    );
    const page = await owner.browser.get(`/developer/clients/${client.client_id}/activity`);
    assert.match(page.text, sentence('developer.stage.logout'));
    assert.ok(signet.logLines.every((line) => !line.includes(id_token)));
  });

  await t.test('a request that names no client of ours is neither remembered nor written down', async () => {
    const claims = Buffer.from(JSON.stringify({ aud: 'cl_unknown' })).toString('base64url');
    const requests: [Fields, status: number][] = [
      [{ client_id: 'x'.repeat(60_000), id_token_hint: 'no.jwt' }, 400],
      [{ client_id: 'cl_unknown', state: 'x'.repeat(2049) }, 400],
      [{ id_token_hint: `no.${claims}.jwt` }, 303],
    ];
    for (const [fields, status] of requests) {
      const request = async () => {
        const answer = await signet.postForm('/oauth/logout', fields);
        await signet.deps.clientFailures.close();
        return answer;
      };
      const words = await statementsOf(signet, request, status);
      assert.deepEqual(
        words.filter((word) => word !== 'select'),
        [],
      );
    }
  });

  await t.test('twenty sign-outs at once all return, and one event is kept', async () => {
    const scene = await signedIn(signet);
    const path = logoutPath({ id_token_hint: scene.id_token, post_logout_redirect_uri: returnUri });
    const cookie = [...scene.user.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.user.browser.get(path, { cookie })));
    assert.deepEqual(new Set(answers.map(({ location }) => location)), new Set([returnUri]));
    const session_id = String(claimsOf(scene.id_token).sid);
    assert.equal((await signet.auditLog({ action: 'session.ended', target: session_id })).length, 1);
    await assertSignedOut(scene);
  });
});
