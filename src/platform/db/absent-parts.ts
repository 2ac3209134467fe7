import { AsyncLocalStorage } from 'node:async_hooks';

// A list of all users is worth reading while a server is away: it shows what the others have, and which part it is without.

const listing = new AsyncLocalStorage<Set<string>>();

/**
 * Work that shows what is there: what is asked of all parts goes without those that are away, and {@link absentParts} names them. Not for
 * what decides, nor for a copy that is kept.
 */
export const showingWhatIsThere = <Result>(work: () => Result): Result => listing.run(new Set(), work);

/** By the names of their schemas; of work in {@link showingWhatIsThere} alone. */
export const absentParts = (): readonly string[] => [...(listing.getStore() ?? [])].sort();

/** With what the work goes without. */
export const withAbsent = <Result>(work: () => Promise<Result>) =>
  showingWhatIsThere(async () => ({ result: await work(), absent: absentParts() }));

/** @returns whether the work under way goes on without it. */
export function goesWithout(schema: string): boolean {
  const absent = listing.getStore();
  absent?.add(schema);
  return absent !== undefined;
}
