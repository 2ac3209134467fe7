import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { attributeRegister } from '../../src/attributes/register.ts';
import { MalformedClaims, parseClaimsParameter } from '../../src/oauth/claims/claims-parameter.ts';
import { message, sentence } from '../support/messages.ts';
import { assertRefused, claimsOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { statementsOf } from '../support/statements.ts';

const twoFactors = 'urn:signet:acr:2fa';
const asking = (claims: unknown, more = {}) => ({
  scope: 'openid offline_access',
  claims: JSON.stringify(claims),
  ...more,
});
const userinfoClaims = async (signet: Signet, token: string) => {
  const { sub: _, ...claims } = (await signet.userinfo(token)).json ?? {};
  return claims;
};
const namesOf = (claims: Record<string, unknown>) => Object.keys(claims).sort();

testSignet('a claim that is asked for by name is released without its scope', async ({ signet }) => {
  const user = await signet.signedInUser({ name: 'Ada Lovelace' });
  await user.browser.patch('/v1/me', { given_name: 'Ada', preferred_username: 'ada' });
  const client = await signet.registerClient();
  const claims = {
    userinfo: { name: { essential: true }, given_name: null, birthdate: { essential: true }, 'name#de': null, x: null },
    id_token: { email: { value: 'someone@example.com' }, preferred_username: null, auth_time: { essential: true } },
    other: 1,
  };
  let { access_token, id_token, refresh_token } = await user.obtainTokens(client, asking(claims));
  const expect = async () => {
    // What the user has not entered is left out, even if it is essential; a `value` promises nothing.
    assert.deepEqual(await userinfoClaims(signet, access_token), { name: 'Ada Lovelace', given_name: 'Ada' });
    const { email, preferred_username, name } = claimsOf(id_token);
    assert.deepEqual([email, preferred_username, name], [user.email, 'ada', undefined]);
    assert.deepEqual((await client.introspect(access_token)).json?.name, undefined);
  };
  await expect();
  // It is part of the grant: refreshed tokens have it as well.
  ({ access_token, id_token, refresh_token } = tokensOf(await client.refresh(refresh_token)));
  await expect();
  // And of this grant alone.
  const plain = await user.obtainTokens(client, { scope: 'openid' });
  assert.deepEqual(await userinfoClaims(signet, plain.access_token), {});
});

testSignet('a claim is released only to a client that is allowed its scope', async ({ signet }) => {
  const user = await signet.signedInUser();
  const modest = await signet.registerClient({ allowed_scopes: ['openid', 'offline_access'] });
  const every = { email: null, name: { essential: true }, entitlements: null, role: null };
  const tokens = await user.obtainTokens(modest, asking({ userinfo: every, id_token: every }));
  assert.deepEqual(await userinfoClaims(signet, tokens.access_token), {});
  for (const name of Object.keys(every)) assert.equal(name in claimsOf(tokens.id_token), false, name);
  assert.equal(tokens.scope, 'openid offline_access');
});

testSignet(
  'claims_in_id_token: the id token has what userinfo has, at the code and at a refresh',
  async ({ signet }) => {
    const user = await signet.signedInUser({ name: 'Ada Lovelace' });
    await user.browser.patch('/v1/me', { nickname: 'Countess', zoneinfo: 'Europe/London' });
    const scope = 'openid profile email offline_access';
    const client = await signet.registerClient({ claims_in_id_token: true });
    const tokens = await user.obtainTokens(client, { scope });
    const same = async ({ access_token, id_token }: { access_token: string; id_token: string }) => {
      const userinfo = (await signet.userinfo(access_token)).json ?? {};
      const claims = claimsOf(id_token);
      assert.deepEqual(Object.fromEntries(Object.keys(userinfo).map((name) => [name, claims[name]])), userinfo);
      return userinfo;
    };
    assert.equal((await same(tokens)).nickname, 'Countess');
    await user.browser.patch('/v1/me', { nickname: 'Enchantress' });
    const refreshed = tokensOf(await client.refresh(tokens.refresh_token));
    assert.equal((await same(refreshed)).nickname, 'Enchantress');
    // Of a narrowed scope only its part.
    const narrowed = tokensOf(await client.refresh(refreshed.refresh_token, { scope: 'openid email' }));
    assert.deepEqual(namesOf(await same(narrowed)), ['email', 'email_verified', 'sub']);
    assert.equal('nickname' in claimsOf(narrowed.id_token), false);

    const other = await signet.registerClient();
    const { id_token } = await user.obtainTokens(other, { scope });
    for (const name of ['email', 'name', 'nickname']) assert.equal(name in claimsOf(id_token), false, name);
  },
);

testSignet('claims cost a statement only where they are wanted', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  let { access_token } = await user.obtainTokens(client, asking({ userinfo: { name: null } }));
  assert.deepEqual(await statementsOf(signet, () => signet.userinfo(access_token), 200), ['select']);
  const code = await user.authorize(client, asking({ id_token: { name: null } }));
  const redeeming = async () => {
    const answer = await client.redeem(code);
    ({ access_token } = tokensOf(answer));
    return answer;
  };
  assert.deepEqual(await statementsOf(signet, redeeming, 200), ['update', 'select']);
});

testSignet('consent names what is asked for beside the scope, and is remembered for it', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ consent: 'required' });
  const ask = (changes: Record<string, string>) => user.browser.get(client.authorizePath(changes));
  const request = asking({ userinfo: { birthdate: null }, id_token: { email: null } });
  const first = await ask(request);
  assert.match(first.location, /^\/consent\?/);
  const page = await user.browser.get(first.location);
  assert.match(page.text, sentence('claim.birthdate'));
  assert.match(page.text, sentence('claim.email'));
  const fields = { request: redirectedTo(first).get('request')!, user: user.user_id, decision: 'allow' };
  const allowed = await user.browser.post('/consent', fields);
  assert.ok(redirectedTo(await user.browser.get(allowed.location)).get('code'));

  assert.ok(redirectedTo(await ask(request)).get('code'), 'the same again');
  const fewer = asking({ userinfo: { birthdate: null } });
  assert.ok(redirectedTo(await ask(fewer)).get('code'), 'less');
  const more = asking({ userinfo: { gender: null } });
  assert.match((await ask(more)).location, /^\/consent\?/);
  const silent = redirectedTo(await ask({ ...more, prompt: 'none' }));
  assert.equal(silent.get('error'), 'consent_required');
  const event = (await signet.auditLog({ action: 'consent.given' }))[0];
  assert.match(event?.after_state ?? '', /birthdate/);
});

testSignet(
  'ASVS 10.7.3: a user sees what an app has asked for by name, with or without a consent',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const connected = async (client: { client_id: string }) => {
      const { grants } = (await user.browser.get('/v1/me/grants')).json as { grants: Record<string, unknown>[] };
      return grants.find(({ client_id }) => client_id === client.client_id);
    };
    const skipping = await signet.registerClient();
    for (const [scope, claims] of [
      ['openid', { userinfo: { email: null }, id_token: { birthdate: null } }],
      ['openid', { userinfo: { birthdate: null, gender: null, nickname: null } }],
      ['openid', undefined],
      ['openid profile', { userinfo: { nickname: null } }],
    ] as const) {
      await user.obtainTokens(skipping, { ...(claims && asking(claims)), scope });
    }
    assert.deepEqual((await connected(skipping))?.claims, ['email']);
    assert.deepEqual((await connected(skipping))?.scope, ['openid', 'profile']);

    const asked = await signet.registerClient({ consent: 'required' });
    const first = await user.browser.get(asked.authorizePath({ ...asking({ userinfo: { gender: null } }) }));
    const fields = { request: redirectedTo(first).get('request')!, user: user.user_id, decision: 'allow' };
    await user.browser.post('/consent', fields);
    assert.deepEqual((await connected(asked))?.claims, ['gender']);
    const page = await user.browser.get('/account/apps');
    assert.match(page.text, sentence('consent.claims', { claims: message('claim.gender') }));
    assert.match(page.text, sentence('consent.claims', { claims: message('claim.email') }));
  },
);

testSignet('sub names the user, and another one is login_required', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const ask = async (sub: unknown, more = {}) => {
    const answer = await user.browser.get(client.authorizePath(asking({ id_token: { sub } }, more)));
    return redirectedTo(answer);
  };
  assert.ok((await ask({ value: user.user_id })).get('code'));
  assert.ok((await ask({ values: ['usr_other', user.user_id] })).get('code'));
  assert.ok((await ask(null)).get('code'));
  assert.equal((await ask({ value: 'usr_other' }, { prompt: 'none' })).get('error'), 'login_required');
  const signIn = await user.browser.get(client.authorizePath(asking({ id_token: { sub: { value: 'usr_other' } } })));
  assert.match(signIn.location, /^\/signin\?/);
  const signedIn = await user.signIn({ request: redirectedTo(signIn).get('request')! });
  assert.equal(redirectedTo(await user.browser.get(signedIn.location)).get('error'), 'login_required');
});

testSignet('an essential acr is reached, or the sign-in has failed', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const ask = async (acr: unknown, more = {}) =>
    user.browser.get(client.authorizePath(asking({ id_token: { acr } }, more)));
  const errorOf = async (acr: unknown) => redirectedTo(await ask(acr)).get('error');
  const unmet = 'unmet_authentication_requirements';
  const essential = { essential: true, value: twoFactors };
  assert.match((await ask(essential)).location, /^\/signin\/set-up\?/, 'a user without a second factor may set one up');
  assert.equal(redirectedTo(await ask(essential, { prompt: 'none' })).get('error'), unmet);
  assert.equal(await errorOf({ essential: true, values: ['urn:example:gold'] }), unmet);
  assert.equal(await errorOf({ essential: true }), null);
  assert.equal(await errorOf({ values: [twoFactors] }), null);
  assert.equal(await errorOf({ essential: true, values: [twoFactors, 'urn:signet:acr:1fa'] }), null);

  await user.addPasskey();
  const weaker = await user.signedInElsewhere();
  const request = client.authorizePath(asking({ id_token: { acr: { essential: true, value: twoFactors } } }));
  const stepUp = await weaker.browser.get(request);
  assert.match(stepUp.location, /^\/signin\/confirm\?/);
  const request_id = redirectedTo(stepUp).get('request');
  const declined = `/oauth/authorize/continue?request=${request_id}&step_up=declined&user=${user.user_id}`;
  assert.equal(redirectedTo(await weaker.browser.get(declined)).get('error'), unmet);
});

testSignet('a malformed claims parameter is refused by its name', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const bad = [
    ...['x', '[]', 'null', '7', '"userinfo"', '{', '{"userinfo":[]}', '{"userinfo":null}', '{"id_token":7}'],
    ...['{"userinfo":{"name":7}}', '{"userinfo":{"name":[]}}', '{"userinfo":{"name":{"essential":"yes"}}}'],
    ...[
      '{"id_token":{"sub":{"value":7}}}',
      '{"id_token":{"acr":{"values":"x"}}}',
      '{"id_token":{"acr":{"values":[]}}}',
    ],
    ...['{"id_token":{"acr":{"value":"a","values":["b"]}}}', `{"userinfo":{"${'x'.repeat(4096)}":null}}`],
  ];
  for (const claims of bad) {
    const answer = redirectedTo(await user.browser.get(client.authorizePath({ claims })));
    assert.equal(answer.get('error'), 'invalid_request', claims);
    assert.match(answer.get('error_description') ?? '', /^claims\b/, claims);
  }
  const unknown = await user.browser.get(client.with({ client_id: 'cl_nobody' }).authorizePath({ claims: 'x' }), {
    accept: 'application/json',
  });
  assertRefused(unknown, 400, 'invalid_request');
});

test('whatever claims says, it is read or refused', (t) => {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`TEST_SEED=${seed}`);
  const name = fc.oneof(fc.constantFrom('name', 'email', 'sub', 'acr', '__proto__', 'constructor'), fc.string());
  const individual = fc.oneof(
    fc.constant(null),
    fc.record({ essential: fc.boolean(), value: fc.string(), values: fc.array(fc.string()) }, { requiredKeys: [] }),
    fc.jsonValue(),
  );
  const members = fc.oneof({ weight: 4, arbitrary: fc.dictionary(name, individual) }, fc.jsonValue());
  const parameter = fc.record({ userinfo: members, id_token: members, x: fc.jsonValue() }, { requiredKeys: [] });
  const text = fc.oneof(
    parameter.map((value) => JSON.stringify(value)),
    fc.string(),
    fc.json(),
  );
  const property = fc.property(text, (claims) => {
    try {
      const { requested } = parseClaimsParameter(claims, ['openid', 'profile'], attributeRegister([]));
      for (const claim of [...(requested?.userinfo ?? []), ...(requested?.id_token ?? [])]) assert.equal(claim, 'name');
    } catch (error) {
      if (!(error instanceof MalformedClaims)) throw error;
      // Nothing of what was sent is repeated, and an answer can carry it.
      assert.match(error.message, /^claims\b[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    }
  });
  fc.assert(property, { seed, numRuns: 500 });
});
