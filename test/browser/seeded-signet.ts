import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Visitor } from '../support/chromium.ts';
import { giveLogo } from '../support/logo-host.ts';
import type { Mailbox } from '../support/mailbox.ts';
import { plain } from '../support/plain-sql.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { trustSomeBrowser } from '../support/trusted-browsers.ts';

export type SeededSignet = {
  signet: Signet;
  mailbox: Mailbox;
  /** An administrator with a password alone. */
  ada: TestUser;
  /** Has every factor there is. */
  grace: TestUser;
  /** Is new here: her address is not verified, and her authenticator app is being set up. */
  mary: TestUser;
  client: RegisteredClient;
};

export const agents = {
  phone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  desk: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  strange: '<script>alert(1)</script>',
};

/** A deployment as it looks after some use. */
export async function startSeededSignet(t: TestContext): Promise<SeededSignet> {
  const env = {
    SIGNET_GOOGLE_CLIENT_ID: 'example',
    SIGNET_GOOGLE_CLIENT_SECRET: 'example',
    SIGNET_TRUSTED_BROWSER_DAYS: '30',
    SIGNET_MAIL_CODES: 'on',
    SIGNET_RECOVERY_WAIT_DAYS: '7',
  };
  const signet = await startSignet(t, { mail: true, env });
  const { mailbox } = signet;
  const email = 'augusta.ada.king-noel.countess.of.lovelace@analytical-engine.example.com';
  const ada = await signet.newUser({ name: 'Ada Lovelace', email, role: 'admin' });
  signet.clock.advance(40 * 86_400);
  for (const agent of [agents.strange, agents.phone]) {
    await signInWith(ada.elsewhere(), agent);
    signet.clock.advance(5 * 3600);
  }
  await signInWith(ada, agents.desk);
  const app = {
    owner: ada,
    redirect_uris: ['https://field-notes.example.com/cb'],
    allowed_scopes: ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'],
  };
  const homepage_url = 'https://field-notes.example.com/about';
  const logo_url = 'https://field-notes.example.com/logo.png';
  const client = await signet.registerClient({ ...app, name: 'Field Notes', homepage_url, logo_url });
  await giveLogo(signet, client.client_id);
  const long = await signet.registerClient({ ...app, name: 'Vereinsunterlagenverwaltungsgesellschaft Oberammergau' });
  for (const one of [client, long]) {
    await ada.obtainTokens(one, { scope: 'openid profile email offline_access' });
    signet.clock.advance(600);
  }
  const grace = await withEveryFactor(signet);
  const mary = await signet.newUser({ name: 'Mary Jackson', email: 'mary@example.com', emailVerified: false });
  await signInWith(mary, agents.desk);
  await mary.browser.postEmpty('/v1/me/2fa/totp/enroll');
  await signInWith(ada, agents.desk); // recently enough for everything
  await trustSomeBrowser(signet, grace.user_id, agents.phone);
  return { signet, mailbox, ada, grace, mary, client };
}

export async function signInWith(user: TestUser, agent: string) {
  const answer = await user.signIn({}, { 'user-agent': agent });
  assert.equal(answer.status, 303, answer.text);
}

async function withEveryFactor(signet: Signet): Promise<TestUser> {
  const { db } = signet.deps;
  const grace = await signet.newUser({ name: 'Grace Hopper', email: 'grace@example.com' });
  await signInWith(grace, agents.phone);
  await grace.enableTotp();
  const at = Math.floor(signet.clock() / 1000);
  for (const [place, name] of ['YubiKey', 'Telefon mit der gesprungenen Scheibe'].entries()) {
    await plain(db).run(
      `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, backed_up_at, name, created_at,
                             last_used_at) values ($1, $2, 'x', 0, 'usb', $3, $4, $5, $6)`,
      [
        `credential${place}`,
        grace.user_id,
        place === 0 ? null : at,
        name,
        at - place * 86_400,
        place === 0 ? null : at,
      ],
    );
  }
  await plain(db).run(
    `insert into identities (issuer, subject, user_id, provider, email, linked_at, last_used_at)
     values ('https://accounts.google.com', '1', $1, 'google', 'amazing.grace@gmail.example', $2, $2)`,
    [grace.user_id, at],
  );
  return grace;
}

/** Signs the real browser in with the session that the user has already. */
export async function lendSession({ context }: Visitor, { browser }: TestUser, { url }: Signet) {
  await context.addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url })));
}
