import assert from 'node:assert/strict';
import type { TestUser } from '../support/person.ts';
import { assertRefused, basic, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

/** The id of the request that waits for this person's browser. */
async function waitingRequest(person: TestUser, client: RegisteredClient, changes: Record<string, string> = {}) {
  const answer = await person.browser.get(client.authorizePath(changes));
  return redirectedTo(answer).get('request') ?? assert.fail(`nothing waits: ${answer.location}`);
}

const goOn = (person: TestUser, request: string) =>
  person.browser.get(`/oauth/authorize/continue?request=${request}`, { accept: 'application/json' });

const idTokenOf = async (person: TestUser, client: RegisteredClient) => (await person.obtainTokens(client)).id_token;

testSignet(
  'FL-01: a waiting request is nothing to another browser, one that waits itself included',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const [victim, attacker] = [await signet.newUser(), await signet.newUser()];
    const request = await waitingRequest(victim, client);
    await waitingRequest(attacker, client);
    assert.ok(attacker.browser.cookies.has('signet_browser'));
    assert.equal((await attacker.signIn({ request })).status, 400);
    assert.equal((await attacker.signIn()).status, 303);
    assertRefused(await goOn(attacker, request), 400, 'invalid_request');
  },
);

testSignet('id_token_hint: whoever signs in must be the person that it names', async ({ signet }) => {
  const client = await signet.registerClient();
  const [meant, other] = [await signet.signedInUser(), await signet.newUser()];
  const id_token_hint = await idTokenOf(meant, client);
  const request = await waitingRequest(other, client, { id_token_hint });
  assert.equal((await other.signIn({ request })).status, 303);
  assert.equal(redirectedTo(await goOn(other, request)).get('error'), 'login_required');
});

testSignet('consent that one person gave to a waiting request does not speak for the next', async ({ signet }) => {
  const client = await signet.registerClient({ consent: 'required' });
  const [first, second] = [await signet.signedInUser(), await signet.newUser()];
  const request = await waitingRequest(first, client);
  const allowed = await first.browser.post('/consent', { request, user: first.user_id, decision: 'allow' });
  assert.equal(allowed.status, 303);
  // The same browser, before it goes on: somebody else signs in for the same request.
  const shared = second.with({ browser: first.browser });
  assert.equal((await shared.signIn({ request })).status, 303);
  assert.match((await goOn(shared, request)).location, /^\/consent\?request=/);
});

testSignet('introspection by a client that authenticates and is not approved is 403', async ({ signet }) => {
  const client = await signet.registerClient({ approved: false });
  const ask = (secret: string) =>
    fetch(`${signet.url}/oauth/introspect`, {
      method: 'POST',
      headers: { authorization: basic(client.client_id, secret) },
      body: new URLSearchParams({ token: 'any' }),
    });
  assert.equal((await ask(client.client_secret ?? '')).status, 403);
  assert.equal((await ask('wrong')).status, 401);
});
