/**
 * Makes `dist/signet`, one file that runs without anything else, for the kind of machine that it is made on:
 *
 *   npm run build:executable
 *
 * It is Node with the program inside (https://nodejs.org/api/single-executable-applications.html), and with the code that V8
 * compiled during a start, which differs from build to build.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { freePort } from '../bench/child.ts';
import { assets, code, makeDistribution, replacing } from './build.ts';

const root = join(import.meta.dirname, '..');
const node = join(root, 'node_modules/node/bin/node');
/** Those of `bin/signet`; V8 takes compiled code only with the flags that it was compiled with. */
const flags = readFileSync(join(root, 'bin/signet'), 'utf8').match(/(?<=^ *flags=.*)--[\w-]+(=\d+)?/gm) ?? [];
if (flags.length === 0) throw new Error('bin/signet has no flags of V8.');

/** @param out the folder of the build. @returns the path of the file. */
async function makeExecutable(out: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-build-'));
  try {
    const wrapped = join(folder, 'code');
    const program = readFileSync(join(out, code), 'utf8');
    writeFileSync(wrapped, `(function (require, module, exports, __filename, __dirname) {${program}\n})`);
    const cache = join(folder, 'code-cache');
    await fillCodeCache(wrapped, join(out, code, '..'), cache);
    const output = join(out, 'signet');
    const config = {
      main: join(import.meta.dirname, 'executable/start.cjs'),
      executable: node,
      output,
      disableExperimentalSEAWarning: true,
      execArgv: flags,
      execArgvExtension: 'none', // a user's NODE_OPTIONS still count
      assets: {
        code: wrapped,
        'code-cache': cache,
        '../package.json': join(out, 'package.json'),
        ...Object.fromEntries(assets()),
        ...(await sodium(folder)),
      },
    };
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    execFileSync(node, [...flags, '--build-sea', join(folder, 'config.json')]);
    return output;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** libsodium, if it was installed: its native code, and its JavaScript as a function of that. */
async function sodium(folder: string): Promise<Record<string, string>> {
  const library = join(root, 'node_modules/sodium-native');
  const native = join(library, `prebuilds/${process.platform}-${process.arch}/sodium-native.node`);
  if (!existsSync(native)) return {};
  const outfile = join(folder, 'sodium');
  await build({
    entryPoints: [join(library, 'index.js')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    banner: { js: '(function (require, module, addon) {' },
    footer: { js: '})' },
    plugins: [
      replacing(/sodium-native\/binding\.js$/, {
        "require.addon('.', __filename)": 'addon',
        "require.addon = require('require-addon')": '',
      }),
    ],
    logLevel: 'warning',
  });
  return { sodium: outfile, 'sodium.node': native };
}

/** Starts a server of nobody's: with a folder of its own, and none of the settings of this machine. */
async function fillCodeCache(wrapped: string, folder: string, cache: string): Promise<void> {
  const home = join(cache, '..');
  mkdirSync(join(home, 'signet'));
  writeFileSync(join(home, 'signet/signet.env'), '');
  const env = {
    XDG_CONFIG_HOME: home,
    SIGNET_DATA_DIR: join(home, 'data'),
    SIGNET_HOST: '127.0.0.1',
    SIGNET_PORT: String(await freePort()),
  };
  const script = join(import.meta.dirname, 'executable/fill-code-cache.cjs');
  execFileSync(node, [...flags, script, wrapped, folder, cache], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
  });
}

if (import.meta.main) {
  const out = join(root, 'dist');
  await makeDistribution(out);
  const file = await makeExecutable(out);
  process.stdout.write(`dist/signet: ${Math.round(statSync(file).size / 2 ** 20)} MB\n`);
}
