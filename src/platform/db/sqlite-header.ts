import { closeSync, openSync, readSync, statSync } from 'node:fs';

/**
 * What the first 100 bytes of a database tell (https://sqlite.org/fileformat.html). While it is open in WAL mode they change with
 * copying the log alone. SQLite's counter of changes is of no use: with a log each connection counts for itself.
 */
type Header = {
  /** Of a database, and not of anything else. */
  format: string;
  /** Each copy that `signet backup` makes says no. */
  hasLog: boolean;
  /** Of the whole file. It grows, since nothing here makes a database smaller. */
  pages: number;
  /** Grows with each change of the tables, and with a `vacuum`, which is what may make a database smaller. */
  schemaCookie: number;
};

/**
 * One descriptor of a file for the whole process: SQLite's locks on it would be lost as soon as any descriptor of it was closed.
 */
const descriptors = new Map<string, { descriptor: number; users: number }>();

function holdDescriptor(path: string) {
  const { dev, ino } = statSync(path);
  const name = `${dev}:${ino}`;
  const held = descriptors.get(name) ?? { descriptor: openSync(path, 'r'), users: 0 };
  held.users += 1;
  descriptors.set(name, held);
  const release = () => {
    held.users -= 1;
    if (held.users > 0) return;
    descriptors.delete(name);
    closeSync(held.descriptor);
  };
  return { descriptor: held.descriptor, release };
}

/** @throws the error of the system. */
function readHeader(descriptor: number): Header {
  const bytes = Buffer.alloc(100); // zeros, if the file is shorter
  readSync(descriptor, bytes, 0, bytes.length, 0);
  return {
    format: bytes.toString('latin1', 0, 16),
    hasLog: bytes[18] === 2,
    pages: bytes.readUInt32BE(28),
    schemaCookie: bytes.readUInt32BE(40),
  };
}

const format = 'SQLite format 3\0';

/**
 * Whether something else was written over a database that is open: a file that is none, a copy that `signet backup` has made,
 * or one from before its tables changed or grew. Another copy looks like the database itself.
 */
export function openHeader(path: string) {
  let held: ReturnType<typeof holdDescriptor> | undefined;
  try {
    held = holdDescriptor(path);
  } catch {} // then SQLite could not open it either
  let known: Header | undefined;

  const comesAfter = (one: Header, other: Header) =>
    one.format === other.format &&
    (one.hasLog || !other.hasLog) &&
    (one.schemaCookie > other.schemaCookie || (one.schemaCookie === other.schemaCookie && one.pages >= other.pages));

  return {
    isOfAnother(): boolean {
      if (!held) return false;
      try {
        // Twice, in case the page was being written.
        for (let attempt = 0; attempt < 2; attempt += 1) {
          const found = readHeader(held.descriptor);
          if (known !== undefined && !comesAfter(found, known)) continue;
          if (found.format === format) known = found; // of a new file nothing is written yet
          return false;
        }
        return true;
      } catch {
        return false; // a disk that fails is noticed where it is read or written
      }
    },
    /** Before the file is opened anew, and read as a whole. */
    forget(): void {
      known = undefined;
    },
    close(): void {
      held?.release();
      held = undefined;
    },
  };
}
