import type { Config } from '../config.ts';
import { type Check, type CheckDeps, problemOf } from './check.ts';
import { checkBaseUrl, checkMail, checkProviders, checkServer } from './network-checks.ts';
import { checkFiles, checkMemory, checkProxy, checkSettings } from './settings-checks.ts';
import { checkPages, checksInStore, openStore } from './store-checks.ts';

/** For each request or connection. */
const defaultTimeoutMs = 5000;

/**
 * What an operator should know when something does not work. It changes nothing: no file is made or mended, no mail is sent.
 * @param outside `timeoutMs`: for each request or connection to another machine.
 */
export async function examine(
  config: Config,
  {
    clock,
    timeoutMs = defaultTimeoutMs,
    isDeep = false,
  }: Pick<CheckDeps, 'clock'> & Partial<Pick<CheckDeps, 'timeoutMs' | 'isDeep'>>,
): Promise<Check[]> {
  const deps = { config, clock, timeoutMs, isDeep };
  const files = checkFiles(deps); // before SQLite has the database open, and so more files
  const network = Promise.all([checkServer(deps), checkBaseUrl(deps), checkMail(deps)]);
  const { db, check: opened } = await openStore(deps);
  try {
    const [server, baseUrl, mail] = await network;
    const providers = await checkProviders(deps, db);
    const pages = isDeep && db ? [await checkPages(deps, db)] : [];
    const store = await checksInStore(deps, db, baseUrl.at).then(
      (checks) => [opened, ...pages, ...checks],
      async (error: unknown) => [
        problemOf('store', error, 'Read the log of the server and of the database.'),
        ...pages,
        ...(await checksInStore(deps, undefined, baseUrl.at)),
      ],
    );
    return [
      checkSettings(deps),
      files,
      checkMemory(deps),
      ...store,
      server,
      baseUrl.check,
      checkProxy(deps),
      mail,
      ...providers,
    ];
  } finally {
    await db?.close();
  }
}
