import { editDistance } from '../platform/text/edit-distance.ts';
import { confusables } from './confusables.ts';

/**
 * What readers of Latin letters take for one and Unicode's table does not: digits that stand for letters, small capitals,
 * and pairs like the Cyrillic soft sign and "b". Whatever is drawn as a small stroke becomes `l`.
 */
const alsoLooksLike = [
  ['a', '4@\u1d00'],
  ['b', '8в\u0299β'],
  ['c', '\u1d04'],
  ['d', '\u1d05'],
  ['e', '3єё€\u1d07ᏋЄ'],
  ['f', '\ua730'],
  ['g', '9\u0262'],
  ['h', 'һнհ\u029c'],
  ['i', '!їι'],
  ['j', '\u1d0a'],
  ['k', 'кκ\u1d0bĸ'],
  ['l', '\u029f1|ⅼ'],
  ['m', 'м\u1d0dⅿʍ'],
  ['n', 'пη\u0274Ꮑπᴨ'],
  ['o', '0\u1d0fσ'],
  ['p', '\u1d18'],
  ['q', '\u01eb'],
  ['r', 'гɾ\u0280'],
  ['s', '5$\ua731'],
  ['t', '7т+\u1d1bτ'],
  ['u', 'ц\u1d1c'],
  ['v', '\u1d20ν'],
  ['w', 'шω\u1d21'],
  ['x', 'χ'],
  ['y', '\u028fγ'],
  ['z', '2\u1d22'],
] as const;

/** Letters in white on a dark circle or square: of all that have a frame, NFKD leaves these alone. */
const framed = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
const unframed = (letter: string) => {
  const code = letter.codePointAt(0)!;
  return String.fromCharCode(0x61 + code - (code < 0x1f170 ? 0x1f150 : 0x1f170));
};

const plainOf = (text: string) =>
  text
    .replace(framed, unframed)
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '');

/** By the character itself, since a capital looks like other letters than its small form does. */
const inTable = (character: string) => confusables.get(character) ?? confusables.get(character.toLowerCase());

/** The table says of some letters that they look like each other's twin beyond Latin, so those are entered as well. */
const shapes: ReadonlyMap<string, string> = new Map(
  alsoLooksLike.flatMap(([letter, characters]) =>
    [...characters].flatMap((character): [string, string][] => {
      const twin = (inTable(character) ?? character).toLowerCase();
      return /^[a-z]+$/.test(twin) || twin.length !== 1
        ? [[character, letter]]
        : [
            [character, letter],
            [twin, letter],
          ];
    }),
  ),
);

/** Strokes: `I`, `l`, `1` and `i` are told apart by nobody who does not look for it. */
const stroke = (letter: string) => (letter === 'i' ? 'l' : letter);

/** A name has 100 characters; a few of them stand for twenty letters each. */
const longestSkeleton = 300;

/** Pairs that run together in most typefaces. */
const pairs: readonly (readonly [string, string])[] = [
  ['rn', 'm'],
  ['vv', 'w'],
];

/**
 * What is left of a name for an eye that does not look closely: no case, no accents, no spaces or signs, one shape for
 * those that look alike (UTS #39 §4, and what Latin readers confuse besides). Two names with one skeleton are mistaken
 * for each other.
 */
export function nameSkeleton(name: string): string {
  const looks = [...plainOf(name)].map((character) => shapes.get(character) ?? inTable(character) ?? character);
  const lower = plainOf(looks.join('').toLowerCase());
  const letters = [...lower].map((letter) => stroke(shapes.get(letter) ?? letter)).join('');
  const only = letters.replace(/[^\p{L}\p{N}]/gu, '');
  return pairs.reduce((text, [pair, letter]) => text.replaceAll(pair, letter), only).slice(0, longestSkeleton);
}

/** Short names differ by a letter or two without looking alike: `App` and `Api`. */
const mostEdits = (length: number) => (length < 4 ? 0 : length < 6 ? 1 : 2);

/** Whether somebody could take one name for the other. */
export const looksAlike = (one: string, other: string): boolean => areAlike(nameSkeleton(one), nameSkeleton(other));

/** At most two letters between two skeletons. */
export function areAlike(from: string, to: string): boolean {
  const most = mostEdits(Math.min(from.length, to.length));
  if (from === '' || to === '' || Math.abs(from.length - to.length) > most) return false;
  return sharesPiece(from, to, most + 1) && editDistance(from, to, most) <= most;
}

/** Fewer edits than there are pieces leave one of them whole, which is quickly found: most names share none. */
function sharesPiece(from: string, to: string, pieces: number): boolean {
  const length = Math.ceil(from.length / pieces);
  for (let start = 0; start < from.length; start += length) {
    if (to.includes(from.slice(start, start + length))) return true;
  }
  return false;
}

/** Whether a name speaks for another: "Signet Support" for "Signet". Both are skeletons. */
export const speaksFor = (from: string, whole: string, shortest: number): boolean =>
  whole.length >= shortest && from.includes(whole);
