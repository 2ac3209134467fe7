import { crc32, deflateSync } from 'node:zlib';

/** A chunk of a PNG file. */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

/**
 * A gray PNG file.
 * @param options.text is in it, where cameras and editors write what they know.
 * @param options.level of its compression: 0 makes a large file.
 */
export function pngOf({ width = 64, height = 64, text = '', level = 6 } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...(text === '' ? [] : [chunk('tEXt', Buffer.from(`Comment\0${text}`)), chunk('eXIf', Buffer.from(text))]),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height, 0x80), { level })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
