import assert from 'node:assert/strict';
import { changeSetting } from '../../src/settings/change-setting.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { testSignet } from '../support/signet.ts';

testSignet(
  'who depends on one passkey, or on an app without codes, is told before it is lost',
  {},
  async ({ signet }) => {
    const advice = async ({ browser }: Awaited<ReturnType<typeof signet.signedInUser>>) =>
      /id="only-way">.*?<\/div>/s.exec((await browser.get('/account/security')).text)?.[0];
    const user = await signet.signedInUser();
    assert.equal(await advice(user), undefined, 'a password is recovered by mail');
    await user.addPasskey();
    assert.match((await advice(user)) ?? '', sentence('security.only_passkey'));
    await user.addPasskey(newAuthenticator(signet.url));
    assert.equal(await advice(user), undefined);

    const other = await signet.signedInUser();
    await other.enableTotp();
    assert.equal(await advice(other), undefined, 'with ten codes');
    await plain(signet.deps.db).run('update backup_codes set used_at = 1 where user_id = $1', [other.user_id]);
    assert.match((await advice(other)) ?? '', sentence('security.only_app'));
    assert.equal((await other.browser.postEmpty('/v1/me/2fa/backup-codes')).status, 200);
    assert.equal(await advice(other), undefined);
  },
);

testSignet('who has a passkey is told that the password alone gets in, unless it does not', {}, async ({ signet }) => {
  const pageOf = async ({ browser }: Awaited<ReturnType<typeof signet.signedInUser>>) =>
    (await browser.get('/account/security')).text;
  const user = await signet.signedInUser();
  assert.match(await pageOf(user), sentence('security.advice'));
  await user.addPasskey();
  assert.match(await pageOf(user), sentence('security.advice.passkey'));
  assert.doesNotMatch(await pageOf(user), sentence('security.advice'));
  await changeSetting(signet.deps, { actor: 'cli' }, 'SIGNET_SECOND_FACTOR', { value: 'required' });
  const page = await pageOf(user);
  assert.match(page, sentence('security.only_passkey'), 'it is this page');
  assert.doesNotMatch(page, sentence('security.advice.passkey'));
  await changeSetting(signet.deps, { actor: 'cli' }, 'SIGNET_SECOND_FACTOR', { value: null });
  await user.enableTotp();
  assert.doesNotMatch(await pageOf(user), sentence('security.advice.passkey'));
});
