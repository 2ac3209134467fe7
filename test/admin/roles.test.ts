import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrativePermissions } from '../../src/accounts/permissions.ts';
import { lesserRoles, permissionsOfRole, type Role } from '../../src/accounts/roles.ts';
import { tabs } from '../../src/admin/components.ts';
import { assertRefused, attempt, changesNothing, isAdministrative, label, world } from '../support/api-world.ts';
import type { Answer } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { withRole } from '../support/roles.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const permissionsOf = (role: Role) => permissionsOfRole[role] as ReadonlySet<string>;

test('only administrators can make administrators, and each lesser role has a part of what they have', () => {
  assert.deepEqual([...permissionsOf('user')], []);
  assert.deepEqual([...permissionsOf('admin')], administrativePermissions);
  for (const role of lesserRoles) {
    assert.ok(permissionsOf(role).size > 0 && permissionsOf(role).size < administrativePermissions.length);
    for (const one of ['administrators:write', 'service-credentials:write', 'service-credentials:grant', 'keys:write'])
      assert.ok(!permissionsOf(role).has(one), `${role} has ${one}`);
  }
  assert.ok([...permissionsOf('auditor')].every((one) => one.endsWith(':read')));
});

onBothEngines('each role may run the operations of its permissions and no others (AT-09)', async (t, engine) => {
  const all = await world(t, { engine });
  for (const role of lesserRoles) {
    const { browser } = await withRole(all.signet, role);
    const tried = all.endpoints.filter(isAdministrative).map((endpoint) => {
      const [permission = ''] = endpoint.operation.security.find((one) => 'SessionCookie' in one)?.SessionCookie ?? [];
      return { endpoint, isAllowed: permissionsOf(role).has(permission) };
    });
    await all.signet.runJobs(); // what the sign-in has left to be counted
    await changesNothing(all, async () => {
      for (const { endpoint, isAllowed } of tried) {
        if (!isAllowed) assertRefused(endpoint, await attempt(all, endpoint, { browser }), [403, 'access_denied']);
      }
    });
    const looks = tried.filter(({ endpoint, isAllowed }) => isAllowed && endpoint.method === 'GET');
    assert.ok(looks.length >= 3, role);
    for (const { endpoint } of looks) {
      const { status, text } = await attempt(all, endpoint, { browser });
      // No role acts in place of an owner.
      const isOfOwner = status === 403 && /Only its owner/.test(text);
      assert.ok(status === 200 || status === 404 || isOfOwner, `${role}: ${label(endpoint)}: ${status} ${text}`);
    }
  }
});

const linksIn = ({ text }: Answer) =>
  [...text.matchAll(/<a [^>]*href="(\/admin[^"#]*)/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
const formsIn = ({ text }: Answer) =>
  [...text.matchAll(/(?:<form method="post" action|formaction)="([^"]+)"/g)].map(([, action = '']) => action);

/** All pages that one gets to by links from the first one. */
async function visited({ browser }: TestUser): Promise<Map<string, Answer>> {
  const pages = new Map<string, Answer>();
  const waiting = ['/admin'];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (pages.has(path) || /\/export/.test(path)) continue;
    const page = await browser.get(path);
    assert.equal(page.status, 200, `${path} is offered and refused: ${page.text}`);
    pages.set(path, page);
    waiting.push(...linksIn(page));
  }
  return pages;
}

/** What a form does is in its address; these are the acts of pages that each role is offered. */
const offered: Record<(typeof lesserRoles)[number], RegExp> = {
  support: /^\/admin\/(users\/|invitations\/)/,
  reviewer: /^\/admin\/(clients\/[^/]+\/(approve|reject|policy|suspend|reinstate)|client-hosts)/,
  auditor: /^\/admin\/(audit\/verify|settings\/providers|brand\/preview)/,
};

test('pages offer what the role may open and do, and nothing else (AT-09)', async (t) => {
  const all = await world(t);
  await all.signet.registerClient({ owner: all.owner, approved: false });
  await all.signet.registerClient({ owner: all.other });
  for (const role of lesserRoles) {
    const user = await withRole(all.signet, role);
    const pages = await visited(user);
    const shown = [...(pages.get('/admin')?.text ?? '').matchAll(/<li><a href="(\/admin[\w/-]*)"/g)].map(
      ([, path]) => path,
    );
    assert.ok(pages.get('/admin')?.text.includes('<a href="/docs">'), `${role} reads the documentation`);
    for (const tab of Object.values(tabs).filter(({ path }) => path.startsWith('/admin'))) {
      const may = !('needs' in tab) || permissionsOf(role).has(tab.needs);
      assert.equal(shown.includes(tab.path), may, `${role} sees ${tab.path}`);
      assert.equal((await user.browser.get(tab.path)).status, may ? 200 : 403, `${role} opens ${tab.path}`);
    }
    const forms = [...pages].flatMap(([path, page]) =>
      formsIn(page)
        .filter((action) => !['/signout', '/account/language'].includes(action))
        .map((action) => ({ path, action })),
    );
    for (const { path, action } of forms) assert.match(action, offered[role], `${role}, on ${path}`);
    if (role !== 'auditor') assert.ok(forms.length > 1, role);
    assert.ok(pages.size > 3, `${role}: ${[...pages.keys()]}`);
  }
});

test('a form of another role is refused, and its button does nothing (AT-09)', async (t) => {
  const all = await world(t);
  const auditor = await withRole(all.signet, 'auditor');
  const support = await withRole(all.signet, 'support');
  const { owner, ids } = all;
  const tried: [TestUser, string, Record<string, string>][] = [
    [auditor, `/admin/users/${owner.user_id}/disable`, { reason: 'x' }],
    [auditor, '/admin/users/bulk', { action: 'disable', [`user:${owner.user_id}`]: 'on', reason: 'x' }],
    [auditor, `/admin/clients/${ids.client_id}/approve`, { revision: '1', consent: 'required' }],
    [auditor, `/admin/clients/${ids.client_id}/delete`, { confirmation: String(ids.client_id) }],
    [auditor, '/admin/clients/register', { name: 'X' }],
    [auditor, '/admin/master-key-backup', {}],
    [support, `/admin/users/${owner.user_id}/role`, { role: 'admin', reason: 'x' }],
    [support, '/admin/users/bulk', { action: 'make_administrator', [`user:${owner.user_id}`]: 'on', reason: 'x' }],
    [support, '/admin/users/invite', { email: 'new@example.com', role: 'admin' }],
  ];
  await all.signet.runJobs();
  await changesNothing(all, async () => {
    for (const [{ browser }, path, form] of tried) {
      const { status, text } = await browser.post(path, form);
      assert.equal(status, 403, `${path}: ${text}`);
      assert.match(text, sentence('refusal.role'), path);
    }
  });
});

testSignet('support helps users, and touches no account with a role (AT-10)', async ({ signet }) => {
  const support = await withRole(signet, 'support');
  const colleague = await withRole(signet, 'auditor');
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.newUser();
  const send = (user_id: string, act: string) =>
    support.browser.postJson(`/v1/admin/users/${user_id}/${act}`, { reason: 'Asked by telephone.' });
  for (const { user_id } of [colleague, admin]) {
    for (const act of ['disable', 'sign-out', 'reset-factors', 'reset-link']) {
      const { status, text } = await send(user_id, act);
      assert.equal(status, 403, `${act}: ${text}`);
    }
    const edited = await support.browser.patch(`/v1/admin/users/${user_id}`, { name: 'X', reason: 'x' });
    assert.equal(edited.status, 403, edited.text);
  }
  for (const act of ['reset-link', 'reset-factors', 'disable']) {
    const { status, text } = await send(user.user_id, act);
    assert.equal(status, 200, `${act}: ${text}`);
  }
  assert.equal(
    (await admin.browser.postJson(`/v1/admin/users/${colleague.user_id}/disable`, { reason: 'x' })).status,
    200,
  );
});

testSignet(
  'a role is given by an administrator, told to all of them and to its user, and ends with the next request (AT-10)',
  { mail: true },
  async ({ signet, mailbox }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.signedInUser();
    const role = `/v1/admin/users/${user.user_id}/role`;
    assert.equal((await user.browser.get('/admin')).status, 403);
    const given = await admin.browser.put(role, { role: 'auditor', reason: 'The yearly audit.' });
    assert.deepEqual([given.status, given.json?.role], [200, 'auditor'], given.text);
    await signet.runJobs();
    assert.match((await mailbox.next(user.email, /role at/)).text, /you are now an auditor/);
    assert.match((await mailbox.next(admin.email, /administration/)).text, new RegExp(`${user.email}.*auditor`));
    assert.equal((await user.browser.get('/admin/audit')).status, 200);
    const page = (await admin.browser.get('/admin/audit?action=user.role_changed')).text;
    assert.match(page.replaceAll(/<[^>]+>/g, ''), /gave .+ the role Auditor/);
    for (const wanted of ['admin', 'user'] as const)
      assert.equal((await user.browser.put(`/v1/admin/users/${admin.user_id}/role`, { role: wanted })).status, 403);
    // The rules about the last administrator are about that role alone.
    const last = await withRole(signet, 'admin');
    assert.equal((await last.browser.put(`/v1/admin/users/${admin.user_id}/role`, { role: 'support' })).status, 200);
    assert.equal((await admin.browser.get('/admin/users')).status, 200);
    assert.equal((await last.browser.put(role, { role: 'user' })).status, 200);
    assert.equal((await user.browser.get('/admin/audit')).status, 403);
  },
);

testSignet(
  'reviewers get the mail about clients that wait, and support does not',
  { mail: true },
  async ({ signet, mailbox }) => {
    const [reviewer, support] = [await withRole(signet, 'reviewer'), await withRole(signet, 'support')];
    await signet.registerClient({ owner: await signet.signedInUser(), approved: false });
    await signet.runJobs();
    await mailbox.next(reviewer.email, sentence('mail.reviews_waiting.subject', { count: '1', service: 'Signet' }));
    const toSupport = mailbox.mails.filter(({ to }) => to.includes(support.email)).map(({ subject }) => subject);
    assert.deepEqual(
      toSupport.filter((subject) => /review/i.test(subject)),
      [],
    );
  },
);

testSignet(
  'a second factor that administrators must have is asked of every role, a week after they got it',
  { env: { SIGNET_ADMIN_SECOND_FACTOR: 'on' } },
  async ({ signet }) => {
    for (const role of lesserRoles) {
      const user = await withRole(signet, role);
      assert.equal((await user.browser.get('/admin')).status, 200, `${role} has a week`);
      signet.clock.advance(7 * 86_400);
      await user.signIn();
      const { status, location } = await user.browser.get('/admin');
      assert.deepEqual([status, location?.startsWith('/signin/set-up')], [303, true], role);
    }
  },
);
