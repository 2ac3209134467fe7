import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type Fingerprints,
  fingerprintOf,
  fingerprintOfStyle,
  fingerprintsFile,
} from '../../scripts/screenshots/fingerprints.ts';
import { makeScreenshots, screenshots } from '../../scripts/screenshots/make.ts';
import { openPictures } from '../../scripts/screenshots/open.ts';
import { pictures } from '../../scripts/screenshots/pictures.ts';
import { pixelsOf } from '../../scripts/screenshots/png.ts';
import { afterTest } from '../support/after-test.ts';
import { scratchFolder } from '../support/scratch.ts';

const root = join(import.meta.dirname, '../..');
const remedy = 'run npm run docs:screenshots';

test('the pictures of the documentation are of the pages as they are', async () => {
  const made = JSON.parse(readFileSync(join(screenshots, fingerprintsFile), 'utf8')) as Fingerprints;
  const old: string[] = [];
  if (made.style !== fingerprintOfStyle()) old.push(`docs/screenshots are of an older style sheet or logo: ${remedy}`);
  await openPictures(pictures, async (picture, page) => {
    const { name } = picture;
    const fingerprint = await fingerprintOf(picture, page);
    if (made.pages[name] !== fingerprint) old.push(`docs/screenshots/${name}.png is of an older page: ${remedy}`);
    if (picture !== pictures[0]) return;
    await page.locator('h1').evaluate((heading) => heading.append('!'));
    assert.notEqual(await fingerprintOf(picture, page), fingerprint, 'a page with another text is another page');
  });
  // Chance is no part of it. What is new in each run, and shown, belongs to `chance` of that picture.
  assert.deepEqual(old, [], `\n  ${old.join('\n  ')}\n`);
});

test('the pictures are those of the list, and a document shows each of them', () => {
  const files = pictures.map(({ name }) => `${name}.png`);
  assert.equal(new Set(files).size, files.length, 'two have one name');
  assert.deepEqual(readdirSync(screenshots).sort(), [...files, fingerprintsFile].sort(), remedy);
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const shown = new Set(
    documents.flatMap((text) =>
      [...text.matchAll(/!\[[^\]]+\]\((?:docs\/)?screenshots\/([^)]+)\)/g)].map(([, file]) => file),
    ),
  );
  assert.deepEqual(
    files.filter((file) => !shown.has(file)),
    [],
    'Show it, with a text for those who do not see it, or take it out of scripts/screenshots/pictures.ts.',
  );
});

test('npm run docs:screenshots makes small files of what a browser shows, and deletes old ones', async (t) => {
  const folder = await scratchFolder('pictures');
  afterTest(t, () => rm(folder, { recursive: true, force: true }));
  const old = join(folder, 'old.png');
  writeFileSync(old, 'a page that is gone');
  const wanted = pictures.filter(({ name }) => ['sign-in', 'second-factor-phone'].includes(name));
  const { count, bytes } = await makeScreenshots(folder, wanted);
  assert.equal(count, 2);
  assert.equal(existsSync(old), false);
  assert.ok(bytes < 30_000, `${bytes} bytes`);
  const { pages } = JSON.parse(readFileSync(join(folder, fingerprintsFile), 'utf8')) as Fingerprints;
  assert.deepEqual(Object.keys(pages).sort(), ['second-factor-phone', 'sign-in']);
  const { width, height, colors } = pixelsOf(readFileSync(join(folder, 'sign-in.png')));
  assert.ok(width === 1280 && height > 700, `${width} × ${height}`);
  const seen = new Set(colors);
  assert.ok(seen.size > 16 && seen.size <= 256, `${seen.size} colors`);
  assert.ok(seen.has(0xffffff), 'the card is white');
});
