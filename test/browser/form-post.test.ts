import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { locales } from '../../src/platform/i18n/translate.ts';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { expectToFit } from './expect-page.ts';
import { lendSession } from './seeded-signet.ts';

/** A relying party on another origin that keeps what is posted to it. */
async function startReceiver(t: TestContext) {
  const received: { method?: string; headers: IncomingHttpHeaders; form: URLSearchParams }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { url, method, headers } = request;
    if (url === '/cb') received.push({ method, headers, form: new URLSearchParams(body) });
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title><h1>Arrived</h1>');
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  t.after(() => server.close());
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return { origin, received };
}

for (const javaScript of [true, false]) {
  test(`form_post ${javaScript ? 'by itself' : 'with the button, without JavaScript'}`, async (t) => {
    const signet = await startSignet(t);
    const { origin, received } = await startReceiver(t);
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ redirect_uris: [`${origin}/cb`], consent: 'required' });
    const visitor = await openBrowser(t, { origins: [signet.url, origin], javaScript });
    await lendSession(visitor, user, signet);
    const { page, expectQuiet } = visitor;
    // From the consent page on, whose policy the browser applies to what follows its form.
    await page.goto(signet.url + client.authorizePath({ response_mode: 'form_post' }));
    await page.locator('#consent-allow').click();
    if (!javaScript) await page.getByRole('button', { name: message('form_post.continue') }).click();
    await page.waitForURL(`${origin}/cb`);
    assert.deepEqual([received.length, received[0]?.method], [1, 'POST']);
    // Frameworks that refuse a POST of another site can be given this origin as an exception; "null" would be anyone's.
    const { origin: sender, referer } = received[0]!.headers;
    assert.deepEqual({ sender, referer }, { sender: signet.url, referer: `${signet.url}/` });
    assert.equal((await client.redeem(received[0]?.form.get('code') ?? '')).status, 200);
    expectQuiet();
  });
}

test('the page of form_post, while its script has not come', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, user, signet);
  const { page } = visitor;
  await page.route('**/assets/form-post-*', (route) => route.abort());
  for (const locale of locales) {
    await page.goto(signet.url + client.authorizePath({ response_mode: 'form_post', ui_locales: locale }));
    await page.getByRole('heading', { name: message('form_post.title', {}, locale) }).waitFor();
    if (locale === 'en') await expectAccessible(page);
    else await expectToFit(page, 320);
  }
});
