import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { Answer } from '../support/browser.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import type { TestUser } from '../support/person.ts';
import {
  assertRefused,
  basic,
  claimsOf,
  type RegisteredClient,
  type Tokens,
  tokensOf,
  verifier,
} from '../support/relying-party.ts';
import { type ClientOptions, type Signet, startSignet } from '../support/signet.ts';

const rounds = 100;
const atOnce = 64;

async function openHouse(t: TestContext, engine: Engine, options: ClientOptions = {}) {
  const signet = await startSignet(t, { engine });
  const person = await signet.signedInUser();
  return { signet, person, client: await signet.registerClient({ ...options, owner: person }) };
}

/**
 * 64 sockets that stay open, and one form on all of them at once. `fetch` would spend more time on its streams than the
 * service does on its answers, and the requests would meet less often.
 */
function crowd(t: TestContext, signet: Signet, client: RegisteredClient) {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  t.after(() => agent.destroy());
  const headers = {
    authorization: basic(client.client_id, client.client_secret ?? ''),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const post = (body: string) =>
    new Promise<Answer>((resolve, reject) => {
      const outgoing = request(`${signet.url}/oauth/token`, { agent, method: 'POST', headers }, (response) => {
        const { statusCode: status = 0, rawHeaders } = response;
        const headers = new Headers();
        for (let at = 0; at < rawHeaders.length; at += 2)
          headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
        text(response).then(
          (body) => resolve({ status, headers, location: '', text: body, json: JSON.parse(body) }),
          reject,
        );
      });
      outgoing.on('error', reject).end(body);
    });
  return (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: client.client_id, ...fields }).toString();
    return Promise.all(Array.from({ length: atOnce }, () => post(body)));
  };
}

/** One 200, and for everybody else the plain refusal: never a second 200, never a 5xx. */
function onlyWinner(answers: Answer[]): Tokens {
  const [winner, ...more] = answers.filter(({ status }) => status === 200);
  assert.ok(winner, 'nobody won');
  assert.equal(more.length, 0, `${more.length + 1} won`);
  for (const answer of answers) if (answer !== winner) assertRefused(answer, 400, 'invalid_grant');
  return tokensOf(winner);
}

/** The losers were replays, so what the winner got is dead as well. */
async function assertFamilyEnded(client: RegisteredClient, tokens: Tokens): Promise<void> {
  const [refreshed, introspected] = await Promise.all([
    client.refresh(tokens.refresh_token),
    client.introspect(tokens.access_token),
  ]);
  assertRefused(refreshed, 400, 'invalid_grant');
  assert.deepEqual(introspected.json, { active: false });
}

onBothEngines('of 64 parallel redemptions of one code one wins, a hundred times', async (t, engine) => {
  const { signet, person, client } = await openHouse(t, engine);
  const everybody = crowd(t, signet, client);
  for (let round = 0; round < rounds; round += 1) {
    const code = await person.authorize(client);
    const answers = await everybody({
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirect_uri,
      code_verifier: verifier,
    });
    await assertFamilyEnded(client, onlyWinner(answers));
  }
});

onBothEngines('of 64 parallel uses of one refresh token one wins, a hundred times', async (t, engine) => {
  const { signet, person, client } = await openHouse(t, engine);
  const everybody = crowd(t, signet, client);
  for (let round = 0; round < rounds; round += 1) {
    const { refresh_token } = await person.obtainTokens(client);
    const answers = await everybody({ grant_type: 'refresh_token', refresh_token });
    await assertFamilyEnded(client, onlyWinner(answers));
  }
});

onBothEngines(
  'within its retry window a lost refresh is answered again, with the same successor',
  async (t, engine) => {
    const { signet, person, client } = await openHouse(t, engine, { refresh_retry_window: 30 });

    await t.test('until the window is over', async () => {
      const first = await person.obtainTokens(client);
      const lost = tokensOf(await client.refresh(first.refresh_token));
      signet.clock.advance(30);
      const again = tokensOf(await client.refresh(first.refresh_token));
      assert.equal(again.refresh_token, lost.refresh_token);
      assert.notEqual(again.access_token, lost.access_token);
      assert.equal(claimsOf(again.access_token).iat, signet.clock() / 1000);
      assert.equal((await signet.userinfo(again.access_token)).status, 200);
      signet.clock.advance(1); // 31 seconds after the rotation: asking again did not move the window
      assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
      await assertFamilyEnded(client, again);
    });

    await t.test('until the successor is used', async () => {
      const first = await person.obtainTokens(client);
      const second = tokensOf(await client.refresh(first.refresh_token));
      const third = tokensOf(await client.refresh(second.refresh_token));
      assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
      await assertFamilyEnded(client, third);
    });

    await t.test('for its own client alone', async () => {
      const other = await signet.registerClient({ owner: person, refresh_retry_window: 60 });
      const first = await person.obtainTokens(client);
      const second = tokensOf(await client.refresh(first.refresh_token));
      assertRefused(await other.refresh(first.refresh_token), 400, 'invalid_grant');
      assertRefused(await client.with({ client_secret: null }).refresh(first.refresh_token), 401, 'invalid_client');
      assert.equal(tokensOf(await client.refresh(first.refresh_token)).refresh_token, second.refresh_token);
    });

    await t.test('and never for a family that has ended', async () => {
      const first = await person.obtainTokens(client);
      const { refresh_token } = tokensOf(await client.refresh(first.refresh_token));
      await person.browser.post('/signout');
      assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
      assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
    });
  },
);

onBothEngines('within the retry window 64 parallel refreshes all get the same successor', async (t, engine) => {
  const { signet, person, client } = await openHouse(t, engine, { refresh_retry_window: 30 });
  const first = await person.obtainTokens(client);
  const answers = await crowd(t, signet, client)({ grant_type: 'refresh_token', refresh_token: first.refresh_token });
  const successors = new Set(answers.map((answer) => tokensOf(answer).refresh_token));
  assert.equal(successors.size, 1);
  const accessTokens = new Set(answers.map((answer) => tokensOf(answer).access_token));
  assert.equal(accessTokens.size, atOnce);
  const [successor = ''] = successors;
  const next = tokensOf(await client.refresh(successor));
  assert.notEqual(next.refresh_token, successor);
});

onBothEngines('without a retry window the second use of a refresh token ends its family at once', async (t, engine) => {
  const { person, client } = await openHouse(t, engine, { refresh_retry_window: 0 });
  const first = await person.obtainTokens(client);
  const second = tokensOf(await client.refresh(first.refresh_token));
  assertRefused(await client.refresh(first.refresh_token), 400, 'invalid_grant');
  await assertFamilyEnded(client, second);
});

onBothEngines('a sign-out in the midst of refreshes leaves none of them alive', async (t, engine) => {
  const { person, client } = await openHouse(t, engine);
  const families = await Promise.all(Array.from({ length: 8 }, () => person.obtainTokens(client)));
  const [signedOut, ...answers] = await Promise.all([
    signOutOf(person),
    ...families.map((tokens) => client.refresh(tokens.refresh_token)),
  ]);
  assert.equal(signedOut.status, 303);
  for (const answer of answers) {
    if (answer.status === 200) await assertFamilyEnded(client, tokensOf(answer));
    else assertRefused(answer, 400, 'invalid_grant');
  }
  for (const tokens of families) await assertFamilyEnded(client, tokens);
});

const signOutOf = (person: TestUser) => person.browser.post('/signout');
