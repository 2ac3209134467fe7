import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openVault, WrongMasterKey } from './vault.ts';

test('a restore voids what browsers keep, and nothing that is stored', () => {
  const [before, after] = [openVault(Buffer.alloc(32, 7)), openVault(Buffer.alloc(32, 7), 'rst_1')];
  assert.throws(() => after.browser.open('purpose', before.browser.seal('purpose', 'text')), WrongMasterKey);
  const challenge = Buffer.from('challenge');
  assert.notDeepEqual(after.mac('passkey-challenge', challenge), before.mac('passkey-challenge', challenge));
  assert.equal(after.open('purpose', before.seal('purpose', 'text')), 'text');
  assert.equal(after.mail.open('purpose', before.mail.seal('purpose', 'text')), 'text');
  assert.deepEqual(after.mac('audit-log', challenge), before.mac('audit-log', challenge));
});

test('what anybody may ask for is sealed under keys apart from that of what is at rest', () => {
  const vault = openVault(Buffer.alloc(32, 7));
  const sealers = { atRest: vault, browser: vault.browser, mail: vault.mail };
  for (const [name, sealer] of Object.entries(sealers)) {
    const sealed = sealer.seal('purpose', 'text ✓');
    assert.equal(sealer.open('purpose', sealed), 'text ✓');
    assert.throws(() => sealer.open('other', sealed), WrongMasterKey);
    const forged = `${sealed.slice(0, -2)}${sealed.at(-2) === 'A' ? 'B' : 'A'}${sealed.slice(-1)}`;
    assert.throws(() => sealer.open('purpose', forged), WrongMasterKey);
    assert.throws(() => sealer.open('purpose', ''), WrongMasterKey);
    for (const [otherName, other] of Object.entries(sealers)) {
      if (otherName === name) continue;
      assert.throws(() => other.open('purpose', sealed), WrongMasterKey, `${name} opened by ${otherName}`);
    }
    const untrusted = openVault(Buffer.alloc(32, 8));
    for (const one of [untrusted, untrusted.browser, untrusted.mail]) {
      assert.throws(() => one.open('purpose', sealed), WrongMasterKey);
    }
  }
});
