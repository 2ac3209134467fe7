import assert from 'node:assert/strict';
import { readLogWithoutSealing } from '../../src/audit/read-log.ts';
import { registerClient } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

type Event = { event_id: string; seq: number; action: string; actor: string; address: string | null };
const env = { SIGNET_RATE_LIMITS: 'off', SIGNET_TRUST_PROXY: '1' };
const reason = 'Reported by its users.';

const reader = ({ browser }: TestUser) => ({
  async events(query: string): Promise<Event[]> {
    const answer = await browser.get(`/v1/admin/audit?limit=500&${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json?.events as Event[];
  },
  async page(query: string): Promise<string> {
    return (await browser.get(`/admin/audit?${query}`)).text;
  },
});

/**
 * Adds sealed events at the end of the log that a user's are in, numbered `i` from 1 on.
 * @param event SQL for the action, the user who acts and the target of each. @returns the `seq` before the first.
 */
async function addEvents(
  { deps: { db }, runJobs }: Signet,
  { user_id: in_chain_of }: TestUser,
  count: number,
  event: { action: string; user_id: string; target: string },
): Promise<number> {
  await runJobs();
  const chain = plain(db.of(in_chain_of));
  const head = Number((await chain.get<{ seq: number }>('select max(seq) as seq from audit_log'))!.seq);
  await chain.run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into audit_log (event_id, at, action, actor, target, seq, seal)
     select 'evt_' || i, 1, ${event.action}, 'user:' || ${event.user_id}, ${event.target}, cast($1 as bigint) + i, 'x' from n`,
    [head],
  );
  if (db.engine === 'postgres') await plain(db).run('analyze audit_log');
  return head;
}

testSignet(
  'changes by administrators are what they and the command line did, but not to their own accounts and clients',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const other = await signet.signedInUser({ role: 'admin', name: 'Otto' });
    const user = await signet.signedInUser({ name: 'Grace' });
    const before = new Set((await reader(admin).events('')).map(({ event_id }) => event_id));
    const isNew = ({ event_id }: Event) => !before.has(event_id);
    const done = async (answer: { status: number; text: string }) => assert.ok(answer.status < 300, answer.text);
    const act = (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
      admin.browser.send(`/v1/admin${path}`, {
        method,
        headers: { origin: signet.url, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });

    // What everybody does for themselves, an administrator as well.
    const own = await signet.registerClient({ owner: admin, name: 'Own', approved: false });
    await done(await admin.browser.patch(`/v1/oauth/clients/${own.client_id}`, { homepage_url: 'https://rp.test/' }));
    await done(await admin.browser.patch('/v1/me', { name: 'Olivia H.' }));
    const client = await signet.registerClient({ owner: user, name: 'Web shop', approved: false });
    await user.signedInElsewhere();
    const elsewhere = await user.signedInElsewhere();
    await elsewhere.browser.post('/signout');
    await done(await user.browser.patch('/v1/me', { name: 'Grace H.' }));
    assert.deepEqual((await reader(admin).events('changes_by=administrators')).filter(isNew), []);

    const { sessions } = (await admin.browser.get(`/v1/admin/users/${user.user_id}/sessions`)).json as {
      sessions: { session_id: string }[];
    };
    await done(await act('PATCH', `/users/${user.user_id}`, { name: 'Grace M. H.', reason }));
    await done(await act('DELETE', `/users/${user.user_id}/sessions/${sessions[0]!.session_id}`));
    await done(await act('POST', `/clients/${client.client_id}/reject`, { revision: 1, reason }));
    await done(await act('DELETE', `/clients/${client.client_id}`));
    await done(await act('POST', `/users/${user.user_id}/disable`, { reason }));
    const made = await registerClient(
      signet.deps,
      { owner_user_id: null, caller: { actor: `user:${admin.user_id}` } },
      readRegistration({
        name: 'Intranet',
        client_type: 'confidential',
        redirect_uris: ['https://intranet.test/cb'],
      }),
    );
    assert.ok(made.client_secret);
    await signet.newUser(); // by the command line
    const expected = [
      'client.deleted',
      'client.registered',
      'client.rejected',
      'session.ended',
      'user.changed',
      'user.created',
      'user.disabled',
    ];
    const found = async (query = '') => (await reader(other).events(`changes_by=administrators${query}`)).filter(isNew);
    assert.deepEqual((await found()).map(({ action }) => action).sort(), expected);
    assert.ok((await found()).every(({ actor }) => actor === 'cli' || actor === `user:${admin.user_id}`));
    assert.deepEqual((await found('&action=client')).map(({ action }) => action).sort(), expected.slice(0, 3));
    assert.deepEqual((await found(`&about=${user.user_id}`)).map(({ action }) => action).sort(), [
      'user.changed',
      'user.disabled',
    ]);
    // One who is an administrator no longer, or may not sign in, has been one.
    await done(await other.browser.postJson(`/v1/admin/users/${admin.user_id}/disable`, { reason }));
    const later = [...expected, 'user.disabled'];
    assert.deepEqual((await found()).map(({ action }) => action).sort(), later.sort());
    await done(await other.browser.put(`/v1/admin/users/${admin.user_id}/role`, { role: 'user' }));
    assert.deepEqual((await found()).map(({ action }) => action).sort(), [...later, 'user.role_changed'].sort());
    const unsealed = await readLogWithoutSealing(signet.deps, { administrators: [] }, 1);
    assert.equal(unsealed[0]?.action, 'user.role_changed');

    const page = await reader(other).page('by=administrators');
    assert.match(page, /name="by" value="administrators" checked/);
    assert.match(page, /id="without-by"/);
    assert.match(page, /export\?[^"]*by=administrators/);
    assert.doesNotMatch(page, /<code><bdi>session\.started</);
    // Each of them can be chosen, also one who is an administrator no longer.
    const byWhom = (text: string) =>
      new RegExp(`<nav aria-label="${message('admin.audit.by_whom')}">(.*?)</nav>`, 's').exec(text)?.[1] ?? '';
    const links = [...byWhom(page).matchAll(/href="([^"]+)"[^>]*>(?:<bdi>)?([^<]+)</g)].map(
      ([, path = '', who = '']) => ({
        path: path.replaceAll('&amp;', '&'),
        who,
      }),
    );
    assert.deepEqual(
      links.map(({ who }) => who).sort(),
      [message('admin.audit.by_whom.all'), 'Olivia H.', 'Otto', message('admin.audit.actor.cli')].sort(),
    );
    const linkOf = (name: string) => links.find(({ who }) => who === name)!.path;
    const ofOtto = (await other.browser.get(linkOf('Otto'))).text;
    assert.match(ofOtto, /<code><bdi>user\.role_changed</);
    assert.doesNotMatch(ofOtto, /<code><bdi>client\./, 'what Olivia did');
    assert.match(byWhom(ofOtto), /aria-current="true">(<bdi>)?Otto/);
    const ofCommand = (await other.browser.get(linkOf(message('admin.audit.actor.cli')))).text;
    assert.match(ofCommand, /<code><bdi>user\.created</);
    assert.doesNotMatch(ofCommand, /<code><bdi>user\.role_changed</);
    assert.equal(byWhom(await reader(other).page('')), '', 'of a log of everything');
    const file = await other.browser.get('/admin/audit/export?by=administrators&format=jsonl');
    assert.match(file.headers.get('content-disposition') ?? '', /audit-log_administrators_/);
    assert.doesNotMatch(file.text, /session\.started/);
    assert.equal((await other.browser.get('/v1/admin/audit?changes_by=everybody')).status, 400);
  },
);

testSignet(
  'among any number of sign-ins, the first page of changes by administrators has the newest of them',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const head = await addEvents(signet, admin, 12_000, {
      action: "case when i = 7 then 'user.disabled' else 'session.started' end",
      user_id: "'usr_' || case when i = 7 then 'gone' else cast(i as text) end",
      target: "'x'",
    });
    const { plans, stop } = watchPlans(signet.deps.db, /from audit_log where .*replace/s);
    const { json } = await admin.browser.get('/v1/admin/audit?changes_by=administrators&limit=2');
    stop();
    const { events } = json as { events: Event[] };
    assert.deepEqual(events[0], { ...events[0], action: 'user.disabled', seq: head + 7 });
    assert.ok(plans.length > 0);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN audit_log|Seq Scan on audit_log/, plan);
  },
);

testSignet(
  'of more administrators than an index finds, all changes are listed, on as many pages as it takes',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const head = await addEvents(signet, admin, 300, {
      action: "case when i <= 100 then 'user.role_changed' when i = 101 then 'user.changed' else 'session.started' end",
      user_id: "'usr_' || case when i = 101 then '1' else 'x' end",
      target: "'usr_' || i",
    });
    const found = (await reader(admin).events('changes_by=administrators')).filter(({ seq }) => seq > head);
    assert.deepEqual(
      found.map(({ seq }) => seq - head),
      Array.from({ length: 101 }, (_, i) => 101 - i),
    );
    assert.match(await reader(admin).page('by=administrators'), new RegExp(`<li value="${head + 101}"`));
  },
);

testSignet(
  'the log is filtered by the address that a request came from, whole or by its first numbers',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const { db } = signet.deps;
    const user = await signet.newUser();
    const from = ['203.0.113.1', '203.0.113.15', '203.0.11.1', '2001:db8::1:0:0:7', '2001:db8:1::7'];
    for (const address of from) await user.elsewhere().signIn({}, { 'x-forwarded-for': address });
    await signet.runJobs();
    await plain(db).run(
      `update audit_log set address = '::ffff:203.0.113.1' where address = '203.0.113.1' and action = 'session.started'`,
    );
    const { events, page } = reader(admin);
    const addresses = async (address: string, more = '') =>
      (await events(`${new URLSearchParams({ address })}${more}`))
        .filter(({ action }) => action !== 'security_alert.raised') // of each new browser
        .map((one) => one.address);
    assert.deepEqual(await addresses('203.0.113.1'), ['::ffff:203.0.113.1']);
    assert.deepEqual(await addresses(' 203.0.113.15 '), ['203.0.113.15']);
    for (const first of ['203.0.113', '203.0.113.'])
      assert.deepEqual(await addresses(first), ['203.0.113.15', '::ffff:203.0.113.1'], first);
    assert.equal((await addresses('203')).length, 3);
    assert.equal((await addresses('2001:DB8:0:0:0001::7')).length, 1);
    assert.equal((await addresses('2001:db8')).length, 2);
    assert.deepEqual(await addresses('2001:db8:1:'), ['2001:db8:1::7']);
    assert.deepEqual(await addresses('203.0.113.15', '&action=session.started'), ['203.0.113.15']);
    assert.deepEqual(await addresses('203.0.113.15', '&action=user'), []);
    assert.deepEqual(await addresses('203.0.113.15', `&about=${user.user_id}`), ['203.0.113.15']);
    for (const wrong of ['203.0.113.256', 'example.com', '203.0.113.0/24', '%', '2001:db8:::'])
      assert.equal(
        (await admin.browser.get(`/v1/admin/audit?${new URLSearchParams({ address: wrong })}`)).status,
        400,
        wrong,
      );

    const shown = await page('address=203.0.113.');
    assert.match(shown, sentence('admin.audit.filter.from_address', { address: '203.0.113.' }));
    assert.match(shown, /id="without-address"/);
    assert.match(shown, /<details open>/, 'the field is to be seen');
    const refused = await admin.browser.get('/admin/audit?address=example.com');
    assert.equal(refused.status, 400);
    assert.match(refused.text, sentence('admin.audit.address_problem'));
    assert.match(refused.text, /name="address"[^>]* value="example.com"/);

    if (db.engine === 'postgres') await plain(db).run('analyze audit_log');
    const { plans, stop } = watchPlans(db, /from audit_log where .*address = /s);
    await events('address=203.0.113.15');
    stop();
    assert.ok(plans.length > 0);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN audit_log|Seq Scan on audit_log/, plan);
  },
);
