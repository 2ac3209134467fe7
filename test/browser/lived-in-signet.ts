import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import type { Visitor } from '../support/chromium.ts';
import { type Mailbox, openMailbox } from '../support/mailbox.ts';
import { TestUser } from '../support/person.ts';
import { RegisteredClient } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';

export type World = {
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

export const password = 'ordinary words in a row';

/** A deployment as it looks after some use. */
export async function openWorld(t: TestContext): Promise<World> {
  const mailbox = await openMailbox(t);
  const signet = await startSignet(t, {
    env: {
      SIGNET_GOOGLE_CLIENT_ID: 'example',
      SIGNET_GOOGLE_CLIENT_SECRET: 'example',
      SIGNET_SMTP_URL: mailbox.url,
    },
  });
  const email = 'augusta.ada.king-noel.countess.of.lovelace@analytical-engine.example.com';
  const ada = await named(signet, { name: 'Ada Lovelace', email, role: 'admin', emailVerified: true });
  signet.clock.advance(40 * 86_400);
  for (const agent of [agents.strange, agents.phone]) {
    await signInWith(signet, ada.elsewhere(), agent);
    signet.clock.advance(5 * 3600);
  }
  await signInWith(signet, ada, agents.desk);
  const client = await appOf(signet, ada, 'Field Notes', 'https://field-notes.example.com/about');
  const long = await appOf(signet, ada, 'Vereinsunterlagenverwaltungsgesellschaft Oberammergau', null);
  for (const one of [client, long]) {
    await ada.obtainTokens(one, { scope: 'openid profile email offline_access' });
    signet.clock.advance(600);
  }
  const grace = await withEveryFactor(signet);
  const mary = await named(signet, { name: 'Mary Jackson', email: 'mary@example.com' });
  await signInWith(signet, mary, agents.desk);
  await mary.browser.postEmpty('/v1/me/2fa/totp/enroll');
  await signInWith(signet, ada, agents.desk); // recently enough for everything
  return { signet, mailbox, ada, grace, mary, client };
}

export async function named(
  signet: Signet,
  who: { name: string; email: string; role?: 'admin' | 'user'; emailVerified?: boolean },
): Promise<TestUser> {
  const account = { role: 'user', emailVerified: false, password, ...who } as const;
  const user_id = await createUser(signet.deps, account, 'cli');
  return new TestUser(signet, { user_id, email: who.email, password });
}

export async function signInWith({ url }: Signet, { browser, email }: TestUser, agent: string) {
  const answer = await browser.post('/signin', { username: email, password }, { 'user-agent': agent });
  assert.equal(answer.status, 303, `${url}: ${answer.text}`);
}

async function withEveryFactor(signet: Signet): Promise<TestUser> {
  const { db } = signet.deps;
  const grace = await named(signet, { name: 'Grace Hopper', email: 'grace@example.com', emailVerified: true });
  await signInWith(signet, grace, agents.phone);
  await grace.enableTotp();
  const at = Math.floor(signet.clock() / 1000);
  for (const [place, name] of ['YubiKey', 'Telefon mit der gesprungenen Scheibe'].entries()) {
    await db.run(
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
  await db.run(
    `insert into identities (issuer, subject, user_id, provider, email, linked_at, last_used_at)
     values ('https://accounts.google.com', '1', $1, 'google', 'amazing.grace@gmail.example', $2, $2)`,
    [grace.user_id, at],
  );
  return grace;
}

async function appOf(signet: Signet, owner: TestUser, name: string, homepage_url: string | null) {
  const redirect_uri = 'https://field-notes.example.com/cb';
  const body = { name, homepage_url, client_type: 'confidential', redirect_uris: [redirect_uri] };
  const { json } = await owner.browser.postJson('/v1/oauth/clients', {
    ...body,
    allowed_scopes: ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'],
  });
  const { client_id, client_secret } = json as { client_id: string; client_secret: string };
  await approveClient(signet.deps, { client_id, caller: { actor: 'cli' } }, { revision: 1 });
  return new RegisteredClient(signet, { client_id, client_secret, redirect_uri });
}

/** Signs the real browser in with the session that the person has already. */
export async function lendSession({ context }: Visitor, { browser }: TestUser, { url }: Signet) {
  await context.addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url })));
}
