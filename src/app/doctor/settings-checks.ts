import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { databaseFile } from '../../platform/db/open.ts';
import { type Check, type CheckDeps, ok, problem, skipped, warning } from './check.ts';

export function checkSettings({ config: { setFrom } }: CheckDeps): Check {
  const count = Object.keys(setFrom).length;
  return ok(
    'settings',
    count === 0 ? 'Every setting has its default.' : `The settings are valid; number of those set: ${count}.`,
  );
}

const mebi = 1024 * 1024;
/** Of one process, and of each of several, of which one only watches; see docs/install.md. */
const neededAlone = 192 * mebi;
const neededOfEach = 128 * mebi;

/**
 * Whether a container, or whatever else bounds this process, leaves a server the memory that it needs: the kernel kills it in the
 * middle of its work otherwise.
 * @param limit in bytes; more than the machine has, or 0, where nothing is bounded.
 */
export function checkMemory({ config: { workers } }: CheckDeps, limit = process.constrainedMemory()): Check {
  const name = 'memory';
  if (limit === 0 || limit >= totalmem()) return ok(name, 'Nothing but the machine bounds the memory of this process.');
  const needed = workers > 1 ? (workers + 1) * neededOfEach : neededAlone;
  const bound = `The memory of this process and its neighbours is bounded to ${Math.floor(limit / mebi)} MiB`;
  if (limit >= needed) return ok(name, `${bound}, which is enough.`);
  return warning(
    name,
    `${bound}, and a server needs ${needed / mebi} MiB with SIGNET_WORKERS=${workers}.`,
    'Raise the limit of the container or the unit, or run fewer workers.',
  );
}

/** Modes and owners of what must be private: the data folder, the database, the master key. */
export function checkFiles({ config }: CheckDeps): Check {
  const { dataDir, databaseUrl, masterKey } = config;
  const ownFiles = databaseUrl
    ? []
    : [databaseFile, `${databaseFile}-wal`, `${databaseFile}-shm`].map((name) => join(dataDir, name));
  const madeKey = masterKey.from === 'file' && masterKey.mayCreate ? [masterKey.path] : [];
  const files = [...ownFiles, ...madeKey].filter((path) => existsSync(path));
  const folder = !databaseUrl && existsSync(dataDir) ? [dataDir] : [];
  const givenKey =
    masterKey.from === 'file' && !masterKey.mayCreate && existsSync(masterKey.path) ? masterKey.path : undefined;
  const all = [...folder, ...files, ...(givenKey === undefined ? [] : [givenKey])];
  if (all.length === 0) return skipped('files', 'There are no files yet whose mode matters.');

  const out = all.find(
    (path) => !isAccessible(path, path === givenKey ? constants.R_OK : constants.R_OK | constants.W_OK),
  );
  if (out !== undefined) {
    const remedy = 'Run this command as the user of the server. If it is, give the file to that user (chown).';
    return problem('files', `This user may not read and write ${out}.`, remedy);
  }
  const open = files.find((path) => modeOf(path) & 0o077);
  if (open !== undefined)
    return problem('files', `Other users of this machine can read ${open}.`, `Run: chmod 600 ${open}`);
  const [writable] = folder.filter((path) => modeOf(path) & 0o022);
  if (writable !== undefined) {
    return problem(
      'files',
      `Other users of this machine can replace files in ${writable}.`,
      `Run: chmod 700 ${writable}`,
    );
  }
  // An orchestrator chooses the mode of a file that it mounts.
  const [loose, mode] =
    givenKey !== undefined && modeOf(givenKey) & 0o007
      ? [givenKey, '600']
      : [folder.find((path) => modeOf(path) & 0o077), '700'];
  if (loose !== undefined)
    return warning('files', `Other users of this machine can open ${loose}.`, `Run: chmod ${mode} ${loose}`);
  return ok('files', 'No other user of this machine can read the data.');
}

const modeOf = (path: string): number => statSync(path).mode;

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

export function checkProxy({ config: { secure, trustProxy, baseUrl } }: CheckDeps): Check {
  const name = 'proxy';
  if (Array.isArray(trustProxy) && trustProxy.some((one) => one.endsWith('/0'))) {
    const found = 'SIGNET_TRUST_PROXY trusts every address, so anyone can evade the limits by claiming another one.';
    return problem(name, found, 'Set it to the addresses of the proxies, or to their number.');
  }
  if (secure && !trustProxy) {
    return warning(
      name,
      'SIGNET_TRUST_PROXY is off, so all people share the address of the TLS proxy, and so their limits.',
      'Set it to the number of proxies, or to their addresses; see docs/reverse-proxy.md.',
    );
  }
  if (!secure && trustProxy) {
    return warning(
      name,
      `SIGNET_TRUST_PROXY is set, though people reach ${baseUrl} without a proxy and can claim any address.`,
      'Remove it, or set SIGNET_BASE_URL to the address of the proxy.',
    );
  }
  if (!trustProxy) return ok(name, 'No proxy is trusted, and on loopback none is needed.');
  const whose = Array.isArray(trustProxy)
    ? trustProxy.join(', ')
    : `${trustProxy} ${trustProxy === 1 ? 'proxy' : 'proxies'}`;
  return ok(name, `The address of a request is taken from ${whose}.`);
}
