import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { closeDeps } from '../../src/app/open-deps.ts';
import { type Engine, freshStore } from './databases.ts';
import { scratchFolder } from './scratch.ts';
import type { Settings } from './server-process.ts';
import { type Signet, startSignet } from './signet.ts';

/** A pair of keys for exports, and a folder for them. */
export async function newExportKey() {
  const folder = await scratchFolder('export');
  const identity = await generateX25519Identity();
  const identityFile = join(folder, 'key.txt');
  await writeFile(identityFile, `# created: today\n${identity}\n`, { mode: 0o600 });
  const recipient = await identityToRecipient(identity);
  return {
    folder,
    recipient,
    identityFile,
    /** What is in a file, in plain text. */
    async read(file: string): Promise<string> {
      const decrypter = new Decrypter();
      decrypter.addIdentity(identity);
      return decrypter.decrypt(await readFile(file), 'text');
    },
  };
}

/** Records of a file, in an order that does not depend on the engine. */
export const recordsIn = (text: string): string[] => text.trim().split('\n').slice(1, -1).sort();

/** With another end, as one who knows the format would write it. */
export function sealedAnew(lines: readonly string[]): string {
  const records: Record<string, number> = {};
  for (const line of lines.slice(1)) {
    const { kind } = JSON.parse(line) as { kind: string };
    records[kind] = (records[kind] ?? 0) + 1;
  }
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return `${text}${JSON.stringify({ kind: 'end', record: { records, sha256 } })}\n`;
}

/** A server whose clock is a day behind, so that commands do not run before what it does. */
export async function signetOfYesterday(t: TestContext, engine: Engine, env: Settings): Promise<Signet> {
  const store = await freshStore(t, engine, { empty: true });
  return startSignet(t, { on: { ...store, at: Math.floor(Date.now() / 1000) - 86_400 }, env });
}

export async function stop({ app, deps }: Signet): Promise<void> {
  await app.close();
  await closeDeps(deps);
}
