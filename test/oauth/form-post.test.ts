import assert from 'node:assert/strict';
import { assertRefused, claimsOf, formOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testWithoutStore } from '../support/signet.ts';

testWithoutStore('code, state and iss are posted to the client', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const answer = await user.browser.get(client.authorizePath({ response_mode: 'form_post', state: `"'<&>` }));
  const { action, fields } = formOf(answer);
  const { code, ...rest } = fields;
  assert.equal(action, client.redirect_uri);
  // Nothing else: above all not the user to whom our own forms are bound.
  assert.deepEqual(rest, { state: `"'<&>`, iss: signet.url });
  assert.equal(claimsOf(tokensOf(await client.redeem(code!)).id_token).nonce, 'n1');

  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'origin');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(policy, /script-src 'self';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(answer.text, /<script(?! src="\/assets\/)/);
  assert.match(answer.text, /<button type="submit"/);
});

testWithoutStore('sign-in, refusal of consent and errors end in the form', async ({ signet }) => {
  const user = await signet.newUser();
  const client = await signet.registerClient({ consent: 'required' });
  const asked = { response_mode: 'form_post' };
  const silent = formOf(await user.browser.get(client.authorizePath({ ...asked, prompt: 'none' })));
  assert.deepEqual(
    [silent.action, silent.fields.error, silent.fields.state],
    [client.redirect_uri, 'login_required', 's1'],
  );
  assert.equal(silent.fields.iss, signet.url);
  assert.match(silent.fields.error_description ?? '', /prompt=none/);

  const signIn = await user.browser.get(client.authorizePath(asked));
  const request = redirectedTo(signIn).get('request')!;
  const signedIn = await user.signIn({ request });
  const consent = await user.browser.get(signedIn.location);
  assert.match(consent.location, /^\/consent\?/);
  const answerWith = (decision: string) => user.browser.post('/consent', { request, user: user.user_id, decision });
  const denied = formOf(await answerWith('deny'));
  assert.deepEqual([denied.action, denied.fields.error], [client.redirect_uri, 'access_denied']);

  const again = redirectedTo(await user.browser.get(client.authorizePath(asked))).get('request')!;
  const allowed = await user.browser.post('/consent', { request: again, user: user.user_id, decision: 'allow' });
  const { fields } = formOf(await user.browser.get(allowed.location));
  assert.equal((await client.redeem(fields.code!)).status, 200);
});

testWithoutStore('response_mode=fragment: the code, and any error, comes after #', async ({ signet }) => {
  const user = await signet.signedInUser();
  const redirect_uris = ['https://rp.test/cb', 'https://rp.test/cb?x=1'];
  const client = await signet.registerClient({ redirect_uris });
  const asked = { response_mode: 'fragment' };
  for (const redirect_uri of redirect_uris) {
    const [place, answer] = (await user.browser.get(client.authorizePath({ ...asked, redirect_uri }))).location.split(
      '#',
    );
    const fields = new URLSearchParams(answer);
    assert.deepEqual([place, fields.get('state'), fields.get('iss')], [redirect_uri, 's1', signet.url]);
    assert.equal((await client.with({ redirect_uri }).redeem(fields.get('code')!)).status, 200);
  }
  for (const changes of [{ scope: 'bogus' }, { code_challenge: undefined }, { request: 'x' }, { prompt: 'none' }]) {
    const browser = 'prompt' in changes ? signet.newBrowser() : user.browser;
    const [place, answer] = (await browser.get(client.authorizePath({ ...asked, ...changes }))).location.split('#');
    assert.equal(place, redirect_uris[0]);
    assert.ok(new URLSearchParams(answer).get('error'), JSON.stringify(changes));
  }
});

testWithoutStore('a refused request object says how its refusal travels, and nothing else', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const objectOf = (claims: unknown) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;
  const ask = (claims: unknown) =>
    user.browser.get(client.authorizePath({ state: undefined, request: objectOf(claims) }));
  const posted = formOf(
    await ask({ response_mode: 'form_post', state: 'inside', redirect_uri: 'https://evil.test/cb' }),
  );
  assert.equal(posted.action, client.redirect_uri);
  assert.deepEqual([posted.fields.error, posted.fields.state], ['request_not_supported', 'inside']);
  for (const claims of [
    null,
    'x',
    [],
    { response_mode: ['form_post'] },
    { response_mode: 'web_message', state: 1 },
    { state: 's'.repeat(4097) },
  ]) {
    const refused = redirectedTo(await ask(claims));
    assert.deepEqual(
      [refused.base, refused.get('error'), refused.get('state')],
      [client.redirect_uri, 'request_not_supported', null],
    );
  }
});

testWithoutStore('what cannot be posted is refused', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  for (const response_mode of ['web_message', 'form_post.jwt', 'FORM_POST', 'query form_post']) {
    const answer = redirectedTo(await user.browser.get(client.authorizePath({ response_mode })));
    assert.equal(answer.get('error'), 'invalid_request', response_mode);
    assert.match(answer.get('error_description') ?? '', /response_mode must be one of: query, fragment, form_post/);
  }
  const twice = `${client.authorizePath({ response_mode: 'form_post' })}&response_mode=form_post`;
  assert.equal(redirectedTo(await user.browser.get(twice)).get('error'), 'invalid_request');

  const redirect_uris = ['com.example.app:/cb'];
  const app = await signet.registerClient({ client_type: 'public', application_type: 'native', redirect_uris });
  const toApp = await user.browser.get(app.authorizePath({ response_mode: 'form_post' }));
  assert.match(toApp.location, /^com\.example\.app:\/cb\?error=invalid_request/);

  // Without a client there is no URI to post to.
  const unknown = client.with({ redirect_uri: 'https://evil.test/cb' }).authorizePath({ response_mode: 'form_post' });
  const refused = await user.browser.get(unknown, { accept: 'application/json' });
  assertRefused(refused, 400, 'invalid_request');
});

testWithoutStore(
  'request objects and registration by value are refused with the errors of the standard',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient();
    const refusals = {
      request_not_supported: { request: 'eyJhbGciOiJub25lIn0.eyJzdGF0ZSI6IngifQ.' },
      request_uri_not_supported: { request_uri: 'https://rp.example/request.jwt' },
      registration_not_supported: { registration: '{"client_name":"x"}' },
    };
    for (const [error, changes] of Object.entries(refusals)) {
      const answer = redirectedTo(await user.browser.get(client.authorizePath(changes)));
      assert.deepEqual([answer.get('error'), answer.get('state'), answer.get('iss')], [error, 's1', signet.url]);
      // Also where the request leaves to the object what OAuth requires outside.
      const bare = client.authorizePath({
        ...changes,
        response_type: undefined,
        scope: undefined,
        code_challenge: undefined,
      });
      assert.equal(redirectedTo(await user.browser.get(bare)).get('error'), error);
      const posted = await user.browser.get(client.authorizePath({ ...changes, response_mode: 'form_post' }));
      assert.equal(formOf(posted).fields.error, error);
    }
  },
);
