import { createHash } from 'node:crypto';
import { isMembers } from '../imports/adapters/adapter.ts';
import { FileDamaged } from '../imports/files/records.ts';
import type { ExportedRecord } from '../platform/db/exported-table.ts';
import { type End, endShape, formatName, formatVersion, type Header, headerShape, longestLine } from './format.ts';
import { type Kind, kindOf } from './kinds/all.ts';

/** `at`: the line, from 1. */
export type RecordOfFile = { at: number; kind: Kind; record: ExportedRecord };

type Reading = {
  /** Known after the first record, or the end. */
  header?: Header;
  /** The lines need not be what was written: they were changed on purpose. */
  isEdited: boolean;
};

/**
 * The records of a file, some at a time and never two kinds at once, in pieces that need little memory.
 * @param reading gets the header.
 * @throws {FileDamaged} for a file that this version cannot read, and at the end for one that is cut or altered.
 */
export async function* readTransfer(
  chunks: AsyncIterable<Uint8Array>,
  reading: Reading,
): AsyncGenerator<readonly RecordOfFile[]> {
  const hash = createHash('sha256');
  const counts = new Map<string, number>();
  let end: End | undefined;
  for await (const lines of linesOf(chunks)) {
    let records: RecordOfFile[] = [];
    for (const { at, text } of lines) {
      if (end) throw new FileDamaged(`Line ${at} comes after the end of the export.`);
      if (at === 1) {
        reading.header = readHeader(text);
        hash.update(`${text}\n`);
        continue;
      }
      if (!reading.header) throw noExport();
      const line = readLine(at, text);
      if ('end' in line) {
        end = line.end;
        continue;
      }
      hash.update(`${text}\n`);
      counts.set(line.kind.name, (counts.get(line.kind.name) ?? 0) + 1);
      if (records.length > 0 && records[0]?.kind !== line.kind) {
        yield records;
        records = [];
      }
      records.push(line);
    }
    if (records.length > 0) yield records;
  }
  if (!reading.header) throw noExport();
  if (reading.isEdited) return;
  if (!end) throw new FileDamaged('The file is cut: it has no end. Take a whole copy of it.');
  if (hash.digest('hex') !== end.sha256) throw altered();
  const written = Object.entries(end.records).filter(([, count]) => count > 0);
  if (written.some(([name, count]) => counts.get(name) !== count) || written.length !== counts.size) throw altered();
}

const altered = () =>
  new FileDamaged(
    'The file is not what was exported: a line was changed, added or removed. If that is on purpose, add --edited.',
  );

const noExport = () =>
  new FileDamaged(`The file is no export of Signet: its first line has no "format":"${formatName}".`);

function readHeader(text: string): Header {
  const header = parsed(text);
  if (!isMembers(header) || header.format !== formatName) throw noExport();
  const { version } = header;
  if (Number.isInteger(version) && Number(version) > formatVersion) {
    throw new FileDamaged(
      `The file has version ${version} of the format, and this Signet reads ${formatVersion}: it comes from a newer Signet. Update this one.`,
    );
  }
  if (!headerShape.check(header)) {
    const [{ path, message } = { path: '', message: '' }] = headerShape.problems(header);
    throw new FileDamaged(`Line 1 is not the header of an export: ${[path, message].filter(Boolean).join(': ')}`);
  }
  return header;
}

function readLine(at: number, text: string): RecordOfFile | { end: End } {
  const line = parsed(text);
  if (line === undefined) throw new FileDamaged(`Line ${at} is not valid JSON.`);
  const { kind: name, record } = isMembers(line) ? line : {};
  if (name === 'end') {
    if (!endShape.check(line)) throw new FileDamaged(`Line ${at} is not the end of an export.`);
    return { end: line.record };
  }
  if (typeof name !== 'string' || !isMembers(record)) {
    throw new FileDamaged(`Line ${at} is not an object with "kind" and "record".`);
  }
  const kind = kindOf.get(name);
  if (!kind) {
    const shown = JSON.stringify(name.slice(0, 40));
    throw new FileDamaged(`Line ${at} has records of a kind that this version does not know: ${shown}.`);
  }
  return { at, kind, record };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Line = { at: number; text: string };

/** The lines of a piece, empty ones left out. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (error) {
      throw new FileDamaged('The file is not in UTF-8.', { cause: error });
    }
  };
  let at = 0;
  let rest = '';
  const take = (text: string): Line[] => {
    at += 1;
    return text.trim() === '' ? [] : [{ at, text }];
  };
  for await (const chunk of chunks) {
    const [first = '', ...others] = decode(chunk).split('\n');
    rest += first;
    if (rest.length > longestLine) throw new FileDamaged(`Line ${at + 1} is longer than any of an export.`);
    if (others.length === 0) continue;
    const last = others.pop()!;
    yield [rest, ...others].flatMap(take);
    rest = last;
  }
  rest += decode();
  yield take(rest);
}
