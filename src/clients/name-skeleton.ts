import { editDistance } from '../lib/edit-distance.ts';

/**
 * Letters and digits that are read as another (the common part of UTS #39 §4 for Latin readers). Whatever is drawn as a
 * small stroke becomes `l`.
 */
const looksLike: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['a', '4@аαɑ'],
    ['b', '8вьβ'],
    ['c', 'сϲ¢'],
    ['d', 'ԁ'],
    ['e', '3еєεё€'],
    ['f', 'ƒ'],
    ['g', 'ɡց9'],
    ['h', 'һнհ'],
    ['j', 'јϳ'],
    ['k', 'кκ'],
    ['l', '1iі|!ıιӏɩїⅼ'],
    ['m', 'мⅿ'],
    ['n', 'пηո'],
    ['o', '0оοσօ'],
    ['p', 'рρ'],
    ['q', 'ԛ'],
    ['r', 'гɾ'],
    ['s', '5$ѕꜱ'],
    ['t', '7тτ+'],
    ['u', 'υսц'],
    ['v', 'νѵ'],
    ['w', 'ԝшωѡ'],
    ['x', 'хχ×'],
    ['y', 'уүγ'],
    ['z', '2ᴢ'],
  ].flatMap(([letter = '', shapes = '']) => [...shapes].map((shape) => [shape, letter])),
);

/** Nobody reads further to tell two names apart, and a reviewer's queue compares each with thousands. */
const longestSkeleton = 40;

/** Pairs that run together in most typefaces. */
const pairs: readonly (readonly [string, string])[] = [
  ['rn', 'm'],
  ['vv', 'w'],
];

/**
 * What is left of a name for an eye that does not look closely: no case, no accents, no spaces or signs, one shape for
 * those that look alike. Two names with one skeleton are mistaken for each other.
 */
export function nameSkeleton(name: string): string {
  const plain = name.normalize('NFKC').toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  const shapes = [...plain].map((letter) => looksLike[letter] ?? letter).join('');
  const letters = shapes.replace(/[^\p{L}\p{N}]/gu, '');
  return pairs.reduce((text, [pair, letter]) => text.replaceAll(pair, letter), letters).slice(0, longestSkeleton);
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
