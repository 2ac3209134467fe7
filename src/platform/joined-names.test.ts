import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayNameProblem, isSeen, textPatterns, visibleText } from './text.ts';

/** As their owners write them. */
const names =
  'ကျော်စွာ|သန်းရွှေ|علی‌رضا|یه‌نام|محمد|عائشة|ශ්‍රීමාලි|ක්‍රිෂ්ණ|गर्‍यो|राम|র‍্যাচেল|ক্‌ষমা|Müller|Nguyễn Thị Hồng|Ελένη|Анна Йовчева|שרה|தமிழ்ச்செல்வி|ಕೃಷ್ಣ|മലയാളം|ไทยน้ำ|ພູຄຳ|བསྟན་འཛིན|សុខា|అనిత|ਗੁਰਪ੍ਰੀਤ|ગીતા|ଓଡ଼ିଆ|ዓለም|გიორგი|Արամ|田中さくら|김민수|カタカナ|ᏣᎳᎩ|ⴰⵎⵣⵉⵖ|ܣܘܪܝܝܐ|ދިވެހި|ᠮᠣᠩᠭᠣᠯ|O’Brien|Łukasz|José María|Family 👨‍👩‍👧|🏳️‍🌈 Team|👩🏽‍💻'.split(
    '|',
  );
const deceiving = {
  'between Latin letters': ['A\u200dda', 'A\u200cda', 'pay\u200dpal', '1\u200d2', 'Анна\u200dА'],
  'at an end': ['علی\u200c', '\u200cعلی', 'क\u200d', '\u200dक', '👨\u200d', 'راما \u200c راما'],
  doubled: ['علی\u200c\u200cرضا', 'علی\u200d\u200cرضا', '👨\u200d\u200d👩'],
  'between an emoji and a letter': ['a\u200d👨', '👨\u200da'],
  'other invisible characters': ['Ada\u202e', 'Ad\u200ba', 'ad\u00ada', 'علی\u2060رضا'],
};

test('names of many scripts are taken as they are spelled', () => {
  assert.ok(names.length >= 40);
  for (const name of names) {
    assert.equal(displayNameProblem(name), undefined, name);
    assert.ok(isSeen(name), name);
    for (const pattern of [textPatterns.name, textPatterns.seen, textPatterns.visible]) {
      for (const flags of ['', 'u']) assert.match(name, new RegExp(pattern, flags));
    }
    assert.equal(visibleText(name), name, 'and shown so');
  }
});

test('what deceives stays refused', () => {
  for (const [kind, texts] of Object.entries(deceiving)) {
    for (const text of texts) {
      assert.ok(displayNameProblem(text), `${kind}: ${JSON.stringify(text)}`);
      assert.ok(!isSeen(text), `${kind}: ${JSON.stringify(text)}`);
      assert.match(visibleText(text), /\[U\+/);
    }
  }
  for (const zalgo of ['Z\u0338\u0321\u031b\u034ea', `А${'\u0301'.repeat(4)}`, `क${'\u093f'.repeat(7)}`]) {
    assert.ok(displayNameProblem(zalgo), 'more marks than a script writes');
  }
});
