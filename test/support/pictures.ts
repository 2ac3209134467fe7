import { crc32, deflateSync } from 'node:zlib';

/** A chunk of a PNG file. */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

export const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Of 8 bits a pixel. @param color 0: gray; 3: from a palette. @param chunks those between the first and the last. */
export function pngFile(width: number, height: number, color: 0 | 3, chunks: [type: string, data: Buffer][]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, color, 0, 0, 0], 8);
  const all: typeof chunks = [['IHDR', header], ...chunks, ['IEND', Buffer.alloc(0)]];
  return Buffer.concat([pngSignature, ...all.map(([type, data]) => chunk(type, data))]);
}

/**
 * A gray PNG file.
 * @param options.text is in it, where cameras and editors write what they know.
 * @param options.level of its compression: 0 makes a large file.
 */
export function pngOf({ width = 64, height = 64, text = '', level = 6 } = {}): Buffer {
  const known: [string, Buffer][] = [
    ['tEXt', Buffer.from(`Comment\0${text}`)],
    ['eXIf', Buffer.from(text)],
  ];
  const row = Buffer.alloc(width + 1, 0x80).fill(0, 0, 1); // begins with its filter: none
  return pngFile(width, height, 0, [
    ...(text === '' ? [] : known),
    ['IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, () => row)), { level })],
  ]);
}
