import { createWriteStream } from 'node:fs';
import { link, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { syncFolder } from '../platform/durable-files.ts';
import { invalidRequest } from '../platform/errors.ts';
import { table } from '../platform/report.ts';
import type { ExportCounts } from '../transfer/export-store.ts';
import { command, UsageError } from './command.ts';

const caller = { actor: 'cli' } as const;

export const exportCommand = {
  export: command({
    summary:
      'Export everything that is yours, with hashes and secrets, encrypted to an age key: for another Signet, another product, or a drawer. Works while the server runs. Keep the key off this machine.',
    operands: { file: { value: 'file' } },
    options: {
      recipient: { value: 'age1...', help: 'the public key (age) that alone can read the file', required: true },
    },
    async run(deps, { file, recipient }, { stderr }) {
      const { Encrypter } = await import('age-encryption');
      const { exportStore } = await import('../transfer/export-store.ts');
      const encrypter = new Encrypter();
      try {
        encrypter.addRecipient(recipient);
      } catch {
        throw new UsageError('--recipient must be a public key of age, such as age-keygen prints: age1...');
      }
      const target = await openTarget(file);
      const progress = openProgress(stderr);
      try {
        const { lines, counts } = await exportStore(deps, caller, recipient, progress.show);
        const plain = Readable.from(bytesOf(lines));
        const encrypted = await encrypter.encrypt(Readable.toWeb(plain) as never);
        await pipeline(Readable.fromWeb(encrypted as never), target.stream);
        await target.finish();
        progress.end();
        const rows = Object.entries(counts).filter(([, count]) => count > 0);
        const read = `signet import ${file} --identity KEY`;
        return {
          json: { file, records: Object.fromEntries(rows) },
          text: `${table(rows)}\n\nAll of it is in ${file}. Where the key is: ${read}, or age --decrypt -i KEY ${file}`,
        };
      } catch (error) {
        progress.end();
        await target.discard();
        throw error;
      }
    },
  }),
};

async function* bytesOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const page of lines) yield Buffer.from(page);
}

/**
 * What is written has another name until it is whole. An interruption leaves that file, which cannot be taken for the whole: its name says
 * so, age refuses it, and it has no end.
 */
async function openTarget(file: string) {
  const partial = `${file}.partial`;
  if (await stat(file).catch(() => undefined)) throw invalidRequest('The file is there already. Nothing was written.');
  const stream = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  await new Promise<void>((resolve, reject) => stream.once('open', () => resolve()).once('error', reject)).catch(
    ({ code }: NodeJS.ErrnoException) => {
      throw invalidRequest(
        code === 'EEXIST'
          ? `${partial} is there already: another export is under way, or one was interrupted; then delete it. Nothing was written.`
          : 'The file cannot be made there. Nothing was written.',
      );
    },
  );
  return {
    stream,
    /** Takes no name that another file has got meanwhile. */
    async finish(): Promise<void> {
      await link(partial, file);
      await rm(partial);
      syncFolder(dirname(file));
    },
    async discard(): Promise<void> {
      stream.destroy();
      await rm(partial, { force: true });
    },
  };
}

/** On a terminal only, in one line. */
function openProgress(stderr: Writable) {
  const isTerminal = (stderr as Partial<NodeJS.WriteStream>).isTTY === true;
  return {
    show(counts: ExportCounts): void {
      if (!isTerminal) return;
      const [kind = '', count = 0] = Object.entries(counts).at(-1) ?? [];
      stderr.write(`\r\u001b[K${kind} ${count.toLocaleString('en')}`);
    },
    end(): void {
      if (isTerminal) stderr.write('\r\u001b[K');
    },
  };
}
