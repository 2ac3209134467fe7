import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { raiseSomeAlert } from './alerts.ts';
import { newApi } from './apis.ts';
import { newAttribute } from './attributes.ts';
import type { Answer, Browser } from './browser.ts';
import { newGroup } from './groups.ts';
import { plain } from './plain-sql.ts';
import { type Options, type Signet, startSignet } from './signet.ts';
import type { TestUser } from './test-user.ts';
import { trustSomeBrowser } from './trusted-browsers.ts';

// Every address that a session opens, from the API's own description, and the world that they are tried in.

export type Operation = {
  security: Record<string, string[]>[];
  description?: string;
  responses: Record<string, { description: string }>;
  requestBody?: { content: Record<string, { example?: Record<string, unknown> }> };
};
export type Endpoint = { method: string; path: string; operation: Operation };
export type World = {
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

export const isAdministrative = ({ path }: Endpoint) => path.startsWith('/v1/admin/');
export const isWrite = ({ method }: Endpoint) => method !== 'GET';
/** Any other endpoint of a session asks for it only where a second factor is required of everyone. */
export const takesReauthentication = ({ operation: { description = '', responses } }: Endpoint) =>
  responses['403']?.description.includes('reauthentication_required') === true &&
  /sign-in must be at most|signed in at most/.test(description);
export const label = ({ method, path }: Endpoint) => `${method} ${path}`;

export async function world(
  t: TestContext,
  options: Pick<Options, 'engine'> = {},
  start: typeof startSignet = startSignet,
): Promise<World> {
  const signet = await start(t, {
    ...options,
    env: { SIGNET_RATE_LIMITS: 'off', SIGNET_TRUSTED_BROWSER_DAYS: '30' },
  });
  const [owner, other] = [await signet.signedInUser(), await signet.signedInUser()];
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ owner });
  const { access_token } = await owner.obtainTokens(client);
  const { client_id: service_id } = await signet.newService();
  const { api_id } = await newApi(signet, ['matrix:read', 'files:write']);
  const { group_id } = await newGroup(signet, 'Matrix');
  const { attribute_id } = await newAttribute(signet, 'matrix');
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
  const stream_id = 'sst_0000000000000000000000';
  await plain(db).run(
    `insert into signal_streams (stream_id, credential_id, method, events_requested, status, created_at)
     values ($1, $2, 'poll', '[]', 'enabled', 1)`,
    [stream_id, service_id],
  );
  await plain(db).run(
    `insert into signal_deliveries (delivery_id, stream_id, event_id, ordinal, event_type, payload, created_at, attempts, dead_at)
     values ('msg_1', $1, 'evt_1', 0, 'verification', '{"members":{}}', 1, 10, 1)`,
    [stream_id],
  );
  await plain(db).run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ('passkey1', $1, 'x', 0, '', 'Key', 1)`,
    [owner.user_id],
  );
  await plain(db).run('update sessions set acr = $3 where user_id in ($1, $2)', [
    owner.user_id,
    administrator.user_id,
    twoFactors,
  ]);
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
      alert_id: await raiseSomeAlert(signet, owner.user_id, client.client_id),
      browser_id: await trustSomeBrowser(signet, owner.user_id),
      secret_id: secret?.secret_id ?? '',
      webhook_id,
      stream_id,
      delivery_id: 'msg_1',
      id: 'passkey1',
      provider: 'google',
      api_id,
      group_id,
      attribute_id,
      picture: 'logo',
      host: 'app.example.com',
      name: 'SIGNET_REVIEW_MAILS',
    },
  };
}

export async function endpointsOf({ url }: Signet): Promise<Endpoint[]> {
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

export const exampleOf = ({ operation }: Endpoint) => operation.requestBody?.content['application/json']?.example;

type Attempt = { browser?: Browser; headers?: Record<string, string>; id?: string; body?: string };

/** As a program would: JSON, with the body that the description gives as its example. */
export async function attempt(world: World, endpoint: Endpoint, { browser, headers = {}, id, body }: Attempt) {
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
  const isJson = /^application\/json(;|$)/.test(response.headers.get('content-type') ?? '');
  return { status, headers: response.headers, text: answer, json: isJson ? JSON.parse(answer) : undefined } as Pick<
    Answer,
    'status' | 'headers' | 'text' | 'json'
  >;
}

type Refusal = Pick<Answer, 'status' | 'text' | 'json'>;
export function assertRefused(endpoint: Endpoint, { status, text, json }: Refusal, expected: [number, string]) {
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
  /^(last_seen_at|last_used_at|idle_expires_at)$/.test(name) ? undefined : value;

/** @param tried attempts at every address; whatever they answer, nothing may be different afterwards. */
export async function changesNothing(world: World, tried: () => Promise<void>): Promise<void> {
  const before = await everything(world);
  await tried();
  assert.deepEqual(await everything(world), before);
}
