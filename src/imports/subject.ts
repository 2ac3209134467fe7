import { mayBeUserId } from '../platform/ids.ts';

/** What the audit log calls those who do something, and puts before their ids. */
const actors = /^(?:cli|system|(?:user|client|service):.*)$/;

/**
 * Why an id of another product cannot be the `user_id`, and so the `sub`, of a user here. OpenID Connect Core §2 wants at most 255 ASCII
 * characters; these are the ones that need no escape in a path, a cursor or a page.
 */
export function subjectProblem(sub: string): string | undefined {
  if (!/^[A-Za-z0-9_|:-]{1,255}$/.test(sub)) {
    return 'Must be 1 to 255 letters, digits, underscores, hyphens, vertical bars and colons to be kept as the subject.';
  }
  return mayBeUserId(sub) && !actors.test(sub) ? undefined : 'Is like an ID of another kind, so it cannot be kept.';
}
