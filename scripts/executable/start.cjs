// What the executable file begins with: it runs the program, most of which was compiled when the file was made.
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { getAsset, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

// A worker is handed what its supervisor was started with: Node's options and the name of the file, too.
if (process.channel && require('node:cluster').isWorker) process.argv.splice(1, 1 + process.execArgv.length);

process.env.UV_THREADPOOL_SIZE ??= '6'; // as bin/signet does, before the first use of the pool

const cachedData = new Uint8Array(getRawAsset('code-cache'));
const script = new Script(getAsset('code', 'utf8'), { filename: 'signet.cjs', cachedData });
const load = (name) => (name === 'sodium-native' ? loadSodium() : require(name));
script.runInThisContext()(load, module, exports, __filename, __dirname);

/** Native code can be loaded from a file only. Where none may be written or run, the program does without. */
function loadSodium() {
  const folder = mkdtempSync(join(tmpdir(), 'signet-'));
  try {
    const file = join(folder, 'sodium.node');
    writeFileSync(file, new Uint8Array(getRawAsset('sodium.node')));
    const addon = { exports: {} };
    process.dlopen(addon, file);
    const library = { exports: {} };
    new Script(getAsset('sodium', 'utf8')).runInThisContext()(require, library, addon.exports);
    return library.exports;
  } finally {
    rmSync(folder, { recursive: true, force: true }); // what is loaded stays
  }
}
