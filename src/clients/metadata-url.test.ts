import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isClientId } from './client.ts';
import { isMetadataUrl } from './metadata-url.ts';

test('MD-01: a client_id is an https URL with a path, in one spelling', () => {
  const usable = [
    'https://app.test/',
    'https://app.test/client.json',
    'https://app.test:8443/oauth/client',
    'https://claude.ai/oauth/claude-code-client-metadata',
    'https://app.test/~me/a@b/c:d',
  ];
  for (const url of usable) assert.ok(isMetadataUrl(url) && isClientId(url), url);
  const unusable = [
    'http://app.test/client.json',
    'https://app.test',
    'https://app.test:443/client.json',
    'https://app.test:0/client.json',
    'https://app.test:65536/client.json',
    'HTTPS://app.test/client.json',
    'https://App.test/client.json',
    'https://app.test/a/../client.json',
    'https://app.test/./client.json',
    'https://app.test/..',
    'https://app.test/%2e%2e/client.json',
    'https://app.test/client.json#f',
    'https://app.test/client.json#',
    'https://app.test/client.json?x=1',
    'https://app.test/client.json?',
    'https://user@app.test/client.json',
    'https://user:secret@app.test/client.json',
    'https://app.test\\@evil.test/client.json',
    'https://127.1/client.json',
    'https://0x7f.1/client.json',
    'https://[::1]/client.json',
    'https://app.test/client json',
    'https://app.test/client.json\n',
    ' https://app.test/client.json',
    'https://app.test/<script>',
    'https://äpp.test/client.json',
    'https:///client.json',
    'https:/app.test/client.json',
    'javascript:alert(1)//https://app.test/',
    `https://app.test/${'a'.repeat(512)}`,
  ];
  for (const url of unusable) assert.ok(!isMetadataUrl(url) && !isClientId(url), url);
});
