import assert from 'node:assert/strict';
import { onBothEngines } from '../support/databases.ts';
import { assertRefused } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

onBothEngines('what a user changes of how they sign in is limited an hour, and each user apart', async (t, engine) => {
  const env = { SIGNET_LIMIT_SECURITY_CHANGES_PER_HOUR: '3' };
  const signet = await startSignet(t, { engine, env });
  const user = await signet.signedInUser();
  await user.enableTotp();
  const renew = (who = user) => who.browser.postEmpty('/v1/me/2fa/backup-codes');
  const events = async () =>
    (await signet.auditLog({ target: user.user_id })).filter(({ actor }) => actor !== 'cli').length;
  assert.equal((await renew()).status, 200);
  assert.equal((await renew()).status, 200);
  const before = await events();
  for (const refused of [
    await renew(),
    await user.browser.postJson('/v1/me/password', { password: 'other words that are long enough' }),
    await user.browser.delete('/v1/me/2fa/totp'),
  ]) {
    assertRefused(refused, 429, 'rate_limited');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
  }
  assert.equal(await events(), before, 'nothing more is in the log');
  assert.equal((await user.browser.delete('/v1/me/sessions')).status, 200, 'ends are not limited');

  const other = await signet.signedInUser();
  await other.enableTotp();
  assert.equal((await renew(other)).status, 200);
});
