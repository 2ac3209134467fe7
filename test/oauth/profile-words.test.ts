import assert from 'node:assert/strict';
import { onBothEngines } from '../support/databases.ts';
import { startSignet } from '../support/signet.ts';

onBothEngines('connected apps list what each app is told today, and nothing that was left empty', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const user = await signet.signedInUser();
  await user.obtainTokens(await signet.registerClient({ owner: user }), { scope: 'openid profile' });
  const before = (await user.browser.get('/account/apps')).text;
  assert.doesNotMatch(before, /1990-01-31/);
  await user.browser.patch('/v1/me', { birthdate: '1990-01-31', gender: 'woman' });
  const { text } = await user.browser.get('/account/apps');
  assert.match(text, /birthday, gender, language and time zone/);
  assert.match(text, /1990-01-31[\s\S]*woman|woman[\s\S]*1990-01-31/);
  assert.match(text, /leave empty under <a href="\/account">Profile<\/a> is told to no app/);
  await user.browser.patch('/v1/me', { birthdate: null, gender: null });
  assert.doesNotMatch((await user.browser.get('/account/apps')).text, /1990-01-31|woman/);
});
