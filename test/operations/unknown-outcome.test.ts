import assert from 'node:assert/strict';
import { OutcomeUnknown, StoreUnavailable } from '../../src/db/db.ts';
import { onBothEngines } from '../support/databases.ts';
import { signedInPerson, startSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

onBothEngines('an answer says "nothing was changed" only where that is known', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const { browser } = await signedInPerson(signet);
  const failing = async (error: Error, ask: () => Promise<{ status: number; headers: Headers; text: string }>) => {
    const restore = beforeEachCall(signet.deps.db, (sql) => {
      if (sql.some((text) => text.includes('update users'))) throw error;
    });
    const answer = await ask();
    restore();
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '2');
    return answer.text;
  };
  const byProgram = () =>
    browser.send('/v1/me', {
      method: 'PATCH',
      headers: { origin: signet.url, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'New name' }),
    });
  const byPerson = (language: string) => () =>
    browser.post('/account', { name: 'New name' }, { accept: 'text/html', 'accept-language': language });

  const refused = new StoreUnavailable('not sent');
  assert.match(await failing(refused, byProgram), /Nothing was changed/);
  assert.match(await failing(refused, byPerson('en')), /Nothing was changed/);

  const unknown = new OutcomeUnknown('sent');
  const said = await failing(unknown, byProgram);
  assert.match(said, /may or may not have been kept/);
  assert.doesNotMatch(said, /othing was/);
  const english = await failing(unknown, byPerson('en'));
  assert.match(english, /cannot say whether this change was kept/);
  assert.match(english, /look whether it is there/);
  assert.doesNotMatch(english, /othing was/);
  const german = await failing(unknown, byPerson('de'));
  assert.match(german, /nicht sagen, ob diese Änderung gespeichert wurde/);
  assert.doesNotMatch(german, /nichts (geändert|verloren)|ging nichts/i);
});
