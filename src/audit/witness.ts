import { chmod, open, readFile, rename } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import type { Logger } from 'pino';
import { makeFolder } from '../platform/durable-files.ts';

/** A place of the chain and its seal. Place 0 is before the first event. */
export type Head = { seq: number; seal: string };

/** @property accepted how many losses had been acknowledged when it was seen. */
export type WitnessedHead = Head & { accepted: number };

export type Witness = ReturnType<typeof openWitness>;

export type Witnesses = Witness & {
  /** Of the chain of another part of the store, whose schema is in the name of its file. */
  of(schema: string | undefined): Witness;
};

/** @param path of the file; others are beside it. */
export function openWitnesses(path: string, log: Logger): Witnesses {
  const own = openWitness(path, log);
  const others = new Map<string, Witness>();
  const { dir, name, ext } = parse(path);
  const pathOf = (schema: string) => join(dir, `${name}.${schema}${ext}`);
  return {
    ...own,
    of: (schema) =>
      schema === undefined ? own : others.getOrInsertComputed(schema, () => openWitness(pathOf(schema), log)),
  };
}

/**
 * Keeps the newest place of the chain that this node has seen out of reach of write access to the database: in the memory
 * of this process and, for the next one, in a file. A chain that lacks it has lost its end.
 */
export function openWitness(path: string, log: Logger) {
  let last: WitnessedHead | undefined;
  let kept: string | undefined;
  let isUnwritable = false;
  /** Undefined before anything was seen; `unreadable` when the file exists and cannot be parsed. */
  const known = async (): Promise<WitnessedHead | 'unreadable' | undefined> => {
    if (last) return last;
    const read = await readSeen(path);
    if (last || read === undefined || read === 'unreadable') return last ?? read;
    last = read;
    return last;
  };
  /** After an acknowledged loss: earlier places are no longer expected. */
  const replace = (newest: WitnessedHead) => {
    last = newest;
  };
  return {
    path,
    known,
    replace,
    /** A place before the known one is ignored. */
    remember(newest: WitnessedHead): void {
      if (last === undefined || newest.seq > last.seq) replace(newest);
    },
    /** Writes the file if it changes. A file that cannot be written is logged once. */
    async keep(): Promise<void> {
      if (!last) return;
      const text = `${JSON.stringify(last)}\n`;
      if (text === kept) return;
      try {
        await writeWhole(path, text);
        kept = text;
        isUnwritable = false;
      } catch (error) {
        if (!isUnwritable) log.warn({ err: error, path }, cannotKeep);
        isUnwritable = true;
      }
    },
  };
}

const cannotKeep =
  'the checkpoint of the audit log cannot be stored outside the database: after a restart, only `signet audit verify --expect` detects a truncated log. Set SIGNET_AUDIT_HEAD_FILE to a path that this process may write';

async function readSeen(path: string): Promise<WitnessedHead | 'unreadable' | undefined> {
  try {
    const { seq, seal, accepted } = JSON.parse(await readFile(path, 'utf8')) as Partial<WitnessedHead>;
    const isSound = Number.isSafeInteger(seq) && typeof seal === 'string' && Number.isSafeInteger(accepted);
    return isSound ? ({ seq, seal, accepted } as WitnessedHead) : 'unreadable';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable';
  }
}

/** Written aside, synced and renamed: a reader gets the old text or the new one, also after a loss of power. */
async function writeWhole(path: string, text: string): Promise<void> {
  makeFolder(dirname(path));
  const aside = `${path}.${process.pid}.new`;
  const file = await open(aside, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
  await chmod(aside, 0o600);
  await rename(aside, path);
}
