import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openVault, WrongMasterKey } from './vault.ts';

test('what anybody may ask for is sealed under keys apart from that of what is at rest', () => {
  const vault = openVault(Buffer.alloc(32, 7));
  const sealers = { atRest: vault, browser: vault.browser, mail: vault.mail };
  for (const [name, sealer] of Object.entries(sealers)) {
    const sealed = sealer.seal('purpose', 'text ✓');
    assert.equal(sealer.open('purpose', sealed), 'text ✓');
    assert.throws(() => sealer.open('other', sealed), WrongMasterKey);
    assert.throws(() => sealer.open('purpose', `${sealed.slice(0, -2)}AA`), WrongMasterKey);
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
