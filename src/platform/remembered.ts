/** Of texts that are kept. A longer one is none that comes again and again. */
const maxLength = 500;
const maxKept = 500;

/**
 * A function that is asked for the same few texts with every request, such as the scope of a token, and answers what it gave for them
 * before. What it gives depends on the text alone, and is never changed.
 */
export function remembered<Answer extends object>(make: (text: string) => Answer): (text: string) => Answer {
  const kept = new Map<string, Answer>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const answer = make(text);
    if (text.length > maxLength) return answer;
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
    kept.set(text, answer);
    return answer;
  };
}
