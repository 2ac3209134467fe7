/** What a file has for one user. `at`: its line, or its place in the document, from 1. */
export type FileRecord = { at: number } & ({ value: unknown } | { problem: string });

/** Takes a file piece by piece, so that no more of it is in memory than one user needs. */
export type RecordReader = {
  push(text: string): FileRecord[];
  /** @throws {FileDamaged} if the file ends within a user. */
  end(): FileRecord[];
};

/** The rest of a file cannot be understood. What was read of it before is as it was written. */
export class FileDamaged extends Error {
  override name = 'FileDamaged';
}

export const tooLong = 'Is too long for one user.';
export const noJson = 'Is not valid JSON.';

export function parsed(at: number, text: string): FileRecord {
  try {
    return { at, value: JSON.parse(text) };
  } catch {
    return { at, problem: noJson };
  }
}
