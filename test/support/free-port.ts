import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * Below the ports that systems hand out by themselves (from 32768 on Linux, 49152 elsewhere): one of those may go to any
 * other socket between this answer and the moment when the caller listens. Above 10080, which browsers refuse.
 */
const first = 12_000;
const last = 32_767;

let next = randomInt(first, last + 1);

/** A port of 127.0.0.1 that is free, and that no other file of this run is given. */
export async function freePort(): Promise<number> {
  for (let tries = first; tries <= last; tries += 1) {
    const port = next;
    next = port === last ? first : port + 1;
    if (claim(port) && (await isFree(port))) return port;
  }
  throw new Error(`No port from ${first} to ${last} is free.`);
}

/** Test files run side by side, so the folder of the run says which ports are taken. */
function claim(port: number): boolean {
  const folder = process.env.TEST_SCRATCH;
  if (folder === undefined) return true;
  try {
    writeFileSync(join(folder, `port-${port}`), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
