/** Of ids of other kinds: one that begins so would be taken for another thing in the audit log, on pages and in commands. */
const otherKinds = /^(?:api|ar|cl|end|evt|ew|gr|grp|kid|lo|mail|msg|mv|node|pic|pk|pwv|req|rst|sec|ses|svc|wh)_/;

/** Words that the audit log puts before an id. */
const actors = /^(?:user|client|service):/;

/**
 * Why an id of another product cannot be the `user_id`, and so the `sub`, of a user here. OpenID Connect Core §2 wants at most 255 ASCII
 * characters; these are the ones that need no escape in a path, a cursor or a page.
 */
export function subjectProblem(sub: string): string | undefined {
  if (!/^[A-Za-z0-9_|:-]{1,255}$/.test(sub)) {
    return 'Must be 1 to 255 letters, digits, underscores, hyphens, vertical bars and colons to be kept as the subject.';
  }
  if (otherKinds.test(sub) || actors.test(sub)) return 'Begins like an ID of another kind, so it cannot be kept.';
  return undefined;
}
