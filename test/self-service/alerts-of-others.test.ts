import assert from 'node:assert/strict';
import { raiseSomeAlert } from '../support/alerts.ts';
import { newUserIn } from '../support/buckets.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';

inEachStore('the alert of another user is none, in whichever part of the store it is', {}, async (_t, signet) => {
  const { db } = signet.deps;
  const user = await signet.signedInUser();
  const { client_id } = await signet.registerClient();
  const alert_id = await raiseSomeAlert(signet, user.user_id, client_id);
  const part = db.of(user.user_id);
  const others = [await newUserIn(signet, part)];
  while (db.parts.length > 1 && others.every((one) => db.of(one.user_id) === part)) others.push(await signet.newUser());
  for (const other of others) {
    await other.signIn();
    const { browser } = other;
    assert.deepEqual((await browser.get('/v1/me/alerts')).json, { alerts: [] });
    assertRefused(await browser.get(`/v1/me/alerts/${alert_id}`), 404, 'not_found');
    assert.equal((await browser.get(`/account/alerts/${alert_id}`)).status, 404);
    for (const answer of ['me', 'not_me'])
      assertRefused(await browser.postJson(`/v1/me/alerts/${alert_id}/answer`, { answer }), 404, 'not_found');
    for (const button of ['me', 'not-me'])
      assert.equal((await browser.post(`/account/alerts/${alert_id}/${button}`)).status, 404);
    assert.equal((await browser.get('/v1/me')).status, 200, 'their own sessions go on');
  }
  const [alert] = await plain(db).all<{ answer: string | null }>(
    'select answer from security_alerts where alert_id = $1',
    [alert_id],
  );
  assert.deepEqual([alert?.answer, (await user.browser.get('/v1/me')).status], [null, 200]);
  assert.equal((await user.browser.get(`/v1/me/alerts/${alert_id}`)).status, 200);
});
