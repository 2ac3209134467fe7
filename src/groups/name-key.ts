/** Two names with the same key are one name to people. */
export const groupNameKey = (name: string): string => name.normalize('NFKC').toLowerCase();
