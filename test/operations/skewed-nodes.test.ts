import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { dangerousSkewSeconds } from '../../src/platform/processes.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { newProofKey, proofOf } from '../support/dpop.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { assertNotSignedIn, assertSignedIn, passkeyOptions, postAssertion } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { startUpstreamSignIn } from '../support/upstream.ts';

// A node whose clock is ahead by as much as is tolerated deletes what has expired there, while elsewhere it has not.

const skew = dangerousSkewSeconds - 10;

/** A node on the same store whose clock is ahead. @returns what lets time pass, and runs the jobs of both. */
async function nodeAhead(t: TestContext, engine: Engine, behind: Signet) {
  const ahead = await startSignet(t, { engine, beside: behind, ahead: skew });
  const pass = async (seconds: number) => {
    behind.clock.advance(seconds);
    // The one behind first: a heartbeat from before the leap would tell the other that its clock is wrong, and it deletes nothing then.
    await behind.runJobs();
    await ahead.runJobs();
  };
  return Object.assign(pass, { ahead });
}

const countOf = async ({ deps }: Signet, table: 'revoked_access_tokens' | 'spent_tokens') =>
  (await plain(deps.db).get<{ n: number }>(`select count(*) as n from ${table}`))?.n;

onBothEngines(
  'a revoked access token stays refused where the clock is behind, until it has expired',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const pass = await nodeAhead(t, engine, signet);
    const client = await signet.registerClient();
    const { access_token } = await (await signet.signedInUser()).obtainTokens(client);
    assert.equal((await client.post('/oauth/revoke', { token: access_token })).status, 200);
    for (const seconds of [3600 - skew + 5, 100, 100, skew - 210]) {
      await pass(seconds);
      assert.equal((await signet.userinfo(access_token)).status, 401);
      assert.deepEqual((await client.introspect(access_token)).json, { active: false });
    }
    await pass(2 * dangerousSkewSeconds);
    assert.equal(await countOf(signet, 'revoked_access_tokens'), 0, 'it is not kept for ever');
  },
);

onBothEngines('a passkey challenge that was used stays used where the clock is behind', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const pass = await nodeAhead(t, engine, signet);
  const authenticator = await (await signet.signedInUser()).addPasskey();
  const browser = signet.newBrowser();
  const assertion = authenticator.get(await passkeyOptions(browser, '/signin/passkey'));
  assertSignedIn(await postAssertion(browser, '/signin/passkey', assertion), browser);
  browser.cookies.delete('signet_identity_session');
  for (const seconds of [15, 100, 100, 80]) {
    await pass(seconds);
    assertNotSignedIn(await postAssertion(browser, '/signin/passkey', assertion), browser, 400);
  }
});

onBothEngines('the answer of a provider that was used stays used where the clock is behind', async (t, engine) => {
  const { signet } = await startFederatedSignet(t, { engine });
  const pass = await nodeAhead(t, engine, signet);
  const browser = signet.newBrowser();
  const callback = await startUpstreamSignIn(browser);
  const cookies = new Map(browser.cookies);
  assert.equal((await browser.get(callback)).status, 303);
  for (const seconds of [600 - skew + 5, 100, 100, 80]) {
    await pass(seconds);
    const thief = signet.newBrowser();
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    const answer = await thief.get(callback);
    assert.equal(answer.status, 400, answer.text);
    const [refused] = await plain(signet.deps.db).all<{ reason: string }>(
      `select reason from unauthenticated_events where action = 'session.refused' order by last_at desc`,
    );
    assert.equal(refused?.reason, 'state_used');
  }
});

onBothEngines(
  'a DPoP proof that was used stays used where the clock is behind, also one with a nonce from where it is ahead',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const pass = await nodeAhead(t, engine, signet);
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const key = await newProofKey();
    const code = await user.authorize(client);
    const dpop = await proofOf(signet, key, ['POST', '/oauth/token']);
    const { access_token } = tokensOf(await client.redeem(code, {}, { dpop }));
    const userinfo = ['GET', '/oauth/userinfo'] as const;
    const read = async ({ url }: Signet, proof: string) =>
      fetch(url + userinfo[1], { headers: { authorization: `DPoP ${access_token}`, dpop: proof } });
    // Of the last moment in which the node behind takes it.
    const plainProof = await proofOf(signet, key, userinfo, {
      token: access_token,
      claims: { iat: Math.floor(signet.clock() / 1000) + 60 },
    });
    assert.equal((await read(signet, plainProof)).status, 200);
    for (const seconds of [60, 50, 50]) {
      await pass(seconds);
      assert.equal((await read(signet, plainProof)).status, 401);
    }

    const step = 300;
    await pass(step + 15 - (Math.floor(signet.clock() / 1000) % step)); // the node ahead is in the next step
    const late = { iat: Math.floor(signet.clock() / 1000) - 86_400 };
    const asked = await read(pass.ahead, await proofOf(signet, key, userinfo, { token: access_token, claims: late }));
    const nonce = asked.headers.get('dpop-nonce') ?? assert.fail('no nonce');
    const proof = await proofOf(signet, key, userinfo, { token: access_token, claims: { ...late, nonce } });
    assert.equal((await read(signet, proof)).status, 200);
    for (const seconds of [600, 100, 100]) {
      await pass(seconds);
      assert.equal((await read(signet, proof)).status, 401, `after ${seconds} seconds more`);
    }
    const another = await proofOf(signet, key, userinfo, { token: access_token, claims: { ...late, nonce } });
    assert.equal((await read(signet, another)).status, 200, 'the nonce is still good where the clock is behind');
    for (const seconds of [step + 2 * dangerousSkewSeconds, 100]) await pass(seconds);
    assert.equal(await countOf(signet, 'spent_tokens'), 0, 'it is not kept for ever');
  },
);
