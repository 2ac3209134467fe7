import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../support/browser.ts';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { message, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** Forms and commands that change something, sent a second time: nothing differs, and nothing may claim that it does. */

/** Mail that nobody takes stays in the queue, where it is seen. */
const env = { SIGNET_RATE_LIMITS: 'off', SIGNET_SMTP_URL: 'smtp://127.0.0.1:9' };
const reason = 'As agreed.';

type Form = {
  send(): Promise<Answer>;
  /** What the page says when something was changed. */
  done: string;
  /** Where it leads. */
  page: string;
  says?: Parameters<typeof message>[0];
};

/** What would be left of a change. */
async function traces({ deps: { db } }: Signet) {
  const mails = await plain(db).all('select mail_id from outgoing_mails order by mail_id');
  const events = await plain(db).all('select event_id, action from audit_log order by event_id');
  const users = await plain(db).all('select user_id, updated_at from users order by user_id');
  return { mails, events, users };
}

/** Sends the form twice, and looks at what the second time says and leaves behind. */
async function assertSaysUnchanged(signet: Signet, name: string, form: Form) {
  const [path, query] = form.page.split('?');
  const at = (done: string) => `${path}?${query === undefined ? '' : `${query}&`}done=${done}`;
  const first = await form.send();
  assert.deepEqual([first.status, first.location], [303, at(form.done)], `${name}: ${first.text}`);
  signet.clock.advance(1);
  const before = await traces(signet);
  const second = await form.send();
  assert.deepEqual([second.status, second.location], [303, at('unchanged')], `${name}: ${second.text}`);
  assert.deepEqual(await traces(signet), before, name);
  return second.location;
}

testSignet("a user's form that differs in nothing says so, and leaves no trace", { env }, async (given) => {
  const { signet } = given;
  const user = await signet.signedInUser({ name: 'Ada Lovelace' });
  const { browser } = user;
  const { id } = await user.addPasskey(undefined, 'Key');
  const { session } = (await browser.get('/v1/me')).json as { session: { id: string } };
  const picture = () => {
    const body = new FormData();
    body.append('content', new File([new Uint8Array(pngOf())], 'me.png', { type: 'image/png' }));
    return browser.send('/account/picture', { method: 'POST', body, headers: { origin: signet.url } });
  };
  const forms: Record<string, Form> = {
    profile: {
      send: () => browser.post('/account', { name: 'Ada', locale: 'en', nickname: 'Countess' }),
      done: 'yes',
      page: '/account',
      says: 'account.done.unchanged',
    },
    picture: { send: picture, done: 'picture', page: '/account', says: 'account.done.unchanged' },
    'no picture': { send: () => browser.post('/account/picture/remove'), done: 'picture_removed', page: '/account' },
    session: {
      send: () => browser.post('/account/sessions/name', { session_id: session.id, name: 'Laptop' }),
      done: 'named',
      page: '/account/sessions',
      says: 'sessions.done.unchanged',
    },
    passkey: {
      send: () => browser.post(`/account/security/passkeys/${id}/name`, { name: 'Key ring' }),
      done: 'renamed',
      page: '/account/security/passkeys',
      says: 'passkey.done.unchanged',
    },
  };
  for (const [name, form] of Object.entries(forms)) {
    const location = await assertSaysUnchanged(signet, name, form);
    if (form.says) assert.match((await browser.get(location)).text, sentence(form.says), name);
  }
  const unknown = await browser.post('/account/sessions/name', { session_id: 'ses_unknown', name: 'Laptop' });
  assert.equal(unknown.status, 404);
});

testSignet("an administrator's form that differs in nothing says so, and leaves no trace", { env }, async (given) => {
  const { signet } = given;
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser({ name: 'Ada' });
  const client = await signet.registerClient();
  await user.enableTotp();
  const [other, app, halfway] = [await signet.signedInUser(), await signet.signedInUser(), await signet.signedInUser()];
  await app.obtainTokens(client);
  await halfway.enableTotp();
  await halfway.awaitingSecondFactor();
  const end = 'update sessions set ended_at = 1 where user_id in ($1, $2)';
  await plain(signet.deps.db).run(end, [app.user_id, halfway.user_id]);
  const signOut = ({ user_id }: TestUser) => ({
    send: () => browser.post(`/admin/users/${user_id}/sign-out`, { reason }),
    done: 'signed_out',
    page: `/admin/users/${user_id}`,
  });
  const service = await signet.newService();
  const url = 'https://hooks.example.com/signet';
  const made = await browser.postJson('/v1/admin/webhooks', { url, event_types: ['user.created'] });
  const webhook = `/admin/webhooks/${String(made.json?.webhook_id)}`;
  const ofUser = `/admin/users/${user.user_id}`;
  const ofClient = `/admin/clients/${client.client_id}`;
  const ofService = `/admin/service-credentials/${service.client_id}`;
  const forms: Record<string, Form> = {
    user: {
      send: () =>
        browser.post(`${ofUser}/edit`, { name: 'Ada King', email: 'ada@new.test', email_verified: 'on', reason }),
      done: 'edited',
      page: ofUser,
      says: 'admin.users.done.unchanged',
    },
    'sign-out': { ...signOut(other), says: 'admin.users.done.unchanged' },
    'sign-out of a grant that is left': signOut(app),
    'sign-out of one half way': signOut(halfway),
    'second factors': {
      send: () => browser.post(`${ofUser}/reset-factors`, { reason }),
      done: 'factors_reset',
      page: ofUser,
    },
    role: { send: () => browser.post(`${ofUser}/role`, { role: 'admin', reason }), done: 'role_changed', page: ofUser },
    policy: {
      send: () => browser.post(`${ofClient}/policy`, { consent: 'required', refresh_retry_window: '10' }),
      done: 'policy',
      page: ofClient,
      says: 'admin.clients.done.unchanged',
    },
    webhook: {
      send: () =>
        browser.post(`${webhook}/edit`, {
          name: 'Billing',
          url,
          'event:user.disabled': 'on',
          'event:user.created': 'on',
        }),
      done: 'edited',
      page: webhook,
      says: 'admin.webhooks.done.unchanged',
    },
    'service credential': {
      send: () => browser.post(`${ofService}/restrict`, { 'permission:entitlements:write': 'on', products: 'b\na' }),
      done: 'restricted',
      page: ofService,
      says: 'admin.services.done.unchanged',
    },
  };
  for (const [name, form] of Object.entries(forms)) {
    const location = await assertSaysUnchanged(signet, name, form);
    if (form.says) assert.match((await browser.get(location)).text, sentence(form.says), name);
  }
  const several = { action: 'sign_out', [`user:${other.user_id}`]: 'on', [`user:${app.user_id}`]: 'on', reason };
  const left = await traces(signet);
  const { text } = await browser.post('/admin/users/bulk', several);
  assert.match(text, sentence('admin.users.bulk.done', { count: 0 }));
  assert.equal(text.match(new RegExp(message('admin.users.bulk.already.sign_out'), 'g'))?.length, 2, text);
  assert.deepEqual(await traces(signet), left);
  // In another order it is the same.
  const before = await traces(signet);
  const same = { permissions: ['entitlements:write'], products: ['a', 'b'] };
  assert.equal((await browser.patch(`/v1${ofService}`, same)).status, 200);
  assert.equal((await browser.patch(`/v1${webhook}`, { event_types: ['user.created', 'user.disabled'] })).status, 200);
  const resent = await browser.post(`${webhook}/replay-all`);
  assert.equal(resent.location, `${webhook}?done=replayed_none`);
  assert.match((await browser.get(resent.location)).text, sentence('admin.webhooks.done.replayed_none'));
  assert.deepEqual(await traces(signet), before);
  assert.equal((await browser.postJson(`/v1${ofService}/retire`, {})).status, 200);
  assert.equal((await browser.patch(`/v1${ofService}`, same)).status, 409, 'one that is retired has no terms');
});

test('a command that finds nothing to change says so', async (t) => {
  const settings = await preparedSettings(t);
  const email = 'ada@example.com';
  const create = ['users', 'create', '--email', email, '--name', 'Ada', '--password-stdin'];
  await succeed(create, settings, 'four unrelated tall words');
  const uri = 'https://app.example.com/callback';
  const client = await succeed(['clients', 'create', '--name', 'App', '--redirect-uri', uri, '--approve'], settings);
  const client_id = String(client.client_id);
  const terms = ['--permission', 'entitlements:write', '--product', 'a'];
  const service = await succeed(['service-credentials', 'create', '--name', 'Billing', ...terms], settings);
  const target = ['--url', 'https://hooks.example.com/', '--event', 'user.created'];
  const webhook = await succeed(['webhooks', 'create', ...target], settings);
  for (const command of [
    ['users', 'edit', email, '--name', 'Ada King', '--username', 'ada', '--verified'],
    ['users', 'role', email, 'admin'],
    ['clients', 'policy', client_id, '--consent', 'required'],
    ['clients', 'edit', client_id, '--name', 'Another App'],
    ['service-credentials', 'restrict', String(service.client_id), ...terms, '--product', 'b'],
    ['webhooks', 'edit', String(webhook.webhook_id), '--name', 'Billing'],
  ]) {
    const first = await runCommand(command, { env: settings });
    assert.equal(first.code, 0, first.stderr);
    assert.doesNotMatch(first.stdout, /Nothing was changed/, command.join(' '));
    const second = await runCommand(command, { env: settings });
    assert.deepEqual([second.code, second.stdout], [0, 'Nothing was changed.\n'], command.join(' '));
    const json = await succeed(command, settings);
    assert.ok(!('isChanged' in json), 'the same record as ever');
  }
});
