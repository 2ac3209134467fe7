import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { Check } from '../../src/app/doctor/check.ts';
import { newBrowser } from '../support/browser.ts';
import { misunderstood, preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { pattern, sentence } from '../support/messages.ts';
import {
  bareSettings,
  codeFor,
  isActiveAt,
  redeemAt,
  refreshAt,
  registerByHttp,
  startServer,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';

const password = 'ordinary words in a row';
const create = (email: string, ...more: string[]) => [
  ...['users', 'create', '--email', email, '--name', 'Åsa Öberg', '--password-stdin'],
  ...more,
];

async function startedServer(t: TestContext, engine: Engine = 'sqlite') {
  return startServer(t, { ...(await bareSettings(t, engine)), SIGNET_RATE_LIMITS: 'off' });
}

onBothEngines('accounts are made, shown, disabled and enabled while the server runs', async (t, engine) => {
  const server = await startedServer(t, engine);
  const { env } = server;
  const made = await succeed(create('asa@example.com', '--admin', '--verified'), env, `${password}\n`);
  assert.equal(made.role, 'admin');
  assert.equal(made.email_verified, true);
  assert.equal(made.name, 'Åsa Öberg');
  assert.deepEqual(await succeed(['users', 'show', String(made.user_id)], env), made);
  assert.deepEqual(await succeed(['users', 'show', 'ASA@example.com'], env), made);
  const list = (...options: string[]) => succeed(['users', 'list', ...options], env);
  const listed = { ...made, locked: false, factors: { password: true, totp: 'none', passkeys: 0, providers: [] } };
  assert.deepEqual(await list('--limit', '1'), { users: [listed], next: null, complete: true });
  assert.deepEqual((await list('--query', 'öberg as')).users, [listed]);

  const browser = newBrowser(server.url);
  const signIn = () => browser.post('/signin', { username: 'asa@example.com', password });
  assert.equal((await signIn()).status, 303, 'the line end is not part of the password');
  assert.equal((await browser.get('/v1/oauth/clients')).status, 200);

  const disabled = await succeed(['users', 'disable', 'asa@example.com', '--reason', 'left'], env);
  assert.equal(disabled.status, 'disabled');
  const unadministered = await runCommand(['users', 'role', 'asa@example.com', 'user'], { env });
  assert.match(unadministered.stdout, /There is no administrator left\. Create one with: signet admin invite\n$/);
  const again = await runCommand(['users', 'role', 'asa@example.com', 'admin'], { env });
  assert.match(again.stdout, /no administrator left/, 'the only one is disabled');
  assert.equal((await browser.get('/v1/oauth/clients')).status, 401, 'the session ended at once');
  assert.equal((await signIn()).status, 401);
  await refused(['users', 'disable', 'asa@example.com'], env, /state, disabled,/);
  assert.equal((await succeed(['users', 'enable', String(made.user_id)], env)).status, 'enabled');
  assert.doesNotMatch(
    (await runCommand(['users', 'role', 'asa@example.com', 'admin'], { env })).stdout,
    /no administrator left/,
  );
  const none = await runCommand(['audit', 'list', '--action', 'user.disabeld'], { env });
  assert.match(none.stdout, /^No events match the filter\. No such action has been logged\./);
  assert.equal((await signIn()).status, 303);
});

test('an account that cannot be made says what is wrong with each field, and never the password', async (t) => {
  const env = await preparedSettings(t);
  const refusal = await refused(
    ['users', 'create', '--email', '', '--name', '', '--password-stdin'],
    env,
    /Some fields are invalid/,
    'hunter2',
  );
  assert.match(refusal, /email: .+\n {2}name: .+\n {2}password: /);
  assert.doesNotMatch(refusal, /hunter2/);
  await succeed(create('asa@example.com'), env, password);
  await refused(create('Asa@Example.com'), env, sentence('problem.email.taken'), password);
  await refused(create('other@example.com'), env, /password: /, '');
  await misunderstood(['users', 'create', '--email', 'a@b.test', '--name', 'A'], env, /give --password-stdin/);
  await misunderstood([...create('a@b.test'), '--password', password], env, /--password/);
});

test('what is done from the command line holds for the server that runs', async (t) => {
  const { env, url: origin } = await startedServer(t);

  await t.test(
    'a client is approved, suspended and reinstated under a running server, which sees it within a second',
    async () => {
      await succeed(create('asa@example.com', '--verified'), env, password);
      const browser = newBrowser(origin);
      await browser.post('/signin', { username: 'asa@example.com', password });
      const client = await registerByHttp({ url: origin }, browser);
      const authorizeStatus = async () => (await browser.get(client.authorizePath())).status;
      /** The running server keeps a client for a second; on a busy machine that second may be long. */
      const seenAs = (status: number) =>
        until(`the answer is ${status}`, async () => (await authorizeStatus()) === status);
      const command = (name: string, ...more: string[]) => ['clients', name, client.client_id, ...more];

      assert.equal(await authorizeStatus(), 400, 'it has not been reviewed');
      const { clients } = await succeed(['clients', 'list', '--status', 'pending_review'], env);
      const { owner, changes, last_rejection, usage, logo: _, ...shown } = await succeed(command('show'), env);
      assert.deepEqual(clients, [shown]);
      await succeed(['clients', 'create', '--name', 'Shop', '--redirect-uri', 'https://shop.test/cb'], env);
      const start = await succeed(['clients', 'list', '--limit', '1'], env);
      const rest = await succeed(['clients', 'list', '--limit', '1', '--after', String(start.next)], env);
      const all = await succeed(['clients', 'list'], env);
      assert.deepEqual([start.clients, rest.clients].flat(), all.clients);
      assert.deepEqual([typeof start.next, rest.next], ['string', null]);
      assert.equal((owner as Record<string, unknown>).email, 'asa@example.com');
      assert.deepEqual(changes, []);
      assert.ok((shown.risks as { code: string }[]).some(({ code }) => code === 'first_client'));
      assert.equal(last_rejection, null);
      await refused(command('approve', '--revision', '7'), env, /in the meantime/);
      await refused(command('suspend', '--reason', 'x'), env, /state, pending_review,/);
      const approved = await succeed(
        command('approve', '--revision', '1', '--retry-window', '0', '--consent', 'skip'),
        env,
      );
      assert.equal(approved.status, 'approved');
      await seenAs(302);
      const tokens = await redeemAt(origin, client, await codeFor(browser, client));
      const second = await refreshAt(origin, client, tokens.refresh_token);
      assert.equal(second.status, 200);

      const suspended = await succeed(command('suspend', '--reason', 'Missbrauch — 乱用'), env);
      assert.equal(suspended.status_reason, 'Missbrauch — 乱用');
      const userinfo = await browser.get('/oauth/userinfo', { authorization: `Bearer ${second.access_token}` });
      assert.equal(userinfo.status, 401, 'its tokens are dead at once');
      await seenAs(400);
      assert.equal((await refreshAt(origin, client, second.refresh_token)).status, 401);

      assert.equal((await succeed(command('reinstate'), env)).status, 'approved');
      await seenAs(302);
      assert.equal(await isActiveAt(origin, client, second.access_token), false, 'tokens from before stay dead');
      assert.equal((await redeemAt(origin, client, await codeFor(browser, client))).status, 200);
    },
  );

  await t.test('a client is rejected for a reason, which its owner reads', async () => {
    await succeed(create('owner@example.com'), env, password);
    const browser = newBrowser(origin);
    await browser.post('/signin', { username: 'owner@example.com', password });
    const { client_id, client_secret } = await registerByHttp({ url: origin }, browser);
    await misunderstood(['clients', 'reject', client_id], env, /--reason is missing/);
    await refused(
      ['clients', 'reject', client_id, '--reason', ''],
      env,
      pattern`reason: ${sentence('problem.reason')}`,
    );
    await refused(
      ['clients', 'reject', client_id, '--reason', '\u001b[31mred'],
      env,
      pattern`reason: ${sentence('problem.reason')}`,
    );
    await succeed(['clients', 'reject', client_id, '--reason', 'no homepage'], env);
    const listed = (await browser.get('/v1/oauth/clients')).json?.clients as Record<string, unknown>[];
    assert.deepEqual([listed[0]?.status, listed[0]?.status_reason], ['rejected', 'no homepage']);
    await browser.patch(`/v1/oauth/clients/${client_id}`, { homepage_url: 'https://rp.test/' });
    const [list, waiting, shown] = await Promise.all(
      [
        ['clients', 'list', '--json'],
        ['clients', 'list', '--status', 'waiting'],
        ['clients', 'show', String(client_id)],
      ].map((args) => runCommand(args, { env })),
    );
    assert.match(waiting?.stdout ?? '', new RegExp(`RISKS .*\\n +${client_id} .* [1-9] notices?  `, 's'));
    assert.match(
      shown?.stdout ?? '',
      /Revision 1 was rejected .+: "no homepage"\n {2}Changed since:\n {2}homepage_url\n/,
    );
    for (const { stdout } of [list!, waiting!, shown!])
      assert.ok(!stdout.includes(String(client_secret)) && !/secret/.test(stdout));
  });

  await t.test('an invitation, the keys and the tables are looked after from the command line', async () => {
    const { url, expires_at } = await succeed(['admin', 'invite'], env);
    assert.equal((await newBrowser(origin).get(new URL(String(url)).pathname)).status, 200);
    assert.ok(Number(expires_at) > 0);
    const { keys } = await succeed(['keys', 'list'], env);
    assert.ok(Array.isArray(keys));
    assert.deepEqual(keys.map(({ algorithm, status }) => `${algorithm} ${status}`).sort(), [
      'EdDSA active',
      'EdDSA next',
      'RS256 active',
      'RS256 next',
    ]);
    assert.doesNotMatch(JSON.stringify(keys), /private|sealed/);
    const early = await runCommand(['keys', 'rotate', '--json'], { env });
    assert.equal(early.code, 1, 'nothing was done');
    assert.deepEqual(
      JSON.parse(early.stdout),
      { rotated: [], keys },
      'the next keys are younger than a quarter of an hour',
    );
    assert.match((await runCommand(['keys', 'rotate'], { env })).stdout, /^Nothing rotated: .+\n\n {2}KID/);
    assert.deepEqual(await succeed(['migrate'], env), { migrated: true });
    assert.equal((await newBrowser(origin).get('/.well-known/jwks.json')).status, 200);
  });

  await t.test('the doctor finds nothing wrong with a server that is well, and prints a table', async () => {
    const { healthy, checks } = (await succeed(['doctor'], env)) as { healthy: boolean; checks: Check[] };
    const states = Object.fromEntries(checks.map(({ check, state }) => [check, state]));
    for (const own of ['disk', 'memory']) delete states[own]; // of the machine that runs this
    assert.equal(healthy, true);
    assert.deepEqual(states, {
      settings: 'ok',
      files: 'ok',
      store: 'ok',
      'master key': 'ok',
      'audit log': 'ok',
      'signing keys': 'ok',
      mailboxes: 'ok',
      'signal streams': 'ok',
      'server settings': 'ok',
      clock: 'ok',
      server: 'ok',
      'base URL': 'ok',
      proxy: 'ok',
      mail: 'warning', // it goes to the log
      providers: 'skipped',
    });
    const { code, stdout } = await runCommand(['doctor'], { env });
    assert.equal(code, 0);
    assert.match(stdout, /^ {2}ok +settings +\S/);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80 || line.includes('/'), line);
  });
});

test('every command explains itself without touching a store', async () => {
  const env = { SIGNET_DATA_DIR: '/dev/null/nowhere' };
  const { code, stdout } = await runCommand(['--help'], { env });
  assert.equal(code, 0);
  const listed = [...stdout.matchAll(/^ {2}([a-z-]+(?: [a-z-]+){0,2}) {2,}\S/gm)].map(([, name = '']) => name);
  assert.ok(listed.length >= 49, stdout);
  for (const name of listed) {
    const help = await runCommand([...name.split(' '), '--help'], { env });
    assert.equal(help.code, 0, help.stderr);
    assert.ok(help.stdout.startsWith(`Usage: signet ${name}`), help.stdout);
    assert.deepEqual(await runCommand(['help', ...name.split(' ')], { env }), help);
    assert.match(help.stdout, /\n {2}--json .+\n {2}--help .+\n(?:\nExample:\n {2}signet .+\n(?: {6}.+\n)*)?$/);
    for (const line of help.stdout.split('\n')) assert.ok(line.length <= 80, line);
  }
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  const group = await runCommand(['clients', 'secrets', '--help'], { env });
  assert.deepEqual([group.code, group.stdout.match(/^ {2}clients secrets /gm)?.length], [0, 3]);
});

test('bash completes commands, options and their values by the script that completion prints', async () => {
  const { stdout: script } = await runCommand(['completion', 'bash'], { env: {} });
  const typed: (readonly [words: readonly string[], completed: string])[] = [
    [['serv'], 'serve service-credentials'],
    [['clients', 'secrets', ''], 'list add retire'],
    [['help', 'clients', 'secrets', 're'], 'retire'],
    [['users', 'find', '-'], '--wide --json --help'],
    [['users', 'role', 'anna@example.com', ''], 'user support reviewer auditor admin'],
    [['audit', 'export', '--json', '--format', ''], 'jsonl csv'],
    [['audit', 'export', '--format', '=', 'c'], 'csv'],
    [['audit', 'list', '--limit', ''], ''],
    [['no', 'such', ''], ''],
  ];
  const ask = `ask() { COMP_WORDS=(signet "$@"); COMP_CWORD=$#; _signet; echo "\${COMPREPLY[*]}"; }`;
  const asked = typed.map(([words]) => `ask ${words.map((word) => `'${word}'`).join(' ')}`);
  const registered = 'complete -p signet';
  const bash = spawnSync('bash', ['--norc'], {
    input: [script, ask, registered, ...asked].join('\n'),
    encoding: 'utf8',
  });
  assert.equal(bash.stderr, '');
  const [registration, ...completed] = bash.stdout.split('\n').slice(0, -1);
  assert.equal(registration, 'complete -o default -F _signet signet');
  assert.deepEqual(
    completed.map((line, index) => [typed[index]?.[0], line]),
    typed.map(([words, line]) => [words, line]),
  );
  for (const shell of ['zsh', 'fish']) {
    const other = await runCommand(['completion', shell], { env: {} });
    for (const name of ['service-credentials', 'users reset-link', '--backchannel-logout-uri']) {
      const word = shell === 'fish' ? name.replace(/^--/, '-l ') : name;
      assert.ok(other.stdout.includes(word), `${shell}: ${word}`);
    }
  }
  await misunderstood(['completion', 'powershell'], {}, /shell must be one of: bash, zsh, fish/);
});

test('what is not understood exits with 2 and does nothing', async (t) => {
  const env = await bareSettings(t);
  const bare = await runCommand([], { env });
  assert.deepEqual([bare.code, bare.stderr], [2, '']);
  const half = await runCommand(['users'], { env });
  assert.equal(half.code, 2);
  assert.match(half.stdout, /^ {2}users create .+\n(?: {5,}.+\n)* {2}users find /m);
  await Promise.all([
    misunderstood(['frobnicate'], env, /Unknown command: "frobnicate"/),
    misunderstood(['users', 'destroy'], env, /Unknown command: "users destroy"/),
    misunderstood(['constructor'], env, /Unknown command/),
    misunderstood(['user', 'shw', 'a'], env, /Did you mean: signet users show\n/),
    misunderstood(['users', 'role', 'a', 'root'], env, /role must be one of: user, support, reviewer, auditor, admin/),
    misunderstood(['audit', 'list', '--limit', '1e3'], env, /--limit must be a whole number from 1 to 10000/),
    misunderstood(['audit', 'list', '--limit', '1', '--limit', '2'], env, /--limit was given more than once/),
    misunderstood(['users', 'show'], env, /Expected arguments: <user_id\|email>/),
    misunderstood(['users', 'show', 'a', 'b'], env, /Expected arguments: <user_id\|email>/),
    misunderstood(['users', 'list', '--everything'], env, /^signet: Unknown option: --everything\.\nTry/),
    misunderstood(['users', 'list', '--json=yes'], env, /^signet: --json does not take a value\.\nTry/),
    misunderstood(['audit', 'list', '--actor'], env, /^signet: --actor requires a value\.\nTry/),
    misunderstood(['audit', 'list', '--actor', '--limit'], env, /--actor requires a value\. .* --actor=-\.\.\.\nTry/),
    misunderstood(['serve', 'now'], env, /takes no arguments except its options/),
  ]);
  await assert.rejects(readFile(`${env.SIGNET_DATA_DIR}/signet.db`, 'utf8').then((text) => assert.ok(text === '')));
});

test('hostile arguments are answered with a sentence', async (t) => {
  const env = await bareSettings(t);
  await succeed(['migrate'], env);
  const hostile = ['', '@', '\u202eevil\u0007', "' or 1=1 --", 'ﷺ'.repeat(1000), 'a'.repeat(100_000)];
  for (const [index, who] of hostile.entries()) {
    await refused(
      [index % 2 === 0 ? 'users' : 'clients', 'show', who],
      env,
      /^signet: Not found\.( Searched for: [^\n\p{C}]{1,80})?\n$/u,
    );
  }
  const long = await refused(
    ['users', 'create', '--email', 'a'.repeat(100_000), '--name', 'ﷺ'.repeat(1000), '--password-stdin'],
    env,
    /Some fields are invalid/,
    password,
  );
  assert.ok(long.length < 1000, 'what was typed is not echoed');
  await misunderstood(['x'.repeat(100_000)], env, /Unknown command/);
  await misunderstood(['clients', 'list', '--status', 'lost'], env, /--status must be one of: all, waiting/);
});

test('with --json a refusal is JSON, too', async (t) => {
  const env = await bareSettings(t);
  await succeed(['migrate'], env);
  const { code, stdout } = await runCommand(['clients', 'show', 'cl_nobody', '--json'], { env });
  assert.equal(code, 1);
  assert.equal(JSON.parse(stdout).error, 'not_found');
  const fields = await runCommand([...create('nobody'), '--json'], { env, input: 'short' });
  assert.deepEqual(
    JSON.parse(fields.stdout).fields.map(({ path }: { path: string }) => path),
    ['email', 'password'],
  );
});
