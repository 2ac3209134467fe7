import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pngOf } from '../../test/support/pictures.ts';
import { readPicture } from './picture-files.ts';

const secret = 'GPS 52.5200 N';

const segment = (marker: number, ...parts: (Buffer | string)[]): Buffer => {
  const data = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
};

/** Exif with an orientation, in either order of bytes, and more. */
const exifOf = (turn: number, isLittle: boolean): Buffer => {
  const tiff = isLittle
    ? [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, turn, 0, 0, 0]
    : [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, turn, 0, 0];
  return segment(0xe1, 'Exif\0\0', Buffer.from(tiff), secret);
};

/** Not decodable, but of the structure of a progressive JPEG: two scans, with everything in them that looks like a marker. */
const jfif = segment(0xe0, 'JFIF\0', Buffer.from([1, 2, 0, 0, 1, 0, 1, 0, 0]));
const jpegOf = (...metadata: Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    jfif,
    ...metadata,
    Buffer.from([0xff]),
    segment(0xdb, 'tables'),
    segment(0xc2, Buffer.from([8, 0, 30, 0, 40, 3])),
    segment(0xda, 'scan'),
    Buffer.from([1, 2, 0xff, 0, 0xd9, 0xff, 0xd3, 5]),
    segment(0xc4, 'codes'),
    segment(0xda, 'scan'),
    Buffer.from([7, 0xff, 0xff, 0xd9]),
  ]);

const webpOf = (...chunks: [type: string, data: Buffer][]): Buffer => {
  const body = chunks.map(([type, data]) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(data.length);
    return Buffer.concat([Buffer.from(type), length, data, Buffer.alloc(data.length % 2)]);
  });
  const all = Buffer.concat([Buffer.from('WEBP'), ...body]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(all.length);
  return Buffer.concat([Buffer.from('RIFF'), length, all]);
};
const lossless: [string, Buffer] = ['VP8L', Buffer.from([0x2f, 39, 0x40, 7, 0, 9])];
const extended = (flags: number): [string, Buffer] => ['VP8X', Buffer.from([flags, 0, 0, 0, 39, 0, 0, 29, 0, 0])];
const lossy: [string, Buffer] = ['VP8 ', Buffer.from([0, 0, 0, 0x9d, 1, 0x2a, 40, 0, 30, 0, 1])];

test('a PNG keeps what it is drawn from, and loses text, Exif and what is behind its end', () => {
  const clean = pngOf({ width: 40, height: 30 });
  const found = readPicture(Buffer.concat([pngOf({ width: 40, height: 30, text: secret }), Buffer.from(secret)]));
  assert.deepEqual([found?.media_type, found?.width, found?.height], ['image/png', 40, 30]);
  assert.ok(found?.content.equals(clean));
});

test('a JPEG keeps its scans and how it was held, and loses the rest of its metadata', () => {
  const profile = segment(0xe2, 'ICC_PROFILE\0\x01\x01', 'colors');
  for (const isLittle of [true, false]) {
    const other = [segment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', secret), segment(0xe2, 'MPF\0', secret)];
    const file = jpegOf(exifOf(6, isLittle), ...other, segment(0xed, secret), segment(0xfe, secret), profile);
    const found = readPicture(Buffer.concat([file, Buffer.from(`${secret} in a second file`)]));
    assert.deepEqual([found?.media_type, found?.width, found?.height], ['image/jpeg', 40, 30]);
    assert.ok(!found?.content.includes(secret));
    assert.ok(found?.content.includes('Exif\0\0MM\0*'));
    assert.ok(found?.content.includes(profile));
    const again = readPicture(found!.content);
    assert.ok(again?.content.equals(found!.content), 'what is kept is read as it was written');
  }
  const upright = readPicture(
    jpegOf(exifOf(1, true), segment(0xe1, 'Exif\0\0II*\0', Buffer.from([255, 255, 255, 255]))),
  );
  assert.ok(upright && !upright.content.includes('Exif'));
});

test('a JPEG keeps of JFIF and Adobe what they say about its colors, and nothing behind it', () => {
  const adobe = segment(0xee, 'Adobe', Buffer.from([0, 100, 0, 0, 0, 0, 1]));
  const thumbnail = segment(0xe0, 'JFIF\0', Buffer.from([1, 2, 0, 0, 1, 0, 1, 2, 3]), secret);
  const other = [
    segment(0xe0, 'JFXX\0\x13', secret),
    segment(0xee, 'other', secret),
    segment(0xf0, secret),
    segment(0xfd, secret),
    segment(0xe0, 'JFIF\0', 'short'),
    segment(0xdc, Buffer.from([16, 0])),
  ];
  const found = readPicture(jpegOf(thumbnail, segment(0xee, adobe.subarray(4), secret), ...other));
  assert.ok(found?.content.equals(readPicture(jpegOf(jfif, adobe))!.content));
  assert.ok(!found?.content.includes(secret) && found?.content.includes(adobe));
});

test('a WebP loses Exif and XMP, and says so in its header', () => {
  const exif: [string, Buffer] = ['EXIF', Buffer.from(`${secret}!`)];
  const files = [
    webpOf(extended(0b1100), lossy, exif, ['XMP ', Buffer.from(secret)]),
    webpOf(lossless, exif),
    webpOf(lossy, exif),
  ];
  for (const file of files) {
    const found = readPicture(file);
    assert.deepEqual([found?.media_type, found?.width, found?.height], ['image/webp', 40, 30]);
    assert.ok(!found?.content.includes(secret));
    assert.equal(found?.content.readUInt32LE(4), found!.content.length - 8);
  }
  assert.ok(readPicture(files[0]!)?.content.equals(webpOf(extended(0), lossy)));
  assert.equal(readPicture(webpOf(extended(0b10), ['ANMF', Buffer.alloc(16)])), undefined);
  assert.equal(readPicture(webpOf(extended(0))), undefined, 'a header alone');
});

test('a color profile is kept while it is small, and a large one is not', () => {
  const [small, large] = [4000, 5000].map((length) => secret.padEnd(length, 'x')) as [string, string];
  const ofPng = (profile: string) => {
    const chunk = Buffer.alloc(12 + profile.length);
    chunk.writeUInt32BE(profile.length, 0);
    chunk.write(`iCCP${profile}`, 4, 'latin1');
    return Buffer.concat([pngOf().subarray(0, 33), chunk, pngOf().subarray(33)]);
  };
  const ofJpeg = (profile: string) => jpegOf(segment(0xe2, 'ICC_PROFILE\0\x01\x01', profile));
  const ofWebp = (profile: string) => webpOf(extended(0b100000), ['ICCP', Buffer.from(profile)], lossy);
  for (const fileOf of [ofPng, ofJpeg, ofWebp]) {
    assert.ok(readPicture(fileOf(small))?.content.includes(secret));
    assert.ok(readPicture(fileOf(large)) && !readPicture(fileOf(large))?.content.includes(secret));
  }
  assert.ok(readPicture(ofWebp(large))?.content.equals(webpOf(extended(0), lossy)));
  const ofTwo = jpegOf(segment(0xe2, 'ICC_PROFILE\0\x01\x02', secret), segment(0xe2, 'ICC_PROFILE\0\x02\x02', secret));
  assert.ok(!readPicture(ofTwo)?.content.includes(secret));
});

test('what is no picture, or not all of one, is refused', () => {
  const whole = [pngOf(), jpegOf(exifOf(6, true)), webpOf(extended(0), lossy)];
  for (const file of whole) {
    assert.ok(readPicture(file));
    for (let length = 0; length < file.length; length += 1)
      assert.equal(readPicture(file.subarray(0, length)), undefined, `${length} of ${file.length} bytes`);
  }
  const [signature, header, rest] = [pngOf().subarray(0, 8), pngOf().subarray(8, 33), pngOf().subarray(33)];
  const end = rest.subarray(-12);
  const endWithMore = Buffer.from(end);
  endWithMore.writeUInt32BE(secret.length);
  const open = [
    signature,
    header,
    rest.subarray(0, -12),
    endWithMore.subarray(0, 8),
    Buffer.from(secret),
    end.subarray(8),
  ];
  assert.ok(readPicture(Buffer.concat(open))?.content.equals(pngOf()), 'an end is empty');

  const larger = Buffer.from([8, 0xff, 0, 0xff, 0, 3]);
  const wide: [string, Buffer] = ['VP8L', Buffer.from([0x2f, 0xff, 0xff, 0xff, 0x0f, 9])];
  const inconsistent = {
    'a second header of a PNG': Buffer.concat([signature, header, header, rest]),
    'a PNG without an image': Buffer.concat([signature, header, end]),
    'a second frame of a JPEG': jpegOf(segment(0xc0, larger)),
    'a JPEG without a scan': Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      segment(0xc0, larger),
      Buffer.from([0xff, 0xd9]),
    ]),
    'a segment shorter than its length': jpegOf(Buffer.from([0xff, 0xdb, 0, 1])),
    'a WebP larger than its header says': webpOf(extended(0), wide),
    'a second image of a WebP': webpOf(lossless, lossless),
    'a second header of a WebP': webpOf(extended(0), extended(0), lossy),
    'a header of a WebP behind its image': webpOf(lossy, extended(0)),
  };
  for (const [name, file] of Object.entries(inconsistent)) assert.equal(readPicture(file), undefined, name);
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const gif = Buffer.from('GIF89a\x01\0\x01\0\x80\0\0', 'latin1');
  for (const file of [
    svg,
    gif,
    Buffer.concat([Buffer.from('GIF'), pngOf()]),
    Buffer.alloc(100),
    Buffer.alloc(100, 0xff),
  ])
    assert.equal(readPicture(file), undefined);
});
