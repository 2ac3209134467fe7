/**
 * Makes `dist/docs`, the documentation as a site that needs no server and asks no other one for anything:
 *
 *   npm run docs
 *
 * Its pages are the Markdown of `docs/`, in the order of the links of `docs/README.md`. The same sources give the same bytes.
 */
import { join } from 'node:path';
import { writeSite } from './docs-site/site.ts';

const out = join(import.meta.dirname, '../dist/docs');
const count = await writeSite(out);
process.stdout.write(`dist/docs/index.html: ${count} pages\n`);
