import assert from 'node:assert/strict';
import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findUserByEmail, type User } from '../../src/accounts/statements.ts';
import { listIdentities } from '../../src/authentication/credentials/identities.store.ts';
import { listPasskeys } from '../../src/authentication/credentials/passkeys.store.ts';
import { passwordOf } from '../../src/authentication/credentials/passwords.store.ts';
import { adapters, type Product, products } from '../../src/imports/adapters/products.ts';
import { importFile } from '../../src/imports/import-file.ts';
import { secretSettings, secrets } from '../support/imported-hashes.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { TestUser } from '../support/test-user.ts';
import { totpAt } from '../support/two-factor.ts';

const folder = join(import.meta.dirname, 'exports');
const phrase = 'correct horse é 🐴';
/** Base32 of the secret that each export has, as that product has it. */
const totp = 'IRFG2ULGIM3TGVSHIZUHON2EGRIUUOCB';

type Expected = {
  sub: string;
  name?: string;
  username?: string;
  password?: string;
  hasTotp?: true;
  passkeys?: number;
  hasGoogle?: true;
  /** The export does not say when the account was made. */
  isUndated?: true;
  /** The second user of the export, and who else is not as the first. */
  grace?: 'disabled' | 'enabled' | 'refused';
  refused?: number;
};

/** Of Ada, who is in every export. */
const exported: Readonly<Record<Exclude<Product, 'signet'>, Expected>> = {
  keycloak: {
    sub: 'f3f1c2de-0b5e-4f0c-8f2e-2f1a3b4c5d6e',
    username: 'ada.lovelace',
    password: phrase,
    hasTotp: true,
    passkeys: 1,
    hasGoogle: true,
    grace: 'disabled',
    refused: 1, // the account of a service has no address
  },
  auth0: {
    sub: 'auth0|5f7c8ec7c33c6c004bbafe82',
    username: 'ada.l',
    password: phrase,
    hasGoogle: true,
    grace: 'enabled',
  },
  firebase: { sub: 'ZKtqkU1bT2gI0mBMJcFWKT9uKyN2', password: 'user1password', hasGoogle: true, grace: 'disabled' },
  cognito: { sub: 'c0ffee00-1111-4222-8333-444455556666', username: 'ada.l', grace: 'disabled' },
  clerk: { isUndated: true, sub: 'user_2abcDEF', username: 'ada_l', password: phrase, hasTotp: true, grace: 'enabled' },
  supabase: { sub: '9b0d9c1e-2222-4333-8444-555566667777', password: phrase, hasGoogle: true, grace: 'disabled' },
  logto: {
    sub: 'k3pk2aeyjz3b',
    username: 'ada_l',
    password: phrase,
    hasTotp: true,
    hasGoogle: true,
    grace: 'refused', // by the hash, of MD5
    refused: 1,
  },
  zitadel: { isUndated: true, sub: '165460784409546753', username: 'ada.l', password: phrase, grace: 'enabled' },
  kratos: {
    sub: '7a3e8f6a-5555-4666-8777-888899990000',
    password: phrase,
    hasTotp: true,
    passkeys: 1,
    hasGoogle: true,
    grace: 'disabled',
  },
  csv: {
    sub: '42',
    name: 'Lovelace, Ada',
    username: 'ada_l',
    password: phrase,
    hasTotp: true,
    grace: 'refused', // by the line break in the name
    refused: 1,
  },
};

async function importExport(signet: Signet, product: Product, file: string) {
  const path = join(await scratchFolder('import'), file);
  await copyFile(join(folder, file), path);
  const counts = await importFile(signet.deps, {
    path,
    adapter: adapters[product],
    settings: { rpId: new URL(signet.url).hostname, firebaseHash: { n: '14', r: '8', ss: 'Bw==' } },
    source: product,
    caller: { actor: 'cli' },
    omissions: { without: new Set(), dropUnusable: new Set(['groups'] as const) },
    keepSubjects: true,
    dryRun: false,
    reportPath: `${path}.report`,
  });
  return { counts, report: await readFile(`${path}.report`, 'utf8') };
}

/** Signs in with the password of the export, and the code of the app. */
async function signInAsBefore(signet: Signet, user: User, password: string, hasTotp = false): Promise<void> {
  const { user_id, email } = user;
  const before = await passwordOf(signet.deps.db, user_id);
  assert.doesNotMatch(before!.password_hash, /m=19456/);
  for (const round of ['the old hash', 'our own']) {
    signet.clock.advance(60);
    const browser = new TestUser(signet, { user_id, email, password });
    const answer = await browser.signIn();
    assert.equal(answer.status, 303, `${round}: ${answer.text}`);
    if (!hasTotp) continue;
    assert.equal(answer.location, '/signin/second-factor');
    const code = totpAt(totp, Math.floor(signet.clock() / 1000));
    assert.equal((await browser.giveCode(code)).location, '/account', round);
  }
  assert.match((await passwordOf(signet.deps.db, user_id))!.password_hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
}

test('there is an export of each product', async () => {
  const files = (await readdir(folder)).map((name) => name.split('.')[0]!).sort();
  assert.deepEqual(files, products.filter((name) => name !== 'signet').sort());
});

for (const [product, expected] of Object.entries(exported) as [Exclude<Product, 'signet'>, Expected][]) {
  testSignet(
    `PW-02: the export of ${product}: each user is as they were, and signs in as before`,
    {
      passwords: newHasher({}, { secrets }),
      env: {
        SIGNET_RATE_LIMITS: 'off',
        SIGNET_GOOGLE_CLIENT_ID: 'id',
        SIGNET_GOOGLE_CLIENT_SECRET: 'secret',
        ...secretSettings,
      },
    },
    async ({ signet }) => {
      const { db } = signet.deps;
      const now = Math.floor(signet.clock() / 1000);
      const file = (await readdir(folder)).find((name) => name.startsWith(`${product}.`))!;
      const { counts, report } = await importExport(signet, product, file);
      const total = product === 'csv' || product === 'keycloak' ? 3 : 2;
      const refused = expected.refused ?? 0;
      assert.deepEqual([counts.imported, counts.refused], [total - refused, refused], report);

      const made = expected.isUndated ? now : 1_600_000_000;
      const ada = (await findUserByEmail(signet.deps, 'ada@example.com'))!;
      assert.deepEqual(
        [ada.user_id, ada.name, ada.preferred_username, ada.created_at, ada.email_verified_at !== null],
        [expected.sub, expected.name ?? 'Ada Lovelace', expected.username ?? null, made, true],
      );
      assert.equal((await listPasskeys(db, ada.user_id)).length, expected.passkeys ?? 0);
      assert.deepEqual(
        (await listIdentities(db, ada.user_id)).map(({ issuer, subject }) => [issuer, subject]),
        expected.hasGoogle ? [['https://accounts.google.com', '110169484474386276334']] : [],
      );
      if (expected.password) await signInAsBefore(signet, ada, expected.password, expected.hasTotp);

      const grace = await findUserByEmail(signet.deps, 'grace@example.com');
      const state = grace && (grace.disabled_at === null ? 'enabled' : 'disabled');
      assert.equal(state ?? 'refused', expected.grace);

      const again = await importExport(signet, product, file);
      assert.deepEqual([again.counts.imported, again.counts.unchanged], [0, total - refused]);
      const refusedIn = (text: string) =>
        text
          .split('\n')
          .filter((line) => line.includes('"refused"'))
          .join('\n');
      assert.equal(refusedIn(again.report), refusedIn(report));
    },
  );
}
