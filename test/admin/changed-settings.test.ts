import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { limitSettings } from '../../src/platform/limits/limit-settings.ts';
import { changeableSettings } from '../../src/platform/settings/changeable-settings.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { withRole } from '../support/roles.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const revisionIn = (text: string) => /name="revision" value="(\d+)"/.exec(text)?.[1] ?? '';

/** By the page, as it is read. */
async function set({ browser }: TestUser, name: string, value: string, reason = '') {
  const path = `/admin/settings/${name}`;
  const { text } = await browser.get(path);
  return browser.post(path, { value, revision: revisionIn(text), reason });
}

const put = ({ browser }: TestUser, name: string, body: object) => browser.put(`/v1/admin/settings/${name}`, body);

const settingIn = async ({ browser }: TestUser, name: string) => {
  const { json } = await browser.get('/v1/admin/settings');
  const groups = json?.groups as { settings: Record<string, unknown>[] }[];
  return groups.flatMap(({ settings }) => settings).find((one) => one.name === name);
};

testSignet(
  'an administrator ends and allows sign-up in the page, and other nodes follow within a second',
  { mail: true },
  async ({ signet, t }) => {
    const other = await startSignet(t, { beside: signet, mail: true });
    const admin = await signet.signedInUser({ role: 'admin' });
    const offers = async ({ newBrowser }: Signet) => {
      const browser = newBrowser();
      const page = await browser.get('/signin');
      const { status } = await browser.get('/signup');
      assert.equal(page.text.includes('href="/signup'), status === 200, page.text);
      return status === 200;
    };
    assert.equal(await offers(signet), true);
    const saved = await set(admin, 'SIGNET_SIGN_UP', 'off', 'Too many robots');
    assert.equal(saved.location, '/admin/settings/SIGNET_SIGN_UP?done=saved');
    assert.equal(await offers(signet), false);
    assert.equal((await signet.newBrowser().post('/signup', { email: 'new@example.com' })).status, 404);
    assert.equal(await offers(other), true, 'not read yet');
    await runJobs(other.deps, ['refresh settings']);
    assert.equal(await offers(other), false);
    assert.equal((await settingIn(admin, 'SIGNET_SIGN_UP'))?.source, 'store');
    const [event] = await signet.auditLog({ action: 'setting.changed' });
    assert.deepEqual(
      [event?.actor, event?.target, event?.reason, event?.before_state, event?.after_state],
      [`user:${admin.user_id}`, 'SIGNET_SIGN_UP', 'Too many robots', '{"value":null}', '{"value":"off"}'],
    );
    const page = (await admin.browser.get('/admin/settings/SIGNET_SIGN_UP')).text;
    assert.match(page, /id="setting-reset"/);
    assert.match(page, /Too many robots/, 'who has changed it, and why');
    await admin.browser.post('/admin/settings/SIGNET_SIGN_UP', { revision: revisionIn(page) });
    assert.equal(await offers(signet), true, 'the default');
    assert.deepEqual(await settingIn(admin, 'SIGNET_SIGN_UP'), {
      name: 'SIGNET_SIGN_UP',
      value: 'on',
      source: 'default',
      is_secret: false,
      is_changeable: true,
      revision: 3,
    });
    const restarted = await startSignet(t, { beside: signet, mail: true });
    assert.equal(restarted.deps.config.signUp, true);
  },
);

testSignet(
  'a value with which no server would start is refused at its field, and changes nothing',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const before = { ...signet.deps.config };
    for (const [name, value] of [
      ['SIGNET_SIGN_UP', 'maybe'],
      ['SIGNET_REVIEW_MAILS', 'ON'],
      ['SIGNET_SECOND_FACTOR', '2027-02-30'],
      ['SIGNET_SECURITY_CONTACT', 'http://example.com/'],
      ['SIGNET_LANGUAGES', 'en,xx'],
      ['SIGNET_LIMIT_PENDING_CLIENTS', '0'],
      ['SIGNET_LIMIT_PENDING_CLIENTS', '1e3'],
    ] as const) {
      const refused = await put(admin, name, { value });
      assertRefused(refused, 400, 'invalid_request');
      assert.match(refused.text, /"path":"value"/, name);
      assert.match(refused.text, new RegExp(name), 'the sentence of a start');
      const page = await set(admin, name, value);
      assert.equal(page.status, 400);
      assert.match(page.text, /id="value-problem"/, name);
    }
    assert.deepEqual({ ...signet.deps.config }, before);
    assert.deepEqual(await signet.auditLog({ action: 'setting.changed' }), []);
    for (const name of ['SIGNET_PORT', 'SIGNET_ADMIN_SECOND_FACTOR', 'SIGNET_SELF_APPROVAL', 'SIGNET_NONE'])
      assertRefused(await put(admin, name, { value: 'on' }), 404, 'not_found');
    assert.equal((await admin.browser.get('/admin/settings/SIGNET_PORT')).status, 404);
  },
);

testSignet('of two changes that were read at once, the second is refused', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const name = 'SIGNET_LANGUAGES';
  assert.equal((await put(admin, name, { value: 'en,de', revision: 1 })).status, 200);
  const late = await put(admin, name, { value: 'de,en', revision: 1 });
  assertRefused(late, 409, 'stale_revision');
  assert.equal(late.json?.stored_revision, 2);
  const stale = await admin.browser.post(`/admin/settings/${name}`, { value: 'de,en', revision: '1' });
  assert.equal(stale.status, 409);
  assert.match(stale.text, /value="de,en"/, 'what was typed stays');
  const both = await Promise.all(['fr', 'de'].map((one) => put(admin, name, { value: `${one},en`, revision: 2 })));
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
  const events = () => signet.auditLog({ action: 'setting.changed' });
  assert.equal((await events()).length, 2);
  const { value } = (await settingIn(admin, name)) as { value: string };
  assert.equal((await put(admin, name, { value: ` ${value} ` })).status, 200);
  assert.equal((await events()).length, 2, 'the same value is no change');
  const { text } = await signet.newBrowser().get('/signin');
  assert.match(text, new RegExp(`<html lang="${value.slice(0, 2)}"`), 'for those who read none of them');
});

test('what the environment says wins, and the page says so', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SIGN_UP: 'on', SIGNET_LIMIT_PENDING_CLIENTS: '3' } });
  const admin = await signet.signedInUser({ role: 'admin' });
  const { text } = await admin.browser.get('/admin/settings/SIGNET_SIGN_UP');
  assert.match(text, sentence('admin.settings.fixed', { name: 'SIGNET_SIGN_UP' }));
  assert.doesNotMatch(text, /id="setting-save"/);
  assertRefused(await put(admin, 'SIGNET_SIGN_UP', { value: 'off' }), 409, 'invalid_state');
  // By a node without it.
  await plain(signet.deps.db).run(
    "insert into settings values ('SIGNET_SIGN_UP', 'off', 2, 1), ('SIGNET_LATER', 'x', 2, 1)",
  );
  await runJobs(signet.deps, ['refresh settings']);
  assert.equal(signet.deps.config.signUp, true);
  assert.equal((await settingIn(admin, 'SIGNET_SIGN_UP'))?.source, 'environment');
  assert.equal((await settingIn(admin, 'SIGNET_SIGN_UP'))?.is_changeable, false);
  assert.equal(signet.deps.config.limits.pendingClients, 3);
});

test('a stored value that this version does not understand leaves the default, and the log says so', async (t) => {
  const signet = await startSignet(t);
  await plain(signet.deps.db).run(
    "insert into settings values ('SIGNET_SIGN_UP', 'for members', 2, 1), ('SIGNET_LANGUAGES', 'fr,en', 2, 1)",
  );
  await runJobs(signet.deps, ['refresh settings']);
  assert.deepEqual([signet.deps.config.signUp, signet.deps.config.languages], [true, ['fr', 'en']]);
  assert.match(signet.logLines.join('\n'), /SIGNET_SIGN_UP.*not understood/);
});

test('each setting that can be changed counts in what the server reads, and is its default again', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const admin = await signet.signedInUser({ role: 'admin' });
  const values: Readonly<Record<string, string>> = {
    SIGNET_SIGN_UP: 'off',
    SIGNET_REVIEW_MAILS: 'off',
    SIGNET_SECOND_FACTOR: '2099-01-01',
    SIGNET_SECURITY_CONTACT: 'security@example.com',
    SIGNET_LANGUAGES: 'fr,en',
    ...Object.fromEntries(limitSettings.map(({ name }) => [name, '7'])),
  };
  const before = { ...signet.deps.config };
  for (const { name } of changeableSettings) {
    assert.equal((await put(admin, name, { value: values[name] })).status, 200, name);
    assert.notDeepEqual({ ...signet.deps.config }, before, name);
    assert.equal((await settingIn(admin, name))?.value, values[name]?.replace('security@', 'mailto:security@'), name);
  }
  const securityTxt = () => signet.newBrowser().get('/.well-known/security.txt');
  assert.match((await securityTxt()).text, /^Contact: mailto:security@example.com/);
  assert.match((await signet.newBrowser().get('/signin')).text, /<html lang="fr"/);
  const list = (await admin.browser.get('/admin/settings?ui_locales=en')).text;
  for (const { name } of changeableSettings) {
    assert.match(list, new RegExp(`href="/admin/settings/${name}"`));
    assert.equal((await put(admin, name, { value: null })).status, 200, name);
  }
  assert.deepEqual({ ...signet.deps.config }, before);
  assert.equal((await securityTxt()).status, 404);
  const found = (await admin.browser.get('/admin/search?q=create+accounts')).text;
  assert.match(found, /href="\/admin\/settings\/SIGNET_SIGN_UP"/, 'the search leads there');
});

test('a limit that was changed counts for the next who comes to it', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  await put(admin, 'SIGNET_LIMIT_PENDING_CLIENTS', { value: '1' });
  const owner = await signet.signedInUser();
  await signet.registerClient({ owner, approved: false });
  const { text } = await owner.browser.get('/developer/register');
  assert.match(text, sentence('developer.limit.pending', { max: 1 }));
});

test('who may only read settings is offered no change', async (t) => {
  const signet = await startSignet(t);
  const auditor = await withRole(signet, 'auditor');
  const { text } = await auditor.browser.get('/admin/settings');
  assert.match(text, /id="SIGNET_SIGN_UP"/);
  assert.doesNotMatch(text, /href="\/admin\/settings\/SIGNET_/);
  assert.equal((await auditor.browser.get('/admin/settings/SIGNET_SIGN_UP')).status, 403);
  assertRefused(await put(auditor, 'SIGNET_SIGN_UP', { value: 'off' }), 403, 'access_denied');
});

test('docs/configuration.md names the settings that can be changed while the server runs', () => {
  const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Changed while the server runs$(.*?)^## /ms.exec(text) ?? [];
  const named = [...section.matchAll(/`(SIGNET_\w+)`/g)].map(([, name]) => name);
  assert.deepEqual(named.toSorted(), changeableSettings.map(({ name }) => name).toSorted());
});
