import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, newUserId } from '../../src/platform/ids.ts';
import { openPlacement } from '../../src/platform/placement.ts';
import { openVault } from '../../src/platform/vault.ts';
import { assertOneBucketEach } from '../support/buckets.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { linkIn } from '../support/mailbox.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { aUser, newDirectory } from '../support/scim.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { masterKey } from '../support/store-template.ts';
import { signInUpstream } from '../support/upstream.ts';

const placeOf = ({ deps }: Signet, email: string) => deps.placement.bucketOfEmail(email);
const lastPart = (url: string) => url.split('/').at(-1)!;
const idOf = async ({ deps }: Signet, email: string) =>
  (await plain(deps.db).get<{ user_id: string }>('select user_id from users where email = $1', [email]))?.user_id ?? '';

onBothEngines('every id and secret of a user has the bucket of the address at sign-up', async (t, engine) => {
  const signet = await startSignet(t, { engine, mail: true });
  const { mailbox, url } = signet;
  const email = 'ada@example.com';
  const password = 'ordinary words in a row';
  const made: string[] = [];

  await signet.postForm('/signup', { email });
  const signUp = linkIn(await mailbox.next(email), /signup/);
  made.push(lastPart(signUp));
  const browser = signet.newBrowser();
  const joined = await browser.post(signUp, { name: 'Ada', password });
  assert.equal(joined.status, 303, joined.text);
  const { session, attempt } = { session: 'signet_identity_session', attempt: 'signet_attempt' };
  made.push(browser.cookies.get(session) ?? 'no session');
  const user_id = await idOf(signet, email);
  made.push(user_id);

  const user = (await signet.newUser()).with({ user_id, email, password, browser });
  const client = await signet.registerClient();
  const code = await user.authorize(client, { scope: 'openid offline_access' });
  const tokens = (await client.redeem(code)).json as { access_token: string };
  const { jti } = JSON.parse(Buffer.from(tokens.access_token.split('.')[1]!, 'base64url').toString('utf8'));
  made.push(code, jti);

  const body = new FormData();
  body.append('content', new File([new Uint8Array(pngOf())], 'me.png', { type: 'image/png' }));
  await browser.send('/account/picture', { method: 'POST', body, headers: { origin: url } });
  made.push(lastPart(String((await browser.get('/v1/me')).json?.picture)));

  await signet.postForm('/reset', { email });
  made.push(lastPart(linkIn(await mailbox.next(email), /reset/)));
  const changed = await browser.postJson('/v1/me/email', { email: 'lovelace@example.com' });
  assert.equal(changed.status, 202, changed.text);
  made.push(lastPart(linkIn(await mailbox.next('lovelace@example.com'), /verify/)));
  await user.enableTotp();
  made.push(browser.cookies.get(session) ?? 'no session'); // another one
  made.push((await user.awaitingSecondFactor()).browser.cookies.get(attempt) ?? 'no attempt');

  assert.deepEqual(
    made.map((one) => one.slice(0, one.indexOf('_'))),
    ['ln', 'st', 'usr', 'ac', 'gr', 'pic', 'ln', 'ln', 'st', 'at'],
    JSON.stringify(made),
  );
  for (const one of made) assert.equal(bucketOf(one), placeOf(signet, email), one);
  const seen = await assertOneBucketEach(signet);
  assert.ok(seen >= 5, `${seen} ids seen`);
});

onBothEngines('every other way to an account places it by its address, too', async (t, engine) => {
  const { signet, upstream } = await startFederatedSignet(t, { engine, mail: true });
  const email = 'by-provider@example.com';
  upstream.account = { sub: '1', email, email_verified: true, name: 'Grace' };
  await signInUpstream(signet.newBrowser());

  const directory = await newDirectory(signet);
  const { id } = await directory.ok(201, 'POST', '/Users', aUser({ emails: [{ value: 'by-scim@example.com' }] }));
  assert.equal(bucketOf(String(id)), placeOf(signet, 'by-scim@example.com'));

  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  const users = ['by-import', 'by-import-2'].map((name) => ({ external_id: name, email: `${name}@example.com` }));
  const kept = { external_id: 'kept', email: 'kept@example.com', sub: 'auth0|5f7c8ec7' };
  const imported = await admin.browser.postJson('/v1/admin/users/import', { source: 'old', users: [...users, kept] });
  assert.equal(imported.status, 200, imported.text);

  await admin.browser.postJson('/v1/admin/users/invite', { email: 'invited@example.com' });
  const link = linkIn(await signet.mailbox.next('invited@example.com'), /join/);
  assert.equal(bucketOf(lastPart(link)), placeOf(signet, 'invited@example.com'));

  for (const address of [email, ...users.map((one) => one.email)])
    assert.equal(bucketOf(await idOf(signet, address)), placeOf(signet, address), address);
  assert.equal(await idOf(signet, kept.email), kept.sub);
});

testSignet('what belongs to a user who kept the id of another product has one bucket, too', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  const email = 'kept@example.com';
  const users = [{ external_id: '1', email, email_verified: true, sub: 'auth0|5f7c8ec7' }];
  await admin.browser.postJson('/v1/admin/users/import', { source: 'old', users });
  const reset = await admin.browser.postJson('/v1/admin/users/auth0%7C5f7c8ec7/reset-link', {
    reason: 'Asked by phone',
  });
  assert.equal(bucketOf(lastPart(String(reset.json?.url))), bucketOf('auth0|5f7c8ec7'), reset.text);
});

testSignet(
  'the key of a store places addresses, in any spelling, and is the same on each node',
  async ({ signet, t }) => {
    const beside = await startSignet(t, { beside: signet });
    const addresses = Array.from({ length: 20 }, (_, place) => `person${place}@example.com`);
    const places = addresses.map((email) => placeOf(signet, email));
    assert.deepEqual(
      addresses.map((email) => placeOf(beside, ` ${email.toUpperCase()}`)),
      places,
    );
    const { db } = signet.deps;
    const [kept] = await plain(db).all<{ sealed: string }>('select sealed from placement_keys');
    assert.ok(kept);
    assert.deepEqual((await openPlacement(db, openVault(masterKey))).bucketOfEmail(addresses[0]!), places[0]);
    await plain(db).run('delete from placement_keys');
    const other = await openPlacement(db, openVault(masterKey));
    assert.notDeepEqual(
      addresses.map((email) => other.bucketOfEmail(email)),
      places,
    );
  },
);

test('an id with a bucket is base64url of as many bytes as without', () => {
  const seen = new Set<string>();
  for (let number = 0; number < 64; number += 1) {
    const bucket = Buffer.from([number, number]).toString('base64url').slice(0, 2);
    const id = newUserId(bucket);
    assert.equal(bucketOf(id), bucket);
    const random = id.slice('usr_'.length);
    assert.equal(Buffer.from(random, 'base64url').toString('base64url'), random);
    seen.add(bucket);
  }
  assert.equal(seen.size, 64);
});
