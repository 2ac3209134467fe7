import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import type { Api } from '../../src/apis/api.ts';
import { retireApi, retireScope } from '../../src/apis/manage-api.ts';
import { editClient } from '../../src/clients/edit-client.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import { newApi } from '../support/apis.ts';
import { readAnswer } from '../support/browser.ts';
import { assertRefused, type RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const cli = { actor: 'cli' } as const;
/** The owner asks for other scopes, and an administrator approves them. */
async function allow({ deps }: Signet, owner: TestUser, client: RegisteredClient, allowed_scopes: string[]) {
  const target = { client_id: client.client_id, caller: cli };
  const edit = { ...target, owner_user_id: owner.user_id };
  const { revision } = await editClient(deps, edit, { revision: undefined, fields: { allowed_scopes } });
  await approveClient(deps, target, { revision });
}

const audienceOf = (token: string) => decodeJwt(token).aud;

async function setUp(signet: Signet) {
  const crm = await newApi(signet, ['crm:read', 'crm:write']);
  const files = await newApi(signet, ['files:read'], 'https://files.test/v1');
  const closed = await newApi(signet, ['closed:all']);
  const user = await signet.signedInUser();
  const allowed_scopes = ['openid', 'email', 'offline_access', 'crm:read', 'crm:write', 'files:read'];
  const client = await signet.registerClient({ owner: user, allowed_scopes });
  return { crm, files, closed, user, client };
}

const several = (path: string, ...resources: string[]) =>
  resources.reduce((query, resource) => `${query}&resource=${encodeURIComponent(resource)}`, path);

async function authorized(user: TestUser, path: string): Promise<string> {
  return redirectedTo(await user.browser.get(path)).get('code') ?? assert.fail('no code');
}

const entitlements = async ({ url }: Signet, token: string) =>
  readAnswer(await fetch(`${url}/v1/me/entitlements`, { headers: { authorization: `Bearer ${token}` } }));

testSignet('RI-01: a token is for the APIs that are named, or else for those of its scope', async ({ signet }) => {
  const { crm, files, user, client } = await setUp(signet);
  const both = await user.obtainTokens(client, { scope: 'openid crm:read files:read' });
  assert.deepEqual(audienceOf(both.access_token), [client.client_id, crm.identifier, files.identifier]);
  assert.equal(audienceOf(both.id_token), client.client_id);
  const own = await user.obtainTokens(client, { scope: 'openid email' });
  assert.equal(audienceOf(own.access_token), client.client_id, 'any other token stays as it is');

  // Another spelling of one URL is the same API, and `aud` has it as it is registered.
  const named = await user.obtainTokens(client, { scope: 'openid crm:read files:read', resource: 'https://CRM.test/' });
  assert.deepEqual(
    [audienceOf(named.access_token), named.scope],
    [[client.client_id, crm.identifier], 'openid crm:read'],
  );
  const path = several(client.authorizePath({ scope: 'crm:read files:read' }), crm.identifier, files.identifier);
  const two = tokensOf(await client.redeem(await authorized(user, path)));
  assert.deepEqual(audienceOf(two.access_token), [client.client_id, crm.identifier, files.identifier]);
  const query = several(client.authorizePath({ scope: 'openid' }), files.identifier, crm.identifier).split('?')[1];
  const posted = await user.browser.send('/oauth/authorize', { method: 'POST', body: new URLSearchParams(query) });
  const bare = tokensOf(await client.redeem(await authorized(user, posted.location ?? '')));
  const audience = [client.client_id, files.identifier, crm.identifier];
  assert.deepEqual([audienceOf(bare.access_token), bare.scope], [audience, 'openid']);

  const unscoped = client.authorizePath({ resource: crm.identifier }).replace(/scope=[^&]*&/, '');
  assert.equal(
    tokensOf(await client.redeem(await authorized(user, unscoped))).scope,
    'openid email crm:read crm:write',
  );
});

testSignet(
  'RI-02: an API that is unknown, or of which the client is allowed nothing, is refused',
  async ({ signet }) => {
    const { closed, user, client } = await setUp(signet);
    const wrong = ['https://unknown.test', closed.identifier, 'not a uri', 'https://crm.test#part', '/relative'];
    for (const resource of wrong) {
      const answer = redirectedTo(await user.browser.get(client.authorizePath({ resource })));
      assert.deepEqual(
        [answer.get('error'), answer.get('code'), answer.get('state')],
        ['invalid_target', null, 's1'],
        resource,
      );
      const code = await user.authorize(client, { scope: 'openid crm:read' });
      assertRefused(await client.redeem(code, { resource }), 400, 'invalid_target');
      assert.equal(tokensOf(await client.redeem(code)).scope, 'openid crm:read', 'the refusal has spent nothing');
    }
    const many = several(
      client.authorizePath(),
      ...Array.from({ length: 21 }, (_, place) => `https://crm.test/?${place}`),
    );
    assert.equal(redirectedTo(await user.browser.get(many)).get('error'), 'invalid_target');
    assert.equal(
      redirectedTo(await user.browser.get(client.authorizePath({ scope: 'closed:all' }))).get('error'),
      'invalid_scope',
    );
  },
);

testSignet(
  'RI-03: at the token endpoint resource narrows one token, never the grant, and never widens',
  async ({ signet }) => {
    const { crm, files, user, client } = await setUp(signet);
    const scope = 'openid offline_access crm:read files:read';
    const code = await user.authorize(client, { scope });
    const first = tokensOf(await client.redeem(code, { resource: crm.identifier }));
    assert.deepEqual(
      [audienceOf(first.access_token), first.scope],
      [[client.client_id, crm.identifier], 'openid offline_access crm:read'],
    );
    const second = tokensOf(
      await client.refresh(first.refresh_token, { resource: files.identifier, scope: 'files:read' }),
    );
    assert.deepEqual(
      [audienceOf(second.access_token), second.scope],
      [[client.client_id, files.identifier], 'files:read'],
    );
    const own = tokensOf(await client.refresh(second.refresh_token, { resource: signet.url }));
    assert.deepEqual([audienceOf(own.access_token), own.scope], [client.client_id, 'openid offline_access']);
    const narrower = tokensOf(await client.refresh(own.refresh_token, { scope: 'openid crm:read' }));
    assert.deepEqual(audienceOf(narrower.access_token), [client.client_id, crm.identifier], 'without a scope of files');
    const all = tokensOf(await client.refresh(narrower.refresh_token));
    assert.deepEqual(audienceOf(all.access_token), [client.client_id, crm.identifier, files.identifier]);

    const less = await user.obtainTokens(client, { scope: 'openid offline_access crm:read' });
    assertRefused(await client.refresh(less.refresh_token, { resource: files.identifier }), 400, 'invalid_target');
    assertRefused(
      await client.refresh(less.refresh_token, { resource: files.identifier, scope: 'crm:read' }),
      400,
      'invalid_target',
    );
    assertRefused(
      await client.refresh(less.refresh_token, { resource: signet.url, scope: 'crm:read' }),
      400,
      'invalid_scope',
    );
    assert.equal(
      tokensOf(await client.refresh(less.refresh_token)).scope,
      'openid offline_access crm:read',
      'it was not rotated',
    );
  },
);

testSignet(
  'RI-04: a token for an API opens nothing else: not userinfo, not entitlements, not another API',
  async ({ signet }) => {
    const { crm, files, user, client } = await setUp(signet);
    const { access_token, refresh_token } = await user.obtainTokens(client, {
      scope: 'openid email offline_access crm:read',
    });
    assertRefused(await signet.userinfo(access_token), 401, 'invalid_token');
    assertRefused(await entitlements(signet, access_token), 401, 'invalid_token');
    const challenge = (await signet.userinfo(access_token)).headers.get('www-authenticate') ?? '';
    assert.match(challenge, /error="invalid_token"/);
    const posted = await signet.postForm('/oauth/userinfo', { access_token });
    assertRefused(posted, 401, 'invalid_token');
    const own = tokensOf(await client.refresh(refresh_token, { resource: signet.url }));
    assert.equal((await signet.userinfo(own.access_token)).json?.email, user.email);

    const services = {
      crm: await signet.newService({ permissions: ['tokens:introspect'], products: [], api_id: crm.api_id }),
      files: await signet.newService({ permissions: ['tokens:introspect'], products: [], api_id: files.api_id }),
      all: await signet.newService({ permissions: ['tokens:introspect'], products: [] }),
    };
    const seenBy = async (service: keyof typeof services, token: string) =>
      (await signet.postForm('/oauth/introspect', { token }, { authorization: services[service].authorization })).json;
    const { access_token: joint } = await user.obtainTokens(client, { scope: 'openid crm:read files:read' });
    const part = await seenBy('crm', joint);
    assert.deepEqual([part?.aud, part?.scope], [[client.client_id, crm.identifier], 'openid crm:read']);
    assert.deepEqual(await seenBy('files', access_token), { active: false });
    assert.deepEqual(
      await seenBy('crm', own.access_token),
      { active: false },
      'not the tokens of its client for Signet',
    );
    assert.deepEqual(await seenBy('crm', own.refresh_token), { active: false }, 'no refresh token');
    assert.deepEqual((await seenBy('all', access_token))?.aud, [client.client_id, crm.identifier]);
    assert.equal((await client.introspect(access_token)).json?.active, true);
  },
);

testSignet('RI-05: what is retired ends at once, wherever its tokens are', async ({ signet }) => {
  const { crm, files, user, client } = await setUp(signet);
  const scope = 'openid offline_access crm:read crm:write files:read';
  const held = await user.obtainTokens(client, { scope });
  const code = await user.authorize(client, { scope });
  const onlyFiles = await user.authorize(client, { scope: 'files:read' });
  const filesToken = await user.obtainTokens(client, { scope: 'files:read' });
  await retireScope(signet.deps, cli, crm.api_id, 'crm:write');
  assert.equal((await client.introspect(held.access_token)).json?.scope, 'openid offline_access crm:read files:read');
  await retireApi(signet.deps, cli, files.api_id);
  const seen = (await client.introspect(held.access_token)).json;
  assert.deepEqual([seen?.scope, seen?.aud], ['openid offline_access crm:read', [client.client_id, crm.identifier]]);
  assert.deepEqual((await client.introspect(filesToken.access_token)).json, { active: false });
  const redeemed = tokensOf(await client.redeem(code));
  assert.deepEqual(
    [redeemed.scope, audienceOf(redeemed.access_token)],
    ['openid offline_access crm:read', [client.client_id, crm.identifier]],
  );
  assertRefused(await client.redeem(onlyFiles), 400, 'invalid_scope');
  assertRefused(await client.refresh(held.refresh_token, { resource: files.identifier }), 400, 'invalid_target');

  // Whoever registers the address anew has nothing of what was allowed of the API before.
  const again = await newApi(signet, ['files:list'], files.identifier);
  assert.deepEqual(audienceOf(tokensOf(await client.refresh(held.refresh_token)).access_token), [
    client.client_id,
    crm.identifier,
  ]);
  assert.equal(
    redirectedTo(await user.browser.get(client.authorizePath({ resource: again.identifier }))).get('error'),
    'invalid_target',
  );
  await assert.rejects(
    newApi(signet, ['files:read'], 'https://other.test'),
    /fields/,
    'and its scopes are never given away',
  );
});

testSignet('RI-05: an API of which a client has lost all scopes is left out of its tokens', async ({ signet }) => {
  const { crm, files, user, client } = await setUp(signet);
  const scope = 'openid email offline_access crm:read files:read';
  const held = await user.obtainTokens(client, { scope });
  const onlyFiles = await user.obtainTokens(client, { scope: 'openid offline_access files:read' });
  const code = await user.authorize(client, { scope });
  await allow(signet, user, client, ['openid', 'email', 'offline_access', 'crm:read', 'crm:write']);

  const seen = (await client.introspect(held.access_token)).json;
  assert.deepEqual(
    [seen?.scope, seen?.aud],
    ['openid email offline_access crm:read', [client.client_id, crm.identifier]],
  );
  const { authorization } = await signet.newService({
    permissions: ['tokens:introspect'],
    products: [],
    api_id: files.api_id,
  });
  for (const token of [held.access_token, onlyFiles.access_token])
    assert.deepEqual((await signet.postForm('/oauth/introspect', { token }, { authorization })).json, {
      active: false,
    });
  assertRefused(await signet.userinfo(onlyFiles.access_token), 401, 'invalid_token');

  assertRefused(await client.redeem(code, { resource: files.identifier }), 400, 'invalid_target');
  assertRefused(await client.refresh(held.refresh_token, { resource: files.identifier }), 400, 'invalid_target');
  for (const answer of [await client.redeem(code), await client.refresh(held.refresh_token)])
    assert.deepEqual(audienceOf(tokensOf(answer).access_token), [client.client_id, crm.identifier]);
  const rest = tokensOf(await client.refresh(onlyFiles.refresh_token));
  assert.deepEqual([rest.scope, audienceOf(rest.access_token)], ['openid offline_access', [client.client_id]]);
  assertRefused(await signet.userinfo(rest.access_token), 401, 'invalid_token');
});

testSignet('RI-05: what is retired while the user is asked is in no token', async ({ signet }) => {
  const { crm, files, user } = await setUp(signet);
  const allowed_scopes = ['openid', 'crm:read', 'files:read'];
  const client = await signet.registerClient({ owner: user, allowed_scopes, consent: 'required' });
  const begin = async (scope: string) =>
    new URL((await user.browser.get(client.authorizePath({ scope }))).location ?? '', signet.url).searchParams.get(
      'request',
    ) ?? assert.fail('nothing was asked');
  const allowAll = async (request: string) => {
    const decided = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
    return redirectedTo(await user.browser.get(decided.location ?? assert.fail('the decision leads nowhere')));
  };
  const both = await begin('openid crm:read files:read');
  const onlyFiles = await begin('files:read');
  await retireApi(signet.deps, cli, files.api_id);
  const tokens = tokensOf(await client.redeem((await allowAll(both)).get('code') ?? assert.fail('no code')));
  assert.deepEqual(
    [tokens.scope, audienceOf(tokens.access_token)],
    ['openid crm:read', [client.client_id, crm.identifier]],
  );
  const answer = await allowAll(onlyFiles);
  const code = answer.get('code');
  if (code) assertRefused(await client.redeem(code), 400, 'invalid_scope');
  else assert.equal(answer.get('error'), 'invalid_scope');
});

testSignet('RI-06: what a user has allowed of one API is not allowed of another', async ({ signet }) => {
  const { crm, files, user } = await setUp(signet);
  const allowed_scopes = ['openid', 'crm:read', 'files:read'];
  const client = await signet.registerClient({ owner: user, allowed_scopes, consent: 'required' });
  const consent = async (changes: Record<string, string>) => {
    const asked = await user.browser.get(client.authorizePath(changes));
    if (!asked.location?.startsWith('/consent')) return undefined;
    const page = await user.browser.get(asked.location);
    const request = new URLSearchParams(asked.location.split('?')[1]).get('request') ?? '';
    return {
      page: page.text,
      allow: () => user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' }),
    };
  };
  const first = (await consent({ scope: 'openid crm:read' })) ?? assert.fail('nothing was asked');
  assert.match(first.page, /The crm API/);
  assert.match(first.page, /Use crm:read/);
  await first.allow();
  assert.equal(await consent({ scope: 'openid crm:read' }), undefined, 'it is remembered');
  const second =
    (await consent({ scope: 'openid', resource: files.identifier })) ?? assert.fail('another API is asked for');
  assert.match(second.page, /The files API/);
  await second.allow();
  assert.equal(await consent({ scope: 'openid', resource: crm.identifier }), undefined);
});

testSignet('RI-07: a narrowed token has no scope and no audience that its grant has not', async ({ signet, t }) => {
  const { crm, files, closed, user, client } = await setUp(signet);
  const identifiers = [crm, files, closed].map((api: Api) => api.identifier);
  const names = ['openid', 'crm:read', 'crm:write', 'files:read', 'closed:all', 'unknown'];
  const subset = <Item>(items: Item[]) => fc.subarray(items, { minLength: 1 });
  const asked = fc.record({ scope: subset(names), resource: fc.option(subset([...identifiers, signet.url])) });
  const seed = Number(process.env.FC_SEED ?? Date.now() % 1e9);
  t.diagnostic(`seed ${seed}`);
  const property = fc.asyncProperty(asked, asked, async (first, later) => {
    const path = several(
      client.authorizePath({ scope: ['offline_access', ...first.scope].join(' ') }),
      ...(first.resource ?? []),
    );
    const code = redirectedTo(await user.browser.get(path)).get('code');
    if (!code) return;
    const granted = tokensOf(await client.redeem(code));
    const body = several(
      `grant_type=refresh_token&refresh_token=${granted.refresh_token}&scope=${encodeURIComponent(later.scope.join(' '))}`,
      ...(later.resource ?? []),
    );
    const answer = await readAnswer(
      await fetch(`${signet.url}/oauth/token`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basicOf(client) },
      }),
    );
    if (answer.status !== 200) return assert.match(String(answer.json?.error), /^invalid_(target|scope)$/);
    const narrowed = tokensOf(answer);
    const scope = granted.scope.split(' ');
    assert.ok(
      narrowed.scope.split(' ').every((name) => scope.includes(name)),
      narrowed.scope,
    );
    const within = [audienceOf(granted.access_token)].flat();
    assert.ok([audienceOf(narrowed.access_token)].flat().every((one) => within.includes(one)));
  });
  await fc.assert(property, { numRuns: 15, seed });
});

const basicOf = ({ client_id, client_secret }: RegisteredClient) =>
  `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
