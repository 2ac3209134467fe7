import assert from 'node:assert/strict';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { testSignet } from '../support/signet.ts';

/** They read text fields alone, shown or not: of a hidden one they learn no name, and keep the password without it, or not at all. */
testSignet(
  'where a password is set or given and no address is asked for, password managers learn whose it is',
  { mail: true, env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, mailbox }) => {
    const user = await signet.signedInUser();
    const stranger = signet.newBrowser();
    await stranger.post('/signup', { email: 'nora@example.com' });
    await stranger.post('/reset', { email: user.email });
    const admin = await signet.signedInUser({ role: 'admin' });
    await admin.browser.post('/admin/users/invite', { email: 'mia@example.com', name: '', locale: 'en' });
    const pathIn = async (to: string, path: RegExp, subject?: RegExp) => linkIn(await mailbox.next(to, subject), path);
    for (const [browser, path, email] of [
      [user.browser, '/account/security/password', user.email],
      [user.browser, '/signin/confirm?next=/account/security', user.email],
      [stranger, await pathIn('nora@example.com', /^\/signup\//), 'nora@example.com'],
      [stranger, await pathIn(user.email, /^\/reset\//, sentence('mail.reset.subject')), user.email],
      [stranger, await pathIn('mia@example.com', /^\/join\//), 'mia@example.com'],
    ] as const) {
      const { status, text } = await browser.get(path);
      assert.equal(status, 200, `${path}: ${text}`);
      const forms = [...text.matchAll(/<form .*?<\/form>/gs)].filter(([form]) => form.includes('type="password"'));
      assert.equal(forms.length, 1, path);
      const [field = ''] = /<input type="text"[^>]* autocomplete="username"[^>]*>/.exec(forms[0]![0]) ?? [];
      assert.ok(field.includes(`value="${email}"`), `${path}: ${field}`);
      // A manager that knows several accounts would else fill in another name than the page shows.
      assert.match(field, / readonly hidden>$/);
    }
  },
);
