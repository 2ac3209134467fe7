import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Cancelled, type Terminal, UsageError } from './command.ts';

type Keyboard = Readable & { isTTY: true; setRawMode(isRaw: boolean): unknown };
const isTerminal = (stream: object): boolean => 'isTTY' in stream && stream.isTTY === true;
/** A question that is written to a file is not seen, and would be waited for in vain. */
const isAsked = (terminal: Terminal): terminal is Terminal & { stdin: Keyboard } =>
  isTerminal(terminal.stdin) && isTerminal(terminal.stderr);

/**
 * A new password: from standard input if asked for, else typed twice without being shown. No option has it: the list of
 * processes shows those, and the history of the shell keeps them.
 * @throws {UsageError} where there is no terminal, and when the two differ. @throws {Cancelled} for Ctrl+C.
 */
export async function readPassword(terminal: Terminal, isFromStdin: boolean): Promise<string> {
  if (isFromStdin) return (await text(terminal.stdin)).replace(/\r?\n$/, '');
  if (!isAsked(terminal)) throw new UsageError('Without a terminal to ask for the password, give --password-stdin.');
  const { stdin, stderr } = terminal;
  const line = lineReader(stdin, new UsageError('No password was given.'));
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

/**
 * A secret that was made elsewhere: from standard input if asked for, else typed or pasted without being shown.
 * @throws {UsageError} where there is no terminal, and for nothing. @throws {Cancelled} for Ctrl+C.
 */
export async function readTypedSecret(
  terminal: Terminal,
  { isFromStdin, words, option }: { isFromStdin: boolean; words: string; option: string },
): Promise<string> {
  const none = new UsageError(`${words}: nothing was given.`);
  const given = isFromStdin ? (await text(terminal.stdin)).replace(/\r?\n$/, '') : await typed(terminal, words, option);
  if (given === '') throw none;
  return given;
}

async function typed(terminal: Terminal, words: string, option: string): Promise<string> {
  if (!isAsked(terminal)) throw new UsageError(`${words}: without a terminal to ask for it, give --${option}.`);
  const { stdin, stderr } = terminal;
  const line = lineReader(stdin, new UsageError(`${words}: nothing was given.`));
  stdin.setRawMode(true);
  try {
    stderr.write(`${words}: `);
    const secret = await line();
    stderr.write('\n');
    return secret;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
  }
}

/**
 * Asks whether to go on. Where there is no terminal, nothing is asked: a script has been written on purpose.
 * @param loss a sentence.
 * @throws {Cancelled} for any answer but yes.
 */
export async function requireConfirmation(terminal: Terminal, loss: string): Promise<void> {
  if (!isAsked(terminal)) return;
  const { stdin, stderr } = terminal;
  stderr.write(`${loss} Continue? [y/N] `);
  try {
    const answer = await lineReader(stdin, new Cancelled(cancelled))();
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new Cancelled(cancelled);
  } finally {
    stdin.pause();
  }
}

const cancelled = 'Cancelled. Nothing was changed.';

/** @returns a function that resolves to the next line that is typed; what was pasted beyond it is kept. */
function lineReader(stdin: Keyboard, nothing: Error): () => Promise<string> {
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
      const end = () => finish(() => reject(nothing), '');
      function read(chunk: string): void {
        const keys = [...chunk];
        for (const [place, key] of keys.entries()) {
          if (key === '\u0003') {
            finish(() => reject(new Cancelled(cancelled)), '');
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
