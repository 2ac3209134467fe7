import { writeSync } from 'node:fs';
import { counter } from './metrics.ts';

const dropped = counter('signet_log_lines_dropped_total', 'Lines of the log that nobody took.');

/** Bytes of lines that may wait for a reader. */
const maxBytes = 256 * 1024;
const againMs = 50;
/** At the exit of the process. */
const lastMs = 500;

/**
 * Writes each line at once, so that a crash loses none, and without waiting for its reader: a collector that hangs would stop
 * the service. What is not taken waits, up to a bound; beyond it lines are dropped and counted, and a line says how many.
 * @param fd of a pipe or socket that does not block, or of a file.
 * @param onDropped gets how many lines were dropped, once there is a reader again.
 */
export function openLogWriter(fd: number, onDropped: (lines: number) => void) {
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let lost = 0;
  let retry: NodeJS.Timeout | undefined;

  function lose(): void {
    lost += 1;
    dropped.count();
  }

  /** @returns false if there is more than is taken at present. */
  function flush(): boolean {
    let isTaken = false;
    while (waiting.length > 0) {
      const [first] = waiting as [Buffer];
      let taken: number;
      try {
        taken = writeSync(fd, first);
        isTaken = true;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN' || code === 'EBUSY') return false;
        lose(); // the reader is gone, or the disk is full
        taken = first.length;
        isTaken = false;
      }
      waitingBytes -= taken;
      if (taken < first.length) waiting[0] = first.subarray(taken);
      else waiting.shift();
    }
    if (isTaken && lost > 0) {
      const count = lost;
      lost = 0;
      onDropped(count); // which may be one more line that waits
    }
    return waiting.length === 0;
  }

  function flushLater(): void {
    if (retry !== undefined) return;
    process.once('exit', flushAtExit);
    retry = setTimeout(() => {
      retry = undefined;
      process.off('exit', flushAtExit);
      if (!flush()) flushLater();
    }, againMs).unref();
  }

  function flushAtExit(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let waited = 0; !flush() && waited < lastMs; waited += againMs) Atomics.wait(pause, 0, 0, againMs);
  }

  return {
    write(line: string): void {
      const bytes = Buffer.from(line);
      if (waitingBytes + bytes.length > maxBytes) {
        lose();
        return;
      }
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (retry === undefined && !flush()) flushLater();
    },
  };
}
