import assert from 'node:assert/strict';
import { test } from 'node:test';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { routesOf } from '../support/routes.ts';
import { startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

test('every page tells other sites nothing of itself, and says so in the same headers', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { browser } = await signet.signedInUser({ role: 'admin' });
  let pages = 0;
  for (const { path, methods } of await routesOf(signet.app, signet.url)) {
    if (!methods.includes('GET')) continue;
    const { headers } = await browser.get(path.replace(/:\w+/g, 'x'), { accept: 'text/html' });
    if (headers.get('content-type') !== 'text/html; charset=utf-8') continue;
    pages += 1;
    // A document for a frame of a page of ours.
    if (path === '/admin/brand/preview') {
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
      assert.equal(headers.get('x-frame-options'), 'SAMEORIGIN', path);
      const framed =
        /^default-src 'none'; style-src [^;]+; img-src 'self' data:; form-action 'none'; frame-ancestors 'self'; base-uri 'none'; sandbox allow-same-origin$/;
      assert.match(headers.get('content-security-policy') ?? '', framed);
      continue;
    }
    assert.equal(headers.get('referrer-policy'), 'same-origin', path);
    assert.equal(headers.get('x-frame-options'), 'DENY', path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(
      policy,
      /^default-src 'none'; script-src 'self'; .*img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      path,
    );
  }
  assert.ok(pages > 75, `${pages} pages`);
});

test('a form that may end at a web address of a client may end anywhere, and one at a scheme of its own there alone', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const native = { client_type: 'public', application_type: 'native' } as const;
  const [web, asking, strict, own] = [
    await signet.registerClient({ post_logout_redirect_uris: ['https://rp.test/bye'] }),
    await signet.registerClient({ consent: 'required' }),
    await signet.registerClient({ default_acr_values: [twoFactors] }),
    await signet.registerClient({ ...native, redirect_uris: ['com.example.app:/cb'], consent: 'required' }),
  ];
  const formActionAt = async ({ browser }: Pick<TestUser, 'browser'>, path: string) => {
    const { status, location, headers } = await browser.get(path, { accept: 'text/html' });
    if (location.startsWith('/')) return formActionAt({ browser }, location);
    assert.equal(status, 200, path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /img-src 'self';.* frame-ancestors 'none'; base-uri 'none'$/, path);
    return / (form-action [^;]*);/.exec(policy)?.[1];
  };
  const user = await signet.signedInUser();
  const { browser } = user;
  const visitor = { browser: signet.newBrowser() };
  const waiting = (await visitor.browser.get(web.authorizePath())).location;
  const request = new URL(waiting, signet.url).searchParams.get('request')!;
  await visitor.browser.post('/signup', { email: 'new@example.com', request });
  const signUp = linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//);
  await visitor.browser.post('/reset', { email: user.email, request });
  const reset = linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\//);
  const careful = await signet.signedInUser();
  await careful.enableTotp();
  const halfway = await careful.awaitingSecondFactor();
  const { location } = await halfway.browser.get(web.authorizePath());
  const second = new URL(location, signet.url).searchParams.get('request')!;
  await halfway.signIn({ request: second });
  const bye = new URLSearchParams({ client_id: web.client_id, post_logout_redirect_uri: 'https://rp.test/bye' });

  for (const [who, path] of [
    [visitor, waiting],
    [visitor, `/signup?request=${request}`],
    [visitor, `/reset?request=${request}`],
    [visitor, signUp],
    [visitor, reset],
    [halfway, '/signin/second-factor'],
    [user, asking.authorizePath()],
    [user, web.authorizePath({ prompt: 'select_account' })],
    [user, strict.authorizePath()],
    [user, web.authorizePath({ response_mode: 'form_post' })],
    [user, `/oauth/logout?${bye}`],
  ] as const)
    assert.equal(await formActionAt(who, path), undefined, path);
  assert.equal(await formActionAt(user, own.authorizePath()), "form-action 'self' com.example.app:");
  // An address that was put together by hand ends there as well, and at nothing that is not registered.
  const by = (path: string) => `/signin?${new URLSearchParams({ next: path })}`;
  const stranger = { browser: signet.newBrowser() };
  assert.equal(await formActionAt(stranger, by(web.authorizePath())), undefined);
  assert.equal(await formActionAt(stranger, by(own.authorizePath())), "form-action 'self' com.example.app:");
  const later = await careful.awaitingSecondFactor();
  await later.signIn({ next: own.authorizePath() });
  assert.equal(await formActionAt(later, '/signin/second-factor'), "form-action 'self' com.example.app:");
  const draft = await signet.registerClient({ approved: false });
  for (const path of [
    web.authorizePath({ redirect_uri: 'https://evil.test/cb' }),
    web.authorizePath({ redirect_uri: 'evil.app:/cb' }),
    web.authorizePath({ client_id: 'unknown' }),
    draft.authorizePath(),
    web.authorizePath().replace('/oauth/authorize', '/account'),
  ])
    assert.equal(await formActionAt(stranger, by(path)), "form-action 'self'", path);
  // So do the pages beside it that lead to the same place.
  for (const page of ['/signup', '/reset']) {
    const beside = (path: string) => `${page}?${new URLSearchParams({ next: path })}`;
    assert.equal(
      await formActionAt(stranger, beside(web.authorizePath({ client_id: 'unknown' }))),
      "form-action 'self'",
    );
    assert.equal(await formActionAt(stranger, beside(web.authorizePath())), undefined, page);
  }
  const setUp = `/signin/set-up?${new URLSearchParams({ next: own.authorizePath() })}`;
  assert.equal(await formActionAt(user, setUp), "form-action 'self' com.example.app:");
  // Another browser than the one in which a client began it, and nowhere to go on to.
  for (const path of [signUp, reset, '/signin', `/signup?request=${request}`])
    assert.equal(await formActionAt({ browser: signet.newBrowser() }, path), "form-action 'self'", path);
  assert.equal(await formActionAt({ browser }, `/oauth/logout?client_id=${web.client_id}`), "form-action 'self'");
});

test('no answer has the browser empty its cache, which holds what other sites have put there', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ post_logout_redirect_uris: ['https://rp.test/bye'] });
  const answers = [];
  const leaver = await signet.signedInUser();
  answers.push(await leaver.browser.post('/signout'));
  const user = await signet.signedInUser();
  const { id_token } = await user.obtainTokens(client);
  answers.push(await user.browser.get(`/oauth/logout?${new URLSearchParams({ id_token_hint: id_token })}`));
  const gone = await signet.signedInUser();
  answers.push(await gone.browser.post('/account/delete', { email: gone.email }));
  const deleted = await signet.signedInUser();
  answers.push(await deleted.browser.delete('/v1/me', { email: deleted.email }));
  for (const { status, headers } of answers) {
    assert.ok(status === 303 || status === 204, String(status));
    assert.match(headers.getSetCookie().join(), /_identity_session=; Max-Age=0/);
    assert.equal(headers.get('clear-site-data'), null);
  }
});
