import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fingerprints, fingerprintOf, fingerprintOfStyle, fingerprintsFile } from './fingerprints.ts';
import { fixChance } from './fixed-chance.ts';
import { openPictures } from './open.ts';
import { type Picture, pictures } from './pictures.ts';
import { withPalette } from './png.ts';

export const screenshots = join(import.meta.dirname, '../../docs/screenshots');

/** Writes the pictures, and what their pages are made of, and deletes whatever else is in the folder. */
export async function makeScreenshots(
  folder: string,
  wanted: readonly Picture[] = pictures,
): Promise<{ count: number; bytes: number }> {
  mkdirSync(folder, { recursive: true });
  const made: Fingerprints = { style: fingerprintOfStyle(), pages: {} };
  let bytes = 0;
  const giveBack = fixChance();
  try {
    await openPictures(wanted, async (picture, page) => {
      made.pages[picture.name] = await fingerprintOf(picture, page);
      const png = withPalette(await page.screenshot({ fullPage: picture.height === undefined }));
      bytes += png.length;
      writeFileSync(join(folder, `${picture.name}.png`), png);
    });
  } finally {
    giveBack();
  }
  writeFileSync(join(folder, fingerprintsFile), `${JSON.stringify(made, undefined, 2)}\n`);
  const files = new Set([fingerprintsFile, ...wanted.map(({ name }) => `${name}.png`)]);
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name), { recursive: true });
  return { count: wanted.length, bytes };
}
