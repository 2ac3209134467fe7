import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { longestUser } from '../format.ts';
import { csvRecords } from './csv-records.ts';
import { jsonElements } from './json-elements.ts';
import { jsonLines } from './json-lines.ts';
import { FileDamaged, type FileRecord, type RecordReader } from './records.ts';

/** Bytes of a piece. */
const pieceBytes = 65_536;

export type ImportFile = {
  bytes: number;
  /** Bytes so far, of {@link ImportFile.bytes}. */
  readonly read: number;
  records: AsyncIterable<readonly FileRecord[]>;
  /** Also of a file that was not read to its end. */
  close(): void;
};

/**
 * Reads JSON Lines, one JSON document or CSV, whichever the file is, also under gzip, and no more of it at a time than a piece.
 * @param paths where a document has its users, where it is not a list itself.
 */
export async function openImportFile(path: string, paths: readonly (readonly string[])[]): Promise<ImportFile> {
  const file = await open(path);
  const { size } = await file.stat();
  const { buffer: magic, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
  const isZipped = bytesRead === 2 && magic.readUInt16BE(0) === 0x1f8b;
  let read = 0;
  const stream = file.createReadStream({ start: 0, highWaterMark: pieceBytes });
  stream.on('data', (piece) => (read += piece.length)).pause();
  const bytes: Readable = isZipped ? pipeline(stream, createGunzip(), () => undefined) : stream;
  return {
    bytes: size,
    get read() {
      return read;
    },
    records: recordsOf(bytes, paths),
    close: () => void stream.destroy(),
  };
}

/** @throws {FileDamaged} */
export async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  paths: readonly (readonly string[])[],
): AsyncGenerator<readonly FileRecord[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let reader: RecordReader | undefined;
  const decode = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch (error) {
      throw new FileDamaged('The file is not in UTF-8.', { cause: error });
    }
  };
  for await (const piece of bytes) {
    const text = decode(piece);
    reader ??= text.trim() === '' ? undefined : readerFor(text.trimStart()[0]!, paths);
    const records = reader?.push(text) ?? [];
    if (records.length > 0) yield records;
  }
  decode();
  yield reader?.end() ?? [];
}

function readerFor(first: string, paths: readonly (readonly string[])[]): RecordReader {
  if (first === '[') return jsonElements([[], ...paths], longestUser);
  if (first === '{') return paths.length > 0 ? jsonElements(paths, longestUser) : jsonLines(longestUser);
  return csvRecords(longestUser);
}
