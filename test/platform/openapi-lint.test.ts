import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { startSignet } from '../support/signet.ts';

test('the description passes the recommended rules of Redocly without a warning', async (t) => {
  const signet = await startSignet(t);
  const text = await (await fetch(`${signet.url}/openapi.json`)).text();
  // A server on localhost is worth a warning, and only a test has one.
  const source = text.replaceAll(signet.url, 'https://id.example.org');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  assert.deepEqual(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    [],
  );
  // The linter ran: the same document without a licence is not good enough.
  const worse = await lintFromString({ source: source.replace('"license"', '"x-license"'), config });
  assert.deepEqual(
    worse.map(({ ruleId }) => ruleId),
    ['info-license'],
  );
});
