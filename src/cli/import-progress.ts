import type { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import type { Clock } from '../platform/clock.ts';

/** Milliseconds between two lines: on a terminal, where each replaces the one before, and elsewhere. */
const intervals = { terminal: 200, other: 10_000 };
const barCells = 24;

const spelled = (number: number): string => number.toLocaleString('en');

function remaining(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  const minutes = Math.floor(seconds / 60);
  return `${minutes > 0 ? `${minutes} min ` : ''}${Math.ceil(seconds % 60)} s left`;
}

type Progress = { imported: number; unchanged: number; refused: number; bytes: number; read: number };

/** Shows how far an import is: a bar on a terminal, a line now and then elsewhere. */
export function openProgress(stderr: Writable, clock: Clock) {
  const isTerminal = (stderr as Partial<WriteStream>).isTTY === true;
  const begun = clock();
  let shownAt = begun;
  let isShown = false;
  return {
    show({ imported, unchanged, refused, bytes, read }: Progress): void {
      const now = clock();
      if (now - shownAt < (isTerminal ? intervals.terminal : intervals.other)) return;
      shownAt = now;
      const share = bytes === 0 ? 1 : Math.min(read / bytes, 1);
      const seconds = (now - begun) / 1000;
      const left = remaining(share === 0 ? Number.POSITIVE_INFINITY : (seconds / share) * (1 - share));
      const rate = Math.round((imported + unchanged + refused) / seconds);
      const counted = `${spelled(imported)} imported, ${spelled(unchanged)} unchanged, ${spelled(refused)} refused`;
      const text = `${Math.floor(share * 100)}%  ${counted}  ${spelled(rate)}/s  ${left}`;
      const cells = Math.round(share * barCells);
      const bar = `[${'#'.repeat(cells)}${'.'.repeat(barCells - cells)}] `;
      stderr.write(isTerminal ? `\r\x1b[2K${bar}${text}` : `${text}\n`);
      isShown = true;
    },
    end(): void {
      if (isTerminal && isShown) stderr.write('\r\x1b[2K');
    },
  };
}
