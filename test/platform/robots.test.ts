import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSignet } from '../support/signet.ts';

test('no page is for an index of the web, and an unknown address is a page for a browser', async (t) => {
  const signet = await startSignet(t);
  const browser = signet.newBrowser();
  for (const path of ['/signin', '/signup', '/reference', '/nothing']) {
    const { headers, text } = await browser.get(path, { accept: 'text/html' });
    assert.equal(headers.get('x-robots-tag'), 'noindex, nofollow', path);
    assert.match(text, /^<!doctype html>/, path);
  }
  const { status, headers, text } = await browser.get('/robots.txt');
  assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
  assert.match(text, /^User-agent: \*\n(?:Disallow: \/(?:oauth|auth|v1)\/\n)+$/);
  const program = await browser.get('/terms', { accept: '*/*' });
  assert.deepEqual([program.status, program.json?.error], [404, 'not_found']);
});
