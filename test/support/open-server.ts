import type { TestContext } from 'node:test';
import pino from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { openDeps } from '../../src/app/open-deps.ts';
import type { Settings } from './server-process.ts';
import type { Signet } from './signet.ts';

/** A server's store and what is opened on it, by the clock of this machine and without listening. */
export type OpenServer = { deps: Signet['deps']; logLines: string[]; close(): Promise<void> };

export async function openServer(t: TestContext, env: Settings): Promise<OpenServer> {
  const logLines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) });
  const deps = (await openDeps(readConfig(env), { clock: Date.now, log })) as Signet['deps'];
  let isOpen = true;
  const close = async () => {
    if (isOpen) await deps.db.close();
    isOpen = false;
  };
  t.after(close);
  return { deps, logLines, close };
}
