import assert from 'node:assert/strict';
import { logoHost, logoOf, openLogoHost, reachesLogos } from '../support/logo-host.ts';
import { pattern, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

type Logo = Record<'picture_id' | 'problem' | 'detail' | 'media_type', string | null> & {
  url: string;
  bytes: number | null;
  is_shown: boolean;
  is_waiting: boolean;
};

const readBy = async ({ browser }: TestUser, client_id: string) => {
  const { json } = await browser.get(`/v1/admin/clients/${client_id}`);
  return json as { revision: number; logo_id: string | null; logo: Logo | null };
};

const approve = ({ browser }: TestUser, client_id: string, body: object) =>
  browser.postJson(`/v1/admin/clients/${client_id}/approve`, { consent: 'required', ...body });

/** Without a session. */
async function fetched(signet: Signet, path: string) {
  const answer = await fetch(signet.url + path);
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

/** The `src` of each image of a page. */
const imagesOf = (text: string): string[] => [...text.matchAll(/<img[^>]* src="([^"]*)"/g)].map(([, src = '']) => src);

/** The pages of people that name a client: sign-in, consent, connected apps, and the question before a sign-out. */
async function pagesNaming(signet: Signet, client: Awaited<ReturnType<Signet['registerClient']>>) {
  const visitor = signet.newBrowser();
  const signIn = await visitor.get((await visitor.get(client.authorizePath())).location!);
  const user = await signet.signedInUser();
  const at = (await user.browser.get(client.authorizePath())).location!;
  const consent = await user.browser.get(at);
  const request = new URL(at, signet.url).searchParams.get('request')!;
  const allowed = { request, user: user.user_id, decision: 'allow' };
  const code = new URL((await user.browser.post('/consent', allowed)).location!, signet.url);
  await user.browser.get(code.pathname + code.search);
  const apps = await user.browser.get('/account/apps');
  const logout = await user.browser.get(`/oauth/logout?client_id=${client.client_id}`);
  const question = await user.browser.get(logout.location!);
  const { json } = await user.browser.get('/v1/me/grants');
  const [grant] = json!.grants as { logo_url: string | null }[];
  return { signIn, consent, apps, question, grant };
}

testSignet(
  'the logo of a client is fetched once for its reviewer, and those very bytes are what people see after the approval',
  { env: reachesLogos },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const admin = await signet.signedInUser({ role: 'admin' });
    const note = 'taken at 52.5200 N';
    host.givePicture('/logo.png', Buffer.concat([pngOf({ text: note }), Buffer.from('<script>alert(1)</script>')]));
    const logo_url = `${logoHost}/logo.png`;
    const client = await signet.registerClient({ logo_url, approved: false });
    const { client_id } = client;
    const before = await readBy(admin, client_id);
    assert.deepEqual([before.logo?.picture_id, before.logo?.is_waiting, host.asked], [null, true, []]);
    const waiting = await admin.browser.get(`/admin/clients/${client_id}`);
    assert.match(waiting.text, pattern`${sentence('admin.clients.logo.waiting')}`);

    await signet.runJobs();
    await signet.runJobs();
    assert.deepEqual(host.asked, ['/logo.png'], 'once');
    const { logo, logo_id, revision } = await readBy(admin, client_id);
    const picture_id = logo!.picture_id!;
    assert.match(picture_id, /^[0-9a-f]{32}$/);
    assert.deepEqual(
      [logo_id, logo?.url, logo?.is_shown, logo?.is_waiting, logo?.media_type],
      [null, logo_url, false, false, 'image/png'],
    );

    const page = await admin.browser.get(`/admin/clients/${client_id}`);
    const own = `/admin/clients/${client_id}/logos/${picture_id}`;
    assert.ok(imagesOf(page.text).includes(own), page.text);
    assert.ok(page.text.includes(`name="logo_id" value="${picture_id}"`));
    const reviewed = await admin.browser.get(own);
    assert.equal(reviewed.headers.get('content-type'), 'image/png');
    assert.ok(!reviewed.text.includes(note) && !reviewed.text.includes('script'));
    assert.equal((await fetched(signet, `/logos/${picture_id}`)).status, 404, 'nobody else sees it before');
    const user = await signet.signedInUser();
    assert.equal((await user.browser.get(own)).status, 403);
    assert.notEqual((await signet.newBrowser().get(own)).status, 200);

    assertRefused(await approve(admin, client_id, { revision, logo_id: '0'.repeat(32) }), 400, 'invalid_request');
    assertRefused(await approve(admin, client_id, { revision, logo_id: 'logo.png' }), 400, 'invalid_request');
    const approved = await admin.browser.post(`/admin/clients/${client_id}/approve`, {
      revision: String(revision),
      logo_id: picture_id,
      consent: 'required',
      refresh_retry_window: '0',
      'scope:openid': 'on',
      second_factor: 'optional',
    });
    assert.equal(approved.status, 303, approved.text);
    assert.equal((await readBy(admin, client_id)).logo_id, picture_id);

    const path = `/logos/${picture_id}`;
    const served = await fetched(signet, path);
    assert.equal(served.status, 200);
    assert.equal(served.headers.get('content-type'), 'image/png');
    assert.equal(served.headers.get('x-content-type-options'), 'nosniff');
    assert.match(served.headers.get('cache-control')!, /private, max-age=31536000, immutable/);
    assert.match(served.headers.get('content-security-policy')!, /default-src 'none'; sandbox/);
    assert.ok(!served.body.includes(note) && !served.body.includes('script'), 'only what is drawn');

    const { signIn, consent, apps, question, grant } = await pagesNaming(signet, client);
    for (const [name, { text, status }] of Object.entries({ signIn, consent, apps, question })) {
      assert.equal(status, 200, text);
      assert.ok(imagesOf(text).includes(path), `${name}: ${text}`);
      for (const src of imagesOf(text)) assert.match(src, /^\/(?!\/)/, `${name} loads nothing from elsewhere`);
    }
    assert.equal(grant?.logo_url, signet.url + path);

    // What is at its address afterwards is nobody's business.
    host.givePicture('/logo.png', logoOf(96));
    await signet.runJobs();
    assert.deepEqual(host.asked, ['/logo.png']);
    assert.deepEqual((await fetched(signet, path)).body, served.body);

    await admin.browser.postJson(`/v1/admin/clients/${client_id}/suspend`, { reason: 'It misbehaves.' });
    assert.equal((await fetched(signet, path)).status, 404, 'what is suspended has no face');
    await admin.browser.postJson(`/v1/admin/clients/${client_id}/reinstate`, {});
    assert.equal((await fetched(signet, path)).status, 200);
    const deleted = await admin.browser.send(`/v1/admin/clients/${client_id}`, { method: 'DELETE' });
    assert.equal(deleted.status, 204, deleted.text);
    assert.equal((await fetched(signet, path)).status, 404);
    await signet.runJobs();
    assert.deepEqual(await plain(signet.deps.db).all('select * from client_logos'), [], 'its bytes go with it');
  },
);

testSignet(
  'another logo of an approved client waits for its review, and the one before is shown until then',
  { env: reachesLogos },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const admin = await signet.signedInUser({ role: 'admin' });
    const owner = await signet.signedInUser();
    const [first, second] = [`${logoHost}/one.png`, `${logoHost}/two.png`];
    host.givePicture('/one.png', logoOf(64));
    host.givePicture('/two.png', logoOf(80));
    const { client_id } = await signet.registerClient({ owner, logo_url: first, approved: false });
    await signet.runJobs();
    assert.equal(
      (await approve(admin, client_id, { revision: 1 })).status,
      200,
      'without a picture named: the one there is',
    );
    const shown = (await readBy(admin, client_id)).logo_id!;
    const edit = (body: object) =>
      owner.browser.send(`/v1/oauth/clients/${client_id}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });

    assert.equal((await edit({ logo_url: second })).status, 200);
    await signet.runJobs();
    const changed = await readBy(admin, client_id);
    assert.deepEqual([changed.logo_id, changed.logo?.url], [shown, second]);
    assert.notEqual(changed.logo?.picture_id, shown);
    assert.equal((await fetched(signet, `/logos/${shown}`)).status, 200);
    assert.equal((await fetched(signet, `/logos/${changed.logo?.picture_id}`)).status, 404);
    const stale = { revision: changed.revision, logo_id: shown };
    assertRefused(await approve(admin, client_id, stale), 400, 'invalid_request');

    // It is withdrawn, and what is shown is not fetched again for that.
    const asked = host.asked.length;
    assert.equal((await edit({ logo_url: first })).status, 200);
    await signet.runJobs();
    assert.equal(host.asked.length, asked);
    const withdrawn = await readBy(admin, client_id);
    assert.deepEqual([withdrawn.logo_id, withdrawn.logo?.picture_id, withdrawn.logo?.is_shown], [shown, shown, true]);

    assert.equal((await edit({ logo_url: second })).status, 200);
    await signet.runJobs();
    const { revision, logo } = await readBy(admin, client_id);
    assert.equal((await approve(admin, client_id, { revision, logo_id: logo?.picture_id })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, logo?.picture_id);
    assert.equal((await fetched(signet, `/logos/${shown}`)).status, 404, 'the one before is gone');

    // An approval that has nothing to do with it leaves it.
    await edit({ name: 'Another name' });
    const named = await readBy(admin, client_id);
    assert.equal((await approve(admin, client_id, { revision: named.revision })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, logo?.picture_id);

    // Nor does it take it away where it could not be fetched again since, nor does anyone say that it is not shown.
    host.give('/two.png', { status: 404 });
    signet.clock.advance(60);
    const again = await admin.browser.postJson(`/v1/admin/clients/${client_id}/logo`, undefined);
    assert.deepEqual(
      [again.json?.problem, again.json?.picture_id, again.json?.is_shown],
      ['status', logo?.picture_id, true],
    );
    await edit({ name: 'A third name' });
    const reviewer = await admin.browser.get(`/admin/clients/${client_id}`);
    assert.ok(reviewer.text.includes(`name="logo_id" value="${logo?.picture_id}"`));
    const why = pattern`${sentence('developer.logo.problem.status', { detail: '404' })}`;
    assert.match(reviewer.text, why);
    const logoProblem = async () => (await owner.browser.get(`/developer/clients/${client_id}`)).text;
    assert.doesNotMatch(await logoProblem(), why);
    const third = await readBy(admin, client_id);
    const seen = { revision: third.revision, logo_id: third.logo?.picture_id };
    assert.equal((await approve(admin, client_id, seen)).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, logo?.picture_id);
    await edit({ logo_url: `${logoHost}/nowhere.png` });
    await signet.runJobs();
    assert.match(await logoProblem(), pattern`${sentence('developer.logo.failed_new')}`);

    await edit({ logo_url: null });
    const none = await readBy(admin, client_id);
    assert.equal(none.logo, null);
    assert.equal((await approve(admin, client_id, { revision: none.revision })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, null);
    assert.equal((await fetched(signet, `/logos/${logo?.picture_id}`)).status, 404);
  },
);

testSignet(
  'what is no logo is refused with a reason that owner and reviewer read, and is fetched again when a reviewer says so',
  { env: reachesLogos },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const admin = await signet.signedInUser({ role: 'admin' });
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({ owner, logo_url: `${logoHost}/logo.png`, approved: false });
    const fetchAgain = async () => {
      signet.clock.advance(60);
      const { status, json, text } = await admin.browser.postJson(`/v1/admin/clients/${client_id}/logo`, undefined);
      assert.equal(status, 200, text);
      return json as unknown as Logo;
    };
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    const cases: [given: Parameters<typeof host.give>[1], problem: string, detail: string | null][] = [
      [{ body: Buffer.alloc(5 * 1024 * 1024, 'x') }, 'large', null],
      [{ body: svg, headers: { 'content-type': 'image/svg+xml' } }, 'type', null],
      [{ body: '<!doctype html><p>logo', headers: { 'content-type': 'image/png' } }, 'type', null],
      [{ body: logoOf(64).subarray(0, 60) }, 'type', null],
      [{ body: pngOf({ width: 8, height: 8 }) }, 'size', '8 × 8'],
      [{ body: pngOf({ width: 1025, height: 1024 }) }, 'size', '1025 × 1024'],
      [{ body: pngOf({ width: 200, height: 64 }) }, 'size', '200 × 64'],
      [{ status: 404 }, 'status', '404'],
      [{ status: 302, headers: { location: 'https://10.0.0.1/logo.png' } }, 'redirect', '302'],
      [{ body: logoOf(64), stalls: true }, 'slow', null],
    ];
    for (const [given, problem, detail] of cases) {
      host.give('/logo.png', given);
      const logo = await fetchAgain();
      assert.deepEqual([logo.problem, logo.detail, logo.picture_id], [problem, detail, null]);
    }
    for (const internal of ['https://10.0.0.1/logo.png', 'https://[fd00::1]/logo.png', 'https://169.254.169.254/']) {
      host.leadTo('/logo.png', internal);
      assert.equal((await fetchAgain()).problem, 'internal', internal);
    }
    host.leadTo('/logo.png', host.urlOf('nobody', '/'));
    const unreachable = await fetchAgain();
    assert.equal(unreachable.problem, 'unreachable');
    const said = sentence('developer.logo.problem.unreachable', { detail: unreachable.detail! });
    for (const [{ browser }, path] of [
      [admin, `/admin/clients/${client_id}`],
      [owner, `/developer/clients/${client_id}`],
    ] as const) {
      assert.match((await browser.get(path)).text, pattern`${said}`);
    }

    // Without a picture it can be approved, and has none.
    assert.equal((await approve(admin, client_id, { revision: 1 })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, null);
    host.leadTo('/logo.png', host.urlOf('app', '/logo.png'));
    host.givePicture('/logo.png', Buffer.concat([logoOf(64), Buffer.from('<?php')]));
    const { picture_id, is_shown } = await fetchAgain();
    assert.ok(picture_id !== null && !is_shown);
    assert.equal((await fetched(signet, `/logos/${picture_id}`)).status, 404, 'nobody has approved it');
    const policy = (body: object) =>
      admin.browser.send(`/v1/admin/clients/${client_id}/policy`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    assertRefused(await policy({ logo_id: 'f'.repeat(32) }), 400, 'invalid_request');
    const page = await admin.browser.get(`/admin/clients/${client_id}`);
    assert.ok(page.text.includes('id="client-logo-show"'));
    const form = { logo_id: picture_id };
    assert.equal((await admin.browser.post(`/admin/clients/${client_id}/logo/shown`, form)).status, 303);
    assert.equal((await fetched(signet, `/logos/${picture_id}`)).status, 200);
    const [event] = await signet.auditLog({ action: 'client.policy_changed', target: client_id });
    assert.equal(JSON.parse(event!.after_state!).logo_id, picture_id);
    assert.equal((await admin.browser.post(`/admin/clients/${client_id}/logo/shown`, { logo_id: '' })).status, 303);
    assert.equal((await fetched(signet, `/logos/${picture_id}`)).status, 404);
  },
);

testSignet(
  'one fetch at a time, a bounded number of them by itself, and none by who may not',
  { env: reachesLogos },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({ owner, logo_url: `${logoHost}/logo.png`, approved: false });
    host.give('/logo.png', { status: 503 });
    for (let hours = 0; hours < 5; hours += 1) {
      await signet.runJobs();
      signet.clock.advance(3600);
    }
    assert.equal(host.asked.length, 3);
    const admin = await signet.signedInUser({ role: 'admin' });
    await owner.signIn();

    const path = `/v1/admin/clients/${client_id}/logo`;
    host.givePicture('/logo.png');
    const both = await Promise.all([1, 2, 3].map(() => admin.browser.postJson(path, undefined)));
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 429, 429]);
    assert.equal(host.asked.length, 4);
    assertRefused(await owner.browser.postJson(path, undefined), 403, 'access_denied');
    const without = await signet.registerClient({ owner, approved: false });
    const answer = await admin.browser.postJson(`/v1/admin/clients/${without.client_id}/logo`, undefined);
    assertRefused(answer, 409, 'invalid_state');

    // While a reviewer reads, another one fetches anew: what was read is not what is there.
    const seen = (await readBy(admin, client_id)).logo!.picture_id;
    host.givePicture('/logo.png', logoOf(100));
    signet.clock.advance(60);
    assert.equal((await admin.browser.postJson(path, undefined)).status, 200);
    assertRefused(await approve(admin, client_id, { revision: 1, logo_id: seen }), 400, 'invalid_request');
    assert.equal((await approve(admin, client_id, { revision: 1, logo_id: null })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, null, 'none, if the reviewer says so');
  },
);

testSignet(
  'the logo of a first-party client that is approved as it is registered is shown once it is there',
  { env: { ...reachesLogos, SIGNET_SELF_APPROVAL: 'on' } },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const admin = await signet.signedInUser({ role: 'admin' });
    host.givePicture('/own.png');
    const body = {
      name: 'Wiki',
      client_type: 'public',
      redirect_uris: ['https://wiki.rp.test/cb'],
      logo_url: `${logoHost}/own.png`,
    };
    const made = await admin.browser.postJson('/v1/admin/clients', body);
    assert.equal(made.status, 200, made.text);
    const client_id = made.json!.client_id as string;
    assert.equal((await approve(admin, client_id, { revision: 1 })).status, 200);
    assert.equal((await readBy(admin, client_id)).logo_id, null);
    await signet.runJobs();
    const { logo_id, logo } = await readBy(admin, client_id);
    assert.ok(logo_id !== null && logo?.is_shown);
    assert.equal((await fetched(signet, `/logos/${logo_id}`)).status, 200);
  },
);

testSignet(
  'approved clients whose logo no reviewer has looked at are listed and counted, until one has decided about it',
  { env: reachesLogos },
  async ({ signet, t }) => {
    const host = await openLogoHost(t, signet);
    const admin = await signet.signedInUser({ role: 'admin' });
    host.givePicture('/logo.png');
    const clients = [];
    for (const name of ['Old', 'Late', 'Broken', 'Fine'])
      clients.push(await signet.registerClient({ name, logo_url: `${logoHost}/logo.png`, consent: 'required' }));
    await signet.registerClient({ name: 'Without' });
    const [old, late, broken, fine] = clients.map(({ client_id }) => client_id);
    const db = plain(signet.deps.db);
    await db.run('delete from client_logos where client_id in ($1, $2)', [old!, broken!]);
    const listed = async () => {
      const { json } = await admin.browser.get('/v1/admin/clients?status=unseen_logo');
      return (json!.clients as { name: string }[]).map(({ name }) => name).sort();
    };
    assert.deepEqual(await listed(), ['Broken', 'Old'], 'the others are about to be fetched');
    signet.clock.advance(60);
    await signet.runJobs();
    assert.deepEqual(await listed(), ['Broken', 'Fine', 'Late', 'Old'], 'whose host answered after the approval');

    const page = await admin.browser.get('/admin/clients');
    assert.match(page.text, pattern`state=unseen_logo"[^>]*>${sentence('admin.clients.filter.unseen_logo')} \(4\)<`);
    const list = await admin.browser.get('/admin/clients?state=unseen_logo');
    for (const id of [old, late, broken, fine]) assert.ok(list.text.includes(`href="/admin/clients/${id}"`));
    assert.match(list.text, sentence('admin.clients.unseen_logo'));

    const decide = async (client_id: string, logo_id: string | null) => {
      signet.clock.advance(1);
      const answer = await admin.browser.patch(`/v1/admin/clients/${client_id}/policy`, { logo_id });
      assert.equal(answer.status, 200, answer.text);
    };
    await decide(fine!, (await readBy(admin, fine!)).logo!.picture_id);
    await decide(late!, null);
    assert.deepEqual(
      await listed(),
      ['Broken', 'Late', 'Old'].filter((name) => name !== 'Late'),
    );
    host.give('/logo.png', { status: 404 });
    assert.equal((await admin.browser.postEmpty(`/v1/admin/clients/${broken}/logo`)).status, 200);
    assert.deepEqual(await listed(), ['Old'], 'there is nothing to look at');
    host.givePicture('/logo.png');
    assert.equal((await admin.browser.postEmpty(`/v1/admin/clients/${old}/logo`)).status, 200);
    assert.deepEqual(await listed(), ['Old']);
    await decide(old!, (await readBy(admin, old!)).logo!.picture_id);
    assert.deepEqual(await listed(), []);
    assert.doesNotMatch((await admin.browser.get('/admin/clients')).text, /state=unseen_logo/);
  },
);
