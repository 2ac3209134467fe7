/** The first letters of the first and the last word of a name: "AL" for Ada King Lovelace. */
export function personInitials({ name, email }: { readonly name: string | null; readonly email: string }): string {
  const words = (name ?? email).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const last = name !== null && words.length > 1 ? words.at(-1) : '';
  return [words[0], last]
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase();
}
