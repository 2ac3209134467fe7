import assert from 'node:assert/strict';
import fc from 'fast-check';
import { removePassword } from '../../src/authentication/credentials/passwords.store.ts';
import { type Credential, type Lies, newAuthenticator } from '../support/authenticator.ts';
import { onBothEngines } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { sentence } from '../support/messages.ts';
import {
  assertNotSignedIn,
  confirmWithPasskey,
  pages,
  passkeyOptions,
  passkeysOf,
  postAssertion,
  postPasskey,
  signInWithPasskey,
  twenty,
} from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

testSignet('passkeys of a user', { env: { SIGNET_RATE_LIMITS: 'off' }, mail: true }, async ({ signet, mailbox, t }) => {
  const everyMailSent = () =>
    until('no mail waits', async () => {
      await signet.deps.mail.deliver();
      return (await plain(signet.deps.db).all('select mail_id from outgoing_mails')).length === 0;
    });

  await t.test('are asked for as the decisions say', async () => {
    const user = await signet.signedInUser();
    const first = await user.addPasskey();
    const creation = await passkeyOptions(user.browser, '/v1/me/passkeys');
    assert.deepEqual(creation.rp, { name: 'Signet', id: 'localhost' });
    assert.deepEqual(creation.authenticatorSelection, {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    });
    assert.equal(creation.attestation, 'none');
    assert.deepEqual(
      (creation.pubKeyCredParams as { alg: number }[]).map(({ alg }) => alg),
      [-8, -7, -257],
    );
    assert.deepEqual(creation.excludeCredentials, [
      { id: first.credential_id, type: 'public-key', transports: ['hybrid', 'internal'] },
    ]);
    const assertion = await passkeyOptions(signet.newBrowser(), '/signin/passkey');
    assert.deepEqual(
      [assertion.rpId, assertion.userVerification, assertion.allowCredentials],
      ['localhost', 'required', []],
    );
    assert.notEqual(assertion.challenge, (await passkeyOptions(signet.newBrowser(), '/signin/passkey')).challenge);
  });

  await t.test('are offered after a sign-in with a password, until the user declines or has one', async () => {
    const user = await signet.signedInUser();
    const isOffered = async ({ browser } = user) => (await browser.get('/account')).text.includes('passkey-offer');
    assert.ok(await isOffered());
    const declined = await user.browser.post('/account/passkey-offer');
    assert.equal(declined.location, '/account');
    const kept = declined.headers.getSetCookie().find((line) => line.includes('_passkey_offer='));
    assert.match(kept ?? '', /Max-Age=7776000/);
    assert.ok(!(await isOffered()));
    const elsewhere = await user.signedInElsewhere();
    assert.ok(await isOffered(elsewhere), 'another device may be the better place');
    await user.addPasskey();
    assert.ok(!(await isOffered(elsewhere)));
  });

  await t.test('NO-01: adding, renaming and removing are in the log; adding and removing send one mail', async () => {
    const user = await signet.signedInUser();
    const { id } = await user.addPasskey(undefined, 'Old name');
    assert.match((await mailbox.next(user.email)).subject, sentence('mail.passkey_added.subject'));
    const rename = {
      method: 'PATCH',
      body: JSON.stringify({ name: 'New name' }),
      headers: { origin: signet.url, 'content-type': 'application/json' },
    };
    assert.equal((await user.browser.send(`/v1/me/passkeys/${id}`, rename)).json?.name, 'New name');
    assert.equal((await user.browser.delete(`/v1/me/passkeys/${id}`)).status, 204);
    const mail = await mailbox.next(user.email);
    assert.match(mail.subject, sentence('mail.passkey_removed.subject'));
    assert.match(mail.text, sentence('mail.passkey_removed.text', { passkey: 'New name' }));
    const happened = await signet.auditLog({ target: user.user_id });
    for (const action of ['passkey.added', 'passkey.renamed', 'passkey.removed']) {
      assert.equal(happened.filter((event) => event.action === action).length, 1, action);
    }
    assert.deepEqual(await passkeysOf(user), []);
    assert.equal(mailbox.mails.filter(({ to }) => to === user.email).length, 2);
  });

  await t.test('registration: whatever is not what we asked for is refused, and nothing is kept', async () => {
    const user = await signet.signedInUser();
    const lies: Lies[] = [
      { origin: 'https://evil.example' },
      { origin: `${signet.url}0` },
      { rpId: 'evil.example' },
      { verified: false },
      { present: false },
      { crossOrigin: true },
      { type: 'webauthn.get' },
      { challenge: Buffer.alloc(150).toString('base64url') },
      { challenge: (await passkeyOptions(user.browser, '/signin/passkey')).challenge },
      { challenge: (await passkeyOptions(user.browser, '/signin/confirm/passkey')).challenge },
      { challenge: (await passkeyOptions((await signet.signedInUser()).browser, '/v1/me/passkeys')).challenge },
      { attestation: { fmt: 'none', attStmt: new Map([['x5c', []]]) } },
      {
        attestation: {
          fmt: 'packed',
          attStmt: new Map<unknown, unknown>([
            ['alg', -7],
            ['sig', Buffer.alloc(70)],
            ['x5c', [Buffer.alloc(10)]],
          ]),
        },
      },
      {
        attestation: {
          fmt: 'packed',
          attStmt: new Map<unknown, unknown>([
            ['alg', -7],
            ['sig', Buffer.alloc(70)],
          ]),
        },
      },
      { attestation: { fmt: 'android-safetynet', attStmt: new Map() } },
    ];
    for (const lie of lies) {
      const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
      const answer = await postPasskey(user.browser, newAuthenticator(signet.url).create(options, lie));
      assertRefused(answer, 400, 'invalid_request');
    }
    const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
    const credential = newAuthenticator(signet.url).create(options);
    for (const name of ['', ' ', 'x'.repeat(101), 'a\u202eb', 'a\nb'])
      assertRefused(await postPasskey(user.browser, credential, name), 400, 'invalid_request');
    const otherId = Buffer.alloc(32, 1).toString('base64url');
    assertRefused(
      await postPasskey(user.browser, { ...credential, id: otherId, rawId: otherId }),
      400,
      'invalid_request',
    );
    assert.deepEqual(await passkeysOf(user), []);
    assert.deepEqual(await signet.auditLog({ target: user.user_id, action: 'passkey.added' }), []);
    assert.equal((await postPasskey(user.browser, credential)).status, 201); // none of that used the challenge up
  });

  await t.test(
    'registration: a challenge is good once, for five minutes, in its browser and for its user',
    async () => {
      const user = await signet.signedInUser();
      await user.addPasskey(); // confirmed with it, the session may add more
      const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
      const [first, second] = [newAuthenticator(signet.url), newAuthenticator(signet.url)];
      assert.equal((await postPasskey(user.browser, first.create(options))).status, 201);
      assertRefused(await postPasskey(user.browser, second.create(options)), 400, 'invalid_request');

      const late = await passkeyOptions(user.browser, '/v1/me/passkeys');
      signet.clock.advance(300);
      assertRefused(await postPasskey(user.browser, second.create(late)), 400, 'invalid_request');

      const elsewhere = await passkeyOptions(user.browser, '/v1/me/passkeys');
      const session = user.browser.cookies.get('signet_identity_session') ?? '';
      const other = signet.newBrowser();
      other.cookies.set('signet_identity_session', session);
      assertRefused(await postPasskey(other, second.create(elsewhere)), 400, 'invalid_request');
      assert.equal((await postPasskey(user.browser, second.create(elsewhere))).status, 201);
    },
  );

  await t.test('registration: of twenty uses of one challenge, one is kept', async () => {
    const user = await signet.signedInUser();
    await user.addPasskey();
    const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
    const answers = await twenty(() => postPasskey(user.browser, newAuthenticator(signet.url).create(options)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(400)]);
    assert.equal((await passkeysOf(user)).length, 2);
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'passkey.added' })).length, 2);
  });

  await t.test('registration: a credential that is registered cannot be registered again by any user', async () => {
    const [owner, other] = [await signet.signedInUser(), await signet.signedInUser()];
    const authenticator = await owner.addPasskey();
    for (const user of [owner, other]) {
      const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
      assertRefused(await postPasskey(user.browser, authenticator.create(options)), 409, 'invalid_state');
    }
    assert.deepEqual(await passkeysOf(other), []);
  });

  await t.test('registration: twenty fit, also when more are added at once', async () => {
    const user = await signet.signedInUser();
    await user.addPasskey();
    const creations = await Promise.all(
      Array.from({ length: 22 }, () => passkeyOptions(user.browser, '/v1/me/passkeys')),
    );
    const answers = await Promise.all(
      creations.map((options) => postPasskey(user.browser, newAuthenticator(signet.url).create(options))),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(19).fill(201), 409, 409, 409]);
    assert.equal((await passkeysOf(user)).length, 20);
    assertRefused(await user.browser.postEmpty('/v1/me/passkeys/options'), 409, 'invalid_state');
  });

  await t.test('SS-06: changing passkeys takes a recent sign-in, reading them a session', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const { id } = authenticator;
    const options = await passkeyOptions(user.browser, '/v1/me/passkeys');
    const credential = newAuthenticator(signet.url).create(options);
    signet.clock.advance(901);
    assertRefused(await user.browser.postEmpty('/v1/me/passkeys/options'), 403, 'reauthentication_required');
    assertRefused(await postPasskey(user.browser, credential), 403, 'reauthentication_required');
    assertRefused(await user.browser.delete(`/v1/me/passkeys/${id}`), 403, 'reauthentication_required');
    for (const path of [pages, `${pages}/${id}/remove`, `${pages}/${id}/name`]) {
      const answer = await user.browser.post(path);
      const next = encodeURIComponent(`${pages}?unfinished=1`);
      assert.equal(answer.location, `/signin/confirm?next=${next}`);
    }
    assert.equal((await passkeysOf(user))[0]?.name, 'Key');
    await confirmWithPasskey(user.browser, authenticator);
    assert.equal((await user.browser.post(`${pages}/${id}/name`, { name: 'Renamed' })).status, 303);
    assert.deepEqual(
      (await passkeysOf(user)).map(({ name }) => name),
      ['Renamed'],
    );

    const stranger = signet.newBrowser();
    for (const path of ['/v1/me/passkeys/options', '/v1/me/passkeys'])
      assertRefused(await stranger.postJson(path, {}), 401, 'login_required');
    assertRefused(await stranger.get('/v1/me/passkeys'), 401, 'login_required');
  });

  await t.test("another user's passkey answers like one that does not exist", async () => {
    const [owner, other] = [await signet.signedInUser(), await signet.signedInUser()];
    const { id } = await owner.addPasskey();
    const json = { origin: signet.url, 'content-type': 'application/json' };
    for (const init of [
      { method: 'DELETE', headers: json },
      { method: 'PATCH', headers: json, body: '{"name":"Mine"}' },
      { method: 'PATCH', headers: json, body: '{}' },
    ]) {
      const body = init.method === 'DELETE' ? { ...init, headers: { origin: signet.url } } : init;
      const foreign = await other.browser.send(`/v1/me/passkeys/${id}`, body);
      const unknown = await other.browser.send('/v1/me/passkeys/pk_unknown', body);
      assertRefused(foreign, 404, 'not_found');
      assert.equal(foreign.text, unknown.text);
    }
    for (const deed of ['name', 'remove']) {
      const foreign = await other.browser.post(`${pages}/${id}/${deed}`, { name: 'Mine' });
      const unknown = await other.browser.post(`${pages}/pk_unknown/${deed}`, { name: 'Mine' });
      assert.deepEqual([foreign.status, unknown.status], [404, 404]);
      assert.equal(foreign.text, unknown.text);
    }
    assert.deepEqual(
      (await passkeysOf(owner)).map(({ name }) => name),
      ['Key'],
    );
  });

  await t.test('a passkey that says it is synced is shown as such, until it says otherwise', async () => {
    const user = await signet.signedInUser();
    const authenticator = newAuthenticator(signet.url);
    await user.addPasskey(authenticator);
    for (const synced of [false, true, true, false]) {
      authenticator.synced = synced;
      await signInWithPasskey(signet, authenticator);
      assert.deepEqual(
        (await passkeysOf(user)).map((passkey) => passkey.synced),
        [synced],
      );
    }
  });

  await t.test('the last way to sign in cannot be removed, also when two go at once', async () => {
    const user = await signet.signedInUser();
    const [one, other] = [await user.addPasskey(), await user.addPasskey()];
    const { sql, params } = removePassword(user.user_id);
    await plain(signet.deps.db).run(sql, params);
    const answers = await Promise.all([
      user.browser.delete(`/v1/me/passkeys/${one.id}`),
      user.browser.delete(`/v1/me/passkeys/${other.id}`),
      user.browser.delete(`/v1/me/passkeys/${one.id}`),
      user.browser.delete(`/v1/me/passkeys/${other.id}`),
    ]);
    const [last, ...none] = await passkeysOf(user);
    assert.equal(none.length, 0);
    assert.equal(answers.filter(({ status }) => status === 204).length, 1);
    assertRefused(await user.browser.delete(`/v1/me/passkeys/${String(last?.id)}`), 409, 'invalid_state');
    const page = await user.browser.post(`${pages}/${last?.id}/remove`);
    assert.equal(page.status, 409);
    assert.match(page.text, sentence('passkey.problem.last_sign_in_method'));
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'passkey.removed' })).length, 1);
  });

  await t.test('of twenty removals of one passkey, one happens, with one mail', async () => {
    const user = await signet.signedInUser();
    const { id } = await user.addPasskey();
    const statuses = (await twenty(() => user.browser.delete(`/v1/me/passkeys/${id}`))).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [204, ...Array(19).fill(404)]);
    await mailbox.next(user.email, sentence('mail.passkey_removed.subject'));
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'passkey.removed' })).length, 1);
    await everyMailSent();
    assert.equal(
      mailbox.mails.filter(
        ({ to, subject }) => to === user.email && sentence('mail.passkey_removed.subject').test(subject),
      ).length,
      1,
    );
  });

  await t.test('a pending sign-in starts again when a passkey is added or removed', async () => {
    const user = await signet.signedInUser();
    await user.enableTotp();
    for (const change of [
      () => user.addPasskey(),
      async () => user.browser.delete(`/v1/me/passkeys/${String((await passkeysOf(user))[0]?.id)}`),
    ]) {
      const browser = signet.newBrowser();
      await user.with({ browser }).signIn();
      await change();
      assert.equal((await browser.get('/signin/second-factor')).location, '/signin?stay=1');
    }
  });

  await t.test('nothing that is posted ends in a 5xx or signs a user in', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const browser = signet.newBrowser();
    const assertion = authenticator.get(await passkeyOptions(browser, '/signin/passkey'), { verified: false });
    const creation = newAuthenticator(signet.url).create(await passkeyOptions(user.browser, '/v1/me/passkeys'), {
      verified: false,
    });
    for (const text of ['', '{', 'null', '[]', '"x"', '1', '{"__proto__":{}}', '{"id":{}}', 'é']) {
      assertNotSignedIn(await browser.post('/signin/passkey', { credential: text }), browser, 400, text);
      assert.equal((await user.browser.post(pages, { credential: text, name: 'Key' })).status, 400, text);
    }
    await fc.assert(
      fc.asyncProperty(damaged(assertion), damaged(creation), async (wrongAssertion, wrongCreation) => {
        const answer = await postAssertion(browser, '/signin/passkey', wrongAssertion);
        assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
        const kept = await postPasskey(user.browser, wrongCreation);
        assert.equal(kept.status, 400, kept.text);
      }),
      { numRuns: 60 },
    );
    assert.equal((await passkeysOf(user)).length, 1);
  });
});

/** A credential with one thing of it changed. */
function damaged(credential: Credential): fc.Arbitrary<unknown> {
  const places = [...Object.keys(credential), ...Object.keys(credential.response).map((name) => `response.${name}`)];
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array).toString('base64url'));
  const clientData = fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url'));
  const value = fc.oneof(fc.jsonValue(), bytes, clientData, fc.string());
  return fc.tuple(fc.constantFrom(...places), value).map(([place, wrong]) => {
    const copy = structuredClone(credential) as unknown as Record<string, Record<string, unknown>>;
    const [outer = '', inner] = place.split('.');
    if (inner === undefined) copy[outer] = wrong as Record<string, unknown>;
    else if (copy.response) copy.response[inner] = wrong;
    return copy;
  });
}

onBothEngines('at an IP address no passkey is offered, since browsers make none there', async (t, engine) => {
  const port = await freePort();
  const env = { SIGNET_PORT: String(port), SIGNET_BASE_URL: `http://127.0.0.1:${port}` };
  const signet = await startSignet(t, { engine, env });
  const user = await signet.signedInUser();
  assert.doesNotMatch((await signet.newBrowser().get('/signin')).text, /data-passkey|webauthn-/);
  const page = await user.browser.get(pages);
  assert.match(page.text, sentence('passkey.add.address'));
  assert.doesNotMatch(page.text, /data-passkey/);
});
