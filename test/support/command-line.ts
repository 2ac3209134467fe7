import assert from 'node:assert/strict';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { WriteStream } from 'node:tty';
import { commandLine } from '../../src/cli/command-line.ts';
import { newBrowser } from './browser.ts';
import { usualEngine } from './databases.ts';
import { bareSettings, cellsSetting, registerByHttp, type ServerProcess, type Settings } from './server-process.ts';
import type { Signet } from './signet.ts';
import { masterKey } from './store-template.ts';

type Finished = { code: number | undefined; stdout: string; stderr: string };
/** `closeAfter`: what is read of standard output until its reader goes away; `columns`: of a terminal that it is. */
type Typing = { env?: Settings; input?: string; closeAfter?: RegExp; columns?: number };

const { hasColors, getColorDepth } = WriteStream.prototype;

/**
 * What `bin/signet` does with these arguments, in this process: for a server in another one it is the same, and it takes
 * a fraction of the time. That `bin/signet` itself hands over arguments, streams and exit code is in `start.test.ts`.
 */
export async function runCommand(
  args: readonly string[],
  { env = {}, input = '', closeAfter, columns }: Typing = {},
): Promise<Finished> {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, written) {
        said[name] += text;
        written();
        if (name === 'stdout' && closeAfter?.test(text)) this.destroy();
      },
    });
  const screen = columns === undefined ? {} : { isTTY: true, columns, hasColors, getColorDepth };
  const stdout = Object.assign(into('stdout'), screen);
  const terminal = { stdin: Readable.from([input]), stdout, stderr: into('stderr') };
  const code = await commandLine(args, terminal, env);
  return { code, ...said };
}

/** Settings of a store that was set up and has no server yet. */
export async function preparedSettings(t: TestContext, engine = usualEngine): Promise<Settings> {
  const settings = await bareSettings(t, engine);
  await succeed(['migrate'], settings);
  return settings;
}

/** For commands on the store of a server in this process. @param key the server's master key. */
export const settingsOf = ({ deps: { config } }: Signet, key = masterKey, env: Settings = {}): Settings => ({
  ...env,
  SIGNET_DATA_DIR: config.dataDir,
  ...(config.databaseUrl !== undefined && { SIGNET_DATABASE_URL: config.databaseUrl }),
  ...cellsSetting(config.cells),
  SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
  SIGNET_MASTER_KEY: key.toString('base64'),
  SIGNET_BASE_URL: config.baseUrl,
  SIGNET_PORT: String(config.port),
});

/** Runs a command that must succeed. @returns what it said with `--json`. */
export async function succeed(args: readonly string[], env: Settings, input = ''): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], { env, input });
  assert.equal(code, 0, `signet ${args.join(' ')}: ${stderr}${stdout}`);
  return JSON.parse(stdout);
}

/** Exit 1 and one sentence on standard error, without a stack. */
export async function refused(args: readonly string[], env: Settings, sentence: RegExp, input = ''): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { env, input });
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, sentence);
  assert.match(stderr, /^signet: \S/);
  assert.doesNotMatch(stderr, /\n {4}at /, 'no stack');
  return stderr;
}

/** Exit 2, a sentence, and where to look. */
export async function misunderstood(args: readonly string[], env: Settings, sentence: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runCommand(args, { env });
  assert.deepEqual([code, stdout], [2, ''], stderr);
  assert.match(stderr, sentence);
  assert.match(stderr, /^signet: .+\n(.+\n)*Try: signet .*--help\n$/);
  assert.doesNotMatch(stderr, /\n {4}at /, 'no stack');
}

const password = 'ordinary words in a row';

/** A user who has signed in by the form, and a client of theirs that is approved. */
export async function signedInClient({ url, env }: ServerProcess, email = 'rp@example.com') {
  const account = ['--email', email, '--name', 'Owner', '--verified'];
  const { user_id } = await succeed(['users', 'create', ...account, '--password-stdin'], env, password);
  const browser = newBrowser(url);
  assert.equal((await browser.post('/signin', { username: email, password })).status, 303);
  const client = await registerByHttp({ url }, browser);
  await succeed(['clients', 'approve', client.client_id, '--revision', '1'], env);
  return { user_id: String(user_id), browser, client };
}
