import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { form } from '../../platform/assets.ts';
import { halfOfHash, signingInput, withAccessTokenHash } from './token-text.ts';

/** An Ed25519 key, and the encoded JOSE headers of what it signs. */
export type ThreadKey = { kid: string; secretKey: Buffer; accessHeader: string; idHeader: string };
/** The claims of an access token and of the ID token that belongs to it, as JSON. */
export type Unsigned = { access: string; id: string | undefined };
export type Tokens = { access_token: string; id_token?: string };

/** What the thread sends: that it has loaded the library, and then each batch that it has signed. */
type Answer = 'ready' | { batch: number; tokens: Tokens[] };

export type SigningThread = ReturnType<typeof openSigningThread>;

/** When it has been without work for so long, the thread ends, and its memory is free. */
const defaultIdleMs = 5_000;
/** How large its heap may become, in MB: it keeps nothing but the batches that it signs. */
const resourceLimits = { maxOldGenerationSizeMb: 32 };

/**
 * A thread that signs by libsodium while the event loop goes on. It starts with the first batch, which is for the caller to sign,
 * as are those that come before it is ready: a process that is not busy has no such thread.
 * @param library the file of `sodium-native`. Without it (''), or with a single processor, there is no thread.
 */
export function openSigningThread(library = findLibrary(), idleMs = defaultIdleMs) {
  let isUsable = library !== '' && availableParallelism() > 1;
  let running: ReturnType<typeof start> | undefined;

  function giveUp(cause: unknown): void {
    running = undefined;
    isUsable = false;
    const detail = cause instanceof Error ? cause.message : String(cause);
    process.emitWarning('There is no thread that signs tokens. They are signed without it, and take longer.', {
      detail,
    });
  }

  function start() {
    const worker = new Worker(script, { eval: true, workerData: { library }, resourceLimits });
    const batches = new Map<number, PromiseWithResolvers<Tokens[]>>();
    const known = new Set<string>();
    let isReady = false;
    let last = 0;
    let failure: unknown = new Error('It has ended.');

    const idle = setTimeout(() => {
      if (!isReady || batches.size > 0) return void idle.refresh();
      running = undefined;
      void worker.terminate();
    }, idleMs).unref();
    const fail = (error: unknown) => {
      failure = error;
      void worker.terminate();
    };

    worker.on('error', fail);
    worker.on('messageerror', fail);
    worker.once('exit', () => {
      clearTimeout(idle);
      if (running?.worker === worker) giveUp(failure);
      for (const { reject } of batches.values()) reject(failure);
      batches.clear();
    });
    worker.on('message', (answer: Answer) => {
      if (answer === 'ready') {
        isReady = true;
        idle.refresh();
        return;
      }
      batches.get(answer.batch)?.resolve(answer.tokens);
      batches.delete(answer.batch);
      if (batches.size === 0) worker.unref();
    });
    worker.unref();

    return {
      worker,
      sign(key: ThreadKey, unsigned: readonly Unsigned[]): Promise<Tokens[]> | undefined {
        idle.refresh();
        if (!isReady) return undefined;
        if (!known.has(key.kid)) worker.postMessage({ key });
        known.add(key.kid);
        const signed = Promise.withResolvers<Tokens[]>();
        last += 1;
        batches.set(last, signed);
        if (batches.size === 1) worker.ref();
        worker.postMessage({ batch: last, kid: key.kid, unsigned });
        return signed.promise;
      },
    };
  }

  return {
    /**
     * @returns in the order of the batch; undefined when the caller should sign by itself. It rejects when the thread ends
     * before it has signed.
     */
    sign(key: ThreadKey, unsigned: readonly Unsigned[]): Promise<Tokens[]> | undefined {
      if (!isUsable) return undefined;
      try {
        running ??= start();
        return running.sign(key, unsigned);
      } catch (error) {
        giveUp(error); // the system grants no more threads
        return undefined;
      }
    },
    /** Undefined while there is none. */
    get worker(): Worker | undefined {
      return running?.worker;
    },
  };
}

/** None where it was not installed; an executable file has its own, and loads nothing that may lie beside it. */
function findLibrary(): string {
  if (form === 'executable') return '';
  try {
    return createRequire(join(import.meta.dirname, 'beside')).resolve('sodium-native');
  } catch {
    return '';
  }
}

/** As `signTokens` in `token-signer.ts`, by the same functions and without waiting; tested to be the same. */
const script = `
const { parentPort, workerData } = require('node:worker_threads');
const sodium = require(workerData.library);
const signingInput = ${signingInput};
const halfOfHash = ${halfOfHash};
const withAccessTokenHash = ${withAccessTokenHash};
const keys = new Map();
const signature = Buffer.alloc(64);
const digest = Buffer.alloc(64);
function sign(header, claims, secretKey) {
  const input = signingInput(header, claims);
  sodium.crypto_sign_detached(signature, Buffer.from(input, 'latin1'), secretKey);
  return input + '.' + signature.toString('base64url');
}
function signTokens({ access, id }, { secretKey, accessHeader, idHeader }) {
  const access_token = sign(accessHeader, access, secretKey);
  if (id === undefined) return { access_token };
  sodium.crypto_hash_sha512(digest, Buffer.from(access_token, 'latin1'));
  return { access_token, id_token: sign(idHeader, withAccessTokenHash(id, halfOfHash(digest)), secretKey) };
}
parentPort.on('message', ({ key, kid, batch, unsigned }) => {
  if (key) keys.set(key.kid, { ...key, secretKey: Buffer.from(key.secretKey) });
  else parentPort.postMessage({ batch, tokens: unsigned.map((one) => signTokens(one, keys.get(kid))) });
});
parentPort.postMessage('ready');`;
