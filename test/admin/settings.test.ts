import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../src/admin/settings/read-settings.ts';
import { readConfig, settings } from '../../src/app/config.ts';
import { startSignet } from '../support/signet.ts';

const all = (config: Parameters<typeof readSettings>[0]) => readSettings(config).flatMap((group) => group.settings);

test('the settings page names every setting, its value and where it comes from', () => {
  const names = all(readConfig({})).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), settings.toSorted());
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
