// Files of pictures that a browser sends. Nothing is decoded: their structure is read, and what is not part of the picture is
// left out, such as where and with which camera it was taken, a thumbnail of what was cut off, or a second file behind it.

/** Bytes of a color profile. The common ones take less; a larger one describes a single display, or is something else. */
const maxProfile = 4096;

/** KB of a file, and pixels of a side, at most. */
export const maxPictureKb = 256;
export const maxPictureSide = 2048;

type Size = { width: number; height: number };

export type PictureFile = Size & {
  media_type: 'image/jpeg' | 'image/png' | 'image/webp';
  /** Without metadata. */
  content: Buffer;
};

/** By the bytes, whatever the file is called. @returns undefined for what is no picture of these types, or is cut off. */
export function readPicture(file: Buffer): PictureFile | undefined {
  try {
    if (file.subarray(0, 8).equals(pngSignature)) return readPng(file);
    if (file.readUInt16BE(0) === 0xffd8) return readJpeg(file);
    if (file.toString('latin1', 0, 4) === 'RIFF' && file.toString('latin1', 8, 12) === 'WEBP') return readWebp(file);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // it ends before it should
  }
  return undefined;
}

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** What an image is drawn from (PNG 3rd edition §11): neither text nor Exif, and of an animation its first image. */
const pngChunks = new Set('IHDR PLTE IDAT tRNS cHRM cICP gAMA iCCP sBIT sRGB pHYs'.split(' '));

/** Empty, whatever the file's own has in it. */
const pngEnd = Buffer.from('\0\0\0\0IEND\xaeB`\x82', 'latin1');

function readPng(file: Buffer): PictureFile | undefined {
  if (file.toString('latin1', 12, 16) !== 'IHDR' || file.readUInt32BE(8) !== 13) return undefined;
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const kept: Buffer[] = [pngSignature];
  let hasImage = false;
  for (let at = pngSignature.length; ; ) {
    const end = at + 12 + file.readUInt32BE(at);
    if (end > file.length) return undefined;
    const type = file.toString('latin1', at + 4, at + 8);
    if (type === 'IEND') break;
    if (type === 'IHDR' && kept.length > 1) return undefined;
    if (pngChunks.has(type) && !(type === 'iCCP' && end - at > maxProfile)) kept.push(file.subarray(at, end));
    hasImage ||= type === 'IDAT';
    at = end;
  }
  if (!hasImage) return undefined;
  return { media_type: 'image/png', width, height, content: Buffer.concat([...kept, pngEnd]) };
}

/**
 * What is kept of a segment (ITU-T T.81 §B), if anything: JFIF without its thumbnail, how the camera was held, a color profile,
 * Adobe's color transform, frames, tables and scans. Of what gives another size (DC, DE), nothing.
 */
function keptOf(marker: number, segment: Buffer): Buffer | undefined {
  if (marker < 0xd0 || [0xda, 0xdb, 0xdd].includes(marker)) return segment;
  const isFor = (name: string) => segment.toString('latin1', 4, 4 + name.length) === name;
  if (marker === 0xe0 && isFor('JFIF\0')) return shortened(segment, jfifLength, { emptyFrom: jfifThumbnail });
  if (marker === 0xe1) return orientationOf(segment);
  if (marker === 0xe2 && isFor('ICC_PROFILE\0'))
    return segment.length <= maxProfile && segment[iccCount] === 1 ? segment : undefined;
  if (marker === 0xee && isFor('Adobe')) return shortened(segment, adobeLength);
  return undefined;
}

/** Of how many segments a color profile consists (ICC.1 annex B.4). */
const iccCount = 17;

/** Bytes after the length: of JFIF (ITU-T T.871 §10.1), whose last two say how large the thumbnail is; and of Adobe's. */
const jfifLength = 14;
const jfifThumbnail = 12;
const adobeLength = 12;

/** @returns undefined if it is shorter already, and so is not what it says. */
function shortened(segment: Buffer, length: number, { emptyFrom = length } = {}): Buffer | undefined {
  if (segment.length < 4 + length) return undefined;
  const kept = Buffer.from(segment.subarray(0, 4 + length));
  kept.writeUInt16BE(length + 2, 2);
  return kept.fill(0, 4 + emptyFrom);
}

/** Of a start of frame, which has the dimensions: not a table of codes (C4), an extension (C8) or a condition (CC). */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function readJpeg(file: Buffer): PictureFile | undefined {
  const kept: Buffer[] = [file.subarray(0, 2)];
  let size: Size | undefined;
  let hasImage = false;
  for (let at = 2; ; ) {
    const marker = file.readUInt16BE(at) - 0xff00;
    if (marker === 0xff) {
      at += 1; // padding
      continue;
    }
    if (marker === 0xd9) {
      kept.push(file.subarray(at, at + 2));
      if (!size || !hasImage) return undefined;
      return { media_type: 'image/jpeg', ...size, content: Buffer.concat(kept) };
    }
    if (marker < 0xc0) return undefined;
    const end = at + 2 + file.readUInt16BE(at + 2);
    if (end < at + 4) return undefined; // its length counts itself
    const segment = file.subarray(at, end);
    if (isFrame(marker)) {
      if (size) return undefined; // which of two is drawn is up to the reader
      size = { height: segment.readUInt16BE(5), width: segment.readUInt16BE(7) };
    }
    const part = keptOf(marker, segment);
    if (part) kept.push(part);
    at = end;
    if (marker !== 0xda) continue;
    hasImage = true;
    // Coded data follows, in which 0xff stands before a 0, or before one of eight marks from which decoding can restart.
    while (file.readUInt8(at) !== 0xff || [0, 0xff].includes(file.readUInt8(at + 1)) || (file[at + 1]! & 0xf8) === 0xd0)
      at += 1;
    kept.push(file.subarray(end, at));
  }
}

const exif = Buffer.from('Exif\0\0', 'latin1');

/** How the camera was held (TIFF tag 0x0112): without it a picture lies on its side. @returns undefined for upright, and without it. */
function orientationOf(segment: Buffer): Buffer | undefined {
  if (!segment.subarray(4, 10).equals(exif)) return undefined;
  const tiff = segment.subarray(10);
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  try {
    const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
    for (let entry = 0; entry < short(directory); entry += 1) {
      const at = directory + 2 + entry * 12;
      const turn = short(at) === 0x0112 ? short(at + 8) : 0;
      if (turn >= 2 && turn <= 8) return orientationSegment(turn);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // a directory outside of the segment
  }
  return undefined;
}

/** Exif with nothing else in it. */
const orientationSegment = (turn: number): Buffer =>
  Buffer.concat([
    Buffer.from([0xff, 0xe1, 0, 34]),
    exif,
    Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01', 'latin1'),
    Buffer.from([0, turn, 0, 0, 0, 0, 0, 0]),
  ]);

const webpChunks = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ICCP']);
/** In the header of an extended file (WebP container specification): Exif and XMP follow; an animation follows. */
const webpMetadata = 0b1100;
const webpProfile = 0b100000;
const webpAnimation = 0b10;

function readWebp(file: Buffer): PictureFile | undefined {
  const kept: Buffer[] = [];
  /** Of the extended header, and of the image itself: each once, and the same. */
  let canvas: Size | undefined;
  let header: Buffer | undefined;
  let image: Size | undefined;
  const end = 8 + file.readUInt32LE(4);
  if (end > file.length) return undefined;
  for (let at = 12; at < end; ) {
    const type = file.toString('latin1', at, at + 4);
    const length = file.readUInt32LE(at + 4);
    const next = at + 8 + length + (length % 2);
    if (next > end) return undefined;
    const chunk = Buffer.from(file.subarray(at, next));
    at = next;
    if (!webpChunks.has(type)) continue;
    const data = chunk.subarray(8);
    if (type === 'ICCP' && length > maxProfile) {
      if (header) header[8]! &= ~webpProfile;
      continue;
    }
    if (type === 'VP8X') {
      if (canvas || image || length !== 10 || (data.readUInt8(0) & webpAnimation) !== 0) return undefined;
      data[0]! &= ~webpMetadata;
      header = chunk;
      canvas = { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
    } else if (type === 'VP8 ') {
      if (image) return undefined;
      image = { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
    } else if (type === 'VP8L') {
      if (image) return undefined;
      const bits = data.readUInt32LE(1);
      image = { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    kept.push(chunk);
  }
  if (!image || (canvas && (canvas.width !== image.width || canvas.height !== image.height))) return undefined;
  const body = Buffer.concat([Buffer.from('WEBP'), ...kept]);
  const head = Buffer.alloc(8);
  head.write('RIFF', 'latin1');
  head.writeUInt32LE(body.length, 4);
  return { media_type: 'image/webp', ...image, content: Buffer.concat([head, body]) };
}
