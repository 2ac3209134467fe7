import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../test/support/launch-chromium.ts';
import type { Picture } from './pictures.ts';
import { openWorld, origin, type ShownWorld } from './world.ts';

/** Opens the page of each picture, one after the other, as it is shown. */
export async function openPictures(
  wanted: readonly Picture[],
  show: (picture: Picture, page: Page) => Promise<void>,
): Promise<void> {
  const world = await openWorld();
  const browser = await launchChromium([`--host-resolver-rules=MAP localhost:3000 127.0.0.1:${world.port}`]);
  try {
    for (const picture of wanted) await open(browser, world, picture, show);
  } finally {
    await browser.close();
    await world.close();
  }
}

async function open(
  browser: Browser,
  world: ShownWorld,
  picture: Picture,
  show: (picture: Picture, page: Page) => Promise<void>,
) {
  const context = await browser.newContext({
    viewport: { width: picture.width, height: picture.height ?? 500 },
    colorScheme: picture.dark ? 'dark' : 'light',
    locale: picture.locale === 'de' ? 'de-DE' : 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...(picture.scale !== undefined && { deviceScaleFactor: picture.scale }),
  });
  try {
    const cookies = picture.as ? [...world.as[picture.as].cookies] : [];
    await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: origin })));
    const page = await context.newPage();
    const path = picture.path(world);
    const body = await picture.document?.(world);
    if (body !== undefined)
      await page.route(origin + path, (route) => route.fulfill({ contentType: 'text/html', body }));
    const answer = await page.goto(origin + path);
    const isElsewhere = picture.as !== undefined && page.url().includes('/signin');
    if (answer?.status() !== 200 || isElsewhere)
      throw new Error(`${picture.name}: ${path} answered ${answer?.status()}, at ${page.url()}`);
    await picture.act?.(page);
    await show(picture, page);
  } finally {
    await context.close();
  }
}
