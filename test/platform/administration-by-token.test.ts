import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { administrativePermissions, delegablePermissions, isDelegable } from '../../src/accounts/permissions.ts';
import { retire } from '../../src/entitlements/service-credentials/manage-credential.ts';
import {
  assertRefused,
  attempt,
  changesNothing,
  type Endpoint,
  isAdministrative,
  label,
  type World,
  world,
} from '../support/api-world.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { basic } from '../support/relying-party.ts';
import { newService, type ServiceOptions } from '../support/services.ts';

// Every operation of administration, from the API's own description, by a service credential: who adds one finds it tried here.

const everyPermission = [...delegablePermissions, 'entitlements:write', 'tokens:introspect', 'signals:manage'];

/** What an operation says that it needs. */
const permissionOf = ({ operation: { security } }: Endpoint, scheme: 'ServiceCredential' | 'SessionCookie') =>
  security.find((one) => scheme in one)?.[scheme];

const known = ({ signet }: World, options: ServiceOptions) =>
  newService(signet, { expires_in_days: 30, products: ['editor'], ...options });

type Case = (all: World, permission: string) => Promise<{ authorization: string }>;

/** Tries each operation that a credential may call, as a credential that it must be refused to. */
async function refuses(t: TestContext, engine: Engine, credentialFor: Case, expected: [number, string]) {
  const all = await world(t, { engine });
  const byPermission = new Map<string, { authorization: string }>();
  for (const one of delegablePermissions) byPermission.set(one, await credentialFor(all, one));
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter(isAdministrative)) {
      const [permission] = permissionOf(endpoint, 'ServiceCredential') ?? [];
      if (permission === undefined) continue;
      const headers = { authorization: byPermission.get(permission)?.authorization ?? '' };
      assertRefused(endpoint, await attempt(all, endpoint, { headers }), expected);
    }
  });
}

onBothEngines(
  'each operation of administration names one permission, and each permission is needed (AT-01)',
  async (t, engine) => {
    const { endpoints } = await world(t, { engine });
    const needed = new Set<string>();
    for (const endpoint of endpoints.filter(isAdministrative)) {
      const [permission = '', ...others] = permissionOf(endpoint, 'SessionCookie') ?? [];
      assert.ok(administrativePermissions.some((one) => one === permission) && others.length === 0, label(endpoint));
      const isForCredentials = delegablePermissions.some((one) => one === permission);
      const byCredential = permissionOf(endpoint, 'ServiceCredential');
      assert.deepEqual(byCredential, isForCredentials ? [permission] : undefined, label(endpoint));
      const isLook = endpoint.method === 'GET' || /\/(verify|check)$/.test(endpoint.path);
      assert.equal(permission.endsWith(':read'), isLook, `${label(endpoint)} needs ${permission}`);
      needed.add(permission);
    }
    const elsewhere = ['scim:write', 'service-credentials:grant']; // SCIM has routes of its own, and an input of another operation
    assert.deepEqual(
      administrativePermissions.filter((one) => !needed.has(one)),
      elsewhere,
    );
  },
);

onBothEngines('a credential with every other permission is refused, and nothing happens (AT-01)', (t, engine) =>
  refuses(
    t,
    engine,
    (all, permission) => known(all, { permissions: everyPermission.filter((one) => one !== permission) }),
    [403, 'access_denied'],
  ),
);

onBothEngines('an expired credential is refused, and nothing happens (AT-02)', async (t, engine) => {
  await refuses(
    t,
    engine,
    async (all, permission) => {
      const credential = await known(all, { permissions: [permission], expires_in_days: 1 });
      if (permission === delegablePermissions.at(-1)) all.signet.clock.advance(86_400);
      return credential;
    },
    [401, 'invalid_client'],
  );
});

onBothEngines('a credential is refused from another address, and nothing happens (AT-03)', (t, engine) =>
  refuses(
    t,
    engine,
    (all, permission) => known(all, { permissions: [permission], addresses: ['192.0.2.0/24', '2001:db8::/32'] }),
    [403, 'access_denied'],
  ),
);

onBothEngines('a retired credential and a wrong secret are refused, and nothing happens (AT-02)', async (t, engine) => {
  await refuses(
    t,
    engine,
    async (all, permission) => {
      const credential = await known(all, { permissions: [permission] });
      await retire(all.signet.deps, { actor: 'cli' }, credential.client_id);
      return credential;
    },
    [401, 'invalid_client'],
  );
  await refuses(
    t,
    engine,
    async (all, permission) => {
      const { client_id } = await known(all, { permissions: [permission] });
      return { authorization: basic(client_id, 'ss_wrong') };
    },
    [401, 'invalid_client'],
  );
});

onBothEngines('the right permission is enough, from an address that is named (AT-01)', async (t, engine) => {
  const all = await world(t, { engine });
  const addresses = ['127.0.0.0/8', '::1'];
  const tried = all.endpoints.filter(isAdministrative);
  let done = 0;
  // What deletes comes last, so that the others find what they are about.
  const order = ({ method, path }: Endpoint) => (method === 'DELETE' ? 2 : /retire|disable|suspend/.test(path) ? 1 : 0);
  for (const endpoint of tried.toSorted((a, b) => order(a) - order(b))) {
    const permissions = permissionOf(endpoint, 'ServiceCredential');
    if (!permissions) continue;
    const { authorization } = await known(all, { permissions, addresses });
    const { status, json, text } = await attempt(all, endpoint, { headers: { authorization } });
    assert.ok(status !== 401 && status < 500, `${label(endpoint)}: ${status} ${text}`);
    // Some clients have an owner, in whose place nobody acts; that is no matter of permissions.
    if (status === 403) assert.match(String(json?.error_description), /owner|own /, `${label(endpoint)}: ${text}`);
    if (status < 300) done += 1;
  }
  assert.ok(done >= 35, `${done} operations were done`);
});

onBothEngines('what takes a person is refused to a credential with all that it can have (AT-04)', async (t, engine) => {
  const all = await world(t, { engine });
  const { authorization } = await known(all, { permissions: everyPermission });
  const personal = all.endpoints.filter((one) => isAdministrative(one) && !permissionOf(one, 'ServiceCredential'));
  assert.ok(personal.length >= 7, personal.map(label).join(', '));
  await changesNothing(all, async () => {
    for (const endpoint of personal) {
      const answer = await attempt(all, endpoint, { headers: { authorization } });
      assertRefused(endpoint, answer, [403, 'access_denied']);
      assert.match(answer.text, /takes a person/, label(endpoint));
    }
  });
  for (const permission of administrativePermissions.filter((one) => !isDelegable(one))) {
    await assert.rejects(known(all, { permissions: [permission] }), { code: 'invalid_request' }, permission);
  }
});

onBothEngines('nothing of a person can be reached by a credential (AT-05)', async (t, engine) => {
  const all = await world(t, { engine });
  const { authorization } = await known(all, { permissions: everyPermission });
  const headers = { authorization };
  const pages = [
    ...['/account', '/developer', '/admin', '/admin/users', '/admin/audit', '/admin/service-credentials'],
    `/admin/users/${all.owner.user_id}`,
  ];
  await changesNothing(all, async () => {
    for (const endpoint of all.endpoints.filter((one) => !isAdministrative(one))) {
      const answer = await attempt(all, endpoint, { headers });
      assert.equal(answer.status, 401, `${label(endpoint)}: ${answer.text}`);
    }
    for (const path of pages) {
      const { status, headers: sent } = await fetch(all.signet.url + path, { headers, redirect: 'manual' });
      assert.equal(status, 303, path);
      assert.match(sent.get('location') ?? '', /^\/signin/, path);
    }
  });
});

onBothEngines(
  'HTTP Basic counts beside the cookie of an administrator, and never the cookie then (AT-05)',
  async (t, engine) => {
    const all = await world(t, { engine });
    const { browser } = all.administrator;
    const wrong = await known(all, { permissions: ['entitlements:write'] });
    const client = await all.signet.registerClient({ owner: all.owner });
    const tried: [string, [number, string]][] = [
      [wrong.authorization, [403, 'access_denied']],
      [basic(wrong.client_id, 'ss_wrong'), [401, 'invalid_client']],
      [basic(client.client_id, client.client_secret ?? ''), [401, 'invalid_client']],
      ['Basic ', [401, 'invalid_client']],
    ];
    await changesNothing(all, async () => {
      for (const endpoint of all.endpoints.filter(isAdministrative)) {
        for (const [authorization, expected] of tried) {
          assertRefused(endpoint, await attempt(all, endpoint, { browser, headers: { authorization } }), expected);
        }
      }
    });
  },
);

onBothEngines(
  'a page of another site has nothing done by a credential that a browser keeps (AT-05)',
  async (t, engine) => {
    const all = await world(t, { engine });
    const { authorization } = await known(all, { permissions: everyPermission });
    await changesNothing(all, async () => {
      for (const endpoint of all.endpoints.filter((one) => isAdministrative(one) && one.method !== 'GET')) {
        const headers = { authorization, origin: 'https://evil.example' };
        assertRefused(endpoint, await attempt(all, endpoint, { headers }), [403, 'access_denied']);
      }
    });
  },
);
