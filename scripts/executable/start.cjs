// What the executable file begins with: it runs the program, most of which was compiled when the file was made.
const { getAsset, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

// A worker is handed what its supervisor was started with: Node's options and the name of the file, too.
if (process.channel && require('node:cluster').isWorker) process.argv.splice(1, 1 + process.execArgv.length);

const cachedData = new Uint8Array(getRawAsset('code-cache'));
const script = new Script(getAsset('code', 'utf8'), { filename: 'signet.cjs', cachedData });
script.runInThisContext()(require, module, exports, __filename, __dirname);
