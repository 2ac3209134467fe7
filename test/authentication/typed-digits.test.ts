import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asciiDigits } from '../../src/platform/text.ts';
import { testSignet } from '../support/signet.ts';
import { codesOf, enableTotp, wrongCode } from '../support/two-factor.ts';

/** Zero of each keyboard; the other nine follow it. */
const zeros = {
  arabic: '٠',
  persian: '۰',
  devanagari: '०',
  bengali: '০',
  thai: '๐',
  burmese: '၀',
  wide: '０',
  adlam: '𞥐',
};
const typedIn = (zero: string, code: string) =>
  code.replace(/[0-9]/g, (digit) => String.fromCodePoint(zero.codePointAt(0)! + Number(digit)));

testSignet('codes count in the digits of any keyboard, at every place that takes one', {}, async ({ signet }) => {
  const user = await signet.signedInUser();
  const app = await enableTotp(signet, user);
  const second = async (code: string) => (await user.awaitingSecondFactor()).giveCode(code);
  for (const [keyboard, zero] of Object.entries(zeros)) {
    assert.equal((await second(typedIn(zero, app.code()))).status, 303, keyboard);
    assert.equal((await second(typedIn(zero, wrongCode(signet, app.secret)))).status, 401, `${keyboard}, a wrong one`);
  }
  const [one = '', two = ''] = app.backup_codes.filter((code) => /[2-9]/.test(code));
  assert.equal((await second(typedIn(zeros.persian, one))).status, 303);
  assert.equal((await second(typedIn(zeros.arabic, two))).status, 303);
  assert.equal((await second(one)).status, 401, 'it is used up, however it is spelled');

  const { browser } = await signet.signedInUser();
  const secret = String((await browser.postEmpty('/v1/me/2fa/totp/enroll')).json?.secret_base32);
  const code = typedIn(zeros.persian, codesOf(signet, secret)());
  assert.equal((await browser.postJson('/v1/me/2fa/totp/confirm', { code })).status, 200);
});

test('every decimal digit of Unicode has its value', () => {
  let zero = 0;
  let count = 0;
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(code))) continue;
    if (count % 10 === 0) zero = code;
    assert.equal(asciiDigits(String.fromCodePoint(code)), String(code - zero));
    count += 1;
  }
  assert.ok(count >= 700 && count % 10 === 0);
  assert.equal(asciiDigits('①²½一'), '①²½一', 'other numbers are none');
});
