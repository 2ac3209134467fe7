/** Before the first column, and between two of them. */
export const gap = '  ';

export const widestOf = (rows: readonly (readonly string[])[], widthOf = (text: string) => text.length): number[] =>
  (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ''))));

/** With what `newId` makes, also behind `user:` and the like, or the thumbprint of a key, one can run another command. */
const id = /^(?:\w+:)?(?:[a-z]{2,4}_[\w-]{22}(?:\.[a-z]{2,4}_[\w-]{22})?|[\w-]{43})$/;
const timestamp = /^\d{4}-\d\d-\d\dT[\d:]+Z$/;
/** `2027-01-31 08:00` */
const shortTime = 16;
const shortest = 8;

/** What one looks for in a list, whole up to so many columns of the terminal. */
const read = new Set(['NAME', 'EMAIL', 'ACTION']);
const longestRead = 40;

/**
 * Where not all has room, a column that is the same in every row leaves first, then times, then others from the end; names,
 * addresses and actions are shortened only after that. The first two columns stay.
 */
export function fitColumns(rows: readonly (readonly string[])[], columns: number) {
  const natural = widestOf(rows, displayWidth);
  const kinds = natural.map((width, column) => {
    const cells = rows.slice(1).map((row) => row[column] ?? '');
    const whole = Math.max(0, ...cells.filter((cell) => id.test(cell)).map(displayWidth));
    const isTime = cells.every((cell) => cell === '-' || timestamp.test(cell)); // also one that has none yet
    const isRead = read.has(rows[0]?.[column] ?? '');
    const least = isTime ? shortTime : isRead ? longestRead : shortest;
    const same = column > 0 && cells.length > 1 && new Set(cells).size === 1 ? cells[0] : undefined;
    return { column, width, isTime, isRead, same, whole, min: Math.max(whole, Math.min(width, least)) };
  });
  const total = (widths: readonly number[]) => widths.reduce((sum, width) => sum + gap.length + width, 0);
  const isWhole = total(natural) <= columns;
  const kept = kinds.filter(({ same }) => isWhole || same === undefined);
  while (total(kept.map(({ min }) => min)) > columns) {
    const others = kept.filter(({ column, isRead }) => column > 1 && !isRead);
    const leaves = others.findLast(({ isTime }) => isTime) ?? others.at(-1);
    const shortens = kept.findLast(({ isRead, min, whole }) => isRead && min > Math.max(whole, shortest));
    if (leaves) kept.splice(kept.indexOf(leaves), 1);
    else if (shortens) shortens.min = Math.max(shortens.whole, shortest);
    else if (kept.length > 2) kept.pop();
    else break;
  }
  const capped = (cap: number) =>
    kept.map(({ width, min, isTime }) => (isTime && cap < width ? min : Math.min(width, Math.max(min, cap))));
  let cap = Math.min(columns, Math.max(...natural));
  while (cap > shortest && total(capped(cap)) > columns) cap -= 1;
  const widths = capped(cap);
  return {
    widths,
    rows: rows.map((row) => kept.map(({ column }, index) => shortened(row[column] ?? '', widths[index] ?? 0))),
    same: isWhole
      ? []
      : kinds.flatMap(({ same, column }) =>
          same === undefined ? [] : [shortened(`${rows[0]?.[column]} ${same}`, columns - gap.length)],
        ),
    leftOut: kinds
      .filter((one) => one.same === undefined && !kept.includes(one))
      .map(({ column }) => rows[0]?.[column] ?? ''),
  };
}

function shortened(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (timestamp.test(text) && width >= shortTime) return text.slice(0, shortTime).replace('T', ' ');
  let kept = '';
  for (const character of text) {
    if (displayWidth(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

const noColumn = /\p{M}/u;
const twoColumns =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** In the columns of a terminal. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += twoColumns.test(character) ? 2 : noColumn.test(character) ? 0 : 1;
  return width;
}
