import assert from 'node:assert/strict';
import {
  asksWith,
  assertAuthenticated,
  asserted,
  assertionOf,
  assertionType,
  type Changes,
  keySetOf,
  newKeyPair,
} from '../support/client-keys.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { assertRefused, basic, type Fields, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

const method = { token_endpoint_auth_method: 'private_key_jwt' } as const;
const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_RATE_LIMITS: 'off' };

const sentences = {
  assertion_missing: /authenticates by a client_assertion/,
  assertion_malformed: /must be a JWT/,
  assertion_subject: /^iss and sub/,
  assertion_audience: /^aud .* exactly http/,
  assertion_expired: /(exp|nbf|iat) (is|was)/,
  assertion_used: /used before/,
  assertion_signature: /signature/,
  key_unknown: /no key with the kid/,
};

testSignet('private_key_jwt (RFC 7523, OpenID Connect Core §9)', { env }, async ({ signet, t }) => {
  const pair = newKeyPair('ES256');
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, ...method, jwks: keySetOf(pair) });
  const user = await signet.signedInUser();
  const sign = async (changes?: Changes, of = { client, pair }) =>
    asserted(await assertionOf(signet, of.client, of.pair, changes));
  const at = () => Math.floor(signet.clock() / 1000);
  const failures = async () => {
    const { json } = await owner.browser.get(`/v1/oauth/clients/${client.client_id}/activity`);
    return json!.failures as { code: string; stage: string; sent?: string; description?: string }[];
  };
  /** Refused as invalid_client with a sentence for this reason, which its owner reads as well. */
  async function assertTold(code: keyof typeof sentences, fields: Fields) {
    const answer = await asksWith(client, fields);
    assertRefused(answer, 401, 'invalid_client');
    assert.match(String(answer.json?.error_description), sentences[code]);
    await until(`the owner reads ${code}`, async () => (await failures()).some((one) => one.code === code));
  }

  await t.test(
    'a client signs in users, refreshes, introspects and revokes with its key, and has no secret',
    async () => {
      assert.equal(client.client_secret, null);
      const code = await user.authorize(client);
      const tokens = tokensOf(await client.redeem(code, await sign()));
      const again = tokensOf(await client.refresh(tokens.refresh_token, await sign()));
      const token = again.access_token;
      const introspected = await signet.postForm('/oauth/introspect', { token, ...(await sign()) });
      assert.equal(introspected.json?.active, true);
      assert.equal((await signet.postForm('/oauth/revoke', { token, ...(await sign()) })).status, 200);
      const after = await signet.postForm('/oauth/introspect', { token, ...(await sign()) });
      assert.deepEqual(after.json, { active: false });
    },
  );

  await t.test('each algorithm of discovery, by kid or as the only key that fits; never RS256', async () => {
    const { json: metadata } = await signet.newBrowser().get('/.well-known/openid-configuration');
    assert.ok((metadata!.token_endpoint_auth_methods_supported as string[]).includes('private_key_jwt'));
    for (const endpoint of ['token', 'introspection', 'revocation'])
      assert.deepEqual(metadata![`${endpoint}_endpoint_auth_signing_alg_values_supported`], [
        'ES256',
        'PS256',
        'EdDSA',
        'Ed25519',
      ]);
    const pairs = [newKeyPair('ES256'), newKeyPair('EdDSA'), newKeyPair('PS256')];
    const many = await signet.registerClient({ ...method, jwks: keySetOf(...pairs) });
    for (const one of pairs) {
      for (const kid of [one.kid, undefined])
        await assertAuthenticated(many, await sign({ header: { kid } }, { client: many, pair: one }));
    }
    const rs256 = { ...pairs[2]!, alg: 'RS256' };
    assertRefused(await asksWith(many, await sign({}, { client: many, pair: rs256 })), 401, 'invalid_client');
  });

  await t.test('KJ-01: the audience is the issuer alone, as a string', async () => {
    const issuer = signet.url;
    for (const aud of [
      `${issuer}/oauth/token`,
      `${issuer}/`,
      [issuer],
      [issuer, 'x'],
      'https://other.test',
      undefined,
      null,
    ])
      await assertTold('assertion_audience', await sign({ claims: { aud } }));
    await until('the owner reads which audience was sent', async () =>
      (await failures()).some(
        ({ code, stage, sent }) =>
          code === 'assertion_audience' && stage === 'client_authentication' && sent === JSON.stringify([issuer]),
      ),
    );
  });

  await t.test('KJ-02: iss and sub are the client, which signs for no other', async () => {
    const other = await signet.registerClient({ ...method, jwks: keySetOf(newKeyPair()) });
    for (const claims of [{ iss: other.client_id }, { sub: other.client_id }, { sub: undefined }, { iss: undefined }])
      await assertTold('assertion_subject', { client_id: client.client_id, ...(await sign({ claims })) });
    // Signed by the client for another one, with and without its name beside it.
    const forOther = await sign({}, { client: other, pair });
    assertRefused(await asksWith(client, forOther), 401, 'invalid_client');
    await assertTold('assertion_subject', { client_id: client.client_id, ...forOther });
    const code = await user.authorize(other);
    assertRefused(await other.redeem(code, await sign()), 401, 'invalid_client');
  });

  await t.test(
    'KJ-03: exp is required, ahead, and by an hour at most; nbf and iat are past, give or take seconds',
    async () => {
      for (const claims of [
        { exp: at() + 3600 },
        { exp: at() + 1.5 },
        { iat: at() + 10, nbf: at() + 10 },
        { iat: undefined },
      ])
        await assertAuthenticated(client, await sign({ claims }));
      for (const claims of [
        { exp: undefined },
        { exp: String(at() + 60) },
        { exp: at() },
        { exp: at() - 300 },
        { exp: at() + 3700 },
        { exp: 1e300 },
        { nbf: at() + 61 },
        { iat: at() + 61 },
        { nbf: 'soon' },
        { iat: null },
      ])
        await assertTold('assertion_expired', await sign({ claims }));
    },
  );

  await t.test(
    'KJ-04: an assertion is used once, on every node, also at one moment and at another endpoint',
    async (t) => {
      const node = await startSignet(t, { beside: signet, env });
      const once = await sign();
      const answers = await Promise.all(
        [client, client.at(node), client, client.at(node)].map((one) => asksWith(one, once)),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [400, 401, 401, 401]);
      await assertTold('assertion_used', once);
      const elsewhere = await sign();
      await assertAuthenticated(client, elsewhere);
      for (const [path, of] of [
        ['/oauth/revoke', node],
        ['/oauth/introspect', signet],
      ] as const)
        assertRefused(await of.postForm(path, { token: 'x', ...elsewhere }), 401, 'invalid_client');
      const jti = 'a jti of two clients';
      const otherPair = newKeyPair();
      const other = await signet.registerClient({ ...method, jwks: keySetOf(otherPair) });
      await assertAuthenticated(client, await sign({ claims: { jti } }));
      await assertAuthenticated(other, await sign({ claims: { jti } }, { client: other, pair: otherPair }));
      for (const jti of [undefined, '', 7, 'j'.repeat(257)])
        await assertTold('assertion_used', await sign({ claims: { jti } }));
    },
  );

  await t.test(
    'KJ-05: what was signed by another key, for something else or not at all authenticates nobody',
    async () => {
      const { client_id } = client;
      await assertTold('assertion_signature', await sign({}, { client, pair: { ...newKeyPair(), kid: pair.kid } }));
      await assertTold('key_unknown', await sign({ header: { kid: 'unknown' } }));
      for (const typ of ['dpop+jwt', 'oauth-authz-req+jwt', 'at+jwt', 7])
        await assertTold('assertion_malformed', await sign({ header: { typ } }));
      for (const typ of ['JWT', 'client-authentication+jwt'])
        await assertAuthenticated(client, await sign({ header: { typ } }));
      const { client_assertion } = await sign();
      const [, payload] = client_assertion.split('.');
      const header = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      for (const text of [
        'x',
        '..',
        client_assertion.slice(0, -4),
        `${client_assertion}.`,
        `${header({ alg: 'none' })}.${payload}.`,
        `${header({ alg: 'HS256' })}.${payload}.${payload}`,
        `${header({ alg: 'ES256', crit: ['x'], x: 1 })}.${payload}.${payload}`,
        'x'.repeat(9000),
      ]) {
        assertRefused(await asksWith(client, { client_id, ...asserted(text) }), 401, 'invalid_client');
        assertRefused(
          await signet.postForm('/oauth/introspect', { token: 'x', ...asserted(text) }),
          401,
          'invalid_client',
        );
      }
      for (const [status, error, fields] of [
        [400, 'invalid_request', { client_assertion }],
        [400, 'invalid_request', { ...asserted(client_assertion), client_assertion_type: 'urn:other' }],
        [400, 'invalid_request', { client_assertion_type: assertionType }],
        [400, 'invalid_request', { ...asserted(client_assertion), client_secret: 'cs_x' }],
        [401, 'invalid_client', {}],
      ] as const)
        assertRefused(await asksWith(client, { client_id, ...fields }), status, error);
      const twice = { grant_type: 'refresh_token', refresh_token: 'rt_x', ...asserted(client_assertion) };
      const authorization = basic(client_id, 'cs_x');
      assertRefused(await signet.postForm('/oauth/token', twice, { authorization }), 400, 'invalid_request');
      await assertAuthenticated(client, asserted(client_assertion)); // none of these has used it up
    },
  );

  await t.test('a client with a key has no use for a secret, and is told so in no word about secrets', async () => {
    const { client_id } = client;
    await assertTold('assertion_missing', { client_id });
    await assertTold('assertion_missing', { client_id, client_secret: 'cs_x' });
    assert.ok(!(await failures()).some(({ code }) => code.startsWith('secret_')));
    const secrets = `/v1/oauth/clients/${client_id}/secrets`;
    assert.deepEqual((await owner.browser.get(secrets)).json, { secrets: [] });
    assertRefused(await owner.browser.postJson(secrets, {}), 409, 'invalid_state');
  });

  await t.test('a client that has secrets or no proof at all cannot use an assertion', async () => {
    for (const more of [
      { token_endpoint_auth_method: 'client_secret_basic' as const, jwks: keySetOf(pair) },
      { jwks: null },
      { client_type: 'public' as const, jwks: keySetOf(pair) },
    ]) {
      const other = await signet.registerClient(more);
      assertRefused(
        await asksWith(other.with({ client_secret: null }), await sign({}, { client: other, pair })),
        401,
        'invalid_client',
      );
    }
    const waiting = await signet.registerClient({ ...method, jwks: keySetOf(pair), approved: false });
    assertRefused(await asksWith(waiting, await sign({}, { client: waiting, pair })), 401, 'invalid_client');
  });

  await t.test('from a secret to a key and back by edits, with both in between', async () => {
    const edit = async (of: RegisteredClient, body: object) => {
      const path = `/v1/oauth/clients/${of.client_id}`;
      const answer = await owner.browser.patch(path, body);
      assert.equal(answer.status, 200, answer.text);
      const reviewer = await signet.signedInUser({ role: 'admin' });
      await reviewer.enableTotp();
      const { revision } = answer.json!;
      const approved = await reviewer.browser.postJson(`/v1/admin/clients/${of.client_id}/approve`, { revision });
      assert.equal(approved.status, 200, approved.text);
      signet.clock.advance(2);
    };
    const changing = await signet.registerClient({ owner });
    const withoutSecret = changing.with({ client_secret: null });
    const withKey = () => sign({}, { client: changing, pair });
    assertRefused(await asksWith(withoutSecret, await withKey()), 401, 'invalid_client');
    await edit(changing, { jwks: keySetOf(pair) });
    await assertAuthenticated(changing, {});
    await assertAuthenticated(withoutSecret, await withKey());
    await edit(changing, method);
    assertRefused(await asksWith(changing, {}), 401, 'invalid_client');
    await assertAuthenticated(withoutSecret, await withKey());
    await edit(changing, { token_endpoint_auth_method: null });
    await assertAuthenticated(changing, {});
    await edit(changing, { jwks: null });
    assertRefused(await asksWith(withoutSecret, await withKey()), 401, 'invalid_client');
    const path = `/v1/oauth/clients/${changing.client_id}`;
    assertRefused(await owner.browser.patch(path, method), 400, 'invalid_request');
  });

  await t.test('what was used is forgotten once no node would take it any more', async () => {
    const rows = async () => (await plain(signet.deps.db).all('select 1 from spent_tokens')).length;
    await assertAuthenticated(client, await sign());
    assert.ok((await rows()) > 0);
    signet.clock.advance(3600 + 3600);
    await signet.runJobs();
    assert.equal(await rows(), 0);
  });
});

testSignet('KJ-04: without a store that could tell whether it was used an assertion is 503', async ({ signet }) => {
  const pair = newKeyPair();
  const client = await signet.registerClient({ ...method, jwks: keySetOf(pair) });
  const sign = async () => asserted(await assertionOf(signet, client, pair));
  await assertAuthenticated(client, await sign());
  const { databaseUrl } = signet.deps.config;
  if (databaseUrl) {
    const elsewhere = new URL(databaseUrl);
    elsewhere.pathname = '/postgres';
    const name = new URL(databaseUrl).pathname.slice(1);
    await asAdmin(elsewhere.href, (admin) => admin.query(`drop database ${name} with (force)`));
  } else await signet.deps.db.close();
  assertRefused(await asksWith(client, await sign()), 503, 'temporarily_unavailable');
});
