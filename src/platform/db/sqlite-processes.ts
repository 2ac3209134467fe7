import { readFileSync } from 'node:fs';

/**
 * All processes of a file are on one machine. A number is given again, after a restart of a container or the machine most
 * of all: one that bears our number and not our name is from before us, and so is one whose process began at another time.
 */
export function isRunning(own: string, other: string): boolean {
  const [number, start] = other.split('-');
  const pid = Number(number);
  if (pid === process.pid) return own === other;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return ['', start].includes(startOf(pid));
}

/** When a process began, in ticks of the machine; empty where the system does not say. */
export function startOf(pid: number): string {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')')).split(' ')[20] ?? ''; // field 22 of proc(5); names may hold spaces
  } catch {
    return '';
  }
}
