import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../src/admin/settings/read-settings.ts';
import { settingText } from '../../src/admin/settings/setting-text.ts';
import { readConfig, settings } from '../../src/app/config.ts';
import { consoleLocales } from '../../src/platform/i18n/translate.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { openMailbox } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { assertRefused } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

const all = (config: Parameters<typeof readSettings>[0]) => readSettings(config).flatMap((group) => group.settings);

test('the settings page names every setting, its value and where it comes from', () => {
  const names = all(readConfig({})).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), settings.toSorted());
  const provider = { SIGNET_PROVIDER_ACME_ISSUER: 'https://idp.acme.test', SIGNET_PROVIDER_ACME_CLIENT_ID: 'acme' };
  const withProvider = readConfig({ ...provider, SIGNET_PROVIDER_ACME_CLIENT_SECRET: 'secret' });
  for (const { name } of all(withProvider))
    for (const locale of consoleLocales) assert.ok(message(settingText(name), {}, locale), `${locale}: ${name}`);
  const environment = { SIGNET_PORT: '4000', SIGNET_NAME: 'Acme', SIGNET_SIGN_UP: '' };
  const listed = all(readConfig(environment, { SIGNET_NAME: 'Acme', SIGNET_PORT: '5000' }));
  const find = (wanted: string) => listed.find(({ name }) => name === wanted);
  assert.deepEqual(find('SIGNET_PORT'), {
    name: 'SIGNET_PORT',
    value: '4000',
    source: 'environment',
    is_secret: false,
  });
  assert.equal(find('SIGNET_NAME')?.source, 'file');
  assert.deepEqual([find('SIGNET_SIGN_UP')?.value, find('SIGNET_SIGN_UP')?.source], ['on', 'default']);
});

test('no secret of the configuration is on the settings page, in the API or in the log', async (t) => {
  const env = {
    SIGNET_SMTP_URL: 'smtp://user:secret-of-smtp@127.0.0.1:9',
    SIGNET_GOOGLE_CLIENT_ID: 'shown-id',
    SIGNET_GOOGLE_CLIENT_SECRET: 'secret-of-google',
    SIGNET_PROVIDER_ACME_ISSUER: 'https://idp.acme.test',
    SIGNET_PROVIDER_ACME_CLIENT_ID: 'acme-id',
    SIGNET_PROVIDER_ACME_CLIENT_SECRET: 'secret-of-acme',
  };
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = (await admin.browser.get('/admin/settings')).text;
  const { text } = await admin.browser.get('/v1/admin/settings');
  const more = readConfig({
    SIGNET_DATABASE_URL: 'postgres://u:secret-of-the-database@db.test/x',
    SIGNET_MASTER_KEY: Buffer.from('secret-of-the-master-key-32bytes').toString('base64'),
  });
  const database = JSON.stringify(readSettings(more));
  for (const shown of [page, text, database, signet.logLines.join('\n')]) {
    assert.doesNotMatch(shown, /secret-of|c2VjcmV0LW9m/);
  }
  assert.match(page, /shown-id/);
  assert.match(
    text,
    /"name":"SIGNET_PROVIDER_ACME_CLIENT_SECRET","value":null,"source":"environment","is_secret":true/,
  );
});

test('an administrator sends a test email to themselves, and checks a provider', async (t) => {
  const mailbox = await openMailbox(t);
  const withSecret = mailbox.url.replace('//', '//user:secret-of-smtp@');
  const { signet, upstream } = await startFederatedSignet(t, { env: { SIGNET_SMTP_URL: mailbox.url } });
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = (await admin.browser.get('/admin/settings')).text;
  const callback = `${signet.url}/auth/acme/callback`;
  assert.match(page, new RegExp(`id="settings-test-mail".*<code>${callback}</code>`, 's'));

  const sent = await admin.browser.post('/admin/settings/test-mail');
  assert.match(sent.text, sentence('admin.settings.mail.accepted'));
  assert.match(sent.text, /<code><bdi>250 /, 'what the mail server answered');
  assert.match((await mailbox.next(admin.email)).subject, sentence('mail.test.subject'));
  mailbox.refuses = true;
  const { json } = await admin.browser.post('/v1/admin/settings/test-mail');
  assert.equal(json?.is_accepted, false);
  assert.match(String(json?.answer), /^451 /);
  const events = await signet.auditLog({ action: 'mail.tested' });
  assert.deepEqual(
    events.map(({ actor, after_state }) => [actor, JSON.parse(after_state ?? '')]),
    [false, true].map((is_accepted) => [`user:${admin.user_id}`, { is_accepted }]),
  );
  for (let count = 2; count < 10; count += 1) await admin.browser.post('/v1/admin/settings/test-mail');
  assertRefused(await admin.browser.post('/v1/admin/settings/test-mail'), 429, 'rate_limited');
  assert.equal((await admin.browser.post('/admin/settings/test-mail')).status, 429);

  const checked = await admin.browser.post('/admin/settings/providers/acme/check');
  assert.match(checked.text, sentence('admin.settings.provider.found', { keys: 1 }));
  upstream.lies.discovery = { issuer: 'https://other.example' };
  const wrong = await admin.browser.post('/v1/admin/settings/providers/acme/check');
  assert.deepEqual([wrong.json?.found, wrong.json?.redirect_uri], [null, `${signet.url}/auth/acme/callback`]);
  assert.match(String(wrong.json?.problem), /^\w+$/);
  const shown = (await admin.browser.post('/admin/settings/providers/acme/check')).text;
  assert.match(shown, sentence('admin.settings.provider.problem'));
  upstream.lies = { answer: { '/jwks': (response) => void response.writeHead(404).end() } };
  const keyless = await admin.browser.post('/v1/admin/settings/providers/acme/check');
  assert.equal(keyless.json?.problem, 'keys_status_404');
  assertRefused(await admin.browser.post('/v1/admin/settings/providers/none/check'), 404, 'not_found');

  const elsewhere = await startSignet(t, { env: { SIGNET_SMTP_URL: withSecret.replace(/:\d+$/, ':9') } });
  const other = await elsewhere.signedInUser({ role: 'admin' });
  const unreached = await other.browser.post('/v1/admin/settings/test-mail');
  assert.equal(unreached.json?.is_accepted, false);
  assert.doesNotMatch(unreached.text, /secret-of-smtp/);
});
