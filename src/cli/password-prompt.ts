import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Terminal, UsageError } from './command.ts';

type Keyboard = Readable & { isTTY: true; setRawMode(isRaw: boolean): unknown };
const isKeyboard = (stdin: Readable): stdin is Keyboard => 'isTTY' in stdin && stdin.isTTY === true;

/**
 * A new password: from standard input if asked for, else typed twice without being shown. No option has it: the list of
 * processes shows those, and the history of the shell keeps them.
 * @throws {UsageError} where there is no terminal, when the two differ, and for Ctrl+C.
 */
export async function readPassword({ stdin, stderr }: Terminal, isFromStdin: boolean): Promise<string> {
  if (isFromStdin) return (await text(stdin)).replace(/\r?\n$/, '');
  if (!isKeyboard(stdin)) throw new UsageError('Without a terminal to ask for the password, give --password-stdin.');
  const line = lineReader(stdin);
  stdin.setRawMode(true);
  try {
    stderr.write('Password: ');
    const password = await line();
    stderr.write('\nRepeat the password: ');
    const repeated = await line();
    stderr.write('\n');
    if (password !== repeated) throw new UsageError('The two passwords differ.');
    return password;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
  }
}

/** @returns a function that resolves to the next line that is typed; what was pasted beyond it is kept. */
function lineReader(stdin: Keyboard): () => Promise<string> {
  let pending = '';
  stdin.setEncoding('utf8');
  return () =>
    new Promise((resolve, reject) => {
      let typed: string[] = [];
      const finish = (settle: () => void, rest: string) => {
        pending = rest;
        stdin.off('data', read).off('end', end);
        settle();
      };
      const end = () => finish(() => reject(new UsageError('No password was given.')), '');
      function read(chunk: string): void {
        const keys = [...chunk];
        for (const [place, key] of keys.entries()) {
          if (key === '\u0003') {
            finish(() => reject(new UsageError('Cancelled.')), '');
            return;
          }
          if (key === '\r' || key === '\n' || key === '\u0004') {
            const next = key === '\r' && keys[place + 1] === '\n' ? place + 2 : place + 1;
            finish(() => resolve(typed.join('')), keys.slice(next).join(''));
            return;
          }
          if (key === '\u007f' || key === '\b') typed = typed.slice(0, -1);
          else typed.push(key);
        }
      }
      stdin.on('data', read).on('end', end);
      if (pending !== '') read(pending);
    });
}
