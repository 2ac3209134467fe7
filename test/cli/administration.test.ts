import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { runJobs } from '../../src/app/jobs.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { now } from '../../src/platform/clock.ts';
import {
  misunderstood,
  preparedSettings,
  refused,
  runCommand,
  signedInClient,
  succeed,
} from '../support/command-line.ts';
import { pattern, sentence } from '../support/messages.ts';
import { openServer } from '../support/open-server.ts';
import { plain } from '../support/plain-sql.ts';
import { basic } from '../support/relying-party.ts';
import { bareSettings, codeFor, isActiveAt, redeemAt, startServer } from '../support/server-process.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import type { Signet } from '../support/signet.ts';

type Json = Record<string, unknown>;

const first = (answer: Json, list: string): Json => {
  const [one] = answer[list] as Json[];
  assert.ok(one, `no ${list}`);
  return one;
};

test('while the server runs', async (t) => {
  const server = await startServer(t, { ...(await bareSettings(t)), SIGNET_RATE_LIMITS: 'off' });
  const { env, url } = server;

  await t.test('a user is found, signed out, reset and made an administrator while the server runs', async () => {
    const user = 'grace@example.com';
    const { browser } = await signedInClient(server, user);
    const found = await succeed(['users', 'find', 'grace@exam'], env);
    const { user_id } = first(found, 'users');
    assert.deepEqual(await succeed(['users', 'find', 'nobody'], env), { users: [], next: null, complete: true });
    const all = await succeed(['users', 'show', user, '--all'], env);
    assert.deepEqual(all.counts, { sessions: 1, grants: 0, clients: 1, entitlements: 0 });
    assert.match((await runCommand(['users', 'show', user, '--all'], { env })).stdout, /Password +set\n/);

    assert.equal((await succeed(['users', 'role', user, 'admin'], env)).role, 'admin');
    assert.equal((await browser.get('/v1/admin/keys')).status, 200);
    assert.equal((await succeed(['users', 'role', String(user_id), 'user'], env)).role, 'user');
    assert.equal((await browser.get('/v1/admin/keys')).status, 403);
    await misunderstood(
      ['users', 'role', user, 'root'],
      env,
      /role must be one of: user, support, reviewer, auditor, admin/,
    );

    await misunderstood(['users', 'reset-factors', user], env, /--reason is missing/);
    await refused(
      ['users', 'reset-factors', user, '--reason', ''],
      env,
      pattern`reason: ${sentence('problem.reason')}`,
    );
    const reset = await succeed(['users', 'reset-factors', user, '--reason', 'lost the phone'], env);
    assert.deepEqual([(reset.factors as Json).totp, (reset.counts as Json).sessions], ['none', 0]);
    assert.equal((await browser.get('/v1/oauth/clients')).status, 401);
    await succeed(['users', 'sign-out', user], env);
    await refused(['users', 'sign-out', 'nobody@example.com'], env, /Not found\. Searched for: nobody@example\.com\n/);
  });

  await t.test('an account is edited, exported, given a reset link and deleted by the operator', async () => {
    const user = 'helped@example.com';
    await signedInClient(server, user);
    const edited = await succeed(['users', 'edit', user, '--name', 'Helped', '--verified'], env);
    assert.deepEqual([edited.name, edited.email_verified], ['Helped', true]);
    const { url: link } = await succeed(['users', 'reset-link', user], env);
    assert.match(String(link), /\/reset\/ln_/);
    const { url: invitation, mailed } = await succeed(['users', 'invite', 'new@example.com'], env);
    assert.match(String(invitation), /\/join\/ln_/);
    assert.equal(mailed, true, 'the server sends it');
    const { stdout } = await runCommand(['users', 'export', user], { env });
    assert.equal((JSON.parse(stdout) as { user: Json }).user.name, 'Helped');
    const csv = await runCommand(['users', 'export-csv', '--filter', 'no_second_factor'], { env });
    assert.match(csv.stdout, /^user_id,email,.*\r\n(?:.*\r\n)*usr_[^,]+,helped@example\.com,yes,Helped,,user,enabled,/);
    await refused(['users', 'remove-picture', user], env, /no_picture/);
    await refused(['users', 'delete', user, '--email', 'other@example.com'], env, sentence('problem.email.other'));
    await succeed(['users', 'delete', user, '--email', user], env);
    await refused(['users', 'show', user], env, /Not found/);
  });

  await t.test('sessions and grants are listed and ended from the command line', async () => {
    const user = 'sessions@example.com';
    const { browser, client } = await signedInClient(server, user);
    const tokens = await redeemAt(url, client, await codeFor(browser, client));
    const grant = first(await succeed(['grants', 'list', user], env), 'grants');
    assert.deepEqual([grant.client_id, grant.client_name], [client.client_id, 'Product']);
    assert.equal(await isActiveAt(url, client, tokens.access_token), true);
    await succeed(['grants', 'revoke', String(grant.grant_id)], env);
    assert.equal(await isActiveAt(url, client, tokens.access_token), false);
    await refused(['grants', 'revoke', String(grant.grant_id)], env, /Not found\./);

    for (const kind of ['sessions', 'grants'])
      assert.equal(
        (await runCommand([kind, 'list', user, '--query', 'nowhere'], { env })).stdout.trim(),
        `No active ${kind} match.`,
      );
    const session = first(await succeed(['sessions', 'list', user], env), 'sessions');
    assert.doesNotMatch(JSON.stringify(session), /st_[\w-]{20}|token/);
    await succeed(['sessions', 'end', user, String(session.session_id)], env);
    assert.equal((await browser.get('/v1/oauth/clients')).status, 401);
    await refused(['sessions', 'end', user, String(session.session_id)], env, /Not found\./);
  });

  await t.test('entitlements are shown with every write that made them so', async () => {
    const user = 'entitled@example.com';
    await signedInClient(server, user);
    const terms = ['--name', 'Billing', '--permission', 'entitlements:write', '--product', 'editor'];
    const { client_id, client_secret } = await succeed(['service-credentials', 'create', ...terms], env);
    const { user_id } = await succeed(['users', 'show', user], env);
    const authorization = basic(String(client_id), String(client_secret));
    for (const version of [1, 2]) {
      const answer = await postEntitlement({ url } as Signet, authorization, writeOf(String(user_id), { version }));
      assert.equal(answer.status, 200);
    }
    const { entitlements, versions } = await succeed(['entitlements', 'show', user], env);
    assert.deepEqual(
      (entitlements as Json[]).map(({ product, version }) => [product, version]),
      [['editor', 2]],
    );
    assert.deepEqual(
      (versions as Json[]).map(({ version }) => version),
      [2, 1],
    );
    const { stdout } = await runCommand(['entitlements', 'show', user], { env });
    assert.match(stdout, /PRODUCT +PLAN .+\n {2}editor +pro +active +v2/);
    const one = ['entitlements', 'show', user, '--limit', '1'];
    const [, place = ''] = /More results: --before (\S+)\n/.exec((await runCommand(one, { env })).stdout) ?? [];
    const older = await succeed([...one, '--before', place], env);
    assert.deepEqual(
      [first(older, 'versions').version, first(older, 'entitlements').version, older.next],
      [1, 2, null],
    );
  });
});

test('webhooks are made, listed and removed; the secret is printed once', async (t) => {
  const env = await preparedSettings(t);
  const terms = ['--url', 'https://hooks.example.com/', '--event', 'user.disabled', '--event', 'client.suspended'];
  const { secret, ...webhook } = await succeed(['webhooks', 'create', ...terms], env);
  assert.match(String(secret), /^whsec_/);
  assert.deepEqual(webhook.event_types, ['user.disabled', 'client.suspended']);
  assert.deepEqual(await succeed(['webhooks', 'list'], env), { webhooks: [webhook] });
  const id = String(webhook.webhook_id);
  assert.deepEqual(await succeed(['webhooks', 'deliveries', id], env), { deliveries: [], next: null });
  await refused(['webhooks', 'replay', id, 'msg_unknown'], env, /Not found\./);
  await refused(
    ['webhooks', 'create', '--url', 'http://10.0.0.1/', '--event', 'odd'],
    env,
    /url: .+\n {2}event_types: /,
  );
  assert.deepEqual(await succeed(['webhooks', 'disable', id], env), { disabled: id });
  assert.match((await runCommand(['webhooks', 'list'], { env })).stdout, new RegExp(`${id} +off +- +https://hooks`));
  await refused(['webhooks', 'test', id], env, /state, disabled,/);
  assert.deepEqual(await succeed(['webhooks', 'enable', id], env), { enabled: id });
  await refused(['webhooks', 'enable', id], env, /state, enabled,/);
  assert.deepEqual(await succeed(['webhooks', 'test', id], env), { tested: id });
  const [waiting] = (await succeed(['webhooks', 'deliveries', id], env)).deliveries as Json[];
  assert.deepEqual([waiting?.event_type, waiting?.state], ['webhook.test', 'waiting']);
  await refused(['webhooks', 'replay', id, String(waiting?.delivery_id)], env, /state, waiting,/);
  assert.deepEqual((await succeed(['webhooks', 'deliveries', id, '--state', 'dead'], env)).deliveries, []);
  assert.deepEqual(await succeed(['webhooks', 'replay', id, '--all'], env), { replayed: 0, dead: 0 });
  await misunderstood(['webhooks', 'replay', id], env, /either a <delivery_id> or --all/);
  const rotated = await succeed(['webhooks', 'rotate-secret', id], env);
  assert.match(String(rotated.secret), /^whsec_/);
  assert.notEqual(rotated.secret, secret);
  await succeed(['webhooks', 'delete', id], env);
  await refused(['webhooks', 'delete', id], env, /Not found\./);
});

test('logout tokens for a client are listed, and lists fit a terminal, with states in color', async (t) => {
  const env = await preparedSettings(t);
  const uris = ['--redirect-uri', 'https://rp.test/cb', '--backchannel-logout-uri', 'https://rp.test/logout'];
  const { client_id } = await succeed(['clients', 'create', '--name', 'Shop', ...uris, '--approve'], env);
  const list = ['clients', 'logout-deliveries', 'list', String(client_id), '--state', 'dead', '--limit', '5'];
  assert.deepEqual(await succeed(list, env), { deliveries: [], next: null });
  await misunderstood([...list, '--state', 'lost'], env, /--state/);
  await refused(['clients', 'logout-deliveries', 'list', 'cl_unknown'], env, /Not found\./);

  const clients = async (more: readonly string[], columns?: number, settings = {}) =>
    (await runCommand(['clients', 'list', ...more], { env: { ...env, TERM: 'xterm', ...settings }, columns })).stdout;
  const name = 'A shop with a name for which no terminal of eighty columns has room';
  await succeed(['clients', 'create', '--name', name, '--redirect-uri', 'https://rp.test/cb'], env);
  const [piped, shown, wide, plain] = await Promise.all([
    clients([]),
    clients([], 80),
    clients(['--wide'], 80),
    clients([], 80, { NO_COLOR: '1' }),
  ]);
  assert.ok(piped.includes(name) && wide.includes(name) && !plain.includes(name), plain);
  assert.ok(plain.includes(String(client_id)) && plain.includes('…'), plain);
  for (const line of plain.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(shown.includes('\u001b[32mapproved\u001b[0m'), shown);
  assert.ok(shown.includes('\u001b[33mpending_'), 'a shortened state has its color, too');
  assert.equal(stripVTControlCharacters(shown), plain);
  assert.equal(stripVTControlCharacters(wide), piped);
  for (const text of [piped, plain]) assert.ok(!text.includes('\u001b'), text);
  await refused(['clients', 'logout-deliveries', 'retry', String(client_id), 'lo_unknown'], env, /Not found\./);
});

test('service credentials are restricted, given another secret and retired', async (t) => {
  const env = await preparedSettings(t);
  const terms = ['--permission', 'entitlements:write,tokens:introspect', '--product', 'editor', '--product', 'viewer'];
  const { client_secret, ...made } = await succeed(['service-credentials', 'create', '--name', 'B', ...terms], env);
  assert.deepEqual(
    [made.permissions, made.products],
    [
      ['entitlements:write', 'tokens:introspect'],
      ['editor', 'viewer'],
    ],
  );
  const id = String(made.client_id);
  const name = (step: string, ...more: string[]) => [`service-credentials`, step, id, ...more];
  assert.deepEqual(await succeed(['service-credentials', 'list'], env), { service_credentials: [made] });

  const rotated = await succeed(name('rotate', '--overlap', '60'), env);
  assert.match(String(rotated.client_secret), /^ss_/);
  assert.notEqual(rotated.client_secret, client_secret);
  const left = Number(rotated.previous_expires_at) - Date.now() / 1000;
  assert.ok(left > 0 && left <= 60, String(left));
  for (const overlap of ['86401', '-1', 'day']) {
    await misunderstood(
      name('rotate', `--overlap=${overlap}`),
      env,
      /--overlap must be a whole number from 0 to 86400/,
    );
  }
  const restricted = await succeed(name('restrict', '--permission', 'tokens:introspect'), env);
  assert.deepEqual([restricted.permissions, restricted.products], [['tokens:introspect'], []]);
  await refused(name('restrict', '--permission', 'root'), env, /permissions: /);
  const administering = ['--permission', 'users:read', '--address', '192.0.2.0/24'];
  await refused(name('restrict', ...administering), env, /expires_in_days: /);
  const extended = await succeed(name('restrict', ...administering, '--expires-in-days', '30'), env);
  assert.deepEqual([extended.addresses, typeof extended.expires_at], [['192.0.2.0/24'], 'number']);
  await misunderstood(name('restrict', ...administering, '--expires-in-days', 'x'), env, /whole number from 1 to 3660/);
  assert.deepEqual(await succeed(name('retire'), env), { retired: id });
  await refused(name('rotate'), env, /state, retired,/);
  assert.match((await runCommand(['service-credentials', 'list'], { env })).stdout, new RegExp(`${id} +retired`));
});

test('a product with spaces and commas is one, on the command line too', async (t) => {
  const env = await preparedSettings(t);
  const products = ['Editor Pro', 'Sites, Mail', 'mail'];
  const terms = ['--permission', 'entitlements:write', ...products.flatMap((one) => ['--product', one])];
  const made = await succeed(['service-credentials', 'create', '--name', 'Billing', ...terms], env);
  assert.deepEqual(made.products, products);
  const restrict = ['service-credentials', 'restrict', String(made.client_id), '--permission', 'entitlements:write'];
  await succeed([...restrict, '--product', 'mail'], env);
  const shown = await runCommand([...restrict, ...terms.slice(2)], { env });
  assert.match(shown.stdout, /Products +"Editor Pro" "Sites, Mail" mail\n/);
  const wrong = ['service-credentials', 'create', '--name', 'X', '--permission', 'entitlements:write'];
  await refused([...wrong, '--product', 'a\u202eb'], env, pattern`products: ${sentence('problem.service.products')}`);
});

test('every option whose help promises that "" empties a field does so', async (t) => {
  const env = await preparedSettings(t);
  const make = ['clients', 'create', '--name', 'Shop', '--redirect-uri', 'https://shop.test/cb'];
  const { client_id } = await succeed(make, env);
  const { stdout } = await runCommand(['clients', 'edit', '--help'], { env });
  const options = stdout
    .split(/\n(?= +--)/)
    .flatMap((line) => (line.replace(/\s+/g, ' ').includes('"" for') ? line.match(/--[\w-]+/) : []));
  assert.ok(options.length >= 6, stdout);
  for (const option of options) await succeed(['clients', 'edit', String(client_id), String(option), ''], env);
});

test('the audit log calls people and things by their names on a terminal, and by their ids in JSON', async (t) => {
  const env = await preparedSettings(t);
  const terms = ['--permission', 'entitlements:write', '--product', 'mail'];
  const { client_id } = await succeed(['service-credentials', 'create', '--name', 'Billing', ...terms], env);
  const { stdout } = await runCommand(['audit', 'list'], { env });
  assert.match(stdout, / cli +Billing /);
  assert.doesNotMatch(stdout, new RegExp(String(client_id)));
  const { events } = await succeed(['audit', 'list'], env);
  assert.equal((events as Json[])[0]?.target, client_id);
});

test('the audit log is verified against what an earlier check gave, and filtered by day', async (t) => {
  const env = await preparedSettings(t, 'sqlite'); // a chain; of cells in chain-of-each-part.test.ts
  const server = await openServer(t, env);
  await succeed(['admin', 'invite'], env);
  const unsealed = await runCommand(['audit', 'verify'], { env });
  assert.equal(unsealed.stdout, 'No events are sealed yet. Not sealed by the server yet: 1.\n');
  await runJobs(server.deps);
  const { stdout } = await runCommand(['audit', 'verify'], { env });
  const [, newest = ''] = /newest {2}(\S+)\n/.exec(stdout) ?? [];
  await succeed(['admin', 'invite'], env);
  await runJobs(server.deps);
  const { verified } = await succeed(['audit', 'verify', '--expect', newest], env);
  assert.equal(verified, 2);
  const other = await runCommand(['audit', 'verify', '--expect', `2${newest.slice(1)}`], { env });
  assert.equal(other.code, 1);
  assert.match(other.stdout, /event 2 does not have the expected seal\. Intact events before it: 1\./);
  await misunderstood(['audit', 'verify', '--expect', 'newest'], env, /--expect requires <seq>:<seal>/);

  const today = new Date().toISOString().slice(0, 10);
  const seqs = async (...filter: string[]) =>
    ((await succeed(['audit', 'list', ...filter], env)).events as Json[]).map(({ seq }) => seq);
  assert.deepEqual(await seqs('--since', '2020-01-01', '--until', '2020-12-31'), []);
  assert.deepEqual(await seqs('--since', '2020-01-01T08:00', '--until', '2999-01-01T00:00:00+02:00'), [2, 1]);
  if (today === new Date().toISOString().slice(0, 10))
    assert.deepEqual(await seqs('--until', today, '--limit', '1'), [2]);
  for (const day of ['yesterday', '20270131', '2027-02-31', '2027-01-31T25:00']) {
    await misunderstood(['audit', 'list', '--since', day], env, /--since requires a day such as 2027-01-31/);
  }
  assert.deepEqual(await seqs('--changes-by', 'administrators'), [2, 1]);
  assert.deepEqual(await seqs('--address', '203.0.113.'), []);
  await misunderstood(['audit', 'list', '--address', 'here'], env, /--address requires an IP address, or its first/);
  await misunderstood(['audit', 'list', '--changes-by', 'me'], env, /administrators/);
  await plain(server.deps.db).run(
    `update audit_log set event_id = 'evt_00000000.req_' || seq where seq = 2`, // as of an invitation by request
  );
  assert.deepEqual(await seqs('--request', 'req_2'), [2]);
  assert.match((await runCommand(['audit', 'list', '--request', 'req_2'], { env })).stdout, / REQUEST\n.+ req_2\n/);
  assert.deepEqual(await seqs('--request', 'req_1'), []);
  const requested = async (logged: string, id = 'req_1') =>
    (await runCommand(['audit', 'list', '--request', id], { env: { ...env, SIGNET_LOG_REQUESTS: logged } })).stdout;
  assert.match(
    await requested('off'),
    /^No events match the filter\. Events carry request IDs only with SIGNET_LOG_REQUESTS=on/,
  );
  assert.equal((await requested('on')).trim(), 'No events match the filter.');
  // Until its reader goes away: here after the first line.
  const followed = await runCommand(['audit', 'list', '--follow', '--json', '--limit', '1'], { env, closeAfter: /\n/ });
  assert.deepEqual([followed.code, followed.stderr], [0, '']);
  assert.equal((JSON.parse(followed.stdout) as Json).seq, 2);
});

test('a check of the audit log says where its dates go back', async (t) => {
  const env = await preparedSettings(t);
  const { deps } = await openServer(t, env);
  for (const at of [now(deps), now(deps) - 3600]) {
    await plain(deps.db).batch([auditEvent({ action: 'user.changed', actor: 'cli' }, at).statement]);
    await runJobs(deps);
  }
  const { code, stdout } = await runCommand(['audit', 'verify'], { env });
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^(?:public: )?2 events are intact\.\n\nThe dates go back by more than ten minutes once, last at event 2: /,
  );
});

test('a review from the command line shows what to look at twice, and may take scopes away', async (t) => {
  const env = await preparedSettings(t);
  const scope = ['--scope', 'openid email offline_access'];
  const uri = ['--redirect-uri', 'https://new.example/cb'];
  const { client_id } = await succeed(['clients', 'create', '--name', 'Signet Login', ...uri, ...scope], env);
  const { stdout } = await runCommand(['clients', 'show', String(client_id)], { env });
  assert.match(stdout, /warning {2}name_resembles_service {2}"Signet"/);
  assert.match(stdout, /notice {2}new_redirect_host {2}"new\.example"/);
  const approve = ['clients', 'approve', String(client_id), '--revision', '1'];
  assert.ok(stdout.includes(approve.join(' ')), 'what was read is what is approved');
  await misunderstood(approve.slice(0, 3), env, /--revision is missing/);
  await refused([...approve, '--scope', 'profile'], env, /allowed_scopes: /);
  const approved = await succeed([...approve, '--scope', 'openid'], env);
  assert.deepEqual(approved.allowed_scopes, ['openid']);
});

test('the audit log is exported in either format', async (t) => {
  const env = await preparedSettings(t);
  await succeed(['admin', 'invite'], env);
  const lines = await runCommand(['audit', 'export', '--action', 'administrator'], { env });
  assert.deepEqual([lines.code, lines.stdout.trimEnd().split('\n').length], [0, 1]);
  const event = JSON.parse(lines.stdout) as Json;
  assert.deepEqual([event.action, event.actor], ['administrator.invited', 'cli']);
  const table = await runCommand(['audit', 'export', '--format', 'csv'], { env });
  assert.match(table.stdout, /^seq,at,action,.+\r\n,\d{4}-.+,administrator\.invited,cli,/, 'not sealed yet');
  await runJobs((await openServer(t, env)).deps);
  const sealed = await runCommand(['audit', 'export', '--format', 'csv'], { env });
  assert.match(sealed.stdout, /^seq,at,action,.+\r\n1,\d{4}-.+,administrator\.invited,cli,/);
  await misunderstood(['audit', 'export', '--format', 'xml'], env, /--format must be jsonl or csv/);
});

test('the policy of a client is changed from the command line, which prints the current one', async (t) => {
  const env = await preparedSettings(t);
  const registration = ['--name', 'Desk', '--redirect-uri', 'https://desk.example/cb', '--second-factor', 'required'];
  const { client_id } = await succeed(['clients', 'create', ...registration], env);
  const policy = ['clients', 'policy', String(client_id)];
  await refused([...policy, '--consent', 'required'], env, /pending_review/);
  const approved = await runCommand(['clients', 'approve', String(client_id), '--revision', '1'], { env });
  assert.match(approved.stdout, /Consent +skip \(users are not asked\)\n {2}Retry window +0 s\n/);
  assert.match(approved.stdout, /Second factor +required\n/);
  const edit = ['clients', 'edit', String(client_id), '--second-factor'];
  await misunderstood([...edit, 'sometimes'], env, /--second-factor must be .*optional.*required/);
  const edited = await succeed([...edit, 'preferred'], env);
  const preferred = ['urn:signet:acr:2fa', 'urn:signet:acr:1fa'];
  assert.deepEqual(edited.pending_change, { default_acr_values: preferred });
  await misunderstood(
    policy,
    env,
    /Nothing to change: give at least one of --consent, --retry-window, --allowed-group, --visible-group, --profile, --logo, --alg\./,
  );
  await misunderstood([...policy, '--retry-window', '61'], env, /--retry-window/);
  const changed = await succeed([...policy, '--consent', 'required', '--retry-window', '5'], env);
  assert.deepEqual([changed.consent, changed.refresh_retry_window], ['required', 5]);
  const again = await runCommand([...policy, '--retry-window', '6'], { env });
  assert.match(again.stdout, /Consent +required \(each user is asked once\)\n {2}Retry window +6 s\n/);
});
