import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { sentence } from '../../../test/support/messages.ts';
import { inEnglish } from '../../platform/i18n/translate.ts';
import { minCharacters, passwordProblems } from './password-policy.ts';

const ada = { email: 'ada.l@mail.example.com', name: 'Ada Lovelace' };
const problems = (password: string) => passwordProblems(password, ada).map(inEnglish);
const readList = (name: string) =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
const listed = readList('common-passwords.txt');
const long = readList('common-long-passwords.txt');

for (const password of [
  'incorrect horses buttered the staples',
  'My-very-long-password-1',
  'kV9pQ2zL7wX4mN1',
  '#$%^&*()_+{}|:"<>?',
  'dragon#&*@^%!~$(@horse',
  'пароль который никто не знает',
  '馬と電池とホチキスと正しい答えを組む',
]) {
  test(`"${password}" is fine`, () => assert.deepEqual(problems(password), []));
}

for (const password of [
  'password123456789',
  'PASSWORD123456789',
  'p@ssw0rd-123456789',
  'pa$$word pa$$word!!!',
  'passwordpassword',
  'aaaaaaaaaaaaaaa',
  'aaaaaaaaaaaaaab',
  '               ',
  '!!!!!!!!!!!!!!!',
  'ééééééééééééééé',
  '123456789012345',
  '987654321098765',
  'abcabcabcabcabca',
  'qwertyuiopasdfgh',
  'qazwsxedcrfvtgbyhn',
  '1qaz2wsx3edc4rfv',
  '!@#$%^&*()_+!@#$',
  'basketballplayer',
  'correct horse battery staple',
  'Correct-Horse-Battery-Staple',
  'correct horse battery staple 2026',
  'neversaymypassword',
  'This is my password!',
  'I love you so much 123',
  'World of Warcraft',
  'Das ist mein Passwort',
  'iloveyou iloveyou',
  'basketball-2024',
  'Ada Lovelace 123456',
  'adalovelace1990',
  'lovelace.example',
  'ada.l@mail.example.com',
  'signet-signet-signet',
  'Signet-adalovelace',
]) {
  test(`"${password}" is refused`, () => assert.equal(problems(password).length, 1));
}

test('fifteen characters are enough and fourteen are not; code points count, not bytes', () => {
  assert.deepEqual(problems('kV9pQ2zL7wX4mN1'), []);
  assert.match(problems('kV9pQ2zL7wX4mN').join(), sentence('problem.password.short', { min: 15 }));
  assert.match(
    problems('\u{1f434}\u{1f50b}\u{1f4ce}\u{2705}\u{1f40e}\u{1f680}\u{1f3b7}\u{1f9ca}').join(),
    sentence('problem.password.short', { min: 15 }),
  );
});

test('with a second factor eight characters are enough and seven are not', () => {
  const withSecondFactor = { ...ada, secondFactor: true };
  assert.deepEqual(passwordProblems('kV9pQ2zL', withSecondFactor), []);
  assert.match(
    passwordProblems('kV9pQ2z', withSecondFactor).map(inEnglish).join(),
    sentence('problem.password.short', { min: 8 }),
  );
  assert.equal(passwordProblems('dragon12', withSecondFactor).length, 1);
});

test('64 and 200 characters are welcome; beyond 1024 bytes none is', () => {
  const words = 'tangerine lamps seldom argue with quiet violin makers on trains ';
  assert.deepEqual(problems(words.slice(0, 64)), []);
  assert.deepEqual(
    problems(Array.from({ length: 200 }, (_, i) => String.fromCharCode(97 + ((i * i) % 23))).join('')),
    [],
  );
  assert.match(problems(`${words}${'é'.repeat(512)}`).join(), sentence('problem.password.long', { max: 1024 }));
});

test('a word that is expected at this installation is refused like a common one', () => {
  const password = 'Acme Corporation 2026';
  assert.deepEqual(problems(password), []);
  assert.equal(passwordProblems(password, { ...ada, words: ['Acme Corporation'] }).length, 1);
});

for (const { secondFactor, lists, count } of [
  { secondFactor: false, lists: [long], count: 9_800 },
  { secondFactor: true, lists: [listed, long], count: 17_000 },
]) {
  test(`PW-01: none of the common passwords of ${minCharacters({ secondFactor })} characters or more is accepted, the first 3 000 and all others`, () => {
    const allowed = lists.flat().filter((one) => [...one].length >= minCharacters({ secondFactor }));
    assert.ok(allowed.length >= count, `${allowed.length}`);
    assert.deepEqual(
      allowed.filter((one) => passwordProblems(one, { ...ada, secondFactor }).length === 0),
      [],
    );
  });
}

test('the lists hold passwords in the form in which they are compared', () => {
  const all = [...listed, ...long];
  assert.deepEqual(
    all.filter((word) => word !== word.normalize('NFKC').toLowerCase() || /\s/.test(word)),
    [],
  );
  assert.equal(new Set(long).size, long.length);
});

test('every two listed passwords side by side are refused', () => {
  // Signs inside a word run together with the sign between two: "asdfjkl;-123456" is another matter.
  const word = fc.constantFrom(...listed.filter((one) => /^[a-z0-9]+$/.test(one)));
  const glued = fc.tuple(word, fc.constantFrom('', ' ', '-', '!!'), word).map((parts) => parts.join(''));
  fc.assert(fc.property(glued, (password) => problems(password).length === 1));
});

test('whatever is typed gets reasons in printable ASCII that do not repeat it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (password) =>
      problems(password).every((reason) => /^[ !#-[\]-~]+$/.test(reason)),
    ),
  );
});
