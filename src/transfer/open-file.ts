import { type FileHandle, open, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { FileDamaged } from '../imports/files/records.ts';
import { invalidRequest } from '../platform/errors.ts';

/** Bytes of a piece. */
const pieceBytes = 65_536;
const magic = 'age-encryption.org/v1';
/** Of a file of identities: each has less than a hundred characters, but for those after quantum computers. */
const longestIdentities = 100_000;

export type TransferFile = {
  bytes: number;
  /** Bytes so far, of {@link TransferFile.bytes}. */
  readonly read: number;
  /** In plain text, from the beginning, as often as it is called. */
  chunks(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

/**
 * A file as `signet export` writes it, or as it is after `age --decrypt`.
 * @param identityPath a file as `age-keygen` writes it. @throws {RequestError} for a file that cannot be read, or is not for this identity.
 */
export async function openTransferFile(path: string, identityPath: string | undefined): Promise<TransferFile> {
  const file = await open(path).catch(() => {
    throw invalidRequest('There is no such file to read. Nothing was changed.');
  });
  try {
    return await readerOf(file, identityPath);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readerOf(file: FileHandle, identityPath: string | undefined): Promise<TransferFile> {
  const found = await file.stat();
  if (!found.isFile()) throw invalidRequest('There is no such file to read. Nothing was changed.');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
  const begin = buffer.toString('latin1', 0, bytesRead);
  if (begin.startsWith('-----BEGIN AGE'))
    throw invalidRequest('The file is in armor, which export does not write: age --decrypt it first.');
  const isEncrypted = begin === magic;
  if (isEncrypted && identityPath === undefined)
    throw invalidRequest('The file is encrypted. Give the file of the key with --identity, or decrypt it first.');
  const identities = isEncrypted ? await readIdentities(identityPath!) : [];
  let read = 0;

  /** Through one handle, so that both times it is the same file. */
  async function* pieces(): AsyncGenerator<Uint8Array> {
    read = 0;
    for (;;) {
      const piece = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, read);
      if (piece.bytesRead === 0) return;
      read += piece.bytesRead;
      yield piece.buffer.subarray(0, piece.bytesRead);
    }
  }

  return {
    bytes: found.size,
    get read() {
      return read;
    },
    chunks: () => (isEncrypted ? decrypted(pieces(), identities) : pieces()),
    close: () => file.close(),
  };
}

async function readIdentities(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw invalidRequest('The file of --identity cannot be read. Nothing was changed.');
  });
  const lines = text
    .slice(0, longestIdentities)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0 || !lines.every((line) => line.startsWith('AGE-SECRET-KEY-')))
    throw invalidRequest(
      'The file of --identity has no secret key of age, as age-keygen writes one. Nothing was changed.',
    );
  return lines;
}

async function* decrypted(
  pieces: AsyncIterable<Uint8Array>,
  identities: readonly string[],
): AsyncGenerator<Uint8Array> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    for (const identity of identities) decrypter.addIdentity(identity);
  } catch {
    throw invalidRequest('A key in the file of --identity is damaged. Nothing was changed.');
  }
  let plain: ReadableStream<Uint8Array>;
  try {
    plain = await decrypter.decrypt(Readable.toWeb(Readable.from(pieces)) as unknown as ReadableStream<Uint8Array>);
  } catch (error) {
    throw invalidRequest(
      'The file is encrypted to another key than that of --identity, or its beginning is damaged. Nothing was changed.',
      error,
    );
  }
  try {
    yield* plain;
  } catch (error) {
    throw new FileDamaged('The encrypted file is cut or damaged. Take a whole copy of it.', { cause: error });
  }
}
