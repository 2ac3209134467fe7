import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from './engine.ts';

type Rows = Record<string, unknown>[];
type Answer = { rows: Rows[] } | { failed: { message: string; errcode: number } };

/** For a connection whose commits only append to the write-ahead log, which is left with 16 MiB where it had grown beyond. */
export const appendOnly =
  'pragma synchronous = normal; pragma wal_autocheckpoint = 0; pragma journal_size_limit = 16777216;';

/** How long a statement waits for the locks of other connections; a checkpoint keeps writers waiting meanwhile. */
const waitMs = 250;

export type SqliteThread = ReturnType<typeof openSqliteThread>;

/**
 * A connection in a thread of its own, for statements that wait for the disk or read a whole file. An idle one takes some
 * megabytes, and does not keep the process running.
 * @param path of a database in WAL mode.
 */
export function openSqliteThread(path: string) {
  const worker = new Worker(script, { eval: true, workerData: { path, appendOnly, waitMs } });
  worker.unref();
  let isEnding = false;
  let failure: unknown;
  worker.once('error', (error) => (failure = error));
  const ended = once(worker, 'exit').then(() => {
    throw new StoreUnavailable('The thread of the database ended.', { cause: failure });
  });
  ended.catch(() => undefined);

  return {
    /**
     * Runs statements one after the other. Call it again only when it is done.
     * @returns the rows of each.
     * @throws the error of SQLite, with its `errcode`.
     */
    async run(...statements: readonly string[]): Promise<Rows[]> {
      worker.ref();
      try {
        worker.postMessage(statements);
        const [answer] = (await Promise.race([once(worker, 'message'), ended])) as [Answer];
        // An error that is posted would arrive without its `errcode`.
        if ('failed' in answer) throw Object.assign(new Error(answer.failed.message), answer.failed);
        return answer.rows;
      } finally {
        if (!isEnding) worker.unref();
      }
    },
    /** Ends it, after the statement that it runs. */
    async end(): Promise<void> {
      isEnding = true;
      worker.ref();
      await worker.terminate();
    },
  };
}

/** @throws when a page is damaged, or cannot be read, or the log could not be copied whole. */
export async function checkFile(path: string): Promise<void> {
  const thread = openSqliteThread(path);
  try {
    const [[verdict], [checkpoint]] = (await thread.run(
      'pragma quick_check(1)',
      'pragma wal_checkpoint(truncate)',
    )) as [[{ quick_check: string }], [{ busy: number }]];
    if (verdict.quick_check !== 'ok')
      throw new StoreUnavailable(`The database file is damaged: ${verdict.quick_check}`);
    if (checkpoint.busy !== 0) throw new StoreUnavailable('The log is being read.');
  } finally {
    await thread.end();
  }
}

const script = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const { path, appendOnly, waitMs } = workerData;
const connection = new DatabaseSync(path, { timeout: waitMs });
connection.exec(appendOnly);
parentPort.on('message', (statements) => {
  try {
    parentPort.postMessage({ rows: statements.map((sql) => connection.prepare(sql).all().map((row) => ({ ...row }))) });
  } catch (error) {
    parentPort.postMessage({ failed: { message: error.message, errcode: error.errcode } });
  }
});`;
