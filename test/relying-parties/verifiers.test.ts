import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApi } from '../support/apis.ts';
import { claimsOf } from '../support/relying-party.ts';
import { registerFor, runSnippet, seenWithout, startPresentSignet, without } from './catalogue-client.ts';

/** Libraries that check access tokens: the snippet of the catalogue is run as the console shows it. */

type Snippet = { checkToken(token: string): Promise<Record<string, unknown>> };

const shownBy = async (outcome: Promise<unknown>): Promise<string> => {
  const error: unknown = await outcome.then(
    () => assert.fail('accepted'),
    (error: unknown) => error,
  );
  return error instanceof Error && 'code' in error ? `${error.constructor.name}: ${error.message}` : String(error);
};

test('verifiers accept the access tokens of one client, and nothing else', async (t) => {
  const signet = await startPresentSignet(t);
  const user = await signet.signedInUser();
  const notes = await newApi(signet, ['notes:read']);
  const allowed_scopes = ['openid', 'profile', 'email', 'notes:read'];

  for (const [id, algorithm] of [
    ['jose', 'EdDSA'],
    ['jose', 'RS256'],
    ['jsonwebtoken', 'RS256'],
  ] as const) {
    await t.test(`${id}, ${algorithm}`, async (t) => {
      const given = await registerFor(signet, id, { algorithm, allowed_scopes });
      const { checkToken } = await runSnippet<Snippet>(t, given);
      const { access_token, id_token } = await user.obtainTokens(given.client);
      const { sub, client_id, scope } = await checkToken(access_token);
      assert.deepEqual([sub, client_id, scope], [user.user_id, given.client.client_id, claimsOf(access_token).scope]);
      const other = await user.obtainTokens((await registerFor(signet, id, { algorithm })).client);
      for (const refused of [id_token, other.access_token, access_token.slice(0, -4)]) {
        await assert.rejects(checkToken(refused));
      }

      // What the same client has obtained for an API that is registered is for that API alone.
      const toNotes = await user.obtainTokens(given.client, { scope: 'notes:read' });
      assert.deepEqual(claimsOf(toNotes.access_token).aud, [given.client.client_id, notes.identifier]);
      await assert.rejects(checkToken(toNotes.access_token), /This token is for another API/);

      const lax = await runSnippet<Snippet>(t, without(given, /^ *typ: 'at\+jwt',\n|^ *if \(header\.typ.*\n/m));
      assert.equal((await lax.checkToken(id_token)).sub, user.user_id);
      assert.equal(seenWithout(given, 'token_type'), 'an id token is accepted as an access token');
    });
  }

  await t.test('with another algorithm than that of the client, they say so', async (t) => {
    const edDsa = await registerFor(signet, 'jose', { algorithm: 'EdDSA' });
    const rsa = await registerFor(signet, 'jose', { algorithm: 'RS256' });
    const { checkToken } = await runSnippet<Snippet>(t, edDsa);
    const { access_token } = await user.obtainTokens(rsa.client);
    assert.equal(await shownBy(checkToken(access_token)), seenWithout(edDsa, 'algorithm'));

    const given = await registerFor(signet, 'jsonwebtoken', { algorithm: 'EdDSA' });
    const token = (await user.obtainTokens(given.client)).access_token;
    const legacy = await runSnippet<Snippet>(t, given);
    assert.equal(await shownBy(legacy.checkToken(token)), seenWithout(given, 'algorithm'));
  });
});
