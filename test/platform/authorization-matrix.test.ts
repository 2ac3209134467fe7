import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { newApi } from '../support/apis.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** Every address that a session opens, from the API's own description: who adds one finds it tried here. */

type Operation = {
  security: Record<string, unknown>[];
  description?: string;
  responses: Record<string, { description: string }>;
  requestBody?: { content: Record<string, { example?: Record<string, unknown> }> };
};
type Endpoint = { method: string; path: string; operation: Operation };
type World = {
  signet: Signet;
  endpoints: Endpoint[];
  owner: TestUser;
  administrator: TestUser;
  other: TestUser;
  access_token: string;
  /** Ids that exist, by path parameter. */
  ids: Record<string, string>;
  service_id: string;
};

const isAdministrative = ({ path }: Endpoint) => path.startsWith('/v1/admin/');
const isWrite = ({ method }: Endpoint) => method !== 'GET';
/** Any other endpoint of a session asks for it only where a second factor is required of everyone. */
const takesReauthentication = ({ operation: { description = '', responses } }: Endpoint) =>
  responses['403']?.description.includes('reauthentication_required') === true &&
  /sign-in must be at most|signed in at most/.test(description);
const label = ({ method, path }: Endpoint) => `${method} ${path}`;

async function world(t: TestContext): Promise<World> {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const [owner, other] = [await signet.signedInUser(), await signet.signedInUser()];
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ owner });
  const { access_token } = await owner.obtainTokens(client);
  const { client_id: service_id } = await signet.newService();
  const { api_id } = await newApi(signet, ['matrix:read', 'files:write']);
  const { db } = signet.deps;
  const { webhook_id } = await createWebhook(
    signet.deps,
    { actor: 'cli' },
    { url: 'https://hooks.example.com/', event_types: ['user.disabled'] },
  );
  await plain(db).run(
    `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, dead_at)
     values ('msg_1', $1, 'evt_1', 'user.disabled', '{}', 1, 10, 1)`,
    [webhook_id],
  );
  await plain(db).run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ('passkey1', $1, 'x', 0, '', 'Key', 1)`,
    [owner.user_id],
  );
  await plain(db).run('update sessions set acr = $2 where user_id = $1', [owner.user_id, twoFactors]);
  const [session] = await plain(db).all<{ session_id: string }>('select session_id from sessions where user_id = $1', [
    owner.user_id,
  ]);
  const [grant] = await plain(db).all<{ grant_id: string }>('select grant_id from grants where user_id = $1', [
    owner.user_id,
  ]);
  const [secret] = await plain(db).all<{ secret_id: string }>(
    'select secret_id from client_secrets where client_id = $1',
    [client.client_id],
  );
  return {
    signet,
    endpoints: await endpointsOf(signet),
    owner,
    administrator,
    other,
    access_token,
    service_id,
    ids: {
      client_id: client.client_id,
      user_id: owner.user_id,
      session_id: session?.session_id ?? '',
      grant_id: grant?.grant_id ?? '',
      secret_id: secret?.secret_id ?? '',
      webhook_id,
      delivery_id: 'msg_1',
      id: 'passkey1',
      provider: 'google',
      api_id,
      host: 'app.example.com',
    },
  };
}

async function endpointsOf({ url }: Signet): Promise<Endpoint[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const endpoints = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return endpoints.filter(({ path }) => /^\/v1\/(me|oauth\/clients|admin)(\/|$)/.test(path));
}

/** @param ids by path parameter; the ones that exist without it. */
function addressOf({ ids, service_id }: World, { path }: Endpoint, replacement?: string): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = path.startsWith('/v1/admin/service-credentials/') ? service_id : ids[name];
    assert.ok(id, `Give the matrix an id of what ${path} calls ${name}.`);
    return replacement ?? id;
  });
}

const exampleOf = ({ operation }: Endpoint) => operation.requestBody?.content['application/json']?.example;

type Attempt = { browser?: Browser; headers?: Record<string, string>; id?: string; body?: string };

/** As a program would: JSON, with the body that the description gives as its example. */
async function attempt(world: World, endpoint: Endpoint, { browser, headers = {}, id, body }: Attempt) {
  const example = exampleOf(endpoint);
  const text = body ?? (example && JSON.stringify(example));
  const init: RequestInit = {
    method: endpoint.method,
    headers: { ...(text && isWrite(endpoint) ? { 'content-type': 'application/json' } : {}), ...headers },
    body: isWrite(endpoint) ? text : undefined,
  };
  const address = addressOf(world, endpoint, id);
  if (browser) return browser.send(address, init);
  const response = await fetch(world.signet.url + address, init);
  const answer = await response.text();
  const { status } = response;
  return { status, headers: response.headers, text: answer, json: JSON.parse(answer) } as Pick<
    Answer,
    'status' | 'headers' | 'text' | 'json'
  >;
}

type Refusal = Pick<Answer, 'status' | 'text' | 'json'>;
function assertRefused(endpoint: Endpoint, { status, text, json }: Refusal, expected: [number, string]) {
  assert.deepEqual([status, json?.error], expected, `${label(endpoint)}: ${text}`);
}

/** Every row there is, but for the moments of last use. */
async function everything({ signet }: World): Promise<string[]> {
  const folder = join(import.meta.dirname, '../../src/platform/db/migrations');
  const sql = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const tables = sql.flatMap((text) => [...text.matchAll(/create table (\w+)/g)].map(([, name = '']) => name));
  assert.ok(tables.length > 20);
  const lines = tables.map(async (table) =>
    (await plain(signet.deps.db).all(`select * from ${table}`)).map(
      (row) => `${table} ${JSON.stringify(row, withoutUse)}`,
    ),
  );
  return (await Promise.all(lines)).flat().sort();
}

const withoutUse = (name: string, value: unknown) =>
  /^(last_seen_at|idle_expires_at)$/.test(name) ? undefined : value;

/** @param tried attempts at every address; whatever they answer, nothing may be different afterwards. */
async function changesNothing(world: World, tried: () => Promise<void>): Promise<void> {
  const before = await everything(world);
  await tried();
  assert.deepEqual(await everything(world), before);
}

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
