// Starts the server, and keeps what V8 has compiled by then: node fill-code-cache.cjs CODE FOLDER-OF-CODE CACHE
const { readFileSync, writeFileSync } = require('node:fs');
const { Script } = require('node:vm');

const [, , code, folder, cache] = process.argv;
process.argv.splice(1, 4, code, 'serve');
const script = new Script(readFileSync(code, 'utf8'), { filename: 'signet.cjs' });
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  if (String(text).includes('Signet is ready')) setTimeout(keep, 500); // it loads a little more once it listens
  return write(text, ...rest);
};
script.runInThisContext()(require, module, exports, code, folder);

function keep() {
  writeFileSync(cache, script.createCachedData());
  process.exit(0);
}
