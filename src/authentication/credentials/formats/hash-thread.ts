import { Worker } from 'node:worker_threads';
import { readAsset } from '../../../platform/assets.ts';
import { unavailable } from '../../../platform/errors.ts';
import { blake2b, compressor, type OldArgon2Parameters, oldArgon2 } from './old-argon2.ts';
import { phpass, sha2Crypt } from './thread-hashes.ts';

/** What is to be hashed, and how. */
export type Job =
  | { kind: 'oldArgon2'; password: Uint8Array; parameters: OldArgon2Parameters }
  | { kind: 'bcrypt'; password: string; settings: string }
  | { kind: 'phpass'; password: Uint8Array; salt: Uint8Array; log2: number }
  | {
      kind: 'sha2Crypt';
      password: Uint8Array;
      salt: Uint8Array;
      algorithm: 'sha256' | 'sha512';
      rounds: number;
    };

/** A thread that has been without work for so long ends, and its memory is free. */
const idleMs = 5_000;
/** MB. bcrypt needs 4 KB, and the program of a thread some MB. The memory of Argon2 is not on the heap. */
const resourceLimits = { maxOldGenerationSizeMb: 32 };

type Thread = { worker: Worker; idle: NodeJS.Timeout | undefined };

/** Threads without work. There are never more than hashes at once, which is for the queue of hashes to say. */
const free: Thread[] = [];

function start(): Thread {
  const worker = new Worker(script(), { eval: true, resourceLimits });
  const thread: Thread = { worker, idle: undefined };
  worker.once('exit', () => {
    clearTimeout(thread.idle);
    const at = free.indexOf(thread);
    if (at >= 0) free.splice(at, 1);
  });
  worker.on('error', () => {}); // its job is rejected by the exit that follows
  return thread;
}

function release(thread: Thread): void {
  thread.worker.unref();
  free.push(thread);
  thread.idle = setTimeout(() => {
    free.splice(free.indexOf(thread), 1);
    void thread.worker.terminate();
  }, idleMs).unref();
}

/**
 * Hashes in a thread of its own what Node has no function for, so that the event loop goes on.
 * @throws {RequestError} `temporarily_unavailable` if the system grants no thread, or it ends.
 */
export async function hashInThread(job: Job): Promise<Buffer> {
  try {
    const thread = free.pop() ?? start();
    clearTimeout(thread.idle);
    const { worker } = thread;
    worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const onExit = () => reject(new Error('The thread that hashes has ended.'));
    worker.once('message', resolve);
    worker.once('exit', onExit);
    worker.postMessage(job);
    const digest = Buffer.from(await promise);
    worker.off('exit', onExit);
    release(thread);
    return digest;
  } catch (error) {
    throw unavailable(error);
  }
}

/** How many there are that wait for work. */
export const freeThreads = (): number => free.length;

const script = () => `
const { parentPort } = require('node:worker_threads');
const { hash } = require('node:crypto');
const bcrypt = (() => {
  const exports = {};
  const module = { exports };
  ${readAsset('authentication/credentials/formats/bcrypt.js')}
  return module.exports;
})();
const functions = { hash, blake2b: ${blake2b}, compressor: ${compressor} };
const oldArgon2 = ${oldArgon2};
const phpass = ${phpass};
const sha2Crypt = ${sha2Crypt};
parentPort.on('message', (job) => {
  const [password, salt] = [job.password, job.salt].map((bytes) => Buffer.from(bytes ?? ''));
  const hashers = {
    bcrypt: () => Buffer.from(bcrypt.hashSync(job.password, job.settings)),
    oldArgon2: () => oldArgon2(functions, password, job.parameters),
    phpass: () => phpass(hash, password, salt, job.log2),
    sha2Crypt: () => sha2Crypt(hash, job.algorithm, password, salt, job.rounds),
  };
  parentPort.postMessage(new Uint8Array(hashers[job.kind]()));
});`;
