import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { writeSite } from '../../scripts/docs-site/site.ts';
import { afterTest } from '../support/after-test.ts';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { scratchFolder } from '../support/scratch.ts';
import { expectToFit } from './expect-page.ts';

let lazySite: Promise<string> | undefined;
/** Made by the first test that asks: what fails before all tests fails those of every file in the process. */
const madeSite = (): Promise<string> => (lazySite ??= makeSite());
after(async () => {
  const site = await lazySite?.catch(() => undefined);
  if (site !== undefined) await rm(site, { recursive: true, force: true });
});

async function makeSite(): Promise<string> {
  const site = await scratchFolder('documentation');
  await writeSite(site);
  return site;
}

/** What is wrong with the addresses in these documents: paths and texts. */
function faultsIn(documents: ReadonlyMap<string, string>, isThere: (path: string) => boolean): string[] {
  return [...documents].flatMap(([path, text]) =>
    [...text.matchAll(/ (href|src|data-root)="([^"]*)"/g)].flatMap(([, attribute, href = '']) => {
      const address = href.replaceAll('&amp;', '&');
      if (/^[a-z]+:/.test(address)) return attribute === 'href' ? [] : [`${path} loads ${address}`];
      const [file = '', anchor] = decodeURI(address).split('#');
      const target = file === '' ? path : posix.join(posix.dirname(path), file);
      if (attribute !== 'data-root' && !isThere(target)) return [`${path}: there is no ${address}`];
      const isMissing = anchor !== undefined && !documents.get(target)?.includes(` id="${anchor}"`);
      return isMissing ? [`${path}: there is no ${address}`] : [];
    }),
  );
}

test('in the documentation each link leads to a page, a heading, a file or a picture that is there', async () => {
  const sample = new Map([
    [
      'a.html',
      '<h2 id="one">One</h2> <a href="#one"> <a href="b/c.html#no"> <a href="x.html"> <img src="https://x/y.png">',
    ],
    ['b/c.html', '<a href="../a.html#one"> <a href="../a.html#two"> <a href="https://x/y">'],
  ]);
  assert.deepEqual(
    faultsIn(sample, (path) => sample.has(path)),
    [
      'a.html: there is no b/c.html#no',
      'a.html: there is no x.html',
      'a.html loads https://x/y.png',
      'b/c.html: there is no ../a.html#two',
    ],
  );
  const site = await madeSite();
  const pages = globSync('**/*.html', { cwd: site });
  assert.ok(pages.length > 80 && pages.includes('relying-parties/index.html'), 'it reads the site');
  const documents = new Map(pages.map((path) => [path, readFileSync(join(site, path), 'utf8')]));
  assert.deepEqual(
    faultsIn(documents, (path) => existsSync(join(site, path))),
    [],
  );
});

test('the same documentation is made of the same sources', async (t) => {
  const site = await madeSite();
  const again = await scratchFolder('documentation');
  afterTest(t, () => rm(again, { recursive: true, force: true }));
  await writeSite(again);
  const filesIn = (cwd: string) => globSync('**/*.{html,js,css,svg,png,yaml,json}', { cwd }).sort();
  assert.deepEqual(filesIn(again), filesIn(site));
  for (const path of filesIn(site))
    assert.ok(readFileSync(join(again, path)).equals(readFileSync(join(site, path))), path);
});

test('from files, without a network, the documentation is read, searched by keyboard and accessible', async (t) => {
  const site = await madeSite();
  const { page, expectQuiet } = await openBrowser(t, { origins: ['null'] });
  const at = (path: string) => pathToFileURL(join(site, path)).href;
  for (const path of ['index.html', 'configuration.html']) {
    await page.goto(at(path));
    await expectAccessible(page);
    await expectToFit(page, 320);
  }
  // On a phone the contents are folded, and the page is the same.
  await page.getByRole('button', { name: 'Contents' }).click();
  await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();

  await page.setViewportSize({ width: 1280, height: 800 });
  await page.keyboard.press('/');
  await page.keyboard.type('SIGNET_TRUST_PROX'); // the last letter is still to come
  const first = page.locator('#results a').first();
  await first.waitFor();
  await expectAccessible(page);
  const found = await page
    .locator('#results a')
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  assert.ok(found.includes(at('reverse-proxy.html')), found.join('\n'));
  await page.keyboard.press('ArrowDown');
  assert.equal(await first.evaluate((link) => link === document.activeElement), true);
  await page.keyboard.press('Enter');
  await page.waitForURL(found[0]!);
  await page.getByRole('searchbox').fill('SignetDiskFilling critical'); // two cells of a table
  await first.waitFor();
  assert.equal(await first.getAttribute('href'), 'incidents/index.html');
  expectQuiet();
});

test('without JavaScript there are all pages, and no search', async (t) => {
  const site = await madeSite();
  const { page, expectQuiet } = await openBrowser(t, { origins: ['null'], javaScript: false });
  await page.goto(pathToFileURL(join(site, 'index.html')).href);
  assert.equal(await page.getByRole('searchbox').count(), 0);
  await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Upgrade' }).click();
  await page.getByRole('heading', { name: 'Upgrade', level: 1 }).waitFor();
  expectQuiet();
});
