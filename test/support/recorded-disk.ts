import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from './seeded-random.ts';

/** Of `record-disk.c`, which makes the record. */
const kinds = [
  '',
  'write',
  'truncate',
  'flush',
  'flushed',
  'create',
  'makeFolder',
  'link',
  'unlink',
  'rename',
] as const;
const headerBytes = 24;

/** A change, and its place in the record. */
type Change = { at: number } & ({ offset: number; data: Buffer } | { size: number });
type Content = { bytes: Buffer; size: number };
/** `flushed` is on disk. Of `pending` anything may be. */
type File = { flushed: Content; pending: Change[] };

/** Without a node the name is taken away. */
type Name = { at: number; name: string; node?: File | Folder; instead?: string };
type Folder = { flushed: Map<string, File | Folder>; pending: Name[] };
const isFolder = (node: File | Folder): node is Folder => node.flushed instanceof Map;

export type Losses = { dropped: number; torn: number; kept: number; names: number };

/** @returns the path of the library, in this folder; undefined on a machine that has no C compiler, or preloads in another way. */
export function buildRecorder(folder: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const library = join(folder, 'record-disk.so');
  try {
    const source = join(import.meta.dirname, 'record-disk.c');
    execFileSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return library;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A disk as far as a program may rely on one (POSIX `fsync`): what was written before a flush of its file began is on it when the
 * flush has ended. Of what was written since, each 512 bytes may be or not be, in any order; so may each change of a file's length.
 * The names in a folder change one after the other, and are lost from the end unless the folder was flushed.
 */
export class RecordedDisk {
  readonly #record: Buffer;
  readonly #root: Folder = { flushed: new Map(), pending: [] };
  #at = 0;
  /** By the numbers that they have now. That of one that is gone is given again, and a disk may still have the one. */
  readonly #nodes = new Map<bigint, File | Folder>();
  /** By thread: where the flush began that it is waiting for. */
  readonly #flushing = new Map<bigint, number>();

  /** @param root a folder that was empty when the record was begun. */
  constructor(record: string, root: string) {
    this.#record = readFileSync(record);
    this.#nodes.set(statSync(root, { bigint: true }).ino, this.#root);
  }

  /** Takes what is in the record before this place. */
  advanceTo(end: number): void {
    const record = this.#record;
    while (this.#at + headerBytes <= end) {
      const at = this.#at;
      const next = at + headerBytes + record.readUInt32LE(at + 4);
      if (next > end) return; // it was being written
      const [file, number] = [record.readBigUInt64LE(at + 8), record.readBigUInt64LE(at + 16)];
      this.#take(kinds[record.readUInt32LE(at)], { at, file, number, data: record.subarray(at + headerBytes, next) });
      this.#at = next;
    }
  }

  #take(
    kind: (typeof kinds)[number] | undefined,
    { at, file, number, data }: { at: number; file: bigint; number: bigint; data: Buffer },
  ): void {
    switch (kind) {
      case 'write':
        return void this.#file(file).pending.push({ at, offset: Number(number), data });
      case 'truncate':
        return void this.#file(file).pending.push({ at, size: Number(number) });
      case 'flush':
        return void this.#flushing.set(number, at);
      case 'flushed':
        return void flushed(this.#node(file), this.#flushing.get(number)!);
      case 'create':
        this.#nodes.set(file, { flushed: { bytes: Buffer.alloc(0), size: 0 }, pending: [] });
        break;
      case 'makeFolder':
        this.#nodes.set(file, { flushed: new Map(), pending: [] });
        break;
      case 'link':
        break;
      case 'unlink':
        return void this.#folder(number).pending.push({ at, name: data.toString() });
      case 'rename': {
        const [instead, name = ''] = data.toString().split('\0');
        return void this.#folder(number).pending.push({ at, name, node: this.#node(file), instead });
      }
      default:
        throw new Error(`no record begins at ${at}`);
    }
    this.#folder(number).pending.push({ at, name: data.toString(), node: this.#node(file) });
  }

  #node(number: bigint): File | Folder {
    const node = this.#nodes.get(number);
    if (!node) throw new Error(`${number} was there before the record was begun`);
    return node;
  }

  #file = (number: bigint) => this.#node(number) as File;
  #folder = (number: bigint) => this.#node(number) as Folder;

  /** What the disk has when the power fails now, as files in `path`. The index of the log is not kept: it is memory. */
  writeImage(path: string, random: Random): Losses {
    const losses: Losses = { dropped: 0, torn: 0, kept: 0, names: 0 };
    writeFolder(this.#root, path, random, losses);
    return losses;
  }
}

function writeFolder({ flushed, pending }: Folder, path: string, random: Random, losses: Losses): void {
  mkdirSync(path, { mode: 0o700 });
  const names = new Map(flushed);
  const kept = random.percent(50) ? random.below(pending.length + 1) : random.pick([0, pending.length]);
  for (const change of pending.slice(0, kept)) rename(names, change);
  losses.names += pending.length - kept;
  for (const [name, node] of names) {
    if (name.endsWith('-shm')) continue;
    if (isFolder(node)) writeFolder(node, join(path, name), random, losses);
    else writeFileSync(join(path, name), imageOf(node, random, losses), { mode: 0o600 });
  }
}

function imageOf({ flushed, pending }: File, random: Random, losses: Losses): Buffer {
  const image = { bytes: Buffer.from(flushed.bytes), size: flushed.size };
  const lost = random.pick([0, 10, 50, 90, 100]);
  for (const change of pending) {
    if (random.percent(lost)) losses.dropped += 1;
    else if ('data' in change && random.percent(20)) {
      for (const part of sectorsOf(change)) if (random.percent(50)) apply(image, part);
      losses.torn += 1;
    } else {
      apply(image, change);
      losses.kept += 1;
    }
  }
  return image.bytes.subarray(0, image.size);
}

/** What stood before the flush in the record is on disk. */
function flushed(node: File | Folder, begunAt: number): void {
  if (isFolder(node)) for (const change of takeBefore(node.pending, begunAt)) rename(node.flushed, change);
  else for (const change of takeBefore(node.pending, begunAt)) apply(node.flushed, change);
}

function takeBefore<Recorded extends { at: number }>(pending: Recorded[], place: number): Recorded[] {
  const since = pending.findIndex(({ at }) => at > place);
  return pending.splice(0, since === -1 ? pending.length : since);
}

function rename(names: Folder['flushed'], { name, node, instead }: Name): void {
  if (instead !== undefined) names.delete(instead);
  if (node) names.set(name, node);
  else names.delete(name);
}

const sectorBytes = 512;

function* sectorsOf({ at, offset, data }: Extract<Change, { data: Buffer }>): Generator<Change> {
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + sectorBytes - ((offset + from) % sectorBytes));
    yield { at, offset: offset + from, data: data.subarray(from, to) };
    from = to;
  }
}

function apply(content: Content, change: Change): void {
  const end = 'data' in change ? change.offset + change.data.length : change.size;
  if (end > content.bytes.length)
    content.bytes = Buffer.concat([content.bytes], Math.max(end, 2 * content.bytes.length));
  if ('data' in change) {
    change.data.copy(content.bytes, change.offset);
    content.size = Math.max(content.size, end);
    return;
  }
  if (end < content.size) content.bytes.fill(0, end, content.size);
  content.size = end;
}
