import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { checkMail } from '../../src/app/doctor/network-checks.ts';
import { findClients } from '../../src/clients/find-clients.ts';
import { revokeGrantByAdministrator } from '../../src/oauth/grants/grants.ts';
import { mailWarning } from '../../src/platform/processes.ts';
import { eventTypes } from '../../src/webhooks/event-types.ts';
import type { Answer } from '../support/browser.ts';
import { finishDeletions } from '../support/deletions.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const administrator = (signet: Signet) => signet.signedInUser({ role: 'admin' });

const pages = [
  '',
  '/clients',
  '/users',
  '/entitlements',
  '/apis',
  '/service-credentials',
  '/webhooks',
  '/keys',
  '/audit',
  '/audit/unauthenticated',
  '/settings',
  '/settings/mails',
  '/users/refused-addresses',
  '/settings/mails/reset',
  '/search?q=web',
].map((page) => `/admin${page}`);

const pending = (signet: Signet, owner?: TestUser) =>
  signet.registerClient({ approved: false, owner, redirect_uris: ['https://shop.example/cb'] });

/** What a page tells about what was done, or what stands against it. */
const noticeOf = ({ text }: Answer) => /<div class="(?:notice|alert)"[^>]*>(.*?)<\/div>/s.exec(text)?.[1] ?? '';

/** A post that goes well leads to a page that says so. */
async function follow(user: TestUser, answer: Answer): Promise<Answer> {
  assert.equal(answer.status, 303, answer.text);
  const page = await user.browser.get(answer.location);
  assert.equal(page.status, 200, page.text);
  return page;
}

test('a stranger is taken to sign in and back, a user without the role is refused', async (t) => {
  const signet = await startSignet(t);
  const stranger = await signet.newUser();
  const ordinary = await signet.signedInUser();
  for (const page of pages) {
    const answer = await stranger.browser.get(page);
    assert.equal(answer.status, 303, page);
    assert.equal(answer.location, `/signin?${new URLSearchParams({ next: page })}`);
    assert.equal((await ordinary.browser.get(page)).status, 403, page);
  }
});

test('every page of administration is there for an administrator, and stays out of caches and frames', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  for (const page of pages) {
    const answer = await admin.browser.get(page);
    assert.equal(answer.status, 200, page);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    assert.match(answer.text, /aria-current="page"/);
    assert.doesNotMatch(answer.text, /<script(?! src="\/assets\/)|style=/);
  }
});

test('looking takes a sign-in of the last hour, changing one of the last 15 minutes, and leads back to its page', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const { client_id } = await pending(signet);
  const confirm = (next: string) => `/signin/confirm?${new URLSearchParams({ next })}`;
  signet.clock.advance(901);
  const review = `/admin/clients/${client_id}`;
  assert.equal((await admin.browser.get(review)).status, 200);
  const users = `/admin/users/${admin.user_id}`;
  const webhook = '/admin/webhooks/wh_1';
  const service = '/admin/service-credentials/svc_1';
  const changes: [path: string, page: string][] = [
    ...['approve', 'policy', 'reject', 'suspend', 'reinstate', 'delete'].map((step): [string, string] => [
      `${review}/${step}`,
      review,
    ]),
    [`${review}/logout-deliveries/retry`, `${review}/logout-deliveries`],
    ['/admin/clients/register', '/admin/clients/register'],
    ...['edit', 'withdraw'].map((step): [string, string] => [`${review}/${step}`, `${review}/edit`]),
    ...['', '/sec_1/retire'].map((step): [string, string] => [`${review}/secrets${step}`, `${review}/secrets`]),
    ...[
      'sign-out',
      'unlock',
      'enable',
      'disable',
      'reset-factors',
      'role',
      'reset-link',
      'remove-picture',
      'export',
      'delete',
      'sessions/ses_1/end',
      'grants/gr_1/end',
    ].map((step): [string, string] => [`${users}/${step}`, users]),
    [`${users}/edit`, `${users}/edit`],
    ['/admin/users/invite', '/admin/users/invite'],
    ['/admin/invitations/revoke', '/admin/users/invite'],
    ['/admin/users/export', '/admin/users/export'],
    ['/admin/users/bulk', '/admin/users/bulk'],
    ['/admin/keys/rotate', '/admin/keys'],
    ['/admin/apis', '/admin/apis'],
    ...['edit', 'scopes', 'retire-scope', 'retire'].map((step): [string, string] => [
      `/admin/apis/api_1/${step}`,
      '/admin/apis/api_1',
    ]),
    ['/admin/service-credentials', '/admin/service-credentials'],
    ...['restrict', 'rotate', 'retire'].map((step): [string, string] => [`${service}/${step}`, service]),
    ['/admin/webhooks', '/admin/webhooks'],
    [`${webhook}/edit`, `${webhook}/edit`],
    [`${webhook}/replay`, webhook],
    [`${webhook}/replay-all`, webhook],
    [`${webhook}/enable`, webhook],
    [`${webhook}/disable`, webhook],
    [`${webhook}/test`, webhook],
    [`${webhook}/rotate-secret`, webhook],
    [`${webhook}/delete`, '/admin/webhooks'],
    ['/admin/audit/verify', '/admin/audit'],
    ['/admin/master-key-backup', '/admin'],
    ['/admin/checklist/hide', '/admin'],
    ['/admin/checklist/show', '/admin'],
    ...['test-mail', 'providers/acme/check'].map((step): [string, string] => [
      `/admin/settings/${step}`,
      '/admin/settings',
    ]),
  ];
  const ordinary = await signet.signedInUser();
  const stranger = await signet.newUser();
  for (const [path, page] of changes) {
    const answer = await admin.browser.post(path);
    assert.equal(answer.status, 303, path);
    assert.equal(answer.location, confirm(`${page}?unfinished=1`), path);
    assert.equal((await ordinary.browser.post(path)).status, 403, path);
    assert.match((await stranger.browser.post(path)).location, /^\/signin\?/, path);
    const crossSite = await admin.browser.post(path, {}, { origin: 'https://evil.example' });
    assert.equal(crossSite.status, 403, path);
  }
  // After the confirmation a page says that the form was not submitted.
  const asked = await admin.browser.get(confirm(`${review}?unfinished=1`));
  assert.match(asked.text, sentence('confirm.why'));
  assert.match(asked.text, new RegExp(`id="confirm-not" href="${review}"`));
  const proof = { username: admin.email, password: admin.password, next: `${review}?unfinished=1` };
  const confirmed = await admin.browser.post('/signin/confirm', proof);
  assert.equal(confirmed.location, `${review}?unfinished=1`);
  const back = await admin.browser.get(`${review}?unfinished=1`);
  assert.match(
    back.text,
    pattern`<div class="alert" role="alert" tabindex="-1" autofocus><p>${sentence('layout.not_submitted')}`,
  );
  assert.doesNotMatch((await admin.browser.get(review)).text, sentence('layout.not_submitted'));
  signet.clock.advance(3601);
  assert.equal((await admin.browser.get(review)).location, confirm(review));
  assert.match((await admin.browser.get(confirm(review))).text, /id="confirm-not" href="\/account"/);
});

testSignet(
  'a client is approved as it was read, with the scopes and the consent that were chosen',
  async ({ signet }) => {
    const admin = await administrator(signet);
    const { client_id } = await pending(signet);
    const list = await admin.browser.get('/admin/clients');
    assert.match(list.text, new RegExp(client_id));
    assert.match(list.text, sentence('admin.risk.new_redirect_host'));
    assert.match(list.text, sentence('admin.risk.first_client'));

    const page = await admin.browser.get(`/admin/clients/${client_id}`);
    assert.match(page.text, /https:\/\/<\/bdi><strong><bdi>shop\.example<\/bdi><\/strong>/);
    const chosen = {
      revision: '1',
      'scope:openid': 'on',
      'scope:email': 'on',
      consent: 'required',
      refresh_retry_window: '5',
    };
    const approved = await follow(admin, await admin.browser.post(`/admin/clients/${client_id}/approve`, chosen));
    assert.match(noticeOf(approved), sentence('admin.clients.done.approved'));
    const client = await signet.deps.clients.find(client_id);
    assert.deepEqual(
      [client?.status, client?.allowed_scopes, client?.consent, client?.refresh_retry_window],
      ['approved', ['openid', 'email'], 'required', 5],
    );
    const again = await admin.browser.post(`/admin/clients/${client_id}/approve`, chosen);
    assert.equal(again.status, 409);
    assert.match(noticeOf(again), sentence('admin.problem.state'));
  },
);

test('an approval without a scope, or with a window that is none, is sent back and changes nothing', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const { client_id } = await pending(signet);
  const wrongs: Record<string, string>[] = [
    { revision: '1', consent: 'skip', refresh_retry_window: '0' },
    { revision: '1', consent: 'skip', 'scope:openid': 'on', refresh_retry_window: '61' },
    { revision: '1', consent: 'skip', 'scope:openid': 'on', refresh_retry_window: 'x' },
    { revision: '1', consent: 'skip', 'scope:openid': 'on', 'scope:entitlements:read': 'on' },
  ];
  for (const wrong of wrongs) {
    const answer = await admin.browser.post(`/admin/clients/${client_id}/approve`, wrong);
    assert.equal(answer.status, 400);
    assert.match(answer.text, /role="alert"/);
  }
  assert.equal((await signet.deps.clients.find(client_id))?.status, 'pending_review');
});

test('an edit that comes in between is shown, and not approved unread', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner });
  const edit = (revision: number, uri: string) =>
    owner.browser.patch(`/v1/oauth/clients/${client_id}`, { revision, redirect_uris: ['https://rp.test/cb', uri] });
  await edit(1, 'https://harmless.example/cb');
  const page = await admin.browser.get(`/admin/clients/${client_id}`);
  assert.match(page.text, /<details id="unchanged">/, 'what is as before is folded');
  assert.match(page.text, pattern`harmless\.example.*<strong>${sentence('admin.diff.added')}</strong>`);
  await edit(2, 'https://thief.example/cb');
  const stale = await admin.browser.post(`/admin/clients/${client_id}/approve`, {
    revision: '2',
    'scope:openid': 'on',
  });
  assert.equal(stale.status, 409);
  assert.match(noticeOf(stale), sentence('admin.problem.stale'));
  assert.match(stale.text, /thief\.example/);
  assert.match(stale.text, /name="revision" value="3"/);
  assert.deepEqual((await signet.deps.clients.find(client_id))?.redirect_uris, ['https://rp.test/cb']);
});

test('rejecting, suspending and reinstating say why, and nothing happens without a reason', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const { client_id } = await pending(signet, owner);
  const step = (name: string, fields: Record<string, string> = {}) =>
    admin.browser.post(`/admin/clients/${client_id}/${name}`, fields);
  const status = async () => (await signet.deps.clients.find(client_id))?.status;
  assert.equal((await step('reject')).status, 400);
  assert.equal(await status(), 'pending_review');
  for (const unread of [{}, { revision: '2' }] as Record<string, string>[]) {
    assert.equal((await step('reject', { reason: 'Name is taken', ...unread })).status, 409, 'not what was read');
    assert.equal(await status(), 'pending_review');
  }
  assert.match(
    (await admin.browser.get(`/admin/clients/${client_id}`)).text,
    /\/reject">.*?<input type="hidden" name="revision" value="1">/s,
  );
  const rejected = await step('reject', { reason: 'Name is taken', revision: '1' });
  assert.match((await follow(admin, rejected)).text, /Name is taken/);
  assert.equal(await status(), 'rejected');
  assert.equal((await step('approve', { revision: '1', 'scope:openid': 'on' })).status, 409);

  // Its owner hands in another version: the reviewer sees what was said, and what came of it.
  const handIn = (redirect_uris: string[]) => owner.browser.patch(`/v1/oauth/clients/${client_id}`, { redirect_uris });
  await handIn(['https://other.example/cb']);
  const review = (await admin.browser.get(`/admin/clients/${client_id}`)).text;
  assert.match(
    review,
    pattern`${sentence('admin.clients.rejected_before', { revision: 1 })}.*<q><bdi>Name is taken</bdi></q>.*${sentence('admin.clients.rejected_before.changed', { fields: message('clients.field.redirect_uris') })}`,
  );
  assert.match(
    review,
    pattern`>${sentence('admin.diff.rejected')}<.*>${sentence('admin.diff.now')}<.*shop\.example.*${sentence('admin.diff.removed')}.*other\.example.*${sentence('admin.diff.added')}`,
  );
  // What was too long for the log is not shown as if it had been nothing.
  await handIn(Array.from({ length: 20 }, (_, place) => `https://long.example/${'x'.repeat(200)}${place}`));
  await follow(admin, await step('reject', { reason: 'Too many', revision: '3' }));
  await handIn(['https://other.example/cb']);
  const short = (await admin.browser.get(`/admin/clients/${client_id}`)).text;
  assert.match(short, pattern`${sentence('admin.diff.not_kept')}.*other\.example`);
  assert.doesNotMatch(short, pattern`<strong>${sentence('admin.diff.added')}</strong>`);

  const serving = await signet.registerClient({ owner });
  const path = `/admin/clients/${serving.client_id}`;
  assert.equal((await admin.browser.post(`${path}/suspend`)).status, 400);
  await follow(admin, await admin.browser.post(`${path}/suspend`, { reason: 'Phishing' }));
  assert.equal((await signet.deps.clients.find(serving.client_id))?.status, 'suspended');
  // The review of the other client of its owner says so, and links to it.
  assert.match((await admin.browser.get('/admin/clients')).text, sentence('admin.risk.owner_has_suspended_client'));
  assert.match(
    (await admin.browser.get(`/admin/clients/${client_id}`)).text,
    pattern`${sentence('risk.owner_has_suspended_client')}<a href="/admin/clients\?q=`,
  );
  const back = await follow(admin, await admin.browser.post(`${path}/reinstate`));
  assert.match(noticeOf(back), sentence('admin.clients.done.reinstated'));
});

test('a name with a comma is one name in a risk, with one way to its client', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  await signet.registerClient({ name: 'Acme, Inc' });
  const { client_id } = await signet.registerClient({ name: 'Acme Inc', approved: false });
  const { text } = await admin.browser.get(`/admin/clients/${client_id}`);
  const links = [...text.matchAll(/href="(\/admin\/clients\?[^"]*)"><bdi>([^<]*)/g)].map(([, ...found]) => found);
  assert.deepEqual(links, [['/admin/clients?q=Acme%2C+Inc', 'Acme, Inc']]);
  const { json } = await admin.browser.get(`/v1/admin/clients/${client_id}`);
  const risks = (json?.risks ?? []) as { code: string; detail: string[] }[];
  assert.deepEqual(risks.find(({ code }) => code === 'name_resembles_client')?.detail, ['Acme, Inc']);
});

test('administrators do not approve their own clients', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const { client_id } = await pending(signet, admin);
  const answer = await admin.browser.post(`/admin/clients/${client_id}/approve`, {
    revision: '1',
    'scope:openid': 'on',
  });
  assert.equal(answer.status, 403);
  assert.match(noticeOf(answer), sentence('clients.own_approval'));
});

test('a first-party client is registered and edited by administrators; another one approves it', async (t) => {
  const signet = await startSignet(t);
  const [admin, other] = [await administrator(signet), await administrator(signet)];
  const list = '/admin/clients';
  assert.match((await admin.browser.get(list)).text, /href="\/admin\/clients\/register"/);
  assert.match((await admin.browser.get(`${list}/register`)).text, /kind=web&amp;library=authjs/);
  assert.match(
    (await admin.browser.get(`${list}/register?kind=web&library=authjs`)).text,
    sentence('admin.clients.register.intro'),
  );

  const form = {
    name: 'Intranet',
    client_type: 'confidential',
    redirect_uris: 'https://intranet.example/cb',
    id_token_signed_response_alg: 'EdDSA',
    'scope openid': 'on',
  };
  const wrong = await admin.browser.post(`${list}/register`, { ...form, redirect_uris: 'http://intranet.example/cb' });
  assert.deepEqual([wrong.status, /value="Intranet"/.test(wrong.text)], [400, true], 'what was typed is kept');
  const registered = await admin.browser.post(`${list}/register`, form);
  assert.match(registered.text, /<code id="client-secret">cs_/);
  const client_id = /href="\/admin\/clients\/(cl_[\w-]+)"/.exec(registered.text)?.[1] ?? '';
  const one = `${list}/${client_id}`;
  const client = () => signet.deps.clients.find(client_id);
  assert.deepEqual([(await client())?.owner_user_id, (await client())?.status], [null, 'pending_review']);
  const [event] = await signet.auditLog({ target: client_id, action: 'client.registered' });
  assert.equal(event?.actor, `user:${admin.user_id}`);

  assert.equal((await admin.browser.post(`${one}/approve`, { revision: '1', 'scope:openid': 'on' })).status, 403);
  const approved = { revision: '1', 'scope:openid': 'on', consent: 'skip' };
  await follow(other, await other.browser.post(`${one}/approve`, approved));

  const edited = await admin.browser.post(`${one}/edit`, { ...form, revision: '1', name: 'Extranet' });
  assert.match(noticeOf(await follow(admin, edited)), sentence('admin.clients.done.staged'));
  assert.deepEqual([(await client())?.name, (await client())?.pending_change], ['Intranet', { name: 'Extranet' }]);
  assert.equal((await admin.browser.post(`${one}/edit`, { ...form, revision: '1' })).status, 409);
  await follow(admin, await admin.browser.post(`${one}/withdraw`));
  assert.equal((await client())?.pending_change, null);

  const added = await admin.browser.post(`${one}/secrets`, { ends: 'now' });
  assert.match(added.text, /<code id="client-secret">cs_/);
  const active = (await client())?.secrets.filter(({ expires_at }) => expires_at === null);
  assert.equal(active?.length, 1);

  const owned = await signet.registerClient({ owner: await signet.signedInUser() });
  assert.doesNotMatch((await admin.browser.get(`${list}/${owned.client_id}`)).text, /id="client-edit"/);
  for (const page of ['edit', 'secrets']) {
    assert.equal((await admin.browser.get(`${list}/${owned.client_id}/${page}`)).status, 403, page);
    assert.equal((await admin.browser.post(`${list}/${owned.client_id}/${page}`, form)).status, 403, page);
  }
});

test('a client is deleted when its name was typed, after a look at whom it concerns', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const client = await signet.registerClient({ name: 'Field Notes', homepage_url: 'https://field-notes.test/' });
  const path = `/admin/clients/${client.client_id}`;
  const page = async () => (await admin.browser.get(path)).text;
  assert.match(await page(), sentence('admin.clients.usage', { users: 0 }));
  for (const user of [await signet.signedInUser(), await signet.signedInUser()]) await user.obtainTokens(client);
  assert.match(await page(), sentence('admin.clients.usage', { users: 2 }));
  assert.match(await page(), /<a href="https:\/\/field-notes\.test\/" target="_blank" rel="noopener noreferrer">/);
  const { json } = await admin.browser.get(`/v1${path}`);
  assert.deepEqual(
    [json?.usage].map((usage) => (usage as { users: number }).users),
    [2],
  );

  for (const confirmation of ['', 'yes', 'Field Note']) {
    assert.equal((await admin.browser.post(`${path}/delete`, { confirmation })).status, 400);
  }
  assert.equal((await admin.browser.get(path)).status, 200);
  await follow(admin, await admin.browser.post(`${path}/delete`, { confirmation: ' Field Notes ' }));
  assert.equal((await admin.browser.get(path)).status, 404);
});

test('a rejection takes a ready-made reason, written words, or both, and leads to the next review', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const [first, second] = [await pending(signet, owner), await pending(signet, owner)];
  const reject = (client_id: string, form: Record<string, string>) =>
    admin.browser.post(`/admin/clients/${client_id}/reject`, { revision: '1', ...form });
  const ready = message('admin.clients.reject.ready.name');
  const refused: Record<string, string>[] = [{}, { ready: '', reason: ' ' }, { ready: 'unknown' }];
  for (const form of refused) {
    assert.equal((await reject(first.client_id, form)).status, 400, JSON.stringify(form));
  }
  const text = (await follow(admin, await reject(first.client_id, { ready: 'name', reason: 'See Acme.' }))).text;
  assert.equal((await signet.deps.clients.find(first.client_id))?.status_reason, `${ready} See Acme.`);
  assert.ok(text.includes(`id="client-next" href="/admin/clients/${second.client_id}"`));
  const last = (await follow(admin, await reject(second.client_id, { ready: 'name' }))).text;
  assert.equal((await signet.deps.clients.find(second.client_id))?.status_reason, ready);
  assert.doesNotMatch(last, /client-next/);
});

testSignet('a user is found, seen, disabled with a reason, and enabled again', async ({ signet }) => {
  const admin = await administrator(signet);
  const user = await signet.signedInUser();
  const found = await admin.browser.get(`/admin/users?${new URLSearchParams({ q: user.email })}`);
  assert.match(found.text, new RegExp(user.user_id));
  assert.ok(!found.text.includes(`href="/admin/users/${admin.user_id}"`));
  const path = `/admin/users/${user.user_id}`;
  const page = await admin.browser.get(path);
  assert.match(page.text.replaceAll('<wbr>', ''), new RegExp(user.email));
  assert.equal((await admin.browser.post(`${path}/disable`)).status, 400);
  assert.equal((await user.browser.get('/v1/me')).status, 200);
  await follow(admin, await admin.browser.post(`${path}/disable`, { reason: 'Asked for it' }));
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.equal((await admin.browser.post(`${path}/disable`, { reason: 'Twice' })).status, 409);
  await follow(admin, await admin.browser.post(`${path}/enable`));
  assert.equal((await user.signIn()).status, 303);
});

test('a session and a grant are ended one by one, or all at once', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const user = await signet.signedInUser();
  const path = `/admin/users/${user.user_id}`;
  const given = { reason: 'A laptop was lost.' };
  const [, end = ''] =
    /action="(\/admin\/users\/[^"]+\/sessions\/[^"]+\/end)"/.exec((await admin.browser.get(path)).text) ?? [];
  for (const without of [end, `${path}/sign-out`, `${path}/grants/gr_unknown/end`]) {
    const refused = await admin.browser.post(without);
    assert.equal(refused.status, 400, without);
    assert.match(noticeOf(refused), sentence('problem.reason'));
  }
  assert.equal((await user.browser.get('/v1/me')).status, 200, 'nothing was ended');
  assert.match(
    noticeOf(await follow(admin, await admin.browser.post(end, given))),
    sentence('admin.users.done.session_ended'),
  );
  assert.equal((await signet.auditLog({ action: 'session.ended' }))[0]?.reason, given.reason);
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.equal((await admin.browser.post(end, given)).status, 404);
  await user.signIn();
  await follow(admin, await admin.browser.post(`${path}/sign-out`, given));
  assert.equal((await signet.auditLog({ action: 'user.signed_out' }))[0]?.reason, given.reason);
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  await assert.rejects(revokeGrantByAdministrator(signet.deps, { actor: 'cli' }, 'gr_unknown'));
  assert.equal((await admin.browser.post(`${path}/grants/gr_unknown/end`, given)).status, 404);
});

test('an administrator is made and unmade by another one, never by themselves', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const user = await signet.signedInUser();
  const path = `/admin/users/${user.user_id}`;
  const reason = 'New colleague.';
  assert.equal((await admin.browser.post(`${path}/role`, { role: 'admin' })).status, 400, 'without a reason');
  await follow(admin, await admin.browser.post(`${path}/role`, { role: 'admin', reason }));
  assert.equal((await signet.auditLog({ action: 'user.role_changed' }))[0]?.reason, reason);
  assert.equal((await user.browser.get('/admin')).status, 200);
  await follow(admin, await admin.browser.post(`${path}/role`, { role: 'user', reason }));
  assert.equal((await user.browser.get('/admin')).status, 403);
  assert.equal((await admin.browser.post(`${path}/role`, { role: 'god', reason })).status, 400);
  const own = `/admin/users/${admin.user_id}`;
  assert.equal((await admin.browser.post(`${own}/role`, { role: 'user', reason })).status, 403);
  assert.equal((await admin.browser.post(`${own}/reset-factors`, { reason: 'Mine' })).status, 403);
  const last = await admin.browser.post(`${own}/disable`, { reason: 'Mine' });
  assert.equal(last.status, 409);
  assert.match(noticeOf(last), sentence('users.last_administrator'));
});

test('an entitlement is once on the page of its user, which leads to its history', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const user = await signet.newUser();
  const service = await signet.newService();
  await postEntitlement(signet, service.authorization, writeOf(user.user_id, { version: 1, plan: 'free' }));
  await postEntitlement(signet, service.authorization, writeOf(user.user_id, { version: 2, plan: 'team' }));
  const page = await admin.browser.get(`/admin/users/${user.user_id}`);
  assert.equal(page.text.match(/<bdi>Team<\/bdi>/g)?.length, 1);
  const [, path = ''] = /<a href="([^"]+)" id="user-writes">/.exec(page.text) ?? [];
  const { text } = await admin.browser.get(path);
  assert.match(
    text,
    pattern`<strong><bdi>Team</bdi></strong>.*${sentence('admin.users.entitlements.current')}.*<strong><bdi>Free</bdi></strong>`,
  );
});

test('a service credential shows its secret once, is narrowed, rotated and retired', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const list = '/admin/service-credentials';
  const wrong = await admin.browser.post(list, { name: 'Billing', 'permission:entitlements:write': 'on' });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /value="Billing"/);
  const made = await admin.browser.post(list, {
    name: 'Billing',
    'permission:entitlements:write': 'on',
    products: 'editor\r\nviewer',
  });
  assert.equal(made.status, 200);
  assert.equal(made.headers.get('cache-control'), 'no-store');
  const secretOf = ({ text }: Answer) => /ss_[\w-]{43}/.exec(text)?.[0] ?? '';
  const credential_id = /svc_[\w-]{22}/.exec(made.text)?.[0] ?? '';
  assert.ok(secretOf(made));
  assert.match(made.text, new RegExp(`<code id="once-1">${secretOf(made)}</code> <button [^>]*data-copy="once-1"`));
  assert.match(made.text, /<script src="[^"]*developer[^"]*\.js" defer>/);
  const path = `${list}/${credential_id}`;
  assert.equal(secretOf(await admin.browser.get(path)), '');

  await follow(admin, await admin.browser.post(`${path}/restrict`, { 'permission:tokens:introspect': 'on' }));
  assert.match((await admin.browser.get(path)).text, /tokens:introspect<\/dd>/);
  assert.equal((await admin.browser.post(`${path}/rotate`, { overlap_seconds: '86401' })).status, 400);
  const rotated = await admin.browser.post(`${path}/rotate`, { overlap_seconds: '0' });
  assert.match(
    rotated.text,
    sentence('admin.services.secret.before', {
      until: '<time datetime="2027-01-15T08:00:00.000Z" title="2027-01-15 08:00:00 UTC">now</time>',
    }),
  );
  assert.notEqual(secretOf(rotated), secretOf(made));
  const secrets = 'select count(*) as alive from service_secrets where expires_at is null or expires_at > $1';
  const left = await plain(signet.deps.db).get<{ alive: number }>(secrets, [signet.clock() / 1000]);
  assert.equal(left?.alive, 1);
  await follow(admin, await admin.browser.post(`${path}/retire`));
  assert.equal((await admin.browser.post(`${path}/rotate`)).status, 409);
});

test('a webhook shows its secret once and its deliveries, and sends a failed one again', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1' } });
  const admin = await administrator(signet);
  const receiver = await openReceiver(t);
  Object.assign(receiver, { status: 500, body: '<script>no</script>' });
  const refused = await admin.browser.post('/admin/webhooks', { url: 'ftp://x' }, { 'accept-language': 'de' });
  assert.equal(refused.status, 400);
  assert.match(noticeOf(refused), sentence('developer.form.problem', {}, 'de'));
  const [aboutUrl, aboutEvents] = (['problem.webhook.url.https', 'problem.webhook.events'] as const).map((key) =>
    sentence(key, {}, 'de'),
  );
  assert.match(refused.text, pattern`id="url-problem"><ul><li>${aboutUrl!}`);
  assert.match(refused.text, pattern`id="event_types-problem"><ul><li>${aboutEvents!}`);
  assert.match(refused.text, /id="url"[^>]*aria-describedby="url-hint url-problem" aria-invalid="true" autofocus/);
  for (const name of eventTypes) assert.ok(refused.text.includes(`name="event:${name}"`), name);
  const wanted = { name: 'Bill & Co', url: receiver.url, 'event:user.created': 'on' };
  const made = await admin.browser.post('/admin/webhooks', wanted);
  assert.match(made.text, /whsec_[\w+/=]{44}/);
  const webhook_id = /wh_[\w-]{22}/.exec(made.text)?.[0];
  const path = `/admin/webhooks/${webhook_id}`;
  assert.doesNotMatch((await admin.browser.get(path)).text, /whsec_/);
  await signet.newUser();
  for (let days = 0; days < 12; days++) {
    await signet.runJobs();
    signet.clock.advance(86_400);
  }
  await admin.signIn();
  // One that is in another part of the store was not tried again after the webhook had been disabled.
  const isDead = 'select count(*) as dead from webhook_deliveries where dead_at is not null';
  const { dead } = (await plain(signet.deps.db).get<{ dead: number }>(isDead))!;
  assert.ok(signet.deps.db.parts.length === 1 ? dead === 2 : dead > 0);
  assert.match((await admin.browser.get('/admin')).text, sentence('admin.overview.webhooks.dead', { dead }));
  const page = await admin.browser.get(`${path}/deliveries?state=dead`);
  assert.match(page.text, sentence('deliveries.state.dead'));
  const [, delivery_id = ''] = /href="[^"]+\/deliveries\/(msg_[^"]+)"/.exec(page.text) ?? [];
  receiver.status = 204;
  const overview = await admin.browser.get(path);
  assert.match(overview.text, sentence('admin.webhooks.off'));
  assert.match(overview.text, /<h1><bdi>Bill &amp; Co<\/bdi>/);
  assert.doesNotMatch(overview.text, /\/replay|id="webhook-test"/, 'nothing is offered that would be refused');
  const delivery = await admin.browser.get(`${path}/deliveries/${delivery_id}`);
  assert.match(delivery.text, /&quot;type&quot;: &quot;user.created&quot;/, 'what was sent');
  assert.match(delivery.text, /<dd>500<\/dd>/);
  assert.match(delivery.text, /<pre[^>]*>&lt;script&gt;no&lt;\/script&gt;<\/pre>/, 'and what was answered');
  await follow(admin, await admin.browser.post(`${path}/enable`));
  assert.match((await admin.browser.get(`${path}/deliveries?state=dead`)).text, new RegExp(delivery_id));
  assert.doesNotMatch((await admin.browser.get(`${path}/deliveries?state=delivered`)).text, new RegExp(delivery_id));
  assert.equal((await admin.browser.get(`${path}/deliveries?state=odd`)).status, 400);
  await follow(admin, await admin.browser.post(`${path}/replay-all`));
  assert.doesNotMatch((await admin.browser.get(path)).text, /id="webhook-replay-all"/);
  // More than are counted.
  await plain(signet.deps.db).run(
    `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1005)
     insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, dead_at)
     select 'msg_' || n, $1, 'evt_' || n, 'user.created', '{}', 1, 1, 1 from numbers`,
    [webhook_id!],
  );
  const most = { dead: 1000, count: 1000, max: 10_000 };
  assert.match((await admin.browser.get('/admin')).text, sentence('admin.overview.webhooks.dead_more', most));
  assert.match((await admin.browser.get('/admin/webhooks')).text, sentence('admin.webhooks.dead.count_more', most));
  assert.match((await admin.browser.get(path)).text, sentence('admin.webhooks.replay_all.what_more', most));
  await plain(signet.deps.db).run("delete from webhook_deliveries where payload = '{}'");
  await plain(signet.deps.db).run('update webhook_deliveries set dead_at = 1, next_attempt_at = null');
  await follow(admin, await admin.browser.post(`${path}/replay`, { delivery_id }));
  await signet.runJobs();
  assert.match((await admin.browser.get(path)).text, sentence('deliveries.state.delivered'));
  assert.match((await admin.browser.get(`${path}/deliveries/${delivery_id}`)).text, sentence('deliveries.resend.what'));
  await follow(admin, await admin.browser.post(`${path}/replay`, { delivery_id }));
  assert.equal((await admin.browser.post(`${path}/replay`, { delivery_id })).status, 409, 'it waits already');
  await follow(admin, await admin.browser.post(`${path}/disable`));
  assert.doesNotMatch((await admin.browser.get(`${path}/deliveries/${delivery_id}`)).text, /\/replay/);
  await follow(admin, await admin.browser.post(`${path}/delete`));
  assert.equal((await admin.browser.get(path)).status, 404);
});

test('a webhook takes whole groups of events, and its name, URL and events are edited', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const url = 'https://hooks.example.com/a';
  const eventsNow = async () => {
    const { webhooks = [] } = (await admin.browser.get('/v1/admin/webhooks')).json ?? {};
    return (webhooks as { name: string | null; url: string; event_types: string[]; webhook_id: string }[])[0]!;
  };
  const sessions = eventTypes.filter((name) => /^(session|security_alert)\./.test(name));
  const made = await admin.browser.post('/admin/webhooks', {
    name: '',
    url,
    'group:sessions': 'on',
    'event:key.rotated': 'on',
  });
  assert.equal(made.status, 200);
  const { webhook_id, ...before } = await eventsNow();
  assert.deepEqual([before.name, before.event_types], [null, [...sessions, 'key.rotated']]);
  const edit = `/admin/webhooks/${webhook_id}/edit`;
  const { text } = await admin.browser.get(edit);
  assert.match(text, /name="group:sessions" value="on" checked/);
  assert.doesNotMatch(text, /name="event:session.started" value="on" checked/, 'its group stands for it');
  const refused = await admin.browser.post(edit, { url: 'https://10.0.0.1/', name: 'x', 'group:clients': 'on' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, pattern`id="url-problem"><ul><li>${sentence('problem.webhook.url.internal')}`);
  assert.match(refused.text, /name="group:clients" value="on" checked/, 'what was chosen is kept');
  await follow(admin, await admin.browser.post(edit, { url: `${url}b`, name: 'Billing', 'group:all': 'on' }));
  const after = await eventsNow();
  assert.deepEqual([after.name, after.url, after.event_types], ['Billing', `${url}b`, eventTypes]);
  const [event] = await signet.auditLog({ action: 'webhook.edited' });
  assert.ok(event && !JSON.stringify(event).includes('/a'), 'the path, often a password, is not in the log');
  assert.equal((await admin.browser.post('/admin/webhooks/wh_none/edit', { url, 'group:all': 'on' })).status, 404);
});

test('sign-out notifications of a client are listed by state, and a refused one is sent again', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1' } });
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const receiver = await openReceiver(t);
  receiver.status = 400;
  const client = await signet.registerClient({ owner, backchannel_logout_uri: receiver.url });
  const { client_id } = client;
  const user = await signet.signedInUser();
  const sides = [
    { reader: admin, list: `/admin/clients/${client_id}/logout-deliveries`, retry: 'retry' },
    { reader: owner, list: `/developer/clients/${client_id}/activity`, retry: '../logout-deliveries/retry' },
  ];
  assert.match((await admin.browser.get(`/admin/clients/${client_id}`)).text, new RegExp(`href="${sides[0]!.list}"`));
  for (const { reader, list } of sides)
    assert.match(
      (await reader.browser.get(list)).text,
      reader === admin ? sentence('admin.clients.logouts.none') : sentence('developer.logout.none'),
    );
  await user.obtainTokens(client);
  await user.browser.post('/signout');
  await signet.runJobs();
  for (const { reader, list, retry } of sides) {
    const page = await reader.browser.get(list);
    assert.match(page.text, sentence('deliveries.state.dead'));
    assert.match(page.text, /The receiver responded with 400\./);
    assert.ok(page.text.includes(user.user_id));
    const [, delivery_id = ''] = /name="delivery_id" value="([^"]+)"/.exec(page.text) ?? [];
    assert.ok((await reader.browser.get(`${list}?state=dead`)).text.includes(delivery_id));
    const none = await reader.browser.get(`${list}?state=delivered`);
    assert.ok(!none.text.includes(delivery_id));
    assert.match(none.text, sentence('deliveries.none_such'));
    assert.equal((await reader.browser.get(`${list}?state=odd`)).status, 400);
    const path = new URL(`${list}/${retry}`, signet.url).pathname;
    assert.match(
      noticeOf(await follow(reader, await reader.browser.post(path, { delivery_id }))),
      sentence('logouts.resent'),
    );
    const again = await reader.browser.post(path, { delivery_id });
    assert.equal(again.status, 409);
    assert.match(noticeOf(again), sentence('admin.problem.state'));
    await signet.runJobs();
  }
});

test('keys are rotated by hand, and not before their successors are known', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  assert.match(
    noticeOf(await follow(admin, await admin.browser.post('/admin/keys/rotate'))),
    sentence('admin.keys.done.waiting'),
  );
  signet.clock.advance(900);
  await admin.signIn();
  assert.match(
    noticeOf(await follow(admin, await admin.browser.post('/admin/keys/rotate'))),
    sentence('admin.keys.done.rotated'),
  );
  assert.match((await admin.browser.get('/admin/keys')).text, sentence('admin.keys.status.retiring'));
  signet.clock.advance(65 * 60);
  await signet.runJobs();
  await admin.signIn();
  const { text } = await admin.browser.get('/admin/keys');
  assert.doesNotMatch(text, sentence('admin.keys.status.retiring'));
  assert.match(text, pattern`${sentence('admin.keys.status.retired')}.*${sentence('admin.keys.retired')}`);
  const { json } = await admin.browser.get('/v1/admin/keys');
  const keys = json?.keys as { status: string }[];
  assert.equal(keys.filter(({ status }) => status === 'retired').length, 2);
});

testSignet('the audit log is filtered, paged, exported and verified', async ({ signet }) => {
  const admin = await administrator(signet);
  for (let more = 0; more < 18; more++) await admin.signIn();
  const first = await admin.browser.get('/admin/audit?action=session');
  assert.ok(Buffer.byteLength(first.text) < 45_000, 'a full page is light enough to have larger events in it');
  const rows = ({ text }: Answer) => /<ol class="log".*<\/ol>/s.exec(text)?.[0] ?? '';
  assert.match(rows(first), pattern`<a href="/admin/users/usr_[^"]+"><bdi>Person \d+</bdi></a> signed in</span>`);
  assert.doesNotMatch(rows(first), /user\.created/);
  const [, older = ''] = /id="audit-older" href="([^"]+)"/.exec(first.text) ?? [];
  const second = await admin.browser.get(older.replaceAll('&amp;', '&'));
  assert.equal(second.status, 200);
  assert.doesNotMatch(second.text, /id="audit-older"/);
  const noDay = await admin.browser.get('/admin/audit?since=2027-99-99');
  assert.equal(noDay.status, 400);
  assert.match(noDay.text, sentence('admin.audit.filter_problem'));
  assert.doesNotMatch(noDay.text, sentence('admin.audit.none'));
  for (const [typed, said] of [
    [
      'action=client.aproved',
      pattern`${sentence('admin.audit.none')}.*${sentence('admin.audit.filter_warning.action')}`,
    ],
    ['actor=ada', pattern`${sentence('admin.audit.none')}.*${sentence('admin.audit.filter_warning.actor')}`],
    ['who=req_1', pattern`${sentence('admin.audit.none')}.*${sentence('admin.audit.filter_warning.request')}`],
    [
      'target=usr_unknown',
      pattern`${sentence('admin.audit.none')}</p><p><a href="/admin/audit">${sentence('admin.audit.all')}</a></p></div>`,
    ],
  ] as const) {
    assert.match((await admin.browser.get(`/admin/audit?${typed}`)).text, said);
  }
  assert.equal((await admin.browser.get('/admin/audit?before=x')).status, 400);
  assert.equal((await admin.browser.get('/admin/audit?period=toString')).status, 200);
  for (const typed of ['action=user&since=2027-01-15&until=2027-01-15', 'action=group:people', 'period=24h&who=cli']) {
    assert.match(rows(await admin.browser.get(`/admin/audit?${typed}`)), /user\.created/, typed);
  }

  // The first word is taken as it is typed: no pattern, and no other case.
  for (const pattern of ['%25', 's%25', 'sessio_', 'SESSION']) {
    const { json } = await admin.browser.get(`/v1/admin/audit?action=${pattern}`);
    assert.deepEqual(json?.events, [], pattern);
  }
  const jsonl = await admin.browser.get('/admin/audit/export?format=jsonl&action=user');
  assert.match(
    jsonl.headers.get('content-disposition') ?? '',
    /attachment; filename="audit-log_user_\d{4}-\d\d-\d\dT\d\d-\d\dZ\.jsonl"/,
  );
  assert.equal(JSON.parse(jsonl.text.split('\n')[0] ?? '').action, 'user.created');
  assert.match((await admin.browser.get('/admin/audit/export?format=csv')).text, /^seq,at,action/);
  assert.equal((await admin.browser.get('/admin/audit/export?format=xml')).status, 400);

  const verified = await admin.browser.post('/admin/audit/verify');
  const chains = (await signet.deps.auditLog.verify()).map((chain) => chain.verified).filter((events) => events > 0);
  assert.equal(
    chains.reduce((sum, events) => sum + events, 0),
    20,
  );
  for (const events of chains)
    assert.match(verified.text, sentence('admin.audit.intact', { verified: events, unsealed: 0 }));
  const heads = verified.text.split('<ol class="log"')[0]?.match(/<code>(?:\w+:)?\d+:[\w-]{43}<\/code>/g);
  assert.equal(heads?.length, chains.length, 'as `audit verify --expect` takes it');
  await plain(signet.deps.db).run("update audit_log set reason = 'altered' where seq = 1");
  const broken = await admin.browser.post('/admin/audit/verify');
  assert.match(noticeOf(broken), sentence('admin.audit.broken.altered', { seq: 1 }));
});

testSignet('the log is filtered by whom it is about, who may be named', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia Hartmann' });
  const mia = await signet.signedInUser({ name: 'Mia Rossi', email: 'mia@rossi.example' });
  const other = await signet.signedInUser({ name: 'Mia Chen' });
  const { client_id } = await signet.registerClient({ owner: mia, name: 'Quarry' });
  await admin.browser.postJson(`/v1/admin/users/${mia.user_id}/disable`, { reason: 'Reported.' });
  await admin.browser.send(`/v1/admin/clients/${client_id}`, { method: 'DELETE' });
  const of = async (query: Record<string, string>) => {
    const { status, text } = await admin.browser.get(`/admin/audit?${new URLSearchParams(query)}`);
    assert.equal(status, 200);
    const said = [...text.matchAll(/<span class="log-what">(.*?)<\/span>/gs)].map(([, one = '']) =>
      one.replaceAll(/<[^>]+>/g, ''),
    );
    return { text, said };
  };
  const aboutMia = [
    'Olivia Hartmann disabled the account of Mia Rossi',
    'Mia Rossi registered Quarry (deleted client)',
    'Mia Rossi signed in',
    'The operator created the account of Mia Rossi',
  ];
  for (const who of [mia.user_id, mia.email, 'rossi mia', 'MIA@rossi.example']) {
    const { text, said } = await of({ who });
    assert.deepEqual(said, aboutMia, who);
    assert.match(text, pattern`id="who"[^>]*value="mia@rossi\.example"`);
    const [, csv = ''] = /href="([^"]+)" id="audit-csv"/.exec(text) ?? [];
    const exported = await admin.browser.get(csv.replaceAll('&amp;', '&'));
    assert.equal(exported.text.trimEnd().split('\r\n').length, 1 + aboutMia.length);
    assert.match(exported.headers.get('content-disposition') ?? '', new RegExp(`"audit-log_${mia.user_id}_.+\\.csv"`));
  }
  const filtered = await of({ who: mia.user_id, action: 'group:clients', period: '7d' });
  assert.deepEqual(filtered.said, [aboutMia[1]]);
  for (const [name, left] of [
    ['who', 'action=group%3Aclients&amp;period=7d'],
    ['action', `who=${mia.user_id}&amp;period=7d`],
  ] as const) {
    assert.ok(filtered.text.includes(`href="/admin/audit?${left}" id="without-${name}"`), name);
  }
  assert.deepEqual((await of({ who: client_id })).said, [
    'Olivia Hartmann deleted Quarry (deleted client)',
    'The operator approved Quarry (deleted client)',
    'Mia Rossi registered Quarry (deleted client)',
  ]);
  const several = await of({ who: 'mia', action: 'user.disabled' });
  assert.match(several.text, sentence('admin.audit.who.several'));
  for (const { user_id } of [mia, other])
    assert.ok(several.text.includes(`/admin/audit?action=user.disabled&amp;who=${user_id}`));
  assert.deepEqual(several.said, []);
  assert.match((await of({ who: 'nobody' })).text, sentence('admin.audit.who.none'));
  assert.ok((await of({ who: 'cli', action: 'user.created' })).said.length >= 3);
});

test('the first administrator is received with what is to do, which ticks itself', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { url } = await inviteAdministrator(signet.deps, 'cli');
  const fields = { email: 'olivia@example.com', name: 'Olivia', password: 'ordinary words in a row' };
  const arrived = await signet.newBrowser().post(new URL(url).pathname, fields);
  assert.deepEqual([arrived.status, arrived.location], [303, '/admin']);

  const admin = await signet.signedInUser({ role: 'admin' });
  const overview = async () => (await admin.browser.get('/admin')).text;
  const done = (number: number) => sentence('admin.checklist.done', { done: number, all: 6 });
  assert.match(await overview(), done(3), 'the address, SMTP and another administrator');
  await signet.registerClient();
  assert.match(await overview(), done(4));
  for (const _ of [1, 2]) await follow(admin, await admin.browser.post('/admin/master-key-backup'));
  assert.equal((await signet.auditLog({ action: 'master_key.backup_confirmed' })).length, 1);
  const last = await overview();
  assert.match(last, done(5));
  assert.match(last, sentence('admin.checklist.second_factor.what'));
  await admin.enableTotp();
  const complete = await overview();
  assert.doesNotMatch(complete, /id="checklist"/);
  assert.match(complete, sentence('admin.overview.mail.smtp'));
});

testSignet(
  'an administrator hides the checklist for good, until a step that was done is open again',
  async ({ signet }) => {
    const [admin, other] = [await administrator(signet), await administrator(signet)];
    const overview = async (who = admin) => (await who.browser.get('/admin')).text;
    const act = async (name: 'hide' | 'show') => follow(admin, await admin.browser.post(`/admin/checklist/${name}`));
    const left = (open: number) => sentence('admin.checklist.show', { open });
    const listed = /id="checklist"/;
    assert.doesNotMatch(await overview(), /id="checklist-show"/, 'only what is hidden is brought back');
    await act('hide');
    await act('hide'); // twice, as an impatient hand does
    assert.doesNotMatch(await overview(), listed);
    assert.match(await overview(), left(4));
    assert.match(await overview(other), listed, 'it is hidden from one, not from all');
    await admin.signIn();
    await admin.enableTotp();
    assert.doesNotMatch(await overview(), listed, 'for good, whatever is done meanwhile');
    assert.match(await overview(), left(3));

    await act('show');
    assert.match(await overview(), listed);
    await act('hide');
    await plain(signet.deps.db).run(`update users set role = 'user' where user_id = '${other.user_id}'`);
    assert.match(await overview(), listed, 'there is no second administrator any more');
    await plain(signet.deps.db).run(`update users set role = 'admin' where user_id = '${other.user_id}'`);
    assert.doesNotMatch(await overview(), listed);
    const answer = await admin.browser.post('/account/delete', { email: admin.email });
    assert.equal(answer.status, 303, answer.text);
    await finishDeletions(signet.deps);
    assert.deepEqual(await plain(signet.deps.db).all('select steps from hidden_setup_steps'), []);
  },
);

test('what nobody receives is no mail that goes well, wherever its health is said', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const health = (text: string) =>
    pattern`<h3>${sentence('admin.overview.mail')} <span[^>]*>${sentence('admin.needs_attention')}`.test(text);
  const { text } = await admin.browser.get('/admin');
  assert.ok(health(text));
  for (const page of [text, (await admin.browser.get('/admin/settings')).text])
    assert.match(page, sentence('admin.overview.mail.log'));
  const { state, found, remedy } = await checkMail({ ...signet.deps, timeoutMs: 1000, isDeep: false });
  assert.deepEqual([state, remedy], ['warning', 'Set it to your mail server, and restart the server.']);
  assert.match(found, /printed to the log.*nobody receives it/);
  await signet.deps.processes.record();
  assert.match((await mailWarning(signet.deps)) ?? '', /prints emails to its log.*Set it/);
});

test('the overview has the clients that wait, the latest events and what was counted', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  const owner = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner, approved: false, name: 'Signet Support' });
  await signet.runJobs();
  const { text } = await admin.browser.get('/admin');
  assert.match(text, pattern`<a href="/admin/clients/${new RegExp(client_id)}"><bdi>Signet Support</bdi></a>`);
  assert.match(text, sentence('admin.risk.name_resembles_service'));
  assert.match(text, sentence('admin.overview.clients', { pending: 1, changes: 0 }));
  assert.equal(text.match(/<span class="log-what">/g)?.length, 5);
  assert.match(text, pattern`<dt>${sentence('admin.overview.users')}</dt><dd>2</dd>`);
  assert.match(
    text,
    pattern`<strong>2</strong> ${sentence('admin.overview.sign_ins')}</figcaption>\s*<p class="change">[^<]+</p>\s*<svg`,
  );
});

test('the pages speak German', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const { client_id } = await pending(signet);
  for (const page of [...pages, `/admin/clients/${client_id}`, `/admin/users/${admin.user_id}`]) {
    const { text, status } = await admin.browser.get(page, { 'accept-language': 'de' });
    assert.equal(status, 200);
    assert.match(text, /<html lang="de">/);
    assert.match(text, pattern`aria-label="${sentence('admin.navigation', {}, 'de')}"`);
  }
  const german = { 'accept-language': 'de' };
  const missing = await admin.browser.get('/admin/clients/cl_unknown', german);
  assert.match(
    missing.text,
    pattern`<h1>${sentence('error.nothing', {}, 'de')}</h1>\s*<p>${sentence('refusal.not_found', {}, 'de')}`,
  );
  const unreasoned = await admin.browser.post(`/admin/clients/${client_id}/reject`, { revision: '1' }, german);
  assert.match(noticeOf(unreasoned), sentence('problem.reason', {}, 'de'));
  const nameless = await admin.browser.post('/admin/service-credentials', {}, german);
  assert.match(
    noticeOf(nameless),
    pattern`${sentence('problem.name', {}, 'de')}.*${sentence('problem.service.permissions', {}, 'de')}`,
  );
  const elsewhere = await admin.browser.post('/admin/keys/rotate', {}, { ...german, origin: 'https://evil.example' });
  assert.match(elsewhere.text, sentence('refusal.cross_site', {}, 'de'));
});

testSignet('the list of clients is searched, paged, and has changes apart', async ({ signet }) => {
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  for (const name of ['Field Notes', '100% Melon', 'Melon_Farm']) await signet.registerClient({ owner, name });
  const changed = await signet.registerClient({ owner, name: 'Changed' });
  await owner.browser.patch(`/v1/oauth/clients/${changed.client_id}`, { name: 'Changed again' });
  await pending(signet, owner);
  const namesIn = async (query: string) => {
    const { text } = await admin.browser.get(`/admin/clients?${query}`);
    return [...text.matchAll(/href="\/admin\/clients\/cl_[^"]*"><bdi>([^<]*)/g)].map(([, name]) => name);
  };
  assert.deepEqual((await namesIn('state=waiting')).sort(), ['Changed', 'Test product']);
  assert.deepEqual(await namesIn('state=changes'), ['Changed']);
  assert.equal((await admin.browser.get('/admin/clients?state=approved&after=nonsense')).status, 400);

  // A search looks everywhere, by owner as well, and says where it looked.
  const everything = ['100% Melon', 'Changed', 'Field Notes', 'Melon_Farm', 'Test product'];
  assert.deepEqual((await namesIn('state=all')).sort(), everything);
  await owner.browser.patch('/v1/me', { name: 'Zoë Öberg' });
  for (const [query, found] of [
    ['notes fie', ['Field Notes']],
    ['Melon', ['100% Melon', 'Melon_Farm']],
    ['farm', ['Melon_Farm']],
    ['100%', ['100% Melon']],
    [changed.client_id, ['Changed']],
    [owner.user_id, everything],
    [owner.email, everything],
    ['zoe öb', everything],
    [owner.email.toUpperCase().slice(0, -2), everything],
    ['oberg melon', ['100% Melon', 'Melon_Farm']],
    ['elon', []],
    ['melon zoo', []],
    ['%', []],
    ['"', []],
  ] as const) {
    const q = encodeURIComponent(query);
    assert.deepEqual((await namesIn(`state=rejected&q=${q}`)).sort(), found, query);
    const { json } = await admin.browser.get(`/v1/admin/clients?query=${q}`);
    assert.equal((json?.clients as unknown[] | undefined)?.length, found.length, query);
  }
  const page = async (query: string) => (await admin.browser.get(`/admin/clients?${query}`)).text;
  assert.match(
    await page('q=nowhere'),
    pattern`${sentence('admin.clients.none.anywhere', { query: '<q><bdi>nowhere</bdi></q>' })}.*${sentence('admin.clients.find.clear')}`,
  );
  const found = await page('state=waiting&q=melon');
  assert.match(found, sentence('admin.clients.found', { query: '<q><bdi>melon</bdi></q>' }));
  assert.match(found, /href="\/admin\/clients" id="clients-clear"/);
  assert.doesNotMatch(found, /<nav aria-label="Status">.*aria-current.*<\/nav>/s, 'a search is in no tab');
  const queue = await page('');
  assert.match(queue, pattern`aria-current="page">${sentence('admin.clients.filter.waiting')} \(2\)<`);
  assert.match(queue, pattern`${sentence('admin.clients.filter.approved')} \(4\)<`);
  const inOrder = await namesIn('state=all&order=oldest');
  assert.equal(inOrder.length, 5);
  assert.deepEqual(await namesIn('state=all'), inOrder.toReversed(), 'the newest first, but for what waits');

  const file = await admin.browser.get('/admin/clients/export?state=approved');
  assert.match(file.headers.get('content-disposition') ?? '', /"clients-approved_\d{4}-\d\d-\d\d\.csv"/);
  assert.deepEqual(
    file.text
      .split('\r\n')
      .map((line) => line.split(',')[1])
      .sort(),
    ['100% Melon', 'Changed', 'Field Notes', 'Melon_Farm', 'name', undefined],
  );
  assert.equal((await owner.browser.get('/admin/clients/export')).status, 403);

  const search = { listing: 'approved', limit: 3 } as const;
  const first = await findClients(signet.deps, search);
  const second = await findClients(signet.deps, { ...search, after: first.next });
  assert.deepEqual([first.clients.length, second.clients.length, second.next], [3, 1, undefined]);
  const ids = [...first.clients, ...second.clients].map(({ client_id }) => client_id);
  assert.equal(new Set(ids).size, 4);
});

test('an empty page links to the next step', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const ordinary = await signet.signedInUser();
  const missing = await admin.browser.get('/admin/clients/cl_unknown');
  assert.equal(missing.status, 404);
  assert.match(missing.text, /id="way-back" href="\/admin"/);
  const refused = await ordinary.browser.get('/admin/clients');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /id="way-back" href="\/account"/);
  assert.doesNotMatch(refused.text, /href="\/admin"/);
});
