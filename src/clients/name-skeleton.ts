import { readAsset } from '../platform/assets.ts';
import { editDistance } from '../platform/text.ts';

const text = (codePoints: string): string =>
  String.fromCodePoint(...codePoints.split('-').map((one) => Number.parseInt(one, 16)));

/** What a character looks like, one letter or several, by Unicode's `confusables.txt` (UTS #39). */
const readConfusables = (): ReadonlyMap<string, string> =>
  new Map(
    readAsset('clients/confusables.txt')
      .matchAll(/^([0-9a-f-]+)=(.+)$/gm)
      .flatMap(([, looks = '', characters = '']) =>
        characters.split(',').map((character): [string, string] => [text(character), text(looks)]),
      ),
  );
let confusables: ReadonlyMap<string, string> | undefined;

/**
 * Lookalikes that Unicode's table does not map to a Latin letter: digits and signs that stand for letters, small capitals,
 * and a few letters of other alphabets. Each group begins with the Latin letter.
 */
const alsoLooksLike = 'a4@ᴀ b8вβ dᴅ e3єᴇᏋ fꜰ g9ɢ hн i! jᴊ kк l1ʟ mм nпɴᏁ o0 pᴘ rгɾʀ s5$ t7+τ uц wшꙍ xχ yγ z2'.split(
  ' ',
);

/** White letters on a dark circle or square, which NFKD does not decompose, unlike other framed letters. */
const framed = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
const unframed = (letter: string) => {
  const code = letter.codePointAt(0)!;
  return String.fromCharCode(0x61 + code - (code < 0x1f170 ? 0x1f150 : 0x1f170));
};

export const withoutMarks = (text: string) =>
  text
    .replace(framed, unframed)
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '');

/** The character itself comes first: a capital looks like other letters than its lowercase form. */
const inTable = (character: string) => {
  confusables ??= readConfusables(); // with the first name: few processes compare any
  return confusables.get(character) ?? confusables.get(character.toLowerCase());
};

/** Where Unicode maps a listed letter to a lookalike outside Latin, that lookalike gets the Latin letter as well. */
const readShapes = (): ReadonlyMap<string, string> =>
  new Map(
    alsoLooksLike.flatMap(([letter = '', ...characters]) =>
      characters.flatMap((character) => {
        const twin = (inTable(character) ?? character).toLowerCase();
        const all = /^[a-z]+$/.test(twin) || twin.length !== 1 ? [character] : [character, twin];
        return all.map((one): [string, string] => [one, letter]);
      }),
    ),
  );
let shapes: ReadonlyMap<string, string> | undefined;
const shapeOf = (character: string) => {
  shapes ??= readShapes();
  return shapes.get(character);
};

/** `I`, `l`, `1` and `i` are all one stroke. */
const stroke = (letter: string) => (letter === 'i' ? 'l' : letter);

/** A name has at most 100 characters, but some expand to twenty letters. */
const longestSkeleton = 300;

/**
 * A name without case, accents, spaces and signs, and with one shape for characters that look alike (UTS #39 §4, extended
 * for readers of Latin). Two names with the same skeleton can be mistaken for each other.
 */
export function nameSkeleton(name: string): string {
  const looks = [...withoutMarks(name)].map((character) => shapeOf(character) ?? inTable(character) ?? character);
  const lower = withoutMarks(looks.join('').toLowerCase());
  const letters = [...lower].map((letter) => stroke(shapeOf(letter) ?? letter)).join('');
  const only = letters.replace(/[^\p{L}\p{N}]/gu, '');
  // Pairs that look like one letter in most typefaces.
  return only.replaceAll('rn', 'm').replaceAll('vv', 'w').slice(0, longestSkeleton);
}

/** Short names that differ in a letter or two do not look alike: `App` and `Api`. */
const maxEdits = (length: number) => (length < 4 ? 0 : length < 6 ? 1 : 2);

export const looksAlike = (one: string, other: string): boolean => areSimilar(nameSkeleton(one), nameSkeleton(other));

/** @returns whether two skeletons differ in at most two letters. */
export function areSimilar(from: string, to: string): boolean {
  const max = maxEdits(Math.min(from.length, to.length));
  if (from === '' || to === '' || Math.abs(from.length - to.length) > max) return false;
  return sharesPiece(from, to, max + 1) && editDistance(from, to, max) <= max;
}

/** Fewer edits than pieces leave one piece unchanged. A search for it is fast, and most names share none. */
function sharesPiece(from: string, to: string, pieces: number): boolean {
  const length = Math.ceil(from.length / pieces);
  for (let start = 0; start < from.length; start += length) {
    if (to.includes(from.slice(start, start + length))) return true;
  }
  return false;
}

/** @returns whether one skeleton contains the other, as "Signet Support" contains "Signet". */
export const containsName = (skeleton: string, part: string, minLength: number): boolean =>
  part.length >= minLength && skeleton.includes(part);
