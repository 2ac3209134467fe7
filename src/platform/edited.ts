/** What an edit has left, which may have found nothing to change. */
export type Edited<After> = { readonly after: After; readonly isChanged: boolean };

const ofNoChange = new WeakSet<object>();

/** The answer of such an edit: the same in the API either way, while its page and its command say which it was. */
export function answerOf<After extends object>(edited: Edited<After>): After;
export function answerOf<After, Answer extends object>(edited: Edited<After>, record: (after: After) => Answer): Answer;
export function answerOf({ after, isChanged }: Edited<object>, record = (after: object): object => after): object {
  const answer = record(after);
  if (!isChanged) ofNoChange.add(answer);
  return answer;
}

export const isOfNoChange = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && ofNoChange.has(answer);
