import { deflateSync, inflateSync } from 'node:zlib';
import { pngFile, pngSignature } from '../../test/support/pictures.ts';

/**
 * The same picture with at most 256 colors, in a third of the bytes: a page has few colors, besides the edges of letters. A
 * color becomes one that it is hardly to be told from, of the more frequent ones.
 * @param png as Chromium writes it: 8 bits, red, green and blue, maybe with alpha, not interlaced.
 */
export function withPalette(png: Buffer): Buffer {
  const { width, height, colors } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const palette: number[] = [];
  const places = new Map<number, number>();
  for (const [color] of [...counts].toSorted(([a, many], [b, others]) => others - many || a - b)) {
    const { place, distance } = nearest(palette, color);
    if (distance <= alike || palette.length === 256) places.set(color, place);
    else places.set(color, palette.push(color) - 1);
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, at = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = places.get(colors[at++]!)!;
  return pngFile(width, height, 3, [
    ['PLTE', Buffer.from(palette.flatMap(channels))],
    ['IDAT', deflateSync(rows, { level: 9 })],
  ]);
}

/** Of two colors, as the sum of the squares of the distances of their channels. */
const alike = 3 * 5 ** 2;

const channels = (color: number) => [color >> 16, (color >> 8) & 255, color & 255] as const;

function nearest(palette: readonly number[], color: number): { place: number; distance: number } {
  const [red, green, blue] = channels(color);
  let [place, distance] = [0, Number.POSITIVE_INFINITY];
  for (const [at, one] of palette.entries()) {
    const [r, g, b] = channels(one);
    const own = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (own < distance) [place, distance] = [at, own];
  }
  return { place, distance };
}

/** Its colors, row by row, each as one number. */
export function pixelsOf(png: Buffer): { width: number; height: number; colors: Uint32Array } {
  const [width, height, bits, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]];
  const channels = ({ 2: 3, 3: 1, 6: 4 } as Record<number, number>)[kind ?? 0];
  if (!png.subarray(0, 8).equals(pngSignature) || bits !== 8 || !channels || png[28] !== 0)
    throw new Error('This PNG file is of another kind than those that Chromium and this script write.');
  const chunks: Record<string, Buffer[]> = {};
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString('latin1', at + 4, at + 8);
    chunks[type] = [...(chunks[type] ?? []), png.subarray(at + 8, at + 8 + png.readUInt32BE(at))];
  }
  const bytes = unfiltered(inflateSync(Buffer.concat(chunks.IDAT ?? [])), width * channels, channels);
  const [palette] = chunks.PLTE ?? [];
  const colors = new Uint32Array(width * height);
  for (let at = 0; at < colors.length; at += 1)
    colors[at] = palette ? palette.readUIntBE(bytes[at]! * 3, 3) : bytes.readUIntBE(at * channels, 3);
  return { width, height, colors };
}

/** PNG §9: each byte was written as its difference from a guess by its neighbours on the left and above. */
function unfiltered(filtered: Buffer, rowLength: number, step: number): Buffer {
  const bytes = Buffer.alloc((filtered.length / (rowLength + 1)) * rowLength);
  for (let from = 0, to = 0; from < filtered.length; to += rowLength) {
    const filter = filtered[from++];
    for (let x = 0; x < rowLength; x += 1) {
      const left = x < step ? 0 : bytes[to + x - step]!;
      const above = to === 0 ? 0 : bytes[to + x - rowLength]!;
      const corner = x < step || to === 0 ? 0 : bytes[to + x - rowLength - step]!;
      const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, corner)];
      bytes[to + x] = filtered[from++]! + guesses[filter!]!;
    }
  }
  return bytes;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}
