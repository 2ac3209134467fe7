import assert from 'node:assert/strict';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import { administrator } from '../support/clients.ts';
import { pages, passkeyOptions, postAssertion, signInWithPasskey } from '../support/passkeys.ts';
import { testSignet } from '../support/signet.ts';

type Signal = [name: string, options: Record<string, unknown>];

const signalsIn = (page: string): Signal[] =>
  JSON.parse((/data-passkey-signals="([^"]*)"/.exec(page)?.[1] ?? '[]').replaceAll('&quot;', '"')) as Signal[];

testSignet(
  'a browser hears of a passkey that is unknown here, and of no other that is refused',
  {},
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const key = await user.addPasskey();
    const kept = await user.addPasskey(newAuthenticator(signet.url));
    assert.equal((await user.browser.delete(`/v1/me/passkeys/${key.id}`)).status, 204);

    const removed = await signInWithPasskey(signet, key);
    assert.equal(removed.answer.status, 403);
    assert.deepEqual(signalsIn(removed.answer.text), [
      ['signalUnknownCredential', { rpId: 'localhost', credentialId: key.credential_id }],
    ]);
    assert.match(removed.answer.text, /src="\/assets\/passkey-signals-[\w-]+\.js"/);

    const forged = await signInWithPasskey(signet, kept, { rpId: 'elsewhere.example' });
    assert.equal(forged.answer.status, 403);
    assert.deepEqual(signalsIn(forged.answer.text), [], 'which is known and refused for another reason');
    await disableUser(signet.deps, administrator, user.user_id);
    const disabled = await signInWithPasskey(signet, kept);
    assert.equal(disabled.answer.status, 403);
    assert.deepEqual(signalsIn(disabled.answer.text), [], 'a user who is disabled keeps theirs');

    const browser = signet.newBrowser();
    await passkeyOptions(browser, '/signin/passkey');
    for (const credential of ['', 'x', { id: '"><script>', rawId: '"><script>', type: 'public-key', response: {} }]) {
      const { text } = await postAssertion(browser, '/signin/passkey', credential);
      assert.deepEqual(signalsIn(text), []);
    }
  },
);

testSignet(
  'the page of passkeys says which there are, and under which name they are listed',
  {},
  async ({ signet }) => {
    const user = await signet.signedInUser({ name: 'Ada "the first" Lovelace' });
    const idsOn = async () => {
      const signals = signalsIn((await user.browser.get(pages)).text);
      assert.deepEqual(
        signals.map(([name]) => name),
        ['signalAllAcceptedCredentials', 'signalCurrentUserDetails'],
      );
      const [[, all], [, details]] = signals as [Signal, Signal];
      assert.equal(details.name, user.email);
      assert.equal(details.displayName, 'Ada "the first" Lovelace');
      assert.equal(all.userId, Buffer.from(user.user_id).toString('base64url'));
      return all.allAcceptedCredentialIds;
    };
    assert.deepEqual(await idsOn(), []);
    const key = await user.addPasskey();
    assert.deepEqual(await idsOn(), [key.credential_id]);
    await user.browser.delete(`/v1/me/passkeys/${key.id}`);
    assert.deepEqual(await idsOn(), [], 'also after the last one is gone');
  },
);
