import type { Page } from 'playwright-core';
import { accounts, authorizePath, type Name, password } from '../seeded-world.ts';
import { type BrandName, brands } from './brands.ts';
import type { ShownWorld } from './world.ts';

export type Picture = {
  /** Of the file in `docs/screenshots`, without `.png`. */
  name: string;
  /** Who looks; left out: somebody who is not signed in. */
  as?: Name;
  path: (world: ShownWorld) => string;
  /** A document of this script at that path, instead of a page. */
  document?: (world: ShownWorld) => Promise<string>;
  /** Pixels of the picture for one of the page. */
  scale?: number;
  /** What is done there to get to what is shown. */
  act?: (page: Page) => Promise<void>;
  width: 390 | 1280;
  /** Left out: down to the end of the page. */
  height?: number;
  dark?: true;
  locale?: 'de';
  /** Where chance has put what the fingerprint of the page leaves out. */
  chance?: string;
};

const at = (path: string) => () => path;
const registration = at('/developer/register?kind=web&library=spring-security-7');
/** The QR code has it, too. */
const secret = '[role=img], svg, #totp-secret, a[href^="otpauth:"]';
const consent = ({ clients }: ShownWorld) => authorizePath(clients.notes).path;
const client = ({ clients }: ShownWorld) => `/developer/clients/${clients.notes.client_id}`;
const review = ({ clients }: ShownWorld) => `/admin/clients/${clients.notes.client_id}`;
const passkeyButton = (page: Page) => page.locator('form[data-passkey] button').first().waitFor();

async function firstStep(page: Page) {
  await page.fill('#username', accounts.grace.email);
  await page.fill('#password', password);
  await page.click('#signin-submit');
  await page.waitForURL('**/signin/second-factor');
  await passkeyButton(page);
}

const desk = { width: 1280 } as const;
const phone = { width: 390 } as const;

/** Those that a document shows; a page for people in the middle of a sign-in, on a phone as well. */
export const pictures: readonly Picture[] = [
  { name: 'sign-in', path: consent, act: passkeyButton, ...desk },
  { name: 'sign-in-phone-dark', path: consent, act: passkeyButton, ...phone, dark: true },
  { name: 'sign-in-german-phone', path: consent, act: passkeyButton, ...phone, locale: 'de' },
  { name: 'second-factor-phone', path: at('/signin'), act: firstStep, ...phone },
  { name: 'consent', as: 'alan', path: consent, ...desk },
  { name: 'consent-phone-dark', as: 'alan', path: consent, ...phone, dark: true },
  { name: 'account', as: 'grace', path: at('/account'), ...desk, height: 900 },
  { name: 'security', as: 'grace', path: at('/account/security'), ...desk },
  { name: 'security-phone-dark', as: 'grace', path: at('/account/security'), ...phone, dark: true },
  { name: 'totp-enrollment', as: 'mary', path: at('/account/security/totp'), ...desk, chance: secret },
  { name: 'sessions', as: 'mary', path: at('/account/sessions'), ...desk },
  { name: 'sessions-german-phone', as: 'mary', path: at('/account/sessions'), ...phone, locale: 'de' },
  { name: 'alert', as: 'ada', path: ({ alert_id }) => `/account/alerts/${alert_id}`, ...desk },
  { name: 'my-apps', as: 'mary', path: at('/account/my-apps'), ...desk },
  { name: 'apps', as: 'mary', path: at('/account/apps'), ...desk },
  { name: 'developer', as: 'grace', path: at('/developer'), ...desk },
  { name: 'developer-choice', as: 'grace', path: at('/developer/register'), ...desk },
  { name: 'developer-registration', as: 'grace', path: registration, ...desk, height: 1100 },
  { name: 'developer-client', as: 'grace', path: client, ...desk, height: 1000 },
  { name: 'developer-client-phone-dark', as: 'grace', path: client, ...phone, height: 844, dark: true },
  { name: 'developer-activity', as: 'grace', path: (world) => `${client(world)}/activity`, ...desk },
  { name: 'admin', as: 'ada', path: at('/admin'), ...desk, height: 1300 },
  { name: 'admin-dark', as: 'ada', path: at('/admin'), ...desk, height: 1300, dark: true },
  { name: 'admin-clients', as: 'ada', path: at('/admin/clients'), ...desk },
  { name: 'admin-review', as: 'ada', path: review, ...desk, height: 1400 },
  { name: 'admin-review-phone-dark', as: 'ada', path: review, ...phone, height: 844, dark: true },
  { name: 'admin-users', as: 'ada', path: at('/admin/users'), ...desk },
  { name: 'admin-user', as: 'ada', path: ({ ids }) => `/admin/users/${ids.grace}`, ...desk, height: 1100 },
  { name: 'admin-audit', as: 'ada', path: at('/admin/audit'), ...desk, height: 900 },
  { name: 'admin-refusals', as: 'ada', path: at('/admin/audit/unauthenticated'), ...desk },
  { name: 'admin-providers', as: 'ada', path: at('/admin/providers'), ...desk, height: 1100 },
  {
    name: 'admin-webhook',
    as: 'ada',
    path: ({ webhook_id }) => `/admin/webhooks/${webhook_id}`,
    ...desk,
    height: 1100,
  },
  { name: 'reference', path: at('/reference'), ...desk, height: 900 },
  // After all others: the world has another brand then.
  ...(Object.keys(brands) as BrandName[]).map((name) => ({
    name: `brand-${name}`,
    path: at(`/brand-sheet/${name}`),
    document: (world: ShownWorld) => world.brandSheet(name),
    ...{ ...desk, scale: 2 / 3 },
  })),
];
