import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approveClient } from '../../src/clients/review-client.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { message, sentence } from '../support/messages.ts';
import { confirmWithPasskey, passkeyOptions, postAssertion } from '../support/passkeys.ts';
import {
  assertRefused,
  claimsOf,
  type Fields,
  type RegisteredClient,
  redirectedTo,
  tokensOf,
} from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { codesOf } from '../support/two-factor.ts';

/** Decision 7; OpenID Connect Dynamic Client Registration 1.0 §2: what a client asks of its users by its registration. */

const one = 'urn:signet:acr:1fa';
const two = 'urn:signet:acr:2fa';
const html = { accept: 'text/html' };
const unmet = 'unmet_authentication_requirements';

/** @returns what the id token says, for a code that came at once. */
async function reached(client: RegisteredClient, answer: Answer) {
  const code = redirectedTo(answer).get('code');
  assert.ok(code, `${answer.status} ${answer.location}`);
  return claimsOf(tokensOf(await client.redeem(code)).id_token).acr;
}

/** @returns the id of the request that waits at that page. */
function waitsAt(page: string, answer: Answer): string {
  const request = redirectedTo(answer).get('request') ?? '';
  assert.equal(answer.location, `${page}?request=${request}`);
  return request;
}

const acrClaim = (acr: object) => JSON.stringify({ id_token: { acr } });
const linkIn = ({ text }: Answer, id: string) =>
  (new RegExp(`id="${id}" href="([^"]+)"`).exec(text)?.[1] ?? '').replaceAll('&amp;', '&');

testSignet('a client that requires a second factor gets no code without one', async ({ signet, t }) => {
  const client = await signet.registerClient({ name: 'Vault', default_acr_values: [two] });
  const plain = await signet.registerClient();
  const ask = (browser: Browser, more: Fields = {}) => browser.get(client.authorizePath(more));
  const goOn = (request: string) => `/oauth/authorize/continue?request=${request}`;

  await t.test('a user who has none sets one up on the way', async () => {
    const user = await signet.newUser();
    const browser = signet.newBrowser();
    const request = waitsAt('/signin', await ask(browser));
    const signedIn = await user.with({ browser }).signIn({ request });
    assert.equal(waitsAt('/signin/set-up', await browser.get(signedIn.location)), request);
    const page = await browser.get(`/signin/set-up?request=${request}`);
    assert.match(page.text, sentence('set_up.why.client'));
    assert.match(page.text, /<bdi>Vault<\/bdi>/);
    await browser.post('/signin/set-up/enroll', { request });
    const { text } = await browser.get(`/signin/set-up?request=${request}`);
    const secret = /id="totp-secret">([A-Z2-7 ]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? '';
    const codes = await browser.post('/signin/set-up/confirm', { request, code: codesOf(signet, secret)() });
    assert.equal(linkIn(codes, 'backup-codes-done'), goOn(request));
    assert.equal(await reached(client, await browser.get(goOn(request))), two);
    assert.equal(await reached(client, await ask(browser, { prompt: 'none' })), two);
  });

  await t.test('a user who would rather not goes back to the app, which learns why', async () => {
    const { browser } = await signet.signedInUser();
    const request = waitsAt('/signin/set-up', await ask(browser));
    const page = await browser.get(`/signin/set-up?request=${request}`);
    const answer = redirectedTo(await browser.get(linkIn(page, 'set-up-not')));
    assert.deepEqual([answer.get('error'), answer.get('state')], [unmet, 's1']);
    assert.match(answer.get('error_description') ?? '', /^default_acr_values /);
    // Nothing else requires it of this user.
    assert.equal((await browser.get('/account')).status, 200);
    assert.equal(await reached(plain, await browser.get(plain.authorizePath())), one);
  });

  await t.test('a user who has a passkey is asked for it, and no password leads past it', async () => {
    const user = await signet.signedInUser();
    const passkey = await user.addPasskey();
    const { browser } = await user.signedInElsewhere();
    const request = waitsAt('/signin/confirm', await ask(browser));
    assert.equal((await browser.get(`/signin/set-up?request=${request}`, html)).status, 303);
    const page = await browser.get(`/signin/confirm?request=${request}`);
    assert.match(page.text, sentence('confirm.passkey'));
    assert.doesNotMatch(page.text, sentence('confirm.decline'));
    const confirm = '/signin/confirm/passkey';
    const options = await passkeyOptions(browser, confirm);
    const used = await postAssertion(browser, confirm, passkey.get(options), { request });
    assert.equal(await reached(client, await browser.get(used.location)), two);

    const weaker = await user.signedInElsewhere();
    const again = waitsAt('/signin/confirm', await ask(weaker.browser));
    const declined = linkIn(await weaker.browser.get(`/signin/confirm?request=${again}`), 'confirm-not');
    assert.equal(redirectedTo(await weaker.browser.get(declined)).get('error'), unmet);
  });

  await t.test('a request, which the user could have written, cannot lower it', async () => {
    const { browser } = await signet.signedInUser();
    for (const more of [
      { acr_values: one },
      { acr_values: `${one} ${two}` },
      { acr_values: 'urn:example:gold' },
      { claims: acrClaim({ value: one }) },
      { claims: acrClaim({ essential: true, values: [one, two] }) },
    ]) {
      waitsAt('/signin/set-up', await ask(browser, more));
    }
    // No sign-in reaches both this and the registration, so no one sets anything up for it.
    const contradiction = await ask(browser, { claims: acrClaim({ essential: true, value: one }) });
    assert.equal(redirectedTo(contradiction).get('error'), unmet);
  });

  await t.test('prompt=none is refused so that the app asks again with a page', async () => {
    const user = await signet.signedInUser();
    const silent = async (browser: Browser) => redirectedTo(await ask(browser, { prompt: 'none' })).get('error');
    assert.equal(await silent(user.browser), 'login_required');
    const passkey = await user.addPasskey();
    assert.equal(await silent(user.browser), null);
    const { browser } = await user.signedInElsewhere();
    assert.equal(await silent(browser), 'login_required');
    await confirmWithPasskey(browser, passkey);
    assert.equal(await silent(browser), null);
  });
});

testSignet('a client that prefers a second factor takes a sign-in without', async ({ signet }) => {
  const client = await signet.registerClient({ default_acr_values: [two, one] });
  const ask = (browser: Browser, more: Fields = {}) => browser.get(client.authorizePath(more));
  const user = await signet.signedInUser();
  assert.equal(await reached(client, await ask(user.browser)), one, 'a user who has none is not asked for one');
  await user.addPasskey();
  const { browser } = await user.signedInElsewhere();
  const request = waitsAt('/signin/confirm', await ask(browser));
  const page = await browser.get(`/signin/confirm?request=${request}`);
  assert.match(page.text, sentence('confirm.decline'));
  assert.equal(await reached(client, await browser.get(linkIn(page, 'confirm-not'))), one);
  assert.equal(await reached(client, await ask(browser, { prompt: 'none' })), one);
  // Any class that the request itself names overrides it, by either parameter.
  for (const more of [{ acr_values: one }, { acr_values: 'urn:example:gold' }, { claims: acrClaim({ value: one }) }]) {
    assert.equal(await reached(client, await ask(browser, more)), one, JSON.stringify(more));
  }
  waitsAt('/signin/confirm', await ask(browser, { claims: acrClaim({ essential: false }) }));
});

testSignet('what a client requires is reviewed, and ends nothing that was granted before', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const { client_id } = client;
  const { browser } = await signet.signedInUser();
  const ask = () => browser.get(client.authorizePath());
  const code = redirectedTo(await ask()).get('code') ?? '';
  const { refresh_token } = tokensOf(await client.redeem(code));

  const path = `/v1/oauth/clients/${client_id}`;
  const edited = await owner.browser.patch(path, { default_acr_values: [two] });
  const { default_acr_values, pending_change } = edited.json ?? {};
  assert.deepEqual([default_acr_values, pending_change], [[], { default_acr_values: [two] }]);
  assert.equal(await reached(client, await ask()), one, 'not before it is approved');

  const admin = await signet.signedInUser({ role: 'admin' });
  const read = await admin.browser.get(`/v1/admin/clients/${client_id}`);
  assert.deepEqual(read.json?.changes, [{ field: 'default_acr_values', before: [], after: [two] }]);
  const review = await admin.browser.get(`/admin/clients/${client_id}`);
  const row = new RegExp(`<th scope="row">${message('clients.field.default_acr_values')}</th>.*?</tr>`, 's').exec(
    review.text,
  )?.[0];
  assert.match(row ?? '', sentence('developer.second_factor.optional'));
  assert.match(row ?? '', sentence('developer.second_factor.required'));
  await approveClient(signet.deps, { client_id, caller: { actor: 'cli' } }, { revision: 2 });

  waitsAt('/signin/set-up', await ask());
  const refreshed = tokensOf(await client.refresh(refresh_token));
  assert.equal(claimsOf(refreshed.id_token).acr, one);

  await t.test('a reviewer may ask for another factor than the owner did', async () => {
    const other = await signet.registerClient({ owner, name: 'Vault', approved: false });
    const approve = (second_factor: string) =>
      admin.browser.postJson(`/v1/admin/clients/${other.client_id}/approve`, { revision: 1, second_factor });
    assertRefused(await approve('always'), 400, 'invalid_request');
    const approved = await approve('required');
    assert.deepEqual([approved.json?.status, approved.json?.default_acr_values], ['approved', [two]], approved.text);
    waitsAt('/signin/set-up', await browser.get(other.authorizePath()));
    const [event] = await signet.auditLog({ target: other.client_id, action: 'client.approved' });
    assert.match(event?.after_state ?? '', /urn:signet:acr:2fa/);

    // The form shows what was requested, and that alone changes nothing: not even how a list is spelled.
    await owner.browser.patch(`/v1/oauth/clients/${other.client_id}`, { default_acr_values: [one, two] });
    const shown = (await admin.browser.get(`/admin/clients/${other.client_id}`)).text;
    assert.match(shown, /<option value="optional" selected>/);
    assert.match(
      shown,
      sentence('admin.clients.second_factor.hint', { requested: message('developer.second_factor.optional') }),
    );
    const form = { revision: '2', consent: 'required', 'scope:openid': 'on', refresh_retry_window: '0' };
    const path = `/admin/clients/${other.client_id}/approve`;
    assert.equal((await admin.browser.post(path, { ...form, second_factor: 'optional' })).status, 303);
    assert.deepEqual((await signet.deps.clients.find(other.client_id))?.default_acr_values, [one, two]);
    await owner.browser.patch(`/v1/oauth/clients/${other.client_id}`, { name: 'Vaults' });
    assert.equal((await admin.browser.post(path, { ...form, revision: '3', second_factor: 'preferred' })).status, 303);
    assert.deepEqual((await signet.deps.clients.find(other.client_id))?.default_acr_values, [two, one]);
  });

  await t.test('other classes are refused by the name of the field', async () => {
    const bad = [['urn:example:gold'], [two, two], [one, two, one], two, null, [7], [[two]]];
    for (const values of bad) {
      const refused = await owner.browser.patch(path, { default_acr_values: values });
      assertRefused(refused, 400, 'invalid_request');
      const fields = refused.json?.fields as { path: string }[];
      for (const field of fields) assert.match(field.path, /^default_acr_values(\/\d)?$/, JSON.stringify(values));
      assert.ok(fields.length > 0);
    }
    const { json } = await browser.get('/.well-known/openid-configuration');
    const all = await owner.browser.patch(path, { default_acr_values: json?.acr_values_supported });
    assert.deepEqual(all.json?.pending_change, { default_acr_values: [one, two] });
  });
});

test('the set-up page asks for what is required, and leads on where nothing is', async (t) => {
  const signet = await startSignet(t);
  const plain = await signet.registerClient({ consent: 'required' });
  const client = await signet.registerClient({ default_acr_values: [two] });
  const { browser } = await signet.signedInUser();
  const setUp = '/signin/set-up';

  assert.equal((await browser.get(`${setUp}?next=%2Faccount%2Fapps`)).location, '/account/apps');
  assert.equal((await browser.post(`${setUp}/enroll`, { next: '/account/apps' })).location, '/account/apps');
  assert.equal((await browser.get('/v1/me/2fa')).json?.enabled, false);
  const other = waitsAt('/consent', await browser.get(plain.authorizePath()));
  const onward = await browser.get(`${setUp}?request=${other}`);
  assert.equal(onward.location, `/oauth/authorize/continue?request=${other}`);
  assert.equal((await browser.get(onward.location)).location, `/consent?request=${other}`);

  await t.test('its form, sent too late, comes back to the same request', async () => {
    signet.clock.advance(880);
    const request = waitsAt(setUp, await browser.get(client.authorizePath()));
    assert.equal((await browser.get(`${setUp}?request=${request}`)).status, 200);
    signet.clock.advance(30);
    for (const form of ['enroll', 'confirm', 'passkey']) {
      const late = await browser.post(`${setUp}/${form}`, { request, code: '123456', name: 'Phone' }, html);
      const page = `${setUp}?${new URLSearchParams({ request, unfinished: '1' })}`;
      assert.equal(late.location, `/signin/confirm?${new URLSearchParams({ next: page })}`);
    }
  });
});
