/**
 * Makes the pictures in `docs/screenshots` of the pages as they are now:
 *
 *   npm run docs:screenshots
 *
 * Which pictures there are is the list in `screenshots/pictures.ts`; a file that is not in it is deleted. The same pages give
 * the same bytes on the same machine.
 */
import { makeScreenshots, screenshots } from './screenshots/make.ts';

const { count, bytes } = await makeScreenshots(screenshots);
process.stdout.write(`docs/screenshots: ${count} pictures, ${Math.round(bytes / 1000)} KB\n`);
