import assert from 'node:assert/strict';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { refusalReasons } from '../../src/audit/unauthenticated.ts';
import { settingsOf, succeed } from '../support/command-line.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';

type Listed = { action: string; reason: string; target: string; address: string; count: number; last_at: number };

const env = {
  SIGNET_RATE_LIMITS: 'off',
  SIGNET_TRUST_PROXY: '1',
  SIGNET_LIMIT_UNAUTHENTICATED_EVENTS_PER_HOUR: '10',
  SIGNET_LIMIT_UNAUTHENTICATED_EVENT_DAYS: '2',
};

const guess = (signet: Signet, username: string, address: string) =>
  signet.newBrowser().post('/signin', { username, password: 'wrong' }, { 'x-forwarded-for': address });

const auditRows = async ({ deps }: Signet) => (await plain(deps.db).all('select 1 as one from audit_log')).length;

testSignet(
  'what strangers cause is counted, bounded and kept for a time, outside of the audit log',
  { env },
  async ({ signet }) => {
    const administrator = await signet.signedInUser({ role: 'admin' });
    const user = await signet.newUser();
    const list = async (query = '') => {
      const answer = await administrator.browser.get(`/v1/admin/audit/unauthenticated${query}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.json as { events: Listed[]; next: string | null };
    };
    const before = await auditRows(signet);
    for (let times = 0; times < 3; times += 1) assert.equal((await guess(signet, user.email, '192.0.2.1')).status, 401);
    await guess(signet, user.email, '192.0.2.2');
    await guess(signet, 'nobody@example.com', '192.0.2.2');
    const ofUser = (await list(`?target=${user.user_id}`)).events;
    assert.deepEqual(ofUser.map(({ action, reason, address, count }) => [action, reason, address, count]).sort(), [
      ['session.refused', 'wrong_password', '192.0.2.1', 3],
      ['session.refused', 'wrong_password', '192.0.2.2', 1],
    ]);
    assert.ok(!JSON.stringify(await list()).includes('nobody@example.com'), 'what was typed is not kept');

    // Two hundred addresses in one hour: no more rows than the limit, and one that counts the rest.
    for (let from = 0; from < 200; from += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => guess(signet, 'nobody@example.com', `10.0.0.${from + index}`)),
      );
    }
    const all = (await list('?limit=500')).events;
    assert.ok(all.length <= 10 + 1 + (signet.deps.db.engine === 'postgres' ? 20 : 0), `${all.length} rows`);
    const sum = all.reduce((total, { count }) => total + count, 0);
    assert.equal(sum, 205);
    assert.ok(all.some(({ reason, address }) => reason === 'more' && address === null));
    await guess(signet, user.email, '192.0.2.1');
    assert.equal(
      (await list(`?target=${user.user_id}`)).events.find(({ address }) => address === '192.0.2.1')?.count,
      4,
    );

    const first = await list('?limit=4');
    assert.ok(first.next);
    const second = await list(`?limit=500&before=${encodeURIComponent(first.next)}`);
    assert.equal(first.events.length + second.events.length, all.length);
    assert.equal(second.next, null);
    const forged = await administrator.browser.get('/v1/admin/audit/unauthenticated?before=yesterday');
    assert.deepEqual([forged.status, forged.json?.error], [400, 'invalid_request'], forged.text);

    assert.equal(await auditRows(signet), before, 'not one of them is in the audit log');
    assert.equal((await verifyAuditLog(signet.deps)).broken, undefined);

    assertRefused(
      await (await signet.signedInUser()).browser.get('/v1/admin/audit/unauthenticated'),
      403,
      'access_denied',
    );
    assertRefused(await signet.newBrowser().get('/v1/admin/audit/unauthenticated'), 401, 'login_required');

    signet.clock.advance(3600);
    await guess(signet, user.email, '192.0.2.1');
    assert.equal((await list(`?target=${user.user_id}`)).events.length, 3, 'another hour, another row');
    signet.clock.advance(2 * 86_400);
    await signet.runJobs();
    assert.deepEqual(
      (await plain(signet.deps.db).all<{ count: number }>('select count from unauthenticated_events')).map(
        ({ count }) => count,
      ),
      [1],
    );
    signet.clock.advance(3600);
    await signet.runJobs();
    assert.deepEqual(await plain(signet.deps.db).all('select count from unauthenticated_events'), []);
  },
);

testSignet(
  'links that strangers ask for are counted there, too, and the command line shows them',
  { env: { ...env, SIGNET_SMTP_URL: 'smtp://127.0.0.1:1' } },
  async ({ signet }) => {
    const user = await signet.newUser();
    const before = await auditRows(signet);
    for (const email of [user.email, 'nobody@example.com']) {
      assert.ok((await signet.newBrowser().post('/reset', { email })).status < 400);
      assert.ok((await signet.newBrowser().post('/signup', { email })).status < 400);
    }
    const { events } = (await succeed(['audit', 'unauthenticated'], settingsOf(signet))) as { events: Listed[] };
    assert.deepEqual(
      events.map(({ action, target, count }) => [action, target, count]).sort(),
      [
        ['password.reset_asked', null, 1],
        ['password.reset_asked', user.user_id, 1],
        ['sign_up.asked', null, 2],
      ].sort(),
    );
    assert.equal(await auditRows(signet), before);
  },
);

testSignet(
  'administrators read them on a page, of one account or address, a page at a time',
  { env },
  async ({ signet }) => {
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const user = Object.assign(await signet.newUser({ name: 'Mia Rossi' }), { name: 'Mia Rossi' });
    const path = '/admin/audit/unauthenticated';
    const page = async (query: Record<string, string> = {}) => {
      const answer = await browser.get(`${path}?${new URLSearchParams(query)}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.text;
    };
    const entries = (text: string) => text.split('<li>\n<span class="log-time">').slice(1);

    assert.match(await page(), sentence('admin.unauthenticated.none'));
    for (let times = 0; times < 3; times += 1) await guess(signet, user.email, '192.0.2.1');
    signet.clock.advance(60);
    await guess(signet, user.email, '192.0.2.2');
    await guess(signet, 'nobody@example.com', '192.0.2.2');

    const all = await page();
    assert.equal(entries(all).length, 3);
    assert.match(all, sentence('admin.unauthenticated.kept', { days: 2 }));
    assert.doesNotMatch(all, /wrong_password|session\.refused|nobody@example\.com|<script(?! src="\/assets\/)/);
    const [entry = '', ...more] = entries(await page({ target: user.user_id, address: ' 192.0.2.1 ' }));
    assert.equal(more.length, 0);
    assert.match(entry, sentence('admin.unauthenticated.refused.wrong_password'));
    assert.match(
      entry,
      pattern`<time datetime="2027-01-15T08:00:00\.000Z" title="2027-01-15 08:00:00 UTC" data-time="exact">2027-01-15 08:00:00 UTC</time>.*>${sentence('admin.unauthenticated.times', { count: 3 })}<`,
    );
    assert.match(entry, new RegExp(`href="/admin/users/${user.user_id}"`));
    assert.match(entry, /192\.0\.2\.1/);
    assert.equal(entries(await page({ target: user.user_id })).length, 2);
    const byAddress = await page({ target: user.email.toUpperCase() });
    assert.equal(entries(byAddress).length, 2, 'an account is found by its address');
    assert.match(byAddress, new RegExp(`name="target"[^>]*value="${user.email}"`));
    assert.match(await page({ target: 'Nemo' }), sentence('admin.unauthenticated.target.none'));
    const namesake = await signet.newUser({ name: user.name });
    const several = await page({ target: user.name });
    assert.match(several, sentence('admin.unauthenticated.target.several'));
    for (const { user_id } of [user, namesake]) assert.ok(several.includes(`?target=${user_id}`));
    assert.equal(entries(several).length, 0);
    const ofAddress = await page({ address: '192.0.2.2' });
    assert.equal(entries(ofAddress).length, 2);
    assert.match(ofAddress, sentence('admin.unauthenticated.refused.no_account'));
    assert.match(ofAddress, /name="address"[^>]*value="192\.0\.2\.2"/);
    assert.match(await page({ target: 'usr_nobody' }), sentence('admin.audit.none'));
    const asked = await browser.get('/v1/admin/audit/unauthenticated?address=192.0.2.1&target=');
    assert.deepEqual(
      (asked.json as { events: Listed[] }).events.map(({ count }) => count),
      [3],
      'programs filter alike',
    );

    for (const [from, to] of [
      [`/admin/users/${user.user_id}`, `${path}?target=${user.user_id}`],
      ['/admin/audit', path],
    ] as const)
      assert.ok((await browser.get(from)).text.includes(`href="${to}"`), from);
    const refused = await browser.get(`${path}?before=x`);
    assert.equal(refused.status, 400);

    // What an upstream or a later version wrote is data, and no page fails for it.
    const rows = [...refusalReasons, 'of_a_later_version', 'more'].map((reason, index) => ({
      sql: `insert into unauthenticated_events (event_key, hour, action, reason, detail, address, first_at, last_at, count)
          values ($1, 0, 'session.refused', $2, $3, $4, $5, $5, 1)`,
      params: [`key_${index}`, reason, '{"provider":"<b>x","problem":"<i>y"}', '<u>z', index],
    }));
    const padding = Array.from({ length: 40 }, (_, index) => ({
      sql: `insert into unauthenticated_events (event_key, hour, action, first_at, last_at, count)
          values ($1, 0, 'sign_up.asked', 100, 100, 1)`,
      params: [`pad_${index}`],
    }));
    await plain(signet.deps.db).batch([...rows, ...padding]);
    const texts = [await page()];
    for (let older: string | undefined = path; older; ) {
      older = /id="unauthenticated-older" href="([^"]*)"/.exec(texts.at(-1) ?? '')?.[1]?.replaceAll('&amp;', '&');
      if (older) texts.push((await browser.get(older)).text);
    }
    const whole = texts.join('');
    assert.deepEqual([texts.length, entries(whole).length], [3, 3 + 40 + rows.length]);
    assert.doesNotMatch(whole, /<b>x|<i>y|<u>z/);
    for (const reason of [...refusalReasons, 'of_a_later_version']) assert.ok(!whole.includes(reason), reason);
    assert.match(whole, sentence('admin.unauthenticated.more.sign_in'));
    assert.match(whole, sentence('admin.unauthenticated.refused'));
    assert.match(whole, sentence('admin.provider_problem.other'), 'a code of a later version');

    const german = await browser.get(`${path}?ui_locales=de&target=${user.user_id}`);
    assert.match(german.text, sentence('admin.unauthenticated.refused.wrong_password', {}, 'de'));
    assert.match(german.text, pattern`>${sentence('admin.unauthenticated.times', { count: 3 }, 'de')}<`);
  },
);
