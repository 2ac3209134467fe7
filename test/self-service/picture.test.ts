import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const note = 'taken at 52.5200 N';

/** As a browser sends the form of the page. */
function upload({ browser }: TestUser, { url }: Signet, file: Buffer, fields: Record<string, string> = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  body.append('content', new File([new Uint8Array(file)], 'me.svg', { type: 'image/svg+xml' }));
  return browser.send('/account/picture', { method: 'POST', body, headers: { origin: url } });
}

const pictureOf = async ({ browser }: TestUser) => (await browser.get('/v1/me')).json?.picture as string | null;

/** Without a session. */
async function read(url: string) {
  const answer = await fetch(url);
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

testSignet('a user uploads a picture, and it goes wherever their profile goes', async ({ signet, t }) => {
  const client = await signet.registerClient();

  await t.test('from the page, without metadata, under an address that cannot be guessed', async () => {
    const user = await signet.signedInUser({ name: 'Ada Lovelace' });
    const answer = await upload(user, signet, pngOf({ text: note }));
    assert.deepEqual([answer.status, answer.location], [303, '/account?done=picture']);
    const picture = await pictureOf(user);
    assert.match(picture ?? '', new RegExp(`^${signet.url}/pictures/pic_[\\w-]{22}$`));

    const { status, headers, body } = await read(picture!);
    assert.equal(status, 200);
    assert.ok(body.equals(pngOf()), 'the picture, and nothing else of the file');
    const sent = ['content-type', 'x-content-type-options', 'cache-control', 'content-security-policy'];
    assert.deepEqual(
      sent.map((name) => headers.get(name)),
      ['image/png', 'nosniff', 'private, max-age=31536000, immutable', "default-src 'none'; sandbox"],
    );
    assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin');
    assert.equal(headers.get('set-cookie'), null);

    const { access_token } = await user.obtainTokens(client, { scope: 'openid profile' });
    assert.equal((await signet.userinfo(access_token)).json?.picture, picture);
    const path = new URL(picture!).pathname;
    const page = await user.browser.get('/account?done=picture');
    assert.match(page.text, sentence('account.done.picture'));
    assert.equal(page.text.split(`src="${path}"`).length, 3, 'in the menu, and beside the name');
    const admin = await signet.signedInUser({ role: 'admin' });
    assert.ok((await admin.browser.get(`/admin/users/${user.user_id}`)).text.includes(`src="${path}"`));
    const [event] = await signet.auditLog({ target: user.user_id, action: 'user.changed' });
    assert.equal(event?.after_state, '{"fields":["picture"]}');

    const exported = await admin.browser.postJson(`/v1/admin/users/${user.user_id}/export`, { reason: 'Asked for.' });
    const data = JSON.parse(exported.text) as { picture: { media_type: string; content: string } };
    assert.deepEqual(data.picture, { media_type: 'image/png', content: pngOf().toString('base64') });
  });

  await t.test('and a client that asks for it often and reads nothing takes the memory of one', async () => {
    const user = await signet.signedInUser();
    await upload(user, signet, pngOf({ width: 500, height: 500, level: 0 }));
    const { pathname } = new URL((await pictureOf(user))!);
    const before = process.memoryUsage().arrayBuffers;
    const socket = connect(Number(new URL(signet.url).port), '127.0.0.1').pause();
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${new URL(signet.url).host}\r\n\r\n`.repeat(400));
    await signet.userinfo('');
    await sleep(300);
    assert.ok(process.memoryUsage().arrayBuffers - before < 25_000_000, '400 copies would take 100 MB');
    socket.destroy();
  });

  await t.test('another one, the saved profile and a removal do what they say', async () => {
    const user = await signet.signedInUser({ name: 'Grace Hopper' });
    await upload(user, signet, pngOf());
    const first = (await pictureOf(user))!;
    assert.doesNotMatch((await user.browser.get('/account')).text, /name="picture"/, 'no field to fall out of date');
    const replaced = `${signet.url}/pictures/${'pic_'.padEnd(26, 'x')}`;
    for (const [place, shown] of ['', 'https://pictures.example.com/grace.jpg', replaced].entries()) {
      const saved = await user.browser.post('/account', { name: `Grace Brewster ${place}`, picture: shown });
      assert.equal(saved.location, '/account?done=yes');
      assert.equal(await pictureOf(user), first, 'saved from a page that was drawn at any time before');
      assert.equal((await read(first)).status, 200);
    }

    const content = pngOf({ width: 32 }).toString('base64');
    const put = await user.browser.put('/v1/me/picture', { content });
    assert.equal(put.status, 200, put.text);
    const second = put.json?.picture as string;
    assert.equal(await pictureOf(user), second);
    assert.equal((await read(first)).status, 404);
    assert.equal((await read(second)).status, 200);

    const removed = await user.browser.post('/account/picture/remove');
    assert.equal(removed.location, '/account?done=picture_removed');
    assert.equal(await pictureOf(user), null);
    assert.equal((await read(second)).status, 404);

    await upload(user, signet, pngOf());
    const third = (await pictureOf(user))!;
    const elsewhere = 'https://pictures.example.com/grace.jpg';
    await user.browser.patch('/v1/me', { picture: elsewhere });
    assert.equal((await read(third)).status, 404);
    const gone = await user.browser.patch('/v1/me', { picture: third });
    assertRefused(gone, 400, 'invalid_request');
    assert.match(gone.text, /"path":"picture"/);
    assert.equal(await pictureOf(user), elsewhere);
    assert.doesNotMatch(
      (await user.browser.get('/account')).text,
      /<img class="initials/,
      'nothing is loaded from there',
    );
    const alike = third.replace(signet.url, 'https://evil.example');
    assert.equal((await user.browser.patch('/v1/me', { picture: alike })).status, 200);
    const page = await user.browser.get('/account');
    assert.doesNotMatch(page.text, /<img class="initials|picture-remove/, 'nor taken for an upload');
    assert.ok(page.text.includes(`value="${alike}"`));
    await user.browser.post('/account', { name: 'Grace Brewster' });
    assert.equal(await pictureOf(user), alike, 'saved from a page that was drawn after the upload');
    assert.match(page.text, /name="picture_field" value="on"/);
    await user.browser.post('/account', { name: 'Grace Brewster', picture: '', picture_field: 'on' });
    assert.equal(await pictureOf(user), null, 'the field still removes one of another service');
  });

  await t.test('nobody sees the picture of a disabled user', async () => {
    const user = await signet.signedInUser();
    await upload(user, signet, pngOf());
    const picture = (await pictureOf(user))!;
    const admin = await signet.signedInUser({ role: 'admin' });
    const path = `/v1/admin/users/${user.user_id}`;
    assert.equal((await admin.browser.postJson(`${path}/disable`, { reason: 'Abuse.' })).status, 200);
    assert.equal((await read(picture)).status, 404);
    assert.equal((await admin.browser.postJson(`${path}/enable`, {})).status, 200);
    assert.equal((await read(picture)).status, 200);
  });

  await t.test('an administrator removes it, with a reason', async () => {
    const user = await signet.signedInUser({ name: 'Mallory' });
    await upload(user, signet, pngOf());
    const first = (await pictureOf(user))!;
    const admin = await signet.signedInUser({ role: 'admin' });
    const path = `/admin/users/${user.user_id}`;
    const reason = 'Not a face.';
    assertRefused(await user.browser.delete(`/v1${path}/picture`, { reason }), 403, 'access_denied');
    assertRefused(await admin.browser.delete(`/v1${path}/picture`, {}), 400, 'invalid_request');
    assert.equal((await admin.browser.post(`${path}/remove-picture`, {})).status, 400);
    assert.equal((await read(first)).status, 200);

    assert.match((await admin.browser.get(path)).text, sentence('admin.users.picture.what'));
    const removed = await admin.browser.post(`${path}/remove-picture`, { reason });
    assert.equal(removed.location, `${path}?done=picture_removed`, removed.text);
    const page = (await admin.browser.get(removed.location)).text;
    assert.match(page, sentence('admin.users.done.picture_removed'));
    assert.doesNotMatch(page, /user-remove-picture/);
    assert.deepEqual([await pictureOf(user), (await read(first)).status], [null, 404]);
    assertRefused(await admin.browser.delete(`/v1${path}/picture`, { reason }), 409, 'invalid_state');

    await user.browser.patch('/v1/me', { picture: 'https://pictures.example.com/mallory.jpg' });
    assert.equal((await admin.browser.delete(`/v1${path}/picture`, { reason })).status, 204);
    assert.equal(await pictureOf(user), null, 'apps do not get one of another service, either');
    const events = await signet.auditLog({ target: user.user_id, action: 'user.picture_removed' });
    assert.deepEqual(
      events.map((event) => [event.actor, event.reason, event.after_state]),
      Array.from({ length: 2 }, () => [`user:${admin.user_id}`, reason, null]),
    );
  });

  await t.test('a deleted account takes it along', async () => {
    const user = await signet.signedInUser();
    await upload(user, signet, pngOf());
    const picture = (await pictureOf(user))!;
    assert.equal((await user.browser.delete('/v1/me', { email: user.email })).status, 204);
    assert.equal((await read(picture)).status, 404);
  });

  await t.test('what is no picture is refused, and the one before stays', async () => {
    const user = await signet.signedInUser();
    await upload(user, signet, pngOf());
    const before = await pictureOf(user);
    const refused: [Buffer, Parameters<typeof sentence>[0]][] = [
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'problem.picture.type'],
      [pngOf().subarray(0, -4), 'problem.picture.type'],
      [pngOf({ width: 2049, height: 1 }), 'problem.picture.side'],
      [Buffer.concat([pngOf(), Buffer.alloc(256 * 1024)]), 'problem.picture.size'],
      [Buffer.alloc(0), 'problem.picture.missing'],
    ];
    for (const [file, key] of refused) {
      const answer = await upload(user, signet, file);
      assert.equal(answer.status, 400, key);
      assert.match(answer.text, sentence(key, { kb: 256, side: 2048 }));
      assert.match(answer.text, /<input id="content"[^>]* aria-invalid="true"/);
      assertRefused(
        await user.browser.put('/v1/me/picture', { content: file.toString('base64') }),
        400,
        'invalid_request',
      );
    }
    assert.equal((await upload(user, signet, Buffer.alloc(400 * 1024))).status, 413);
    assert.equal((await user.browser.post('/account/picture', { content: 'text' })).status, 400);
    const broken = { method: 'POST', body: 'no parts', headers: { 'content-type': 'multipart/form-data; boundary=x' } };
    assert.equal((await user.browser.send('/account/picture', broken)).status, 400);
    assert.equal(await pictureOf(user), before);
  });

  await t.test('nobody uploads for somebody else', async () => {
    const user = await signet.signedInUser();
    const other = await signet.signedInUser();
    assert.equal((await upload(user, signet, pngOf(), { drawn_for: other.user_id })).status, 409);
    const form = { method: 'POST', body: new FormData(), headers: { origin: 'https://evil.test' } };
    assert.equal((await user.browser.send('/account/picture', form)).status, 403);
    const visitor = signet.newBrowser();
    assertRefused(await visitor.put('/v1/me/picture', { content: '' }), 401, 'login_required');
    assert.equal(await pictureOf(user), null);
    assert.equal((await visitor.get('/pictures/pic_unknown')).status, 404);
    // Elsewhere a form of several parts is no form.
    const parts = new FormData();
    parts.append('name', 'Mallory');
    const answer = await user.browser.send('/account', {
      method: 'POST',
      body: parts,
      headers: { origin: signet.url },
    });
    assert.equal(answer.status, 400);
  });
});
