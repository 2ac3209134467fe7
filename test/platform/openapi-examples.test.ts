import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { userFilters } from '../../src/accounts/statements.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { registerClient as registerOwnClient } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { compile } from '../../src/platform/validator.ts';
import { raiseSomeAlert } from '../support/alerts.ts';
import { newApi } from '../support/apis.ts';
import { newAttribute } from '../support/attributes.ts';
import { readAnswer } from '../support/browser.ts';
import { assertOneBucketEach } from '../support/buckets.ts';
import { freshDatabase } from '../support/databases.ts';
import { askForRecovery } from '../support/factor-recoveries.ts';
import { combinedOf, foreignKeyReads, fullScansOf, watchStatements } from '../support/full-scans.ts';
import { newGroup } from '../support/groups.ts';
import { plain } from '../support/plain-sql.ts';
import { connectionStatements, exceptionsIn, postgresMigrations, tableBelow } from '../support/portable-sql.ts';
import { basic, verifier } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { signalApp, signalClient } from '../support/signal-receiver.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { inTheWayOf, withoutSchema } from '../support/sql-places.ts';
import type { TestUser } from '../support/test-user.ts';
import { trustSomeBrowser } from '../support/trusted-browsers.ts';
import { acmeAt, startUpstream } from '../support/upstream.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

/** Replays the document against the server: where the two differ, one of them is wrong. */

type Media = { schema?: unknown; example?: unknown };
type Operation = {
  tags: string[];
  summary: string;
  security: Record<string, unknown>[];
  parameters: { name: string; in: 'path' | 'query'; required: boolean }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
};
type Document = { paths: Record<string, Record<string, Operation>>; externalDocs: { url: string } };

/** What the parameters of an address stand for, and what is sent where the example cannot know it. */
type Call = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  /** Laid over the example: ids that only this server knows. */
  body?: Record<string, unknown>;
  /** For addresses that take a form. */
  form?: Record<string, string>;
  authorization?: string;
  browser?: TestUser['browser'];
};
type Prepare = (given: Given) => Call | Promise<Call>;

/** Each operation gets people, clients and credentials of its own, so that none of them finds what another one left. */
type Given = { signet: Signet; t: TestContext; admin: TestUser; user: TestUser };

const pending = async ({ signet, user }: Given) =>
  (await signet.registerClient({ owner: user, approved: false })).client_id;
const approved = async ({ signet, user }: Given) => (await signet.registerClient({ owner: user })).client_id;
/** A client that no account owns, with two secrets. */
async function firstPartyClient({ signet }: Given) {
  const { client } = await registerOwnClient(
    signet.deps,
    { owner_user_id: null, caller: { actor: 'cli' } },
    readRegistration({ name: 'First-party', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] }),
  );
  return client.client_id;
}
const ofUser = ({ user }: Given): Call => ({ path: { user_id: user.user_id } });
const asUser = ({ user }: Given): Call => ({ browser: user.browser });

async function tokens({ signet, user }: Given) {
  const client = await signet.registerClient();
  const { json } = await client.redeem(await user.authorize(client));
  const { access_token, refresh_token } = json as { access_token: string; refresh_token: string };
  return { client, access_token, refresh_token, authorization: basic(client.client_id, client.client_secret ?? '') };
}

async function webhook({ signet, t, admin }: Given) {
  const receiver = await openReceiver(t);
  receiver.status = 500;
  const { json } = await admin.browser.postJson('/v1/admin/webhooks', {
    url: receiver.url,
    event_types: ['user.created'],
  });
  await signet.newUser();
  return String(json?.webhook_id);
}

let providers = 0;

/** What a provider of its own needs: no two have the same ID or issuer. */
async function newProvider(given: Given) {
  const { id, upstream } = await newUpstream(given);
  return { id, issuer: upstream.issuer };
}

async function newUpstream({ signet, t, admin }: Given) {
  await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [admin.user_id, twoFactors]);
  providers += 1;
  const upstream = await startUpstream(t, () => Math.floor(signet.clock() / 1000));
  return { id: `one${providers}`, upstream };
}

async function provider(given: Given, made?: Awaited<ReturnType<typeof newProvider>>): Promise<Call> {
  const { id, issuer } = made ?? (await newProvider(given));
  const terms = { id, issuer, label: 'One', client_id: 'c', client_secret: 's' };
  const { status, text } = await given.admin.browser.postJson('/v1/admin/providers', terms);
  assert.equal(status, 200, text);
  return { path: { provider: id } };
}

async function logoutToken(given: Given): Promise<Call> {
  const { id, upstream } = await newUpstream(given);
  const { issuer } = upstream;
  const iat = given.signet.clock() / 1000;
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const claims = { iss: issuer, aud: 'c', iat, exp: iat + 120, jti: 'one', events, sub: 'sub-1' };
  return { ...(await provider(given, { id, issuer })), form: { logout_token: await upstream.sign(claims) } };
}

async function stream({ signet }: Given): Promise<Call> {
  const client = await signalClient(signet);
  const { stream_id } = await client.create();
  return { authorization: client.service.authorization, body: { stream_id } };
}
const watchedStream = async (given: Given) => ({ path: { stream_id: String((await stream(given)).body?.stream_id) } });
/** Of a client of the user. */
async function ownStream(given: Given) {
  const { client, create } = await signalApp(given.signet, { owner: given.user });
  const { stream_id } = await create();
  return { call: { ...asUser(given), path: { client_id: client.client_id } }, stream_id };
}
const ofOwnStream = async (given: Given): Promise<Call> => (await ownStream(given)).call;

async function deadSignal({ signet }: Given, stream_id: string): Promise<string> {
  const delivery_id = `msg_x.${stream_id}`;
  await plain(signet.deps.db).run(
    `insert into signal_deliveries (delivery_id, stream_id, event_id, ordinal, event_type, payload, created_at, attempts, dead_at)
     values ($1, $2, 'evt_x', 0, 'verification', '{"members":{}}', 1, 1, 2)`,
    [delivery_id, stream_id],
  );
  return delivery_id;
}

const asQuery = ({ authorization, body }: Call): Call => ({
  authorization,
  query: { stream_id: String(body?.stream_id) },
});

async function subject(given: Given): Promise<Call> {
  const { authorization, body } = await stream(given);
  const { signet, user } = given;
  return { authorization, body: { ...body, subject: { format: 'iss_sub', iss: signet.url, sub: user.user_id } } };
}

/** One that failed once. */
async function delivery(given: Given) {
  const webhook_id = await webhook(given);
  await given.signet.runJobs();
  const { json } = await given.admin.browser.get(`/v1/admin/webhooks/${webhook_id}/deliveries`);
  const [one] = (json?.deliveries ?? []) as { delivery_id: string }[];
  return { webhook_id, delivery_id: one?.delivery_id ?? '' };
}

/** A logout token that was refused. */
async function deadLogout({ signet, user: owner, t }: Given) {
  const receiver = await openReceiver(t);
  receiver.status = 400;
  const { client_id, user } = await signedInWith(signet, owner, receiver.url);
  await user.browser.post('/signout');
  await signet.runJobs();
  const { json } = await owner.browser.get(`/v1/oauth/clients/${client_id}/logout-deliveries`);
  const { deliveries } = json as { deliveries: { delivery_id: string }[] };
  return { client_id, delivery_id: deliveries[0]!.delivery_id };
}

async function signedInWith(signet: Given['signet'], owner: Given['user'], backchannel_logout_uri: string) {
  const client = await signet.registerClient({ owner, backchannel_logout_uri });
  const user = await signet.signedInUser();
  await user.obtainTokens(client);
  return { client_id: client.client_id, user };
}

const calls: Record<string, Prepare> = {
  'get /.well-known/jwks.json': () => ({}),
  'get /.well-known/oauth-authorization-server': () => ({}),
  'get /.well-known/openid-configuration': () => ({}),
  'post /oauth/authorize': async ({ signet }) => {
    const client = await signet.registerClient();
    const { searchParams } = new URL(client.authorizePath(), signet.url);
    return { form: Object.fromEntries(searchParams) };
  },
  'get /oauth/authorize': async ({ signet, user }) => {
    const client = await signet.registerClient();
    const { searchParams } = new URL(client.authorizePath(), signet.url);
    return { query: Object.fromEntries(searchParams), browser: user.browser };
  },
  'post /oauth/token': async ({ signet, user }) => {
    const client = await signet.registerClient();
    const code = await user.authorize(client);
    const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirect_uri, code_verifier: verifier };
    return { form, authorization: basic(client.client_id, client.client_secret ?? '') };
  },
  'post /oauth/par': async ({ signet }) => {
    const client = await signet.registerClient();
    const { searchParams } = new URL(client.authorizePath(), signet.url);
    const authorization = basic(client.client_id, client.client_secret ?? '');
    return { form: Object.fromEntries(searchParams), authorization };
  },
  'post /oauth/introspect': async (given) => {
    const { access_token, authorization } = await tokens(given);
    return { form: { token: access_token }, authorization };
  },
  'post /oauth/revoke': async (given) => {
    const { refresh_token, authorization } = await tokens(given);
    return { form: { token: refresh_token }, authorization };
  },
  'get /oauth/logout': ({ user }) => ({ browser: user.elsewhere().browser }),
  'post /oauth/logout': () => ({ form: { state: 'any' } }),
  'get /oauth/userinfo': async (given) => ({ authorization: `Bearer ${(await tokens(given)).access_token}` }),
  'post /oauth/userinfo': async (given) => ({ authorization: `Bearer ${(await tokens(given)).access_token}` }),
  'get /v1/me/entitlements': asUser,
  'get /.well-known/ssf-configuration': () => ({}),
  'get /oauth/status-lists/{list}': ({ signet: { deps } }) => {
    const { uri } = deps.statusLists.claimOf(deps.statusLists.next(), 'EdDSA').status_list;
    return { path: { list: uri.slice(uri.lastIndexOf('/') + 1) } };
  },
  'post /v1/signals/streams': async ({ signet }) => ({
    authorization: (await signalClient(signet)).service.authorization,
  }),
  'get /v1/signals/streams': async (given) => asQuery(await stream(given)),
  'patch /v1/signals/streams': stream,
  'put /v1/signals/streams': stream,
  'delete /v1/signals/streams': async (given) => asQuery(await stream(given)),
  'post /v1/signals/streams/{stream_id}/poll': async (given) => {
    const { authorization, body } = await stream(given);
    return { authorization, path: { stream_id: String(body?.stream_id) } };
  },
  'get /v1/signals/status': async (given) => asQuery(await stream(given)),
  'post /v1/signals/status': stream,
  'post /v1/signals/verification': stream,
  'post /v1/signals/subjects/add': subject,
  'post /v1/signals/subjects/remove': subject,
  'post /v1/entitlements': async ({ signet, user }) => ({
    authorization: (await signet.newService()).authorization,
    body: { user_id: user.user_id },
  }),
  'get /v1/oauth/clients': asUser,
  'post /v1/oauth/clients': asUser,
  'post /v1/oauth/clients/check': asUser,
  'get /v1/oauth/clients/{client_id}': async (given) => ({
    ...asUser(given),
    path: { client_id: await pending(given) },
  }),
  'patch /v1/oauth/clients/{client_id}': async (given) => ({
    ...asUser(given),
    path: { client_id: await pending(given) },
  }),
  'delete /v1/oauth/clients/{client_id}': async (given) => ({
    ...asUser(given),
    path: { client_id: await pending(given) },
  }),
  'get /v1/oauth/clients/{client_id}/alerts': async (given) => {
    const client_id = await approved(given);
    await raiseSomeAlert(given.signet, given.user.user_id, client_id);
    return { browser: given.user.browser, path: { client_id } };
  },
  'get /v1/oauth/clients/{client_id}/activity': async (given) => ({
    ...asUser(given),
    path: { client_id: await approved(given) },
  }),
  'get /v1/oauth/clients/{client_id}/logout-deliveries': async (given) => ({
    ...asUser(given),
    path: { client_id: await approved(given) },
  }),
  'post /v1/oauth/clients/{client_id}/logout-deliveries/{delivery_id}/retry': async (given) => ({
    ...asUser(given),
    path: await deadLogout(given),
  }),
  'get /v1/oauth/clients/{client_id}/signal-stream': ofOwnStream,
  'delete /v1/oauth/clients/{client_id}/signal-stream': ofOwnStream,
  'get /v1/oauth/clients/{client_id}/signal-stream/deliveries': ofOwnStream,
  'post /v1/oauth/clients/{client_id}/signal-stream/pause': ofOwnStream,
  'post /v1/oauth/clients/{client_id}/signal-stream/enable': async (given) => {
    const { call } = await ownStream(given);
    await given.user.browser.postJson(`/v1/oauth/clients/${call.path.client_id}/signal-stream/pause`, {});
    return call;
  },
  'post /v1/oauth/clients/{client_id}/signal-stream/send-verification': ofOwnStream,
  'post /v1/oauth/clients/{client_id}/signal-stream/deliveries/{delivery_id}/replay': async (given) => {
    const { call, stream_id } = await ownStream(given);
    return { ...call, path: { ...call.path, delivery_id: await deadSignal(given, stream_id) } };
  },
  'get /v1/oauth/clients/{client_id}/secrets': async (given) => ({
    ...asUser(given),
    path: { client_id: await approved(given) },
  }),
  'post /v1/oauth/clients/{client_id}/secrets': async (given) => ({
    ...asUser(given),
    path: { client_id: await approved(given) },
  }),
  'delete /v1/oauth/clients/{client_id}/secrets/{secret_id}': async (given) => {
    const client_id = await approved(given);
    await given.user.browser.postJson(`/v1/oauth/clients/${client_id}/secrets`, {});
    const { json } = await given.user.browser.get(`/v1/oauth/clients/${client_id}/secrets`);
    const [secret] = (json?.secrets ?? []) as { secret_id: string }[];
    return { ...asUser(given), path: { client_id, secret_id: secret?.secret_id ?? '' } };
  },
  'get /v1/admin/audit': () => ({}),
  'get /v1/admin/audit/export': () => ({ query: { format: 'jsonl' } }),
  'get /v1/admin/audit/unauthenticated': () => ({}),
  'post /v1/admin/audit/verify': () => ({}),
  'get /v1/admin/clients': () => ({}),
  'post /v1/admin/clients': () => ({}),
  'get /v1/admin/clients/export': () => ({ query: { status: 'approved' } }),
  'get /v1/admin/clients/{client_id}': async (given) => ({ path: { client_id: await pending(given) } }),
  'patch /v1/admin/clients/{client_id}': async (given) => ({ path: { client_id: await firstPartyClient(given) } }),
  'get /v1/admin/clients/{client_id}/logout-deliveries': async (given) => ({
    path: { client_id: await approved(given) },
  }),
  'post /v1/admin/clients/{client_id}/logout-deliveries/{delivery_id}/retry': async (given) => ({
    path: await deadLogout(given),
  }),
  'get /v1/admin/clients/{client_id}/secrets': async (given) => ({
    path: { client_id: await firstPartyClient(given) },
  }),
  'post /v1/admin/clients/{client_id}/secrets': async (given) => ({
    path: { client_id: await firstPartyClient(given) },
  }),
  'delete /v1/admin/clients/{client_id}/secrets/{secret_id}': async (given) => {
    const client_id = await firstPartyClient(given);
    const secrets = `/v1/admin/clients/${client_id}/secrets`;
    await given.admin.browser.postJson(secrets, {});
    const [secret] = ((await given.admin.browser.get(secrets)).json?.secrets ?? []) as { secret_id: string }[];
    return { path: { client_id, secret_id: secret?.secret_id ?? '' } };
  },
  'post /v1/admin/clients/{client_id}/logo': async ({ signet, user }) => {
    const logo_url = 'https://app.test/logo.png'; // nothing answers there, which is what it says
    return { path: { client_id: (await signet.registerClient({ owner: user, approved: false, logo_url })).client_id } };
  },
  'delete /v1/admin/clients/{client_id}': async (given) => ({ path: { client_id: await pending(given) } }),
  'post /v1/admin/clients/{client_id}/approve': async (given) => ({ path: { client_id: await pending(given) } }),
  'post /v1/admin/clients/{client_id}/reject': async (given) => ({ path: { client_id: await pending(given) } }),
  'patch /v1/admin/clients/{client_id}/policy': async (given) => ({ path: { client_id: await approved(given) } }),
  'post /v1/admin/clients/{client_id}/suspend': async (given) => ({ path: { client_id: await approved(given) } }),
  'post /v1/admin/clients/{client_id}/reinstate': async (given) => {
    const client_id = await approved(given);
    await given.admin.browser.postJson(`/v1/admin/clients/${client_id}/suspend`, { reason: 'For a moment' });
    return { path: { client_id } };
  },
  'delete /v1/admin/grants/{grant_id}': async (given) => {
    await tokens(given);
    const { json } = await given.admin.browser.get(`/v1/admin/users/${given.user.user_id}/grants`);
    const [grant] = (json?.grants ?? []) as { grant_id: string }[];
    return { path: { grant_id: grant?.grant_id ?? '' } };
  },
  'get /v1/admin/client-hosts': () => ({}),
  'put /v1/admin/client-hosts/{host}': () => ({ path: { host: 'app.example.com' } }),
  'delete /v1/admin/client-hosts/{host}': async ({ admin }) => {
    const host = 'other.example.com';
    await admin.browser.put(`/v1/admin/client-hosts/${host}`, { allowed_scopes: ['openid'] });
    return { path: { host } };
  },
  'get /v1/admin/keys': () => ({}),
  'post /v1/admin/keys/rotate': () => ({}),
  'get /v1/admin/attributes': () => ({}),
  'post /v1/admin/attributes': () => ({}),
  ...Object.fromEntries(
    ['get', 'patch', 'delete'].map((method) => [
      `${method} /v1/admin/attributes/{attribute_id}`,
      async ({ signet }: Given) => ({ path: await newAttribute(signet, `attribute_to_${method}`) }),
    ]),
  ),
  'get /v1/admin/brand': () => ({}),
  'patch /v1/admin/brand': () => ({}),
  'put /v1/admin/brand/pictures/{picture}': () => ({ path: { picture: 'logo' } }),
  'delete /v1/admin/brand/pictures/{picture}': () => ({ path: { picture: 'icon' } }),
  'post /v1/admin/brand/restore': () => ({}),
  'get /v1/admin/brand/versions': () => ({}),
  'post /v1/admin/brand/words': () => ({}),
  'get /v1/admin/groups': () => ({}),
  'post /v1/admin/groups': () => ({}),
  ...Object.fromEntries(
    ['get', 'patch', 'delete'].map((method) => [
      `${method} /v1/admin/groups/{group_id}`,
      async ({ signet }: Given) => ({ path: await newGroup(signet, `Group to ${method}`) }),
    ]),
  ),
  'get /v1/admin/groups/{group_id}/members': async ({ signet, user }) => ({
    path: await newGroup(signet, 'With a member', [user]),
  }),
  'post /v1/admin/groups/{group_id}/members': async ({ signet, user }) => ({
    path: await newGroup(signet, 'Without a member'),
    body: { user: user.user_id },
  }),
  'post /v1/admin/groups/{group_id}/remove-member': async ({ signet, user }) => ({
    path: await newGroup(signet, 'With a member to remove', [user]),
    body: { user: user.user_id },
  }),
  'get /v1/admin/apis': () => ({}),
  'post /v1/admin/apis': () => ({}),
  ...Object.fromEntries(
    ['get', 'patch'].map((method) => [
      `${method} /v1/admin/apis/{api_id}`,
      async ({ signet }: Given) => ({ path: { api_id: (await newApi(signet, [`${method}:read`])).api_id } }),
    ]),
  ),
  'post /v1/admin/apis/{api_id}/scopes': async ({ signet }) => ({
    path: { api_id: (await newApi(signet, ['one:read'])).api_id },
  }),
  'post /v1/admin/apis/{api_id}/retire-scope': async ({ signet }) => ({
    path: { api_id: (await newApi(signet, ['two:read', 'two:write'])).api_id },
    body: { scope: 'two:write' },
  }),
  'post /v1/admin/apis/{api_id}/retire': async ({ signet }) => ({
    path: { api_id: (await newApi(signet, ['three:read'])).api_id },
  }),
  'get /v1/admin/service-credentials': () => ({}),
  'post /v1/admin/service-credentials': () => ({}),
  'patch /v1/admin/service-credentials/{client_id}': async ({ signet }) => ({
    path: { client_id: (await signet.newService()).client_id },
  }),
  'post /v1/admin/service-credentials/{client_id}/retire': async ({ signet }) => ({
    path: { client_id: (await signet.newService()).client_id },
  }),
  'post /v1/admin/service-credentials/{client_id}/rotate': async ({ signet }) => ({
    path: { client_id: (await signet.newService()).client_id },
  }),
  'get /v1/admin/users': () => ({}),
  'post /v1/admin/users/invite': () => ({}),
  'get /v1/admin/invitations': () => ({}),
  'get /v1/admin/refused-addresses': () => ({}),
  'post /v1/admin/invitations/revoke': async ({ admin }) => {
    const email = 'invited@example.test';
    await admin.browser.postJson('/v1/admin/users/invite', { email, reason: 'New.' });
    return { body: { email } };
  },
  'post /v1/admin/settings/test-mail': () => ({}),
  'post /v1/admin/settings/providers/{provider}/check': () => ({ path: { provider: 'acme' } }),
  'get /v1/admin/entitlements': () => ({}),
  'get /v1/admin/entitlements/export': () => ({ query: { product: 'editor' } }),
  'get /v1/admin/users/{user_id}': ofUser,
  'patch /v1/admin/users/{user_id}': ofUser,
  'delete /v1/admin/users/{user_id}': (given) => ({ ...ofUser(given), body: { email: given.user.email } }),
  'post /v1/admin/users/{user_id}/reset-link': ofUser,
  'delete /v1/admin/users/{user_id}/picture': async (given) => {
    await given.user.browser.patch('/v1/me', { picture: 'https://pictures.example.com/ada.jpg' });
    return ofUser(given);
  },
  'post /v1/admin/users/{user_id}/export': ofUser,
  'post /v1/admin/users/export': () => ({}),
  'post /v1/admin/users/import': () => ({}),
  'post /v1/admin/users/bulk': ({ user }) => ({ body: { user_ids: [user.user_id] } }),
  'post /v1/admin/users/{user_id}/disable': ofUser,
  'post /v1/admin/users/{user_id}/enable': async (given) => {
    await given.admin.browser.postJson(`/v1/admin/users/${given.user.user_id}/disable`, { reason: 'For a moment' });
    return ofUser(given);
  },
  'get /v1/admin/users/{user_id}/entitlements': async (given) => {
    const { authorization } = await given.signet.newService();
    await postEntitlement(given.signet, authorization, writeOf(given.user.user_id));
    return ofUser(given);
  },
  'get /v1/admin/users/{user_id}/grants': async (given) => {
    await tokens(given);
    return ofUser(given);
  },
  'post /v1/admin/users/{user_id}/reset-factors': ofUser,
  'put /v1/admin/users/{user_id}/role': ofUser,
  'get /v1/admin/users/{user_id}/alerts': async (given) => {
    await withAlert(given);
    return ofUser(given);
  },
  'get /v1/admin/users/{user_id}/trusted-browsers': async (given) => {
    await trustSomeBrowser(given.signet, given.user.user_id);
    return ofUser(given);
  },
  'delete /v1/admin/users/{user_id}/trusted-browsers/{browser_id}': async ({ signet, user: { user_id } }) => ({
    path: { user_id, browser_id: await trustSomeBrowser(signet, user_id) },
  }),
  'get /v1/admin/users/{user_id}/factor-recovery': async (given) => {
    await askForRecovery(given.signet, given.user);
    return ofUser(given);
  },
  'delete /v1/admin/users/{user_id}/factor-recovery': async (given) => {
    await askForRecovery(given.signet, given.user);
    return ofUser(given);
  },
  'get /v1/admin/users/{user_id}/sessions': ofUser,
  'delete /v1/admin/users/{user_id}/sessions/{session_id}': async (given) => {
    const { json } = await given.admin.browser.get(`/v1/admin/users/${given.user.user_id}/sessions`);
    const [session] = (json?.sessions ?? []) as { session_id: string }[];
    return { path: { user_id: given.user.user_id, session_id: session?.session_id ?? '' } };
  },
  'post /v1/admin/users/{user_id}/sign-out': ofUser,
  'post /v1/admin/users/{user_id}/unlock': ofUser,
  'get /v1/admin/settings': () => ({}),
  'put /v1/admin/settings/{name}': () => ({ path: { name: 'SIGNET_REVIEW_MAILS' } }),
  'get /v1/admin/providers': async (given) => {
    await provider(given);
    return {};
  },
  'post /v1/admin/providers': async (given) => ({ body: await newProvider(given) }),
  'get /v1/admin/providers/{provider}': provider,
  'patch /v1/admin/providers/{provider}': provider,
  'post /v1/admin/providers/{provider}/disable': provider,
  'post /v1/admin/providers/{provider}/enable': async (given) => {
    const call = await provider(given);
    await given.admin.browser.postEmpty(`/v1/admin/providers/${call.path?.provider}/disable`);
    return call;
  },
  'delete /v1/admin/providers/{provider}': provider,
  'put /v1/admin/providers/{provider}/logo': provider,
  'delete /v1/admin/providers/{provider}/logo': provider,
  'get /v1/admin/signal-streams': () => ({}),
  'get /v1/admin/signal-streams/{stream_id}': watchedStream,
  'get /v1/admin/signal-streams/{stream_id}/deliveries': watchedStream,
  'post /v1/admin/signal-streams/{stream_id}/pause': watchedStream,
  'post /v1/admin/signal-streams/{stream_id}/enable': async (given) => {
    const { path } = await watchedStream(given);
    await given.admin.browser.postJson(`/v1/admin/signal-streams/${path.stream_id}/pause`, {});
    return { path };
  },
  'post /v1/admin/signal-streams/{stream_id}/send-verification': watchedStream,
  'delete /v1/admin/signal-streams/{stream_id}': watchedStream,
  'post /v1/admin/signal-streams/{stream_id}/deliveries/{delivery_id}/replay': async (given) => {
    const { path } = await watchedStream(given);
    return { path: { ...path, delivery_id: await deadSignal(given, path.stream_id) } };
  },
  'get /v1/admin/webhooks': () => ({}),
  'post /v1/admin/webhooks': () => ({}),
  'delete /v1/admin/webhooks/{webhook_id}': async (given) => ({ path: { webhook_id: await webhook(given) } }),
  'patch /v1/admin/webhooks/{webhook_id}': async (given) => ({ path: { webhook_id: await webhook(given) } }),
  'post /v1/admin/webhooks/{webhook_id}/disable': async (given) => ({ path: { webhook_id: await webhook(given) } }),
  'post /v1/admin/webhooks/{webhook_id}/enable': async (given) => {
    const webhook_id = await webhook(given);
    await given.admin.browser.postJson(`/v1/admin/webhooks/${webhook_id}/disable`, {});
    return { path: { webhook_id } };
  },
  'post /v1/admin/webhooks/{webhook_id}/test': async (given) => ({ path: { webhook_id: await webhook(given) } }),
  'post /v1/admin/webhooks/{webhook_id}/rotate-secret': async (given) => ({
    path: { webhook_id: await webhook(given) },
  }),
  'get /v1/admin/webhooks/{webhook_id}/deliveries': async (given) => {
    const webhook_id = await webhook(given);
    await given.signet.runJobs();
    return { path: { webhook_id } };
  },
  'get /v1/admin/webhooks/{webhook_id}/deliveries/{delivery_id}': async (given) => ({ path: await delivery(given) }),
  'post /v1/admin/webhooks/{webhook_id}/deliveries/replay': async (given) => ({
    path: { webhook_id: await webhook(given) },
  }),
  'post /v1/admin/webhooks/{webhook_id}/deliveries/{delivery_id}/replay': async (given) => {
    const path = await delivery(given);
    await plain(given.signet.deps.db).run(
      'update webhook_deliveries set dead_at = $1, next_attempt_at = null where webhook_id = $2',
      [1, path.webhook_id],
    );
    return { path };
  },
};

/** A user who has an authenticator app. */
async function withTotp({ signet, user }: Given): Promise<Call> {
  const { code } = await enrolled(signet, user);
  const confirmed = await user.browser.postJson('/v1/me/2fa/totp/confirm', { code });
  assert.equal(confirmed.status, 200, confirmed.text);
  return { browser: user.browser };
}

async function enrolled(signet: Signet, { browser }: TestUser) {
  const { json } = await browser.postEmpty('/v1/me/2fa/totp/enroll');
  const secret = Secret.fromBase32(String(json?.secret_base32));
  return { code: new TOTP({ secret }).generate({ timestamp: signet.clock() }) };
}

async function withAnotherSession({ user }: Given) {
  const { browser } = await user.signedInElsewhere();
  const { json } = await browser.get('/v1/me');
  return { browser: user.browser, path: { session_id: String((json?.session as { id?: string })?.id) } };
}

const withTrustedBrowser = async ({ signet, user }: Given): Promise<Call> => ({
  browser: user.browser,
  path: { browser_id: await trustSomeBrowser(signet, user.user_id) },
});

const withAlert = async (given: Given): Promise<Call> => ({
  browser: given.user.browser,
  path: { alert_id: await raiseSomeAlert(given.signet, given.user.user_id, await approved(given)) },
});

/** A passkey as its ceremony would have left it. */
async function withPasskey({ signet, user }: Given): Promise<Call> {
  await plain(signet.deps.db).run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ($1, $2, 'x', 0, '', 'Key ring', 1800000000)`,
    [`credential-of-${user.user_id}`, user.user_id],
  );
  await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [user.user_id, twoFactors]);
  const { json } = await user.browser.get('/v1/me/passkeys');
  const [passkey] = (json?.passkeys ?? []) as { id: string }[];
  return { browser: user.browser, path: { id: passkey?.id ?? '' } };
}

/** What belongs to accounts and ways to sign in. */
const accountCalls: Record<string, Prepare> = {
  'get /v1/auth/providers': () => ({}),
  'get /v1/me': asUser,
  'patch /v1/me': asUser,
  'put /v1/me/picture': asUser,
  'delete /v1/me': ({ user }) => ({ browser: user.browser, body: { email: user.email } }),
  'get /v1/me/2fa': asUser,
  'post /auth/{provider}/backchannel-logout': logoutToken,
  'post /v1/admin/providers/{provider}/signals-secret': provider,
  'post /v1/me/2fa/totp/enroll': asUser,
  'post /v1/me/2fa/totp/confirm': async ({ signet, user }) => ({
    browser: user.browser,
    body: await enrolled(signet, user),
  }),
  'delete /v1/me/2fa/totp': withTotp,
  'post /v1/me/2fa/backup-codes': withTotp,
  'post /v1/me/email': ({ user }) => ({ browser: user.browser, body: { email: `new.${user.email}` } }),
  'post /v1/me/email/verify': async ({ signet, user }) => {
    await plain(signet.deps.db).run('update users set email_verified_at = null where user_id = $1', [user.user_id]);
    return { browser: user.browser };
  },
  'get /v1/me/grants': async (given) => {
    await tokens(given);
    return asUser(given);
  },
  'delete /v1/me/grants/{client_id}': async (given) => {
    const { client } = await tokens(given);
    return { ...asUser(given), path: { client_id: client.client_id } };
  },
  'get /v1/me/passkeys': withPasskey,
  'post /v1/me/passkeys/options': asUser,
  'patch /v1/me/passkeys/{id}': withPasskey,
  'delete /v1/me/passkeys/{id}': withPasskey,
  'post /v1/me/password': asUser,
  'delete /v1/me/password': withPasskey,
  'get /v1/me/activity': asUser,
  'get /v1/me/alerts': withAlert,
  'get /v1/me/alerts/{alert_id}': withAlert,
  'post /v1/me/alerts/{alert_id}/answer': withAlert,
  'get /v1/me/apps': asUser,
  'post /v1/me/export': asUser,
  'get /v1/me/sessions': asUser,
  'delete /v1/me/sessions': asUser,
  'get /v1/me/trusted-browsers': withTrustedBrowser,
  'delete /v1/me/trusted-browsers/{browser_id}': withTrustedBrowser,
  'patch /v1/me/sessions/{session_id}': withAnotherSession,
  'delete /v1/me/sessions/{session_id}': withAnotherSession,
};

/** What takes an authenticator or an upstream provider; their own tests play those ceremonies through. */
const playedElsewhere =
  /^(get \/auth\/\{provider\}\/login|post \/v1\/me\/passkeys|delete \/v1\/me\/identities\/.*|post \/auth\/\{provider\}\/signals)$/;

/** Its members are those of a standard, which has more than are worth repeating. */
const openEnded = new Set(['post /v1/me/passkeys/options']);

/** A client without a secret may revoke what it holds, and learns nothing about other tokens (decisions §8). */
const opensToStrangers = 'post /oauth/revoke';

test('every answer of the server is what the document says, with the very examples of the document', async (t) => {
  const env = {
    SIGNET_TRUSTED_BROWSER_DAYS: '30',
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.1,::1',
    ...acmeAt('http://127.0.0.1:9'),
  };
  const signet = await startSignet(t, { env });
  const statements = watchStatements(signet.deps.db);
  const document = await read(signet);
  const operations = operationsOf(document);
  const admin = await signet.signedInUser({ role: 'admin' });
  const faults: string[] = [];
  for (const [name, operation] of operations) {
    const prepare = calls[name] ?? accountCalls[name];
    if (!prepare) {
      if (!playedElsewhere.test(name)) faults.push(`${name}: this test has no caller for it`);
      continue;
    }
    const given = { signet, t, admin, user: await signet.signedInUser() };
    const fault = await replay(given, name, operation, await prepare(given));
    if (fault) faults.push(`${name}: ${fault}`);
  }
  assert.deepEqual(faults, []);
  const known = new Set(operations.map(([name]) => name));
  assert.deepEqual(
    Object.keys(calls).filter((name) => !known.has(name)),
    [],
    'these are not in the document any more',
  );

  await t.test('every row of a user has ids of one bucket', async () => {
    const seen = await assertOneBucketEach(signet);
    assert.ok(seen > 100, `${seen} ids`);
  });

  const postgres = await freshDatabase(t, 'postgres');
  await t.test('no statement of an operation, page or job reads a table that grows from end to end', async () => {
    await readEverything(signet, admin);
    assert.ok(statements.size > 200, `${statements.size} statements`);
    const sqlite = signet.deps.db.engine === 'sqlite' ? signet.deps.db : (await freshDatabase(t, 'sqlite')).db;
    const all = [...statements.values()].concat(await foreignKeyReads(sqlite));
    for (const db of [sqlite, postgres.db]) assert.deepEqual(await fullScansOf(db, all), [], db.engine);
  });

  await t.test('no statement needs rows of two parts of a store that is spread by users', async (t) => {
    const inParts = await startSignet(t, { engine: 'postgres', cells: 2 });
    const ofParts = watchStatements(inParts.deps.db);
    await inParts.runJobs();
    const all = [...statements.values(), ...ofParts.values()].flatMap((one) => [one, ...combinedOf(one)]);
    const found = all.flatMap(({ sql }) =>
      inTheWayOf(sql).map((problem) => `${problem}: ${sql.replaceAll(/\s+/g, ' ')}`),
    );
    assert.deepEqual(found, []);
    assert.deepEqual(
      all.filter(({ sql }) => withoutSchema(sql).length > 0),
      [],
    );
  });

  await t.test('docs/scaling.md lists what other databases of that protocol refuse, and nothing else', async () => {
    const asSent = statements.values().flatMap((statement) => [statement, ...combinedOf(statement)]);
    const ofStores = [...asSent.map(({ sql }) => sql)].filter((sql) => !sql.includes('sqlite_master'));
    const ofConnections = await connectionStatements(postgres.url!);
    const { exceptions, unused } = exceptionsIn(postgresMigrations(), ofStores, ofConnections);
    const listed = tableBelow('### What stands in the way').map(([construct, where]) => [construct![0], where]);
    assert.deepEqual(Object.fromEntries(exceptions), Object.fromEntries(listed));
    assert.deepEqual(unused, [], 'no statement needs these any more: test/support/portable-sql.ts');
  });
});

/** Pages, lists with each of their filters, and jobs. */
async function readEverything(signet: Signet, admin: TestUser): Promise<void> {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  await owner.obtainTokens(client, { scope: 'openid offline_access' });
  const { user_id } = owner;
  const { client_id } = client;
  const states = ['all', 'waiting', 'pending_change', 'approved', 'suspended'];
  for (const path of [
    ...states.flatMap((status) =>
      ['', '&order=newest', '&query=x', '&query=x+y', `&query=${client_id}`].map(
        (more) => `/v1/admin/clients?status=${status}${more}`,
      ),
    ),
    ...['dead', 'waiting', 'delivered'].map(
      (state) => `/v1/admin/clients/${client_id}/logout-deliveries?state=${state}`,
    ),
    ...[
      'action=client',
      'action=user.created',
      `actor=user:${user_id}`,
      `target=${user_id}`,
      `about=${user_id}`,
      `about=${client_id}&action=client&since=1`,
      'since=1',
      'until=9',
      'request_id=req_x',
      'request_id=req_x&action=grant',
    ].map((filter) => `/v1/admin/audit?${filter}`),
    ...[`target=${user_id}`, 'address=127.0.0.1'].map((filter) => `/v1/admin/audit/unauthenticated?${filter}`),
    ...[...userFilters.map((one) => `filter=${one}`), 'order=last_sign_in'].map((query) => `/v1/admin/users?${query}`),
    `/v1/admin/users/${user_id}/grants?after=1-gr_1`,
    ...['ann', 'ann smith', 'ann@example.com', user_id].map((query) => `/v1/admin/users?query=${query}`),
    ...['', '/clients', `/clients/${client_id}`, `/clients/${client_id}/logout-deliveries`, '/users', '/audit'].map(
      (page) => `/admin${page}`,
    ),
    ...[`who=${user_id}`, 'who=person&period=7d', 'action=group:sessions&period=30d'].map((q) => `/admin/audit?${q}`),
    ...[
      `/users/${user_id}`,
      `/users/${user_id}/entitlements?product=x`,
      '/webhooks',
      '/apis',
      '/groups',
      '/attributes',
      '/service-credentials',
      '/keys',
    ].map((page) => `/admin${page}`),
  ]) {
    const { status, text } = await admin.browser.get(path);
    assert.equal(status, 200, `${path}: ${text}`);
  }
  const account = ['', '/security', '/sessions', '/apps', '/email', '/entitlements', '/delete'];
  const developer = ['', `/clients/${client_id}`, `/clients/${client_id}/activity`];
  for (const path of [...account.map((page) => `/account${page}`), ...developer.map((page) => `/developer${page}`)]) {
    const { status } = await owner.browser.get(path);
    assert.ok(status === 200 || status === 303, `${path}: ${status}`);
  }
  signet.clock.advance(40 * 86_400);
  await signet.runJobs();
}

test('who has no credentials is refused as the document says, wherever some are needed', async (t) => {
  const signet = await startSignet(t);
  for (const [name, operation] of operationsOf(await read(signet))) {
    if (operation.security.length === 0 || name === opensToStrangers) continue;
    const [method = '', path = ''] = name.split(' ');
    const response = await fetch(signet.url + path.replace(/\{\w+\}/g, 'x'), {
      method: method.toUpperCase(),
      redirect: 'manual',
      headers: { origin: signet.url, ...contentType(operation) },
      body: method === 'get' || method === 'delete' ? undefined : exampleText(operation),
    });
    const answer = await readAnswer(response);
    assert.ok([400, 401].includes(answer.status), `${name} answered ${answer.status} to a stranger`);
    assert.ok(operation.responses[String(answer.status)], `${name}: ${answer.status} is not in the document`);
    assert.ok(answer.json?.error && answer.json.error_description, name);
  }
});

test('the reference shows every operation, in words and as a command', async (t) => {
  const signet = await startSignet(t);
  const document = await read(signet);
  assert.equal(document.externalDocs.url, `${signet.url}/reference`);
  const response = await fetch(document.externalDocs.url);
  const index = await response.text();
  assert.equal(response.status, 200);
  const groups = new Set([...index.matchAll(/href="(\/reference\/[a-z0-9]+)"/g)].map(([, path]) => path!));
  const pages = await Promise.all([...groups].map(async (path) => (await fetch(signet.url + path)).text()));
  const text = pages.join('\n');
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.doesNotMatch(
    text,
    /<script(?! src="\/assets\/)|https?:\/\/(?!localhost|[\w.]+\.(example|test)|example\.com|[\w.]+\.example\.com|schemas\.openid\.net\/secevent)/,
  );
  for (const [name, operation] of operationsOf(document)) {
    const [method = '', path = ''] = name.split(' ');
    for (const one of [index, text]) assert.ok(one.includes(`<code>${method.toUpperCase()} ${path}</code>`), name);
    assert.ok(text.includes(operation.summary.replaceAll("'", '&#39;').replaceAll('"', '&quot;')), operation.summary);
  }
  assert.equal(text.match(/>curl /g)?.length, operationsOf(document).length);
});

const read = async (signet: Signet) => (await (await fetch(`${signet.url}/openapi.json`)).json()) as Document;

const operationsOf = ({ paths }: Document): [string, Operation][] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );

const contentType = ({ requestBody }: Operation): Record<string, string> => {
  const [type] = Object.keys(requestBody?.content ?? {});
  return type === undefined ? {} : { 'content-type': type };
};

function exampleText({ requestBody }: Operation): string | undefined {
  const [[type, media] = ['', undefined]] = Object.entries(requestBody?.content ?? {});
  if (!media) return undefined;
  return type.includes('json') ? JSON.stringify(media.example ?? {}) : 'token=x&grant_type=refresh_token';
}

/** @returns where the answer is not what the document says. */
async function replay(given: Given, name: string, operation: Operation, call: Call): Promise<string | undefined> {
  const [method = '', path = ''] = name.split(' ');
  const unknown = operation.parameters.filter(
    (parameter) => parameter.in === 'path' && call.path?.[parameter.name] === undefined,
  );
  if (unknown.length > 0) return `the test knows no ${unknown.map((parameter) => parameter.name).join(', ')}`;
  const address = path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(call.path?.[key] ?? ''));
  const query = call.query ? `?${new URLSearchParams(call.query)}` : '';
  const isAdministration = operation.tags.includes('Administration');
  const browser = call.browser ?? (isAdministration ? given.admin.browser : given.signet.newBrowser());
  const answer = await browser.send(address + query, {
    method: method.toUpperCase(),
    headers: {
      origin: given.signet.url,
      ...(call.authorization ? { authorization: call.authorization } : {}),
      ...contentType(operation),
    },
    body: bodyFor(operation, call),
  });
  const good = Object.entries(operation.responses).filter(([status]) => Number(status) < 400);
  const described = good.find(([status]) => Number(status) === answer.status)?.[1];
  if (!described) {
    return `answered ${answer.status} and not ${good.map(([status]) => status).join(' or ')}: ${answer.text.slice(0, 300)}`;
  }
  const schema = described.content?.['application/json']?.schema;
  if (!schema) {
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    const isDescribed = answer.text === '' || answer.status === 302 || described.content?.[type];
    return isDescribed ? undefined : `answered ${type}`;
  }
  return openEnded.has(name) ? differences({}, answer.json) : differences(schema as Schema, answer.json);
}

function bodyFor(operation: Operation, call: Call): string | undefined {
  if (call.form) return new URLSearchParams(call.form).toString();
  const media = operation.requestBody?.content['application/json'];
  if (!media) return undefined;
  assert.notEqual(media.example, undefined, `${operation.summary}: its body has no example`);
  return JSON.stringify({ ...(media.example as Record<string, unknown>), ...call.body });
}

/** Besides what the schema refuses: members that it does not name, so that nothing is returned that is not described. */
function differences(schema: Schema, body: unknown): string | undefined {
  const wrong = compile(schema)
    .problems(body)
    .map(({ path, message }) => `${path || 'the body'}: ${message}`);
  return [...wrong, ...unnamed(schema, body)].join('; ') || undefined;
}

type Schema = {
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  anyOf?: readonly Schema[];
};

/** An object of which nothing is said is open on purpose. */
function unnamed(schema: Schema, value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return schema.items ? value.flatMap((one) => unnamed(schema.items!, one, `${path}/0`)) : [];
  const { properties } = (schema.anyOf ?? [schema]).find((one) => one.properties) ?? {};
  if (!properties || Object.keys(properties).length === 0 || typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    properties[key] ? unnamed(properties[key], member, `${path}/${key}`) : [`tells of ${path}/${key}`],
  );
}
