import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import * as openidClient from 'openid-client';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { libraries } from '../../src/clients/libraries/catalogue.ts';
import { registerClient } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from '../../src/clients/review-client.ts';
import { locales } from '../../src/platform/i18n/translate.ts';
import { dangerousSkewSeconds } from '../../src/platform/processes.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const cli = { actor: 'cli' } as const;
const api = '/v1/oauth/clients';
const page = (client_id: string, part = '') => `/developer/clients/${client_id}${part}`;
const remove = (browser: Browser, path: string) => browser.delete(path);

const filledIn = {
  name: 'Example shop',
  client_type: 'confidential',
  redirect_uris: 'https://shop.test/callback\r\nhttp://localhost:3000/callback',
  'scope openid': 'on',
  'scope email': 'on',
  id_token_signed_response_alg: 'EdDSA',
  homepage_url: 'https://shop.test/',
  policy_uri: ' https://shop.test/privacy',
};
const register = (user: TestUser, changes: Record<string, string> = {}) =>
  user.browser.post('/developer/register', { ...filledIn, ...changes });

const idIn = ({ text }: Answer) => /<code id="client-id">(cl_[\w-]{22})<\/code>/.exec(text)?.[1] ?? '';
const secretIn = ({ text }: Answer) => /<code id="client-secret">(cs_[\w-]{43})<\/code>/.exec(text)?.[1] ?? '';

type Secret = { secret_id: string; created_at: number; expires_at: number | null } & {
  name: string | null;
  last_four: string | null;
  last_used_at: number | null;
};
type Secrets = { secrets: Secret[] };
const secretsOf = async ({ browser }: TestUser, client_id: string) =>
  ((await browser.get(`${api}/${client_id}/secrets`)).json as Secrets).secrets;

type Activity = {
  sign_ins: Record<string, unknown>[];
  sign_ins_complete: boolean;
  failures: Record<string, unknown>[];
};
const activityOf = async ({ browser }: TestUser, client_id: string) =>
  (await browser.get(`${api}/${client_id}/activity`)).json as Activity;

/** Failures are written after the answer, so a test asks until they are there. */
async function failuresOf(user: TestUser, client_id: string, count: number) {
  for (let attempt = 0; ; attempt += 1) {
    const { failures } = await activityOf(user, client_id);
    if (failures.length >= count || attempt === 200) return failures;
    await pause(5);
  }
}

testSignet('a developer registers, follows the review, edits and deletes', async ({ signet, t }) => {
  const ada = await signet.signedInUser();
  const answer = await register(ada);
  const [client_id, client_secret] = [idIn(answer), secretIn(answer)];

  /** A client that was approved, and its owner, who has no other. */
  async function approvedClient() {
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({
      owner,
      name: 'Ada’s shop',
      redirect_uris: filledIn.redirect_uris.split('\r\n'),
      allowed_scopes: ['openid', 'email'],
      homepage_url: filledIn.homepage_url,
    });
    return { owner, client_id };
  }

  await t.test('the secret is shown in the answer to the form, and never again', async () => {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.ok(client_id && client_secret, answer.text);
    const paths = [
      '/developer',
      ...['', '/edit', '/secrets', '/activity', '/delete'].map((part) => page(client_id, part)),
    ];
    for (const path of paths) {
      const shown = await ada.browser.get(path);
      assert.equal(shown.status, 200, path);
      assert.doesNotMatch(shown.text, /cs_[\w-]{20}/, path);
      assert.equal(shown.headers.get('cache-control'), 'no-store');
    }
  });

  await t.test('what was typed is what is registered', async () => {
    const { json } = await ada.browser.get(`${api}/${client_id}`);
    assert.deepEqual(
      [json?.name, json?.redirect_uris, json?.allowed_scopes, json?.homepage_url, json?.policy_uri, json?.tos_uri],
      [
        'Example shop',
        ['https://shop.test/callback', 'http://localhost:3000/callback'],
        ['openid', 'email'],
        'https://shop.test/',
        'https://shop.test/privacy',
        null,
      ],
    );
  });

  await t.test('the state can be followed, with the words of the reviewer', async () => {
    signet.clock.advance(7200);
    const waiting = await ada.browser.get(page(client_id));
    assert.match(
      waiting.text,
      pattern`${sentence('developer.state.pending_review')}.*${sentence('developer.state.pending_review.what')}`,
    );
    await rejectClient(signet.deps, { client_id, caller: cli }, 'Which shop <b>is</b> this?');
    for (const path of ['/developer', page(client_id)]) {
      const rejected = await ada.browser.get(path);
      assert.match(
        rejected.text,
        pattern`${sentence('developer.state.rejected')}.*Which shop &lt;b&gt;is&lt;/b&gt; this\?`,
      );
    }
    const form = await ada.browser.get(page(client_id, '/edit'));
    const revision = /name="revision" value="(\d+)"/.exec(form.text)?.[1] ?? '';
    const edited = await ada.browser.post(page(client_id, '/edit'), { ...filledIn, revision, name: 'Ada’s shop' });
    assert.equal(edited.location, `${page(client_id)}?done=resubmitted`);
    assert.match((await ada.browser.get(page(client_id))).text, sentence('developer.state.pending_review'));
    await approveClient(signet.deps, { client_id, caller: cli }, { revision: 2 });
    await plain(signet.deps.db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
       insert into audit_log (event_id, at, action, actor, target)
       select 'evt_' || i, cast($1 as bigint), 'consent.given', 'user:usr_' || i, $2 from n`,
      [signet.clock() / 1000 + 1, client_id],
    );
    const popular = (await ada.browser.get(page(client_id))).text;
    assert.match(popular, sentence('developer.history.approved'), 'however many use it since');
    assert.doesNotMatch(popular, sentence('developer.history.older', { count: 50 }));
    await plain(signet.deps.db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
       insert into audit_log (event_id, at, action, actor, target)
       select 'evt_edit_' || i, cast($1 as bigint), 'client.edited', 'cli', $2 from n`,
      [signet.clock() / 1000 + 1, client_id],
    );
    assert.match((await ada.browser.get(page(client_id))).text, sentence('developer.history.older', { count: 50 }));
  });

  await t.test(
    'a rejection is answered by a note, without a changed field, which the reviewer reads beside the diff',
    async () => {
      const owner = await signet.signedInUser();
      const admin = await signet.signedInUser({ role: 'admin' });
      const made = await register(owner, { note_to_reviewer: 'It sells <b>books</b>.' });
      const client_id = idIn(made);
      const reviewed = async () => (await admin.browser.get(`/admin/clients/${client_id}`)).text;
      const quoted = (note: string) => new RegExp(`id="client-note".*${note}`, 's');
      assert.match(await reviewed(), quoted('It sells &lt;b&gt;books'));
      await rejectClient(signet.deps, { client_id, caller: cli }, 'The home page says nothing.');
      assert.doesNotMatch(await reviewed(), /id="client-note"/, 'it is answered');

      const form = (await owner.browser.get(page(client_id, '/edit'))).text;
      assert.match(form, sentence('developer.edit.submit.again'));
      assert.match(form, /The home page says nothing\./);
      const again = { ...filledIn, revision: '1', note_to_reviewer: 'It does now.\r\nSee above.' };
      const submitted = await owner.browser.post(page(client_id, '/edit'), again);
      assert.equal(submitted.location, `${page(client_id)}?done=resubmitted`);
      const shown = (await owner.browser.get(page(client_id))).text;
      assert.match(shown, sentence('developer.state.pending_review'));
      assert.match(shown, pattern`${sentence('developer.history.note')}.*It sells &lt;b&gt;books`);
      assert.match(await reviewed(), quoted('It does now.\nSee above.'));
      const { json } = await admin.browser.get(`/v1/admin/clients/${client_id}`);
      assert.deepEqual([json?.note_to_reviewer, json?.revision], ['It does now.\nSee above.', 2]);
      const [event] = await signet.auditLog({ action: 'client.edited', target: client_id });
      assert.equal(event?.reason, 'It does now.\nSee above.');

      const same = await owner.browser.post(page(client_id, '/edit'), { ...again, revision: '2' });
      assert.equal(same.location, `${page(client_id)}?done=unchanged`);
      assert.match((await owner.browser.get(same.location ?? '')).text, sentence('developer.done.unchanged'));
      const long = await owner.browser.post(page(client_id, '/edit'), { ...again, note_to_reviewer: 'x'.repeat(501) });
      assert.match(long.text, sentence('problem.client.note_to_reviewer'));
      await approveClient(signet.deps, { client_id, caller: cli }, { revision: 2 });
      const kept = await owner.browser.post(page(client_id, '/edit'), { ...filledIn, revision: '2' });
      assert.equal(kept.location, `${page(client_id)}?done=unchanged`, 'of an approved client, too');
      const nothing = await owner.browser.post(page(client_id, '/withdraw'));
      assert.equal(nothing.location, `${page(client_id)}?done=unchanged`);
    },
  );

  await t.test(
    'an edit of an approved client waits, is shown beside what is in force, and can be withdrawn',
    async () => {
      const { owner, client_id } = await approvedClient();
      const changes = { redirect_uris: 'https://shop.test/new', revision: '1', name: 'Ada’s shop' };
      const edited = await owner.browser.post(page(client_id, '/edit'), { ...filledIn, ...changes });
      assert.equal(edited.location, `${page(client_id)}?done=staged`);
      const shown = await owner.browser.get(page(client_id, '/edit'));
      assert.match(
        shown.text,
        pattern`${sentence('developer.current_version')}.*${sentence('developer.waiting')}.*/callback.*/new`,
      );
      assert.match(
        (await owner.browser.get('/developer')).text,
        pattern`${sentence('developer.state.approved')}<.*${sentence('developer.state.change')}`,
      );
      const stale = await owner.browser.post(page(client_id, '/edit'), {
        ...filledIn,
        ...changes,
        name: 'Typed with care',
      });
      assert.equal(stale.status, 409);
      assert.match(stale.text, pattern`${sentence('developer.edit.stale')}.*value="Typed with care"`);
      const withdrawn = await owner.browser.post(page(client_id, '/withdraw'));
      assert.equal(withdrawn.location, `${page(client_id)}?done=withdrawn`);
      const { json } = await owner.browser.get(`${api}/${client_id}`);
      assert.deepEqual([json?.pending_change, json?.status], [null, 'approved']);
    },
  );

  await t.test('a suspended client says why', async () => {
    const { owner, client_id } = await approvedClient();
    await suspendClient(signet.deps, { client_id, caller: cli }, 'Too many complaints.');
    assert.match(
      (await owner.browser.get('/developer')).text,
      pattern`${sentence('developer.state.suspended')}.*Too many complaints\.`,
    );
  });

  await t.test('deleting takes a recent sign-in and the name of the client', async () => {
    const { owner, client_id } = await approvedClient();
    await suspendClient(signet.deps, { client_id, caller: cli }, 'Too many complaints.');
    signet.clock.advance(901);
    const confirm = (next: string) => `/signin/confirm?next=${encodeURIComponent(next)}`;
    const form = page(client_id, '/delete');
    assert.equal((await owner.browser.get(form)).location, confirm(form));
    const early = await owner.browser.post(page(client_id, '/delete'), { name: 'Ada’s shop' });
    assert.equal(early.location, confirm(`${form}?unfinished=1`));
    assertRefused(await remove(owner.browser, `${api}/${client_id}`), 403, 'reauthentication_required');
    await owner.signIn();
    // The suspension has to be known to the reviewer of the next client of this owner.
    const suspended = await owner.browser.post(page(client_id, '/delete'), { name: 'Ada’s shop' });
    assert.deepEqual([suspended.status, sentence('clients.suspended_stays').test(suspended.text)], [409, true]);
    assertRefused(await remove(owner.browser, `${api}/${client_id}`), 409, 'invalid_state');
    for (const path of ['', '/delete']) {
      const shown = (await owner.browser.get(page(client_id, path))).text;
      assert.match(shown, sentence('clients.suspended_stays'));
      assert.doesNotMatch(shown, /href="[^"]*\/delete"|action="[^"]*\/delete"/);
    }
    await reinstateClient(signet.deps, { client_id, caller: cli });
    const wrong = await owner.browser.post(page(client_id, '/delete'), { name: 'Example shop' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, sentence('developer.delete.wrong'));
    assert.equal((await owner.browser.get(`${api}/${client_id}`)).status, 200);
    const gone = await owner.browser.post(page(client_id, '/delete'), { name: ' Ada’s shop ' });
    assert.equal(gone.location, '/developer?done=deleted');
    assert.equal((await owner.browser.get(page(client_id))).status, 404);
  });
});

test('the form', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();

  await t.test('keeps everything that was typed and says what is wrong with each field', async () => {
    const answer = await register(ada, {
      name: 'a\u202eb',
      redirect_uris: 'https://shop.test/ok\nhttp://shop.test/cb\njavascript:alert(1)',
      logo_url: 'http://shop.test/"><script>',
    });
    assert.equal(answer.status, 400);
    assert.match(answer.text, sentence('problem.client.name'));
    assert.match(answer.text, pattern`http://shop\.test/cb</bdi></code> ${sentence('problem.redirect_uri.http')}`);
    assert.match(
      answer.text,
      pattern`javascript:alert\(1\)</bdi></code> ${sentence('problem.redirect_uri.private_use')}`,
    );
    assert.match(
      answer.text,
      />\nhttps:\/\/shop\.test\/ok\nhttp:\/\/shop\.test\/cb\njavascript:alert\(1\)<\/textarea>/,
    );
    assert.match(answer.text, /value="http:\/\/shop\.test\/&quot;&gt;&lt;script&gt;"/);
    assert.match(answer.text, /value="confidential" required checked/);
    assert.match(answer.text, /name="scope email" value="on" checked/);
    assert.doesNotMatch(answer.text, /name="scope profile" value="on" checked/);
    assert.doesNotMatch(answer.text, /<script>/);
    assert.deepEqual((await ada.browser.get(api)).json, { clients: [] });
  });

  await t.test('misses what is missing, in words for people and in their language', async () => {
    const answer = await ada.browser.post('/developer/register', { name: 'x' }, { 'accept-language': 'de' });
    assert.equal(answer.status, 400);
    for (const field of ['redirect_uris', 'client_type', 'allowed_scopes', 'id_token_signed_response_alg'] as const) {
      assert.match(answer.text, sentence(`problem.client.${field}`, {}, 'de'));
    }
  });

  await t.test('a public client gets no secret and goes straight to its page', async () => {
    const answer = await register(ada, { client_type: 'public' });
    assert.equal(answer.status, 303);
    assert.match(answer.location, /^\/developer\/clients\/cl_[\w-]{22}\?done=registered$/);
    const shown = await ada.browser.get(answer.location!);
    assert.match(shown.text, sentence('developer.done.registered'));
    assert.doesNotMatch(shown.text, /\/secrets"/);
  });

  await t.test('cannot choose what an administrator decides', async () => {
    const answer = await register(ada, { status: 'approved', consent: 'skip', owner_user_id: 'usr_x', revision: '9' });
    const { json } = await ada.browser.get(`${api}/${idIn(answer)}`);
    assert.deepEqual([json?.status, json?.revision], ['pending_review', 1]);
  });

  await t.test('the limits are explained, and nothing that was typed is lost', async () => {
    const eve = await signet.signedInUser();
    for (let times = 0; times < 5; times += 1) assert.equal((await register(eve)).status, 200);
    const sixth = await register(eve, { name: 'Typed with care' });
    assert.equal(sixth.status, 429);
    assert.equal(sixth.headers.get('retry-after'), '3600');
    assert.match(sixth.text, pattern`${sentence('developer.limit.hour')}.*value="Typed with care"`);
    for (let hour = 0; hour < 3; hour += 1) {
      signet.clock.advance(3600);
      for (let times = 0; times < 5; times += 1) assert.equal((await register(eve)).status, 200);
    }
    signet.clock.advance(3600);
    assert.match((await eve.browser.get('/developer/register')).text, sentence('developer.limit.pending', { max: 20 }));
    const late = await register(eve, { name: 'Typed with care' });
    assert.equal(late.status, 429);
    assert.match(late.text, pattern`${sentence('developer.limit.pending', { max: 20 })}.*value="Typed with care"`);
  });
});

test('a draft can be checked before it is sent, by the same rules, and nothing is changed', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();
  const check = (body: unknown, query = '') => ada.browser.postJson(`${api}/check${query}`, body);
  assert.deepEqual((await check({})).json, { fields: [] });
  assert.deepEqual((await check({ name: 'x', redirect_uris: ['https://rp.test/cb'] })).json, { fields: [] });
  const redirect_uris = ['https://rp.test/cb', 'https://rp.test/*', 'http://rp.test/cb'];
  assert.deepEqual((await check({ redirect_uris })).json, {
    fields: [
      { path: 'redirect_uris/1', message: message('problem.redirect_uri.wildcard') },
      {
        path: 'redirect_uris/2',
        message: message('problem.redirect_uri.http'),
      },
    ],
  });
  const ofDevice = { redirect_uris: ['com.example.app:/cb'] };
  const asWeb = [{ path: 'redirect_uris/0', message: message('problem.redirect_uri.scheme') }];
  for (const [kind, fields] of [
    [{}, []],
    [{ application_type: 'native' }, []],
    [{ application_type: 'spa' }, asWeb],
    [{ application_type: 'web', client_type: 'confidential', token_endpoint_auth_method: 'client_secret_post' }, asWeb],
  ] as const) {
    assert.deepEqual((await check({ ...ofDevice, ...kind })).json, { fields });
  }
  assert.deepEqual(
    (await check({ client_type: 'confidential', application_type: 'spa', token_endpoint_auth_method: 'none' })).json,
    {
      fields: [
        { path: 'application_type', message: message('problem.client.application_type.secret') },
        {
          path: 'token_endpoint_auth_method',
          message: message('problem.client.token_endpoint_auth_method.confidential'),
        },
      ],
    },
  );
  assert.deepEqual((await check({ application_type: 'web', redirect_uris: ['javascript:x'] })).json, {
    fields: [{ path: 'redirect_uris/0', message: message('problem.redirect_uri.private_use') }],
  });
  const german = await check({ redirect_uris: ['https://rp.test/*'] }, '?ui_locales=de');
  assert.match(german.text, sentence('problem.redirect_uri.wildcard', {}, 'de'));
  const nothing = await check({ status: 'approved', name: 7 });
  assert.equal(nothing.status, 200);
  assert.equal((nothing.json as { fields: unknown[] }).fields.length, 2);
  assert.deepEqual((await check({ logo_url: 7 })).json, {
    fields: [{ path: 'logo_url', message: 'Must be string or null.' }],
  });
  assertRefused(
    await signet.newUser().then(({ browser }) => browser.postJson(`${api}/check`, {})),
    401,
    'login_required',
  );
  assert.deepEqual((await ada.browser.get(api)).json, { clients: [] });
});

testSignet('secrets of a client', async ({ signet, t }) => {
  const ada = await signet.signedInUser();
  const client = await signet.registerClient({ owner: ada });
  const { client_id } = client;
  const path = `${api}/${client_id}/secrets`;
  const works = async (client_secret: string | null, of = client) => {
    const answer = await of.with({ client_secret }).post('/oauth/introspect', { token: 'x' });
    return answer.status === 200;
  };
  /** A client of its own for one case, with `second` beside the secret of its registration. */
  async function withTwoSecrets() {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    signet.clock.advance(1);
    const path = `${api}/${client.client_id}/secrets`;
    const second = String((await owner.browser.postJson(path, {})).json?.client_secret);
    return { owner, client, client_id: client.client_id, path, second };
  }

  await t.test(
    'the list of secrets has when they were made and used and when they end, and nothing secret',
    async () => {
      const [first, ...others] = await secretsOf(ada, client_id);
      const shown = ['created_at', 'expires_at', 'last_four', 'last_used_at', 'name', 'secret_id'];
      assert.deepEqual(Object.keys(first!).sort(), shown);
      assert.deepEqual([others.length, first?.expires_at], [0, null]);
    },
  );

  await t.test('a secret may have a name, and shows its last characters and, to the hour, its last use', async () => {
    const { owner, client, client_id, path, second } = await withTwoSecrets();
    const uses = async () => {
      await signet.deps.clientSecretUses.flush();
      return (await secretsOf(owner, client_id)).map(({ last_used_at }) => last_used_at);
    };
    const [first, other] = await secretsOf(owner, client_id);
    assert.deepEqual([first?.name, other?.last_four], [null, second.slice(-4)]);
    assert.deepEqual(await uses(), [null, null]);

    const at = Math.floor(signet.clock() / 1000);
    await client.with({ client_secret: second }).introspect('none');
    await client.with({ client_secret: `${second}x` }).introspect('none');
    assert.deepEqual(await uses(), [null, at]);
    signet.clock.advance(1800);
    await client.with({ client_secret: second }).introspect('none');
    assert.deepEqual(await uses(), [null, at], 'of one hour the first use is kept');
    signet.clock.advance(3600);
    await client.with({ client_secret: second }).introspect('none');
    assert.deepEqual(await uses(), [null, at + 5400]);

    await owner.signIn();
    await owner.browser.delete(`${path}/${first?.secret_id}`);
    signet.clock.advance(1);
    assert.equal((await owner.browser.postJson(path, { name: '\u202e' })).status, 400);
    const page = `/developer/clients/${client_id}/secrets`;
    assert.equal((await owner.browser.post(page, { name: 'Berlin <b>' })).status, 200);
    const { text } = await owner.browser.get(page);
    assert.match(text, /Berlin &lt;b&gt;<\/bdi> <code>cs_…/);
    assert.match(text, sentence('secret.unused'));
    await ada.signIn();
  });

  await t.test('the last one cannot be retired, however it is asked', async () => {
    const [only] = await secretsOf(ada, client_id);
    const refused = await remove(ada.browser, `${path}/${only!.secret_id}`);
    assertRefused(refused, 409, 'invalid_state');
    const onPage = await ada.browser.post(page(client_id, `/secrets/${only!.secret_id}/retire`), { ends: 'week' });
    assert.equal(onPage.status, 409);
    assert.match(onPage.text, sentence('problem.secret.last'));
    assert.ok(await works(client.client_secret!));
  });

  await t.test('a second one is shown once, both work, and a third is refused', async () => {
    signet.clock.advance(1);
    const added = await ada.browser.postJson(path, {});
    assert.equal(added.status, 200);
    assert.equal(added.headers.get('cache-control'), 'no-store');
    const second = String(added.json?.client_secret);
    assert.match(second, /^cs_[\w-]{43}$/);
    assert.ok((await works(client.client_secret!)) && (await works(second)));
    assertRefused(await ada.browser.postJson(path, {}), 409, 'invalid_state');
    assertRefused(await ada.browser.postJson(path, { expires_at: 1 }), 400, 'invalid_request');
    assert.doesNotMatch((await ada.browser.get(path)).text, /cs_|hash/);
  });

  await t.test('an overlap ends when it was said to, and the other one stays', async () => {
    const { owner, client, client_id, path, second } = await withTwoSecrets();
    const [older, newer] = await secretsOf(owner, client_id);
    for (const bad of ['-1', '604801', '1.5', 'x', '1e3']) {
      assertRefused(
        await remove(owner.browser, `${path}/${older!.secret_id}?overlap_seconds=${bad}`),
        400,
        'invalid_request',
      );
    }
    const retired = await remove(owner.browser, `${path}/${older!.secret_id}?overlap_seconds=86400`);
    assert.equal(retired.json?.expires_at, Math.floor(signet.clock() / 1000) + 86_400);
    assertRefused(await remove(owner.browser, `${path}/${newer!.secret_id}`), 409, 'invalid_state');
    signet.clock.advance(86_399);
    assert.ok(await works(client.client_secret, client));
    signet.clock.advance(1);
    assert.ok(!(await works(client.client_secret, client)));
    assert.ok(await works(second, client));
    assert.equal((await secretsOf(owner, client_id)).length, 1);
    assert.match(String((await failuresOf(owner, client_id, 1)).at(0)?.code), /^secret_ended$/);
  });

  await t.test('adding and retiring take a recent sign-in, on the page and in JSON', async () => {
    const { owner, client, client_id, path, second } = await withTwoSecrets();
    const [first] = await secretsOf(owner, client_id);
    await remove(owner.browser, `${path}/${first!.secret_id}`);
    signet.clock.advance(86_400);
    const [only] = await secretsOf(owner, client_id);
    assertRefused(await owner.browser.postJson(path, {}), 403, 'reauthentication_required');
    assertRefused(await remove(owner.browser, `${path}/${only!.secret_id}`), 403, 'reauthentication_required');
    const secrets = page(client_id, '/secrets');
    const confirm = (next: string) => `/signin/confirm?next=${encodeURIComponent(next)}`;
    assert.equal((await owner.browser.get(secrets)).location, confirm(secrets));
    const posted = await owner.browser.post(secrets);
    assert.equal(posted.location, confirm(`${secrets}?unfinished=1`));
    await owner.signIn();
    assert.equal((await owner.browser.post(secrets, { ends: 'never' })).status, 400);
    const added = await owner.browser.post(secrets, { ends: 'hour' });
    assert.equal(added.status, 200);
    assert.match(added.text, sentence('developer.secret.replaced'));
    assert.ok((await works(secretIn(added), client)) && (await works(second, client)));
    // The one that ended is not kept: its digest has no use any more.
    const kept = await plain(signet.deps.db).all('select secret_id from client_secrets where client_id = $1', [
      client_id,
    ]);
    assert.equal(kept.length, 2);
    const [old, made] = await secretsOf(owner, client_id);
    assert.deepEqual([old?.expires_at, made?.expires_at], [Math.floor(signet.clock() / 1000) + 3600, null]);
    const retired = await owner.browser.post(`${secrets}/${old!.secret_id}/retire`, { ends: 'now' });
    assert.equal(retired.location, `${secrets}?done=retired`);
    assert.ok(!(await works(second, client)));
    assert.ok(await works(secretIn(added), client));
  });

  await t.test('of ten added at once one is kept, and of two retired at once one stays', async () => {
    const owner = await signet.signedInUser();
    const { client_id } = await signet.registerClient({ owner });
    const path = `${api}/${client_id}/secrets`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => owner.browser.postJson(path, {})));
    assert.deepEqual(
      answers.map(({ status }) => status).filter((status) => status === 200),
      [200],
    );
    const both = await secretsOf(owner, client_id);
    assert.equal(both.length, 2);
    await Promise.all(both.map(({ secret_id }) => remove(owner.browser, `${path}/${secret_id}`)));
    const left = await secretsOf(owner, client_id);
    assert.deepEqual(
      left.map(({ expires_at }) => expires_at),
      [null],
    );
  });

  await t.test('a public client has none to add', async () => {
    const owner = await signet.signedInUser();
    const open = await signet.registerClient({ owner, client_type: 'public' });
    assertRefused(await owner.browser.postJson(`${api}/${open.client_id}/secrets`, {}), 409, 'invalid_state');
    assert.equal((await owner.browser.post(page(open.client_id, '/secrets'))).status, 409);
  });

  await t.test('the review is where it was: no revision and no date has moved, and the log has each step', async () => {
    const { owner, client_id, path } = await withTwoSecrets();
    const [first] = await secretsOf(owner, client_id);
    await remove(owner.browser, `${path}/${first!.secret_id}`);
    signet.clock.advance(1); // the list is in the order of creation
    const secrets = page(client_id, '/secrets');
    assert.equal((await owner.browser.post(secrets, { ends: 'hour' })).status, 200);
    const [old] = await secretsOf(owner, client_id);
    await owner.browser.post(`${secrets}/${old!.secret_id}/retire`, { ends: 'now' });
    const { json } = await owner.browser.get(`${api}/${client_id}`);
    assert.deepEqual([json?.revision, json?.status], [1, 'approved']);
    const rows = await signet.auditLog({ target: client_id });
    const count = (action: string) => rows.filter((row) => row.action === action).length;
    assert.deepEqual([count('client.secret_added'), count('client.secret_retired')], [2, 2]);
    assert.doesNotMatch(
      rows.map(({ before_state, after_state }) => `${before_state}${after_state}`).join(),
      /cs_|hash/,
    );
  });
});

testSignet('who signed in lately, and what failed and why', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const user = await signet.signedInUser();
  const client = await signet.registerClient({
    owner,
    redirect_uris: ['https://rp.test/cb', 'https://rp.test/other'],
  });

  await t.test('a sign-in is a subject, a time and a scope, connected or not', async () => {
    const { refresh_token } = await user.obtainTokens(client);
    await user.authorize(client); // a code that is not redeemed is no sign-in
    await signet.deps.signInCounter.flush();
    const list = (await owner.browser.get('/developer')).text;
    assert.match(list, new RegExp(`<a href="/developer/clients/${client.client_id}">`));
    assert.match(list, sentence('developer.list.week', { signIns: 1, failures: 0 }));
    assert.match(list, new RegExp(`<code id="issuer">${signet.url}</code>`));
    const [signIn, ...others] = (await activityOf(owner, client.client_id)).sign_ins;
    assert.deepEqual([others.length, signIn?.sub, signIn?.connected], [0, user.user_id, true]);
    assert.deepEqual(Object.keys(signIn!).sort(), ['at', 'connected', 'ended_because', 'last_used_at', 'scope', 'sub']);
    const next = (await client.refresh(refresh_token)).json?.refresh_token;
    assert.ok(next);
    await client.refresh(refresh_token);
    const ended = (await activityOf(owner, client.client_id)).sign_ins[0];
    assert.deepEqual([ended?.connected, ended?.ended_because], [false, 'replay']);
    const shown = await owner.browser.get(page(client.client_id, '/activity'));
    assert.match(shown.text, new RegExp(user.user_id));
    assert.ok(!shown.text.includes(user.email), 'the user is a subject, not an address');
    await user.browser.post('/signout');
    await signInAgain(user);
    await user.obtainTokens(client);
    await user.browser.post('/signout');
    assert.ok((await activityOf(owner, client.client_id)).sign_ins.some((one) => one.ended_because === 'disconnected'));
    await signInAgain(user);
  });

  await t.test('behind many codes that were not redeemed there may be more', async () => {
    const busy = await signet.registerClient({ owner });
    const { db } = signet.deps;
    const state = async () => {
      const { sign_ins, sign_ins_complete } = await activityOf(owner, busy.client_id);
      const { text } = await owner.browser.get(page(busy.client_id, '/activity'));
      return [sign_ins.length, sign_ins_complete, text.includes('id="sign-ins-incomplete"')];
    };
    assert.deepEqual(await state(), [0, true, false]);
    await user.obtainTokens(busy);
    const leaveCodes = (from: number, to: number) =>
      plain(db).run(
        `with recursive n(i) as (select cast($2 as bigint) union all select i + 1 from n where i < $3)
         insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                             code_expires_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at,
                             session_token_hash, client_epoch, user_epoch)
         select 'gr_left' || i, client_id, user_id, session_id, scope, redirect_uri, 'left' || i, code_challenge,
                code_expires_at, 0, idle_expires_at, expires_at, auth_time, amr, acr, created_at + 1,
                session_token_hash, client_epoch, user_epoch
           from n cross join grants where client_id = $1 and redeemed_at is not null`,
        [busy.client_id, from, to],
      );
    await leaveCodes(1, 199);
    assert.deepEqual(await state(), [1, true, false]);
    await leaveCodes(200, 200);
    assert.deepEqual(await state(), [0, false, true]);
    const { text } = await owner.browser.get(page(busy.client_id, '/activity'));
    assert.match(text, sentence('developer.sign_ins.incomplete', { codes: 200 }));
    assert.doesNotMatch(text, sentence('developer.sign_ins.none'));
  });

  const failing: { what: string; code: string; stage: string; run: () => Promise<unknown>; says?: RegExp }[] = [
    {
      what: 'another redirect_uri',
      code: 'redirect_uri_differs',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ redirect_uri: 'https://rp.test/cb/' })),
      says: pattern`rp\.test/cb</bdi>.*rp\.test/cb<mark>/</mark>.*${sentence('developer.differs', { place: 19 })}`,
    },
    {
      what: 'no redirect_uri',
      code: 'redirect_uri_missing',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ redirect_uri: undefined })),
    },
    {
      what: 'no scope that it may have',
      code: 'invalid_scope',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ scope: '<b> groups' })),
      says: /&lt;b&gt; groups/,
    },
    {
      what: 'more scopes than it may have',
      code: 'scope_left_out',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ scope: 'openid <b> entitlements:read' })),
      says: pattern`${sentence('developer.scope.left_out')} <code>.*&lt;b&gt; entitlements:read.*${sentence('developer.scope.allowed')} <code>.*openid profile email`,
    },
    {
      what: 'more at a refresh than was granted',
      code: 'scope_left_out',
      stage: 'token',
      run: async () => {
        const { refresh_token } = await user.obtainTokens(client);
        await client.refresh(refresh_token, { scope: 'openid email' });
      },
      says: pattern`${sentence('developer.scope.left_out')} <code>.*email.*${sentence('developer.scope.allowed')} <code>.*openid offline_access`,
    },
    {
      what: 'an API that there is not',
      code: 'invalid_target',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ resource: 'https://api.test/<b>' })),
      says: /https:\/\/api\.test\/&lt;b&gt;/,
    },
    {
      what: 'an API that there is not, with a code',
      code: 'invalid_target',
      stage: 'token',
      run: async () => client.redeem(await user.authorize(client), { resource: 'https://api.test/<b>' }),
      says: /https:\/\/api\.test\/&lt;b&gt;/,
    },
    {
      what: 'no PKCE',
      code: 'pkce',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ code_challenge: undefined })),
      says: /code_challenge is missing/,
    },
    {
      what: 'another response_type',
      code: 'request',
      stage: 'authorize',
      run: () => user.browser.get(client.authorizePath({ response_type: 'token' })),
      says: /The only supported response_type is code/,
    },
    {
      what: 'a wrong secret',
      code: 'secret_wrong',
      stage: 'client_authentication',
      run: () => client.with({ client_secret: 'cs_wrong' }).refresh('x'),
    },
    {
      what: 'no secret',
      code: 'secret_missing',
      stage: 'client_authentication',
      run: () => client.with({ client_secret: null }).refresh('x'),
    },
    {
      what: 'an unknown code',
      code: 'code_unknown',
      stage: 'token',
      run: () => client.redeem('ac_unknown'),
    },
    {
      what: 'an expired code',
      code: 'code_expired',
      stage: 'token',
      run: async () => {
        const code = await user.authorize(client);
        signet.clock.advance(61);
        await client.redeem(code);
      },
    },
    {
      what: 'a code used twice',
      code: 'code_replayed',
      stage: 'token',
      run: async () => {
        const code = await user.authorize(client);
        await client.redeem(code);
        await client.redeem(code);
      },
    },
    {
      what: 'another redirect_uri at the token endpoint',
      code: 'code_redirect_uri',
      stage: 'token',
      run: async () => client.redeem(await user.authorize(client), { redirect_uri: 'https://rp.test/other' }),
      says: /rp\.test\/<mark>cb<\/mark>.*rp\.test\/<mark>other<\/mark>/s,
    },
    {
      what: 'another verifier',
      code: 'code_verifier',
      stage: 'token',
      run: async () => client.redeem(await user.authorize(client), { code_verifier: 'v'.repeat(43) }),
    },
    {
      what: 'a missing verifier',
      code: 'request',
      stage: 'token',
      run: async () => client.redeem(await user.authorize(client), { code_verifier: undefined }),
      says: /code_verifier is missing/,
    },
    {
      what: 'a grant type that there is not',
      code: 'request',
      stage: 'token',
      run: () => client.redeem('x', { grant_type: 'password' }),
    },
    {
      what: 'an unknown refresh token',
      code: 'refresh_token',
      stage: 'token',
      run: () => client.refresh('rt_x'),
    },
  ];
  for (const { what, code, stage, run, says } of failing) {
    await t.test(`${what} is shown to the owner of the client`, async () => {
      signet.clock.advance(61);
      const before = (await activityOf(owner, client.client_id)).failures.length;
      await run();
      const failures = await failuresOf(owner, client.client_id, before + 1);
      assert.deepEqual([failures.length, failures[0]?.code, failures[0]?.stage], [before + 1, code, stage]);
      if (says) {
        await signInAgain(owner);
        const shown = await owner.browser.get(page(client.client_id, '/activity'));
        assert.match(shown.text, says);
        assert.doesNotMatch(shown.text, /<b>/);
      }
    });
  }

  await t.test('what is kept holds no code, token or secret', async () => {
    signet.clock.advance(61);
    const secret = 'cs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
    const redirect_uri = `https://rp.test/cb?a=${secret}&b=${jwt}&c=${'x'.repeat(1000)}`;
    const before = (await activityOf(owner, client.client_id)).failures.length;
    await user.browser.get(client.authorizePath({ redirect_uri }));
    const [failure] = await failuresOf(owner, client.client_id, before + 1);
    assert.equal(failure?.code, 'redirect_uri_differs');
    assert.ok(String(failure?.sent).length <= 300);
    const rows = await plain(signet.deps.db).all<{ detail: string | null }>('select detail from client_failures', []);
    assert.doesNotMatch(JSON.stringify(rows), /cs_|eyJ|ac_|rt_|dBjft/);
  });

  await t.test('a client that waits for review learns why its requests are refused', async () => {
    const young = await signet.registerClient({ owner, approved: false });
    await user.browser.get(young.authorizePath());
    await young.refresh('x');
    const codes = (await failuresOf(owner, young.client_id, 2)).map(({ code, stage }) => [code, stage]);
    assert.deepEqual(codes.sort(), [
      ['client_not_approved', 'authorize'],
      ['client_not_approved', 'client_authentication'],
    ]);
  });
});

async function signInAgain(user: TestUser): Promise<void> {
  assert.equal((await user.signIn()).status, 303);
}

testSignet(
  "an attacker's failures neither mute nor push out those of the app, of the same kind",
  { env: { SIGNET_TRUST_PROXY: '1' } },
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    const ask = (redirect_uri: string, address: string) =>
      signet.newBrowser().get(client.authorizePath({ redirect_uri }), { 'x-forwarded-for': address });
    const flood = async (minute: number) => {
      for (let one = 0; one < 8; one += 1) await ask(`https://evil.test/${minute}${one}`, '192.0.2.1');
    };
    await flood(0);
    for (let time = 0; time < 2; time += 1) await ask('https://rp.test/callback', '192.0.2.2');
    for (let minute = 1; minute < 4; minute += 1) {
      signet.clock.advance(61);
      await flood(minute);
    }
    await signet.deps.clientFailures.close(); // all of them are written
    const kept = await failuresOf(owner, client.client_id, 10);
    const own = kept.find((failure) => JSON.stringify(failure).includes('https://rp.test/callback'));
    assert.equal(own?.count, 2);
  },
);

testSignet(
  'a flood of failures writes little, and neither mutes nor pushes out another failure',
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    const attacker = await signet.newUser();
    const ask = (changes: Record<string, string | undefined>) => attacker.browser.get(client.authorizePath(changes));
    let writes = 0;
    const stop = beforeEachCall(signet.deps.db, (sql) => {
      writes += sql.filter((text) => text.includes('insert into client_failures')).length;
    });
    const written = async (count: number) => {
      for (let attempt = 0; writes < count && attempt < 200; attempt += 1) await pause(5);
      await pause(20); // one too many would come now
      assert.equal(writes, count);
    };
    await client.with({ client_secret: 'cs_wrong' }).refresh('x');
    await written(1);
    const began = signet.clock() / 1000;

    await Promise.all(Array.from({ length: 100 }, () => ask({ redirect_uri: 'https://evil.test/' })));
    await written(6);
    await ask({ code_challenge: undefined }); // in the minute of the flood, of the same stage
    await written(7);
    const first = await failuresOf(owner, client.client_id, 3);
    assert.deepEqual(first.map(({ code, count }) => [code, count]).sort(), [
      ['pkce', 1],
      ['redirect_uri_differs', 5],
      ['secret_wrong', 1],
    ]);

    for (let minute = 0; minute < 4; minute += 1) {
      signet.clock.advance(61);
      await Promise.all(
        Array.from({ length: 8 }, (_, one) => ask({ redirect_uri: `https://evil.test/${minute}${one}` })),
      );
      await Promise.all(Array.from({ length: 8 }, (_, one) => ask({ scope: `made-up-${minute}${one}` })));
      await written(17 + 10 * minute);
    }
    signet.clock.advance(61);
    await ask({ code_challenge: undefined });
    await written(48);
    stop();
    const last_at = signet.clock() / 1000;
    const kept = await failuresOf(owner, client.client_id, 22);
    const of = (code: string) => kept.filter((failure) => failure.code === code);
    assert.deepEqual([of('redirect_uri_differs').length, of('invalid_scope').length, kept.length], [10, 10, 22]);
    assert.deepEqual([of('secret_wrong')[0]?.at, of('secret_wrong')[0]?.count], [began, 1]);
    const [repeated, ...others] = of('pkce');
    assert.deepEqual([repeated?.at, repeated?.last_at, repeated?.count, others], [began, last_at, 2, []]);
    assert.equal(kept[0]?.code, 'pkce', 'what happened last comes first');
    for (const language of locales) {
      const shown = await owner.browser.get(page(client.client_id, `/activity?ui_locales=${language}`));
      assert.match(shown.text, sentence('developer.failures.repeated', { count: 2 }, language));
    }

    const countRows = async () =>
      (await plain(signet.deps.db).get<{ count: number }>('select count(*) as count from client_failures', []))
        ?.count ?? 0;
    signet.clock.advance(28 * 86_400 + dangerousSkewSeconds);
    await signet.runJobs();
    assert.equal(await countRows(), 1, 'by when it happened last');
    signet.clock.advance(1);
    await signet.runJobs();
    assert.equal(await countRows(), 0);
  },
);

test('a failure that cannot be kept changes no answer', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const wrong = () => client.with({ client_secret: 'cs_wrong' }).post('/oauth/introspect', { token: 'x' });
  const expected = await wrong();
  await failuresOf(owner, client.client_id, 1);
  const { parts } = signet.deps.db;
  for (const { schema } of parts) await plain(parts[0]!).run(`drop table ${schema ? `${schema}.` : ''}client_failures`);
  const answer = await wrong();
  assert.deepEqual([answer.status, answer.text], [expected.status, expected.text]);
  const isLogged = () => signet.logLines.some((line) => line.includes('a client failure was not recorded'));
  for (let attempt = 0; !isLogged() && attempt < 400; attempt += 1) await pause(5);
  assert.ok(isLogged());
  assert.equal((await owner.authorize(client)).startsWith('ac_'), true);
});

test("ID-01: another user's client is no client, on every page and every route, and cross-site writes are refused", async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const stranger = await signet.signedInUser();
  const signedOut = await signet.newUser();
  const { client_id } = await signet.registerClient({ owner });
  const secret_id = (await secretsOf(owner, client_id))[0]!.secret_id;

  const requests = (id: string, origin: string): ((browser: Browser) => Promise<Answer>)[] => {
    const headers = { origin };
    const write = (method: string, path: string) => (browser: Browser) => browser.send(path, { method, headers });
    const json = (path: string) => (browser: Browser) => browser.postJson(path, {}, headers);
    const form = (path: string) => (browser: Browser) =>
      browser.post(path, { ...filledIn, ends: 'now', revision: '1' }, headers);
    return [
      ...['/edit', '/withdraw', '/delete', '/secrets', `/secrets/${secret_id}/retire`].map((part) =>
        form(page(id, part)),
      ),
      json(`${api}/${id}/secrets`),
      write('DELETE', `${api}/${id}/secrets/${secret_id}`),
      write('DELETE', `${api}/${id}`),
    ];
  };
  const reads = (id: string) =>
    [
      ...['', '/edit', '/secrets', '/activity', '/delete'].map((part) => page(id, part)),
      `${api}/${id}/secrets`,
      `${api}/${id}/activity`,
    ].map((path) => (browser: Browser) => browser.get(path));
  const all = (id: string) => [...reads(id), ...requests(id, signet.url)];

  const shape = ({ status, text }: Answer) => [status, text];
  for (const [place, ask] of all(client_id).entries()) {
    const theirs = shape(await ask(stranger.browser));
    assert.equal(theirs[0], 404, `request ${place}`);
    for (const unknown of ['cl_AAAAAAAAAAAAAAAAAAAAAA', '__proto__', 'x']) {
      assert.deepEqual(shape(await all(unknown)[place]!(stranger.browser)), theirs, `request ${place}, ${unknown}`);
    }
    const anonymous = await ask(signedOut.browser);
    assert.ok(anonymous.status === 401 || anonymous.location.startsWith('/signin?'), `request ${place}`);
  }
  const crossSite = [
    ...requests(client_id, 'https://evil.test'),
    (browser: Browser) => browser.post('/developer/register', filledIn, { origin: 'https://evil.test' }),
    (browser: Browser) => browser.postJson(`${api}/check`, {}, { origin: 'https://evil.test' }),
  ];
  for (const ask of crossSite) assert.equal((await ask(owner.browser)).status, 403);
  assert.equal((await secretsOf(owner, client_id)).length, 1);
  const { clients } = (await owner.browser.get(api)).json as { clients: unknown[] };
  assert.equal(clients.length, 1);
});

test('hostile names and addresses are text on every page', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();
  const name = `<img src=x onerror=alert(1)> "'&{{7*7}} Pаypal`; // with a Cyrillic "а"
  const answer = await register(ada, { name, logo_url: 'https://logo.test/x.png', homepage_url: 'https://home.test/' });
  const client_id = idIn(answer);
  const paths = [
    '/developer',
    ...['', '/edit', '/secrets', '/activity', '/delete'].map((part) => page(client_id, part)),
  ];
  for (const shown of [answer, ...(await Promise.all(paths.map((path) => ada.browser.get(path))))]) {
    assert.equal(shown.status, 200);
    assert.match(shown.text, /&lt;img src=x onerror=alert\(1\)&gt;/);
    assert.doesNotMatch(shown.text, /<img src=x|(?:src|href)="https?:/);
    assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'.*img-src 'self'/);
  }
});

test('the settings are what the libraries take', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const ada = await signet.signedInUser();
  const redirect_uri = "https://shop.test/it's?a=$HOME&b=(c)";
  const snippets = async (client: RegisteredClient, library: string) => {
    const { text } = await ada.browser.get(page(client.client_id, `?library=${library}`));
    const found = text.matchAll(/<label for="snippet-\d">([^<]+)<\/label>\n<textarea [^>]*>\n([^<]*)<\/textarea>/g);
    return Object.fromEntries([...found].map(([, file, escaped = '']) => [file, unescaped(escaped)]));
  };
  const scope = 'openid profile email offline_access';

  await t.test('.env, as a parser reads it', async () => {
    for (const uri of [redirect_uri, 'https://shop.test/cb?d=$HOME']) {
      const client = await signet.registerClient({ owner: ada, redirect_uris: [uri] });
      const { '.env': env = '' } = await snippets(client, 'other');
      assert.deepEqual(
        { ...parseEnv(env.replaceAll('\\$', '$')) },
        {
          OIDC_ISSUER: signet.url,
          OIDC_CLIENT_ID: client.client_id,
          OIDC_CLIENT_SECRET: 'paste-the-secret-here',
          OIDC_REDIRECT_URI: uri,
          OIDC_POST_LOGOUT_REDIRECT_URI: 'https://shop.test/',
          OIDC_SCOPE: scope,
        },
      );
    }
  });

  await t.test('openid-client signs a user in with them, with a secret and without', async () => {
    const plain = "https://shop.test/it's/$HOME";
    for (const client_type of ['confidential', 'public'] as const) {
      const client = await signet.registerClient({ owner: ada, client_type, redirect_uris: [redirect_uri, plain] });
      const text = (await snippets(client, 'openid-client'))['sign-in.mjs'] ?? '';
      const { startSignIn, finishSignIn } = await run(text, client.client_secret);
      const { url, checks } = await startSignIn();
      const answer = await ada.browser.get(`${url.pathname}${url.search}`);
      const tokens = await finishSignIn(String(redirectedTo(answer)), checks);
      assert.equal(tokens.claims()?.sub, ada.user_id);
      assert.equal(tokens.scope, scope);
    }
  });

  await t.test('the others hold the values of the client, and nothing breaks out of its quotes', async () => {
    const client = await signet.registerClient({ owner: ada, redirect_uris: [redirect_uri] });
    const { 'auth.config.mjs': authjs = '' } = await snippets(client, 'authjs');
    const { 'application.yml': spring = '', 'SecurityConfig.java': java = '' } = await snippets(
      client,
      'spring-security-6',
    );
    const { 'oauth2-proxy.cfg': proxy = '' } = await snippets(client, 'oauth2-proxy');
    for (const text of [authjs, spring, proxy]) {
      assert.ok(text.includes(`"${client.client_id}"`) && text.includes(`"${signet.url}"`), text);
      assert.ok(!text.includes(client.client_secret!));
    }
    assert.match(authjs, /type: 'oidc'.*AUTH_SIGNET_SECRET in the environment.*checks: \['pkce', 'state'\]/s);
    assert.match(authjs, new RegExp(`scope: "${scope}"`));
    assert.match(
      spring,
      /client-secret: "\$\{OIDC_CLIENT_SECRET\}"\n +client-authentication-method: client_secret_basic/,
    );
    assert.match(spring, /scope: "openid,profile,email,offline_access"/);
    assert.ok(spring.includes(`redirect-uri: "${redirect_uri}"`));
    assert.match(java, /withPkce\(\)/);
    assert.match(proxy, /^code_challenge_method = "S256"$/m);
    assert.ok(proxy.includes(`redirect_url = "${redirect_uri}"`));
  });

  await t.test('those of the registered library come first, and an unknown one changes nothing', async () => {
    const client = await signet.registerClient({ owner: ada, library: 'authlib' });
    for (const asked of ['', 'nothing', '__proto__']) {
      assert.deepEqual(Object.keys(await snippets(client, asked)), ['app.py'], asked);
    }
  });

  await t.test('what would not work is said, with the setting that mends it, and nothing when it would', async () => {
    const gaps = async ({ client_id }: RegisteredClient, library: string) =>
      /<div class="advice" id="gaps">(.*?)<\/div>/s.exec(
        (await ada.browser.get(page(client_id, `?library=${library}`))).text,
      )?.[1] ?? '';
    const edDsa = await signet.registerClient({ owner: ada, redirect_uris: [redirect_uri] });
    assert.match(await gaps(edDsa, 'openid-client'), sentence('developer.gap.query'));
    for (const gap of ['algorithm', 'retry_window', 'post_logout', 'callback'] as const) {
      assert.match(await gaps(edDsa, 'spring-security-7'), sentence(`developer.gap.${gap}`));
    }
    assert.match(await gaps(edDsa, 'next-auth-4'), sentence('developer.gap.claims'));
    const rsa = await signet.registerClient({
      owner: ada,
      id_token_signed_response_alg: 'RS256',
      refresh_retry_window: 10,
      redirect_uris: ['https://shop.test/login/oauth2/code/signet'],
      post_logout_redirect_uris: ['https://shop.test/'],
    });
    assert.equal(await gaps(rsa, 'spring-security-7'), '');
  });
});

test('a registration begins with the kind of app and its library', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();
  const short = async (query: string) => (await ada.browser.get(`/developer/register${query}`)).text;
  const form = (query: string) => short(query === '' ? '' : `${query}&settings=all`);

  await t.test('every library is offered for each kind of app that it is used for', async () => {
    const links = [...(await form('')).matchAll(/href="\/developer\/register\?kind=(\w+)&amp;library=([\w-]+)"/g)];
    const offered = links.map(([, kind, library]) => `${kind} ${library}`);
    assert.deepEqual(
      offered.toSorted(),
      libraries.flatMap(({ id, kinds }) => kinds.map((kind) => `${kind} ${id}`)).toSorted(),
    );
    for (const query of ['?kind=web', '?library=jose', '?kind=desktop&library=jose', '?kind=web&library=__proto__']) {
      assert.match(await form(query), sentence('developer.choice.intro'), query);
    }
  });

  await t.test('the form has what the library needs', async () => {
    const spring = await form('?kind=web&library=spring-security-7');
    assert.match(spring, /value="RS256" required checked/);
    assert.match(spring, /value="confidential" required checked/);
    assert.match(spring, /<option value="client_secret_basic" selected>/);
    assert.match(spring, /<option value="spring-security-7" selected>/);
    assert.match(spring, sentence('developer.advice.retry_window'));
    assert.match(spring, /\/login\/oauth2\/code\/signet/);
    const spa = await form('?kind=spa&library=oidc-client-ts');
    assert.match(spa, /value="spa" required checked/);
    assert.match(spa, /value="public" required checked/);
    assert.match(spa, /<option value="none" selected>/);
    assert.match(await form('?kind=web&library=next-auth-4'), /name="claims_in_id_token" value="on" checked/);
    const unknown = await form('?kind=web&library=other');
    assert.match(unknown, /value="RS256" required checked/);
    assert.match(unknown, /name="claims_in_id_token" value="on" checked/);
    assert.match(await form('?kind=service&library=jose'), sentence('developer.kind.service.advice'));
    for (const library of ['mcp-remote', 'other']) {
      const mcp = await form(`?kind=mcp&library=${library}`);
      assert.match(mcp, sentence('developer.kind.mcp.advice'));
      assert.match(mcp, /value="native" required checked/);
      assert.match(mcp, /value="public" required checked/);
      assert.match(mcp, /value="RS256" required checked/);
      assert.match(mcp, /<option value="none" selected>/);
      assert.match(mcp, /<option value="listed" selected>/);
      const scopes = [...mcp.matchAll(/name="scope (\S+)" value="on" checked/g)].map(([, scope]) => scope);
      assert.deepEqual(scopes, ['openid', 'offline_access']);
      const uri = library === 'mcp-remote' ? 'http://localhost/oauth/callback' : '';
      assert.match(mcp, new RegExp(`<textarea id="redirect_uris"[^>]*>\\n${uri}</textarea>`));
      assert.doesNotMatch(mcp, /name="claims_in_id_token" value="on" checked/);
    }
  });

  await t.test('after the kind of app, a registration asks for a name and an address, and sends the rest', async () => {
    const fieldsIn = (text: string) =>
      [...text.matchAll(/<(?:input|textarea|select) id="(\w+)" name/g)]
        .map(([, id]) => id)
        .filter((id) => id !== 'jump');
    for (const query of [
      '?kind=web&library=spring-security-7',
      '?kind=spa&library=oidc-client-ts',
      '?kind=mcp&library=other',
    ])
      assert.deepEqual(fieldsIn(await short(query)), ['name', 'redirect_uris'], query);
    const text = await short('?kind=spa&library=oidc-client-ts');
    const [, all = ''] = /href="([^"]+)" id="register-all"/.exec(text) ?? [];
    assert.ok(
      fieldsIn((await ada.browser.get(all.replaceAll('&amp;', '&'))).text).length > 10,
      'everything, on demand',
    );
    const eve = await signet.signedInUser();
    /** The form as it is sent by a browser. */
    const fill = async (redirect_uris: string, changes = {}) => {
      const { text: drawn } = await eve.browser.get('/developer/register?kind=spa&library=oidc-client-ts');
      const hidden = drawn
        .split('id="client-form"')[1]!
        .matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
      const sent = Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value]));
      return eve.browser.post('/developer/register', { ...sent, name: 'Short form', redirect_uris, ...changes });
    };
    const refused = await fill('http://shop.test/callback');
    assert.equal(refused.status, 400);
    assert.deepEqual(fieldsIn(refused.text), ['name', 'redirect_uris'], 'as it was filled in');
    assert.match(refused.text, /value="Short form"/);
    assert.match(refused.text, sentence('problem.redirect_uri.http'));
    const wrong = await fill('https://shop.test/callback', { application_type: 'none' });
    assert.equal(wrong.status, 400);
    assert.ok(fieldsIn(wrong.text).length > 10, 'what is wrong behind it is shown');
    const done = await fill('https://shop.test/callback');
    const [, client_id = ''] = /clients\/(cl_[\w-]+)\?done=registered/.exec(done.location) ?? [];
    const { json } = await eve.browser.get(`${api}/${client_id}`);
    const { client_type, application_type, library, allowed_scopes, post_logout_redirect_uris: after } = json ?? {};
    assert.deepEqual(
      { client_type, application_type, library, allowed_scopes, after },
      {
        client_type: 'public',
        application_type: 'spa',
        library: 'oidc-client-ts',
        allowed_scopes: ['openid', 'profile', 'email'],
        after: ['https://shop.test/'],
      },
    );
  });

  await t.test('what the choice of a library sets is folded, and opens when something in it is wrong', async () => {
    const open = (text: string) => [...text.matchAll(/<details id="(\w+)" open>/g)].map(([, id]) => id);
    const spring = await form('?kind=web&library=spring-security-7');
    assert.match(spring, sentence('developer.form.library', { library: 'Spring Security 7 (client)' }));
    assert.deepEqual(open(spring), []);
    assert.doesNotMatch(spring, /SIGNET_/, 'settings of the operator');
    const visible = spring.replaceAll(/<details id="(?:technical|more)".*?<\/details>/gs, '');
    const asked = [...visible.matchAll(/<(?:input|textarea|select) id="(\w+)"/g)].map(([, id]) => id);
    assert.deepEqual(asked, ['name', 'redirect_uris'], 'and the scopes');
    for (const [name, wrong] of [
      ['logo_url', 'http://x'],
      ['note_to_reviewer', 'x'.repeat(501)],
    ] as const) {
      assert.deepEqual(open((await register(ada, { [name]: wrong })).text), ['more']);
    }
    assert.deepEqual(open((await register(ada, { application_type: 'spa' })).text), ['technical']);
    const foo = (await register(ada, { redirect_uris: 'foo', sign_out: 'root' })).text;
    assert.equal(
      foo.match(/<code><bdi>foo<\/bdi><\/code>|<code>foo<\/code>/g)?.length ?? foo.split('>foo<').length - 1,
      1,
    );
    assert.match(foo, sentence('problem.redirect_uri.scheme'));
    assert.doesNotMatch(foo, sentence('problem.client.redirect_uris'));
  });

  await t.test(
    'the address that the snippet returns to after a sign-out is registered unless it is not wanted',
    async () => {
      const registered = async (sign_out: string, more: Record<string, string> = {}) => {
        const owner = await signet.signedInUser();
        const client_id = idIn(await register(owner, { sign_out, ...more }));
        return (await owner.browser.get(`${api}/${client_id}`)).json?.post_logout_redirect_uris;
      };
      assert.match(await form('?kind=web&library=openid-client'), /<option value="root" selected>/);
      assert.match(await form('?kind=web&library=better-auth'), /<option value="listed" selected>/);
      assert.match(await form('?kind=web&library=streamlit'), /<option value="callback" selected>/);
      assert.deepEqual(await registered('root'), ['https://shop.test/']);
      assert.deepEqual(await registered('callback'), ['https://shop.test/callback']);
      assert.deepEqual(await registered('listed'), []);
      const listed = { post_logout_redirect_uris: 'https://shop.test/\r\nhttps://shop.test/bye' };
      assert.deepEqual(await registered('root', listed), ['https://shop.test/', 'https://shop.test/bye']);
    },
  );

  await t.test('all of it is registered as it was sent, shown again, and edited', async () => {
    const answer = await register(ada, {
      library: 'express-openid-connect',
      application_type: 'web',
      post_logout_redirect_uris: 'https://shop.test/\r\nhttps://shop.test/bye',
      backchannel_logout_uri: 'https://shop.test/backchannel',
      backchannel_logout_session_required: 'on',
      claims_in_id_token: 'on',
      status_in_access_token: 'on',
      default_acr_values: twoFactors,
      token_endpoint_auth_method: 'client_secret_basic',
    });
    const client_id = idIn(answer);
    const read = async () => (await ada.browser.get(`${api}/${client_id}`)).json;
    const wanted = {
      library: 'express-openid-connect',
      application_type: 'web',
      post_logout_redirect_uris: ['https://shop.test/', 'https://shop.test/bye'],
      backchannel_logout_uri: 'https://shop.test/backchannel',
      backchannel_logout_session_required: true,
      claims_in_id_token: true,
      status_in_access_token: true,
      default_acr_values: [twoFactors],
      token_endpoint_auth_method: 'client_secret_basic',
    };
    assert.partialDeepStrictEqual(await read(), wanted);
    const shown = (await ada.browser.get(page(client_id, '/edit'))).text;
    assert.match(shown, /<option value="express-openid-connect" selected>/);
    assert.match(shown, />\nhttps:\/\/shop\.test\/\nhttps:\/\/shop\.test\/bye<\/textarea>/);
    assert.match(shown, /name="backchannel_logout_uri"[^>]*value="https:\/\/shop\.test\/backchannel"/);
    assert.match(shown, /name="claims_in_id_token" value="on" checked/);
    assert.match(shown, /name="default_acr_values" value="urn:signet:acr:2fa" checked/);
    for (const stored of ['urn:signet:acr:1fa', 'urn:signet:acr:1fa urn:signet:acr:2fa', 'urn:signet:acr:2fa']) {
      await plain(signet.deps.db).run('update clients set default_acr_values = $1 where client_id = $2', [
        JSON.stringify(stored.split(' ')),
        client_id,
      ]);
      const { text } = await ada.browser.get(page(client_id, '/edit'));
      assert.ok(text.includes(`name="default_acr_values" value="${stored}" checked`), 'saving the form keeps it');
      assert.equal(text.match(/name="default_acr_values"[^>]* checked/g)?.length, 1);
    }
    const edited = await ada.browser.post(page(client_id, '/edit'), { ...filledIn, revision: '1', library: '' });
    assert.equal(edited.location, `${page(client_id)}?done=saved`);
    assert.partialDeepStrictEqual(await read(), {
      library: null,
      post_logout_redirect_uris: [],
      backchannel_logout_uri: null,
      claims_in_id_token: false,
      default_acr_values: [],
      token_endpoint_auth_method: null,
    });
  });

  await t.test('each field is refused at its place', async () => {
    const refused = await register(ada, {
      library: 'nothing',
      application_type: 'spa',
      post_logout_redirect_uris: 'http://shop.test/bye',
      backchannel_logout_uri: 'http://shop.test/',
      default_acr_values: 'urn:example:gold',
    });
    assert.equal(refused.status, 400);
    assert.match(refused.text, sentence('problem.client.library'));
    assert.match(
      refused.text,
      pattern`id="default_acr_values-problem"><ul><li>${sentence('problem.client.default_acr_values')}`,
    );
    assert.match(refused.text, /name="default_acr_values" value="" checked/, 'what is refused is not sent again');
    assert.match(refused.text, pattern`http://shop\.test/bye</bdi></code> ${sentence('problem.redirect_uri.http')}`);
    const inconsistent = await register(ada, { application_type: 'spa', token_endpoint_auth_method: 'none' });
    assert.match(inconsistent.text, sentence('problem.client.application_type.secret'));
    assert.match(inconsistent.text, sentence('problem.client.token_endpoint_auth_method.confidential'));
  });

  await t.test('the page of a client says what was chosen in the words of the form', async () => {
    const owner = await signet.signedInUser(); // the registrations of an hour are limited
    const shownFor = async (fields: Record<string, unknown>) => {
      const { client_id } = await signet.registerClient({ owner, ...fields });
      const { text } = await owner.browser.get(page(client_id));
      const rows = [...text.matchAll(/<th scope="row">([^<]+)<\/th>\s*<td[^>]*>([^<]*)</g)];
      return new Map(rows.map(([, name, value]) => [name, value]));
    };
    const method = message('clients.field.token_endpoint_auth_method');
    const bound = await shownFor({ claims_in_id_token: true, token_endpoint_auth_method: 'client_secret_post' });
    assert.equal(bound.get(method), message('developer.authentication.client_secret_post'));
    assert.equal(bound.get(message('clients.field.claims_in_id_token')), message('value.yes'));
    assert.equal(bound.get(message('clients.field.application_type')), message('developer.application_type.web'));
    const free = await shownFor({});
    assert.equal(free.get(method), message('developer.authentication.any'), 'not "none", which is a method');
    assert.equal(free.get(message('clients.field.claims_in_id_token')), message('value.no'));
    assert.equal((await shownFor({ client_type: 'public' })).get(method), message('developer.authentication.none'));
  });

  await t.test('the page of a client says how its library receives logout tokens', async () => {
    const owner = await signet.signedInUser();
    const backchannel_logout_uri = 'https://shop.test/backchannel-logout';
    const advised = async (fields: Record<string, unknown>) => {
      const { client_id } = await signet.registerClient({ owner, ...fields });
      return /<p id="backchannel">(.*?)<\/p>/.exec((await owner.browser.get(page(client_id))).text)?.[1];
    };
    const express = await advised({ library: 'express-openid-connect', backchannel_logout_uri });
    assert.match(express ?? '', /<code>backchannelLogout: \{ store \}<\/code>/);
    assert.match((await advised({ backchannel_logout_uri })) ?? '', /logout_token/);
    assert.equal(await advised({ library: 'express-openid-connect' }), undefined);
  });

  await t.test('the page of a client has the addresses that a library asks for', async () => {
    const { client_id } = await signet.registerClient({ owner: ada });
    const { text } = await ada.browser.get(page(client_id));
    const addresses = {
      issuer: '',
      discovery: '/.well-known/openid-configuration',
      'key-set': '/.well-known/jwks.json',
    };
    for (const [id, path] of Object.entries(addresses)) {
      assert.ok(text.includes(`<code id="${id}">${signet.url}${path}</code>`), id);
      assert.ok(text.includes(`data-copy="${id}"`), id);
    }
  });

  await t.test('a failure names the setting of the library', async () => {
    const cause = async (library: string | null) => {
      const client = await signet.registerClient({ owner: ada, library });
      await ada.browser.get(client.authorizePath({ code_challenge: undefined }));
      await failuresOf(ada, client.client_id, 1);
      return (await ada.browser.get(page(client.client_id, '/activity'))).text;
    };
    assert.match(await cause('mod-auth-openidc'), /<code>OIDCPKCEMethod S256<\/code>/);
    assert.match(await cause(null), sentence('developer.mend.choose'));
    assert.doesNotMatch(await cause('oidc-client-ts'), sentence('developer.mend.choose'));
  });
});

testSignet('a refusal that no redirect takes to the app leads its developer to the failures', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const waiting = await signet.registerClient({ owner, approved: false });
  const elsewhere = 'https://rp.test/elsewhere';
  const logout = new URLSearchParams({ client_id: client.client_id, post_logout_redirect_uri: elsewhere });
  const refused: [typeof client, string][] = [
    [client, client.authorizePath({ redirect_uri: elsewhere })],
    [client, client.authorizePath({ redirect_uri: undefined })],
    [waiting, waiting.authorizePath()],
    [client, `/oauth/logout?${logout}`],
  ];
  const linkOn = (text: string) => /<a id="failures" href="([^"]+)"/.exec(text)?.[1];
  for (const [{ client_id }, path] of refused) {
    const answer = await owner.browser.get(path);
    assert.ok(answer.status === 400 || answer.status === 403, String(answer.status));
    assert.equal(linkOn(answer.text), `/developer/clients/${client_id}/activity`, path);
    assert.doesNotMatch(answer.text, /href="[^"]*rp\.test/, 'what was received is text, and no link');
    if (path.includes('elsewhere')) assert.doesNotMatch(answer.text, /rp\.test.{0,50}\/cb/, 'what is registered');
  }
  await failuresOf(owner, client.client_id, 3);
  assert.match((await owner.browser.get(linkOn((await owner.browser.get(refused[0]![1])).text)!)).text, /rp\.test/);

  const registration = readRegistration({
    name: 'Ownerless',
    client_type: 'public',
    redirect_uris: ['https://rp.test/'],
  });
  const ownerless = await registerClient(signet.deps, { owner_user_id: null, caller: cli }, registration);
  for (const client_id of [ownerless.client.client_id, 'cl_unknown']) {
    const { text } = await owner.browser.get(client.authorizePath({ client_id, redirect_uri: elsewhere }));
    assert.equal(linkOn(text), undefined, 'no developer could open it');
  }
});

const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

type Checks = { pkceCodeVerifier: string; expectedState: string };
type SignInModule = {
  startSignIn(): Promise<{ url: URL; checks: Checks }>;
  finishSignIn(query: string, checks: Checks): ReturnType<typeof openidClient.authorizationCodeGrant>;
};

/** As Node would, but for the imports: this process has the library already, and an environment of its own. */
async function run(text: string, client_secret: string | null): Promise<SignInModule> {
  const imports = /^(?:import \{ env \} from 'node:process';\n)?import \* as client from 'openid-client';\n/;
  assert.match(text, imports);
  const body = text.replace(imports, '').replaceAll('export ', '');
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  const load = AsyncFunction('client', 'env', `${body}\nreturn { startSignIn, finishSignIn };`);
  return load(openidClient, { OIDC_CLIENT_SECRET: client_secret });
}
