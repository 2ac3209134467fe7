import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

export const widths = { phone: 375, desktop: 1280 };

/** Pictures for the documentation are taken only when asked for. */
export const takesPictures = process.env.SCREENSHOTS === '1';

/** Of the page as it stands. */
export async function picture(
  page: Page,
  name: string,
  width: keyof typeof widths,
  colorScheme: 'light' | 'dark',
  fullPage = true,
) {
  if (!takesPictures) return;
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width: widths[width], height: width === 'phone' ? 667 : 720 });
  const path = fileURLToPath(new URL(`../../docs/screenshots/${name}-${width}-${colorScheme}.png`, import.meta.url));
  await page.screenshot({ path, fullPage });
}
