import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { digest } from '../../src/platform/ids.ts';
import { ask, newBrowser } from '../support/browser.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { pngOf } from '../support/pictures.ts';
import { bareSettings, type Settings, startServer } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { client_id, client_secret, signInUpstream, startOidcProvider, startUpstream } from '../support/upstream.ts';

type Json = Record<string, unknown>;

const internal = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };

function writer(settings: Settings) {
  const folder = join(String(settings.SIGNET_DATA_DIR), 'declared');
  mkdirSync(folder, { recursive: true });
  return (text: string) => {
    const path = join(folder, 'signet.yaml');
    writeFileSync(path, `apiVersion: signet/v1\n${text}`);
    return path;
  };
}

const changesOf = (answer: Json) =>
  (answer.changes as { action: string; kind: string; key: string; fields: { field: string }[] }[]).map(
    ({ action, kind, key, fields }) => `${action} ${kind}/${key} ${fields.map(({ field }) => field).join(' ')}`.trim(),
  );

const acme = (issuer: string, more = '') =>
  `providers:\n  acme: { label: Acme, issuer: "${issuer}", client_id: ${client_id}, secret: { env: ACME_SECRET }${more} }\n`;

onBothEngines('a provider comes by apply, and people sign in through it without a restart', async (t, engine) => {
  const env: Settings = { ...(await bareSettings(t, engine)), ...internal };
  const server = await startServer(t, env);
  const account = { sub: 'ada-42', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' };
  const issuer = await startOidcProvider(t, { account, redirect_uri: `${server.url}/auth/acme/callback` });
  const listed = async () => (await ask(`${server.url}/v1/auth/providers`)).json as { providers: { id: string }[] };
  assert.deepEqual((await listed()).providers, []);

  const file = writer(env)(acme(issuer));
  const withSecret = { ...env, ACME_SECRET: client_secret };
  const dry = await succeed(['apply', '-f', file, '--dry-run'], withSecret);
  assert.deepEqual(changesOf(dry), ['create providers/acme id issuer label client_id groups_claim scope']);
  assert.deepEqual((await listed()).providers, []);
  const applied = await succeed(['apply', '-f', file], withSecret);
  assert.deepEqual(applied.made, [{ of: 'providers/acme', redirect_uri: `${server.url}/auth/acme/callback` }]);
  await until('the server knows the provider', async () => (await listed()).providers.length === 1);

  const browser = newBrowser(server.url);
  const { answer } = await signInUpstream(browser, '/auth/acme/login', newBrowser(issuer));
  assert.deepEqual([answer.status, answer.location], [303, '/account'], answer.text);
  assert.equal((await browser.get('/v1/me')).json?.email, 'ada@example.com');

  // A picture of its own: what is left out stays, null removes it.
  const logo = pngOf({ width: 32, height: 32 }).toString('base64');
  const changed = (more: string) => {
    writer(env)(acme(issuer, more));
    return succeed(['apply', '-f', file], withSecret);
  };
  assert.deepEqual(changesOf(await changed(`, logo: ${logo}`)), ['change providers/acme logo']);
  await until('the server shows the picture', async () =>
    /\/provider-logos\//.test((await newBrowser(server.url).get('/signin')).text),
  );
  assert.ok((await runCommand(['config', 'export'], { env })).stdout.includes('logo: '));
  assert.deepEqual(changesOf(await changed(`, logo: ${logo}`)), []);
  assert.deepEqual(changesOf(await changed('')), []);
  writer(env)(acme(issuer, ', logo: bm90IGEgcGljdHVyZQ=='));
  const wrong = await runCommand(['apply', '-f', file], { env: withSecret });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr + wrong.stdout, /providers\/acme\/logo/);
  assert.deepEqual(changesOf(await changed(', logo: null')), ['change providers/acme logo']);

  // Whom a deletion concerns is said in the plan.
  writer(env)('');
  const plan = await runCommand(['apply', '-f', file, '--prune', '--dry-run'], { env });
  assert.match(plan.stdout, /- providers\/acme {2}Acme {2}\(1 person signs in with it alone\)/);
  await succeed(['apply', '-f', file, '--prune'], env);
  await until('the server knows it no more', async () => (await listed()).providers.length === 0);
  assert.equal((await ask(`${server.url}/auth/acme/login`)).status, 404);
});

onBothEngines('an applied provider is changed, switched off, exported, and found as it is', async (t, engine) => {
  const env: Settings = { ...(await preparedSettings(t, engine)), ...internal, ACME_SECRET: client_secret };
  const { issuer } = await startUpstream(t, () => Math.floor(Date.now() / 1000));
  const write = writer(env);
  const file = write(acme(issuer));
  const apply = async (given = env) => changesOf(await succeed(['apply', '-f', file], given));
  assert.deepEqual(await apply(), ['create providers/acme id issuer label client_id groups_claim scope']);
  assert.deepEqual(await apply(), []);
  assert.deepEqual(await apply({ ...env, ACME_SECRET: 'another one' }), ['change providers/acme secret']);
  assert.deepEqual(await apply({ ...env, ACME_SECRET: 'another one' }), []);
  write(acme(issuer, ', enabled: false, groups_claim: groups'));
  assert.deepEqual(await apply(), ['change providers/acme groups_claim enabled secret']);
  assert.notEqual((await succeed(['providers', 'show', 'acme'], env)).disabled_at, null);

  const signals = `, signals_audience: svc_1, signals_secret_hash: "${digest('a secret of the stream')}"`;
  write(acme(issuer, `, enabled: false, groups_claim: groups${signals}`));
  assert.deepEqual(await apply(), ['change providers/acme signals_audience signals_secret_hash']);
  write(acme(issuer, ', enabled: false, groups_claim: groups'));
  assert.deepEqual(await apply(), [], 'what is left out stays');
  const shown = await succeed(['providers', 'show', 'acme'], env);
  assert.deepEqual([shown.has_signals_secret, shown.signals_audience], [true, 'svc_1']);

  const { stdout } = await runCommand(['config', 'export'], { env });
  assert.doesNotMatch(stdout, /secret/);
  writeFileSync(file, stdout);
  assert.deepEqual(await apply(), [], 'what is exported changes nothing');
  const other: Settings = { ...(await preparedSettings(t)), ...internal };
  assert.match(await refused(['apply', '-f', file], other, /providers\/acme\/secret/), /needed for a new one/);

  const { events } = (await succeed(['audit', 'list', '--action', 'provider'], env)) as { events: Json[] };
  assert.deepEqual(
    events.map(({ action, actor }) => `${action} ${actor}`),
    [
      'provider.edited cli',
      'provider.edited cli',
      'provider.disabled cli',
      'provider.edited cli',
      'provider.created cli',
    ],
  );
});

test('what a file may not say of a provider is refused at its line, and nothing is done', async (t) => {
  const { issuer } = await startUpstream(t, () => Math.floor(Date.now() / 1000));
  const settings = await preparedSettings(t);
  const corp = { ISSUER: 'https://corp.example', CLIENT_ID: 'c', CLIENT_SECRET: 's' };
  const ofSettings = Object.entries(corp).map(([name, value]) => [`SIGNET_PROVIDER_CORP_${name}`, value]);
  const env: Settings = { ...settings, ...internal, ...Object.fromEntries(ofSettings), ACME_SECRET: client_secret };
  const write = writer(env);
  const file = write(acme(issuer));
  const apply = ['apply', '-f', file];
  const refuses = async (text: string, sentence: RegExp, by = env) => {
    write(text);
    await refused(apply, by, sentence);
  };
  await refuses(acme(issuer), /providers\/acme\/secret.*not set/, { ...env, ACME_SECRET: '' });
  await refuses(acme(issuer).replace('acme:', 'corp:'), /providers\/corp\/id.*settings of the server/);
  await refuses(acme('http://id.example'), /providers\/acme\/issuer.*https/);
  await refuses(acme(issuer).replace('acme:', 'a.b:'), /providers\/a\.b\/id/);
  await refuses(acme(issuer, ', client_secret: x'), /client_secret.*not known/);
  await refuses('providers: [acme]\n', /required_providers/);
  await refuses('required_providers: [nowhere]\n', /required_providers\/0.*no provider of this ID/);
  assert.deepEqual(
    ((await succeed(['providers', 'list'], env)).providers as Json[]).map(({ id }) => id),
    ['corp'],
  );

  // What its issuer says is known when it is its turn.
  write(acme('http://localhost:9'));
  const late = await runCommand(apply, { env });
  assert.deepEqual([late.code, /providers\/acme: .*could not be reached/s.test(late.stdout)], [1, true], late.stdout);

  write(`required_providers: [corp, acme]\n${acme(issuer)}`);
  await succeed(apply, env);
  const another = await startUpstream(t, () => 0);
  await refuses(acme(another.issuer), /providers\/acme\/issuer.*Cannot be changed/);
  const { required_providers, providers } = await succeed(['config', 'export'], env);
  assert.deepEqual([required_providers, Object.keys(providers as Json)], [['corp'], ['acme']]);
});
