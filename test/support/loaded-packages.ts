import { registerHooks } from 'node:module';

/**
 * Preloaded with `--import`, prints at the exit one line with the packages that this process has loaded, and with `fetch` if
 * it has loaded that.
 */
const packages = new Set<string>();
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    if (name) packages.add(name);
    return nextLoad(url, context);
  },
});

process.on('exit', () => {
  const { moduleLoadList } = process as unknown as { moduleLoadList: readonly string[] };
  if (moduleLoadList.includes('NativeModule internal/deps/undici/undici')) packages.add('fetch');
  process.stderr.write(`loaded: ${[...packages].sort().join(' ')}\n`);
});
