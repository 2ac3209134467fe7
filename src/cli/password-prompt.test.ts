import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { readPassword } from './password-prompt.ts';

/** Types into a terminal. @returns what is read, what the terminal shows, and whether it was raw at the time. */
async function typing(keys: string) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const read = readPassword({ stdin, stdout, stderr }, false).finally(() => stderr.end());
  for (const key of keys.match(/.{1,4}/gsu) ?? []) stdin.write(key);
  const outcome = await read.then(
    (password) => ({ password }),
    ({ message }: Error) => ({ message }),
  );
  return { ...outcome, shown: await text(stderr), raw };
}

test('a password is typed twice, without being shown', async () => {
  const { password, shown, raw } = (await typing('grüße🔑x\u007f an alle\rgrüße🔑 an alle\r\n')) as Record<
    string,
    unknown
  >;
  assert.equal(password, 'grüße🔑 an alle');
  assert.equal(shown, 'Password: \nRepeat the password: \n');
  assert.deepEqual(raw, [true, false]);
});

test('two passwords that differ, or Ctrl+C, leave the terminal as it was', async () => {
  for (const [keys, message] of [
    ['one\rother\r', /differ/],
    ['one\u0003', /Cancelled/],
  ] as const) {
    const outcome = (await typing(keys)) as { message: string; raw: boolean[] };
    assert.match(outcome.message, message);
    assert.deepEqual(outcome.raw, [true, false]);
  }
});

test('without a terminal it is read from standard input, if that was asked for', async () => {
  const from = (typed: string) => ({
    stdin: PassThrough.from([typed]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });
  assert.equal(await readPassword(from('four tall words\r\n'), true), 'four tall words');
  await assert.rejects(readPassword(from('four tall words\n'), false), /--password-stdin/);
});
