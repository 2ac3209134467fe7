const longestName = 100;

/**
 * Control, format (bidirectional overrides, zero-width, soft hyphen), surrogate, private and unassigned characters,
 * line separators, and the letters that are drawn as nothing.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/**
 * What stands against the name of a person or a client, judged as it would be stored: without spaces around it. People
 * decide by names whom to trust, so a name must look like what it is.
 */
export function displayNameProblem(name: string): string | undefined {
  const trimmed = name.trim();
  if (unseen.test(trimmed)) return 'Must not hold control, invisible or text-direction characters.';
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(trimmed) || [...trimmed].length > longestName) {
    return `Must have 1 to ${longestName} characters, with something to see among them.`;
  }
  return undefined;
}
