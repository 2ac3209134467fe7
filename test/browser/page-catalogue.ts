import type { Page } from 'playwright-core';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { raiseSomeAlert } from '../support/alerts.ts';
import type { Visitor } from '../support/chromium.ts';
import { askForRecovery, waitForRecovery } from '../support/factor-recoveries.ts';
import { giveLogo } from '../support/logo-host.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import type { Signet } from '../support/signet.ts';
import { type ExpectedPage, openDetails } from './expect-page.ts';
import type { SeededSignet } from './seeded-signet.ts';

type Role = 'visitor' | 'ada' | 'grace' | 'mary' | 'halfway';
export type Visitors = Record<Role, Visitor>;

export type CataloguePage = ExpectedPage & {
  name: string;
  /** Whose cookies the browser has. */
  as: Role;
};

/** Every page there is, and how to get to see it. */
export async function cataloguePages(seeded: SeededSignet, visitors: Visitors): Promise<CataloguePage[]> {
  return [
    ...(await signInPages(seeded, visitors)),
    ...(await linkPages(seeded)),
    ...accountPages,
    ...(await setUpPages(seeded, visitors)),
    ...(await consentPages(seeded, visitors)),
    ...(await logoutPages(seeded)),
    ...(await alertPages(seeded)),
  ];
}

/** Where an authorization request waits for the user of that browser. */
async function waiting({ page }: Visitor, { url }: Signet, of: RegisteredClient, changes: Record<string, string> = {}) {
  await page.goto(url + of.authorizePath(changes));
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

/** Where it asks the user of that browser whether to sign out. */
async function whereItAsks({ page }: Visitor, { url }: Signet, { client_id }: RegisteredClient) {
  await page.goto(`${url}/oauth/logout?client_id=${client_id}`);
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

/** Where a passkey is offered to the user of that browser, on the way to the client. */
async function offeredPasskey({ page }: Visitor, { url }: Signet, client: RegisteredClient) {
  await page.goto(url + client.authorizePath({ prompt: 'consent' }));
  return `/signin/passkey-offer?request=${new URL(page.url()).searchParams.get('request')}`;
}

async function askForCode(page: Page) {
  await page.fill('#username', 'ada@example.com');
  await submit(page, '#signin-mail-code');
}

async function signInPages(
  { signet, client, grace }: SeededSignet,
  { visitor, halfway, ada, mary }: Visitors,
): Promise<CataloguePage[]> {
  await halfway.page.goto(`${signet.url}/signin`);
  await fillIn(halfway.page, { username: grace.email, password: grace.password });
  const path = '/signin';
  const wrong = (page: Page) => fillIn(page, { username: 'ada@example.com', password: 'not the password at all' });
  return [
    { name: 'sign-in', path: await waiting(visitor, signet, client), as: 'visitor', act: passkeyButton },
    { name: 'sign-in-wrong', path, as: 'visitor', act: wrong, isLimited: true },
    { name: 'mail-code', path, as: 'visitor', act: askForCode, isLimited: true },
    { name: 'passkey-offer', path: await offeredPasskey(mary, signet, client), as: 'mary', act: passkeyButton },
    { name: 'second-factor', path: '/signin/second-factor', as: 'halfway', act: passkeyButton },
    { name: 'recovery', path: '/signin/second-factor/recovery', as: 'halfway' },
    { name: 'second-factor-wrong', path: '/signin/second-factor', as: 'halfway', act: giveWrongCode, isLimited: true },
    { name: 'error', path: client.with({ client_id: 'unknown' }).authorizePath(), as: 'visitor', status: 400 },
    { name: 'provider-error', path: '/auth/google/callback?state=x&code=y', as: 'visitor', status: 400 },
    { name: 'sign-up', path: '/signup', as: 'visitor' },
    { name: 'sign-up-sent', path: '/signup/sent', as: 'visitor' },
    { name: 'reset', path: '/reset', as: 'visitor' },
    { name: 'reset-sent', path: '/reset/sent', as: 'visitor' },
    { name: 'account-deleted', path: '/account-deleted', as: 'visitor' },
    { name: 'signed-out', path: '/signed-out', as: 'visitor' },
    { name: 'logout', path: await whereItAsks(ada, signet, client), as: 'ada' },
    { name: 'logout-error', path: '/oauth/logout?client_id=none', as: 'ada', status: 400 },
  ];
}

async function fillIn(page: Page, fields: { username: string; password: string }) {
  await page.locator('#username').fill(fields.username);
  await page.locator('#password').fill(fields.password);
  await submit(page, '#signin-submit');
}

const giveWrongCode = async (page: Page) => {
  await page.locator('#code').fill('000000');
  await submit(page, '#second-factor-submit');
};

/** The script has shown it. */
const passkeyButton = (page: Page) => page.locator('form[data-passkey] button').waitFor();

async function submit(page: Page, button: string) {
  await Promise.all([page.waitForEvent('load'), page.locator(button).click()]);
}

/** Of a user who waits for the removal of lost second factors, and one whose wait is over. */
async function recoveryPages(signet: SeededSignet['signet']): Promise<CataloguePage[]> {
  const [waits, waited] = [await signet.signedInUser(), await signet.signedInUser()];
  for (const user of [waits, waited]) await user.enableTotp();
  const stop = await askForRecovery(signet, waits);
  return [
    { name: 'recovery-stop', path: `/recover/stop/${stop}`, as: 'visitor' },
    { name: 'recovery-link', path: `/recover/${await waitForRecovery(signet, waited)}`, as: 'visitor' },
    { name: 'admin-user-recovery', path: `/admin/users/${waits.user_id}`, as: 'ada' },
  ];
}

/** Pages that a mail leads to. */
async function linkPages({ signet, mailbox, ada, mary }: SeededSignet): Promise<CataloguePage[]> {
  const visitor = signet.newBrowser();
  await visitor.post('/signup', { email: 'katherine@example.com' });
  await visitor.post('/reset', { email: ada.email });
  await mary.browser.post('/account/email/verify');
  const invitation = new URL((await inviteAdministrator(signet.deps, 'cli')).url).pathname;
  return [
    { name: 'sign-up-link', path: linkIn(await mailbox.next('katherine@example.com'), /^\/signup\//), as: 'visitor' },
    {
      name: 'reset-link',
      path: linkIn(await mailbox.next(ada.email, sentence('mail.reset.subject')), /^\/reset\//),
      as: 'visitor',
    },
    {
      name: 'verify-email',
      path: linkIn(await mailbox.next(mary.email, sentence('mail.verify_email.subject')), /^\/verify-email\//),
      as: 'mary',
    },
    ...(await recoveryPages(signet)),
    { name: 'link-spent', path: `/reset/ln_${'A'.repeat(43)}`, as: 'visitor', status: 400 },
    { name: 'invitation', path: invitation, as: 'visitor' },
  ];
}

const accountPages: CataloguePage[] = [
  { name: 'developer-none', path: '/developer', as: 'mary' },
  { name: 'developer-choice', path: '/developer/register', as: 'mary' },
  { name: 'developer-form', path: '/developer/register?kind=web&library=spring-security-6', as: 'mary' },
  {
    name: 'developer-form-all',
    path: '/developer/register?kind=web&library=spring-security-6&settings=all',
    as: 'mary',
  },
  { name: 'developer-form-native', path: '/developer/register?kind=native&library=appauth', as: 'mary' },
  { name: 'developer-form-service', path: '/developer/register?kind=service&library=jose', as: 'mary' },
  { name: 'developer-form-mcp', path: '/developer/register?kind=mcp&library=mcp-remote', as: 'mary' },
  { name: 'account', path: '/account', as: 'ada' },
  { name: 'account-saved', path: '/account?done=yes', as: 'mary' },
  { name: 'email', path: '/account/email', as: 'mary' },
  { name: 'email-change', path: '/account/email/change', as: 'ada' },
  { name: 'delete', path: '/account/delete', as: 'mary' },
  { name: 'delete-last-administrator', path: '/account/delete', as: 'ada' },
  { name: 'security-plain', path: '/account/security', as: 'ada' },
  { name: 'security', path: '/account/security', as: 'grace' },
  { name: 'password', path: '/account/security/password', as: 'grace' },
  { name: 'password-only', path: '/account/security/password', as: 'ada' },
  { name: 'passkeys-none', path: '/account/security/passkeys', as: 'ada' },
  { name: 'passkeys', path: '/account/security/passkeys', as: 'grace' },
  { name: 'passkeys-added', path: '/account/security/passkeys?done=added', as: 'grace' },
  { name: 'passkeys-open', path: '/account/security/passkeys', as: 'grace', act: openDetails },
  { name: 'totp-off', path: '/account/security/totp', as: 'ada' },
  { name: 'totp-enrollment', path: '/account/security/totp', as: 'mary', act: openDetails },
  { name: 'totp', path: '/account/security/totp', as: 'grace' },
  { name: 'totp-disable', path: '/account/security/totp/disable', as: 'grace' },
  { name: 'backup-codes', path: '/account/security/backup-codes', as: 'grace' },
  {
    name: 'backup-codes-new',
    path: '/account/security/backup-codes',
    as: 'grace',
    act: (page) => submit(page, '#backup-codes-regenerate'),
  },
  { name: 'providers', path: '/account/security/providers', as: 'grace' },
  { name: 'providers-linked', path: '/account/security/providers?done=linked', as: 'grace' },
  { name: 'providers-none', path: '/account/security/providers', as: 'ada' },
  { name: 'sessions', path: '/account/sessions', as: 'ada' },
  { name: 'sessions-trusted', path: '/account/sessions', as: 'grace' },
  { name: 'activity', path: '/account/activity', as: 'ada' },
  { name: 'activity-filtered', path: '/account/activity?kind=apps&days=7', as: 'grace' },
  { name: 'my-apps', path: '/account/my-apps', as: 'ada' },
  { name: 'my-apps-none', path: '/account/my-apps?q=zzz', as: 'mary' },
  { name: 'apps', path: '/account/apps', as: 'ada' },
  { name: 'apps-none', path: '/account/apps', as: 'mary' },
  { name: 'entitlements', path: '/account/entitlements', as: 'ada' },
  { name: 'confirm', path: '/signin/confirm?next=/account/security', as: 'ada' },
  { name: 'confirm-every-way', path: '/signin/confirm?next=/account/security', as: 'grace', act: passkeyButton },
];

/** Where a client requires the second factor. */
async function setUpPages({ signet, ada: owner }: SeededSignet, { ada, mary }: Visitors): Promise<CataloguePage[]> {
  const client = await signet.registerClient({ owner, name: 'Vault', default_acr_values: [twoFactors] });
  return [
    { name: 'set-up', path: await waiting(ada, signet, client), as: 'ada', act: passkeyButton },
    { name: 'set-up-app', path: await waiting(mary, signet, client), as: 'mary', act: passkeyButton },
  ];
}

async function consentPages({ signet, ada, client }: SeededSignet, visitors: Visitors): Promise<CataloguePage[]> {
  const asking = await signet.registerClient({
    owner: ada,
    name: 'Field Notes for teams',
    consent: 'required',
    allowed_scopes: ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'],
  });
  const pictured = await signet.registerClient({
    owner: ada,
    name: 'Field Notes for friends',
    consent: 'required',
    logo_url: 'https://field-notes.example.com/friends.png',
  });
  await giveLogo(signet, pictured.client_id);
  const scope = 'openid profile email offline_access entitlements:read';
  const choice = await waiting(visitors.ada, signet, client, { prompt: 'select_account' });
  return [
    { name: 'consent', path: await waiting(visitors.ada, signet, asking, { scope }), as: 'ada' },
    { name: 'consent-with-logo', path: await waiting(visitors.ada, signet, pictured), as: 'ada' },
    { name: 'client-with-logo', path: `/admin/clients/${pictured.client_id}`, as: 'ada' },
    { name: 'account-choice', path: choice, as: 'ada' },
  ];
}

/** A token that came twice, as its user, the owner of its client and an administrator see it. */
async function alertPages({ signet, ada, client: { client_id } }: SeededSignet): Promise<CataloguePage[]> {
  const alert_id = await raiseSomeAlert(signet, ada.user_id, client_id);
  const ofClient = `/developer/clients/${client_id}/alerts`;
  const ofUser = `/admin/users/${ada.user_id}/alerts`;
  return [
    { name: 'alert', path: `/account/alerts/${alert_id}`, as: 'ada' },
    { name: 'developer-alerts', path: ofClient, as: 'ada' },
    { name: 'developer-alert', path: `${ofClient}/${alert_id}`, as: 'ada' },
    { name: 'admin-user-alerts', path: ofUser, as: 'ada' },
    { name: 'admin-user-alert', path: `${ofUser}/${alert_id}`, as: 'ada' },
  ];
}

/** The sign-out notifications of a client, in each state, as its owner and an administrator see them. */
async function logoutPages({ signet, ada, client: { client_id } }: SeededSignet): Promise<CataloguePage[]> {
  const at = Math.floor(signet.clock() / 1000);
  await plain(signet.deps.db).run(
    `insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, next_attempt_at,
                                    last_error, delivered_at, dead_at)
     values ('lo_waiting.1', $1, $2, 'ses_1', $3, 2, $3, 'The receiver responded with 503.', null, null),
            ('lo_delivered.1', $1, $2, 'ses_2', $3, 1, null, null, $3, null),
            ('lo_dead.1', $1, $2, 'ses_3', $3, 11, null, 'The receiver could not be reached: ECONNREFUSED.', null, $3)`,
    [client_id, ada.user_id, at],
  );
  return [
    { name: 'logouts', path: `/admin/clients/${client_id}/logout-deliveries`, as: 'ada' },
    { name: 'logouts-dead', path: `/admin/clients/${client_id}/logout-deliveries?state=dead`, as: 'ada' },
    { name: 'developer-activity', path: `/developer/clients/${client_id}/activity`, as: 'ada' },
  ];
}
