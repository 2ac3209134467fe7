import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { basic } from '../support/relying-party.ts';
import {
  bareSettings,
  codeFor,
  isActiveAt,
  redeemAt,
  runCommand,
  type Settings,
  signedInClient,
  startServer,
  succeed,
} from '../support/server-process.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import type { Signet } from '../support/signet.ts';

type Json = Record<string, unknown>;
const person = 'rp@example.com';

async function startedServer(t: TestContext) {
  return startServer(t, { ...(await bareSettings(t)), SIGNET_RATE_LIMITS: 'off' });
}

async function refused(args: string[], env: Settings, sentence: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runCommand(args, { env });
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, sentence);
}

async function misunderstood(args: string[], sentence: RegExp, env: Settings): Promise<void> {
  const { code, stderr } = await runCommand(args, { env });
  assert.equal(code, 2, stderr);
  assert.match(stderr, sentence);
}

const first = (answer: Json, list: string): Json => {
  const [one] = answer[list] as Json[];
  assert.ok(one, `no ${list}`);
  return one;
};

test('a person is found, signed out, reset and made an administrator while the server runs', async (t) => {
  const server = await startedServer(t);
  const { env } = server;
  const { browser } = await signedInClient(server);
  const found = await succeed(['users', 'find', 'rp@exam'], env);
  const { user_id } = first(found, 'users');
  assert.deepEqual(await succeed(['users', 'find', 'nobody'], env), { users: [] });
  const all = await succeed(['users', 'show', person, '--all'], env);
  assert.deepEqual(all.counts, { sessions: 1, grants: 0, clients: 1, entitlements: 0 });
  assert.match((await runCommand(['users', 'show', person, '--all'], { env })).stdout, /Password +set\n/);

  assert.equal((await succeed(['users', 'role', person, '--role', 'admin'], env)).role, 'admin');
  assert.equal((await browser.get('/v1/admin/keys')).status, 200);
  assert.equal((await succeed(['users', 'role', String(user_id), '--role', 'user'], env)).role, 'user');
  assert.equal((await browser.get('/v1/admin/keys')).status, 403);
  await misunderstood(['users', 'role', person, '--role', 'root'], /--role takes admin or user/, env);

  await misunderstood(['users', 'reset-factors', person], /--reason is missing/, env);
  await refused(['users', 'reset-factors', person, '--reason', ''], env, /reason: Must say why/);
  const reset = await succeed(['users', 'reset-factors', person, '--reason', 'lost the phone'], env);
  assert.deepEqual([(reset.factors as Json).totp, (reset.counts as Json).sessions], ['none', 0]);
  assert.equal((await browser.get('/v1/oauth/clients')).status, 401);
  await succeed(['users', 'sign-out', person], env);
  await refused(['users', 'sign-out', 'nobody@example.com'], env, /nothing here by that name/);
});

test('sessions and grants are listed and ended from the command line', async (t) => {
  const server = await startedServer(t);
  const { env, url } = server;
  const { browser, client } = await signedInClient(server);
  const tokens = await redeemAt(url, client, await codeFor(browser, client));
  const grant = first(await succeed(['grants', 'list', person], env), 'grants');
  assert.deepEqual([grant.client_id, grant.client_name], [client.client_id, 'Product']);
  assert.equal(await isActiveAt(url, client, tokens.access_token), true);
  await succeed(['grants', 'revoke', String(grant.grant_id)], env);
  assert.equal(await isActiveAt(url, client, tokens.access_token), false);
  await refused(['grants', 'revoke', String(grant.grant_id)], env, /nothing here by that name/);

  const session = first(await succeed(['sessions', 'list', person], env), 'sessions');
  assert.doesNotMatch(JSON.stringify(session), /st_[\w-]{20}|token/);
  await succeed(['sessions', 'end', person, String(session.session_id)], env);
  assert.equal((await browser.get('/v1/oauth/clients')).status, 401);
  await refused(['sessions', 'end', person, String(session.session_id)], env, /nothing here by that name/);
});

test('entitlements are shown with every write that made them so', async (t) => {
  const server = await startedServer(t);
  const { env, url } = server;
  await signedInClient(server);
  const terms = ['--name', 'Billing', '--permission', 'entitlements:write', '--product', 'editor'];
  const { client_id, client_secret } = await succeed(['service-credentials', 'create', ...terms], env);
  const { user_id } = await succeed(['users', 'show', person], env);
  const authorization = basic(String(client_id), String(client_secret));
  for (const version of [1, 2]) {
    const answer = await postEntitlement({ url } as Signet, authorization, writeOf(String(user_id), { version }));
    assert.equal(answer.status, 200);
  }
  const { entitlements, versions } = await succeed(['entitlements', 'show', person], env);
  assert.deepEqual(
    (entitlements as Json[]).map(({ product, version }) => [product, version]),
    [['editor', 2]],
  );
  assert.deepEqual(
    (versions as Json[]).map(({ version }) => version),
    [2, 1],
  );
  const { stdout } = await runCommand(['entitlements', 'show', person], { env });
  assert.match(stdout, /PRODUCT +PLAN .+\n {2}editor +pro +active +v2/);
});

test('webhooks are made, listed and removed; the secret is printed once', async (t) => {
  const env = await bareSettings(t);
  await succeed(['migrate'], env);
  const terms = ['--url', 'https://hooks.example.com/', '--event', 'user.disabled', '--event', 'client.suspended'];
  const { secret, ...webhook } = await succeed(['webhooks', 'create', ...terms], env);
  assert.match(String(secret), /^whsec_/);
  assert.deepEqual(webhook.event_types, ['user.disabled', 'client.suspended']);
  assert.deepEqual(await succeed(['webhooks', 'list'], env), { webhooks: [webhook] });
  const id = String(webhook.webhook_id);
  assert.deepEqual(await succeed(['webhooks', 'deliveries', id], env), { deliveries: [] });
  await refused(['webhooks', 'replay', id, 'msg_unknown'], env, /nothing here by that name/);
  await refused(
    ['webhooks', 'create', '--url', 'http://10.0.0.1/', '--event', 'odd'],
    env,
    /url: .+\n {2}event_types: /,
  );
  await succeed(['webhooks', 'delete', id], env);
  await refused(['webhooks', 'delete', id], env, /nothing here by that name/);
});

test('a review from the command line shows what to look at twice, and may take scopes away', async (t) => {
  const env = await bareSettings(t);
  const scope = ['--scope', 'openid email offline_access'];
  const uri = ['--redirect-uri', 'https://new.example/cb'];
  const { client_id } = await succeed(['clients', 'create', '--name', 'Signet Login', ...uri, ...scope], env);
  const { stdout } = await runCommand(['clients', 'show', String(client_id)], { env });
  assert.match(stdout, /warning {2}name_resembles_service {2}"Signet"/);
  assert.match(stdout, /notice {2}new_redirect_host {2}"new\.example"/);
  await refused(['clients', 'approve', String(client_id), '--scope', 'profile'], env, /allowed_scopes: /);
  const approved = await succeed(['clients', 'approve', String(client_id), '--scope', 'openid'], env);
  assert.deepEqual(approved.allowed_scopes, ['openid']);
});

test('the audit log is exported in either format', async (t) => {
  const env = await bareSettings(t);
  await succeed(['admin', 'invite'], env);
  const lines = await runCommand(['audit', 'export', '--action', 'administrator'], { env });
  assert.deepEqual([lines.code, lines.stdout.trimEnd().split('\n').length], [0, 1]);
  const event = JSON.parse(lines.stdout) as Json;
  assert.deepEqual([event.action, event.actor], ['administrator.invited', 'cli']);
  const table = await runCommand(['audit', 'export', '--format', 'csv'], { env });
  assert.match(table.stdout, /^seq,at,action,.+\r\n1,\d{4}-.+,administrator\.invited,cli,/);
  await misunderstood(['audit', 'export', '--format', 'xml'], /--format takes jsonl or csv/, env);
});
