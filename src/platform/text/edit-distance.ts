/**
 * Insertions, deletions and replacements that turn one text into the other (Levenshtein).
 * Only the cells within `most` of the diagonal are worked out: no shorter way leaves them (Ukkonen).
 * @param most beyond which the exact number does not matter: anything higher may be returned for it, sooner.
 */
export function editDistance(from: string, to: string, most = Number.POSITIVE_INFINITY): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const first = Math.max(1, row + 1 - most);
    const last = Math.min(to.length, row + 1 + most);
    const current: number[] = Array(to.length + 1).fill(Number.POSITIVE_INFINITY);
    current[0] = row + 1;
    for (let column = first; column <= last; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      current[column] = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
    }
    const least = Math.min(...current); // no later row goes below it
    if (least > most) return least;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
