import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { readArguments } from './command.ts';
import { commandLine } from './command-line.ts';
import { commands } from './commands.ts';
import { examples } from './examples.ts';
import { readPassword } from './password-prompt.ts';

/** Types into a terminal. @returns what is read, what the terminal shows, and whether it was raw at the time. */
async function typing(keys: string) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  const [stdout, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true })];
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

/** Runs a command at a terminal on which this is typed. @returns its exit code, and what the terminal shows. */
async function answering(args: string[], typed: string | undefined, isShown = true) {
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined, setRawMode() {} });
  stdin.end(typed);
  const [stdout, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: isShown })];
  const code = await commandLine(args, { stdin, stdout, stderr }, { SIGNET_DATA_DIR: '/nowhere/at/all' });
  stdout.end();
  stderr.end();
  return { code, shown: await text(stderr), printed: await text(stdout) };
}

test('a terminal is asked before something is lost, and nothing happens without a yes', async () => {
  const command = ['webhooks', 'delete', 'wh_x'];
  for (const answer of ['n\n', '\n', 'yeah\n', '']) {
    const { code, shown } = await answering(command, answer);
    assert.equal(code, 1, answer);
    assert.match(shown, /^This deletes the webhook and its deliveries\. It cannot be undone\. Continue\? \[y\/N\] /);
    assert.match(shown, /Cancelled\. Nothing was changed\./);
  }
  for (const answer of ['y\n', 'YES\r\n']) {
    const { code, shown } = await answering(command, answer);
    assert.equal(code, 1);
    assert.match(shown, /There is no database in/, 'it has gone on');
  }
});

test('what cannot be undone is asked about, and nothing else', async () => {
  const asking: string[][] = [
    ['users', 'disable', 'a@example.com'],
    ['users', 'sign-out', 'a@example.com'],
    ['users', 'remove-picture', 'a@example.com'],
    ['users', 'delete', 'a@example.com', '--email', 'a@example.com'],
    ['invitations', 'revoke', 'a@example.com'],
    ['sessions', 'end', 'a@example.com', 'ses_x'],
    ['grants', 'revoke', 'gr_x'],
    ['clients', 'suspend', 'cl_x', '--reason', 'leaked'],
    ['service-credentials', 'rotate', 'svc_x', '--overlap', '0'],
    ['audit', 'accept-loss', '--reason', 'restored'],
    ['rekey', '--stolen'],
    ['restore', '/nowhere/signet.db'],
  ];
  for (const command of asking) assert.match((await answering(command, 'n\n')).shown, /Continue\?/, command.join(' '));
  const others: string[][] = [
    ['users', 'enable', 'a@example.com'],
    ['users', 'role', 'a@example.com', 'user'],
    ['clients', 'reject', 'cl_x', '--reason', 'a name of another'],
    ['service-credentials', 'rotate', 'svc_x'],
    ['webhooks', 'disable', 'wh_x'],
    ['rekey'],
    ['restore'],
  ];
  for (const command of others) {
    assert.doesNotMatch((await answering(command, 'n\n')).shown, /Continue\?/, command.join(' '));
  }
});

test('each example is a command with its options', () => {
  for (const [name, example] of Object.entries(examples)) {
    const [typed = ''] = example.split(' > ');
    assert.ok(typed.startsWith(name), typed);
    const words = (typed.match(/(?:"[^"]*"|[^\s"])+/g) ?? []).map((word) => word.replaceAll('"', ''));
    assert.notEqual(readArguments(commands.get(name)!, words.slice(name.split(' ').length)), 'help', typed);
  }
});

test('--yes, --json and a script are asked nothing', async () => {
  const command = ['webhooks', 'delete', 'wh_x'];
  const went = /^signet: There is no database in/;
  assert.match((await answering([...command, '--yes'], 'n\n')).shown, went);
  assert.match((await answering(command, undefined)).shown, went);
  assert.match((await answering([...command, '--json'], 'n\n')).printed, /"error":"configuration_error"/);
  const { code, printed } = await answering([...command, '--help'], 'n\n');
  assert.equal(code, 0);
  assert.match(printed, /--yes +do not ask first; without a terminal, nothing is asked/);
  assert.match((await answering(['webhooks', 'list', '--yes'], 'n\n')).shown, /Unknown option: --yes/);
});

test('where a question would be written to a file, nothing is asked', async () => {
  const { code, shown } = await answering(['webhooks', 'delete', 'wh_x'], '', false);
  assert.notEqual(code, 2);
  assert.doesNotMatch(shown, /Continue\?/);
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} });
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await assert.rejects(readPassword({ stdin, stdout, stderr }, false), /--password-stdin/);
});
