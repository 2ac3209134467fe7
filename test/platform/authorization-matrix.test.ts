import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertRefused,
  attempt,
  changesNothing,
  type Endpoint,
  exampleOf,
  isAdministrative,
  isWrite,
  label,
  takesReauthentication,
  world,
} from '../support/api-world.ts';

/** Every address that a session opens, from the API's own description: who adds one finds it tried here. */

test('the matrix sees the addresses that it judges', async (t) => {
  const { endpoints } = await world(t);
  const administrative = endpoints.filter(isAdministrative);
  assert.ok(administrative.length >= 35, `${administrative.length} addresses for administrators`);
  assert.ok(endpoints.some(({ path }) => path === '/v1/me/entitlements'));
  for (const endpoint of endpoints) {
    assert.ok(
      endpoint.operation.security.some((scheme) => 'SessionCookie' in scheme),
      label(endpoint),
    );
    const declares = takesReauthentication(endpoint) || !isAdministrative(endpoint);
    assert.ok(declares, `${label(endpoint)} is not described as an administrator's.`);
  }
});

test('a request without a session must sign in, and so must one with an access token alone', async (t) => {
  const all = await world(t);
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints) {
      assertRefused(endpoint, await attempt(all, endpoint, {}), [401, 'login_required']);
      const headers = { authorization: `Bearer ${all.access_token}` };
      const byToken = await attempt(all, endpoint, { headers });
      const takesTokens = endpoint.operation.security.some((scheme) => 'BearerAuth' in scheme);
      assert.equal(takesTokens, endpoint.path === '/v1/me/entitlements', `${label(endpoint)} takes access tokens`);
      assertRefused(endpoint, byToken, takesTokens ? [403, 'insufficient_scope'] : [401, 'login_required']);
      if (takesTokens) {
        // RFC 6750 §3.1: what the client would have to ask for here.
        assert.match(byToken.headers.get('www-authenticate') ?? '', /^Bearer .+, scope="entitlements:read"$/);
      }
    }
  });
});

test('what another user owns is not there, word for word as what does not exist', async (t) => {
  const all = await world(t);
  const { browser } = all.other;
  await changesNothing(all, async () => {
    const own = all.endpoints.filter((endpoint) => !isAdministrative(endpoint) && endpoint.path.includes('{'));
    assert.ok(own.length >= 3);
    for (const endpoint of own) {
      const answer = await attempt(all, endpoint, { browser });
      assertRefused(endpoint, answer, [404, 'not_found']);
      const unknown = await attempt(all, endpoint, { browser, id: 'nobody_has_this' });
      assert.equal(answer.text, unknown.text, label(endpoint));
    }
  });
});

test('no route for administrators serves a user without the role', async (t) => {
  const all = await world(t);
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter(isAdministrative)) {
      for (const { browser } of [all.owner, all.other]) {
        assertRefused(endpoint, await attempt(all, endpoint, { browser }), [403, 'access_denied']);
      }
    }
  });
});

test('no other site can have a signed-in browser change anything', async (t) => {
  const all = await world(t);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
  ];
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter(isWrite)) {
      const { browser } = isAdministrative(endpoint) ? all.administrator : all.owner;
      for (const headers of foreign) {
        assertRefused(endpoint, await attempt(all, endpoint, { browser, headers }), [403, 'access_denied']);
      }
    }
  });
});

test('what takes a recent sign-in is refused after it, and says how recent it must be', async (t) => {
  const all = await world(t);
  const guarded = all.endpoints.filter(takesReauthentication);
  const browserFor = (endpoint: Endpoint) => (isAdministrative(endpoint) ? all.administrator : all.owner).browser;
  const refuses = async (endpoints: Endpoint[], max_age: number) => {
    assert.ok(endpoints.length > 0);
    for (const endpoint of endpoints) {
      const answer = await attempt(all, endpoint, { browser: browserFor(endpoint) });
      assertRefused(endpoint, answer, [403, 'reauthentication_required']);
      assert.equal(answer.json?.max_age, max_age, label(endpoint));
    }
  };
  const looks = guarded.filter((endpoint) => isAdministrative(endpoint) && !isWrite(endpoint));
  await changesNothing(all, async () => {
    all.signet.clock.advance(901);
    await refuses(
      guarded.filter((endpoint) => !looks.includes(endpoint)),
      900,
    );
    all.signet.clock.advance(3600 - 900);
    await refuses(looks, 3600);
  });
});

test('a body that names a prototype is refused from every caller (HT-02)', async (t) => {
  const all = await world(t);
  const poisons = ['"__proto__":{"role":"admin"}', '"constructor":{"prototype":{"role":"admin"}}'];
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter(isWrite)) {
      const { browser } = isAdministrative(endpoint) ? all.administrator : all.owner;
      const members = JSON.stringify(exampleOf(endpoint) ?? {}).slice(1, -1);
      const headers = { 'content-type': 'application/json' };
      for (const poison of poisons) {
        const body = `{${[members, poison].filter(Boolean).join(',')}}`;
        assertRefused(endpoint, await attempt(all, endpoint, { browser, headers, body }), [400, 'invalid_request']);
      }
    }
  });
  assert.equal(({} as { role?: string }).role, undefined);
});

test('what is not understood is refused before anything is done', async (t) => {
  const all = await world(t);
  const headers = { 'content-type': 'application/json' };
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter((one) => isAdministrative(one) && one.method !== 'DELETE')) {
      const { browser } = all.administrator;
      if (!isWrite(endpoint)) continue;
      const body = JSON.stringify({ ...exampleOf(endpoint), surprise: true });
      assertRefused(endpoint, await attempt(all, endpoint, { browser, headers, body }), [400, 'invalid_request']);
      for (const odd of ['null', '[]', '7', '"x"', '{']) {
        assertRefused(endpoint, await attempt(all, endpoint, { browser, headers, body: odd }), [
          400,
          'invalid_request',
        ]);
      }
    }
  });
});
