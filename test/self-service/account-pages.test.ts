import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { locales } from '../../src/platform/i18n/translate.ts';
import type { Answer } from '../support/browser.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const patch = ({ browser }: TestUser, body: unknown): Promise<Answer> => browser.patch('/v1/me', body);

testSignet('a user says who they are', async ({ signet, t }) => {
  await t.test('a user changes their name and language, and only those', async () => {
    const user = await signet.signedInUser();
    signet.clock.advance(60);
    const answer = await patch(user, { name: '  Ada Lovelace ', locale: 'de' });
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.json?.name, answer.json?.locale], ['Ada Lovelace', 'de']);
    assert.deepEqual((await user.browser.get('/v1/me')).json, answer.json);
    assert.match((await user.browser.get('/account')).text, /<html lang="de">/);
    const again = await patch(user, { locale: null });
    assert.deepEqual([again.json?.name, again.json?.locale], ['Ada Lovelace', null]);
    const events = await signet.auditLog({ target: user.user_id, action: 'user.changed' });
    assert.deepEqual(events.map(({ after_state }) => after_state).sort(), [
      '{"fields":["locale"]}',
      '{"fields":["name","locale"]}',
    ]);
    await patch(user, { name: 'Ada Lovelace' }); // as it is already: nothing is written
    assert.equal((await user.browser.get('/v1/me')).json?.updated_at, again.json?.updated_at);
  });

  await t.test('what is wrong with a profile is said, and nothing is changed', async () => {
    const user = await signet.signedInUser();
    const before = (await user.browser.get('/v1/me')).json;
    const wrong: unknown[] = [
      { name: '' },
      { name: ' ' },
      { name: 'x'.repeat(101) },
      { name: 'a\u202eb' },
      { name: 'a\u0000b' },
      { name: null },
      { name: 7 },
      { locale: 'xx' },
      { locale: 'de-DE' },
      { locale: '__proto__' },
      { locale: '' },
      { role: 'admin' },
      { email: 'other@example.com' },
      { name: 'Fine', user_id: 'usr_x' },
      [],
      'name',
      null,
    ];
    for (const body of wrong) assertRefused(await patch(user, body), 400, 'invalid_request');
    assertRefused(await patch(user, { name: 'x'.repeat(70_000) }), 413, 'content_too_large');
    assert.deepEqual((await user.browser.get('/v1/me')).json, before);

    const page = await user.browser.post('/account', { name: 'a\u202eb', locale: 'de' });
    assert.equal(page.status, 400);
    assert.match(page.text, /role="alert"/);
    assert.match(page.text, /value="a\u202eb"/);
    assert.equal((await user.browser.post('/account', { name: 'Fine', locale: 'xx' })).status, 400);
    assert.deepEqual((await user.browser.get('/v1/me')).json, before);
    const done = await user.browser.post('/account', { name: 'Grace Hopper', locale: '' });
    for (let number = 1; number < 60; number += 1) await patch(user, { name: `Grace ${number}` });
    assertRefused(await patch(user, { name: 'Grace Hopper' }), 429, 'rate_limited');
    signet.clock.advance(3600);
    assert.equal((await patch(user, { name: 'Grace Hopper' })).status, 200);
    assert.deepEqual([done.status, done.location], [303, '/account?done=yes']);
    assert.match((await user.browser.get('/account?done=yes')).text, /Grace Hopper/);
  });
});

test('the security page lists the sign-in methods, and advises a user with a password alone', async (t) => {
  const signet = await startSignet(t, {
    env: { SIGNET_GOOGLE_CLIENT_ID: 'x', SIGNET_GOOGLE_CLIENT_SECRET: 'y' },
  });
  const user = await signet.signedInUser();
  const { text } = await user.browser.get('/account/security');
  for (const name of ['password', 'passkeys', 'totp', 'providers']) {
    assert.match(text, new RegExp(`href="/account/security/${name}"`));
  }
  assert.match(text, /class="advice"/);
  assert.doesNotMatch(text, /backup-codes/);
  assert.equal((await user.browser.get('/v1/me')).json?.two_factor_enabled, false);

  await user.enableTotp();
  const safer = (await user.browser.get('/account/security')).text;
  assert.match(safer, /href="\/account\/security\/backup-codes"/);
  assert.match(safer, sentence('security.backup_codes.left', { remaining: 10, total: 10 }));
  assert.doesNotMatch(safer, /class="advice"|badge warn/);
  assert.equal((await user.browser.get('/v1/me')).json?.two_factor_enabled, true);
  await plain(signet.deps.db).run(
    'update backup_codes set used_at = 1 where code_hash in (select code_hash from backup_codes limit 7)',
  );
  assert.match(
    (await user.browser.get('/account/security')).text,
    pattern`badge warn.*${sentence('security.backup_codes.left', { remaining: 3, total: 10 })}`,
  );

  const without = await startSignet(t);
  const other = await without.signedInUser();
  assert.doesNotMatch((await other.browser.get('/account/security')).text, /security\/providers/);
});

test('without entitlements both the API and the page say so', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const answer = await user.browser.get('/v1/me/entitlements');
  assert.deepEqual([answer.status, answer.json], [200, { entitlements: [] }]);
  assert.match((await user.browser.get('/account/entitlements')).text, /class="empty"/);
});

test('a page is offered in every language, and the choice lasts through the forms after it', async (t) => {
  const signet = await startSignet(t);
  const browser = signet.newBrowser();
  const first = await browser.get('/signin?next=%2Faccount%2Fapps', { 'accept-language': 'en' });
  const [, form = ''] = /<form method="get">(.*?)<\/form>/s.exec(first.text) ?? [];
  const names = [...form.matchAll(/name="ui_locales" value="([\w-]+)" lang="\1"[^>]*>([^<]+)</g)];
  assert.deepEqual(names.map(([, tag]) => tag).sort(), [...locales].sort());
  assert.equal(names.find(([, tag]) => tag === 'de')?.[2], 'Deutsch');
  assert.match(form, /<input type="hidden" name="next" value="\/account\/apps">/);
  const german = await browser.get('/signin?next=%2Faccount%2Fapps&ui_locales=de', { 'accept-language': 'en' });
  assert.match(german.text, /<html lang="de">/);
  assert.match(german.text, /name="next" value="\/account\/apps"/);
  const wrong = await browser.post('/signin', { username: 'a@b.test', password: 'x' }, { 'accept-language': 'en' });
  assert.equal(wrong.status, 401);
  assert.match(wrong.text, /<html lang="de"[ >]/);
  assert.doesNotMatch(wrong.text, /ui_locales/); // no link repeats a form
  await browser.get('/signin?ui_locales=xx');
  assert.equal(browser.cookies.get('signet_language'), 'de');
  const austrian = signet.newBrowser();
  assert.match((await austrian.get('/signin?ui_locales=de-AT')).text, /<html lang="de">/);
  assert.equal(austrian.cookies.get('signet_language'), 'de');
});

test('no address makes the choice of languages lead elsewhere', async (t) => {
  const signet = await startSignet(t);
  for (const path of [
    '//evil.test/x',
    '/%5Cevil.test?next=//evil.test',
    '/nowhere?ui_locales=de&ui_locales=en&a="><b>',
    '/signin?next=//evil.test/x&a="><b>',
  ]) {
    const { text } = await signet.newBrowser().send(`${signet.url}${path}`, { headers: { accept: 'text/html' } });
    assert.doesNotMatch(text, /<form method="get" |formaction/); // without an action: to the same page
    if (path.startsWith('/signin')) assert.match(text, /<form method="get">/);
    assert.doesNotMatch(text, /<b>/);
  }
});

test('the accent colour of the operator is in the stylesheet, readable in either scheme', async (t: TestContext) => {
  const signet = await startSignet(t, { env: { SIGNET_ACCENT: '#FFEE00' } });
  const { text } = await signet.newBrowser().get('/signin');
  const href = /<link rel="stylesheet" href="([^"]+)"/.exec(text)?.[1] ?? '';
  const css = (await signet.newBrowser().get(href)).text;
  const [light, dark] = [...css.matchAll(/--accent:(#[0-9a-f]{6})/g)].map(([, colour]) => colour);
  assert.notEqual(light, '#ffee00'); // yellow on white is not to be read
  assert.equal(dark, '#ffee00');
  assert.ok(css.length < 28_000, `${css.length} bytes`);
});
