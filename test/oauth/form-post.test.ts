import assert from 'node:assert/strict';
import type { Answer } from '../support/browser.ts';
import { assertRefused, claimsOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

/** The modules of the Foundation's Form Post Basic plan differ from those of Basic in how the answer arrives. */

const unescaped = (text: string) =>
  text.replace(/&#(\d+);|&(amp|lt|gt|quot);/g, (_, code: string, name: string) =>
    code ? String.fromCharCode(Number(code)) : { amp: '&', lt: '<', gt: '>', quot: '"' }[name]!,
  );

/** What the form posts to the client. */
function formOf(answer: Answer): { action: string; fields: Record<string, string> } {
  assert.equal(answer.status, 200, `${answer.status} ${answer.text}`);
  const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(answer.text) ?? [];
  const inputs = answer.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const fields = Object.fromEntries([...inputs].map(([, name, value]) => [name, unescaped(value!)]));
  return { action: unescaped(action), fields };
}

testSignet('oidcc-server of Form Post Basic: code, state and iss are posted to the client', async ({ signet }) => {
  const person = await signet.signedInUser();
  const client = await signet.registerClient();
  const answer = await person.browser.get(client.authorizePath({ response_mode: 'form_post', state: `"'<&>` }));
  const { action, fields } = formOf(answer);
  const { code, ...rest } = fields;
  assert.equal(action, client.redirect_uri);
  // Nothing else: above all not the user to whom our own forms are bound.
  assert.deepEqual(rest, { state: `"'<&>`, iss: signet.url });
  assert.equal(claimsOf(tokensOf(await client.redeem(code!)).id_token).nonce, 'n1');

  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'origin');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(policy, /form-action 'self' https:;/);
  assert.match(policy, /script-src 'self';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(answer.text, /<script(?! src="\/assets\/)/);
  assert.match(answer.text, /<button type="submit"/);
});

testSignet('Form Post Basic: sign-in, refusal of consent and errors end in the form', async ({ signet }) => {
  const person = await signet.newUser();
  const client = await signet.registerClient({ consent: 'required' });
  const asked = { response_mode: 'form_post' };
  // oidcc-prompt-none-not-logged-in
  const silent = formOf(await person.browser.get(client.authorizePath({ ...asked, prompt: 'none' })));
  assert.deepEqual(
    [silent.action, silent.fields.error, silent.fields.state],
    [client.redirect_uri, 'login_required', 's1'],
  );
  assert.equal(silent.fields.iss, signet.url);
  assert.match(silent.fields.error_description ?? '', /prompt=none/);
  // oidcc-response-type-missing
  const typeless = await person.browser.get(client.authorizePath({ ...asked, response_type: undefined }));
  assert.equal(formOf(typeless).fields.error, 'invalid_request');

  const signIn = await person.browser.get(client.authorizePath(asked));
  const request = redirectedTo(signIn).get('request')!;
  const signedIn = await person.signIn({ request });
  const consent = await person.browser.get(signedIn.location);
  assert.match(consent.location, /^\/consent\?/);
  const answerWith = (decision: string) => person.browser.post('/consent', { request, user: person.user_id, decision });
  const denied = formOf(await answerWith('deny'));
  assert.deepEqual([denied.action, denied.fields.error], [client.redirect_uri, 'access_denied']);

  const again = redirectedTo(await person.browser.get(client.authorizePath(asked))).get('request')!;
  const allowed = await person.browser.post('/consent', { request: again, user: person.user_id, decision: 'allow' });
  const { fields } = formOf(await person.browser.get(allowed.location));
  assert.equal((await client.redeem(fields.code!)).status, 200);
});

testSignet('oidcc-ensure-post-request-succeeds: a request by POST asks for a form as well', async ({ signet }) => {
  const person = await signet.signedInUser();
  const client = await signet.registerClient();
  const { searchParams } = new URL(client.authorizePath({ response_mode: 'form_post' }), signet.url);
  const posted = await person.browser.post('/oauth/authorize', Object.fromEntries(searchParams), {
    origin: 'https://rp.example',
  });
  assert.equal(posted.status, 303, posted.text);
  assert.equal(formOf(await person.browser.get(posted.location)).action, client.redirect_uri);
});

testSignet('what cannot be posted is refused', async ({ signet }) => {
  const person = await signet.signedInUser();
  const client = await signet.registerClient();
  for (const response_mode of ['fragment', 'web_message', 'form_post.jwt', 'FORM_POST', 'query form_post']) {
    const answer = redirectedTo(await person.browser.get(client.authorizePath({ response_mode })));
    assert.equal(answer.get('error'), 'invalid_request', response_mode);
    assert.match(answer.get('error_description') ?? '', /response_mode must be one of: query, form_post/);
  }
  const twice = `${client.authorizePath({ response_mode: 'form_post' })}&response_mode=form_post`;
  assert.equal(redirectedTo(await person.browser.get(twice)).get('error'), 'invalid_request');

  const redirect_uris = ['com.example.app:/cb'];
  const app = await signet.registerClient({ client_type: 'public', application_type: 'native', redirect_uris });
  const toApp = await person.browser.get(app.authorizePath({ response_mode: 'form_post' }));
  assert.match(toApp.location, /^com\.example\.app:\/cb\?error=invalid_request/);

  // Without a client there is nobody to post to.
  const unknown = client.with({ redirect_uri: 'https://evil.test/cb' }).authorizePath({ response_mode: 'form_post' });
  const refused = await person.browser.get(unknown, { accept: 'application/json' });
  assertRefused(refused, 400, 'invalid_request');
});

testSignet(
  'oidcc-request-uri-unsigned, oidcc-unsigned-request-object: the errors of the standard',
  async ({ signet }) => {
    const person = await signet.signedInUser();
    const client = await signet.registerClient();
    const refusals = {
      request_not_supported: { request: 'eyJhbGciOiJub25lIn0.eyJzdGF0ZSI6IngifQ.' },
      request_uri_not_supported: { request_uri: 'https://rp.example/request.jwt' },
      registration_not_supported: { registration: '{"client_name":"x"}' },
    };
    for (const [error, changes] of Object.entries(refusals)) {
      const answer = redirectedTo(await person.browser.get(client.authorizePath(changes)));
      assert.deepEqual([answer.get('error'), answer.get('state'), answer.get('iss')], [error, 's1', signet.url]);
      // Also where the request leaves to the object what OAuth requires outside.
      const bare = client.authorizePath({
        ...changes,
        response_type: undefined,
        scope: undefined,
        code_challenge: undefined,
      });
      assert.equal(redirectedTo(await person.browser.get(bare)).get('error'), error);
      const posted = await person.browser.get(client.authorizePath({ ...changes, response_mode: 'form_post' }));
      assert.equal(formOf(posted).fields.error, error);
    }
  },
);
