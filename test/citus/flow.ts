import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newBrowser } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { tokensOf } from '../support/relying-party.ts';
import { addressOf, freshCluster, listenToRemote, logging, placeOfUser, placesOf, signetOn, skip } from './cluster.ts';

const password = 'ordinary words in a row';

test('everything that a user does is done by the node that has the cell, and asked of no other', {
  skip,
}, async (t) => {
  const cluster = await freshCluster(t);
  const signet = await signetOn(t, { ...cluster, url: logging(cluster.url) }, { mail: true });
  assert.deepEqual(new Set(placesOf(signet)), new Set(cluster.workers.map(addressOf)), 'cells are on all workers');

  const { byCoordinator, byWorkers, stop } = listenToRemote(cluster);
  t.after(stop);
  const client = await signet.registerClient();
  assert.ok(
    byCoordinator.some((sent) => /INSERT INTO public\.clients_/.test(sent)),
    'a client is written to all nodes',
  );
  const used = new Set<string>();
  for (let n = 0; n < 16; n += 1) {
    const email = `new${n}@example.com`;
    const browser = newBrowser(signet.url);
    assert.equal((await browser.post('/signup', { email })).status, 303);
    const link = linkIn(await signet.mailbox.next(email), /^\/signup\//);
    assert.equal((await browser.post(link, { name: 'Person', password })).status, 303);
    const again = newBrowser(signet.url);
    const signedIn = await again.post('/signin', { username: email, password });
    assert.deepEqual([signedIn.status, signedIn.location], [303, '/account'], signedIn.text);
    const { user_id } = (await again.get('/v1/me')).json as { user_id: string };
    used.add(placeOfUser(signet, user_id));
    const code = new URL(
      (await again.get(client.authorizePath({ scope: 'openid offline_access' }))).location!,
    ).searchParams.get('code')!;
    const first = tokensOf(await client.redeem(code));
    assert.equal((await signet.userinfo(first.access_token)).json?.sub, user_id);
    const second = tokensOf(await client.refresh(first.refresh_token));
    assert.equal((await client.introspect(second.access_token)).json?.active, true);
    assert.equal((await client.introspect(second.refresh_token)).json?.active, true);
    assert.equal((await client.post('/oauth/revoke', { token: second.refresh_token })).status, 200);
    assert.equal((await client.introspect(second.access_token)).json?.active, false);
    assert.equal((await signet.userinfo(second.access_token)).status, 401);
  }
  assert.equal(used.size, cluster.workers.length, 'of 16 users, some are on each worker');
  assert.deepEqual(byWorkers, []);
});
